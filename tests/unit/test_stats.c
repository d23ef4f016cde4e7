/*
 * test_stats.c - operations made by hand, summed by key
 */
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/stats.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))
#define ALL_DIMS  ((1u << NDIMS) - 1)
static struct names *names;
static struct stats *stats;
static uint32_t file_a, file_b, pipe_1;

static uint32_t text(const char *s)
{
	return names_add(names, s, strlen(s));
}

static uint32_t add_file(const char *path, int type, uint64_t inode)
{
	struct file f = { .path = text(path), .type = type, .inode = inode, .major = 8,
		.minor = 1, .mount = text("/") };

	return names_add_file(names, &f);
}

static int start(void **state)
{
	(void)state;
	names = names_new();
	stats = stats_new(names, ALL_DIMS);
	file_a = add_file("/d/a", FILE_REGULAR, 5);
	file_b = add_file("/d/b", FILE_REGULAR, 6);
	pipe_1 = add_file("pipe:[1]", FILE_PIPE, 7);
	return stats ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	stats_free(stats);
	names_free(names);
	return 0;
}

static void put(struct op op)
{
	if (!op.pid)
		op.pid = 100;
	if (!op.tid)
		op.tid = op.pid;
	assert_int_equal(sink_put(stats_sink(stats), &op), 0);
}

static unsigned call(const char *name)
{
	int row = syscall_by_name(name);

	assert_true(row >= 0);
	return row;
}

/* The row of that key, or NULL. */
static const struct row *row_of(enum dim dim, uint64_t a, uint64_t b)
{
	size_t n;
	const struct row *r = stats_rows(stats, dim, &n);

	for (size_t i = 0; i < n; i++)
		if (r[i].key[0] == a && r[i].key[1] == b)
			return &r[i];
	return NULL;
}

static size_t rows(enum dim dim)
{
	size_t n;

	stats_rows(stats, dim, &n);
	return n;
}

static void a_read(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_READ, .file = file_a, .ret = 100, .want = 4096,
		.dur_ns = 7, .call = call("read"), .offset = 0 });
	put((struct op){ .kind = OP_READ, .file = file_a, .ret = 15, .want = 4096,
		.dur_ns = 5, .call = call("read"), .offset = 100 });
	const struct row *r = row_of(DIM_FILE, file_a, 0);
	assert_non_null(r);
	const struct series *s = r->series[CLASS_READ];
	assert_int_equal(s->operations, 2);
	assert_int_equal(s->bytes, 115);
	assert_int_equal(s->requested, 8192);
	assert_int_equal(s->time_ns, 12);
	assert_int_equal(s->size.n, 2);
	assert_int_equal(s->size.min, 15);
	assert_int_equal(s->size.max, 100);
	assert_int_equal(s->latency.n, 2);
	assert_int_equal(hist_quantile(&s->latency, 0.5), 5);
	assert_int_equal(hist_quantile(&s->latency, 1), 7);
	assert_null(r->series[CLASS_WRITE]);
	assert_null(r->pair);
	assert_ptr_equal(stats_names(stats), names);
}

/* One operation makes a row of every dimension, each with its own key. */
static void keys(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_WRITE, .file = file_a, .ret = -ENOSPC, .pid = 100,
		.tid = 101, .comm = text("cat"), .call = call("pwrite64") | OP_PART });
	const struct {
		enum dim dim;
		uint64_t a, b;
	} row[] = {
		{ DIM_FILE, file_a, 0 },
		{ DIM_DIR, text("/d"), 0 },
		{ DIM_TYPE, FILE_REGULAR, 0 },
		{ DIM_PROCESS, 0, 0 },
		{ DIM_THREAD, 0, 101 },
		{ DIM_COMMAND, text("cat"), 0 },
		{ DIM_CALL, call("pwrite64"), 0 },
		{ DIM_KIND, OP_WRITE, 0 },
		{ DIM_DEVICE, UINT64_C(8) << 32 | 1, 1 },
		{ DIM_MOUNT, text("/"), 0 },
		{ DIM_ERROR, ENOSPC, 0 },
		{ DIM_HOST, 0, 0 }, { DIM_GROUP, 0, 0 },
	};
	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_int_equal(rows(row[i].dim), 1);
		assert_non_null(row_of(row[i].dim, row[i].a, row[i].b));
	}
	assert_int_equal(LENGTH(row), NDIMS);
}

