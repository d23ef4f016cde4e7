/*
 * logs.h - write operations into a log and hold what comes out of it against them.
 */
#ifndef LOGS_H
#define LOGS_H

#include "iops/input.h"
#include "iops/log.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

enum { STATUS = 0x1234 /* only the last block knows it */, STEP = 1000 };

/* Operations, and what their ids mean. */
struct ops {
	struct sink sink;
	struct names *names;
	struct op *op;
	size_t n, cap;
};

struct bytes {
	uint8_t *p;
	size_t n;
};

/* What comes out of a log, held against what went in. */
struct reading {
	struct sink sink;
	struct names *names;
	const struct ops *want;
	size_t at; /* operations of want that came, or were passed over */
	size_t missing;
	uint64_t ops, lost;
	bool wrong;
	bool late; /* types of files may come later */
	uint32_t file;
	uint8_t type; /* of that file, in the end */
	struct run run;
};

static uint64_t seed = 88172645463325252;

static inline uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static inline uint64_t below(uint64_t n)
{
	return any() % n;
}

static inline void ops_init(struct ops *o)
{
	*o = (struct ops){ .names = names_new() };
	assert_non_null(o->names);
}

static inline void ops_fini(struct ops *o)
{
	names_free(o->names);
	free(o->op);
}

static inline void add(struct ops *o, struct op op)
{
	if (o->n == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 1024;
		o->op = realloc(o->op, o->cap * sizeof(*o->op));
		assert_non_null(o->op);
	}
	o->op[o->n++] = op;
}

static inline uint32_t text(struct ops *o, const char *s)
{
	return names_add(o->names, s, strlen(s));
}

static inline uint32_t file(
	struct ops *o, const char *path, enum file_type type, uint64_t inode)
{
	struct file f = { .path = text(o, path),
		.mount = inode & 1 ? text(o, "/") : 0,
		.major = (uint32_t)inode * 77,
		.minor = (uint32_t)inode,
		.inode = inode,
		.host = inode % 5 == 4 ? text(o, "elsewhere") : 0,
		.type = type };

	return names_add_file(o->names, &f);
}

static inline bool same_text(
	const struct names *a, uint32_t x, const struct names *b, uint32_t y)
{
	return !strcmp(names_get(a, x), names_get(b, y));
}

static inline bool same_file(
	const struct names *a, uint32_t x, const struct names *b, uint32_t y)
{
	const struct file f = *names_file(a, x), g = *names_file(b, y);

	return f.major == g.major && f.minor == g.minor && f.inode == g.inode &&
	       f.type == g.type && same_text(a, f.path, b, g.path) &&
	       same_text(a, f.mount, b, g.mount) && same_text(a, f.dir, b, g.dir) &&
	       same_text(a, f.host, b, g.host);
}

static inline bool same_op(const struct names *a, const struct op *x,
	const struct names *b, const struct op *y)
{
	return x->start_ns == y->start_ns && x->dur_ns == y->dur_ns && x->ret == y->ret &&
	       x->want == y->want && x->offset == y->offset && x->pid == y->pid &&
	       x->tid == y->tid && x->fd == y->fd && x->kind == y->kind &&
	       x->layer == y->layer &&
	       (x->call & ~OP_CALL & 0xffff) == (y->call & ~OP_CALL & 0xffff) &&
	       !strcmp(names_call_name(a, x->call & OP_CALL),
		       names_call_name(b, y->call & OP_CALL)) &&
	       same_file(a, x->file, b, y->file) && same_text(a, x->comm, b, y->comm);
}

static inline bool is_notice(const struct op *op)
{
	return op_kind_class(op->kind) == CLASS_NOTICE;
}

/* Each operation has to be one of those to come; losses are the reader's word. */
static inline int reading_put(struct sink *base, const struct op *op)
{
	struct reading *r = (struct reading *)base;
	const struct ops *w = r->want;

	r->wrong |= r->late && r->file && r->file != op->file;
	r->file = op->file;
	if (r->late)
		return 0;
	if (op->kind == OP_LOST) {
		r->lost += op->ret;
		r->wrong |= op->ret <= 0;
		return 0;
	}
	for (; r->at < w->n; r->at++, r->missing++)
		if (same_op(w->names, &w->op[r->at], r->names, op))
			break;
	r->wrong |= r->at == w->n;
	r->at += r->at < w->n;
	r->ops += !is_notice(op);
	return r->wrong ? -ERANGE : 0;
}

/* Messages about damage are not what is looked at. */
static inline FILE *hush(void)
{
	static FILE *null;
	FILE *was = stderr;

	if (!null)
		null = fopen("/dev/null", "w");
	assert_non_null(null);
	stderr = null;
	return was;
}

