/*
 * program.c - which program an exec will run
 */
#include "tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
