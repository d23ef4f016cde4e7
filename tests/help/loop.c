/*
 * loop - calls in a tight loop, to time what each costs
 *
 *   loop io N        N one-byte writes and reads of a file
 *   loop other N     N calls that are no I/O
 *   loop idle N M    N one-byte reads while M threads sleep; prints ns each
 *   loop rw N SIZE   N reads of /dev/zero and N writes to /dev/null; prints ns each
 *   loop file N SIZE N reads and N writes of a file of 1 MiB; prints ns each
 *   loop pair SEC    two busy threads for SEC seconds; prints what each did
 *   loop append N M  N one-byte writes to the end of one file by each of M threads
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static long did[2];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

static void *worker(void *arg)
{
	long *count = arg;
	int fd = open("/dev/zero", O_RDONLY);
	char b;

	while (!stop && read(fd, &b, 1) == 1)
		++*count;
	close(fd);
	return NULL;
}

static int new_file(void)
{
	int fd = open("loop.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);

	unlink("loop.tmp");
	return fd;
}

static int file(long n, size_t size)
{
	const size_t all = 1 << 20;
	int fd = new_file();
	char *b = calloc(1, all);

	if (!b || size > all || pwrite(fd, b, all, 0) != (ssize_t)all)
		return 1;
	double from = now();
	for (long i = 0; i < n; i++) {
		off_t at = (off_t)((size_t)i * size % (all - size + 1));
		if (pread(fd, b, size, at) != (ssize_t)size ||
			pwrite(fd, b, size, at) != (ssize_t)size)
			return 1;
	}
	printf("%.1f\n", (now() - from) / (2.0 * (double)n));
	free(b);
	return 0;
}

static int rw(long n, size_t size)
{
	int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
	char *b = calloc(1, size);
	double from = now();

	for (long i = 0; b && i < n; i++)
		if (read(in, b, size) != (ssize_t)size ||
			write(out, b, size) != (ssize_t)size)
			return 1;
	printf("%.1f\n", (now() - from) / (2.0 * (double)n));
	free(b);
	return 0;
}

static int io(long n)
{
	int fd = new_file();
	char b = 'x';

	for (long i = 0; i < n / 2; i++)
		if (write(fd, &b, 1) != 1)
			return 1;
	lseek(fd, 0, SEEK_SET);
	for (long i = 0; i < n / 2; i++)
		if (read(fd, &b, 1) != 1)
			return 1;
	return 0;
}

static int idle(long n, long threads)
{
	pthread_attr_t small;
	pthread_t t;
	int fd = open("/dev/zero", O_RDONLY);
	char b;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t, &small, sleeper, NULL))
			return 1;
	double begin = now();
	for (long i = 0; i < n; i++)
		if (read(fd, &b, 1) != 1)
			return 1;
	printf("%.0f\n", (now() - begin) / (double)n);
	fflush(stdout);
	_exit(0);
}

static int pair(long seconds)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, worker, &did[i]))
			return 1;
	sleep((unsigned)seconds);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", did[0], did[1]);
	return 0;
}

static void *appender(void *arg)
{
	const long *job = arg; /* descriptor, writes */

	for (long i = 0; i < job[1]; i++)
		if (write((int)job[0], "x", 1) != 1)
			abort();
	return NULL;
}

static int append(long n, long threads)
{
	enum { MOST = 16 };
	long job[] = { open("loop.tmp", O_WRONLY | O_CREAT | O_APPEND, 0600), n };
	pthread_t t[MOST];

	unlink("loop.tmp");
	if (threads > MOST)
		return 2;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, appender, job))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 2 && !strcmp(argv[1], "io"))
		return io(n);
	if (argc > 3 && !strcmp(argv[1], "rw"))
		return rw(n, atol(argv[3]));
	if (argc > 3 && !strcmp(argv[1], "file"))
		return file(n, atol(argv[3]));
	if (argc > 2 && !strcmp(argv[1], "pair"))
		return pair(n);
	if (argc > 3 && !strcmp(argv[1], "idle"))
		return idle(n, atol(argv[3]));
	if (argc > 3 && !strcmp(argv[1], "append"))
		return append(n, atol(argv[3]));
	for (long i = 0; argc > 2 && i < n; i++)
		syscall(SYS_getppid);
	return argc > 2 ? 0 : 2;
}
