/*
 * program.c - which program an exec will run
 */
#include "tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file that an exec names, as a path that we can open too. 0 or -errno. */
int program_path(const struct task *k, bool at, char full[PROGRAM_PATH])
{
	char path[PATH_MAX];
	int dirfd = at ? (int)k->call.arg[0] : AT_FDCWD;

	if (task_string(k, k->call.arg[at], path, sizeof(path)) < 0)
		return -EFAULT;
	if (*path == '/')
		snprintf(full, PROGRAM_PATH, "/proc/%d/root%s", k->tid, path);
	else if (dirfd == AT_FDCWD)
		snprintf(full, PROGRAM_PATH, "/proc/%d/cwd/%s", k->tid, path);
	else
		snprintf(full, PROGRAM_PATH, "/proc/%d/fd/%d%s%s", k->tid, dirfd,
			*path ? "/" : "", path);
	return 0;
}

static ssize_t head_of(const char *path, void *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, to, size);

	if (fd >= 0)
		close(fd);
	return n;
}

/* "#! interpreter argument": execve(2). NULL if it is no script; head: terminated. */
static char *interpreter(char *head, ssize_t n)
{
	if (n < 3 || head[0] != '#' || head[1] != '!')
		return NULL;
	char *name = head + 2 + strspn(head + 2, " \t");
	name[strcspn(name, " \t\n")] = 0;
	return name;
}

/* Replaces path; false if it is no script. */
bool program_interpreter(pid_t tid, char path[PROGRAM_PATH])
{
	char line[256] = "";
	char *name = interpreter(line, head_of(path, line, sizeof(line) - 1));

	if (!name)
		return false;
	snprintf(path, PROGRAM_PATH, *name == '/' ? "/proc/%d/root%s" : "/proc/%d/cwd/%s",
		tid, name);
	return true;
}

static bool is_64(const char *head, ssize_t n)
{
	return n >= EI_NIDENT && !memcmp(head, ELFMAG, SELFMAG) &&
	       head[EI_CLASS] == ELFCLASS64;
}

/* Whether what runs in the end is of 64 bits: elf(5). What cannot be read may be. */
bool program_is_64(pid_t tid, char path[PROGRAM_PATH])
{
	unsigned char head[EI_NIDENT] = { 0 };
	int depth = 0;

	while (++depth < PROGRAM_DEPTH && program_interpreter(tid, path))
		;
	return head_of(path, head, sizeof(head)) < EI_NIDENT ||
	       memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] == ELFCLASS64;
}

/*
 * Only on the task's own root mount. A path on another one may mean another file to us,
 * like /proc/self, or wait for a file system whose server is our tracee. -1: errno.
 */
static int open_near(pid_t tid, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV };
	char at[32];

	snprintf(at, sizeof(at), "/proc/%d/root", tid);
	int root = open(at, O_PATH | O_CLOEXEC);
	if (root < 0)
		return -1;
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	int err = errno;
	close(root);
	errno = err;
	return fd;
}

/* The absolute path that an exec names. */
static bool path_of(const struct task *k, char path[PATH_MAX])
{
	return task_string(k, k->call.arg[0], path, PATH_MAX) >= 0 && *path == '/';
}

/* Whether an exec will find nothing to read, as most of those along PATH. Only what is
 * certain. */
bool program_is_missing(const struct task *k)
{
	char path[PATH_MAX];
	int fd = path_of(k, path) ? open_near(k->tid, path, O_PATH) : 0;
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (fd > 0)
		close(fd);
	return missing;
}

/* Whether what an execve(2) runs in the end is of 64 bits, can be read, and is near: only
 * what is certain. */
bool program_is_plain(const struct task *k)
{
	char path[PATH_MAX], head[256];
	int depth = 0;

	if (!path_of(k, path))
		return false;
	while (depth++ < PROGRAM_DEPTH) {
		int fd = open_near(k->tid, path, O_RDONLY | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
		if (fd >= 0)
			close(fd);
		head[n < 0 ? 0 : n] = 0;
		const char *name = interpreter(head, n);
		if (!name)
			return is_64(head, n);
		if (*name != '/')
			return false;
		snprintf(path, sizeof(path), "%s", name);
	}
	return false;
}
