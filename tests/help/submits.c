/*
 * submits.c - asks by Linux AIO, in many ways, and prints, as JSON, what it did
 *
 * usage: submits HOW FILE [ROUNDS]
 *        submits loop FILE ROUNDS DEPTH: reads of 4 KiB, DEPTH at a time; prints ns
 *
 * By the calls themselves: no library.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 512, SIZE = 4096, CONTEXTS = 4, KINDS = 5, THREADS = 4 };

/* The ring as user_io_getevents() of some programs reads it. */
struct aio_ring {
	unsigned id, nr;
	_Atomic unsigned head, tail;
	unsigned magic, compat, incompat, length;
	struct io_event event[];
};

/* Shared with children. */
static struct did {
	atomic_long operations, errors, bytes;
} * did;

static const int command[KINDS] = { IOCB_CMD_PREAD, IOCB_CMD_PWRITE, IOCB_CMD_PREADV,
	IOCB_CMD_PWRITEV, IOCB_CMD_FDSYNC };
static const char *const name[KINDS] = { "pread", "pwrite", "preadv", "pwritev",
	"fdsync" };

struct ask {
	struct iocb cb;
	struct iovec v[3];
	int kind;
};

static char memory[2 * SIZE];
static const char *path;
static int fd = -1;
static long rounds = 200;

static void need(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static aio_context_t setup(unsigned n)
{
	aio_context_t ctx = 0;

	need(!syscall(SYS_io_setup, n, &ctx), "io_setup");
	return ctx;
}

static void prepare(struct ask *a, unsigned i, unsigned kinds)
{
	memset(a, 0, sizeof(*a));
	a->kind = i % kinds;
	a->cb.aio_lio_opcode = command[a->kind];
	a->cb.aio_fildes = fd;
	if (a->kind == 4)
		return;
	a->cb.aio_offset = i % 16 * SIZE;
	a->cb.aio_buf = (unsigned long)memory;
	a->cb.aio_nbytes = 1 + i * 37 % SIZE;
	if (a->kind < 2)
		return;
	for (int j = 0; j < 3; j++)
		a->v[j] = (struct iovec){ memory + j * SIZE / 2, 1 + (i + j) % 700 };
	a->cb.aio_buf = (unsigned long)a->v;
	a->cb.aio_nbytes = 3;
}

static void note(const struct ask *a, long long res)
{
	struct did *d = &did[a->kind];

	if (res < 0) {
		d->errors++;
		return;
	}
	d->operations++;
	d->bytes += a->kind == 4 ? 0 : res;
}

static long submit(aio_context_t ctx, struct ask *a, int n)
{
	struct iocb *list[DEPTH];

	for (int i = 0; i < n; i++)
		list[i] = &a[i].cb;
	return syscall(SYS_io_submit, ctx, n, list);
}

/* Returns how many; each has its round after it. */
static long get(aio_context_t ctx, long least, long most, struct timespec *limit)
{
	struct io_event e[DEPTH];
	long n;

	while ((n = syscall(SYS_io_getevents, ctx, least, most, e, limit)) < 0 &&
		errno == EINTR)
		;
	need(n >= 0, "io_getevents");
	for (long i = 0; i < n; i++)
		note((struct ask *)e[i].obj, e[i].res);
	return n;
}

static void batches(aio_context_t ctx, int depth, unsigned kinds)
{
	static _Thread_local struct ask a[DEPTH];

	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < depth; i++)
			prepare(&a[i], (unsigned)(r * depth + i), kinds);
		need(submit(ctx, a, depth) == depth, "io_submit");
		for (long n = 0; n < depth;)
			n += get(ctx, 1, depth - n, NULL);
	}
}

static void plain(void)
{
	batches(setup(8), 8, KINDS);
}

/* More at a time than anybody would write down at once. */
static void wide(void)
{
	static struct ask a[DEPTH];
	aio_context_t ctx = setup(DEPTH);

	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < DEPTH; i++)
			prepare(&a[i], (unsigned)i, 2);
		for (int i = 0; i < DEPTH; i += DEPTH / 4)
			need(submit(ctx, a + i, DEPTH / 4) == DEPTH / 4, "io_submit");
		for (long n = 0; n < DEPTH;)
			n += get(ctx, DEPTH - n, DEPTH - n, NULL);
	}
}

static void deep(void)
{
	batches(setup(DEPTH), DEPTH - 1, 2);
}

/* The next answer, where the kernel has put it; false: there is none. */
static bool next(struct aio_ring *ring)
{
	unsigned head = ring->head;

	if (head == ring->tail)
		return false;
	note((struct ask *)ring->event[head].obj, ring->event[head].res);
	ring->head = (head + 1) % ring->nr;
	return true;
}

