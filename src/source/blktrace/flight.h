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
enum { FLIGHT_MAX = 1 << 18, DRY_MAX = 256 };

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
	uint32_t dev;
	uint8_t kind;
	bool merged;
	struct piece *next;          /* of the same bucket; or of the pool */
	struct piece *older, *newer; /* of all */
};

/* What moves no data of its own: flushes, passthrough, zones. */
struct dry {
	struct who who;
	uint64_t queued, got, inserted, issued, sector;
	uint32_t bytes;
	uint8_t kind;
};

struct bdev {
	uint32_t dev, file;
	struct dry dry[DRY_MAX];
	unsigned ndry;
	uint64_t flush;             /* issued, NEVER: none */
	struct who flusher, writer; /* of that flush; of the latest write with one */
};

struct flight {
	struct piece **bucket; /* by device and sector */
	size_t nbuckets;
	struct piece *oldest, *newest, *spare;
	struct bio *spare_bio;
	struct chunk *chunk; /* what pieces and bios are cut from */
	size_t n;
};

void flight_fini(struct flight *f);

/* A bio and its one piece; NULL: no memory. */
struct piece *flight_add(struct flight *f, const struct piece *like, struct who who);

/* How good a candidate is: the best of those that begin there, the oldest if alike. */
struct piece *flight_find(const struct flight *f, const struct piece *like,
	int (*fits)(const struct piece *));

/* Cut the piece: it keeps so many sectors. 0 or -ENOMEM. */
int flight_cut(struct flight *f, struct piece *p, uint64_t sectors);

/* The piece is done. Whether that was the last of its bio, which is valid until then. */
bool flight_done(struct flight *f, struct piece *p, struct bio *was);

#endif
