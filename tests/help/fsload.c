/*
 * fsload - loads that time a file system, one each call; prints nanoseconds, of all of it
 * or (pwrite) of one
 *
 *   fsload write FILE MIB        a new file by blocks of 1 MiB
 *   fsload read FILE MIB         the same read, as it is in the page cache
 *   fsload cold FILE MIB         the same read, after what is cached of it was dropped
 *   fsload create|stat|unlink DIR N   so many empty files
 *   fsload walk DIR              list and stat all there is below
 *   fsload pwrite FILE N SIZE    N writes, one after the other
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static double stream(const char *what, const char *path, long mib)
{
	int writes = !strcmp(what, "write");
	size_t size = 1 << 20;
	char *b = aligned_alloc(4096, size);
	int fd = open(path, writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0644);

	check(fd >= 0, path);
	memset(b, 'x', size);
	if (!strcmp(what, "cold"))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	double from = now();
	for (long i = 0; i < mib; i++)
		check((writes ? write(fd, b, size) : read(fd, b, size)) == (ssize_t)size, what);
	close(fd);
	free(b);
	return now() - from;
}

static double names(const char *what, const char *dir, long n)
{
	char path[4096];
	struct stat st;
	double from = now();

	for (long i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/f%ld", dir, i);
		if (!strcmp(what, "create")) {
			int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

			check(fd >= 0, path);
			close(fd);
		} else {
			check(!(!strcmp(what, "stat") ? stat(path, &st) : unlink(path)), path);
		}
	}
	return now() - from;
}

static void walk(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	check(d != NULL, name);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		check(!fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW), e->d_name);
		if (S_ISDIR(st.st_mode))
			walk(fd, e->d_name);
	}
	closedir(d);
}

static double small(const char *path, long n, long size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char *b = calloc(1, (size_t)size);

	check(fd >= 0, path);
	double from = now();
	for (long i = 0; i < n; i++)
		check(pwrite(fd, b, (size_t)size, i * size) == size, "pwrite");
	double took = (now() - from) / (double)n;
	close(fd);
	free(b);
	return took;
}

int main(int argc, char **argv)
{
	long n = argc > 3 ? atol(argv[3]) : 0;
	double took;

	if (argc == 3 && !strcmp(argv[1], "walk")) {
		took = now();
		walk(AT_FDCWD, argv[2]);
		took = now() - took;
	} else if (argc == 5 && !strcmp(argv[1], "pwrite")) {
		took = small(argv[2], n, atol(argv[4]));
	} else if (argc == 4 && (strchr("wr", argv[1][0]) || !strcmp(argv[1], "cold"))) {
		took = stream(argv[1], argv[2], n);
	} else if (argc == 4) {
		took = names(argv[1], argv[2], n);
	} else {
		return 2;
	}
	printf("%.0f\n", took);
	return 0;
}