/* The answers are read there. */
static void reap(void)
{
	static struct ask a[16];
	aio_context_t ctx = setup(16);
	struct aio_ring *ring = (struct aio_ring *)ctx;

	for (long r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < 16; i++)
			prepare(&a[i], (unsigned)r + i, KINDS);
		need(submit(ctx, a, 16) == 16, "io_submit");
		for (int n = 0; n < 16;)
			n += next(ring);
	}
}

/* Some by a call, some without. */
static void mixed(void)
{
	static struct ask a[16];
	aio_context_t ctx = setup(16);
	struct aio_ring *ring = (struct aio_ring *)ctx;

	for (long r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < 16; i++)
			prepare(&a[i], (unsigned)r + i, KINDS);
		need(submit(ctx, a, 16) == 16, "io_submit");
		for (int n = 0; n < 16;)
			n += n % 5 ? next(ring) : (int)get(ctx, 1, 3, NULL);
	}
}

/* The kernel takes those before a bad one. */
static void few(void)
{
	static struct ask a[8];
	aio_context_t ctx = setup(8);

	for (long r = 0; r < rounds; r++) {
		int bad = (int)(r % 8);
		for (unsigned i = 0; i < 8; i++)
			prepare(&a[i], (unsigned)r + i, KINDS);
		a[bad].cb.aio_fildes = 999;
		long n = submit(ctx, a, 8);
		need(n == (bad ? bad : -1), "io_submit");
		if (!bad) /* else nobody is told what was wrong */
			note(&a[0], -EBADF);
		for (; n > 0;)
			n -= get(ctx, 1, n, NULL);
	}
}

static atomic_long left;
static aio_context_t shared[CONTEXTS];

static void *submitter(void *arg)
{
	unsigned seed = (unsigned)(unsigned long)arg;

	for (long r = 0; r < rounds; r++) {
		unsigned n = 1 + (unsigned)rand_r(&seed) % 4;
		struct ask *a[4];
		struct iocb *list[4];
		for (unsigned i = 0; i < n; i++) {
			a[i] = malloc(sizeof(**a));
			prepare(a[i], (unsigned)rand_r(&seed) % 10000, KINDS);
			list[i] = &a[i]->cb;
		}
		aio_context_t ctx = shared[(unsigned)rand_r(&seed) % CONTEXTS];
		left += n;
		for (unsigned at = 0; at < n;) {
			long got = syscall(SYS_io_submit, ctx, n - at, list + at);
			need(got > 0 || errno == EAGAIN, "io_submit");
			at += got > 0 ? (unsigned)got : 0;
		}
	}
	return NULL;
}

static atomic_bool over;

static void *getter(void *arg)
{
	aio_context_t ctx = *(aio_context_t *)arg;

	while (!over || left) {
		struct timespec limit = { 0, 2000000 };
		struct io_event e[16];
		long n = syscall(SYS_io_getevents, ctx, 1, 16, e, &limit);
		need(n >= 0 || errno == EINTR, "io_getevents");
		for (long i = 0; i < n; i++) {
			note((struct ask *)e[i].obj, e[i].res);
			free((struct ask *)e[i].obj); /* to be used again soon */
			left--;
		}
	}
	return NULL;
}

