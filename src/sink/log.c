/*
 * log.c - write the operation log
 *
 * Operations of one thread on one file by one call share nearly everything: a context
 * holds that once a block, and what an operation adds to it are five numbers, most of
 * them foretold by the one before. They go to a column each, which zstd then packs.
 */
#include "iops/log.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum {
	BLOCK_RAW = LOG_RAW_MAX / 2,   /* bytes a block, and one record more */
	BLOCK_TEXT = LOG_TEXT_MAX / 2, /* bytes of names a block, likewise */
	SLOTS = 2 * LOG_RECORDS_MAX,   /* of the table of contexts */
	LEVEL = 1,         /* of zstd: beyond it time grows faster than size shrinks */
	SMALL = 128 << 10, /* bytes of a block that is worth more time than that */
	LEVEL_SMALL = 15,
};

/* Where a name or file of names stands in the block at hand. */
struct place {
	uint32_t block, at; /* block: number of the block that this is true for */
};

struct places {
	struct place *place;
	size_t cap;
	uint32_t n;
};

struct context {
	struct op key; /* only what contexts are told apart by */
	uint64_t want, next;
};

struct log_sink {
	struct sink sink;
	struct log_args args;
	struct places strings, files;
	uint32_t block;  /* number of the block of operations at hand, from 1 */
	uint32_t blocks; /* written, of all types */
	char *last;      /* the string before: the next one tells how it differs */
	size_t caplast;
	size_t text;           /* bytes of names in this block */
	struct wire_out vague; /* files of unknown type, and where theirs stands */
	uint64_t inode;        /* of the file before */
	struct context *context;
	struct place *slot; /* contexts by hash; empty if of another block */
	uint32_t ncontext, recent;
	struct op before; /* the context before, to tell how the next one differs */
	uint64_t start_ns, dur_ns, end_ns; /* of the operation before */
	uint64_t ops, total;               /* in this block, in those before */
	uint32_t records;
	struct wire_out texts, filed, contexts, ids, flags, times, values, systems;
	struct wire_out raw, stored;
	ZSTD_CCtx *zstd;
	bool begun;
	int error;
};

static void fail(struct log_sink *s, int err)
{
	if (!s->error)
		s->error = diag_err(err, "cannot write the log %s", s->args.name);
}

