/*
 * events.c - what an event of a request does to the I/O that is on its way
 */
#include "track.h"

#include <errno.h>

/* Which of several pieces of one place an event is of. */
static int fresh(const struct piece *p)
{
	return 2 * (p->issued == NEVER) + (p->got == NEVER && !p->merged);
}

static int not_inserted(const struct piece *p)
{
	return 2 * (p->issued == NEVER) + (p->inserted == NEVER);
}

static int waits(const struct piece *p)
{
	return p->issued == NEVER;
}

static int is_issued(const struct piece *p)
{
	return p->issued != NEVER;
}

static uint64_t sectors_of(const struct blk_rec *r)
{
	return ((uint64_t)r->bytes + 511) >> 9;
}

static struct piece like(const struct blk_rec *r, unsigned kind)
{
	return (struct piece){ .sector = r->sector,
		.sectors = sectors_of(r),
		.got = NEVER,
		.inserted = NEVER,
		.issued = NEVER,
		.dev = r->dev,
		.kind = kind };
}

static int errno_of(const struct blk_rec *r)
{
	int err = (uint16_t)-r->error;

	return err > 4095 ? EIO : err;
}

static void queue(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_QUEUE, kind);
	struct piece new = like(r, kind);
	struct piece *p = flight_add(&t->flight, &new, track_who(t, r));

	if (!p) {
		t->err = -ENOMEM;
		return;
	}
	p->bio->queued = r->time;
	if (r->action & BLK_FLUSH)
		t->dev->writer = p->bio->who;
	track_main(t, &op, MAIN_QUEUE);
	track_put(t, &op);
}

static void getrq(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_GETRQ, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, fresh);

	if (p) {
		track_since(t, &op, p->bio->queued, r->time);
		track_whose(&op, p->bio->who);
		p->got = r->time;
	}
	track_put(t, &op);
}

static void merge(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_MERGE, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, fresh);

	if (p) {
		track_since(t, &op, p->bio->queued, r->time);
		track_whose(&op, p->bio->who);
		p->merged = true;
	}
	track_put(t, &op);
}

static void insert(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_INSERT, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, not_inserted);

	if (p) {
		track_since(t, &op, p->got, r->time);
		track_whose(&op, p->bio->who);
		p->inserted = r->time;
	}
	track_put(t, &op);
}

/* Each piece of the request is on its way; one that goes further is cut. */
static void mark(struct track *t, struct piece *p, const struct blk_rec *r)
{
	uint64_t end = p->sector + sectors_of(r);
	struct piece at = *p;

	t->requests++;
	while (p && at.sector < end) {
		if (flight_cut(&t->flight, p, end - at.sector) < 0)
			t->err = -ENOMEM;
		p->issued = r->time;
		p->request = t->requests;
		at.sector += p->sectors;
		p = p->sectors ? flight_find(&t->flight, &at, waits) : NULL;
	}
}

static void issue(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_ISSUE, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, waits);

	if (p) {
		track_since(t, &op, p->inserted, r->time);
		track_whose(&op, p->bio->who);
	} else if (!(p = flight_add(&t->flight, &at, track_who(t, r)))) {
		t->err = -ENOMEM;
		return;
	}
	mark(t, p, r);
	track_main(t, &op, MAIN_ISSUE);
	track_put(t, &op);
}

static void requeue(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_REQUEUE, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, is_issued);

	if (p) {
		uint64_t request = p->request;
		track_since(t, &op, p->issued, r->time);
		track_whose(&op, p->bio->who);
		while (p && p->issued != NEVER && p->request == request && p->sectors) {
			p->issued = NEVER;
			at.sector = p->sector + p->sectors;
			p = flight_find(&t->flight, &at, is_issued);
		}
	}
	track_put(t, &op);
}

static void split(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_SPLIT, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, fresh);
	uint64_t from = record_be64(r, 0);

	if (p) {
		track_whose(&op, p->bio->who);
		if (from > p->sector && flight_cut(&t->flight, p, from - p->sector) < 0)
			t->err = -ENOMEM;
	}
	track_put(t, &op);
}

/* The pieces that end with this completion. Whether more of the request is to come. */
static bool end_pieces(
	struct track *t, const struct blk_rec *r, struct piece *p, struct op *op)
{
	uint64_t end = p->sector + sectors_of(r), request = p->request;
	bool head = true, issued = p->issued != NEVER, part = false;
	struct piece at = *p;

	for (; p && at.sector < end; head = false) {
		struct bio was;
		if (issued && p->request != request)
			break;
		if (flight_cut(&t->flight, p, end - at.sector) < 0)
			t->err = -ENOMEM;
		if (!head)
			track_span(t, op, t->d2c, p->issued, r->time);
		if (!p->sectors)
			at.sector = end;
		at.sector += p->sectors;
		struct op of = *op;
		bool last = flight_done(&t->flight, p, &was);
		track_whose(&of, was.who);
		if (last)
			track_span(t, &of, t->q2c, was.queued, r->time);
		p = flight_find(&t->flight, &at, is_issued);
	}
	if (issued && p)
		part = p->request == request && p->issued != NEVER;
	return part;
}

static void complete(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_COMPLETE, kind);
	struct piece at = like(r, kind), *p = flight_find(&t->flight, &at, is_issued);

	/* It ends in whatever process the interrupt meets. */
	track_whose(&op, (struct who){ 0, 0 });
	if (p) {
		uint64_t issued = p->issued;
		track_whose(&op, p->bio->who);
		bool part = end_pieces(t, r, p, &op);
		if (part) {
			track_span(t, &op, t->d2c, issued, r->time);
			op.call |= OP_PART;
		} else {
			track_since(t, &op, issued, r->time);
		}
	}
	if (r->error)
		op.ret = -errno_of(r);
	track_main(t, &op, MAIN_COMPLETE);
	track_put(t, &op);
}

