/*
 * flight.h - I/O that is on its way: who queued what, and how far it got.
 *
 * Events tell no more than device, sector and length. A bio is queued whole; a piece is
 * as much of it as goes the same way: all, or what a split left. A request is a row of
 * pieces, each where the one before ends.
 */
#ifndef IOPS_BLKTRACE_FLIGHT_H
#define IOPS_BLKTRACE_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEVER UINT64_MAX

/* So many pieces are remembered at most: of a trace without completions, the latest. */
enum { FLIGHT_MAX = 1 << 18 };

struct who {
	int32_t tid;
	uint32_t comm;
};

struct bio {
	uint64_t queued; /* NEVER: not seen */
	struct who who;
	uint32_t pieces;
	struct bio *free; /* of the pool */
};

struct piece {
	struct bio *bio;
	uint64_t sector, sectors;
	uint64_t got, inserted, issued;
	uint64_t request; /* number of the issue that it was part of */
	uint64_t age;     /* the smaller, the older */
	uint32_t dev;
	uint8_t kind;
	bool merged;
	struct piece *next; /* the first of others in the same bucket; or of the pool */
	struct piece *child, *sibling; /* later ones that are as far: a heap by age */
	struct piece *older, *newer;   /* of all */
};

struct flight {
	struct piece **bucket; /* by device and sector */
	size_t nbuckets;
	struct piece *oldest, *newest, *spare;
	struct bio *spare_bio;
	struct chunk *chunk; /* what pieces and bios are cut from */
	size_t n;
	uint64_t age;
};

/* Where something begins. */
struct spot {
	uint64_t sector;
	uint32_t dev;
	uint8_t kind;
};

void flight_fini(struct flight *f);

/* A bio and its one piece; NULL: no memory. */
struct piece *flight_add(struct flight *f, const struct piece *like, struct who who);

/* It is not alone in its bucket. */
void flight_sort(struct flight *f, struct piece *p);

/* Cut the piece: it keeps so many sectors. 0 or -ENOMEM. */
int flight_cut(struct flight *f, struct piece *p, uint64_t sectors);

/* The piece is done. Whether that was the last of its bio, which is valid until then. */
bool flight_done(struct flight *f, struct piece *p, struct bio *was);

static inline struct piece **flight_bucket(
	const struct flight *f, uint32_t dev, uint64_t sector)
{
	uint64_t h = (sector ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;

	return &f->bucket[h >> 32 & (f->nbuckets - 1)];
}

/* The piece that was found is further now, or back, than those that it was alike. */
static inline void flight_moved(struct flight *f, struct piece *p)
{
	if (p->child || p->next || *flight_bucket(f, p->dev, p->sector) != p)
		flight_sort(f, p);
}

/* How good a candidate is: the best of those that begin there, the oldest if alike. */
static inline struct piece *flight_find(
	const struct flight *f, struct spot like, int (*fits)(const struct piece *))
{
	struct piece *at, *best = NULL;
	int most = -1;

	if (!f->nbuckets)
		return NULL;
	for (at = *flight_bucket(f, like.dev, like.sector); at; at = at->next) {
		if (at->sector != like.sector || at->dev != like.dev ||
			at->kind != like.kind)
			continue;
		int this = fits(at);
		if (this > most || (this == most && at->age < best->age)) {
			most = this;
			best = at;
		}
	}
	return best;
}

#endif
