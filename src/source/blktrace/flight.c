/*
 * flight.c - I/O that is on its way
 *
 * Any number of pieces may begin at one sector. Those that are as far as one another are
 * a pairing heap, the oldest on top; a bucket is a chain of such tops, so that it is as
 * short as there are ways to be far.
 */
#include "flight.h"

#include <errno.h>
#include <stdlib.h>

enum { CHUNK = 256 };

struct chunk {
	struct chunk *next;
	struct piece piece[CHUNK];
	struct bio bio[CHUNK];
};

void flight_fini(struct flight *f)
{
	while (f->chunk) {
		struct chunk *next = f->chunk->next;
		free(f->chunk);
		f->chunk = next;
	}
	free(f->bucket);
}

static int more(struct flight *f)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->next = f->chunk;
	f->chunk = c;
	for (unsigned i = 0; i < CHUNK; i++) {
		c->piece[i].next = f->spare;
		f->spare = &c->piece[i];
		c->bio[i].free = f->spare_bio;
		f->spare_bio = &c->bio[i];
	}
	return 0;
}

/* Whether events cannot tell them apart. */
static bool alike(const struct piece *a, const struct piece *b)
{
	return a->sector == b->sector && a->dev == b->dev && a->kind == b->kind &&
	       (a->issued == NEVER) == (b->issued == NEVER) &&
	       (a->inserted == NEVER) == (b->inserted == NEVER) &&
	       (a->got == NEVER && !a->merged) == (b->got == NEVER && !b->merged);
}

/* Two heaps as one, whose top is returned. Either may be NULL. */
static struct piece *join(struct piece *a, struct piece *b)
{
	if (!a || !b)
		return a ? a : b;
	struct piece *top = a->age < b->age ? a : b, *under = top == a ? b : a;
	under->sibling = top->child;
	top->child = under;
	return top;
}

/* What is left of a heap without its top: in pairs first, so that it stays flat. */
static struct piece *without_top(struct piece *top)
{
	struct piece *pairs = NULL, *rest = top->child, *all = NULL;

	top->child = NULL;
	while (rest) {
		struct piece *a = rest, *b = a->sibling;
		rest = b ? b->sibling : NULL;
		a = join(a, b);
		a->sibling = pairs;
		pairs = a;
	}
	while (pairs) {
		struct piece *next = pairs->sibling;
		all = join(all, pairs);
		pairs = next;
	}
	return all;
}

static void place(struct flight *f, struct piece *p)
{
	struct piece **at = flight_bucket(f, p->dev, p->sector), *was;

	while ((was = *at) && !alike(was, p))
		at = &was->next;
	struct piece *next = was ? was->next : NULL;
	p = join(was, p);
	p->next = next;
	*at = p;
}

/* It is on top of its heap: nothing else is ever found. */
static void displace(struct flight *f, struct piece *p)
{
	struct piece **at = flight_bucket(f, p->dev, p->sector);

	while (*at != p)
		at = &(*at)->next;
	struct piece *heir = without_top(p);
	*at = heir ? heir : p->next;
	if (heir)
		heir->next = p->next;
}

void flight_sort(struct flight *f, struct piece *p)
{
	displace(f, p);
	place(f, p);
}

/* About as many buckets as pieces. 0 or -ENOMEM. */
static int room(struct flight *f)
{
	struct flight was = *f;

	if (f->n < f->nbuckets)
		return 0;
	f->nbuckets = f->nbuckets ? 2 * f->nbuckets : 256;
	f->bucket = calloc(f->nbuckets, sizeof(struct piece *));
	if (!f->bucket) {
		*f = was;
		return -ENOMEM;
	}
	for (size_t i = 0; i < was.nbuckets; i++)
		for (struct piece *p = was.bucket[i], *next; p; p = next) {
			struct piece **at = flight_bucket(f, p->dev, p->sector);
			next = p->next;
			p->next = *at;
			*at = p;
		}
	free(was.bucket);
	return 0;
}

/* A piece like that, at the end of all. NULL: no memory. */
static struct piece *new_piece(struct flight *f, const struct piece *like)
{
	struct piece *p = f->spare;

	if ((!p && more(f) < 0) || room(f) < 0)
		return NULL;
	p = f->spare;
	f->spare = p->next;
	*p = *like;
	p->child = NULL;
	p->age = f->age++;
	place(f, p);
	p->newer = NULL;
	p->older = f->newest;
	if (f->newest)
		f->newest->newer = p;
	else
		f->oldest = p;
	f->newest = p;
	f->n++;
	return p;
}

struct piece *flight_add(struct flight *f, const struct piece *like, struct who who)
{
	struct bio was, *b;

	while (f->n >= FLIGHT_MAX)
		flight_done(f, f->oldest, &was);
	if (!f->spare_bio && more(f) < 0)
		return NULL;
	b = f->spare_bio;
	struct piece *p = new_piece(f, like);
	if (!p)
		return NULL;
	f->spare_bio = b->free;
	*b = (struct bio){ .queued = NEVER, .who = who, .pieces = 1 };
	return p->bio = b, p;
}

int flight_cut(struct flight *f, struct piece *p, uint64_t sectors)
{
	struct piece rest = *p;

	if (!sectors || sectors >= p->sectors)
		return 0;
	if (f->n >= 2 * FLIGHT_MAX) { /* nobody will miss the rest */
		p->sectors = sectors;
		return 0;
	}
	rest.sector += sectors;
	rest.sectors -= sectors;
	if (!new_piece(f, &rest))
		return -ENOMEM;
	p->bio->pieces++;
	p->sectors = sectors;
	return 0;
}

bool flight_done(struct flight *f, struct piece *p, struct bio *was)
{
	struct bio *b = p->bio;

	displace(f, p);
	if (p->older)
		p->older->newer = p->newer;
	else
		f->oldest = p->newer;
	if (p->newer)
		p->newer->older = p->older;
	else
		f->newest = p->older;
	p->next = f->spare;
	f->spare = p;
	f->n--;
	*was = *b;
	if (--b->pieces)
		return false;
	b->free = f->spare_bio;
	f->spare_bio = b;
	return true;
}
