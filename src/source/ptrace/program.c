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

	if (tracee_string(k->tid, k->call.arg[at], path, sizeof(path)) < 0)
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

/* "#! interpreter argument": execve(2). Replaces path; false if it is no script. */
bool program_interpreter(pid_t tid, char path[PROGRAM_PATH])
{
	char line[256] = "";
	ssize_t n = head_of(path, line, sizeof(line) - 1);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	char *name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\n")] = 0;
	snprintf(path, PROGRAM_PATH, *name == '/' ? "/proc/%d/root%s" : "/proc/%d/cwd/%s",
		tid, name);
	return true;
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
 * Whether an exec will find nothing to read, as most of those along PATH. Only what is
 * certain: a path on the task's own root mount. One on another may mean another file to
 * us, like /proc/self, or wait for a file system whose server is our tracee.
 */
bool program_is_missing(const struct task *k)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV };
	char path[PATH_MAX], at[32];

	if (tracee_string(k->tid, k->call.arg[0], path, sizeof(path)) < 0 || *path != '/')
		return false;
	snprintf(at, sizeof(at), "/proc/%d/root", k->tid);
	int root = open(at, O_PATH | O_CLOEXEC);
	if (root < 0)
		return false;
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
	if (fd >= 0)
		close((int)fd);
	close(root);
	return missing;
}
