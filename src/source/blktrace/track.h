/*
 * track.h - what events of requests tell, as the operations of op.h.
 */
#ifndef IOPS_BLKTRACE_TRACK_H
#define IOPS_BLKTRACE_TRACK_H

#include "flight.h"
#include "iops/map.h"
#include "iops/op.h"
#include "record.h"

#include <stddef.h>

struct names;
struct sink;

/* X(name, call) */
#define TRACK_CALLS(X)                                                                   \
	X(QUEUE, "queue")                                                                \
	X(GETRQ, "getrq")                                                                \
	X(MERGE, "merge")                                                                \
	X(INSERT, "insert")                                                              \
	X(ISSUE, "issue")                                                                \
	X(REQUEUE, "requeue")                                                            \
	X(COMPLETE, "complete")                                                          \
	X(SPLIT, "split")                                                                \
	X(REMAP, "remap")                                                                \
	X(PLUG, "plug")                                                                  \
	X(UNPLUG, "unplug")                                                              \
	X(FINISH, "finish")                                                              \
	X(OTHER, "other")

enum track_call {
#define X(name, call) CALL_##name,
	TRACK_CALLS(X)
#undef X
		NTRACK_CALLS,
};

enum { TRACK_RECENT = 64 };

/* What is the operation of the main layer: the latest event that the trace has at all. */
enum track_main { MAIN_UNKNOWN, MAIN_COMPLETE, MAIN_ISSUE, MAIN_QUEUE };

struct track {
	struct names *names;
	struct sink *to;
	const char *stem; /* of the files' names, or NULL: perhaps the device's */
	struct flight flight;
	struct map comms; /* tid -> its name at the moment */
	struct {
		uint32_t pid, comm;
	} recent[TRACK_RECENT]; /* of these */
	struct map devs;
	struct bdev *dev; /* the latest */
	uint16_t call[NTRACK_CALLS][3], q2c, d2c;
	uint64_t requests;
	uint64_t base, end; /* of the first event and of the latest */
	bool begun;
	enum track_main main;
	struct op *held; /* until that is known */
	size_t nheld, capheld;
	int err;
};

void track_init(struct track *t, struct names *names);
void track_fini(struct track *t);

/* Take a record; operations go to t->to. 0 or -errno. */
int track_take(struct track *t, const struct blk_rec *r);

/* No more of them. 0 or -errno. */
int track_end(struct track *t);

/* What take.c and events.c need. */

/* The operation of an event that began at from, NEVER: nobody knows when. */
struct op track_op(
	struct track *t, const struct blk_rec *r, enum track_call call, unsigned kind);
void track_since(struct track *t, struct op *op, uint64_t from, uint64_t at);
void track_whose(struct op *op, struct who who);
void track_put(struct track *t, const struct op *op);
void track_span(struct track *t, const struct op *like, uint16_t call, uint64_t from,
	uint64_t at);

/* The same as an operation of the main layer. */
void track_main(struct track *t, const struct op *op, enum track_main by);

/* The device of a number, named first; NULL: no memory. */
struct bdev *track_device(struct track *t, uint32_t dev);
struct who track_who(struct track *t, const struct blk_rec *r);

/* Events that have a place of their own. */
void track_wet(struct track *t, const struct blk_rec *r, unsigned kind);
void track_dry(struct track *t, const struct blk_rec *r, unsigned kind);

#endif
