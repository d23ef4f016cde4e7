/*
 * beside.c - a process that lives where a thread might
 *
 * Two tasks can share memory, but not a stack, nor what the C library keeps for each
 * thread, as errno. So the library makes a thread, which starts the process and is gone
 * at once, but for the kernel alone: what it had is the process's from then on.
 */
#include "iops/beside.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 8 << 20, OWN = 16 << 10 /* of it, for the thread's last steps */ };

struct life {
	void (*run)(void *);
	void *arg;
	sigset_t mask;
};

struct birth {
	struct life life;
	pid_t child;
	sem_t done;
};

static int live(void *p)
{
	const struct life *life = (const struct life *)p;

	sigprocmask(SIG_SETMASK, &life->mask, NULL);
	life->run(life->arg);
	return 0;
}

static void *bear(void *p)
{
	struct birth *b = (struct birth *)p;
	struct life life = b->life; /* it is to outlast the birth */
	uintptr_t top = ((uintptr_t)__builtin_frame_address(0) - OWN) & ~(uintptr_t)63;
	pid_t child = clone(live, (void *)top, CLONE_VM | SIGCHLD, &life);

	b->child = child;
	sem_post(&b->done);
	if (child > 0)
		syscall(SYS_exit, 0); /* the library would take back what it gave */
	return NULL;
}

/* valgrind ends at a clone(2) that is neither a thread nor a fork. */
static bool is_watched(void)
{
	const char *loaded = getenv("LD_PRELOAD");

	return loaded && strstr(loaded, "vgpreload");
}

static pid_t bear_all(struct birth *b)
{
	sigset_t all;
	pthread_attr_t attr;
	pthread_t thread;

	/* One heap, as if there were no threads. */
	mallopt(M_ARENA_MAX, 1);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	sem_init(&b->done, 0, 0);
	pthread_sigmask(SIG_SETMASK, &all, &b->life.mask);
	int err = pthread_create(&thread, &attr, bear, b);
	pthread_sigmask(SIG_SETMASK, &b->life.mask, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -1;
	while (sem_wait(&b->done) < 0)
		; /* a signal that somebody handles */
	if (b->child < 0)
		pthread_join(thread, NULL);
	return b->child;
}

pid_t beside(void (*run)(void *), void *arg)
{
	struct birth b = { .life = { .run = run, .arg = arg }, .child = -1 };
	pid_t child = is_watched() ? -1 : bear_all(&b);

	if (child < 0 && (child = fork()) == 0) {
		run(arg);
		_exit(0);
	}
	return child;
}
