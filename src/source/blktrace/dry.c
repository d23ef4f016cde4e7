/*
 * dry.c - events of what has no data of its own: flushes, passthrough, zones
 */
#include "track.h"

#include <errno.h>
#include <stdlib.h>

enum { DRY_MAX = 256 };

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

/* NULL: no memory. */
static struct dry *dry_add(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct bdev *d = t->dev;

	if (d->ndry == DRY_MAX)
		dry_done(d, d->dry);
	if (d->ndry == d->capdry) {
		unsigned cap = d->capdry ? 2 * d->capdry : 4;
		struct dry *more = realloc(d->dry, cap * sizeof(*more));
		if (!more) {
			t->err = -ENOMEM;
			return NULL;
		}
		d->dry = more;
		d->capdry = cap;
	}
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
static void dry_issue(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct dry *y = dry_find(t->dev, r, op->kind, false);
	struct who who = track_who(t, r);

	if (y) {
		track_since(t, op, y->inserted, r->time);
		who = y->who;
	} else if (op->kind != OP_SYNC) {
		y = dry_add(t, r, op->kind);
	} else if (t->dev->writer.tid) {
		who = t->dev->writer;
	}
	if (y)
		y->issued = r->time;
	if (op->kind == OP_SYNC) {
		t->dev->flush = r->time;
		t->dev->flusher = who;
	}
	track_whose(op, who);
	track_put(t, op);
}

/*
 * A flush ends twice: first the request, with the flag, then the bio that asked for it,
 * without. Of a device that has no requests there is only the bio.
 */
static void dry_complete(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct bdev *d = t->dev;
	unsigned kind = op->kind;
	struct dry *y = kind == OP_SYNC ? NULL : dry_find(d, r, kind, true);
	bool flush = kind == OP_SYNC && d->flush != NEVER;
	bool bio = !y && !flush && !(r->action & BLK_PC);

	if (bio && !(y = dry_find(d, r, OP_SYNC, kind != OP_SYNC)))
		y = dry_find(d, r, kind, false);
	if (bio && kind != OP_SYNC && (!y || y->kind == OP_SYNC))
		track_call(t, op, CALL_FINISH, false);
	track_whose(op, flush ? d->flusher : y ? y->who : (struct who){ 0, 0 });
	if (flush)
		track_since(t, op, d->flush, r->time);
	else if (y && !bio)
		track_since(t, op, y->issued, r->time);
	if (flush)
		d->flush = NEVER;
	if (y) {
		track_span(t, op, t->q2c, y->queued, r->time);
		dry_done(d, y);
	}
	if (r->error)
		op->ret = -track_errno(r);
	track_put(t, op);
}

void track_dry(struct track *t, const struct blk_rec *r, struct op *op)
{
	unsigned act = record_act(r);

	if (act == ACT_ISSUE || act == ACT_COMPLETE) {
		(act == ACT_ISSUE ? dry_issue : dry_complete)(t, r, op);
		return;
	}
	struct dry *y = act == ACT_QUEUE
				? dry_add(t, r, op->kind)
				: dry_find(t->dev, r, op->kind, act == ACT_REQUEUE);
	if (y)
		track_whose(op, y->who);
	if (y && act == ACT_QUEUE) {
		y->queued = r->time;
	} else if (y && act == ACT_GETRQ) {
		track_since(t, op, y->queued, r->time);
		y->got = r->time;
	} else if (y && act == ACT_INSERT) {
		track_since(t, op, y->got, r->time);
		y->inserted = r->time;
	} else if (y && act == ACT_REQUEUE) {
		track_since(t, op, y->issued, r->time);
		y->issued = NEVER;
	}
	track_put(t, op);
}
