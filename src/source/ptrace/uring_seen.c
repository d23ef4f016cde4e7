/*
 * uring_seen.c - answers that are seen in the ring itself
 */
#include "uring.h"

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

/* Those that were overwritten meanwhile, as the program has read them long ago, are lost
 * to us. */
void uring_answered(struct tracer *t, struct uring *r)
{
	enum { TRIES = 3 };
	const struct io_uring_params *p = &r->p;
	const uint8_t *cq = r->view.cq;
	unsigned wide = !!(p->flags & IORING_SETUP_CQE32), tries = 0;
	uint32_t number = r->answered;

	if (!cq)
		return;
	uint64_t now = tracer_now(t);
	uint32_t tail = uring_word(cq, p->cq_off.tail);
	for (uint32_t n = 0; number != tail && n < 2 * p->cq_entries; n++) {
		struct io_uring_cqe c;
		size_t at = (number & (p->cq_entries - 1)) << wide;
		memcpy(&c, cq + p->cq_off.cqes + at * sizeof(c), sizeof(c));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		tail = uring_word(cq, p->cq_off.tail);
		if (tail - number <= p->cq_entries) {
			uring_answer(t, r, &c, number++, now);
		} else if (r->entrants && (is_told(t, r) || tries++ < TRIES)) {
			number = r->answered;
			tail = uring_word(cq, p->cq_off.tail);
		} else {
			number = tail - p->cq_entries;
			uring_lose(t, r, number);
		}
	}
	uring_progress(t, r);
}
