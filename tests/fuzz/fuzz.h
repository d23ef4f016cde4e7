/*
 * fuzz.h - run a reader of saved traces over bytes that mean it harm.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "iops/input.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"

#include <stdio.h>
#include <string.h>

struct fuzz_sink {
	struct sink base;
	const struct names *names;
	uint64_t ops;
};

#define FUZZ_CHECK(what)                                                                 \
	do {                                                                             \
		if (!(what))                                                             \
			__builtin_trap();                                                \
	} while (0)

/* What each operation of each source must keep to. */
static int fuzz_put(struct sink *base, const struct op *op)
{
	struct fuzz_sink *s = (struct fuzz_sink *)base;
	enum op_class class = op_kind_class(op->kind);

	s->ops++;
	FUZZ_CHECK(op->kind < OP_NKINDS && op->layer < NLAYERS);
	FUZZ_CHECK(op->fd >= -1 && op->pid >= 0 && op->tid >= 0);
	FUZZ_CHECK(
		op->offset >= 0 || op->offset == OP_NO_OFFSET || class == CLASS_NOTICE);
	FUZZ_CHECK(op->dur_ns <= INT64_MAX || op->dur_ns == OP_NO_TIME);
	FUZZ_CHECK(op->start_ns <= INT64_MAX);
	if (class == CLASS_READ || class == CLASS_WRITE)
		FUZZ_CHECK(op->ret >= -4095);
	FUZZ_CHECK(*names_call_name(s->names, op->call & OP_CALL));
	FUZZ_CHECK(!op->file || names_file(s->names, op->file)->path ||
		   names_file(s->names, op->file)->inode);
	FUZZ_CHECK(!op->comm || *names_get(s->names, op->comm));
	return 0;
}

static const struct sink_ops fuzz_sink_ops = { .name = "fuzz", .put = fuzz_put };

/* No message for each of thousands of bad inputs; reports of crashes do not use stderr.
 */
static inline void fuzz_quiet(void)
{
	static FILE *null;

	if (!null && (null = fopen("/dev/null", "w")))
		stderr = null;
}

/* From probe() to close(). Returns how many operations came out. */
static inline uint64_t fuzz_source(
	const struct source_ops *ops, const uint8_t *bytes, size_t len)
{
	struct names *names = names_new();
	struct fuzz_sink sink = { .base.ops = &fuzz_sink_ops, .names = names };
	struct input *in = NULL;
	struct source *source;
	struct run run = { .why = "" };
	const char *head;
	uint64_t steps = 0;
	int more;

	fuzz_quiet();
	FUZZ_CHECK(names && input_memory(&in, bytes, len) == 0);
	ssize_t n = input_head(in, &head);
	int sure = ops->probe(head, n);
	FUZZ_CHECK(sure >= 0 && sure <= 100);
	struct source_args args = { .names = names, .inputs = &in, .ninputs = 1 };
	if (ops->open(&source, &args) == 0) {
		while ((more = ops->step(source, &sink.base)) > 0)
			FUZZ_CHECK(steps++ <= len);
		ops->about(source, &run);
		FUZZ_CHECK(run.elapsed_ns <= INT64_MAX && run.imported);
		FUZZ_CHECK(memchr(run.why, 0, sizeof(run.why)));
		ops->close(source);
	}
	input_close(in);
	names_free(names);
	return sink.ops;
}

#endif
