/*
 * track.h - what events of requests tell, as the operations of op.h.
 */
#ifndef IOPS_BLKTRACE_TRACK_H
#define IOPS_BLKTRACE_TRACK_H

#include "flight.h"
#include "iops/map.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "record.h"

#include <stddef.h>

struct names;

/* What moves no data of its own: flushes, passthrough, zones. */
struct dry {
	struct who who;
	uint64_t queued, got, inserted, issued, sector;
	uint32_t bytes;
	uint8_t kind;
};

struct bdev {
	uint32_t dev, file;
	struct dry *dry;
	unsigned ndry, capdry;
	uint64_t flush;             /* issued, NEVER: none */
	struct who flusher, writer; /* of that flush; of the latest write with one */
};

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

/* Many are a matter of memory: each has sums of its own. */
enum { TRACK_RECENT = 256, TASKS_MAX = 1 << 16, DEVS_MAX = 1 << 12 };

/* What is the operation of the main layer: the latest event that the trace has at all. */
enum track_main { MAIN_UNKNOWN, MAIN_COMPLETE, MAIN_ISSUE, MAIN_QUEUE };

struct track {
	struct names *names;
	struct sink *to;
	const char *stem; /* of the files' names, or NULL: perhaps the device's */
	/* What this machine calls a device: its length; 0: it does not. NULL: it is
	 * another machine's. */
	int (*node)(char *out, size_t size, uint32_t dev);
	struct flight flight;
	struct map tasks; /* tid -> its name at the moment, plus 1 */
	struct {
		uint32_t pid;
		bool known;
		struct who who;
	} recent[TRACK_RECENT]; /* of these */
	bool many;              /* more devices than that: they are the last one */
	bool crowd;             /* there were more tasks than that: they are nobody */
	struct map devs;
	struct bdev *dev;  /* of the latest event */
	struct bdev *last; /* that was new */
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

/* What take.c, events.c and dry.c need. */

/* The device of a number, named first; NULL: no memory. */
struct bdev *track_new_device(struct track *t, uint32_t dev);
struct who track_new_who(struct track *t, uint32_t pid);
int track_hold(struct track *t, const struct op *op);
void track_span(struct track *t, const struct op *like, uint16_t call, uint64_t from,
	uint64_t at);

/* The same as an operation of the main layer. */
void track_main(struct track *t, const struct op *op, enum track_main by);

/* Events that have a place of their own; and those without. The operation is made. */
void track_wet(struct track *t, const struct blk_rec *r, struct op *op);
void track_dry(struct track *t, const struct blk_rec *r, struct op *op);

/* Of an error as drivers tell it. */
int track_errno(const struct blk_rec *r);

static inline struct bdev *track_device(struct track *t, uint32_t dev)
{
	return t->dev && t->dev->dev == dev ? t->dev : track_new_device(t, dev);
}

static inline struct who track_who(struct track *t, const struct blk_rec *r)
{
	unsigned i = r->pid % TRACK_RECENT;

	return t->recent[i].known && t->recent[i].pid == r->pid
		       ? t->recent[i].who
		       : track_new_who(t, r->pid);
}

static inline uint64_t track_time(const struct track *t, uint64_t at)
{
	uint64_t ns = at > t->base ? at - t->base : 0;

	return ns > INT64_MAX ? INT64_MAX : ns;
}

/* It began at from, NEVER: nobody knows when. */
static inline void track_since(
	const struct track *t, struct op *op, uint64_t from, uint64_t at)
{
	op->start_ns = track_time(t, from == NEVER ? at : from);
	op->dur_ns = from == NEVER ? OP_NO_TIME : at > from ? at - from : 0;
	if (op->dur_ns != OP_NO_TIME && op->dur_ns > INT64_MAX)
		op->dur_ns = INT64_MAX;
}

static inline void track_whose(struct op *op, struct who who)
{
	op->pid = op->tid = who.tid;
	op->comm = who.comm;
}

static inline void track_call(
	const struct track *t, struct op *op, enum track_call call, bool discard)
{
	op->call = t->call[call][op->kind != OP_META || call >= CALL_PLUG ? 0
				 : discard                                ? 1
									  : 2];
}

static inline void track_put(struct track *t, const struct op *op)
{
	if (!t->err)
		t->err =
			t->main == MAIN_UNKNOWN ? track_hold(t, op) : sink_put(t->to, op);
}

#endif
