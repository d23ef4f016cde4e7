/*
 * grown.c - appends to a file that other calls have made longer
 *
 * grown cut FILE: by ftruncate(2) and fallocate(2), which stop where they count.
 * grown unknown FILE: by write(2) from a position that nobody knows, as other threads
 * have appended by it. Prints where each append of 7 bytes has begun.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MARK = 7, WARM = 60, CROSSED = 2000, TIMES = 5 };

static char bytes[1 << 16];
static int plain, end; /* open files of one */
static volatile int enough;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(3);
}

static void append(void)
{
	need(write(end, bytes, MARK) == MARK, "write");
	printf("%ld\n", (long)lseek(end, 0, SEEK_END) - MARK);
}

static void cut(void)
{
	int null = open("/dev/null", O_WRONLY);

	for (int i = 0; i < WARM; i++)
		need(write(null, bytes, 1) == 1, "write");
	append();
	append();
	need(!ftruncate(end, 1000), "ftruncate");
	append();
	append();
	need(!fallocate(end, 0, 0, 5000), "fallocate");
	append();
	append();
}

static void *append_on(void *arg)
{
	while (!enough)
		need(write(end, bytes, 1) == 1, "write");
	return arg;
}

static void unknown(void)
{
	struct iovec v = { bytes, 100 };
	pthread_t other;

	need(!pthread_create(&other, NULL, append_on, NULL), "pthread_create");
	for (int i = 0; i < CROSSED; i++)
		need(pwritev2(plain, &v, 1, -1, RWF_APPEND) == 100, "pwritev2");
	enough = 1;
	pthread_join(other, NULL);
	for (int i = 0; i < TIMES; i++) {
		need(write(end, bytes, 10) == 10, "write");
		need(write(plain, bytes, 50000) == 50000, "write");
		append();
	}
}

int main(int argc, char **argv)
{
	need(argc == 3, "grown: cut or unknown, and a file");
	plain = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	end = open(argv[2], O_WRONLY | O_APPEND);
	need(plain >= 0 && end >= 0, argv[2]);
	if (strcmp(argv[1], "cut"))
		unknown();
	else
		cut();
	return 0;
}