static void only_what_was_asked_for(void **state)
{
	struct stats *few = stats_new(names, 1u << DIM_KIND);
	struct op op = { .kind = OP_READ, .pid = 1, .tid = 1, .ret = 1 };
	size_t n;

	(void)state;
	assert_int_equal(sink_put(stats_sink(few), &op), 0);
	for (unsigned d = 0; d < NDIMS; d++) {
		bool want = d == DIM_KIND || d == DIM_FILE || d == DIM_PROCESS ||
			    d == DIM_CALL;
		stats_rows(few, d, &n);
		assert_int_equal(n, want);
		assert_int_equal(stats_dims(few) >> d & 1, want);
	}
	stats_free(few);
	stats_free(NULL);
}

static void failures_apart(void **state)
{
	static const struct {
		int64_t ret;
		unsigned operations, errors, again, interrupted;
	} row[] = {
		{ 0, 1, 0, 0, 0 },
		{ 10, 1, 0, 0, 0 },
		{ -EAGAIN, 0, 0, 1, 0 },
		{ -512, 0, 0, 0, 1 }, /* ERESTARTSYS */
		{ -514, 0, 0, 0, 1 },
		{ -516, 0, 0, 0, 1 },
		{ -EINTR, 0, 1, 0, 0 },
		{ -EIO, 0, 1, 0, 0 },
	};
	struct series want = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		put((struct op){ .kind = OP_READ, .file = file_a, .ret = row[i].ret,
			.want = 10, .dur_ns = 3, .call = call("read") });
		want.operations += row[i].operations;
		want.errors += row[i].errors;
		want.again += row[i].again;
		want.interrupted += row[i].interrupted;
		const struct series *s = row_of(DIM_FILE, file_a, 0)->series[CLASS_READ];
		assert_int_equal(s->operations, want.operations);
		assert_int_equal(s->errors, want.errors);
		assert_int_equal(s->again, want.again);
		assert_int_equal(s->interrupted, want.interrupted);
		assert_int_equal(s->time_ns, 3 * (i + 1));
		assert_int_equal(s->latency.n, want.operations);
		assert_int_equal(s->requested, 10 * want.operations);
	}
	assert_non_null(row_of(DIM_ERROR, EAGAIN, 0));
	assert_non_null(row_of(DIM_ERROR, EIO, 0));
	assert_null(row_of(DIM_ERROR, 512, 0));
}

static void faults(void **state)
{
	size_t n;

	(void)state;
	for (int i = 0; i < 3; i++)
		put((struct op){ .kind = OP_OPEN, .ret = -ENOENT,
			.call = call("openat") });
	put((struct op){ .kind = OP_OPEN, .ret = -EACCES, .call = call("openat") });
	put((struct op){ .kind = OP_READ, .ret = -EAGAIN, .call = call("read") });
	put((struct op){ .kind = OP_READ, .ret = -512, .call = call("read") });
	put((struct op){ .kind = OP_READ, .ret = -EIO, .call = call("splice") });
	put((struct op){ .kind = OP_WRITE, .ret = -EIO,
		.call = call("splice") | OP_SECOND });
	const struct fault *f = stats_faults(stats, &n);
	assert_int_equal(n, 3);
	assert_int_equal(f[0].call, call("openat"));
	assert_int_equal(f[0].err, ENOENT);
	assert_int_equal(f[0].count, 3);
	assert_int_equal(f[1].err, EACCES);
	assert_int_equal(f[1].count, 1);
	assert_int_equal(f[2].call, call("splice"));
	assert_int_equal(f[2].count, 1);
}

static void two_sides(uint32_t from, uint32_t to, int64_t ret)
{
	unsigned c = call("sendfile");

	put((struct op){ .kind = OP_READ, .file = from, .ret = ret, .want = 500,
		.dur_ns = 9, .call = c });
	put((struct op){ .kind = OP_WRITE, .file = to, .ret = ret, .want = 500,
		.dur_ns = 9, .call = c | OP_SECOND });
}

