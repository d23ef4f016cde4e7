/*
 * fds.c - descriptors of our own that others wait for
 */
#include "iops/fds.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

void fds_let_go(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || null == fd)
		return;
	dup2(null, fd);
	close(null);
}

static void close_by_name(const int *keep, unsigned n)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		int fd = atoi(d->d_name);
		bool kept = fd <= STDERR_FILENO || fd == dirfd(dir);
		for (unsigned i = 0; i < n; i++)
			kept |= fd == keep[i];
		if (!kept)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

void fds_close_others(const int *keep, unsigned n)
{
	unsigned from = STDERR_FILENO + 1, to;

	for (;;) {
		to = ~0U;
		for (unsigned i = 0; i < n; i++)
			if ((unsigned)keep[i] >= from && (unsigned)keep[i] < to)
				to = (unsigned)keep[i];
		if (to > from && close_range(from, to - (to < ~0U), 0) < 0) {
			close_by_name(keep, n); /* Linux < 5.9 */
			return;
		}
		if (to == ~0U)
			return;
		from = to + 1;
	}
}
