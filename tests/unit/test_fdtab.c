/*
 * test_fdtab.c - what descriptors stand for, asked of this very process
 */
#include "iops/fdtab.h"
#include "iops/names.h"
#include "iops/op.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

static char dir[PATH_MAX]; /* of these tests, the current one */
static struct names *names;
static struct fdtab *tab;
static struct fd_task self;

static int start(void **state)
{
	(void)state;
	names = names_new();
	tab = fdtab_new(names);
	self = (struct fd_task){ .tid = getpid() };
	return names && tab ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	fdtab_forget(tab, &self);
	fdtab_free(tab);
	names_free(names);
	return 0;
}

static int enter(void **state)
{
	char made[] = "/tmp/iops-fdtab-XXXXXX";

	(void)state;
	return !mkdtemp(made) || chdir(made) < 0 || !getcwd(dir, sizeof(dir)) ? -1 : 0;
}

static int leave(void **state)
{
	(void)state;
	static const char *const left[] = { "a", "b", "c", "link" };

	for (size_t i = 0; i < LENGTH(left); i++)
		unlink(left[i]);
	rmdir("sub");
	return chdir("/") < 0 || rmdir(dir) < 0 ? -1 : 0;
}

static int new_file(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static const struct file *ask(int fd, struct fd_view *v)
{
	fdtab_ask(tab, &self, fd, v);
	return names_file(names, v->file);
}

static const char *path_of(int fd)
{
	struct fd_view v;

	return names_get(names, ask(fd, &v)->path);
}

/* The path is that of a file in our directory, with what the kernel adds. */
static void assert_path(int fd, const char *name)
{
	char want[2 * PATH_MAX];

	snprintf(want, sizeof(want), "%s/%s", dir, name);
	assert_string_equal(path_of(fd), want);
}

static void regular_file(void **state)
{
	int fd = new_file("a", O_APPEND);
	struct fd_view v;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	for (int i = 0; i < 6; i++) { /* before and after its files are kept open */
		const struct file *f = ask(fd, &v);
		assert_path(fd, "a");
		assert_int_equal(f->type, FILE_REGULAR);
		assert_int_equal(f->inode, st.st_ino);
		assert_int_equal(f->major, major(st.st_dev));
		assert_int_equal(f->minor, minor(st.st_dev));
		assert_string_equal(names_get(names, f->dir), dir);
		assert_int_equal(v.flags & O_ACCMODE, O_RDWR);
		assert_true(v.flags & O_APPEND);
	}
	close(fd);
}

/* As df(1) would say it: a prefix of the path that is a mount point. */
static void mount_point(void **state)
{
	int fd = new_file("a", 0);
	struct fd_view v;

	(void)state;
	const char *mount = names_get(names, ask(fd, &v)->mount);
	assert_int_equal(mount[0], '/');
	assert_int_equal(strncmp(dir, mount, strlen(mount)), 0);
	int proc = open("/proc/self/stat", O_RDONLY);
	assert_string_equal(names_get(names, ask(proc, &v)->mount), "/proc");
	close(proc);
	close(fd);
}

static void unknown(void **state)
{
	static const int fd[] = { -1, -100, 100000, 77 };
	struct fd_view v;

	(void)state;
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < LENGTH(fd); i++) {
			ask(fd[i], &v);
			assert_int_equal(v.file, 0);
			assert_int_equal(v.flags, -1);
			assert_int_equal(v.offset, OP_NO_OFFSET);
			assert_int_equal(fdtab_position(tab, &self, fd[i]), OP_NO_OFFSET);
			assert_int_equal(fdtab_size(tab, &self, fd[i]), OP_NO_OFFSET);
		}
}

static void renamed(void **state)
{
	int fd = new_file("a", 0);
	struct fd_view before, after;

	(void)state;
	for (int i = 0; i < 4; i++)
		ask(fd, &before);
	assert_int_equal(rename("a", "b"), 0);
	ask(fd, &after);
	assert_path(fd, "b");
	assert_int_not_equal(before.file, after.file);
	assert_int_equal(names_file(names, before.file)->inode,
		names_file(names, after.file)->inode);
	assert_int_equal(rename("b", "a"), 0); /* and back: the same file as before */
	ask(fd, &after);
	assert_int_equal(before.file, after.file);
	close(fd);
}