/* Sums of a row's reads and writes. */
static void assert_all(const struct row *r, bool everything, unsigned operations,
	unsigned errors, uint64_t bytes, uint64_t time_ns)
{
	struct series all;

	assert_non_null(r);
	assert_int_equal(row_all(r, everything, &all), 0);
	assert_int_equal(all.operations, operations);
	assert_int_equal(all.errors, errors);
	assert_int_equal(all.bytes, bytes);
	assert_int_equal(all.time_ns, time_ns);
	assert_int_equal(all.latency.n, operations);
	assert_int_equal(all.size.n, operations);
	series_fini(&all);
}

/* A call that reads one file and writes another is one call; its bytes moved twice. */
static void two_sided_calls_count_once(void **state)
{
	struct row total;

	(void)state;
	two_sides(file_a, file_b, 400);
	two_sides(file_a, file_a, 300);
	two_sides(file_a, file_b, -EIO);
	put((struct op){ .kind = OP_READ, .file = file_a, .ret = 1, .want = 1,
		.dur_ns = 2, .call = call("read") });

	assert_int_equal(stats_total(stats, &total), 0);
	assert_int_equal(total.series[CLASS_READ]->operations, 3);
	assert_int_equal(total.series[CLASS_WRITE]->operations, 2);
	assert_all(&total, false, 3, 1, 1401, 29);
	row_fini(&total);
	assert_null(total.pair);

	/* Where both sides meet in a row they are one; where they do not, one each. */
	assert_all(row_of(DIM_FILE, file_a, 0), false, 3, 1, 1001, 29);
	assert_all(row_of(DIM_FILE, file_b, 0), false, 1, 1, 400, 18);
	assert_all(row_of(DIM_PROCESS, 0, 0), false, 3, 1, 1401, 29);
	assert_all(row_of(DIM_DIR, text("/d"), 0), false, 3, 1, 1401, 29);
	assert_all(row_of(DIM_CALL, call("sendfile"), 0), true, 2, 1, 1400, 27);
	assert_all(row_of(DIM_KIND, OP_READ, 0), true, 3, 1, 701, 29);
	assert_all(row_of(DIM_KIND, OP_WRITE, 0), true, 2, 1, 700, 27);
	assert_null(row_of(DIM_KIND, OP_READ, 0)->pair);
}

static void everything_or_data(void **state)
{
	struct series all;

	(void)state;
	put((struct op){ .kind = OP_READ, .ret = 10, .call = call("read") });
	put((struct op){ .kind = OP_SYNC, .ret = 0, .call = call("fsync") });
	put((struct op){ .kind = OP_META, .ret = 4711, .call = call("lseek") });
	put((struct op){ .kind = OP_PEEK, .ret = 20, .call = call("tee") });
	const struct row *r = row_of(DIM_PROCESS, 0, 0);
	assert_int_equal(row_all(r, false, &all), 0);
	assert_int_equal(all.operations, 1);
	assert_int_equal(all.bytes, 10);
	series_fini(&all);
	assert_int_equal(row_all(r, true, &all), 0);
	assert_int_equal(all.operations, 4);
	assert_int_equal(all.bytes, 30); /* the result of lseek() is no bytes */
	series_fini(&all);
	assert_int_equal(r->series[CLASS_META]->bytes, 0);
	assert_int_equal(r->series[CLASS_META]->size.n, 0);
	assert_int_equal(r->series[CLASS_META]->latency.n, 1);
}

/* Counters tell of many operations at once, but not of each. */
static void sums(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_WRITE, .file = pipe_1, .ret = 5000, .want = 12,
		.dur_ns = OP_NO_TIME, .call = call("write") | OP_SUM });
	const struct row *r = row_of(DIM_FILE, pipe_1, 0);
	const struct series *s = r->series[CLASS_WRITE];
	const struct totals *t = stats_totals(stats);
	assert_int_equal(s->operations, 12);
	assert_int_equal(s->bytes, 5000);
	assert_int_equal(s->requested, 0);
	assert_int_equal(s->time_ns, 0);
	assert_int_equal(s->size.n, 0);
	assert_int_equal(s->latency.n, 0);
	assert_null(r->access);
	for (unsigned i = 0; i < HIST_OCTAVES; i++)
		assert_int_equal(t->size[1][i].operations, 0);
	assert_int_equal(t->apart_operations, 12);
	assert_int_equal(t->apart_bytes, 5000);
}

