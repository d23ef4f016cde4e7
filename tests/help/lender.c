/*
 * lender.c BUSY CHILD [THREADS] - writes for BUSY ms, lends its memory to a child of
 * vfork(2) that sleeps for CHILD ms, and writes again, and so do THREADS others all the
 * time: prints how often, and whether all was right
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
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

static struct {
	int fd, bad;
	atomic_long n;
	atomic_bool over;
} others;

/* It makes processes, too, and none of that takes long. */
static void *write_on(void *arg)
{
	enum { LONG_MS = 1000 };
	int status;

	(void)arg;
	while (!others.over) {
		others.n += write_for(others.fd, 50, &others.bad);
		long from = now_ms();
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		others.bad |= waitpid(pid, &status, 0) != pid || status ||
			      now_ms() - from > LONG_MS;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long busy = argc > 1 ? atol(argv[1]) : 500, sleeps = argc > 2 ? atol(argv[2]) : 1000;
	int fd = open("/dev/null", O_WRONLY), bad = fd < 0, status;
	pthread_t thread[8];
	int threads = argc > 3 ? atoi(argv[3]) : 0;

	others.fd = fd;
	for (int i = 0; i < threads && i < 8; i++)
		bad |= pthread_create(&thread[i], NULL, write_on, NULL);
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
	others.over = true;
	for (int i = 0; i < threads && i < 8; i++)
		pthread_join(thread[i], NULL);
	n += others.n;
	bad |= others.bad;
	printf("%ld %s\n", n, bad ? "bad" : "good");
	return bad;
}
