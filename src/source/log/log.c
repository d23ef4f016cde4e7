/*
 * log.c - read the operation log, as much of it as is whole
 *
 * Where a block is damaged, the next one is looked for by its magic. Each block says how
 * many operations came before it, so what is missing in between is known exactly.
 */
#include "block.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/log.h"
#include "iops/names.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define OPS_MAX    (UINT64_C(1) << 62) /* more than any log has */
/* So many bytes are searched for blocks within blocks that are damaged: not for ever. */
#define SEARCH_MAX (UINT64_C(1) << 30)

enum { TOLD_MAX = 3 /* places of damage that are told one by one */ };

struct log_source {
	struct source base;
	struct names *names;
	struct input *in;
	struct run run;
	struct log_run strings;
	struct block block;
	uint8_t *raw;
	ZSTD_DCtx *zstd;
	uint64_t seen;     /* operations, with those that are known to be lost */
	uint64_t end_ns;   /* the latest moment */
	uint64_t start_ns; /* of the command's first program */
	uint64_t places, lost, lost_now;
	uint64_t searched; /* bytes whose CRC was wrong */
	uint64_t cut_ops;  /* of the next block, if that is cut off */
	uint64_t next;     /* number of the block that comes next */
	bool ended;        /* its last block was read: nothing is missing behind it */
	bool over;         /* what else there is belongs to another log */
};

struct head {
	unsigned version, type, coding;
	uint32_t number, stored, raw, ops;
	uint64_t before;
};

/* Where it is damaged, and what is lost there, as far as is known. */
static void damage(struct log_source *s, const char *why, uint64_t lost)
{
	s->run.damaged = true;
	s->lost += lost;
	s->lost_now += lost;
	if (s->places++ >= TOLD_MAX)
		return;
	if (lost)
		diag("%s: byte %" PRIu64 ": %s; %" PRIu64 " operations are lost",
			input_name(s->in), input_offset(s->in), why, lost);
	else
		diag("%s: byte %" PRIu64 ": %s", input_name(s->in), input_offset(s->in),
			why);
}

/* A head at the front of these bytes, without a look at its payload. */
static bool get_head(struct head *h, const uint8_t *p)
{
	struct wire_in in = { p, p + LOG_HEAD, false };

	if (memcmp(wire_get_bytes(&in, 4), LOG_MAGIC, 4))
		return false;
	h->version = wire_get_fixed(&in, 1);
	h->type = wire_get_fixed(&in, 1);
	h->coding = wire_get_fixed(&in, 1);
	wire_get_fixed(&in, 1);
	h->number = wire_get_fixed(&in, 4);
	h->stored = wire_get_fixed(&in, 4);
	h->raw = wire_get_fixed(&in, 4);
	h->before = wire_get_fixed(&in, 8);
	h->ops = wire_get_fixed(&in, 4);
	return h->stored <= LOG_STORED_MAX && h->raw <= LOG_RAW_MAX &&
	       h->before <= OPS_MAX;
}

static bool crc_right(const uint8_t *p, const struct head *h)
{
	struct wire_in at = { p + LOG_CRC, p + LOG_HEAD, false };
	uint32_t crc = wire_crc(wire_crc(0, p, LOG_CRC), p + LOG_HEAD, h->stored);

	return wire_get_fixed(&at, 4) == crc;
}

/* How many bytes there are at least up to the next magic. */
static ssize_t next_magic(struct log_source *s)
{
	const void *bytes;
	ssize_t n = input_peek(s->in, INPUT_HEAD, &bytes);
	if (n < 0)
		return n;
	const char *first = bytes, *p = memmem(first + 1, n - 1, LOG_MAGIC, 4);

	/* Its first bytes may be the last ones that are here. */
	return p ? p - first : n - 3;
}

/* The next one begins here and does not end: so much is not there. */
static void note_cut(struct log_source *s, const struct head *h)
{
	if (h->number == s->next && h->before == s->seen && h->type == LOG_OPS &&
		h->ops <= LOG_RECORDS_MAX)
		s->cut_ops = h->ops;
}

/*
 * The next whole block, wherever it begins; *skipped bytes were none. 1, 0 at the end,
 * or -errno. The payload is still in the input.
 */
