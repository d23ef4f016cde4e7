/*
 * take.c - records to where they belong: names, events with a place and without
 */
#include "iops/names.h"
#include "track.h"

#include <errno.h>
#include <string.h>

enum { COMMS_MAX = 1 << 20 };

static int name_process(struct track *t, const struct blk_rec *r)
{
	const char *comm = (const char *)record_payload(r);
	uint32_t id = names_add(t->names, comm, strnlen(comm, r->len));

	if (!id || (t->comms.n >= COMMS_MAX && !map_get(&t->comms, r->pid, 1)))
		return 0;
	t->recent[r->pid % TRACK_RECENT].comm = 0;
	return map_put(&t->comms, r->pid, 1, id);
}

static unsigned kind_of(const struct blk_rec *r)
{
	if (r->action & (BLK_PC | BLK_DISCARD | BLK_ZONES))
		return OP_META;
	if (!r->bytes)
		return r->action & BLK_FLUSH ? OP_SYNC : OP_META;
	return r->action & BLK_WRITE ? OP_WRITE : OP_READ;
}

static void event(struct track *t, const struct blk_rec *r)
{
	unsigned act = record_act(r), kind = kind_of(r);
	enum track_call call =
		act == ACT_PLUG || act == ACT_ZONE_PLUG ? CALL_PLUG
		: act == ACT_UNPLUG || act == ACT_UNPLUG_TIMER || act == ACT_ZONE_UNPLUG
			? CALL_UNPLUG
			: CALL_OTHER;

	if (call == CALL_OTHER && act && act < ACT_ABORT && act != ACT_SLEEPRQ &&
		act != ACT_BOUNCE) {
		bool wet = r->bytes && !(r->action & BLK_PC);
		if (!track_device(t, r->dev))
			return;
		(wet || act == ACT_REMAP || act == ACT_SPLIT ? track_wet : track_dry)(
			t, r, kind);
		return;
	}
	struct op op = track_op(t, r, call, OP_META);
	op.want = op.ret = 0;
	op.offset = OP_NO_OFFSET;
	track_put(t, &op);
}

int track_take(struct track *t, const struct blk_rec *r)
{
	unsigned act = record_act(r);

	if (record_is_note(r) && act == NOTE_PROCESS)
		return name_process(t, r);
	if (record_is_note(r) && act == NOTE_TIMESTAMP)
		return 0;
	if (!t->begun && !record_is_note(r)) {
		t->base = t->end = r->time;
		t->begun = true;
	}
	if (record_is_note(r)) {
		struct op op = track_op(t, r, CALL_OTHER, OP_META);
		track_since(t, &op, NEVER, t->end);
		op.ret = op.want = 0;
		op.offset = OP_NO_OFFSET;
		track_put(t, &op);
		return t->err;
	}
	if (r->time > t->end)
		t->end = r->time;
	event(t, r);
	return t->err;
}
