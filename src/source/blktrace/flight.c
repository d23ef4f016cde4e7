/*
 * flight.c - I/O that is on its way
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

static struct piece **bucket(const struct flight *f, uint32_t dev, uint64_t sector)
{
	uint64_t h = (sector ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;

	return &f->bucket[h >> 32 & (f->nbuckets - 1)];
}

/* To the end of its bucket: of those that are alike, the oldest comes first. */
static void place(struct flight *f, struct piece *p)
{
	struct piece **at = bucket(f, p->dev, p->sector);

	p->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = p;
}

static void displace(struct flight *f, struct piece *p)
{
	struct piece **at = bucket(f, p->dev, p->sector);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

/* About as many buckets as pieces. 0 or -ENOMEM. */
static int room(struct flight *f)
{
	size_t n = f->nbuckets ? 2 * f->nbuckets : 256;

	if (f->n < f->nbuckets)
		return 0;
	struct piece **bigger = calloc(n, sizeof(struct piece *));
	if (!bigger)
		return -ENOMEM;
	free(f->bucket);
	f->bucket = bigger;
	f->nbuckets = n;
	for (struct piece *p = f->oldest; p; p = p->newer)
		place(f, p);
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

struct piece *flight_find(const struct flight *f, const struct piece *like,
	int (*fits)(const struct piece *))
{
	struct piece *at, *best = NULL;
	int most = -1;

	if (!f->nbuckets)
		return NULL;
	for (at = *bucket(f, like->dev, like->sector); at; at = at->next) {
		if (at->sector != like->sector || at->dev != like->dev ||
			at->kind != like->kind)
			continue;
		int this = fits(at);
		if (this > most) {
			most = this;
			best = at;
		}
	}
	return best;
}

int flight_cut(struct flight *f, struct piece *p, uint64_t sectors)
{
	struct piece rest = *p;

	if (!sectors || sectors >= p->sectors)
		return 0;
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