static int find_block(struct log_source *s, struct head *h, uint64_t *skipped)
{
	const void *bytes;
	ssize_t n;

	*skipped = 0;
	while ((n = input_peek(s->in, LOG_HEAD, &bytes)) >= LOG_HEAD) {
		ssize_t skip = 0;
		if (get_head(h, bytes)) {
			n = input_peek(s->in, LOG_HEAD + h->stored, &bytes);
			if (n < 0)
				return (int)n;
			if (n == (ssize_t)(LOG_HEAD + h->stored) && crc_right(bytes, h))
				return 1;
			if (n < (ssize_t)(LOG_HEAD + h->stored))
				note_cut(s, h);
			s->searched += n;
			skip = s->searched > SEARCH_MAX ? n : 0;
		}
		if (!skip)
			skip = next_magic(s);
		if (skip < 0)
			return (int)skip;
		input_skip(s->in, skip);
		*skipped += skip;
	}
	if (n > 0) {
		*skipped += n;
		input_skip(s->in, n);
	}
	return n < 0 ? (int)n : 0;
}

/* The payload of a block that was found; empty if it cannot be unpacked. */
static struct wire_in payload(struct log_source *s, const struct head *h)
{
	const void *bytes;
	size_t n = h->stored;

	input_peek(s->in, LOG_HEAD + h->stored, &bytes);
	const uint8_t *p = (const uint8_t *)bytes + LOG_HEAD;
	if (h->coding == LOG_ZSTD) {
		n = ZSTD_decompressDCtx(s->zstd, s->raw, h->raw, p, h->stored);
		p = s->raw;
	}
	if (h->coding > LOG_ZSTD || ZSTD_isError(n) || n != h->raw)
		return (struct wire_in){ NULL, NULL, true };
	return (struct wire_in){ p, p + n, false };
}

static void watch(struct log_source *s, const struct op *op)
{
	uint64_t end = op->start_ns + (op->dur_ns == OP_NO_TIME ? 0 : op->dur_ns);
	bool command = s->run.npids && op->pid == s->run.pids[0] && s->run.command;

	if (end > s->end_ns)
		s->end_ns = end;
	if (command && op->kind == OP_EXEC && !s->start_ns)
		s->start_ns = op->start_ns;
	if (command && op->kind == OP_EXIT && op->tid == op->pid) {
		s->run.ended = true;
		s->run.status = (int)op->ret;
	}
}

static int put_lost(struct log_source *s, struct sink *to)
{
	struct op op = { .kind = OP_LOST,
		.ret = (int64_t)s->lost_now,
		.start_ns = s->end_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1 };

	s->lost_now = 0;
	return op.ret ? sink_put(to, &op) : 0;
}

static int read_ops(
	struct log_source *s, const struct head *h, struct wire_in in, struct sink *to)
{
	struct op op;
	uint64_t ops = 0;
	int err = block_open(&s->block, in, s->names), got = 0;

	if (err == -ENOMEM)
		return err;
	while (!err && (got = block_next(&s->block, &op)) > 0) {
		watch(s, &op);
		ops += op_kind_class(op.kind) != CLASS_NOTICE;
		err = sink_put(to, &op);
		if (err < 0)
			return err;
	}
	if (err < 0 || got < 0 || ops != h->ops)
		damage(s, "a block that this iops cannot read",
			ops < h->ops ? h->ops - ops : 0);
	return 0;
}

/* What of a run the last block knows better than the first one. */
static void read_end(struct log_source *s, struct wire_in in)
{
	struct run end;
	struct log_run strings = { 0 };

	if (!log_get_run(&in, &end, &strings) && !strcmp(end.id, s->run.id)) {
		s->ended = true;
		s->run.elapsed_ns = end.elapsed_ns;
		s->run.ended = end.ended;
		s->run.status = end.status;
		s->run.complete = end.complete;
		s->run.snapshot = end.snapshot;
		s->run.damaged |= end.damaged;
		s->run.patches = end.patches;
		if (*end.no_patch)
			memcpy(s->run.no_patch, end.no_patch, sizeof(end.no_patch));
	} else {
		damage(s, "the end of another run", 0);
	}
	log_run_fini(&strings);
}

static bool same_run(const struct log_source *s, struct wire_in in)
{
	struct log_run strings = { 0 };
	struct run run;
	bool same = !log_get_run(&in, &run, &strings) && !strcmp(run.id, s->run.id);

	log_run_fini(&strings);
	return same;
}

/* Whether a block is the next one or a later one of this log. */
static bool is_due(struct log_source *s, const struct head *h, struct wire_in in)
{
	bool other = h->type == LOG_RUN && !same_run(s, in);

	if (s->over)
		return false;
	if (s->ended || other)
		damage(s,
			other ? "another log begins, which is not read"
			      : "more follows the end, which is not read",
			0);
	else if (h->number < s->next || h->before < s->seen)
		damage(s, "a block that was there before", 0);
	else
		return true;
	s->over |= s->ended || other;
	return false;
}