/* Returns what open() says. */
static inline int read_log(struct reading *r, const struct ops *want, struct bytes log)
{
	static const struct sink_ops ops = { .name = "reading", .put = reading_put };
	struct input *in;
	struct source *source;
	int more;

	*r = (struct reading){
		.sink = { &ops }, .names = names_new(), .want = want, .late = !want
	};
	assert_non_null(r->names);
	assert_int_equal(input_memory(&in, log.p, log.n), 0);
	struct source_args args = { .names = r->names, .inputs = &in, .ninputs = 1 };
	FILE *was = hush();
	int err = source_log.open(&source, &args);
	if (!err) {
		while ((more = source->ops->step(source, &r->sink)) > 0)
			;
		source->ops->about(source, &r->run);
		r->run.command = NULL;
		r->run.pids = NULL;
		assert_int_equal(source->ops->close(source), 0);
		assert_false(r->wrong);
		assert_int_equal(more, 0);
	}
	stderr = was;
	r->missing += want ? want->n - r->at : 0;
	r->type = names_file(r->names, r->file)->type;
	input_close(in);
	names_free(r->names);
	return err;
}

/* A log on its way. */
struct writing {
	struct sink *sink;
	struct run run;
	char *command[4];
	pid_t pid;
	int fd;
};

static inline void begin(struct writing *w, const struct ops *o)
{
	*w = (struct writing){ .command = { "cp", "a\xff", "", NULL }, .pid = 4711 };
	w->run = (struct run){ .id = "c0ffee",
		.host = "here",
		.backend = "test",
		.command = w->command,
		.pids = &w->pid,
		.npids = 1,
		.started_ns = 1 };
	w->fd = memfd_create("log", MFD_CLOEXEC);
	struct log_args args = { o->names, &w->run, "memory", w->fd };
	assert_true(w->fd >= 0);
	assert_int_equal(log_new(&w->sink, &args), 0);
}

static inline struct bytes end(struct writing *w)
{
	w->run.ended = w->run.complete = true;
	w->run.status = STATUS;
	w->run.elapsed_ns = 12345;
	assert_int_equal(sink_close(w->sink), 0);
	struct bytes log = { .n = lseek(w->fd, 0, SEEK_END) };
	log.p = malloc(log.n + 1);
	assert_non_null(log.p);
	assert_int_equal(pread(w->fd, log.p, log.n, 0), log.n);
	close(w->fd);
	return log;
}

/* The bytes of a log; a flush after every so many operations. */
static inline struct bytes write_log(const struct ops *o, size_t flush)
{
	struct writing w;

	begin(&w, o);
	for (size_t i = 0; i < o->n; i++) {
		assert_int_equal(sink_put(w.sink, &o->op[i]), 0);
		if (flush && i % flush == flush - 1)
			assert_int_equal(sink_flush(w.sink), 0);
	}
	return end(&w);
}

static inline uint64_t count(const struct ops *o)
{
	uint64_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += !is_notice(&o->op[i]);
	return n;
}

/* What holds of every log, whatever happened to it. */
static inline void check(const struct reading *r)
{
	uint64_t all = count(r->want);

	assert_true(r->ops + r->lost <= all);
	if (r->missing)
		assert_true(r->run.damaged);
	if (r->run.damaged)
		assert_false(r->run.complete);
	if (r->run.ended) {
		assert_int_equal(r->run.status, STATUS);
		assert_int_equal(r->ops + r->lost, all);
	}
}

/* As a program makes them: few contexts, offsets that go on, times that grow. */
static inline void likely_ops(struct ops *o, size_t n, size_t files)
{
	unsigned call[] = { names_call(o->names, "read", 4),
		names_call(o->names, "write", 5) };
	char path[64];

	for (size_t i = 0; i < n; i++) {
		unsigned k = below(2);
		uint64_t f = below(files);
		snprintf(
			path, sizeof(path), "/home/me/file%03d/%d", (int)f % 500, (int)f);
		struct op op = { .start_ns = i * STEP,
			.dur_ns = below(STEP),
			.ret = 4096 - (int64_t)(below(9) ? 0 : below(4000)),
			.want = 4096,
			.offset = (int64_t)i * 10,
			.file = file(o, path, FILE_REGULAR, f + 1),
			.comm = text(o, "me"),
			.pid = 4712,
			.tid = 4712 + (int32_t)below(3),
			.fd = 3 + (int32_t)below(2),
			.kind = k ? OP_WRITE : OP_READ,
			.call = call[k] };
		if (!below(20)) {
			op.kind = OP_FORK;
			op.call = 0;
		}
		add(o, op);
	}
}

#endif
