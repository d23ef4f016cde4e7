/*
 * aio_answer.c - requests of Linux AIO that are answered
 */
#include "aio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LATE_MOST = 4096 };

static void end(
	struct tracer *t, struct aio *a, struct request *q, int64_t result, uint64_t now)
{
	if (requests_confused(&a->flying, q, now) && a->process->newest)
		task_note(t, a->process->newest, NOTE_AIO, 0);
	q->result = result;
	if (request_may_return(q, result))
		async_end(t, q, result, now);
	else
		async_lost(t, a->process, 1);
	requests_done(t, &a->flying, q);
}

/* Of many threads the records are not read at once; or it is from before we came. */
static void keep(struct aio *a, const struct aio_late *l)
{
	if (!a->late)
		a->late = calloc(LATE_MOST, sizeof(*a->late));
	if (!a->late)
		return;
	if (a->nlate == LATE_MOST)
		memmove(a->late, a->late + 1, --a->nlate * sizeof(*l));
	a->late[a->nlate++] = *l;
}

static void answer(
	struct tracer *t, struct aio *a, const struct told_event *e, uint64_t now)
{
	struct request *q = requests_find(&a->flying, e->iocb);

	if (q)
		end(t, a, q, e->result, now);
	else if (a->rings)
		keep(a, &(struct aio_late){ e->iocb, now, e->result });
}

static bool is_due(const struct aio *a, uint16_t turn)
{
	return (int16_t)(turn - a->turn) <= 0;
}

/* One that comes when it has been given up sets nobody back. */
static void take(struct tracer *t, struct aio *a, uint16_t turn,
	const struct told_event *e, uint32_t n, uint64_t now)
{
	if (!is_due(a, turn) || turn == a->turn)
		a->turn = (uint16_t)(turn + 1);
	for (uint32_t i = 0; i < n; i++)
		answer(t, a, &e[i], now);
}

static void take_first(struct tracer *t, struct aio *a)
{
	struct aio_noted *n = a->noted;

	a->noted = n->next;
	a->nnoted--;
	take(t, a, n->turn, n->event, n->n, n->now);
	free(n);
}

void aio_all(struct tracer *t, struct aio *a)
{
	while (a->noted)
		take_first(t, a);
}

static void put_by(struct tracer *t, struct aio *a, uint16_t turn,
	const struct told_event *e, uint32_t n, uint64_t now)
{
	struct aio_noted *new = malloc(sizeof(*new) + n * sizeof(*e)), **at = &a->noted;

	if (!new) {
		async_lost(t, a->process, n);
		return;
	}
	*new = (struct aio_noted){ .turn = turn, .n = n, .now = now };
	memcpy(new->event, e, n * sizeof(*e));
	while (*at && (int16_t)((*at)->turn - turn) < 0)
		at = &(*at)->next;
	new->next = *at;
	*at = new;
	a->nnoted++;
}

/*
 * Who has said how far it has come may be yet to tell what it has seen: others are
 * through with that by then, and may have used the same memory again.
 */
void aio_in_turn(struct tracer *t, struct aio *a, uint16_t turn,
	const struct told_event *e, uint32_t n, uint64_t now)
{
	enum { MANY = 4096 };

	if (is_due(a, turn))
		take(t, a, turn, e, n, now);
	else
		put_by(t, a, turn, e, n, now);
	while (a->noted && (is_due(a, a->noted->turn) || a->nnoted > MANY))
		take_first(t, a);
}

/* Whether an answer to a request was there before the request. */
void aio_meet(struct tracer *t, struct aio *a, struct request *q)
{
	for (unsigned i = 0; i < a->nlate; i++) {
		const struct aio_late l = a->late[i];
		if (l.iocb != q->key)
			continue;
		a->nlate--;
		memmove(a->late + i, a->late + i + 1, (a->nlate - i) * sizeof(l));
		if (l.now >= q->op[0].start_ns) {
			end(t, a, q, l.result, l.now);
			return;
		}
		i--; /* of one before it that had the same address */
	}
}

void aio_not_begun(struct tracer *t, struct task *k)
{
	struct aio *a = k->asked_at ? aio_find(t, k->process, k->asked_in) : NULL;

	if (a)
		k->fast -= requests_undo(t, &a->flying, k->asked, k->tid);
	k->asked_at = 0;
}

/*
 * The kernel takes the first of them. What io_submit(2) fails with is what the first one
 * has, unless that is EINVAL, as of a context that is none of its own; of another one it
 * says nothing, but when that is tried again. How many that were wanted are not asked for
 * after all.
 */
unsigned aio_refused(
	struct tracer *t, struct task *k, struct aio *a, int64_t ret, uint64_t now)
{
	uint64_t from = k->asked + (ret > 0 ? (uint64_t)ret : 0);

	from += ret < 0 && ret != -EINVAL &&
		requests_refuse(t, &a->flying, from, k->tid, ret, now);
	return requests_undo(t, &a->flying, from, k->tid);
}