/* Any thread asks anywhere; two threads wait in each context. */
static void threads(void)
{
	pthread_t asks[THREADS], gets[2 * CONTEXTS];

	for (int i = 0; i < CONTEXTS; i++)
		shared[i] = setup(64);
	for (int i = 0; i < 2 * CONTEXTS; i++)
		pthread_create(&gets[i], NULL, getter, &shared[i % CONTEXTS]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&asks[i], NULL, submitter, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(asks[i], NULL);
	over = true;
	for (int i = 0; i < 2 * CONTEXTS; i++)
		pthread_join(gets[i], NULL);
}

static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER;

/* Whatever is answered, by whom it may be that asks. */
static void reap_all(void)
{
	struct aio_ring *ring = (struct aio_ring *)shared[0];

	pthread_mutex_lock(&reaping);
	for (unsigned head = ring->head; head != ring->tail; ring->head = head) {
		struct ask *a = (struct ask *)ring->event[head].obj;
		note(a, ring->event[head].res);
		free(a);
		left--;
		head = (head + 1) % ring->nr;
	}
	pthread_mutex_unlock(&reaping);
}

static void *one_of_crowd(void *arg)
{
	enum { MOST = 100 };
	unsigned seed = (unsigned)(unsigned long)arg;

	for (long r = 0; r < rounds; r++) {
		int n = 1 + rand_r(&seed) % MOST;
		struct iocb *list[MOST];
		for (int i = 0; i < n; i++) {
			struct ask *a = malloc(sizeof(*a));
			prepare(a, (unsigned)rand_r(&seed) % 10000, 2);
			list[i] = &a->cb;
		}
		left += n;
		for (int at = 0; at < n; reap_all()) {
			long got = syscall(SYS_io_submit, shared[0], n - at, list + at);
			need(got > 0 || errno == EAGAIN, "io_submit");
			at += got > 0 ? (int)got : 0;
		}
	}
	return NULL;
}

/* Together they ask for more at a time than there is room for answers. */
static void crowd(void)
{
	pthread_t t[THREADS];

	shared[0] = setup(64);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, one_of_crowd, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	while (left)
		reap_all();
}

static void *own(void *arg)
{
	(void)arg;
	batches(setup(8), 8, KINDS);
	return NULL;
}

static void apart(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, own, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* In each of them the context is at the same place. */
static void forked(void)
{
	for (int i = 0; i < THREADS; i++) {
		pid_t pid = fork();
		need(pid >= 0, "fork");
		if (!pid) {
			plain();
			_exit(0);
		}
	}
	plain();
	for (int i = 0; i < THREADS; i++)
		need(wait(NULL) > 0, "wait");
}

/* Likewise, of before a fork: the child's calls about it fail. */
static void inherited(void)
{
	aio_context_t ctx = setup(8);

	batches(ctx, 8, KINDS);
	pid_t pid = fork();
	if (!pid) {
		static struct ask a[1];
		prepare(a, 1, 1);
		for (int i = 0; i < 200; i++)
			need(submit(ctx, a, 1) < 0, "a parent's context");
		plain();
		_exit(0);
	}
	batches(ctx, 8, KINDS);
	int status = 1;
	need(waitpid(pid, &status, 0) == pid && !status, "child");
}

static void renewed(void)
{
	long all = rounds;

	rounds = 20;
	for (long r = 0; r < all; r += rounds) {
		aio_context_t ctx = setup(8);
		batches(ctx, 8, KINDS);
		need(!syscall(SYS_io_destroy, ctx), "io_destroy");
	}
}

#include "submitsodd.h"

static void loop(int depth)
{
	static struct ask a[DEPTH];
	struct iocb *list[DEPTH];
	struct io_event e[DEPTH];
	struct timespec from, to;
	aio_context_t ctx = setup((unsigned)depth);

	for (int i = 0; i < depth; i++) {
		prepare(&a[i], (unsigned)i, 1);
		a[i].cb.aio_nbytes = SIZE;
		list[i] = &a[i].cb;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long r = 0; r < rounds; r += depth) {
		need(syscall(SYS_io_submit, ctx, depth, list) == depth, "io_submit");
		for (long n = 0; n < depth;)
			n += syscall(
				SYS_io_getevents, ctx, depth - n, depth - n, e, NULL);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 +
		    (double)(to.tv_nsec - from.tv_nsec);
	printf("%.0f\n", ns / (double)rounds);
}

static const struct {
	const char *how;
	void (*run)(void);
} ways[] = {
	{ "plain", plain },
	{ "wide", wide },
	{ "deep", deep },
	{ "reap", reap },
	{ "mixed", mixed },
	{ "few", few },
	{ "threads", threads },
	{ "crowd", crowd },
	{ "apart", apart },
	{ "forked", forked },
	{ "inherited", inherited },
	{ "renewed", renewed },
	{ "alarmed", alarmed },
	{ "patient", patient },
	{ "left", left_behind },
	{ "odd", odd },
};

static void tell(void)
{
	const char *comma = "";

	putchar('{');
	for (int i = 0; i < KINDS; i++) {
		if (!did[i].operations && !did[i].errors)
			continue;
		printf("%s\"aio:%s\": [%ld, %ld, %ld]", comma, name[i], did[i].operations,
			did[i].errors, did[i].bytes);
		comma = ", ";
	}
	puts("}");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	path = argv[2];
	if (argc > 3)
		rounds = atol(argv[3]);
	did = mmap(NULL, sizeof(*did) * KINDS, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(did != MAP_FAILED && fd >= 0 && !ftruncate(fd, 32 * SIZE), path);
	if (!strcmp(argv[1], "loop") && argc == 5 && atoi(argv[4]) > 0 &&
		atoi(argv[4]) <= DEPTH) {
		loop(atoi(argv[4]));
		return 0;
	}
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].how, argv[1]) != 0)
			continue;
		ways[i].run();
		tell();
		return 0;
	}
	return 2;
}