static void remap(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_REMAP, kind);
	uint64_t from = record_be64(r, 1);

	op.want = from > INT64_MAX >> 9 ? 0 : from << 9;
	track_put(t, &op);
}

void track_wet(struct track *t, const struct blk_rec *r, unsigned kind)
{
	static void (*const take[NACTS])(
		struct track *, const struct blk_rec *, unsigned) = {
		[ACT_QUEUE] = queue,
		[ACT_BACKMERGE] = merge,
		[ACT_FRONTMERGE] = merge,
		[ACT_GETRQ] = getrq,
		[ACT_REQUEUE] = requeue,
		[ACT_ISSUE] = issue,
		[ACT_COMPLETE] = complete,
		[ACT_INSERT] = insert,
		[ACT_SPLIT] = split,
		[ACT_REMAP] = remap,
	};

	take[record_act(r)](t, r, kind);
}

/* The one that is this far, of the same kind; or NULL. */
static struct dry *dry_find(
	struct bdev *d, const struct blk_rec *r, unsigned kind, bool is_out)
{
	for (unsigned i = 0; i < d->ndry; i++) {
		struct dry *y = &d->dry[i];
		if (y->kind == kind && (y->issued != NEVER) == is_out &&
			(kind == OP_SYNC || y->bytes == r->bytes))
			return y;
	}
	return NULL;
}

static void dry_done(struct bdev *d, struct dry *y)
{
	for (unsigned i = (unsigned)(y - d->dry) + 1; i < d->ndry; i++)
		d->dry[i - 1] = d->dry[i];
	d->ndry--;
}

static struct dry *dry_add(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct bdev *d = t->dev;

	if (d->ndry == DRY_MAX)
		dry_done(d, d->dry);
	d->dry[d->ndry] = (struct dry){ .who = track_who(t, r),
		.queued = NEVER,
		.got = NEVER,
		.inserted = NEVER,
		.issued = NEVER,
		.sector = r->sector,
		.bytes = r->bytes,
		.kind = kind };
	return &d->dry[d->ndry++];
}

/* Of a flush, the request is another one than what was queued, and tells no place. */
static void dry_issue(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct op op = track_op(t, r, CALL_ISSUE, kind);
	struct dry *y = dry_find(t->dev, r, kind, false);
	struct who who = track_who(t, r);

	if (y) {
		track_since(t, &op, y->inserted, r->time);
		who = y->who;
	} else if (kind != OP_SYNC) {
		y = dry_add(t, r, kind);
	} else if (t->dev->writer.tid) {
		who = t->dev->writer;
	}
	if (y)
		y->issued = r->time;
	if (kind == OP_SYNC) {
		t->dev->flush = r->time;
		t->dev->flusher = who;
	}
	track_whose(&op, who);
	track_put(t, &op);
}

/*
 * A flush ends twice: first the request, with the flag, then the bio that asked for it,
 * without. Of a device that has no requests there is only the bio.
 */
static void dry_complete(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct bdev *d = t->dev;
	struct dry *y = kind == OP_SYNC ? NULL : dry_find(d, r, kind, true);
	bool flush = kind == OP_SYNC && d->flush != NEVER;
	bool bio = !y && !flush && !(r->action & BLK_PC);

	if (bio && !(y = dry_find(d, r, OP_SYNC, kind != OP_SYNC)))
		y = dry_find(d, r, kind, false);
	struct op op = track_op(t, r,
		bio && kind != OP_SYNC && (!y || y->kind == OP_SYNC) ? CALL_FINISH
								     : CALL_COMPLETE,
		kind);
	track_whose(&op, flush ? d->flusher : y ? y->who : (struct who){ 0, 0 });
	if (flush)
		track_since(t, &op, d->flush, r->time);
	else if (y && !bio)
		track_since(t, &op, y->issued, r->time);
	if (flush)
		d->flush = NEVER;
	if (y) {
		track_span(t, &op, t->q2c, y->queued, r->time);
		dry_done(d, y);
	}
	if (r->error)
		op.ret = -errno_of(r);
	track_put(t, &op);
}

void track_dry(struct track *t, const struct blk_rec *r, unsigned kind)
{
	static const enum track_call calls[NACTS] = {
		[ACT_QUEUE] = CALL_QUEUE,
		[ACT_BACKMERGE] = CALL_MERGE,
		[ACT_FRONTMERGE] = CALL_MERGE,
		[ACT_GETRQ] = CALL_GETRQ,
		[ACT_REQUEUE] = CALL_REQUEUE,
		[ACT_INSERT] = CALL_INSERT,
	};
	unsigned act = record_act(r);

	if (act == ACT_ISSUE || act == ACT_COMPLETE) {
		(act == ACT_ISSUE ? dry_issue : dry_complete)(t, r, kind);
		return;
	}
	struct dry *y = act == ACT_QUEUE ? dry_add(t, r, kind)
					 : dry_find(t->dev, r, kind, act == ACT_REQUEUE);
	struct op op = track_op(t, r, calls[act], kind);
	if (y)
		track_whose(&op, y->who);
	if (act == ACT_QUEUE) {
		y->queued = r->time;
	} else if (y && act == ACT_GETRQ) {
		track_since(t, &op, y->queued, r->time);
		y->got = r->time;
	} else if (y && act == ACT_INSERT) {
		track_since(t, &op, y->got, r->time);
		y->inserted = r->time;
	} else if (y && act == ACT_REQUEUE) {
		track_since(t, &op, y->issued, r->time);
		y->issued = NEVER;
	}
	track_put(t, &op);
}
