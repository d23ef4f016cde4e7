/*
 * ledger OP:FILE[:BYTES]... - I/O whose way to storage is known
 *
 * At the end it prints what the kernel has on its account by then, /proc/thread-self/io,
 * with one call to read it and one to write it.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 64 << 10 };
static char buf[STEP] __attribute__((aligned(4096)));

static long must(long r, const char *what)
{
	if (r < 0) {
		perror(what);
		_exit(9);
	}
	return r;
}

static int opened(const char *file, int flags)
{
	return (int)must(open(file, flags, 0644), file);
}

/* Everything of it, or bytes of it. */
static void reading(const char *file, long bytes, int flags)
{
	int fd = opened(file, O_RDONLY | flags);
	long n = 1;

	for (long left = bytes ? bytes : 1L << 40; left && n; left -= n)
		n = must(read(fd, buf, left < STEP ? left : STEP), "read");
	close(fd);
}

/* Out of the page cache, clean. */
static void drop(const char *file)
{
	int fd = opened(file, O_RDONLY);

	must(fdatasync(fd), "fdatasync");
	must(-posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
	close(fd);
}

static void touch(const char *file)
{
	int fd = opened(file, O_RDONLY);
	struct stat st;

	must(fstat(fd, &st), file);
	volatile char *p = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	for (long i = 0; i < st.st_size; i += 4096)
		(void)p[i];
	munmap((void *)p, st.st_size);
	close(fd);
}

/* From its beginning on. */
static void writing(const char *file, long bytes, int flags)
{
	int fd = opened(file, O_WRONLY | O_CREAT | flags);

	for (long left = bytes; left; left -= left < STEP ? left : STEP)
		must(write(fd, buf, left < STEP ? left : STEP), "write");
	close(fd);
}

/* 4096 bytes each, in an order that nobody foresees; no page twice. */
static void jumping(const char *file, long bytes)
{
	int fd = opened(file, O_RDONLY);
	struct stat st;

	must(fstat(fd, &st), file);
	must(-posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), "fadvise");
	long pages = st.st_size / 4096, at = 1;
	for (long i = 0; i < bytes / 4096; i++, at = (at * 5 + 3) % pages)
		must(pread(fd, buf, 4096, at * 4096), "pread");
	close(fd);
}

static void op(const char *what, const char *file, long bytes)
{
	if (!strcmp(what, "read"))
		reading(file, bytes, 0);
	else if (!strcmp(what, "readdirect"))
		reading(file, bytes, O_DIRECT);
	else if (!strcmp(what, "jump"))
		jumping(file, bytes);
	else if (!strcmp(what, "map"))
		touch(file);
	else if (!strcmp(what, "drop"))
		drop(file);
	else if (!strcmp(what, "write"))
		writing(file, bytes, 0);
	else if (!strcmp(what, "writedirect"))
		writing(file, bytes, O_DIRECT);
	else if (!strcmp(what, "fsync"))
		must(fsync(opened(file, O_RDONLY)), "fsync");
	else if (!strcmp(what, "cut"))
		must(truncate(file, bytes), "truncate");
	else
		must(-1, what);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *file = strchr(argv[i], ':');
		char *bytes = file ? strchr(file + 1, ':') : NULL;
		must(file ? 0 : -1, argv[i]);
		*file++ = 0;
		if (bytes)
			*bytes++ = 0;
		op(argv[i], file, bytes ? atol(bytes) : 0);
	}
	long n = must(read(opened("/proc/thread-self/io", O_RDONLY), buf, 500), "read");
	return write(1, buf, n) != n;
}
