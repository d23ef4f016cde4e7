/*
 * named - files whose names change right after they were opened
 *
 * Writes ten times to one in the directory that it is run in, which has been closed by
 * the end, and prints its path as the kernel has it then, but for the number of one
 * without a name.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXCHANGE = 2 /* RENAME_EXCHANGE */ };

static int done(int ret, const char *what)
{
	if (ret < 0) {
		perror(what);
		exit(1);
	}
	return ret;
}
#define MUST(call) done((int)(call), #call)

static int make(const char *name)
{
	return MUST(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/* Two names of one file: to exchange them changes nothing. */
static int exchanged(void)
{
	int fd = make("d");

	MUST(link("d", "a"));
	MUST(syscall(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "a", EXCHANGE));
	return fd;
}

/* By a link that is gone, in a directory. */
static int unnamed(void)
{
	MUST(mkdir("real", 0700));
	MUST(symlink("real", "s"));
	int fd = MUST(open("s", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));

	MUST(write(fd, "x", 1));
	MUST(unlink("s"));
	return fd;
}

/* Where it was opened leads to another name of it that it has got since. It is open once
 * more: else nobody looks for that. */
static int linked(void)
{
	make("d"); /* stays open */
	MUST(symlink("d", "a"));
	MUST(symlink("b", "c"));
	int fd = MUST(open("a", O_RDWR | O_APPEND | O_CLOEXEC));

	MUST(syscall(SYS_renameat2, AT_FDCWD, "c", AT_FDCWD, "d", EXCHANGE));
	MUST(linkat(AT_FDCWD, "c", AT_FDCWD, "b", AT_SYMLINK_FOLLOW));
	return fd;
}

static const struct {
	const char *name;
	int (*begin)(void);
} ways[] = { { "exchanged", exchanged }, { "unnamed", unnamed }, { "linked", linked } };

int main(int argc, char **argv)
{
	char link[64], path[PATH_MAX];
	int fd = -1;

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, argv[1]))
			fd = ways[i].begin();
	if (fd < 0) {
		fprintf(stderr, "usage: named exchanged|unnamed|linked\n");
		return 2;
	}
	for (int i = 0; i < 10; i++)
		MUST(write(fd, "1234567", 7));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	path[n < 0 ? 0 : n] = 0;
	path[strcspn(path, "#")] = 0;
	puts(path);
	return 0;
}
