/*
 * test_log_harm.c - whatever happens to a log: nothing comes out that did not go in, and
 * what does not come out is told
 */
#include "logs.h"

static int read_and_check(struct reading *r, const struct ops *o, struct bytes log)
{
	int err = read_log(r, o, log);

	if (err)
		assert_int_equal(err, -EINVAL);
	else
		check(r);
	return err;
}

static void every_bit(void **state)
{
	struct ops o;
	struct reading r;

	(void)state;
	ops_init(&o);
	likely_ops(&o, 30, 5);
	struct bytes log = write_log(&o, 8);
	for (size_t i = 0; i < 8 * log.n; i++) {
		log.p[i / 8] ^= 1 << i % 8;
		assert_true(read_and_check(&r, &o, log) || r.run.damaged);
		log.p[i / 8] ^= 1 << i % 8;
	}
	for (size_t n = 0; n < log.n; n++) {
		struct bytes cut = { log.p, n };
		assert_true(read_and_check(&r, &o, cut) || r.run.damaged);
		assert_true(n > 0 || !r.ops);
	}
	free(log.p);
	ops_fini(&o);
}

enum { MAX_BLOCKS = 200 };

/* Where the blocks begin, and behind them the end. */
static size_t blocks(struct bytes log, size_t at[MAX_BLOCKS + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < log.n; n++) {
		struct wire_in in = { log.p + i + 12, log.p + log.n, false };
		assert_memory_equal(log.p + i, LOG_MAGIC, 4);
		assert_true(n < MAX_BLOCKS);
		at[n] = i;
		i += LOG_HEAD + wire_get_fixed(&in, 4);
	}
	at[n] = log.n;
	return n;
}

static size_t append(struct bytes *to, struct bytes from, size_t begins, size_t ends)
{
	memcpy(to->p + to->n, from.p + begins, ends - begins);
	return to->n += ends - begins;
}

/* The same log with one thing done to it; room for twice of it is in out. */
static void harm(struct bytes *out, struct bytes log)
{
	size_t at[MAX_BLOCKS + 1], n = blocks(log, at);
	size_t i = below(log.n), k = i + below(log.n - i), b = 1 + below(n - 2);

	out->n = 0;
	switch (below(6)) {
	case 0: /* flips */
		append(out, log, 0, log.n);
		for (size_t flips = 1 + below(20); flips--;)
			out->p[below(log.n)] ^= 1 << below(8);
		return;
	case 1: /* the end is missing */
		append(out, log, 0, i);
		return;
	case 2: /* something in the middle is */
		append(out, log, 0, i);
		append(out, log, k, log.n);
		return;
	case 3: /* something is there twice */
		append(out, log, 0, k);
		append(out, log, i, log.n);
		return;
	case 4: /* a block is there twice, anywhere */
		append(out, log, 0, at[b]);
		size_t again = below(n);
		append(out, log, at[again], at[again + 1]);
		append(out, log, at[b], log.n);
		return;
	case 5: /* two blocks are in each other's place */
		append(out, log, 0, at[b]);
		append(out, log, at[b + 1], at[b + 2 > n ? n : b + 2]);
		append(out, log, at[b], at[b + 1]);
		if (b + 2 < n)
			append(out, log, at[b + 2], log.n);
		return;
	}
}

static void much_harm(void **state)
{
	const char *times = getenv("TIMES");
	struct ops o;
	struct reading r;

	(void)state;
	ops_init(&o);
	likely_ops(&o, 3000, 50);
	for (size_t i = 1000; i < 1100; i++) /* blocks without a single operation */
		o.op[i].kind = OP_EXIT, o.op[i].call = 0;
	struct bytes log = write_log(&o, 40), bad = { malloc(2 * log.n), 0 };
	assert_non_null(bad.p);
	for (int i = times ? 100 * atoi(times) : 3000; i > 0; i--) {
		harm(&bad, log);
		bool same = bad.n == log.n && !memcmp(bad.p, log.p, log.n);
		int err = read_and_check(&r, &o, bad);
		assert_true(same || err || r.run.damaged);
		assert_true(!same || (!err && !r.run.damaged));
	}
	free(bad.p);
	free(log.p);
	ops_fini(&o);
}

/* A head that another writer made, with the right CRC. */
static void set_head(struct bytes log, size_t block, size_t at, uint8_t value)
{
	size_t begins[MAX_BLOCKS + 1];

	assert_true(block < blocks(log, begins));
	uint8_t *p = log.p + begins[block];
	size_t stored = begins[block + 1] - begins[block] - LOG_HEAD;
	p[at] = value;
	uint32_t crc = wire_crc(wire_crc(0, p, LOG_CRC), p + LOG_HEAD, stored);
	for (int i = 0; i < 4; i++)
		p[LOG_CRC + i] = (uint8_t)(crc >> 8 * i);
}

static void later_versions(void **state)
{
	static const struct {
		size_t block, at;
		uint8_t value;
		int err;
		uint64_t lost;
	} row[] = { { 0, 4, 2, -EINVAL, 0 }, { 0, 5, LOG_OPS, -EINVAL, 0 },
		{ 0, 6, 9, -EINVAL, 0 }, { 0, 5, 99, -EINVAL, 0 }, { 1, 4, 2, 0, 10 },
		{ 1, 5, 99, 0, 10 }, { 2, 6, 2, 0, 10 } };
	struct ops o;
	struct reading r;

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		ops_init(&o);
		for (uint64_t k = 0; k < 30; k++)
			add(&o, (struct op){ .start_ns = k });
		struct bytes log = write_log(&o, 10);
		set_head(log, row[i].block, row[i].at, row[i].value);
		assert_int_equal(read_and_check(&r, &o, log), row[i].err);
		assert_int_equal(r.lost, row[i].lost);
		assert_true(row[i].err || r.run.damaged);
		free(log.p);
		ops_fini(&o);
	}
}

/* Another log behind it, whether it has an end or not, is another log. */
static void two_logs(void **state)
{
	struct ops o, other;
	struct reading r;
	size_t at[MAX_BLOCKS + 1];

	(void)state;
	ops_init(&o);
	ops_init(&other);
	likely_ops(&o, 50, 3);
	likely_ops(&other, 500, 3);
	struct bytes a = write_log(&o, 20), b = write_log(&other, 20);
	b.p[LOG_HEAD + 2] ^= 1; /* its id */
	set_head(b, 0, 7, 0);
	size_t n = blocks(a, at);
	struct bytes both = { malloc(a.n + b.n), 0 };
	for (int ended = 0; ended < 2; ended++) {
		both.n = 0;
		append(&both, a, 0, at[ended ? n : n - 1]);
		append(&both, b, 0, b.n);
		assert_int_equal(read_and_check(&r, &o, both), 0);
		assert_int_equal(r.missing, 0);
		assert_int_equal(r.run.ended, ended);
		assert_true(r.run.damaged);
	}
	free(a.p);
	free(b.p);
	free(both.p);
	ops_fini(&o);
	ops_fini(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit),
		cmocka_unit_test(much_harm),
		cmocka_unit_test(later_versions),
		cmocka_unit_test(two_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