static int read_block(
	struct log_source *s, const struct head *h, struct wire_in in, struct sink *to)
{
	if (!is_due(s, h, in))
		return 0;
	if (h->number > s->next || h->before > s->seen)
		damage(s, "blocks are missing", h->before - s->seen);
	int err = put_lost(s, to);
	s->seen = h->before + h->ops;
	s->next = (uint64_t)h->number + 1;
	if (in.bad || h->version != LOG_VERSION || (h->type > LOG_END && h->ops))
		damage(s, "a block that this iops cannot read", h->ops);
	else if (!err && h->type == LOG_OPS)
		err = read_ops(s, h, in, to);
	else if (h->type == LOG_END)
		read_end(s, in);
	return err;
}

/* What there is to say when nothing more comes. */
static int finish(struct log_source *s, struct sink *to)
{
	if (!s->ended) {
		damage(s,
			"it has no end: its writer was cut off, and what came in its "
			"last "
			"second is missing",
			0);
		s->run.elapsed_ns = s->end_ns - s->start_ns;
		s->run.complete = false;
	}
	if (s->places > TOLD_MAX)
		diag("%s: %" PRIu64 " more places are damaged; %" PRIu64
		     " operations are lost in all",
			input_name(s->in), s->places - TOLD_MAX, s->lost);
	if (s->run.damaged)
		s->run.complete = false;
	return put_lost(s, to);
}

static int log_step(struct source *base, struct sink *to)
{
	struct log_source *s = (struct log_source *)base;
	struct head h;
	uint64_t skipped;
	int got = find_block(s, &h, &skipped);

	if (got < 0)
		return got;
	if (skipped)
		damage(s, got ? "damaged up to here" : "damaged or cut off up to here",
			got ? 0 : s->cut_ops);
	if (!got)
		return finish(s, to);
	int err = read_block(s, &h, payload(s, &h), to);
	input_skip(s->in, LOG_HEAD + h.stored);
	return err < 0 ? err : 1;
}

static int log_probe(const char *head, size_t len)
{
	return len >= 4 && !memcmp(head, LOG_MAGIC, 4) ? 100 : 0;
}

static void log_about(struct source *base, struct run *run)
{
	const struct log_source *s = (const struct log_source *)base;

	*run = s->run;
}

static int log_close(struct source *base)
{
	struct log_source *s = (struct log_source *)base;

	block_fini(&s->block);
	log_run_fini(&s->strings);
	free(s->raw);
	ZSTD_freeDCtx(s->zstd);
	free(s);
	return 0;
}

/* The first block says what was run; without it nothing else has a meaning. */
static int read_begin(struct log_source *s)
{
	const void *bytes;
	struct head h;
	ssize_t n = input_peek(s->in, LOG_HEAD, &bytes);

	if (n < 0)
		return (int)n;
	bool whole = n == LOG_HEAD && get_head(&h, bytes);
	if (whole && h.version != LOG_VERSION) {
		diag("%s: a log of version %u, which this iops cannot read",
			input_name(s->in), h.version);
		return -EINVAL;
	}
	n = whole ? input_peek(s->in, LOG_HEAD + h.stored, &bytes) : 0;
	whole = whole && n == (ssize_t)(LOG_HEAD + h.stored) && crc_right(bytes, &h) &&
		h.type == LOG_RUN;
	struct wire_in in = whole ? payload(s, &h) : (struct wire_in){ .bad = true };
	if (in.bad || log_get_run(&in, &s->run, &s->strings) < 0) {
		diag("%s: its first block is damaged: not a log that can be read",
			input_name(s->in));
		return -EINVAL;
	}
	input_skip(s->in, LOG_HEAD + h.stored);
	s->next = (uint64_t)h.number + 1;
	return 0;
}

static int log_open(struct source **out, const struct source_args *args)
{
	struct log_source *s = args->ninputs == 1 ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return args->ninputs == 1 ? -ENOMEM : -EINVAL;
	s->base.ops = &source_log;
	s->names = args->names;
	s->in = args->inputs[0];
	s->raw = malloc(LOG_RAW_MAX);
	s->zstd = ZSTD_createDCtx();
	int err = s->raw && s->zstd ? read_begin(s) : diag_err(ENOMEM, "log");
	if (err < 0) {
		log_close(&s->base);
		return err;
	}
	*out = &s->base;
	return 0;
}

const struct source_ops source_log = {
	.name = "iops",
	.help = "the operation log of iops",
	.probe = log_probe,
	.open = log_open,
	.step = log_step,
	.about = log_about,
	.close = log_close,
};
