/*
 * feed.c - a bounded queue of chunks between two threads
 */
#include "feed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Below what malloc() maps apart; some thousand rows a second fit the queue. */
enum { CHUNK = 64 << 10, QUEUE = 8 << 20, NICE = 10 };

struct chunk {
	struct chunk *next;
	size_t len, cap;
	_Alignas(8) char data[]; /* records, each after its length (uint64_t) */
};

struct feed {
	const struct feed_ops *ops;
	void *ctx;
	pthread_t thread;
	bool busy;            /* of the thread that drains */
	int err;              /* the same; the first one since the last feed_drain() */
	struct chunk *filled; /* of the worker */
	atomic_bool hurry;

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t change;
	struct chunk *first, **last;
	size_t queued; /* bytes */
	bool ended;
	int result;
};

int feed_new(struct feed **out, const struct feed_ops *ops, void *ctx)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->ops = ops;
	f->ctx = ctx;
	f->last = &f->first;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->change, NULL);
	*out = f;
	return 0;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->change);
	free(f);
}

bool feed_busy(const struct feed *f)
{
	return f->busy;
}

void feed_hurry(struct feed *f)
{
	/* No wake-up here, a handler may not lock: who waits for room is woken by the
	 * drain that follows. */
	atomic_store(&f->hurry, true);
}

bool feed_hurried(const struct feed *f)
{
	return atomic_load_explicit(&f->hurry, memory_order_relaxed);
}

/* Hand over what is filled. */
static int push(struct feed *f, bool ended, int result)
{
	struct chunk *c = f->filled;

	f->filled = NULL;
	pthread_mutex_lock(&f->lock);
	while (c && !ended && f->queued > QUEUE && !feed_hurried(f))
		pthread_cond_wait(&f->change, &f->lock);
	if (c) {
		*f->last = c;
		f->last = &c->next;
		f->queued += c->len;
	}
	f->ended = ended;
	f->result = result;
	pthread_cond_broadcast(&f->change);
	pthread_mutex_unlock(&f->lock);
	return feed_hurried(f) ? -ECANCELED : 0;
}

int feed_put(struct feed *f, const struct iovec *part, int n)
{
	uint64_t len = 0;

	for (int i = 0; i < n; i++)
		len += part[i].iov_len;
	size_t room = sizeof(len) + (len + 7) / 8 * 8;

	int err = f->filled && f->filled->cap - f->filled->len < room ? push(f, false, 0)
								      : 0;
	if (err < 0)
		return err;
	if (!f->filled) {
		size_t cap = room > CHUNK ? room : CHUNK;
		f->filled = malloc(sizeof(*f->filled) + cap);
		if (!f->filled)
			return -ENOMEM;
		*f->filled = (struct chunk){ .cap = cap };
	}

	char *to = f->filled->data + f->filled->len;
	memcpy(to, &len, sizeof(len));
	to += sizeof(len);
	for (int i = 0; i < n; i++) {
		memcpy(to, part[i].iov_base, part[i].iov_len);
		to += part[i].iov_len;
	}
	f->filled->len += room;
	return 0;
}

static void *run(void *arg)
{
	struct feed *f = arg;

	/* What is watched comes first. A thread's own niceness: Linux, setpriority(2). */
	setpriority(PRIO_PROCESS, 0, NICE);
	push(f, true, f->ops->work(f->ctx, f));
	return NULL;
}

int feed_start(struct feed *f)
{
	sigset_t all, before;

	f->ended = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	f->busy = !err;
	return -err;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The next chunk, NULL if there is none; ended: nor will there be. */
static struct chunk *pop(struct feed *f, bool wait, bool *ended)
{
	pthread_mutex_lock(&f->lock);
	while (wait && !f->first && !f->ended)
		pthread_cond_wait(&f->change, &f->lock);

	struct chunk *c = f->first;
	if (c) {
		f->first = c->next;
		f->queued -= c->len;
		if (!f->first)
			f->last = &f->first;
	}
	*ended = !c && f->ended;
	pthread_cond_broadcast(&f->change);
	pthread_mutex_unlock(&f->lock);
	return c;
}

static void keep(struct feed *f, int err)
{
	if (err < 0 && !f->err)
		f->err = err;
}

static void take_all(struct feed *f, struct chunk *c)
{
	uint64_t len;

	for (size_t at = 0; at < c->len; at += sizeof(len) + (len + 7) / 8 * 8) {
		memcpy(&len, c->data + at, sizeof(len));
		keep(f, f->ops->take(f->ctx, c->data + at + sizeof(len)));
	}
	free(c);
}

int feed_drain(struct feed *f, uint64_t budget_ns)
{
	uint64_t from = now_ns();
	bool wait = budget_ns == UINT64_MAX, ended = false;

	while (f->busy && now_ns() - from < budget_ns) {
		struct chunk *c = pop(f, wait, &ended);
		if (c) {
			take_all(f, c);
			continue;
		}
		if (!ended)
			break;
		pthread_join(f->thread, NULL);
		f->busy = false;
		keep(f, f->result);
	}

	int err = f->err;
	f->err = 0;
	return err;
}