/* Further messages of a call have bytes of their own, but no time. */
static void parts(void **state)
{
	unsigned c = call("recvmmsg");

	(void)state;
	for (int i = 0; i < 3; i++)
		put((struct op){ .kind = OP_READ, .ret = 10, .want = 20, .dur_ns = 50,
			.call = c | (i ? OP_PART : 0) });
	const struct series *s = row_of(DIM_CALL, c, 0)->series[CLASS_READ];
	assert_int_equal(s->operations, 3);
	assert_int_equal(s->bytes, 30);
	assert_int_equal(s->time_ns, 50);
	assert_int_equal(s->latency.n, 1);
	assert_int_equal(s->size.n, 3);
}

static void unknown_time(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_READ, .ret = 10, .dur_ns = OP_NO_TIME });
	put((struct op){ .kind = OP_READ, .ret = -EIO, .dur_ns = OP_NO_TIME });
	const struct series *s = row_of(DIM_CALL, 0, 0)->series[CLASS_READ];
	assert_int_equal(s->operations, 1);
	assert_int_equal(s->time_ns, 0);
	assert_int_equal(s->latency.n, 0);
}

static void process_life(void **state)
{
	size_t n;

	(void)state;
	put((struct op){ .kind = OP_FORK, .pid = 200, .ret = 100, .start_ns = 11,
		.comm = text("sh") });
	put((struct op){ .kind = OP_EXEC, .pid = 200, .start_ns = 22, .comm = text("cat"),
		.file = file_a });
	put((struct op){ .kind = OP_EXIT, .pid = 200, .tid = 201, .start_ns = 30 });
	const struct proc *p = stats_procs(stats, &n);
	assert_int_equal(n, 1);
	assert_int_equal(p->pid, 200);
	assert_int_equal(p->ppid, 100);
	assert_int_equal(p->comm, text("cat"));
	assert_int_equal(p->exe, file_a);
	assert_int_equal(p->start_ns, 11);
	assert_int_equal(p->end_ns, 0); /* that was but a thread */
	put((struct op){ .kind = OP_EXIT, .pid = 200, .start_ns = 33, .ret = 0x100 });
	p = stats_procs(stats, &n);
	assert_int_equal(p->end_ns, 33);
	assert_int_equal(p->status, 0x100);
	assert_int_equal(rows(DIM_PROCESS), 0); /* it did no I/O */
}

/* The tracer tells of a new thread with its own process as the parent. */
static void threads_leave_their_process_alone(void **state)
{
	size_t n;

	(void)state;
	put((struct op){ .kind = OP_FORK, .pid = 200, .ret = 100, .start_ns = 11,
		.comm = text("sh") });
	put((struct op){ .kind = OP_FORK, .pid = 200, .tid = 201, .ret = 200,
		.start_ns = 44, .comm = text("sh") });
	const struct proc *p = stats_procs(stats, &n);
	assert_int_equal(n, 1);
	assert_int_equal(p->ppid, 100);
	assert_int_equal(p->start_ns, 11);
}

static void pid_used_again_is_a_new_process(void **state)
{
	size_t n;

	(void)state;
	for (int i = 0; i < 3; i++) {
		put((struct op){ .kind = OP_FORK, .pid = 200, .ret = 100 + i });
		put((struct op){ .kind = OP_READ, .pid = 200, .ret = 10 + i });
		put((struct op){ .kind = OP_READ, .pid = 50, .ret = 1000 });
		put((struct op){ .kind = OP_READ, .pid = 200, .tid = 201, .ret = 20 });
		put((struct op){ .kind = OP_EXIT, .pid = 200, .ret = i });
	}
	const struct proc *p = stats_procs(stats, &n);
	assert_int_equal(n, 4); /* pid 50 is the one between the first two */
	static const struct {
		int pid, ppid, bytes;
	} row[] = { { 200, 100, 30 }, { 50, 0, 3000 }, { 200, 101, 31 },
		{ 200, 102, 32 } };
	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_int_equal(p[i].pid, row[i].pid);
		assert_int_equal(p[i].ppid, row[i].ppid);
		const struct row *r = row_of(DIM_PROCESS, i, 0);
		assert_int_equal(r->series[CLASS_READ]->bytes, row[i].bytes);
	}
	assert_int_equal(rows(DIM_THREAD), 7);
}

