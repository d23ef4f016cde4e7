/*
 * uring_chain.c - requests that are linked, one of which fails
 *
 * What follows on it in its chain is not made. Each is told so by an answer, even one
 * that is to be silent; but where it is the one that has failed that was to be, none is.
 */
#include "uring.h"

#include <errno.h>

/* A short read or write is answered as what it is, and the chain ends there as well. */
static bool is_short(const struct request *q, int32_t res)
{
	return q->whole && res >= 0 && (uint64_t)res < q->op[0].want;
}

/* A timeout of one request alone is answered whatever becomes of that. */
static bool is_timeout(const struct request *q, const struct request *of)
{
	return q->opcode == IORING_OP_LINK_TIMEOUT && q->at == of->at + 1;
}

/* What follows on it is not made: what was to be registered silently is not, either. The
 * last one first, as each knows what was there before it. */
static void put_back(struct uring *r, const struct request *q)
{
	uint64_t below = UINT64_MAX;

	for (const struct request *last = q; last;) {
		last = NULL;
		for (unsigned i = 0; i < r->flying.cap; i++) {
			const struct request *s = &r->flying.all[i];
			if (s->used && s->chain == q->chain && s->at > q->at &&
				s->at < below && s->silent && s->direct >= 0 &&
				(!last || s->at > last->at))
				last = s;
		}
		if (last) {
			uring_put_back(r, last);
			below = last->at;
		}
	}
}

void uring_sever(struct tracer *t, struct uring *r, const struct request *q, int32_t res)
{
	if (!q->severs || q->called_off || (res >= 0 && !is_short(q, res)))
		return;
	r->severed = q->chain;
	r->silenced = q->silent;
	put_back(r, q);
	for (unsigned i = 0; i < r->flying.cap; i++) {
		struct request *s = &r->flying.all[i];
		if (!s->used || s->chain != q->chain || s->at <= q->at ||
			is_timeout(s, q))
			continue;
		s->called_off = true;
		if (!q->silent)
			continue;
		s->result = -ECANCELED;
		uring_drop_update(r, s->at);
		requests_done(t, &r->flying, s);
	}
}

bool uring_severed(const struct uring *r, struct request *q)
{
	q->called_off = q->chain == r->severed;
	return q->called_off && r->silenced;
}

struct request *uring_short(const struct uring *r, uint64_t word, int32_t res)
{
	struct request *q = requests_find(&r->flying, word);

	while (q && !(q->silent && is_short(q, res)))
		q = q->next ? &r->flying.all[q->next - 1] : NULL;
	return q;
}
