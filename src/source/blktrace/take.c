/*
 * take.c - records to where they belong: names, events with a place and without
 */
#include "iops/names.h"
#include "track.h"

#include <errno.h>
#include <string.h>

/* The note comes before the first event, if nothing is lost and all is in order. */
static int name_process(struct track *t, const struct blk_rec *r)
{
	const char *comm = (const char *)record_payload(r);
	uint32_t id = names_add(t->names, comm, strnlen(comm, r->len));
	uintptr_t was = map_get(&t->tasks, r->pid, 1);

	if (!id || (!was && t->tasks.n >= TASKS_MAX))
		return 0;
	t->recent[r->pid % TRACK_RECENT].known = false;
	if (was == 1) {
		struct op op = { .kind = OP_NAME,
			.start_ns = track_time(t, t->end),
			.pid = (int32_t)(r->pid & INT32_MAX),
			.tid = (int32_t)(r->pid & INT32_MAX),
			.comm = id,
			.fd = -1,
			.offset = OP_NO_OFFSET,
			.dur_ns = OP_NO_TIME };
		track_put(t, &op);
	}
	int err = map_put(&t->tasks, r->pid, 1, (uintptr_t)id + 1);
	return err ? err : t->err;
}

static unsigned kind_of(const struct blk_rec *r)
{
	if (r->action & (BLK_PC | BLK_DISCARD | BLK_ZONES))
		return OP_META;
	if (!r->bytes)
		return r->action & BLK_FLUSH ? OP_SYNC : OP_META;
	return r->action & BLK_WRITE ? OP_WRITE : OP_READ;
}

/* What kinds of events are called; which go by device and sector. */
static const uint8_t call_of[NACTS] = {
	[0] = CALL_OTHER,
	[ACT_QUEUE] = CALL_QUEUE,
	[ACT_BACKMERGE] = CALL_MERGE,
	[ACT_FRONTMERGE] = CALL_MERGE,
	[ACT_GETRQ] = CALL_GETRQ,
	[ACT_SLEEPRQ] = CALL_OTHER,
	[ACT_REQUEUE] = CALL_REQUEUE,
	[ACT_ISSUE] = CALL_ISSUE,
	[ACT_COMPLETE] = CALL_COMPLETE,
	[ACT_PLUG] = CALL_PLUG,
	[ACT_UNPLUG] = CALL_UNPLUG,
	[ACT_UNPLUG_TIMER] = CALL_UNPLUG,
	[ACT_INSERT] = CALL_INSERT,
	[ACT_SPLIT] = CALL_SPLIT,
	[ACT_BOUNCE] = CALL_OTHER,
	[ACT_REMAP] = CALL_REMAP,
	[ACT_ABORT] = CALL_OTHER,
	[ACT_DRV_DATA] = CALL_OTHER,
	[ACT_ZONE_PLUG] = CALL_PLUG,
	[ACT_ZONE_UNPLUG] = CALL_UNPLUG,
};

/* An event of that time: of notes, that of the event before. 0 or -errno. */
static int take(
	struct track *t, const struct blk_rec *r, enum track_call call, uint64_t at)
{
	struct bdev *d = track_device(t, r->dev);
	bool data = call < CALL_PLUG;
	struct op op = {
		.start_ns = track_time(t, at),
		.dur_ns = OP_NO_TIME,
		.ret = data ? r->bytes : 0,
		.want = data ? r->bytes : 0,
		.offset = !data || r->sector > INT64_MAX >> 9 ? OP_NO_OFFSET
							      : (int64_t)(r->sector << 9),
		.file = d ? d->file : 0,
		.fd = (int32_t)((d ? d->dev : r->dev) & INT32_MAX),
		.kind = data ? kind_of(r) : OP_META,
		.layer = LAYER_BLOCK,
	};

	track_call(t, &op, call, r->action & BLK_DISCARD);
	track_whose(&op, track_who(t, r));
	if (!data)
		track_put(t, &op);
	else if (d && ((r->bytes && !(r->action & BLK_PC)) || call == CALL_REMAP ||
			      call == CALL_SPLIT))
		track_wet(t, r, &op);
	else if (d)
		track_dry(t, r, &op);
	return t->err;
}

int track_take(struct track *t, const struct blk_rec *r)
{
	unsigned act = record_act(r);

	if (record_is_note(r))
		return act == NOTE_PROCESS     ? name_process(t, r)
		       : act == NOTE_TIMESTAMP ? t->err
					       : take(t, r, CALL_OTHER, t->end);
	if (!t->begun) {
		t->base = t->end = r->time;
		t->begun = true;
	}
	if (r->time > t->end)
		t->end = r->time;
	return take(t, r, act < NACTS ? call_of[act] : CALL_OTHER, r->time);
}
