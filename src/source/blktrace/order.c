/*
 * order.c - the records of all CPUs in the order of time
 */
#include "order.h"

#include <errno.h>
#include <stdlib.h>

enum { TURNS = 100 };

enum { LANES_MAX = 1 << 10, NOTES_MAX = 1 << 10 };

/* Records in order, as a ring. */
struct lane {
	struct blk_rec *rec;
	size_t at, n, cap;
	uint64_t newest;
	bool queued; /* it is in the heap */
};

static struct blk_rec *head(const struct lane *l)
{
	return &l->rec[l->at];
}

/* As blkparse has it: by time, device and number; then the CPU. */
static bool before(const struct blk_rec *a, const struct blk_rec *b)
{
	if (a->order != b->order)
		return a->order < b->order;
	if (a->dev != b->dev)
		return a->dev < b->dev;
	return a->seq != b->seq ? a->seq < b->seq : a->cpu < b->cpu;
}

static bool less(const struct order *o, unsigned i, unsigned j)
{
	return before(head(&o->lane[o->heap[i]]), head(&o->lane[o->heap[j]]));
}

static void swap(struct order *o, unsigned i, unsigned j)
{
	unsigned t = o->heap[i];

	o->heap[i] = o->heap[j];
	o->heap[j] = t;
}

static void sink_down(struct order *o, unsigned i)
{
	for (;;) {
		unsigned least = i;
		for (unsigned c = 2 * i + 1; c <= 2 * i + 2 && c < o->nheap; c++)
			if (less(o, c, least))
				least = c;
		if (least == i)
			return;
		swap(o, i, least);
		i = least;
	}
}

