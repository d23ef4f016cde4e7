/*
 * foresee.c - what a command will most likely call, before there is one
 *
 * From its loader and its C library, which nearly every program has in common with us. To
 * find out how that can be patched takes longer than all else that comes before the
 * command, and whether it can be patched at all is to be tried: where there is another
 * CPU, a thread does both there meanwhile. That CPU may be busy: what the thread has not
 * begun by the time that it is needed is not waited for. If it has, it goes on to
 * what the command calls once it has threads; what it knows by then is used.
 */
#include "../tracer.h"
#include "iops/cpu.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 20 };

struct foresight {
	pthread_t thread;
	atomic_flag proving, begun; /* each once, by who comes first */
	sem_t proved, done;
	int proof; /* of fast_ask() and fast_try() */
	char why[64];
	struct texts texts;
	bool given; /* they are with who needs them */
	atomic_bool looks, enough;
	sem_t looked;
	struct texts more; /* with what threads call */
	atomic_bool knows;
	bool told;
	struct texts often; /* with what many programs call */
};

/* Where the loader is in our own memory; 0: we have none. */
static uint64_t loader_code(void)
{
	const Elf64_Ehdr *loader = (const Elf64_Ehdr *)getauxval(AT_BASE);

	return loader ? (uintptr_t)loader + loader->e_entry : 0;
}

/* Of a library: bytes before a function and behind its beginning; all: whatever is
 * called there. */
struct part {
	void *function;
	uint16_t before, behind;
	bool all;
};

/*
 * Where the C library has what nearly every program calls, in bytes before a function and
 * behind its beginning: around read(2) and mmap(2) most of it, among others; elsewhere a
 * few calls that are all common. A site costs each start half of what a stop does.
 */
static const struct part library[] = {
	{ (void *)read, 0x2000, 0x6000, false },
	{ (void *)mmap, 0x2000, 0x6000, false },
	{ (void *)sigaction, 0, 0x200, true },
	{ (void *)getrandom, 0, 0x80, true },
	{ (void *)tcgetattr, 0, 0x80, true },    /* stdio */
	{ (void *)pthread_once, 0xb0, 0, true }, /* setlocale(3) */
	{ (void *)_exit, 0, 0x80, true },
};

/*
 * And what many programs call, each of them some of it. Who makes a call that nobody has
 * made yet, and is no such program, loses by it about as much as another stop takes.
 */
static const struct part frequent[] = {
	{ (void *)read, 0x2000, 0x6000, false },
	{ (void *)getpid, 0, 0xc0, true }, /* getuid(2) and the like */
	{ (void *)uname, 0, 0x140, true }, /* wait4(2) */
};

static void foresee_parts(struct texts *xs, struct space *here, const struct part *p,
	unsigned n, const bool wanted[NSHAPES])
{
	for (; n--; p++)
		text_foresee(xs, here, (uintptr_t)p->function, p->before, p->behind,
			p->all ? NULL : wanted);
	maps_forget(&xs->maps);
}

static void foresee(struct texts *xs)
{
	struct space here = { .refs = 1 };
	bool common[NSHAPES];

	fast_common(common);
	text_foresee(xs, &here, loader_code(), UINT64_MAX, UINT64_MAX, common);
	foresee_parts(xs, &here, library, sizeof(library) / sizeof(*library), common);
}

static void foresee_frequent(struct texts *xs)
{
	struct space here = { .refs = 1 };
	bool often[NSHAPES];

	fast_frequent(often);
	foresee_parts(xs, &here, frequent, sizeof(frequent) / sizeof(*frequent), often);
}

/* Nearly all of it is from the C library. */
static void foresee_all(struct texts *xs, const atomic_bool *enough)
{
	struct space here = { .refs = 1 };
	bool likely[NSHAPES];

	fast_likely(likely);
	text_foresee_all(xs, &here, (uintptr_t)read, likely, enough);
	maps_forget(&xs->maps);
}

static void prove(struct foresight *s)
{
	if (atomic_flag_test_and_set(&s->proving))
		return;
	s->proof = fast_ask(s->why, sizeof(s->why));
	if (!s->proof)
		s->proof = fast_try(s->why, sizeof(s->why));
	sem_post(&s->proved);
}