static void unlinked(void **state)
{
	int fd = new_file("a", 0);
	struct fd_view v;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_path(fd, "a");
	assert_int_equal(unlink("a"), 0);
	assert_path(fd, "a (deleted)");
	assert_int_equal(ask(fd, &v)->type, FILE_REGULAR);
	close(fd);
}

static void duplicated(void **state)
{
	int a = new_file("a", 0), b = new_file("b", 0), copy = dup(a);
	struct fd_view v, w;

	(void)state;
	for (int i = 0; i < 5; i++) {
		ask(a, &v);
		ask(copy, &w);
		assert_int_equal(v.file, w.file);
		put(copy, "12345"); /* they share their position */
		assert_int_equal(fdtab_position(tab, &self, a), 5 * (i + 1));
	}
	assert_int_equal(dup2(b, copy), copy);
	assert_path(copy, "b");
	assert_path(a, "a");
	close(a);
	close(b);
	close(copy);
}

/* Under a number that none of our own files will take. */
static void open_as(int number, const char *name, int flags)
{
	int fd = new_file(name, flags);

	assert_int_equal(dup2(fd, number), number);
	close(fd);
}

/* The same number for another file, closed and opened behind our back. */
static void reopened(void **state)
{
	enum { FD = 300 };
	struct fd_view v, w;

	(void)state;
	for (int i = 0; i < 6; i++) {
		open_as(FD, "a", 0);
		assert_path(FD, "a");
		ask(FD, &v);
		close(FD);
		ask(FD, &w);
		assert_int_equal(w.file, 0);
		assert_int_equal(w.flags, -1);
		open_as(FD, "b", O_APPEND);
		assert_path(FD, "b");
		ask(FD, &w);
		assert_true(w.file && w.file != v.file);
		assert_true(w.flags & O_APPEND);
		close(FD);
	}
}

/* A name that goes to a new file each time is a new file each time. */
static void same_path_other_inode(void **state)
{
	int old = new_file("a", 0);
	struct fd_view v, w;

	(void)state;
	for (int i = 0; i < 4; i++)
		ask(old, &v);
	assert_int_equal(unlink("a"), 0);
	int fresh = new_file("a", 0);
	assert_int_equal(dup2(fresh, old), old);
	ask(old, &w);
	assert_path(old, "a");
	assert_int_not_equal(v.file, w.file);
	close(fresh);
	close(old);
}

/* More descriptors than slots, in turn. */
static void many_descriptors(void **state)
{
	int fd[3 * FD_SLOTS + 1];
	char name[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	for (size_t i = 0; i < LENGTH(fd); i++) {
		snprintf(name, sizeof(name), "sub/%zu", i);
		fd[i] = new_file(name, 0);
	}
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < LENGTH(fd); i++) {
			snprintf(name, sizeof(name), "sub/%zu", i);
			assert_path(fd[i], name);
		}
	for (size_t i = 0; i < LENGTH(fd); i++) {
		snprintf(name, sizeof(name), "sub/%zu", i);
		unlink(name);
		close(fd[i]);
	}
	assert_int_equal(rmdir("sub"), 0);
}

static void kinds(void **state)
{
	int pipes[2], sockets[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	const struct {
		int fd, type;
		const char *path;
	} row[] = {
		{ pipes[0], FILE_PIPE, "pipe:[" },
		{ pipes[1], FILE_PIPE, "pipe:[" },
		{ sockets[0], FILE_SOCKET, "socket:[" },
		{ open(".", O_RDONLY | O_DIRECTORY), FILE_DIR, dir },
		{ open("/dev/null", O_RDWR), FILE_CHAR, "/dev/null" },
		{ posix_openpt(O_RDWR | O_NOCTTY), FILE_TTY, "/dev/" },
		{ eventfd(0, 0), FILE_ANON, "anon_inode:[eventfd]" },
		{ memfd_create("iops", 0), FILE_REGULAR, "/memfd:iops" },
	};
	struct fd_view v;

	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < LENGTH(row); i++) {
			assert_true(row[i].fd >= 0);
			int type = ask(row[i].fd, &v)->type;
			assert_int_equal(strncmp(path_of(row[i].fd), row[i].path,
						 strlen(row[i].path)),
				0);
			assert_int_equal(type, row[i].type);
			bool has = row[i].type == FILE_REGULAR;
			assert_int_equal(v.offset, has ? 0 : OP_NO_OFFSET);
			assert_int_equal(fdtab_size(tab, &self, row[i].fd),
				has ? 0 : OP_NO_OFFSET);
		}
	for (size_t i = 0; i < LENGTH(row); i++)
		close(row[i].fd);
	close(sockets[1]);
}

