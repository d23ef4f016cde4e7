/*
 * test_bundles.c - many operations in any order: the sums by every key are those that
 * come of adding one after the other
 */
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/stats.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FILES = 3000, PIDS = 5, THREADS = 3, KEYS = FILES + 1 };

/* What comes of adding to one row after the other. */
struct expected {
	struct series series[KEYS][NCLASS], pair[KEYS];
	unsigned last;
};

struct fixture {
	struct names *names;
	struct stats *stats;
	uint32_t file[FILES];
	struct expected by_file, by_thread, by_call;
	uint64_t random, end[KEYS];
	uint64_t sequential[KEYS], eof[KEYS];
};

/* xorshift64 */
static unsigned next(struct fixture *f, unsigned below)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (unsigned)(f->random >> 20) % below;
}

static int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[32];

	f->names = names_new();
	f->stats = stats_new(f->names, (1u << NDIMS) - 1);
	f->random = 88172645463325252u;
	for (unsigned i = 0; i < FILES; i++) {
		struct file one = { .type = i % 7 ? FILE_REGULAR : FILE_PIPE, .inode = i + 1 };
		one.path = names_add(f->names, path, snprintf(path, sizeof(path), "/d%u/f%u", i % 40, i));
		f->file[i] = names_add_file(f->names, &one);
	}
	assert_true(f->file[FILES - 1] < KEYS);
	*state = f;
	return 0;
}

static void fini(struct expected *e)
{
	for (unsigned i = 0; i < KEYS; i++) {
		for (unsigned c = 0; c < NCLASS; c++)
			series_fini(&e->series[i][c]);
		series_fini(&e->pair[i]);
	}
}

static int stop(void **state)
{
	struct fixture *f = *state;

	stats_free(f->stats);
	names_free(f->names);
	fini(&f->by_file);
	fini(&f->by_thread);
	fini(&f->by_call);
	free(f);
	return 0;
}

static void expect(struct expected *e, unsigned key, const struct op *op)
{
	assert_int_equal(series_add(&e->series[key][op_kind_class(op->kind)], op), 0);
	if (op->call & OP_SECOND && e->last == key)
		assert_int_equal(series_add(&e->pair[key], op), 0);
	e->last = key;
}

static void put(struct fixture *f, const struct op *op)
{
	unsigned thread = (op->pid - 100) * THREADS + (op->tid - op->pid);
	bool data = op->kind == OP_READ || op->kind == OP_WRITE;

	assert_int_equal(sink_put(stats_sink(f->stats), op), 0);
	expect(&f->by_file, op->file, op);
	expect(&f->by_thread, thread, op);
	expect(&f->by_call, op->call & OP_CALL, op);
	if (op->kind == OP_READ && op->ret == 0 && op->want &&
		names_file(f->names, op->file)->type == FILE_REGULAR)
		f->eof[op->file]++;
	if (!data || op->ret <= 0 || op->kind == OP_WRITE || op->call & OP_SUM)
		return;
	f->sequential[op->file] += f->end[op->file] && (uint64_t)op->offset >= f->end[op->file];
	f->end[op->file] = op->offset + op->ret;
}

/* Of any of the files, or of a few: as programs do it, and as a row is at its worst. */
static struct op some_op(struct fixture *f, unsigned files)
{
	static const struct { const char *call; uint8_t kind; } calls[] = {
		{ "pread64", OP_READ }, { "pread64", OP_READ }, { "read", OP_READ },
		{ "pwrite64", OP_WRITE }, { "fsync", OP_SYNC }, { "openat", OP_OPEN },
		{ "recvfrom:peek", OP_PEEK } };
	static const int64_t failures[] = { -EAGAIN, -EIO, -512, -ENOENT };
	unsigned which = next(f, 7);
	struct op op = { .file = f->file[next(f, files)], .kind = calls[which].kind,
		.call = (uint16_t)syscall_by_name(calls[which].call),
		.pid = 100 + (int)next(f, PIDS), .comm = 0,
		.want = next(f, 1 << next(f, 20)), .dur_ns = next(f, 1 << next(f, 24)),
		.offset = 1 + next(f, 1 << 20) };

	op.tid = op.pid + (int)next(f, THREADS);
	op.ret = next(f, 10) ? (int64_t)(op.want ? next(f, (unsigned)op.want + 1) : 0)
			     : failures[next(f, 4)];
	if (!next(f, 30))
		op.dur_ns = OP_NO_TIME;
	if (!next(f, 30) && op.ret > 0 && op.kind != OP_PEEK)
		op.call |= OP_PART;
	if (!next(f, 60) && op.ret > 0 && (op.kind == OP_READ || op.kind == OP_WRITE)) {
		op.call |= OP_SUM;
		op.want = 1 + next(f, 5);
		op.dur_ns = OP_NO_TIME;
	}
	return op;
}

static void same_hist(const struct hist *is, const struct hist *is_to_be)
{
	assert_int_equal(is->n, is_to_be->n);
	assert_int_equal(is->sum, is_to_be->sum);
	if (is->n) {
		assert_int_equal(is->min, is_to_be->min);
		assert_int_equal(is->max, is_to_be->max);
	}
	unsigned i = 0, j = 0;
	uint64_t n = 0, m = 0;
	bool one = true;
	for (; one; i++, j++) {
		one = hist_next(is, &i, &n);
		assert_int_equal(one, hist_next(is_to_be, &j, &m));
		assert_true(!one || (i == j && n == m));
	}
}

