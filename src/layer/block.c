/*
 * block.c - events of requests to block devices, summed up
 */
#include "iops/layer_block.h"
#include "iops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage_text[] = {
#define X(name, text, call) text,
	BLOCK_STAGES(X)
#undef X
};

static const char *const stage_call[] = {
#define X(name, text, call) call,
	BLOCK_STAGES(X)
#undef X
};

static const char *const class_text[] = {
#define X(name, text) text,
	BLOCK_CLASSES(X)
#undef X
};

static const char *const span_text[] = {
#define X(name, text) text,
	BLOCK_SPANS(X)
#undef X
};

/* The time of which event is which span. */
static const int8_t span_of[SHOWN_STAGES] = {
	[STAGE_QUEUED] = -1,
	[STAGE_MERGED] = SPAN_Q2M,
	[STAGE_INSERTED] = SPAN_G2I,
	[STAGE_ISSUED] = SPAN_I2D,
	[STAGE_REQUEUED] = -1,
	[STAGE_COMPLETED] = SPAN_D2C,
};

const char *block_stage_name(unsigned stage)
{
	return stage < NSTAGES ? stage_text[stage] : "?";
}

const char *block_class_name(unsigned class)
{
	return class < NBLOCK_CLASSES ? class_text[class] : "?";
}

const char *block_span_name(unsigned span)
{
	return span < NSPANS ? span_text[span] : "?";
}

const char *block_seek_name(unsigned seek)
{
	return block_stage_name(seek == SEEK_QUEUED ? STAGE_QUEUED : STAGE_ISSUED);
}

/* What a call is, by its name: a stage, a span, or a transfer of another tool. */
enum { CODE_SPAN = 100, CODE_OTHER = 200, CODE_PASSTHROUGH = 0x100 };

static uint16_t code_of(const char *call)
{
	const char *name = strncmp(call, "block:", 6) ? "" : call + 6;
	size_t n = strcspn(name, ":");

	for (unsigned i = 0; i < NSTAGES; i++)
		if (strlen(stage_call[i]) == n && !strncmp(stage_call[i], name, n))
			return (i + 1) |
			       (strcmp(name + n, ":passthrough") ? 0 : CODE_PASSTHROUGH);
	for (unsigned i = 0; i < NSPANS; i++)
		if (!strcmp(span_text[i], name))
			return CODE_SPAN + i;
	return CODE_OTHER;
}

static uint16_t code(struct block_sums *s, const struct op *op)
{
	uint16_t *c = &s->code[op->call & OP_CALL];

	if (!*c)
		*c = code_of(names_call_name(s->names, op->call & OP_CALL));
	return *c;
}

static void *block_open(struct names *names)
{
	struct block_sums *s = calloc(1, sizeof(*s));

	if (s && !(s->code = calloc(OP_CALL + 1, sizeof(*s->code)))) {
		free(s);
		return NULL;
	}
	if (s)
		s->names = names;
	return s;
}

struct block_device *block_device_of(struct block_sums *s, uint32_t dev)
{
	size_t n = s->ndevice, at = map_get(&s->devices, dev, 0);

	if (at)
		return &s->device[s->latest = at - 1];
	if (!(n & (n - 1))) { /* 0 and every power of two: room for as many again */
		struct block_device *more =
			realloc(s->device, (n ? 2 * n : 1) * sizeof(*more));
		if (!more)
			return NULL;
		s->device = more;
	}
	if (map_put(&s->devices, dev, 0, n + 1) < 0)
		return NULL;
	s->device[n] = (struct block_device){ .dev = dev };
	s->ndevice++;
	return &s->device[s->latest = n];
}

static struct block_device *device_of(struct block_sums *s, uint32_t dev)
{
	return s->ndevice && s->device[s->latest].dev == dev ? &s->device[s->latest]
							     : block_device_of(s, dev);
}

