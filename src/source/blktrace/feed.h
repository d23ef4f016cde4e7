/*
 * feed.h - the records of one file or pipe, in its order, around what is damaged.
 */
#ifndef IOPS_BLKTRACE_FEED_H
#define IOPS_BLKTRACE_FEED_H

#include "iops/map.h"
#include "record.h"

struct input;

/* X(name, what is said of it: "%llu ...") */
#define FEED_FAULTS(X)                                                                   \
	X(GARBAGE, "bytes are no record")                                                \
	X(CUT, "bytes of a record that is cut")                                          \
	X(VERSION, "records of an unknown version")                                      \
	X(PAYLOAD, "records with a wrong length of payload")                             \
	X(ACTION, "events of an unknown kind")                                           \
	X(NOTE, "notes of an unknown kind")                                              \
	X(NAME, "names without an end")                                                  \
	X(CPU, "records of another CPU than the file's")                                 \
	X(TWICE, "records were there twice and count once")                              \
	X(BACK, "records go back in time")                                               \
	X(GAP, "records are missing by their numbers")

enum feed_fault {
#define X(name, text) FEED_##name,
	FEED_FAULTS(X)
#undef X
		NFEED_FAULTS,
};

struct feed {
	struct input *in;
	const uint8_t *at, *end; /* what was peeked at and not yet taken */
	size_t taken;            /* bytes before at that the input still holds */
	int cpu;                 /* by the file's name; -1: of all of them */
	bool swapped, begun, eof;
	unsigned version; /* bytes of a header, of the first record */
	uint64_t fault[NFEED_FAULTS],
		first[NFEED_FAULTS]; /* how many; byte of the first */
	struct feed_cpu *known;      /* by device and CPU */
	unsigned nknown, last;
	uint64_t lost;             /* by gaps, and not yet told of */
	uint64_t wall_ns, wall_at; /* real time at that time of the trace; 0: not told */
};

void feed_init(struct feed *f, struct input *in);
void feed_fini(struct feed *f);

/* The next record. 1; 0 at the end; -errno. */
int feed_next(struct feed *f, struct blk_rec *r);

/* Say what could not be read. Whether there was any. */
bool feed_say(const struct feed *f);
bool feed_damaged(const struct feed *f);

#endif
