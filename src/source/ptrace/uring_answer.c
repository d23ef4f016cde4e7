/*
 * uring_answer.c - answers, as the ends of requests
 */
#include "uring.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* What succeeds is not told of those that are silent. */
static struct request *asked_for(const struct uring *r, const struct io_uring_cqe *c)
{
	struct request *q = requests_find(&r->flying, c->user_data);

	while (q && q->silent && c->res >= 0)
		q = q->next ? &r->flying.all[q->next - 1] : NULL;
	return q;
}

static bool is_descriptor(const struct request *q)
{
	return q->direct < 0 && q->opcode != URING_PIPE &&
	       (q->op[0].kind == OP_OPEN || q->op[0].kind == OP_CLOSE);
}

/* Of buffers that the kernel chooses it is not known what fits into them. */
static int64_t moved(const struct request *q, int32_t res)
{
	uint64_t n = res < 0 || (uint64_t)res < q->header ? 0 : (uint64_t)res - q->header;

	if (q->cut && q->op[0].want && n > q->op[0].want)
		n = q->op[0].want;
	return res < 0 ? res : (int64_t)n;
}

static void answer(struct tracer *t, struct uring *r, struct request *q,
	const struct io_uring_cqe *c, uint64_t now)
{
	/* What its end has called off is nothing that it did. */
	bool off = r->ends && c->res == -ECANCELED;
	bool notice = c->flags & IORING_CQE_F_NOTIF;

	if (requests_confused(&r->flying, q, now) && r->process && r->process->newest)
		task_note(t, r->process->newest, NOTE_IO_URING, 0);
	if (!notice && !request_may_return(q, c->res)) {
		if (r->process)
			async_lost(t, r->process, 1);
		requests_done(t, &r->flying, q);
		return;
	}
	q->result = notice ? q->result : c->res;
	if (!notice && !off) {
		/* Linked to one before it that has put the file there. */
		for (int i = 0; i <= q->two; i++)
			uring_find_file(t, r, q, i);
		if (is_descriptor(q) && q->op[0].kind == OP_OPEN && c->res >= 0)
			q->op[0].fd = c->res;
		uring_made_file(t, q, c->res);
		async_end(t, q, moved(q, c->res), now);
	}
	if (is_descriptor(q) && c->res >= 0 && !notice)
		uring_forget(t, task_find(t, q->op[0].tid),
			q->op[0].kind == OP_OPEN ? c->res : q->op[0].fd);
	if (!notice) { /* what follows on it is put back before it */
		uring_sever(t, r, q, c->res);
		uring_renew(t, r, q, c->res);
	}
	if (!(c->flags & IORING_CQE_F_MORE))
		requests_done(t, &r->flying, q);
}

static unsigned room(const struct uring *r)
{
	return 2 * r->p.cq_entries;
}

static struct late *late_of(const struct uring *r, uint32_t number)
{
	return &r->late[number & (room(r) - 1)];
}

/*
 * Whether what an answer is to may yet be told of. One task alone tells in its order, but
 * what is seen in the ring may be ahead of that: the kernel answers before it says how
 * many it has taken.
 */
static bool may_be_told(const struct uring *r, uint32_t number)
{
	return r->entrants > 1 || (r->entrants && (int32_t)(number - r->told) >= 0) ||
	       r->decoded < r->head || uring_head(r) > r->decoded;
}

/* Those before it in their order, and none before its request is known: that may be in
 * what a task is yet to tell of. all: whatever is known. */
static void progress(struct tracer *t, struct uring *r, bool all)
{
	for (; r->done != r->answered; r->done++) {
		struct late *l = late_of(r, r->done);
		const struct io_uring_cqe c = {
			.user_data = l->word, .res = l->res, .flags = l->flags
		};
		struct request *q = l->seen ? asked_for(r, &c) : NULL;
		if (l->seen && !q && uring_proves(t, r, c.user_data))
			q = asked_for(r, &c);
		if (l->seen && !q && !all && may_be_told(r, r->done))
			return;
		if (l->seen && !q)
			q = uring_short(r, c.user_data, c.res);
		l->seen = false;
		if (q) /* else it is from another ring: IORING_OP_MSG_RING */
			answer(t, r, q, &c, l->now);
	}
}

void uring_progress(struct tracer *t, struct uring *r)
{
	progress(t, r, false);
}

void uring_lose(struct tracer *t, struct uring *r, uint32_t number)
{
	uint64_t lost = 0;

	for (; r->answered != number; r->answered++) {
		if (r->answered - r->done == room(r)) {
			uring_give_up(t, r);
			progress(t, r, true);
		}
		if (number - r->answered > LOST_MAX) { /* the target has written there */
			uring_give_up(t, r);
			progress(t, r, true);
			memset(r->late, 0, room(r) * sizeof(*r->late));
			r->done = r->answered = number;
			lost = LOST_MAX;
			break;
		}
		lost += !late_of(r, r->answered)->seen;
	}
	if (r->process)
		async_lost(t, r->process, lost < LOST_MAX ? lost : LOST_MAX);
}

void uring_answer(struct tracer *t, struct uring *r, const struct io_uring_cqe *c,
	uint32_t number, uint64_t now)
{
	if ((int32_t)(number - r->answered) < 0)
		return;
	if (number - r->done >= room(r)) {
		uring_lose(t, r, number);
		uring_give_up(t, r);
		progress(t, r, true);
	}
	*late_of(r, number) = (struct late){ c->user_data, now, c->res, c->flags, true };
	while (r->answered - r->done < room(r) && late_of(r, r->answered)->seen)
		r->answered++;
	progress(t, r, false);
}
