/*
 * vforks CHILD OTHER MS - a thread waits for its child of vfork(2) beside another one
 *
 * The child sleeps for MS ms, or runs (without a call), or both threads have one: sleeps,
 * and needs a byte that the first thread writes once its own child is gone.
 * The other thread writes a byte to the file "beats" each ms, or waits in epoll_wait(2)
 * for MS / 4. Prints "ready", 500 ms before the child is there; and at the end the
 * longest time in ms that the other thread took for one round; where it waits, for one
 * that begins after 450 ms and ends before the child does.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BEFORE_MS = 500, ATTACHING_MS = 450 };

static int ms, line[2];
static volatile int over;
static const char *other;

static void must(int is)
{
	if (is)
		return;
	perror("vforks");
	_exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void nap(long for_ms)
{
	const struct timespec t = { for_ms / 1000, for_ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void *go_on(void *longest)
{
	int beats = open("beats", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	int none = epoll_create1(0);
	int waits = !strcmp(other, "waits");
	struct epoll_event event;
	const double begun = now_ms();

	must(beats >= 0 && none >= 0);
	while (!over) {
		double from = now_ms();
		if (waits) {
			must(!epoll_wait(none, &event, 1, ms / 4));
		} else {
			must(write(beats, "x", 1) == 1);
			nap(1);
		}
		double took = now_ms() - from;
		if (waits && (over || from - begun < ATTACHING_MS))
			continue;
		if (took > *(double *)longest)
			*(double *)longest = took;
	}
	return NULL;
}

static void *needs(void *arg)
{
	nap(ms / 8); /* until the first thread waits */
	pid_t child = vfork();
	if (!child) {
		char byte;
		_exit(read(line[0], &byte, 1) != 1);
	}
	int status;
	must(waitpid(child, &status, 0) == child && !status);
	return arg;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *how = argv[1];
	double longest = 0;
	pthread_t beside, second;
	int both = !strcmp(how, "both"), status;

	other = argv[2];
	ms = atoi(argv[3]);
	must(!pipe(line) && !pthread_create(&beside, NULL, go_on, &longest));
	puts("ready");
	fflush(stdout);
	nap(BEFORE_MS);
	if (both)
		must(!pthread_create(&second, NULL, needs, NULL));
	pid_t child = vfork();
	if (!child) {
		double until = now_ms() + ms;
		while (!strcmp(how, "runs") && now_ms() < until)
			;
		if (strcmp(how, "runs") != 0)
			nap(ms);
		_exit(0);
	}
	over = !both;
	must(waitpid(child, &status, 0) == child && !status);
	if (both) {
		nap(50);
		must(write(line[1], "x", 1) == 1);
		pthread_join(second, NULL);
	}
	over = 1;
	pthread_join(beside, NULL);
	printf("%.0f\n", longest);
	return 0;
}