static int add(struct series *s, const struct op *op, struct series_at at)
{
	bool timed = op->dur_ns != OP_NO_TIME;

	if (timed)
		s->time_ns += op->dur_ns;
	if (op->ret < 0) {
		s->again += op->ret == -EAGAIN;
		s->errors += op->ret != -EAGAIN;
		return 0;
	}
	s->operations++;
	s->requested += op->want;
	s->bytes += op->ret;
	if (hist_put(&s->size, at.size, op->ret) < 0)
		return -ENOMEM;
	return timed ? hist_put(&s->latency, at.time, op->dur_ns) : 0;
}

static enum block_class class_of(const struct op *op, bool passthrough)
{
	switch (op->kind) {
	case OP_READ:
		return BLOCK_CLASS_READ;
	case OP_WRITE:
		return BLOCK_CLASS_WRITE;
	case OP_SYNC:
		return BLOCK_CLASS_FLUSH;
	default:
		return passthrough ? BLOCK_CLASS_PASSTHROUGH : BLOCK_CLASS_DISCARD;
	}
}

/* A clock that goes back by more is that of another run. */
static const uint64_t DISORDER_NS = 1000000000;

/* Events of several CPUs may be a little out of order: then no time has passed. */
static void depth_change(struct block_depth *d, int by, uint64_t at_ns)
{
	if (!d->any || at_ns + DISORDER_NS < d->last_ns) {
		d->last_ns = at_ns;
		d->now = 0;
	}
	d->any = true;
	if (at_ns > d->last_ns) {
		d->area += (double)d->now * (double)(at_ns - d->last_ns);
		d->ns += at_ns - d->last_ns;
		d->last_ns = at_ns;
	}
	if (by > 0)
		d->now++;
	else if (d->now) /* what began before us ends, too */
		d->now--;
	if (d->now > d->max)
		d->max = d->now;
}

/* Nothing where they touch; as btt(1) has it. */
static int seek(struct block_seek *k, const struct op *op)
{
	if (!op->want || op->offset < 0)
		return 0;
	uint64_t begin = (uint64_t)op->offset >> 9, end = begin + (op->want >> 9);
	bool near = (begin >= k->begin && begin <= k->end) ||
		    (end >= k->begin && end <= k->end);
	uint64_t far = near ? 0 : begin > k->end ? begin - k->end : k->begin - begin;
	k->begin = begin;
	k->end = end;
	return hist_add(&k->distance, far);
}

static void issue(struct block_device *d, const struct op *op)
{
	if ((op->kind != OP_READ && op->kind != OP_WRITE) || op->offset < 0)
		return;
	if (d->issued) {
		d->consecutive += (uint64_t)op->offset == d->end;
		d->elsewhere += (uint64_t)op->offset != d->end;
	}
	d->issued = true;
	d->end = op->offset + op->want;
}

/* Since the bio before it on the same device. */
static int queue(struct block_sums *s, struct block_device *d, const struct op *op)
{
	uint64_t before = d->queued_ns, at = op->start_ns;
	bool any = d->queued, other = at + DISORDER_NS < before;

	d->queued = true;
	d->queued_ns = at > before || other ? at : before;
	return any && !other ? hist_add(&s->span[SPAN_Q2Q], at > before ? at - before : 0)
			     : 0;
}

/* A request that the driver has from now on, or has no more. */
static void depth(
	struct block_sums *s, struct block_device *d, int by, const struct op *op)
{
	uint64_t at = op->start_ns + (op->dur_ns != OP_NO_TIME ? op->dur_ns : 0);

	depth_change(&d->depth, by, at);
	depth_change(&s->depth, by, at);
}

/* What its stage adds to the sums of its device. */
static int put_stage(
	struct block_sums *s, struct block_device *d, const struct op *op, uint16_t c)
{
	bool data = !(c & CODE_PASSTHROUGH), timed = op->dur_ns != OP_NO_TIME;
	struct series_at at = series_at(op);
	enum block_class class = class_of(op, !data);
	unsigned stage = (c & 0xff) - 1;
	int err = add(&s->stage[stage][class], op, at);

