/*
 * beside.c - a process that lives where a thread might
 *
 * Two tasks can share memory, but not a stack, nor what the C library keeps for each
 * thread, as errno. So the library makes a thread, which starts the process and is gone
 * at once, but for the kernel alone: what it had is the process's from then on.
 */
#include "iops/beside.h"
#include "iops/cpu.h"

#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { STACK = 8 << 20, OWN = 16 << 10 /* of it, for the thread's last steps */ };

/*
 * Signals: what the kernel says of them. The C library keeps some for its threads, sets
 * what they do when the first one begins, and shows and changes nothing of them.
 */
enum { KEPT_FIRST = 32, NKEPT = 2, MASK_SIZE = 8 };

struct signals {
	uint64_t mask;
	uint64_t kept[NKEPT][8]; /* actions: longer than any */
};

struct life {
	void (*run)(void *);
	void *arg;
	struct signals signals;
};

struct birth {
	struct life life;
	struct cpu_pin here; /* for the thread, which we wait for */
	pid_t child;
	uint32_t underway; /* until the thread is gone: a futex */
};

/* From here on none comes until they are as they were. */
static void signals_hold(struct signals *s)
{
	const uint64_t all = ~UINT64_C(0);

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s->mask, MASK_SIZE);
	for (int i = 0; i < NKEPT; i++)
		syscall(SYS_rt_sigaction, KEPT_FIRST + i, NULL, s->kept[i], MASK_SIZE);
}

static void signals_back(const struct signals *s)
{
	for (int i = 0; i < NKEPT; i++)
		syscall(SYS_rt_sigaction, KEPT_FIRST + i, s->kept[i], NULL, MASK_SIZE);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, NULL, MASK_SIZE);
}

/*
 * Linux before 5.16 kills all that share a memory which is to be dumped. Whoever has not
 * said what such a signal is to do ends by it there, but with a status instead.
 */
static bool one_core_for_all(void)
{
	struct utsname u;
	unsigned major, minor;

	return uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2 ||
	       major < 5 || (major == 5 && minor < 16);
}

static void end(int sig)
{
	_exit(128 + sig);
}

static void leave_no_core(void)
{
	static const int dumps[] = { SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
		SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS };

	for (unsigned i = 0; i < sizeof(dumps) / sizeof(*dumps); i++) {
		struct sigaction was, ends = { .sa_handler = end };
		if (!sigaction(dumps[i], &ends, &was) && was.sa_handler != SIG_DFL)
			sigaction(dumps[i], &was, NULL);
	}
}

static int live(void *p)
{
	const struct life *life = (const struct life *)p;

	if (one_core_for_all())
		leave_no_core();
	signals_back(&life->signals);
	life->run(life->arg);
	return 0;
}

/*
 * The library knows a thread by an id, which the kernel would make 0 when the thread
 * ends: then it takes what is nobody's lock for the thread's own. It is the child's from
 * now on, if the kernel tells where it is, or else that of the thread for good.
 */
static void *bear(void *p)
{
	struct birth *b = (struct birth *)p;
	struct life life = b->life; /* it is to outlast the birth */
	uintptr_t top = ((uintptr_t)__builtin_frame_address(0) - OWN) & ~(uintptr_t)63;
	pid_t *id = NULL;

	cpu_unpin(&b->here);
	int flags = CLONE_VM | SIGCHLD;
	if (!prctl(PR_GET_TID_ADDRESS, &id) && id)
		flags |= CLONE_CHILD_SETTID;
	b->child = clone(live, (void *)top, flags, &life, NULL, NULL, id);
	if (b->child > 0) {
		syscall(SYS_set_tid_address, &b->underway);
		syscall(SYS_exit, 0); /* the library would take back what it gave */
	}
	__atomic_store_n(&b->underway, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &b->underway, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

/* valgrind ends at a clone(2) that is neither a thread nor a fork. */
static bool is_watched(void)
{
	const char *loaded = getenv("LD_PRELOAD");

	return loaded && strstr(loaded, "vgpreload");
}

/* -1: there is none. */
static pid_t bear_one(struct birth *b)
{
	pthread_attr_t attr;
	pthread_t thread;

	/* One heap, as if there were no threads. */
	mallopt(M_ARENA_MAX, 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	cpu_pin(&b->here);
	int err = pthread_create(&thread, &attr, bear, b);
	cpu_unpin(&b->here);
	pthread_attr_destroy(&attr);
	if (err)
		return -1;
	while (__atomic_load_n(&b->underway, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &b->underway, FUTEX_WAIT, 1, NULL, NULL, 0);
	if (b->child < 0)
		pthread_join(thread, NULL);
	return b->child;
}

pid_t beside(void (*run)(void *), void *arg)
{
	struct birth b = {
		.life = { .run = run, .arg = arg }, .child = -1, .underway = 1
	};
	pid_t child = -1;

	if (!is_watched()) {
		signals_hold(&b.life.signals);
		child = bear_one(&b);
		signals_back(&b.life.signals);
	}
	if (child < 0 && (child = fork()) == 0) {
		run(arg);
		_exit(0);
	}
	return child;
}
