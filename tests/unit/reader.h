/*
 * reader.h - run a reader of saved traces over a text and keep what comes out.
 */
#ifndef READER_H
#define READER_H

#include "iops/input.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

enum { READER_OPS = 256 };

struct reader {
	struct sink sink;
	struct names *names;
	struct input *in;
	struct run run;
	struct op op[READER_OPS]; /* the first of them */
	unsigned n;
};

/* What one operation has to be. Strings: "" or NULL is none. */
struct wanted {
	const char *line, *call, *path, *comm;
	unsigned kind, type, layer;
	int64_t ret;
	uint64_t bytes, dur_ns;
	int64_t offset;
	int32_t fd, tid;
};

static int reader_put(struct sink *base, const struct op *op)
{
	struct reader *r = (struct reader *)base;

	if (r->n < READER_OPS)
		r->op[r->n] = *op;
	r->n++;
	return 0;
}

static const struct sink_ops reader_sink = { .name = "reader", .put = reader_put };

/* Takes the input; end with reader_done(). */
static inline void reader_run(
	struct reader *r, const struct source_ops *ops, struct input *in)
{
	struct source *source;
	int more;

	*r = (struct reader){ .sink.ops = &reader_sink, .in = in };
	r->names = names_new();
	assert_non_null(r->names);
	struct source_args args = { .names = r->names, .inputs = &in, .ninputs = 1 };
	assert_int_equal(ops->open(&source, &args), 0);
	assert_ptr_equal(source->ops, ops);
	while ((more = ops->step(source, &r->sink)) > 0)
		;
	assert_int_equal(more, 0);
	ops->about(source, &r->run);
	assert_int_equal(ops->close(source), 0);
	assert_true(r->run.imported);
	assert_string_equal(r->run.backend, ops->name);
}

static inline void reader_text(
	struct reader *r, const struct source_ops *ops, const char *text, size_t len)
{
	struct input *in;

	assert_int_equal(input_memory(&in, text, len), 0);
	reader_run(r, ops, in);
}

/* A file of tests/data: tests run at the top of the tree. */
static inline void reader_file(
	struct reader *r, const struct source_ops *ops, const char *path)
{
	struct input *in;

	assert_int_equal(input_open(&in, path), 0);
	reader_run(r, ops, in);
}

static inline void reader_done(struct reader *r)
{
	input_close(r->in);
	names_free(r->names);
}

static inline const char *reader_path(const struct reader *r, const struct op *op)
{
	return names_get(r->names, names_file(r->names, op->file)->path);
}

static inline void reader_check(
	const struct reader *r, const struct op *op, const struct wanted *w)
{
	const struct file *f = names_file(r->names, op->file);

	if (w->line)
		print_message("# %s\n", w->line);
	assert_string_equal(names_call_name(r->names, op->call & OP_CALL), w->call);
	assert_string_equal(op_kind_name(op->kind), op_kind_name(w->kind));
	assert_string_equal(op_layer_name(op->layer), op_layer_name(w->layer));
	assert_string_equal(reader_path(r, op), w->path ? w->path : "");
	assert_string_equal(file_type_name(f->type), file_type_name(w->type));
	assert_string_equal(names_get(r->names, op->comm), w->comm ? w->comm : "");
	assert_int_equal(op->ret, w->ret);
	assert_int_equal(op->want, w->bytes);
	assert_int_equal(op->dur_ns, w->dur_ns);
	assert_int_equal(op->offset, w->offset);
	assert_int_equal(op->fd, w->fd);
	assert_int_equal(op->tid, w->tid);
}

/* Sums of one class in one layer, as a report has them. */
struct sums {
	unsigned operations, errors;
	uint64_t bytes;
};

static inline struct sums reader_sums(
	const struct reader *r, enum op_class class, unsigned layer)
{
	struct sums s = { 0 };

	assert_true(r->n <= READER_OPS);
	for (const struct op *op = r->op; op < r->op + r->n; op++) {
		if (op_kind_class(op->kind) != class || op->layer != layer)
			continue;
		s.operations += op->ret >= 0;
		s.errors += op->ret < 0;
		s.bytes += op->ret > 0 && class != CLASS_META ? op->ret : 0;
	}
	return s;
}

static inline void reader_expect(
	const struct reader *r, enum op_class class, unsigned layer, struct sums want)
{
	struct sums got = reader_sums(r, class, layer);

	print_message("# %s in %s\n", op_class_name(class), op_layer_name(layer));
	assert_int_equal(got.operations, want.operations);
	assert_int_equal(got.errors, want.errors);
	assert_int_equal(got.bytes, want.bytes);
}

/* 0 to 100, as open files are asked before a reader is chosen. */
static inline int reader_probe(const struct source_ops *ops, const char *text)
{
	return ops->probe(text, strlen(text));
}

#endif
