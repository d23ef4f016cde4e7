/*
 * order.h - the records of all CPUs in the order of time.
 *
 * Files are of one CPU each and in order by themselves. A pipe has runs of records that
 * are in order: as many of it are held back as it takes to sort them, but no more than
 * ORDER_WINDOW. CPUs that take turns in order for so long are a dump of blkparse, which
 * was sorted: then nothing is held back.
 */
#ifndef IOPS_BLKTRACE_ORDER_H
#define IOPS_BLKTRACE_ORDER_H

#include "feed.h"

enum { ORDER_WINDOW = 1 << 15 };

struct order {
	struct feed *feed;
	unsigned nfeed;
	struct lane *lane;
	unsigned nlane, last;  /* last: the lane that was added to latest */
	unsigned *heap, nheap; /* lanes that are not empty, the earliest first */
	bool runs; /* the earliest lane is empty: its file was first, and goes on */
	const struct blk_rec *bound; /* up to this one; NULL: to its end */
	struct blk_rec *note;        /* that wait for the event behind them */
	unsigned nnote;
	size_t held;
	uint32_t cpu;   /* of the latest record that was read */
	unsigned turns; /* between CPUs */
	bool direct;    /* as it comes */
	bool ended;     /* of the one feed of a pipe */
	bool live;      /* inputs grow: what is before until is to go out */
	uint64_t until; /* ... since none of them can have anything before it any more */
	uint64_t late;  /* records that came after the window had gone on */
	uint64_t at;    /* of the latest that went out */
};

/* Inputs are borrowed. 0 or -ENOMEM. */
int order_init(struct order *o, struct input *const *in, unsigned n);
void order_fini(struct order *o);

/*
 * The same of inputs that grow, each of one CPU of one device. Once each has all that
 * happened before a moment: order_next() hands that on, and returns 0 then.
 */
int order_init_live(struct order *o, struct input *const *in, unsigned n);
int order_until(struct order *o, uint64_t until);

int order_next_sorted(struct order *o, struct blk_rec *r);

/* The next record; borrowed until the next call. 1; 0 at the end; -errno. */
static inline int order_next(struct order *o, struct blk_rec *r)
{
	if (!o->direct || o->held || o->nnote)
		return order_next_sorted(o, r);

	int got = feed_next(&o->feed[0], r);
	if (got <= 0)
		return got;
	/* A note is as old as what came before it. */
	if (record_is_note(r))
		r->order = o->at;
	o->late += r->order < o->at;
	o->at = r->order > o->at ? r->order : o->at;
	return 1;
}

#endif