static void remarks(void **state)
{
	size_t n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		put((struct op){ .kind = OP_NOTE, .pid = 200, .ret = NOTE_IO_URING });
		put((struct op){ .kind = OP_NOTE, .pid = 201, .ret = NOTE_IO_URING });
		put((struct op){ .kind = OP_NOTE, .pid = 201, .ret = NOTE_RUNNING });
		put((struct op){ .kind = OP_NOTE, .pid = 201, .ret = NNOTES });
		put((struct op){ .kind = OP_NOTE, .pid = 201, .ret = -1 });
	}
	put((struct op){ .kind = OP_LOST, .ret = 7 });
	put((struct op){ .kind = OP_LOST, .ret = 8 });
	const struct totals *t = stats_totals(stats);
	assert_int_equal(t->notes[NOTE_IO_URING], 2);
	assert_int_equal(t->notes[NOTE_RUNNING], 1);
	assert_int_equal(t->notes[NOTE_AIO], 0);
	assert_int_equal(t->lost, 15);
	const struct proc *p = stats_procs(stats, &n);
	assert_int_equal(n, 2);
	assert_false(p[0].running_on);
	assert_true(p[1].running_on);
}

static void verified(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_VERIFY, .fd = 0, .ret = 0, .offset = 0, .want = 5 });
	put((struct op){ .kind = OP_VERIFY, .fd = 0, .ret = 2, .offset = -100 });
	put((struct op){ .kind = OP_VERIFY, .fd = 0, .ret = 0, .offset = 1 });
	put((struct op){ .kind = OP_VERIFY, .fd = -1 });
	const struct totals *t = stats_totals(stats);
	assert_int_equal(t->threads, 3);
	assert_int_equal(t->matched, 1);
	assert_int_equal(t->unchecked, 1);
	assert_int_equal(t->off_calls, 2);
	assert_int_equal(t->off_bytes, -99);
}

/* Sequential: began beyond the end of the one before; consecutive: right at it. */
static void access_pattern(void **state)
{
	static const struct {
		int64_t offset, ret;
		unsigned sequential, consecutive, random, extent, zero, one;
	} row[] = {
		{ 0, 100, 0, 0, 0, 100, 0, 0 }, /* the first has none before */
		{ 100, 50, 1, 1, 0, 150, 0, 0 },
		{ 200, 10, 2, 1, 0, 210, 0, 0 },
		{ 209, 1, 2, 1, 1, 210, 0, 1 },
		{ 0, 5, 2, 1, 2, 210, 0, 1 },
		{ 5, 5, 3, 2, 2, 210, 0, 1 },
		{ 300, 0, 3, 2, 2, 210, 1, 1 }, /* moved nothing, and no place */
		{ 10, 5, 4, 3, 2, 210, 1, 1 },
		{ OP_NO_OFFSET, 99, 4, 3, 2, 210, 1, 1 },
		{ 15, 1, 5, 4, 2, 210, 1, 2 },
		{ 400, -EIO, 5, 4, 2, 210, 1, 2 },
	};

	(void)state;
	for (int k = 0; k < 2; k++) /* reads and writes do not see one another */
		for (size_t i = 0; i < LENGTH(row); i++) {
			put((struct op){ .kind = k ? OP_WRITE : OP_READ, .file = file_a,
				.want = 9, .offset = row[i].offset, .ret = row[i].ret });
			const struct access *a = &row_of(DIM_FILE, file_a, 0)->access[k];
			assert_int_equal(a->sequential, row[i].sequential);
			assert_int_equal(a->consecutive, row[i].consecutive);
			assert_int_equal(a->random, row[i].random);
			assert_int_equal(a->extent, row[i].extent);
			assert_int_equal(a->zero, row[i].zero);
			assert_int_equal(a->one, row[i].one);
		}
	assert_int_equal(row_of(DIM_FILE, file_a, 0)->eof, 1);
	assert_null(row_of(DIM_PROCESS, 0, 0)->access);
}