/* Both ends are one pipe, other pipes are others, also under a number used before. */
static void pipes_apart(void **state)
{
	int a[2], b[2];
	struct fd_view v, w;

	(void)state;
	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	for (int i = 0; i < 4; i++) {
		ask(a[0], &v);
		ask(a[1], &w);
		assert_int_equal(v.file, w.file);
		ask(b[0], &w);
		assert_int_not_equal(v.file, w.file);
	}
	assert_int_equal(dup2(b[0], a[0]), a[0]);
	ask(a[0], &v);
	assert_int_equal(v.file, w.file);
	for (int i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}

static void positions(void **state)
{
	int fd = new_file("a", 0);
	struct fd_view v;
	char buf[10];

	(void)state;
	ask(fd, &v);
	assert_int_equal(v.offset, 0);
	put(fd, "hello world");
	assert_int_equal(fdtab_position(tab, &self, fd), 11);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(fdtab_position(tab, &self, fd), 3);
	assert_int_equal(read(fd, buf, 4), 4);
	assert_int_equal(fdtab_position(tab, &self, fd), 7);
	assert_int_equal(pread(fd, buf, 4, 0), 4);
	assert_int_equal(fdtab_position(tab, &self, fd), 7);
	assert_int_equal(lseek(fd, INT64_C(1) << 40, SEEK_SET), INT64_C(1) << 40);
	ask(fd, &v);
	assert_int_equal(v.offset, INT64_C(1) << 40);
	close(fd);
}

/* With O_APPEND writes go to the end, wherever the position is. */
static void append_size(void **state)
{
	int a = new_file("a", 0), b;

	(void)state;
	put(a, "0123456789");
	b = open("a", O_WRONLY | O_APPEND);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(fdtab_size(tab, &self, b), 10 + 3 * i);
		put(b, "abc");
		assert_int_equal(fdtab_position(tab, &self, b), 13 + 3 * i);
		assert_int_equal(fdtab_position(tab, &self, a), 10);
	}
	close(a);
	close(b);
}

static const char *path_at(int at, const char *path)
{
	return names_get(
		names, names_file(names, fdtab_path(tab, &self, at, path))->path);
}

static void paths(void **state)
{
	static const struct {
		const char *path, *want; /* below our directory, unless absolute */
	} row[] = {
		{ "a", "/a" },
		{ "./a", "/a" },
		{ "sub/../a", "/a" },
		{ "sub//x", "/sub/x" },
		{ "sub/", "/sub" },
		{ ".", "" },
		{ "", "" },
		{ "none/at/all", "/none/at/all" },
	};
	char want[2 * PATH_MAX];

	(void)state;
	int at = open(".", O_PATH | O_DIRECTORY);
	for (size_t i = 0; i < LENGTH(row); i++) {
		snprintf(want, sizeof(want), "%s%s", dir, row[i].want);
		assert_string_equal(path_at(AT_FDCWD, row[i].path), want);
		assert_string_equal(path_at(at, row[i].path), want);
	}
	assert_string_equal(path_at(at, "/etc//./passwd"), "/etc/passwd");
	assert_string_equal(path_at(at, "/../.."), "/");
	assert_string_equal(path_at(at, "/"), "/");
	assert_string_equal(path_at(at, "../../../../../../usr"), "/usr");
	assert_int_equal(fdtab_path(tab, &self, 100000, "a"), 0);
	close(at);
}