/* false: another does, or nobody wants it, or it cannot be done. */
static bool work(struct foresight *s)
{
	prove(s);
	if (atomic_flag_test_and_set(&s->begun))
		return false;
	foresee(&s->texts);
	const bool can = !s->texts.unarmed;
	sem_post(&s->done);
	return can;
}

static void *work_ahead(void *arg)
{
	struct foresight *s = arg;

	if (work(s)) {
		foresee_frequent(&s->often);
		atomic_store(&s->knows, true);
		atomic_store(&s->looks, true);
		foresee_all(&s->more, &s->enough);
		sem_post(&s->looked);
	}
	return NULL;
}

/* To where it is not in the way of who begins it. false: there is no such CPU. */
static bool elsewhere(pthread_attr_t *attr)
{
	cpu_set_t others;
	int here = cpu_here();

	if (here < 0 || here >= CPU_SETSIZE ||
		sched_getaffinity(0, sizeof(others), &others) < 0)
		return false;
	CPU_CLR(here, &others);
	return CPU_COUNT(&others) &&
	       !pthread_attr_setaffinity_np(attr, sizeof(others), &others);
}

static bool begin(struct foresight *s)
{
	pthread_attr_t attr;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK); /* whatever the command's may be */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool begun =
		elsewhere(&attr) && !pthread_create(&s->thread, &attr, work_ahead, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return begun;
}

static void forget(struct foresight *s)
{
	sem_destroy(&s->proved);
	sem_destroy(&s->done);
	sem_destroy(&s->looked);
	texts_fini(&s->texts);
	texts_fini(&s->often);
	texts_fini(&s->more);
	free(s);
}

struct foresight *foresee_begin(void)
{
	struct foresight *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_flag_clear(&s->proving);
	atomic_flag_clear(&s->begun);
	sem_init(&s->proved, 0, 0);
	sem_init(&s->done, 0, 0);
	sem_init(&s->looked, 0, 0);
	if (begin(s))
		return s;
	forget(s);
	return NULL;
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) < 0 && errno == EINTR)
		; /* the session's clock ticks meanwhile */
}

int foresee_proof(struct foresight *s, char *why, size_t size)
{
	prove(s);
	await(&s->proved);
	snprintf(why, size, "%s", s->why);
	return s->proof;
}

void foresee_give(struct foresight *s, struct texts *xs)
{
	if (!s) {
		foresee(xs);
		return;
	}
	if (s->given)
		return;
	work(s);
	await(&s->done);
	struct texts had = *xs;
	*xs = s->texts;
	xs->maps = had.maps;
	had.maps = s->texts.maps;
	s->texts = had;
	s->given = true;
}

void foresee_stop(struct foresight *s)
{
	if (!s)
		return;
	(void)atomic_flag_test_and_set(&s->begun);
	atomic_store(&s->enough, true);
	s->given = true;
}

/* Told that it is enough it ends soon, if its CPU is its own. */
static bool await_soon(sem_t *sem)
{
	enum { SOON = 100000, SECOND = 1000000000 }; /* ns */
	struct timespec at;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += SOON;
	at.tv_sec += at.tv_nsec / SECOND;
	at.tv_nsec %= SECOND;
	do
		err = sem_clockwait(sem, CLOCK_MONOTONIC, &at);
	while (err < 0 && errno == EINTR);
	return !err;
}

void foresee_threads(struct foresight *s, struct texts *xs)
{
	if (s && !atomic_exchange(&s->enough, true) && atomic_load(&s->looks) &&
		await_soon(&s->looked))
		texts_learn(xs, &s->more);
}

bool foresee_often(struct foresight *s, struct texts *xs)
{
	if (!s || !s->given || !atomic_load(&s->knows))
		return false;
	if (!s->told)
		s->told = texts_learn(xs, &s->often);
	return s->told;
}

void foresee_free(struct foresight *s)
{
	if (!s)
		return;
	foresee_stop(s);
	pthread_join(s->thread, NULL);
	forget(s);
}

/* Without what is being found out: for what is of a task, and of no file. */
struct texts *texts_now(struct tracer *t)
{
	t->fast->texts.asked = t->allows_opens;
	return &t->fast->texts;
}

/* By the time that they are needed nearly all has been found out. */
struct texts *texts_of(struct tracer *t)
{
	if (t->foresight)
		foresee_give(t->foresight, &t->fast->texts);
	return texts_now(t);
}
