/*
 * aio_told.c - what the hook has kept of io_submit(2), and of answers
 *
 * Records come in the order of their time. A call is told of when it has begun, as what
 * it asks for may be answered before it is over; and each answer is told of once.
 */
#include "../aio.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

static void put_file(
	struct tracer *t, struct task *k, struct request *q, const struct told_iocb *cb)
{
	const struct fd_open *o = history_of(t, k, cb->fd);
	struct op *op = &q->op[0];

	op->fd = cb->fd;
	op->file = o ? o->file : 0;
	if (op->kind != OP_READ && op->kind != OP_WRITE)
		return;
	op->want = cb->bytes;
	q->appends = op->kind == OP_WRITE && write_appends(o ? o->flags : -1, cb->rw);
	if (o && o->seeks && !q->appends)
		op->offset = (int64_t)cb->offset;
}

static bool ask(struct tracer *t, struct task *k, struct aio *a,
	const struct told_iocb *cb, uint64_t now)
{
	struct request *q = requests_add(&a->flying, cb->at);

	if (!q)
		return false;
	async_begin(t, k, q, ASYNC_AIO, cb->opcode, now);
	q->at = ++a->asked;
	k->fast += q->wanted;
	put_file(t, k, q, cb);
	flight_begins(t, q);
	if (a->nlate)
		aio_meet(t, a, q);
	return true;
}

static uint32_t number_of(const struct fast_rec *rec)
{
	uint32_t n;

	memcpy(&n, (const uint8_t *)rec + R_AIO_N, sizeof(n));
	return n;
}

static void begin(
	struct tracer *t, struct task *k, struct aio *a, const struct fast_rec *rec)
{
	const struct told_iocb *from =
		(const struct told_iocb *)((const uint8_t *)rec + R_AIO_FROM);
	uint64_t now = fast_then(t, rec->t0);
	uint32_t n = number_of(rec);

	k->asked = a->asked + 1;
	k->asked_n = 0;
	k->asked_in = a->id;
	k->asked_at = rec->t0;
	for (uint32_t i = 0; i < n && i < IOCBS_MOST; i++) {
		struct told_iocb cb;
		memcpy(&cb, from + i, sizeof(cb));
		if (!ask(t, k, a, &cb, now))
			break;
		k->asked_n++;
	}
}

/* The kernel takes the first of them, and has said how many. */
static void taken(struct tracer *t, struct task *k, struct aio *a, uint32_t asks,
	int64_t ret, uint64_t now)
{
	uint64_t n = ret > 0 ? (uint64_t)ret : 0;

	if (a->rings && n < asks)
		context_asks(a->rings, a->key, -(int32_t)(asks - n));
	if (n > k->asked_n)
		async_lost(t, k->process, n - k->asked_n);
	else if (n < k->asked_n)
		k->fast -= aio_refused(t, k, a, ret, now);
	k->asked_at = 0;
}

static void submitted(
	struct tracer *t, struct task *k, const struct fast_rec *rec, bool begun)
{
	struct aio *a = aio_find(t, k->process, rec->arg[0]);

	if (!a || k->asked_at != rec->t0)
		aio_not_begun(t, k);
	if (!a) {
		if (!begun && rec->result > 0)
			async_lost(t, k->process, (uint64_t)rec->result);
		return;
	}
	if (k->asked_at != rec->t0)
		begin(t, k, a, rec);
	if (!begun)
		taken(t, k, a, number_of(rec), rec->result, fast_then(t, rec->t1));
}

static void answered(struct tracer *t, struct task *k, const struct fast_rec *rec)
{
	const struct told_event *from =
		(const struct told_event *)((const uint8_t *)rec + R_AIO_FROM);
	struct aio *a = aio_find(t, k->process, rec->arg[0]);
	uint32_t n = number_of(rec), turn;

	memcpy(&turn, (const uint8_t *)rec + R_AIO_TURN, sizeof(turn));
	if (a)
		aio_in_turn(t, a, (uint16_t)turn, from, n < EVENTS_MOST ? n : EVENTS_MOST,
			fast_then(t, rec->t1));
}

bool aio_told(struct tracer *t, struct task *k, const struct fast_rec *rec, bool begun)
{
	bool submits = rec_nr(rec) == SYS_io_submit;

	if (!begun && (number_of(rec) > (submits ? IOCBS_MOST : EVENTS_MOST) ||
			      rec->result > IOCBS_MOST))
		return false;
	if (!submits)
		answered(t, k, rec);
	else if (async_counts(t, k))
		submitted(t, k, rec, begun);
	return true;
}
