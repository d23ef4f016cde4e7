/*
 * uring_told.c - what the hook has kept of a ring
 *
 * A look at the ring itself may come before the records of the hook are read, or behind,
 * and threads may have noted the same: each entry and answer has its number, and counts
 * once.
 */
#include "../uring.h"

#include <string.h>
#include <sys/syscall.h>

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* A record of io_uring_enter(2), which the target can write to. */
struct noted {
	struct fast_ring ring;
	const struct io_uring_sqe *entry;
	const struct io_uring_cqe *answer;
};

static struct noted noted_of(const struct fast_rec *rec)
{
	const uint8_t *at = (const uint8_t *)rec;
	struct noted n;

	memcpy(&n.ring, at + R_MORE, sizeof(n.ring));
	n.ring.n = at_most(n.ring.n, ENTRIES_MOST);
	n.ring.before = at_most(n.ring.before, ANSWERS_MOST);
	n.ring.behind = at_most(n.ring.behind, ANSWERS_MOST);
	n.entry = (const struct io_uring_sqe *)(at + R_RING_ENTRY);
	n.answer = (const struct io_uring_cqe *)(n.entry + n.ring.n);
	return n;
}

/* Answers from a number on. */
static void answers(struct tracer *t, struct uring *r, const struct io_uring_cqe *from,
	uint32_t number, uint32_t n, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		struct io_uring_cqe c;
		memcpy(&c, from + i, sizeof(c));
		uring_answer(t, r, &c, number + i, now);
	}
}

/* The number of its first entry, of which the kernel has 32 bits. */
static int64_t first_of(const struct uring *r, const struct noted *n)
{
	return (int64_t)r->decoded + (int32_t)(n->ring.from - (uint32_t)r->decoded);
}

static void entries(struct tracer *t, struct task *k, struct uring *r,
	const struct noted *n, uint64_t now)
{
	int64_t from = first_of(r, n);

	for (uint32_t i = 0; i < n->ring.n; i++) {
		struct io_uring_sqe s;
		memcpy(&s, n->entry + i, sizeof(s));
		uring_offer(t, k, r, from, i, &s, now);
	}
}

void uring_flight(struct tracer *t, struct uring *r, struct task *k)
{
	bool sane = k->slot.ctl && !k->distrusted;
	uint64_t head = sane ? slot_head(&k->slot, &sane) : 0;
	const struct fast_rec *rec = sane ? slot_rec(&k->slot, head) : NULL;

	if (!rec || rec->state != REC_BEGUN || rec_nr(rec) != SYS_io_uring_enter ||
		rec->t0 <= k->slot.ended || !r->view.sq ||
		uring_of_call(t, k, rec->arg[0], rec->arg[3]) != r)
		return;
	const struct noted n = noted_of(rec);
	uint64_t now = fast_then(t, rec->t0);
	entries(t, k, r, &n, now);
	uring_taken(t, r, uring_head(r));
	answers(t, r, n.answer, n.ring.known, n.ring.before, now);
}

/* It is complete. false: no call has left it. */
bool uring_told(struct tracer *t, struct task *k, const struct fast_rec *rec)
{
	const struct noted n = noted_of(rec);
	struct fast_ring as_is;

	memcpy(&as_is, (const uint8_t *)rec + R_MORE, sizeof(as_is));
	if (as_is.n > ENTRIES_MOST || as_is.before > ANSWERS_MOST ||
		as_is.behind > ANSWERS_MOST)
		return false;
	uint32_t taken = n.ring.taken - n.ring.from;
	struct uring *r =
		async_counts(t, k) ? uring_of_call(t, k, rec->arg[0], rec->arg[3]) : NULL;

	if (!r || !r->view.sq) {
		if (async_counts(t, k))
			async_lost(t, k->process, at_most(taken, ENTRIES_MOST));
		return true;
	}
	uint64_t began = fast_then(t, rec->t0), ended = fast_then(t, rec->t1);
	k->early.never = false;
	if (!k->early.goes_on) {
		k->early.from = began;
		k->early.head = n.ring.read;
	}
	k->early.goes_on = false;
	answers(t, r, n.answer, n.ring.known, n.ring.before, began);
	int64_t end = first_of(r, &n) + at_most(taken, r->p.sq_entries);
	entries(t, k, r, &n, began);
	if (end > 0)
		uring_taken(t, r, (uint64_t)end);
	answers(t, r, n.answer + n.ring.before, n.ring.then, n.ring.behind, ended);
	uint32_t told = n.ring.then + n.ring.behind;
	if ((int32_t)(told - r->told) > 0)
		r->told = told;
	uring_progress(t, r);
	return true;
}
