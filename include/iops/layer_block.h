/*
 * layer_block.h - what requests to block devices add up to; the operations are in op.h.
 */
#ifndef IOPS_LAYER_BLOCK_H
#define IOPS_LAYER_BLOCK_H

#include "iops/hist.h"
#include "iops/layer.h"
#include "iops/map.h"
#include "iops/stats.h"

#include <stdbool.h>
#include <stdint.h>

/* X(name, text in reports, call) */
#define BLOCK_STAGES(X)                                                                  \
	X(QUEUED, "queued", "queue")                                                     \
	X(MERGED, "merged", "merge")                                                     \
	X(INSERTED, "inserted", "insert")                                                \
	X(ISSUED, "issued", "issue")                                                     \
	X(REQUEUED, "requeued", "requeue")                                               \
	X(COMPLETED, "completed", "complete")                                            \
	X(GOT, "got", "getrq")                                                           \
	X(SPLIT, "split", "split")                                                       \
	X(REMAPPED, "remapped", "remap")                                                 \
	X(PLUGGED, "plugged", "plug")                                                    \
	X(UNPLUGGED, "unplugged", "unplug")                                              \
	X(FINISHED, "finished", "finish")                                                \
	X(OTHER, "other", "other")

enum block_stage {
#define X(name, text, call) STAGE_##name,
	BLOCK_STAGES(X)
#undef X
		NSTAGES,
	SHOWN_STAGES = STAGE_COMPLETED + 1, /* the others are only counted */
};

/* What requests are. X(name, text) */
#define BLOCK_CLASSES(X)                                                                 \
	X(READ, "read")                                                                  \
	X(WRITE, "write")                                                                \
	X(DISCARD, "discard")                                                            \
	X(FLUSH, "flush")                                                                \
	X(PASSTHROUGH, "passthrough")

enum block_class {
#define X(name, text) BLOCK_CLASS_##name,
	BLOCK_CLASSES(X)
#undef X
		NBLOCK_CLASSES,
};

/* From event to event. X(name, text) */
#define BLOCK_SPANS(X)                                                                   \
	X(Q2Q, "q2q")                                                                    \
	X(Q2G, "q2g")                                                                    \
	X(G2I, "g2i")                                                                    \
	X(Q2M, "q2m")                                                                    \
	X(I2D, "i2d")                                                                    \
	X(D2C, "d2c")                                                                    \
	X(Q2C, "q2c")

enum block_span {
#define X(name, text) SPAN_##name,
	BLOCK_SPANS(X)
#undef X
		NSPANS,
};

/* How many requests were with the driver at once, by time. */
struct block_depth {
	uint64_t now, max;
	uint64_t ns, last_ns; /* how long it is known; the latest change */
	double area;          /* depth * ns */
	bool any;
};

/* How far data is from the data before it, in sectors; the first is from sector 0. */
struct block_seek {
	struct hist distance;
	uint64_t begin, end; /* of the data before */
};

enum { SEEK_QUEUED, SEEK_ISSUED, NSEEKS };

struct block_device {
	uint32_t dev;  /* major << 20 | minor */
	uint32_t file; /* its node; 0 unknown */
	struct series completed[NBLOCK_CLASSES];
	struct block_depth depth;
	uint64_t consecutive, elsewhere; /* data issued where the one before ended; not */
	uint64_t end;                    /* of that */
	uint64_t queued_ns;              /* the latest one, of data */
	bool issued, queued;
	struct block_seek seek[NSEEKS];
};

struct block_sums {
	struct names *names;
	uint64_t events, count[NSTAGES];
	struct series stage[SHOWN_STAGES][NBLOCK_CLASSES];
	struct hist span[NSPANS];
	struct block_depth depth; /* of all devices together */
	struct block_device *device;
	size_t ndevice, latest; /* the place of the one that was asked for last */
	struct map devices;     /* dev -> place, plus 1 */
	uint16_t *code;         /* what each call is: see block.c; 0 not looked at yet */
};

extern const struct layer_sums layer_block_sums;

/* The sums of a device, made if it is new; NULL: no memory. */
struct block_device *block_device_of(struct block_sums *s, uint32_t dev);

const char *block_stage_name(unsigned stage);
const char *block_class_name(unsigned class);
const char *block_span_name(unsigned span);
const char *block_seek_name(unsigned seek); /* that of its stage */

#endif
