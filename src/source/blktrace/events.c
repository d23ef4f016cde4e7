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

static struct spot spot_of(const struct blk_rec *r, unsigned kind)
{
	return (struct spot){ r->sector, r->dev, kind };
}

static struct piece *add(struct track *t, const struct blk_rec *r, unsigned kind)
{
	struct piece new = { .sector = r->sector,
		.sectors = sectors_of(r),
		.got = NEVER,
		.inserted = NEVER,
		.issued = NEVER,
		.dev = r->dev,
		.kind = kind };

	return flight_add(&t->flight, &new, track_who(t, r));
}

/* So much of it, and no more. */
static void cut(struct track *t, struct piece *p, uint64_t sectors)
{
	if (sectors < p->sectors && flight_cut(&t->flight, p, sectors) < 0)
		t->err = -ENOMEM;
}

int track_errno(const struct blk_rec *r)
{
	int err = (uint16_t)-r->error;

	return err > 4095 ? EIO : err;
}

static void queue(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct piece *p = add(t, r, op->kind);

	if (!p) {
		t->err = -ENOMEM;
		return;
	}
	p->bio->queued = r->time;
	if (r->action & BLK_FLUSH)
		t->dev->writer = p->bio->who;
	track_main(t, op, MAIN_QUEUE);
	track_put(t, op);
}

static void getrq(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, fresh);

	if (p) {
		track_since(t, op, p->bio->queued, r->time);
		track_whose(op, p->bio->who);
		p->got = r->time;
		flight_moved(&t->flight, p);
	}
	track_put(t, op);
}

static void merge(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, fresh);

	if (p) {
		track_since(t, op, p->bio->queued, r->time);
		track_whose(op, p->bio->who);
		p->merged = true;
		flight_moved(&t->flight, p);
	}
	track_put(t, op);
}

static void insert(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, not_inserted);

	if (p) {
		track_since(t, op, p->got, r->time);
		track_whose(op, p->bio->who);
		p->inserted = r->time;
		flight_moved(&t->flight, p);
	}
	track_put(t, op);
}

/* Each piece of the request is on its way; one that goes further is cut. */
static void mark(struct track *t, struct piece *p, const struct blk_rec *r)
{
	uint64_t end = p->sector + sectors_of(r);
	struct spot at = { p->sector, p->dev, p->kind };

	t->requests++;
	while (p && at.sector < end) {
		cut(t, p, end - at.sector);
		p->issued = r->time;
		p->request = t->requests;
		flight_moved(&t->flight, p);
		at.sector += p->sectors;
		p = p->sectors ? flight_find(&t->flight, at, waits) : NULL;
	}
}

static void issue(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, waits);

	if (p) {
		track_since(t, op, p->inserted, r->time);
		track_whose(op, p->bio->who);
	} else if (!(p = add(t, r, op->kind))) {
		t->err = -ENOMEM;
		return;
	}
	mark(t, p, r);
	track_main(t, op, MAIN_ISSUE);
	track_put(t, op);
}

static void requeue(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, is_issued);

	if (p) {
		uint64_t request = p->request;
		track_since(t, op, p->issued, r->time);
		track_whose(op, p->bio->who);
		while (p && p->issued != NEVER && p->request == request && p->sectors) {
			p->issued = NEVER;
			flight_moved(&t->flight, p);
			at.sector = p->sector + p->sectors;
			p = flight_find(&t->flight, at, is_issued);
		}
	}
	track_put(t, op);
}

static void split(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, fresh);
	uint64_t from = record_be64(r, 0);

	if (p) {
		track_whose(op, p->bio->who);
		if (from > p->sector)
			cut(t, p, from - p->sector);
	}
	track_put(t, op);
}

/* The pieces that end with this completion. Whether more of the request is to come. */
static bool end_pieces(
	struct track *t, const struct blk_rec *r, struct piece *p, struct op *op)
{
	uint64_t end = p->sector + sectors_of(r), request = p->request;
	bool head = true, issued = p->issued != NEVER, part = false;
	struct spot at = { p->sector, p->dev, p->kind };

	for (; p && at.sector < end; head = false) {
		struct bio was;
		if (issued && p->request != request)
			break;
		cut(t, p, end - at.sector);
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
		p = flight_find(&t->flight, at, is_issued);
	}
	if (issued && p)
		part = p->request == request && p->issued != NEVER;
	return part;
}

static void complete(struct track *t, const struct blk_rec *r, struct op *op)
{
	struct spot at = spot_of(r, op->kind);
	struct piece *p = flight_find(&t->flight, at, is_issued);

	/* It ends in whatever process the interrupt meets. */
	track_whose(op, (struct who){ 0, 0 });
	if (p) {
		uint64_t issued = p->issued;
		track_whose(op, p->bio->who);
		bool part = end_pieces(t, r, p, op);
		if (part) {
			track_span(t, op, t->d2c, issued, r->time);
			op->call |= OP_PART;
		} else {
			track_since(t, op, issued, r->time);
		}
	}
	if (r->error)
		op->ret = -track_errno(r);
	track_main(t, op, MAIN_COMPLETE);
	track_put(t, op);
}

static void remap(struct track *t, const struct blk_rec *r, struct op *op)
{
	uint64_t from = record_be64(r, 1);

	op->want = from > INT64_MAX >> 9 ? 0 : from << 9;
	track_put(t, op);
}

void track_wet(struct track *t, const struct blk_rec *r, struct op *op)
{
	static void (*const take[NACTS])(
		struct track *, const struct blk_rec *, struct op *) = {
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

	take[record_act(r)](t, r, op);
}
