/*
 * strace.h - tables of strace(1) text and the operations that it stands for.
 */
#ifndef STRACE_TEXT_H
#define STRACE_TEXT_H

#include "reader.h"

#define NO   OP_NO_OFFSET
#define NT   OP_NO_TIME
#define US   UINT64_C(1000)
#define MS   (1000 * US)
#define EQ40 "                                "

/* The last operation of a text: kind, file, ret, asked for, offset, fd; tid, time, comm.
 */
struct row {
	const char *text, *call;
	unsigned kind;
	const char *path;
	unsigned type;
	int64_t ret;
	uint64_t bytes;
	int64_t offset;
	int32_t fd, tid;
	uint64_t dur_ns;
	const char *comm;
};

#define R_ OP_READ
#define W_ OP_WRITE
#define U_ FILE_UNKNOWN
#define F_ FILE_REGULAR

static inline void row_check(const struct row *row)
{
	struct reader r;
	char text[4096];
	int len = snprintf(text, sizeof(text), "%s\n", row->text);
	const struct wanted w = { row->text, row->call, row->path, row->comm, row->kind,
		row->type, LAYER_MAIN, row->ret, row->bytes, row->dur_ns, row->offset,
		row->fd, row->tid };

	reader_text(&r, &source_strace, text, len);
	assert_true(r.n > 0 && r.n <= READER_OPS);
	unsigned last = r.n - 1;
	while (last && op_kind_class(r.op[last].kind) == CLASS_NOTICE)
		last--;
	for (unsigned i = 0; i < r.n; i++)
		assert_int_not_equal(r.op[i].kind, OP_LOST);
	reader_check(&r, &r.op[last], &w);
	if (r.run.damaged)
		fail_msg("not all of it was read");
	reader_done(&r);
}

static inline void row_table(const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row_check(&row[i]);
}

#endif
