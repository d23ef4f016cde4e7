/*
 * lender.c BUSY CHILD - writes for BUSY ms, lends its memory to a child of vfork(2) that
 * sleeps for CHILD ms, and writes again: prints how often, and whether all was right
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long write_for(int fd, long ms, int *bad)
{
	long until = now_ms() + ms, n = 0;

	for (; now_ms() < until; n++)
		*bad |= write(fd, "x", 1) != 1;
	return n;
}

int main(int argc, char **argv)
{
	long busy = argc > 1 ? atol(argv[1]) : 500, sleeps = argc > 2 ? atol(argv[2]) : 1000;
	int fd = open("/dev/null", O_WRONLY), bad = fd < 0, status;
	long n = write_for(fd, busy, &bad);
	struct timespec t = { sleeps / 1000, sleeps % 1000 * 1000000 };
	pid_t pid = vfork();

	if (!pid) {
		while (nanosleep(&t, &t) < 0)
			;
		_exit(7);
	}
	bad |= waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	n += write_for(fd, busy, &bad);
	printf("%ld %s\n", n, bad ? "bad" : "good");
	return bad;
}