static void rise(struct order *o, unsigned i)
{
	for (; i && less(o, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(o, i, (i - 1) / 2);
}

/* Whether each feed is a lane of its own. */
static bool apart(const struct order *o)
{
	return o->nfeed > 1 || o->live;
}

static int init(struct order *o, struct input *const *in)
{
	unsigned n = o->nfeed, lanes = apart(o) ? n : LANES_MAX;

	o->nlane = apart(o) ? n : 0;
	o->feed = calloc(n, sizeof(*o->feed));
	o->lane = calloc(lanes, sizeof(*o->lane));
	o->heap = calloc(lanes, sizeof(*o->heap));
	o->note = calloc(NOTES_MAX, sizeof(*o->note));
	if (!o->feed || !o->lane || !o->heap || !o->note) {
		order_fini(o);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		feed_init(&o->feed[i], in[i]);
	return 0;
}

int order_init(struct order *o, struct input *const *in, unsigned n)
{
	*o = (struct order){ .nfeed = n };
	return init(o, in);
}

int order_init_live(struct order *o, struct input *const *in, unsigned n)
{
	*o = (struct order){ .nfeed = n, .live = true, .ended = true };
	return init(o, in);
}

void order_fini(struct order *o)
{
	for (unsigned i = 0; i < o->nlane && o->lane; i++) {
		for (; o->lane[i].n; o->lane[i].n--) {
			record_fini(head(&o->lane[i]));
			o->lane[i].at = (o->lane[i].at + 1) & (o->lane[i].cap - 1);
		}
		free(o->lane[i].rec);
	}
	for (unsigned i = 0; i < o->nfeed && o->feed; i++)
		feed_fini(&o->feed[i]);
	for (unsigned i = 0; i < o->nnote; i++)
		record_fini(&o->note[i]);
	free(o->feed);
	free(o->lane);
	free(o->heap);
	free(o->note);
	*o = (struct order){ .nfeed = 0 };
}

static int push(struct lane *l, const struct blk_rec *r)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		struct blk_rec *more = malloc(cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		for (size_t i = 0; i < l->n; i++)
			more[i] = l->rec[(l->at + i) & (l->cap - 1)];
		free(l->rec);
		l->rec = more;
		l->cap = cap;
		l->at = 0;
	}
	l->rec[(l->at + l->n++) & (l->cap - 1)] = *r;
	if (r->order > l->newest)
		l->newest = r->order;
	return 0;
}

/*
 * The lane whose end is the nearest before that time; a new one if there is none. By
 * that rule the ends of lanes go down, from the first one to the newest.
 */
static struct lane *lane_for(struct order *o, uint64_t at)
{
	unsigned lo = 0, hi = o->nlane, i = o->last;

	if (i < hi && o->lane[i].newest <= at && (!i || o->lane[i - 1].newest > at))
		return &o->lane[i];
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		if (o->lane[mid].newest <= at)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == o->nlane && lo < LANES_MAX)
		o->nlane++;
	o->last = lo < LANES_MAX ? lo : LANES_MAX - 1;
	return &o->lane[o->last];
}

/* The notes that wait, and the event behind them, to a lane of their own or any. */
static int settle(struct order *o, struct lane *l, struct blk_rec *r)
{
	uint64_t at = r ? r->order : UINT64_MAX;
	int err = 0;

	if (!l)
		l = lane_for(
			o, at == UINT64_MAX && o->nlane ? o->lane[o->last].newest : at);
	for (unsigned i = 0; i < o->nnote && !err; i++) {
		o->note[i].order = r ? at : l->newest;
		/* Before the event, whatever its number. */
		o->note[i].seq = 0;
		if (r)
			o->note[i].dev = r->dev;
		if (!(err = push(l, &o->note[i])))
			o->note[i].more = NULL;
	}
	if (r) {
		o->turns += r->cpu != o->cpu;
		o->cpu = r->cpu;
	}
	o->held += o->nnote + !!r;
	o->nnote = 0;
	if (r && !err)
		err = push(l, r);
	if (!l->queued && l->n) {
		l->queued = true;
		o->heap[o->nheap++] = l - o->lane;
		rise(o, o->nheap - 1);
	}
	return err;
}

/* One more event of a feed, with the notes before it. 1; 0: the end; -errno. */
static int fill(struct order *o, struct feed *f, struct lane *l)
{
	struct blk_rec r;
	int got;

	while ((got = feed_next(f, &r)) > 0) {
		if (!record_is_note(&r) || o->nnote == NOTES_MAX - 1) {
			int err = settle(o, l, &r);
			return err < 0 ? err : 1;
		}
		o->note[o->nnote++] = r;
	}
	if (got < 0 || !o->nnote)
		return got;
	return settle(o, l, NULL);
}

static int begin(struct order *o)
{
	int got = 0;

	for (unsigned i = 0; i < o->nlane && got >= 0; i++)
		got = fill(o, &o->feed[i], &o->lane[i]);
	return got < 0 ? got : 0;
}

int order_until(struct order *o, uint64_t until)
{
	int got = 0;

	o->until = until;
	for (unsigned i = 0; i < o->nlane && got >= 0; i++)
		if (!o->lane[i].n)
			got = fill(o, &o->feed[i], &o->lane[i]);
	return got < 0 ? got : 0;
}

static void out(struct order *o, const struct blk_rec *r)
{
	o->late += r->order < o->at;
	o->at = r->order > o->at ? r->order : o->at;
}

static void drop_empty(struct order *o, struct lane *l)
{
	if (!l->n) {
		l->queued = false;
		o->heap[0] = o->heap[--o->nheap];
	}
	sink_down(o, 0);
}

/* The lane of the latest record is empty: while its file goes on before all others. */
static void begin_run(struct order *o)
{
	unsigned next = o->nheap > 2 && less(o, 2, 1) ? 2 : 1;

	o->runs = true;
	o->bound = o->nheap > 1 ? head(&o->lane[o->heap[next]]) : NULL;
}

/* 1: the record is the next one; 0: it is in its lane, if there was one; -errno. */
static int run(struct order *o, struct blk_rec *r)
{
	unsigned i = o->heap[0];
	int got = feed_next(&o->feed[i], r);

	if (got > 0 && !record_is_note(r) && (!o->bound || before(r, o->bound))) {
		out(o, r);
		return 1;
	}
	o->runs = false;
	if (got > 0 && record_is_note(r)) {
		o->note[o->nnote++] = *r;
		got = fill(o, &o->feed[i], &o->lane[i]);
	} else if (got > 0) {
		got = settle(o, &o->lane[i], r);
	}
	drop_empty(o, &o->lane[i]);
	return got < 0 ? got : 0;
}

int order_next_sorted(struct order *o, struct blk_rec *r)
{
	int got = 1;

	if (o->runs && (got = run(o, r)))
		return got;
	got = 1;
	if (o->nfeed > 1 && !o->ended) {
		o->ended = true;
		got = begin(o);
	}
	while (got > 0 && !o->ended && !o->direct && o->held < ORDER_WINDOW) {
		got = fill(o, &o->feed[0], NULL);
		o->ended = got == 0;
	}
	if (got < 0)
		return got;
	if (!o->ended && o->nlane == 1 && o->turns > TURNS)
		o->direct = o->feed[0].sorted = true;
	if (!o->nheap || (o->live && head(&o->lane[o->heap[0]])->order >= o->until))
		return 0;
	struct lane *l = &o->lane[o->heap[0]];
	*r = *head(l);
	l->at = (l->at + 1) & (l->cap - 1);
	l->n--;
	o->held--;
	if (!l->n && o->live)
		got = fill(o, &o->feed[o->heap[0]], l);
	if (!l->n && o->nfeed > 1 && !o->live)
		begin_run(o);
	else
		drop_empty(o, l);
	out(o, r);
	return got < 0 ? got : 1;
}