static void end_of_file(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_READ, .file = file_a, .ret = 0, .want = 10 });
	put((struct op){ .kind = OP_READ, .file = file_a, .ret = 0, .want = 0 });
	put((struct op){ .kind = OP_WRITE, .file = file_a, .ret = 0, .want = 10 });
	put((struct op){ .kind = OP_READ, .file = pipe_1, .ret = 0, .want = 10 });
	assert_int_equal(row_of(DIM_FILE, file_a, 0)->eof, 1);
	assert_int_equal(row_of(DIM_FILE, pipe_1, 0)->eof, 0);
}

static void size_totals(void **state)
{
	(void)state;
	two_sides(file_a, pipe_1, 400);
	put((struct op){ .kind = OP_READ, .file = file_b, .ret = 0, .want = 10 });
	put((struct op){ .kind = OP_META, .file = file_b, .ret = 300 });
	const struct totals *t = stats_totals(stats);
	assert_int_equal(t->size[0][9].operations, 1); /* 256 ... 511 */
	assert_int_equal(t->size[0][9].bytes, 400);
	assert_int_equal(t->size[1][9].operations, 1);
	assert_int_equal(t->pair[9].operations, 1);
	assert_int_equal(t->size[0][0].operations, 1);
	assert_int_equal(t->apart_operations, 1);
	assert_int_equal(t->apart_bytes, 400);
}

static void dimensions(void **state)
{
	(void)state;
	for (unsigned d = 0; d < NDIMS; d++)
		assert_int_equal(dim_of(dim_name(d)), d);
	assert_int_equal(dim_of("nonsense"), -1);
	assert_int_equal(dim_of(""), -1);
	assert_string_equal(dim_name(NDIMS), "?");
}

/* Every dimension but one that cuts calls in halves sums up to the same. */
static void every_dimension_has_all(void **state)
{
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 5000; i++)
		put((struct op){ .kind = i % OP_FORK, .file = i % 4, .pid = 1 + i % 70,
			.tid = 1 + i % 700, .comm = i % 3, .call = i % 100, .ret = i % 97,
			.want = 100, .offset = i, .dur_ns = i });
	for (unsigned d = 0; d < NDIMS; d++) {
		const struct row *r = stats_rows(stats, d, &n);
		uint64_t operations = 0, bytes = 0;
		for (size_t i = 0; i < n; i++)
			for (int c = 0; c < NCLASS; c++)
				if (r[i].series[c]) {
					operations += r[i].series[c]->operations;
					bytes += r[i].series[c]->bytes;
				}
		assert_int_equal(operations, 5000);
		uint64_t want = 0;
		for (unsigned i = 0; i < 5000; i++)
			if (op_kind_class(i % OP_FORK) <= CLASS_WRITE ||
				op_kind_class(i % OP_FORK) == CLASS_PEEK)
				want += i % 97;
		assert_int_equal(bytes, want);
	}
	assert_int_equal(rows(DIM_PROCESS), 70);
	assert_int_equal(rows(DIM_THREAD), 700);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read),
		TEST(keys),
		TEST(only_what_was_asked_for),
		TEST(failures_apart),
		TEST(faults),
		TEST(two_sided_calls_count_once),
		TEST(everything_or_data),
		TEST(sums),
		TEST(parts),
		TEST(unknown_time),
		TEST(process_life),
		TEST(threads_leave_their_process_alone),
		TEST(pid_used_again_is_a_new_process),
		TEST(remarks),
		TEST(verified),
		TEST(access_pattern),
		TEST(end_of_file),
		TEST(size_totals),
		TEST(dimensions),
		TEST(every_dimension_has_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
