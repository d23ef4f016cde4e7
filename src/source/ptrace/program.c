/*
 * program.c - which program an exec will run
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Nothing but a file: to open a FIFO would let go who waits at its other end. */
static ssize_t head_of(const char *path, void *to, size_t size)
{
	struct stat st;
	int fd = stat(path, &st) < 0 || !S_ISREG(st.st_mode)
			 ? -1
			 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

bool program_is_64(pid_t tid, char path[PROGRAM_PATH])
{
	unsigned char head[EI_NIDENT] = { 0 };
	int depth = 0;

	while (++depth < PROGRAM_DEPTH && program_interpreter(tid, path))
		;
	return head_of(path, head, sizeof(head)) < EI_NIDENT ||
	       memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] == ELFCLASS64;
}

bool program_gains(const struct task *k, bool at)
{
	char path[PROGRAM_PATH];
	int depth = 0;

	if (program_path(k, at, path) < 0)
		return false;
	do
		if (tracee_gains_rights(path))
			return true;
	while (++depth < PROGRAM_DEPTH && program_interpreter(k->tid, path));
	return false;
}

/*
 * Only on the task's own root mount. A path on another one may mean another file to us,
 * like /proc/self, or wait for a file system whose server is our tracee. root: of the
 * task. -1: errno.
 */
static int open_near(int root, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int open_root(pid_t tid)
{
	char at[32];

	snprintf(at, sizeof(at), "/proc/%d/root", tid);
	return open(at, O_PATH | O_CLOEXEC);
}

/* The absolute path that an exec names. */
static bool path_of(const struct task *k, char path[PATH_MAX])
{
	return task_string(k, k->call.arg[0], path, PATH_MAX) >= 0 && *path == '/';
}

bool program_is_missing(const struct task *k)
{
	char path[PATH_MAX];
	int root = path_of(k, path) ? open_root(k->tid) : -1;
	int fd = root < 0 ? 0 : open_near(root, path, O_PATH);
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (fd > 0)
		close(fd);
	if (root >= 0)
		close(root);
	return missing;
}

/* Of one file on the way, which is read on: more of them is in path then. */
static bool look_at(int root, char path[PATH_MAX], struct program *p)
{
	char head[256], at[32];
	int fd = open_near(root, path, O_PATH);
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : head_of(at, head, sizeof(head) - 1);
	p->missing = missing && !p->depth;
	if (fd >= 0)
		close(fd);
	head[n < 0 ? 0 : n] = 0;
	const char *name = interpreter(head, n);
	p->plain = !name && is_64(head, n);
	if (!name || *name != '/')
		return false;
	snprintf(path, PATH_MAX, "%s", name);
	return true;
}

void program_look(const struct task *k, int root, struct program *p)
{
	char path[PATH_MAX];

	*p = (struct program){ .missing = false };
	if (root < 0 || !path_of(k, path))
		return;
	while (p->depth < PROGRAM_DEPTH && look_at(root, path, p))
		p->depth++;
}