static void write_all(struct log_sink *s, const uint8_t *p, size_t len)
{
	while (len && !s->error) {
		ssize_t n = write(s->args.fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail(s, errno);
		else {
			p += n;
			len -= n;
		}
	}
}

/* A head and the payload in s->raw, packed. */
static void write_block(struct log_sink *s, enum log_type type)
{
	struct wire_out *o = &s->stored;
	size_t raw = s->raw.n, bound = ZSTD_compressBound(raw);

	o->n = 0;
	if (s->raw.failed || !wire_room(o, LOG_HEAD + bound)) {
		fail(s, ENOMEM);
		return;
	}
	size_t packed = ZSTD_compressCCtx(s->zstd, o->p + LOG_HEAD, bound, s->raw.p, raw,
		raw < SMALL ? LEVEL_SMALL : LEVEL);
	bool plain = ZSTD_isError(packed) || packed >= raw;
	if (plain)
		memcpy(o->p + LOG_HEAD, s->raw.p, packed = raw);
	wire_bytes(o, LOG_MAGIC, 4);
	wire_fixed(o, LOG_VERSION, 1);
	wire_fixed(o, type, 1);
	wire_fixed(o, plain ? LOG_PLAIN : LOG_ZSTD, 1);
	wire_fixed(o, 0, 1);
	wire_fixed(o, s->blocks++, 4);
	wire_fixed(o, packed, 4);
	wire_fixed(o, raw, 4);
	wire_fixed(o, s->total, 8);
	wire_fixed(o, s->ops, 4);
	uint32_t crc = wire_crc(0, o->p, LOG_CRC);
	wire_fixed(o, wire_crc(crc, o->p + LOG_HEAD, packed), 4);
	write_all(s, o->p, LOG_HEAD + packed);
}

static void begin(struct log_sink *s)
{
	s->begun = true;
	s->raw.n = 0;
	log_put_run(&s->raw, s->args.run, false);
	write_block(s, LOG_RUN);
}

static void put_column(struct log_sink *s, const struct wire_out *c)
{
	wire_u64(&s->raw, c->n);
	wire_bytes(&s->raw, c->p, c->n);
}

static void block_reset(struct log_sink *s)
{
	struct wire_out *const all[] = { &s->texts, &s->filed, &s->contexts, &s->ids,
		&s->flags, &s->times, &s->values, &s->systems };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		all[i]->n = 0;
	s->total += s->ops;
	s->ops = s->records = s->ncontext = s->recent = 0;
	s->strings.n = s->files.n = s->text = 0;
	s->inode = s->start_ns = s->dur_ns = s->end_ns = 0;
	s->before = (struct op){ 0 };
	*s->last = 0;
	s->block++;
}

/* The type of a file may have been learnt since the block told of it. */
static void learn_types(struct log_sink *s)
{
	struct wire_in in = { s->vague.p, s->vague.p + s->vague.n, false };

	while (in.p < in.end && !s->vague.failed && !s->filed.failed) {
		uint32_t file = wire_get_fixed(&in, 4), at = wire_get_fixed(&in, 4);
		s->filed.p[at] = names_file(s->args.names, file)->type;
	}
	s->vague.n = 0;
}

static void write_ops(struct log_sink *s)
{
	struct wire_out *const all[] = { &s->texts, &s->filed, &s->contexts, &s->ids,
		&s->flags, &s->times, &s->values, &s->systems };

	learn_types(s);
	s->raw.n = 0;
	wire_u64(&s->raw, s->strings.n);
	wire_u64(&s->raw, s->files.n);
	wire_u64(&s->raw, s->ncontext);
	wire_u64(&s->raw, s->records);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		put_column(s, all[i]);
		if (all[i]->failed)
			fail(s, ENOMEM);
	}
	write_block(s, LOG_OPS);
	block_reset(s);
}

/* The place of an id in this block; *fresh if it has just got one. 0: no memory. */
static uint32_t place_of(struct log_sink *s, struct places *p, uint32_t id, bool *fresh)
{
	*fresh = false;
	if (id >= p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 256;
		while (cap <= id)
			cap *= 2;
		struct place *more = realloc(p->place, cap * sizeof(*more));
		if (!more) {
			fail(s, ENOMEM);
			return 0;
		}
		memset(more + p->cap, 0, (cap - p->cap) * sizeof(*more));
		p->place = more;
		p->cap = cap;
	}
	if (p->place[id].block != s->block) {
		p->place[id] = (struct place){ s->block, ++p->n };
		*fresh = true;
	}
	return p->place[id].at;
}

/* A string is told as how much of the one before it begins with, and the rest. */
static void put_string(struct log_sink *s, const char *text)
{
	size_t len = strnlen(text, LOG_NAME_MAX), same = 0;

	while (same < len && text[same] == s->last[same])
		same++;
	wire_u64(&s->texts, same);
	wire_u64(&s->texts, len - same);
	wire_bytes(&s->texts, text + same, len - same);
	s->text += len;
	if (len >= s->caplast) {
		char *more = realloc(s->last, 2 * len + 1);
		if (!more) {
			fail(s, ENOMEM);
			return;
		}
		s->last = more;
		s->caplast = 2 * len + 1;
	}
	memcpy(s->last, text, len);
	s->last[len] = 0;
}

/* The place of a name, 0 for none. */
static uint32_t string_at(struct log_sink *s, uint32_t name)
{
	bool fresh;
	uint32_t at = name ? place_of(s, &s->strings, name, &fresh) : 0;

	if (at && fresh)
		put_string(s, names_get(s->args.names, name));
	return at;
}

