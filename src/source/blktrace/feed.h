/*
 * feed.h - the records of one file or pipe, in its order, around what is damaged.
 */
#ifndef IOPS_BLKTRACE_FEED_H
#define IOPS_BLKTRACE_FEED_H

#include "iops/map.h"
#include "record.h"

struct input;

/* X(name, what is said of one, and of several: "%llu ...") */
#define FEED_FAULTS(X)                                                                   \
	X(GARBAGE, "byte is no record", "bytes are no record")                           \
	X(CUT, "byte of a record that is cut", "bytes of a record that is cut")          \
	X(VERSION, "record of an unknown version", "records of an unknown version")      \
	X(PAYLOAD, "record with a wrong length of payload",                              \
		"records with a wrong length of payload")                                \
	X(ACTION, "event of an unknown kind", "events of an unknown kind")               \
	X(NOTE, "note of an unknown kind", "notes of an unknown kind")                   \
	X(NAME, "name without an end", "names without an end")                           \
	X(CPU, "record of another CPU than the file's",                                  \
		"records of another CPU than the file's")                                \
	X(TWICE, "record was there twice and counts once",                               \
		"records were there twice and count once")                               \
	X(TIME, "record has a wrong time and counts at that of the one before",          \
		"records have a wrong time and count at those of the ones before")       \
	X(BACK, "record goes back in time", "records go back in time")                   \
	X(GAP, "record is missing by its number", "records are missing by their numbers")

enum feed_fault {
#define X(name, one, many) FEED_##name,
	FEED_FAULTS(X)
#undef X
		NFEED_FAULTS,
};

enum { FEED_RECENT = 64 };

struct feed {
	struct input *in;
	const uint8_t *at, *end; /* what was peeked at and not yet taken */
	size_t taken;            /* bytes before at that the input still holds */
	int cpu;                 /* by the file's name; -1: of all of them */
	bool swapped, begun, eof;
	bool sorted;      /* times never go back: of one CPU, or told so by the owner */
	bool timed;       /* there was an event */
	uint64_t time;    /* of the latest one */
	unsigned version; /* bytes of a header, of the first record */
	uint32_t magic;   /* of the first record, as it stands there */
	uint64_t fault[NFEED_FAULTS],
		first[NFEED_FAULTS]; /* how many; byte of the first */
	struct map known;            /* device, CPU -> what was last seen of it */
	struct feed_cpu *recent[FEED_RECENT]; /* of these */
	uint64_t wall_ns, wall_at; /* real time at that time of the trace; 0: not told */
};

void feed_init(struct feed *f, struct input *in);
void feed_fini(struct feed *f);

/* The next record. 1; 0 at the end; -errno. */
int feed_next(struct feed *f, struct blk_rec *r);

/* Bytes that have come behind the end of a growing input. 0 or -ENOMEM. */
int feed_more(struct feed *f, const void *bytes, size_t len);

/* How many records are missing, by their numbers. */
uint64_t feed_lost(const struct feed *f);

/* Say what could not be read. Whether there was any. */
bool feed_say(struct feed *f);

#endif