static void path_has_type_and_inode(void **state)
{
	int fd = new_file("a", 0);
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	const struct file *f = names_file(names, fdtab_path(tab, &self, AT_FDCWD, "a"));
	assert_int_equal(f->type, FILE_REGULAR);
	assert_int_equal(f->inode, st.st_ino);
	f = names_file(names, fdtab_path(tab, &self, AT_FDCWD, "/proc"));
	assert_int_equal(f->type, FILE_DIR);
	f = names_file(names, fdtab_path(tab, &self, AT_FDCWD, "missing"));
	assert_int_equal(f->type, FILE_UNKNOWN);
	assert_int_equal(f->inode, 0);
	close(fd);
}

/* stat("a") and read() of a descriptor of it are about one file: one row. */
static void path_and_descriptor_are_one_file(void **state)
{
	int fd = new_file("a", 0);
	struct fd_view v;

	(void)state;
	ask(fd, &v);
	assert_int_equal(fdtab_path(tab, &self, AT_FDCWD, "a"), v.file);
	close(fd);
}

static void program(void **state)
{
	char want[PATH_MAX] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", want, sizeof(want) - 1) > 0);
	const struct file *f = names_file(names, fdtab_exe(tab, &self));
	assert_string_equal(names_get(names, f->path), want);
	assert_int_equal(f->type, FILE_REGULAR);
	struct fd_task none = { .tid = 0x7ffffff0 };
	assert_int_equal(fdtab_exe(tab, &none), 0);
}

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Nothing is kept of a task that is forgotten; it may be asked of again. */
static void forget(void **state)
{
	int fd = new_file("a", 0);

	(void)state;
	fdtab_foresee(tab); /* that file stays open */
	unsigned before = open_files();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 10; i++)
			assert_path(fd, "a");
		assert_true(open_files() > before);
		fdtab_forget(tab, &self);
		assert_int_equal(open_files(), before);
	}
	close(fd);
}

/* Of very many tasks only some keep files open. */
static void tasks_are_limited(void **state)
{
	enum { N = 400 };
	static struct fd_task task[N];
	struct fd_view v;

	(void)state;
	fdtab_foresee(tab);
	unsigned before = open_files();
	for (int i = 0; i < N; i++) {
		task[i].tid = getpid();
		for (int k = 0; k < 5; k++) {
			fdtab_ask(tab, &task[i], 0, &v);
			assert_true(v.file);
		}
	}
	assert_true(open_files() < before + 5 * 256);
	assert_true(open_files() <= before + 2 * 256);
	for (int i = 0; i < N; i++)
		fdtab_forget(tab, &task[i]);
	assert_int_equal(open_files(), before);
}

/* Another process has other files under the same numbers. */
static void other_process(void **state)
{
	int fd = new_file("a", 0), ready[2];
	struct fd_view v;
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (!child) {
		int b = open("b", O_RDWR | O_CREAT, 0600);
		_exit(dup2(b, fd) < 0 || write(ready[1], "x", 1) != 1 || pause());
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct fd_task other = { .tid = child };
	for (int i = 0; i < 5; i++) {
		fdtab_ask(tab, &other, fd, &v);
		const char *path = names_get(names, names_file(names, v.file)->path);
		assert_string_equal(strrchr(path, '/'), "/b");
		assert_path(fd, "a");
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	fdtab_ask(tab, &other, fd, &v); /* it is gone */
	assert_int_equal(v.file, 0);
	fdtab_forget(tab, &other);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(regular_file),
		TEST(mount_point),
		TEST(unknown),
		TEST(renamed),
		TEST(unlinked),
		TEST(duplicated),
		TEST(reopened),
		TEST(same_path_other_inode),
		TEST(many_descriptors),
		TEST(kinds),
		TEST(pipes_apart),
		TEST(positions),
		TEST(append_size),
		TEST(paths),
		TEST(path_has_type_and_inode),
		TEST(path_and_descriptor_are_one_file),
		TEST(program),
		TEST(forget),
		TEST(tasks_are_limited),
		TEST(other_process),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