static uint32_t file_at(struct log_sink *s, uint32_t file)
{
	bool fresh;
	uint32_t at = file ? place_of(s, &s->files, file, &fresh) : 0;

	if (at && fresh) {
		const struct file *f = names_file(s->args.names, file);
		uint32_t path = string_at(s, f->path), mount = string_at(s, f->mount),
			 host = string_at(s, f->host), fs = string_at(s, f->fs);
		wire_u64(&s->systems, fs);
		wire_u64(&s->filed, path);
		wire_u64(&s->filed, mount);
		wire_u64(&s->filed, host);
		if (f->type == FILE_UNKNOWN) {
			wire_fixed(&s->vague, file, 4);
			wire_fixed(&s->vague, s->filed.n, 4);
		}
		wire_u64(&s->filed, f->type);
		wire_u64(&s->filed, f->major);
		wire_u64(&s->filed, f->minor);
		wire_u64(&s->filed, wire_zigzag((int64_t)(f->inode - s->inode)));
		s->inode = f->inode;
	}
	return at;
}

static void put_context(struct log_sink *s, const struct op *op)
{
	struct wire_out *o = &s->contexts;
	const char *call = names_call_name(s->args.names, op->call & OP_CALL);
	bool notice = op_kind_class(op->kind) == CLASS_NOTICE;
	uint32_t name = notice && op->kind != OP_SPAN
				? 0
				: names_add(s->args.names, call, strlen(call));
	uint32_t text = string_at(s, name), file = file_at(s, op->file),
		 comm = string_at(s, op->comm);

	wire_u64(o, op->kind);
	wire_u64(o, op->layer);
	wire_u64(o, text);
	wire_u64(o, (op->call & ~OP_CALL & 0xffff) >> 13);
	wire_u64(o, wire_zigzag((int64_t)op->pid - s->before.pid));
	wire_u64(o, wire_zigzag((int64_t)op->tid - op->pid));
	wire_u64(o, wire_zigzag((int64_t)op->fd - s->before.fd));
	wire_u64(o, file);
	wire_u64(o, comm);
	s->before = *op;
}

static bool same_context(const struct op *a, const struct op *b)
{
	return a->file == b->file && a->tid == b->tid && a->call == b->call &&
	       a->fd == b->fd && a->kind == b->kind && a->layer == b->layer &&
	       a->pid == b->pid && a->comm == b->comm;
}

static uint32_t hash_of(const struct op *op)
{
	uint64_t h = ((uint64_t)op->file << 32 | (uint32_t)op->tid) *
		     UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ ((uint64_t)op->call << 32 | (uint32_t)op->fd)) *
	    UINT64_C(0xbf58476d1ce4e5b9);
	h ^= (uint64_t)op->kind << 40 | op->comm;
	return (uint32_t)((h * UINT64_C(0x94d049bb133111eb)) >> 40);
}

/*
 * The context of an operation: the number told is 0 for a new one, else how many newer
 * ones there are, plus 1. Blocks never hold so many that the table of slots fills up.
 */
static struct context *context_of(struct log_sink *s, const struct op *op)
{
	uint32_t i = hash_of(op) & (SLOTS - 1);

	if (s->ncontext && same_context(&s->context[s->recent].key, op)) {
		wire_u64(&s->ids, s->ncontext - s->recent);
		return &s->context[s->recent];
	}
	for (; s->slot[i].block == s->block; i = (i + 1) & (SLOTS - 1)) {
		struct context *c = &s->context[s->slot[i].at];
		if (same_context(&c->key, op)) {
			s->recent = s->slot[i].at;
			wire_u64(&s->ids, s->ncontext - s->recent);
			return c;
		}
	}
	s->recent = s->ncontext++;
	s->slot[i] = (struct place){ s->block, s->recent };
	s->context[s->recent] = (struct context){ .key = *op };
	put_context(s, op);
	wire_u64(&s->ids, 0);
	return &s->context[s->recent];
}

static uint8_t put_time(struct log_sink *s, const struct op *op)
{
	uint8_t *t = s->times.p + s->times.n;
	bool timed = op->dur_ns != OP_NO_TIME;

	if (op->start_ns == s->start_ns && op->dur_ns == s->dur_ns)
		return LOG_SAME_TIME;
	t = wire_put(t, wire_zigzag((int64_t)(op->start_ns - s->end_ns)));
	if (timed)
		t = wire_put(t, op->dur_ns);
	s->times.n = t - s->times.p;
	s->start_ns = op->start_ns;
	s->dur_ns = op->dur_ns;
	s->end_ns = op->start_ns + (timed ? op->dur_ns : 0);
	return timed ? 0 : LOG_NO_TIME;
}

