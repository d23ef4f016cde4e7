/*
 * uring_seen.c - answers that are seen in the ring itself
 */
#include "uring.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void tell(struct tracer *t, struct task *k, void *arg)
{
	struct uring *r = arg;

	if (uring_is_entered(r, k))
		uring_flight(t, r, k);
}

/* Whether the next one is known by now from those that enter it without a stop. */
static bool is_told(struct tracer *t, struct uring *r)
{
	uint32_t before = r->answered;

	drain_all(t);
	tasks_each(t, tell, r);
	return r->answered != before;
}

/* The kernel does not write over what the program has not read. */
static bool is_unread(const struct uring *r, uint32_t number)
{
	return (int32_t)(uring_word(r->view.cq, r->p.cq_off.head) - number) <= 0;
}

static uint32_t tail_of(const struct uring *r)
{
	return uring_word(r->view.cq, r->p.cq_off.tail);
}

/* Answers from a number on, as they are there now. Returns how many. */
static uint32_t copy(const struct uring *r, uint32_t number, uint32_t tail,
	struct io_uring_cqe *to, uint32_t most)
{
	const struct io_uring_params *p = &r->p;
	unsigned wide = !!(p->flags & IORING_SETUP_CQE32);
	uint32_t n = tail - number < most ? tail - number : most;

	for (uint32_t i = 0; i < n; i++) {
		size_t at = ((number + i) & (p->cq_entries - 1)) << wide;
		memcpy(&to[i], r->view.cq + p->cq_off.cqes + at * sizeof(*to),
			sizeof(*to));
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return n;
}

/*
 * The first tail behind that one, which tells of all that the kernel was writing then. A
 * thread of its own says so at once, as nothing interrupts it there; a task where it runs
 * again.
 */
static uint32_t settled(
	const struct tracer *t, const struct uring *r, bool alone, uint32_t tail)
{
	enum { AT_ONCE_NS = 4000, SOON_NS = 50 * 1000 };
	const uint64_t until = tracer_now(t) + (alone ? AT_ONCE_NS : SOON_NS);
	uint32_t now;

	while ((now = tail_of(r)) == tail && tracer_now(t) < until)
		if (!alone)
			sched_yield();
	return now;
}

/*
 * The program has read them long ago, and the kernel may be writing over the first of
 * them in this moment. Those that it has are lost to us, but for what the hook has noted.
 */
static void take_doubtful(struct tracer *t, struct uring *r, bool alone, uint64_t now)
{
	uint32_t entries = r->p.cq_entries, number = r->answered, tail = tail_of(r);
	uint32_t from = tail - number <= entries ? number : tail - entries;
	struct io_uring_cqe *c = malloc(entries * sizeof(*c));
	uint32_t n = c ? copy(r, from, tail, c, entries) : 0;

	tail = settled(t, r, alone, tail_of(r));
	bool told = r->entrants && is_told(t, r);
	uint32_t first = tail - entries;
	if (tail - number > entries && (!told || (int32_t)(first - r->answered) > 0))
		uring_lose(t, r, first);
	for (uint32_t i = 0; i < n; i++)
		if (tail - (from + i) <= entries && tail != from + i)
			uring_answer(t, r, &c[i], from + i, now);
	free(c);
}

struct others {
	const struct uring *r;
	const struct task *than;
	bool any;
};

static void is_other(struct tracer *t, struct task *k, void *arg)
{
	struct others *o = arg;

	(void)t;
	o->any |= k != o->than && uring_is_entered(o->r, k);
}

/* Whether the hook of another task may have noted what it is yet to tell, and it can
 * wait for that: this is no stop of who is in the ring. */
static bool may_be_left(struct tracer *t, const struct task *k, struct uring *r)
{
	struct others o = { .r = r, .than = k };

	if (r->entrants && !(k && (r->only == k->tid || k->ring == r)))
		tasks_each(t, is_other, &o);
	return o.any;
}

/* What is still there for sure, then what the hooks tell, then what is in doubt; but
 * where a hook may be yet to tell of that, not before there is little room left behind
 * it. */
void uring_answered(struct tracer *t, const struct task *k, struct uring *r)
{
	enum { CHUNK = 64, DOUBTS = 3 };
	uint32_t entries = r->p.cq_entries, doubts = 0;

	if (!r->view.cq)
		return;
	uint64_t now = tracer_now(t);
	bool alone = k && r->only == k->tid, left = may_be_left(t, k, r);
	uint32_t safe = left ? 0 : uring_safe(r, alone);
	for (uint32_t n = 0; n < 2 * entries; n++) {
		struct io_uring_cqe c[CHUNK];
		uint32_t number = r->answered, tail = tail_of(r);
		if (number == tail)
			break;
		uint32_t got = copy(r, number, tail, c, CHUNK);
		bool sure = tail - number <= entries &&
			    (is_unread(r, number) || tail_of(r) - number <= safe);
		for (uint32_t i = 0; sure && i < got; i++)
			uring_answer(t, r, &c[i], number + i, now);
		if (sure || (r->entrants && is_told(t, r)))
			continue;
		if ((left && tail - number <= entries / 2) || doubts++ == DOUBTS)
			break;
		take_doubtful(t, r, alone, now);
	}
	uring_progress(t, r);
}