static void same_series(const struct series *is, const struct series *is_to_be)
{
	static const struct series none;

	is = is ? is : &none;
	assert_int_equal(is->operations, is_to_be->operations);
	assert_int_equal(is->errors, is_to_be->errors);
	assert_int_equal(is->again, is_to_be->again);
	assert_int_equal(is->interrupted, is_to_be->interrupted);
	assert_int_equal(is->bytes, is_to_be->bytes);
	assert_int_equal(is->time_ns, is_to_be->time_ns);
	assert_true(is->requested == is_to_be->requested);
	same_hist(&is->size, &is_to_be->size);
	same_hist(&is->latency, &is_to_be->latency);
}

static void same_row(const struct row *r, const struct expected *e, unsigned key)
{
	for (unsigned c = 0; c < NCLASS; c++)
		same_series(r->series[c], &e->series[key][c]);
	same_series(r->pair, &e->pair[key]);
}

static void compare(struct fixture *f)
{
	size_t n, nprocs;
	const struct row *r = stats_rows(f->stats, DIM_FILE, &n);

	for (size_t i = 0; i < n; i++) {
		unsigned file = (unsigned)r[i].key[0];
		same_row(&r[i], &f->by_file, file);
		assert_int_equal(r[i].eof, f->eof[file]);
		assert_int_equal(r[i].access ? r[i].access[0].sequential : 0, f->sequential[file]);
	}
	const struct proc *procs = stats_procs(f->stats, &nprocs);
	assert_int_equal(nprocs, PIDS);
	r = stats_rows(f->stats, DIM_THREAD, &n);
	assert_int_equal(n, PIDS * THREADS);
	for (size_t i = 0; i < n; i++) {
		int pid = procs[r[i].key[0]].pid;
		same_row(&r[i], &f->by_thread,
			(pid - 100) * THREADS + ((unsigned)r[i].key[1] - pid));
	}
	r = stats_rows(f->stats, DIM_CALL, &n);
	for (size_t i = 0; i < n; i++)
		same_row(&r[i], &f->by_call, (unsigned)r[i].key[0]);
	assert_int_equal(stats_totals(f->stats)->lost, 0);
}

static void as_one_after_the_other(void **state)
{
	struct fixture *f = *state;
	static const unsigned files[] = { FILES, 3, 200, 1, FILES };

	for (unsigned phase = 0; phase < 5; phase++) {
		for (unsigned i = 0; i < 30000; i++) {
			struct op op = some_op(f, files[phase]);
			put(f, &op);
			if (next(f, 10) || op.call & OP_SUM || op.ret < 0 || op.kind != OP_READ)
				continue;
			/* Its other side, on the same file or another one. */
			op.call |= OP_SECOND;
			op.kind = OP_WRITE;
			op.file = f->file[next(f, 2) ? op.file - f->file[0] : next(f, files[phase])];
			put(f, &op);
		}
		compare(f);
	}
}

/* A first side that was summed with others like it, and the second in the same row. */
static void a_second_side_behind_many_alike(void **state)
{
	struct fixture *f = *state;
	struct op op = { .file = f->file[1], .kind = OP_READ, .pid = 100, .tid = 100,
		.call = (uint16_t)syscall_by_name("splice"), .want = 10, .ret = 10,
		.dur_ns = 5 };
	size_t n;

	for (unsigned i = 0; i < 50; i++) {
		put(f, &op);
		struct op second = op;
		second.call |= OP_SECOND;
		second.kind = OP_WRITE;
		second.file = f->file[2];
		put(f, &second);
	}
	const struct row *r = stats_rows(f->stats, DIM_CALL, &n);
	assert_int_equal(n, 1);
	same_row(r, &f->by_call, op.call);
	assert_int_equal(r->pair->operations, 50);
	r = stats_rows(f->stats, DIM_FILE, &n);
	assert_int_equal(n, 2);
	assert_null(r[0].pair);
	assert_null(r[1].pair);
}

/* A pid that is used again is another process, however alike its operations are. */
static void a_new_process_with_the_same_id(void **state)
{
	struct fixture *f = *state;
	struct op fork = { .kind = OP_FORK, .pid = 100, .tid = 100, .ret = 1,
		.dur_ns = OP_NO_TIME };
	struct op op = { .file = f->file[1], .kind = OP_READ, .pid = 100, .tid = 100,
		.call = (uint16_t)syscall_by_name("read"), .want = 1, .ret = 1 };
	size_t n;

	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(sink_put(stats_sink(f->stats), &fork), 0);
		for (unsigned j = 0; j < 10 * i; j++)
			assert_int_equal(sink_put(stats_sink(f->stats), &op), 0);
	}
	const struct row *r = stats_rows(f->stats, DIM_PROCESS, &n);
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(r[i].series[CLASS_READ]->operations, 10 * (i + 1));
}

/* What the type of a file turns out to be is what operations count as from then on. */
static void a_type_that_is_learnt_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct file late = { .path = names_add(f->names, "/late", 5), .inode = 99999 };
	struct op op = { .file = names_add_file(f->names, &late), .kind = OP_READ, .pid = 100,
		.tid = 100, .call = (uint16_t)syscall_by_name("read"), .want = 1, .ret = 1 };
	size_t n;

	for (unsigned i = 0; i < 30; i++) {
		if (i == 10)
			names_learn_type(f->names, op.file, FILE_REGULAR);
		assert_int_equal(sink_put(stats_sink(f->stats), &op), 0);
	}
	const struct row *r = stats_rows(f->stats, DIM_TYPE, &n);
	assert_int_equal(n, 2);
	assert_int_equal(r[0].key[0], FILE_UNKNOWN);
	assert_int_equal(r[0].series[CLASS_READ]->operations, 10);
	assert_int_equal(r[1].key[0], FILE_REGULAR);
	assert_int_equal(r[1].series[CLASS_READ]->operations, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_one_after_the_other),
		TEST(a_second_side_behind_many_alike),
		TEST(a_new_process_with_the_same_id),
		TEST(a_type_that_is_learnt_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