static uint8_t put_values(struct log_sink *s, struct context *c, const struct op *op)
{
	uint8_t flags = 0, *v = s->values.p + s->values.n;

	if (op->want == c->want)
		flags |= LOG_SAME_WANT;
	else
		v = wire_put(v, op->want);
	if (op->ret == (int64_t)op->want)
		flags |= LOG_FULL;
	else
		v = wire_put(v, wire_zigzag(op->ret));
	if (op->offset == OP_NO_OFFSET)
		flags |= LOG_NO_OFFSET;
	else if ((uint64_t)op->offset == c->next)
		flags |= LOG_FOLLOWS;
	else
		v = wire_put(v, wire_zigzag((int64_t)((uint64_t)op->offset - c->next)));
	c->want = op->want;
	if (op->offset != OP_NO_OFFSET)
		c->next = (uint64_t)op->offset + (op->ret > 0 ? op->ret : 0);
	s->values.n = v - s->values.p;
	return flags;
}

static void put_op(struct log_sink *s, const struct op *op)
{
	struct context *c = context_of(s, op);

	if (!wire_room(&s->flags, 1) || !wire_room(&s->values, 3 * WIRE_MAX) ||
		!wire_room(&s->times, 2 * WIRE_MAX))
		return;
	s->flags.p[s->flags.n++] = put_values(s, c, op) | put_time(s, op);
}

static bool is_full(const struct log_sink *s)
{
	size_t raw = s->texts.n + s->filed.n + s->contexts.n + s->ids.n + s->flags.n +
		     s->times.n + s->values.n;

	return s->records == LOG_RECORDS_MAX || raw >= BLOCK_RAW || s->text >= BLOCK_TEXT;
}

static int log_put(struct sink *sink, const struct op *op)
{
	struct log_sink *s = (struct log_sink *)sink;

	/* The report goes on without its log; close() tells that it is not whole. */
	if (s->error)
		return 0;
	if (!s->begun)
		begin(s);
	put_op(s, op);
	s->ops += op_kind_class(op->kind) != CLASS_NOTICE;
	s->records++;
	if (is_full(s))
		write_ops(s);
	return 0;
}

static int log_flush(struct sink *sink)
{
	struct log_sink *s = (struct log_sink *)sink;

	if (s->error)
		return 0;
	if (!s->begun)
		begin(s);
	if (s->records)
		write_ops(s);
	return 0;
}

static int log_close(struct sink *sink)
{
	struct log_sink *s = (struct log_sink *)sink;
	struct wire_out *const all[] = { &s->texts, &s->filed, &s->contexts, &s->ids,
		&s->flags, &s->times, &s->values, &s->systems, &s->raw, &s->stored,
		&s->vague };

	log_flush(sink);
	if (!s->error) {
		s->raw.n = 0;
		log_put_run(&s->raw, s->args.run, true);
		write_block(s, LOG_END);
	}
	int err = s->error;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		wire_fini(all[i]);
	free(s->strings.place);
	free(s->files.place);
	free(s->last);
	free(s->context);
	free(s->slot);
	ZSTD_freeCCtx(s->zstd);
	free(s);
	return err;
}

int log_new(struct sink **out, const struct log_args *args)
{
	static const struct sink_ops ops = {
		.name = "log", .put = log_put, .flush = log_flush, .close = log_close
	};
	struct log_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct log_sink){
		.sink = { &ops }, .args = *args, .block = 1, .caplast = 64
	};
	s->last = calloc(1, s->caplast);
	s->context = malloc(LOG_RECORDS_MAX * sizeof(*s->context));
	s->slot = calloc(SLOTS, sizeof(*s->slot));
	s->zstd = ZSTD_createCCtx();
	if (!s->last || !s->context || !s->slot || !s->zstd) {
		s->error = -ENOMEM;
		log_close(&s->sink);
		return -ENOMEM;
	}
	*out = &s->sink;
	return 0;
}