	/* Latencies are those of data. */
	if (!err && timed && data && op->want && span_of[stage] >= 0)
		err = hist_put(&s->span[span_of[stage]], at.time, op->dur_ns);
	if (err)
		return err;
	switch (stage) {
	case STAGE_QUEUED:
		if (op->want)
			err = queue(s, d, op);
		return err || !data ? err : seek(&d->seek[SEEK_QUEUED], op);
	case STAGE_ISSUED:
		if (data)
			err = seek(&d->seek[SEEK_ISSUED], op);
		issue(d, op);
		depth(s, d, 1, op);
		return err;
	case STAGE_COMPLETED:
		err = add(&d->completed[class], op, at);
		/* fall through */
	case STAGE_REQUEUED:
		if (timed)
			depth(s, d, -1, op);
	}
	return err;
}

static int put_event(struct block_sums *s, const struct op *op, uint16_t c)
{
	unsigned stage = (c & 0xff) - 1;
	struct block_device *d = device_of(s, op->fd);
	int err = 0;

	if (!d)
		return -ENOMEM;
	s->count[stage]++;
	if (stage < SHOWN_STAGES)
		err = put_stage(s, d, op, c);
	else if (stage == STAGE_GOT && op->dur_ns != OP_NO_TIME && op->want &&
		 !(c & CODE_PASSTHROUGH))
		err = hist_add(&s->span[SPAN_Q2G], op->dur_ns);
	return err < 0 ? err : stage == STAGE_COMPLETED;
}

/* Events of other tools: what was transferred. And what is no event. */
static __attribute__((noinline)) int put_other(
	struct block_sums *s, const struct op *op, uint16_t c)
{
	if (op->kind == OP_DEVICE) {
		struct block_device *d = device_of(s, op->fd);
		if (d)
			d->file = op->file;
		return d ? 0 : -ENOMEM;
	}
	if (op->kind == OP_SPAN)
		return c >= CODE_SPAN && c < CODE_SPAN + NSPANS &&
				       op->dur_ns != OP_NO_TIME
			       ? hist_add(&s->span[c - CODE_SPAN], op->dur_ns)
			       : 0;
	if (op_kind_class(op->kind) == CLASS_NOTICE)
		return 0;
	s->events++;
	s->count[STAGE_COMPLETED]++;
	int err = add(&s->stage[STAGE_COMPLETED][class_of(op, true)], op, series_at(op));
	return err < 0 ? err : 1;
}

static int block_put(void *sums, const struct op *op)
{
	struct block_sums *s = sums;
	uint16_t c = code(s, op);

	if ((c >= CODE_SPAN && c <= CODE_OTHER) ||
		op_kind_class(op->kind) == CLASS_NOTICE)
		return put_other(s, op, c);
	s->events++;
	return put_event(s, op, c);
}

static void fini(struct series *s)
{
	hist_fini(&s->size);
	hist_fini(&s->latency);
}

static void block_close(void *sums)
{
	struct block_sums *s = sums;

	for (unsigned c = 0; c < NBLOCK_CLASSES; c++) {
		for (unsigned i = 0; i < SHOWN_STAGES; i++)
			fini(&s->stage[i][c]);
		for (size_t i = 0; i < s->ndevice; i++)
			fini(&s->device[i].completed[c]);
	}
	for (size_t i = 0; i < s->ndevice; i++)
		for (unsigned k = 0; k < NSEEKS; k++)
			hist_fini(&s->device[i].seek[k].distance);
	for (unsigned i = 0; i < NSPANS; i++)
		hist_fini(&s->span[i]);
	map_fini(&s->devices);
	free(s->device);
	free(s->code);
	free(s);
}

const struct layer_sums layer_block_sums = { block_open, block_put, block_close };
