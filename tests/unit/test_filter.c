/*
 * test_filter.c - the sink that keeps what a report is to be about
 */
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/sinks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

/* A sink that remembers what it was given. */
struct log {
	struct sink sink;
	struct op op[16];
	unsigned n;
	int answer, closed;
};

static int log_put(struct sink *s, const struct op *op)
{
	struct log *l = (struct log *)s;

	assert_true(l->n < LENGTH(l->op));
	l->op[l->n++] = *op;
	return l->answer;
}

static int log_close(struct sink *s)
{
	((struct log *)s)->closed++;
	return 0;
}

static const struct sink_ops log_ops = {
	.name = "log", .put = log_put, .close = log_close
};

struct rig {
	struct names *names;
	struct log log;
	struct sink *filter;
	uint32_t file, pipe, other;
};

static uint32_t add_file(struct names *n, const char *path, int type)
{
	struct file f = { .path = names_add(n, path, strlen(path)), .type = type };

	return names_add_file(n, &f);
}

static void rig_start(struct rig *r, const struct filter *f)
{
	*r = (struct rig){ .names = names_new(), .log = { .sink = { &log_ops } } };
	r->file = add_file(r->names, "/data/x/file.txt", FILE_REGULAR);
	r->other = add_file(r->names, "/etc/passwd", FILE_REGULAR);
	r->pipe = add_file(r->names, "pipe:[7]", FILE_PIPE);
	assert_int_equal(filter_new(&r->filter, f, r->names, &r->log.sink), 0);
}

static void rig_stop(struct rig *r)
{
	assert_int_equal(sink_close(r->filter), 0);
	assert_int_equal(r->log.closed, 0); /* it is borrowed */
	names_free(r->names);
}

static unsigned passes(struct rig *r, const struct op *op)
{
	unsigned before = r->log.n;

	assert_int_equal(sink_put(r->filter, op), 0);
	return r->log.n - before;
}

static void all_passes(void **state)
{
	struct filter f = { 0 };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	struct op op = { .kind = OP_WRITE,
		.file = r.file,
		.pid = 3,
		.tid = 4,
		.ret = 5,
		.want = 6,
		.start_ns = 7,
		.dur_ns = 8,
		.fd = 9,
		.call = OP_PART | 1 };
	assert_int_equal(passes(&r, &op), 1);
	assert_memory_equal(&r.log.op[0], &op, sizeof(op));
	assert_int_equal(passes(&r, &(struct op){ .kind = OP_READ }), 1);
	rig_stop(&r);
}

static void paths(void **state)
{
	static const struct {
		const char *pattern;
		bool file, other, pipe;
	} row[] = {
		{ "/data/*", true, false, false },
		{ "*.txt", true, false, false },
		{ "/data/x/file.txt", true, false, false },
		{ "file.txt", false, false, false },
		{ "/etc/pass??", false, true, false },
		{ "pipe:*", false, false, true },
		{ "*", true, true, true },
		{ "/nonsense", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		struct filter f = { .path = &row[i].pattern, .npaths = 1 };
		struct rig r;
		rig_start(&r, &f);
		struct op op = { .kind = OP_READ, .file = r.file };
		assert_int_equal(passes(&r, &op), row[i].file);
		op.file = r.other;
		assert_int_equal(passes(&r, &op), row[i].other);
		op.file = r.pipe;
		assert_int_equal(passes(&r, &op), row[i].pipe);
		rig_stop(&r);
	}
}

static void types(void **state)
{
	struct filter f = { .types = 1u << FILE_PIPE | 1u << FILE_UNKNOWN };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	struct op op = { .kind = OP_READ, .file = r.file };
	assert_int_equal(passes(&r, &op), 0);
	op.file = r.pipe;
	assert_int_equal(passes(&r, &op), 1);
	op.file = 0;
	assert_int_equal(passes(&r, &op), 1);
	rig_stop(&r);
}

static void pids(void **state)
{
	static const pid_t pid[] = { 10, 20 };
	struct filter f = { .pids = pid,
		.npids = 2,
		.path = (const char *[]){ "/data/*" },
		.npaths = 1 };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	struct op op = { .kind = OP_READ, .file = r.file, .pid = 20, .tid = 21 };
	assert_int_equal(passes(&r, &op), 1);
	op.pid = 30;
	assert_int_equal(passes(&r, &op), 0);
	op.tid = 10;
	assert_int_equal(passes(&r, &op), 1);
	op.file = r.other; /* all that is asked for has to hold */
	assert_int_equal(passes(&r, &op), 0);
	rig_stop(&r);
}

static void process_life_passes(void **state)
{
	static const pid_t pid[] = { 10 };
	struct filter f = { .pids = pid,
		.npids = 1,
		.path = (const char *[]){ "/x" },
		.npaths = 1,
		.types = 1 };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	for (unsigned k = 0; k < OP_NKINDS; k++) {
		struct op op = { .kind = k, .pid = 99, .file = r.other };
		assert_int_equal(passes(&r, &op),
			op_kind_class(k) == CLASS_NOTICE && k != OP_SPAN);
	}
	rig_stop(&r);
}

/* What is left of a two-sided call is a call of its own. */
static void half_of_a_call(void **state)
{
	struct filter f = { .path = (const char *[]){ "/data/*" }, .npaths = 1 };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	struct op in = { .kind = OP_READ, .file = r.file, .call = 10 };
	struct op out = { .kind = OP_WRITE, .file = r.other, .call = 10 | OP_SECOND };
	const struct {
		uint32_t first, second;
		unsigned n;
		uint16_t call;
	} row[] = {
		{ r.file, r.file, 2, 10 | OP_SECOND },
		{ r.file, r.other, 1, 10 },
		{ r.other, r.file, 1, 10 },
		{ r.other, r.other, 0, 0 },
		{ r.file, r.file, 2, 10 | OP_SECOND },
	};
	for (size_t i = 0; i < LENGTH(row); i++) {
		in.file = row[i].first;
		out.file = row[i].second;
		r.log.n = 0;
		assert_int_equal(passes(&r, &in) + passes(&r, &out), row[i].n);
		if (row[i].n)
			assert_int_equal(r.log.op[row[i].n - 1].call, row[i].call);
		assert_int_equal(out.call, 10 | OP_SECOND); /* it was only lent */
	}
	rig_stop(&r);
}

static void errors_come_back(void **state)
{
	struct filter f = { .path = (const char *[]){ "/data/*" }, .npaths = 1 };
	struct rig r;

	(void)state;
	rig_start(&r, &f);
	r.log.answer = -ENOSPC;
	struct op op = { .kind = OP_READ, .file = r.file };
	assert_int_equal(sink_put(r.filter, &op), -ENOSPC);
	op.kind = OP_EXIT;
	assert_int_equal(sink_put(r.filter, &op), -ENOSPC);
	op = (struct op){ .kind = OP_READ, .file = r.other };
	assert_int_equal(sink_put(r.filter, &op), 0);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_passes),
		cmocka_unit_test(paths),
		cmocka_unit_test(types),
		cmocka_unit_test(pids),
		cmocka_unit_test(process_life_passes),
		cmocka_unit_test(half_of_a_call),
		cmocka_unit_test(errors_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
