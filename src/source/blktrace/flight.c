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
	map_fini(&f->pieces);
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

/* To the map and to the end of those of its place. 0 or -ENOMEM. */
static int place(struct flight *f, struct piece *p)
{
	struct piece *at = (struct piece *)map_get(&f->pieces, p->sector, p->dev);

	p->next = NULL;
	if (!at)
		return map_put(&f->pieces, p->sector, p->dev, (uintptr_t)p);
	while (at->next)
		at = at->next;
	at->next = p;
	return 0;
}

static void displace(struct flight *f, struct piece *p)
{
	struct piece *at = (struct piece *)map_get(&f->pieces, p->sector, p->dev);

	if (at == p && !p->next) {
		map_del(&f->pieces, p->sector, p->dev);
	} else if (at == p) { /* no new key: that cannot fail */
		map_put(&f->pieces, p->sector, p->dev, (uintptr_t)p->next);
	} else {
		while (at && at->next != p)
			at = at->next;
		if (at)
			at->next = p->next;
	}
}

/* A piece like that, at the end of all. NULL: no memory. */
static struct piece *new_piece(struct flight *f, const struct piece *like)
{
	struct piece *p = f->spare;

	if (!p && more(f) < 0)
		return NULL;
	p = f->spare;
	struct piece *spare = p->next;
	*p = *like;
	if (place(f, p) < 0) {
		p->next = spare;
		return NULL;
	}
	f->spare = spare;
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
	struct piece *at = (struct piece *)map_get(&f->pieces, like->sector, like->dev);
	struct piece *best = NULL;
	int most = -1;

	for (; at; at = at->next) {
		if (at->kind != like->kind)
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
