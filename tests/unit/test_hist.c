/*
 * test_hist.c - buckets, quantiles and sums of histograms
 */
#include "iops/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

/* xorshift64: the same numbers in every run, of every magnitude. */
static uint64_t random_value(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> (*state & 63);
}

static void assert_same(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->sum, b->sum);
	for (unsigned i = 0; i < HIST_N; i++)
		assert_int_equal(hist_count(a, i), hist_count(b, i));
}

static void index_table(void **state)
{
	static const struct {
		uint64_t value;
		unsigned index;
	} row[] = {
		{ 0, 0 },
		{ 1, 1 },
		{ 15, 15 },
		{ 16, 16 },
		{ 31, 31 },
		{ 32, 32 },
		{ 33, 32 },
		{ 34, 33 },
		{ 63, 47 },
		{ 64, 48 },
		{ 4096, 144 },
		{ UINT64_C(1) << 63, HIST_N - 16 },
		{ UINT64_MAX, HIST_N - 1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_int_equal(hist_index(row[i].value), row[i].index);
}

static void value_in_bucket(uint64_t v)
{
	unsigned i = hist_index(v);

	assert_true(i < HIST_N);
	assert_true(hist_lower(i) <= v);
	if (i + 1 < HIST_N)
		assert_true(v < hist_lower(i + 1));
	/* Not wider than a sixteenth of the value. */
	assert_true(v - hist_lower(i) <= v / 16);
}

static void every_value_in_its_bucket(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (uint64_t v = 0; v < 5000; v++)
		value_in_bucket(v);
	for (int b = 1; b < 64; b++)
		for (int d = -2; d <= 2; d++)
			value_in_bucket((UINT64_C(1) << b) + d);
	for (int i = 0; i < 100000; i++)
		value_in_bucket(random_value(&seed));
	for (unsigned i = 0; i < HIST_N; i++)
		assert_int_equal(hist_index(hist_lower(i)), i);
}

static void empty(void **state)
{
	struct hist h = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(hist_quantile(&h, 0.5), 0);
	for (unsigned i = 0; i < HIST_N + 5; i++)
		assert_int_equal(hist_count(&h, i), 0);
	assert_int_equal(hist_merge(&h, &none), 0);
	assert_int_equal(h.n, 0);
	assert_null(h.count);
}

static void moments(void **state)
{
	struct hist h = { 0 };
	static const uint64_t v[] = { 700, 3, 1u << 20, 0, 12 };

	(void)state;
	assert_int_equal(hist_add(&h, 50), 0);
	assert_int_equal(h.min, 50);
	assert_int_equal(h.max, 50);
	for (size_t i = 0; i < LENGTH(v); i++)
		assert_int_equal(hist_add(&h, v[i]), 0);
	assert_int_equal(h.n, 6);
	assert_int_equal(h.sum, 50 + 700 + 3 + (1u << 20) + 12);
	assert_int_equal(h.min, 0);
	assert_int_equal(h.max, 1u << 20);
	hist_fini(&h);
	assert_int_equal(h.n, 0);
	assert_null(h.count);
}

/* Of values below 16 a histogram forgets nothing. */
static void exact_quantiles(void **state)
{
	struct hist h = { 0 };

	(void)state;
	for (int v = 15; v >= 0; v--)
		for (int i = 0; i <= v; i++)
			assert_int_equal(hist_add(&h, v), 0);
	unsigned n = 136; /* v + 1 samples of each v */
	assert_int_equal(h.n, n);
	for (unsigned rank = 1; rank <= n; rank++) {
		unsigned v = 0;
		for (unsigned seen = 1; seen < rank; seen += v + 1)
			v++;
		assert_int_equal(hist_quantile(&h, (double)rank / n), v);
	}
	assert_int_equal(hist_quantile(&h, 0), 0);
	hist_fini(&h);
}

static void quantiles_within_a_sixteenth(void **state)
{
	struct hist h = { 0 };
	static const double q[] = { 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 };

	(void)state;
	for (uint64_t v = 1; v <= 10000; v++)
		assert_int_equal(hist_add(&h, v * 1000), 0);
	for (size_t i = 0; i < LENGTH(q); i++) {
		uint64_t want = (uint64_t)(q[i] * 10000 + 0.5) * 1000;
		uint64_t got = hist_quantile(&h, q[i]);
		assert_true(got + want / 16 >= want && got <= want + want / 16);
	}
	hist_fini(&h);
}

/* The middle of a bucket is not shown where nothing was. */
static void quantiles_stay_between_min_and_max(void **state)
{
	struct hist h = { 0 };

	(void)state;
	assert_int_equal(hist_add(&h, 1000003), 0);
	assert_int_equal(hist_quantile(&h, 0), 1000003);
	assert_int_equal(hist_quantile(&h, 0.5), 1000003);
	assert_int_equal(hist_quantile(&h, 1), 1000003);
	hist_fini(&h);
	assert_int_equal(hist_add(&h, UINT64_MAX), 0);
	assert_int_equal(hist_quantile(&h, 0.5), UINT64_MAX);
	hist_fini(&h);
}

/* Merged in whatever order, it is as if all had been added to one. */
static void check_merge(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
	struct hist one = { 0 }, two = { 0 }, both = { 0 };

	for (size_t i = 0; i < na; i++) {
		assert_int_equal(hist_add(&one, a[i]), 0);
		assert_int_equal(hist_add(&both, a[i]), 0);
	}
	for (size_t i = 0; i < nb; i++) {
		assert_int_equal(hist_add(&two, b[i]), 0);
		assert_int_equal(hist_add(&both, b[i]), 0);
	}
	assert_int_equal(hist_merge(&one, &two), 0);
	assert_same(&one, &both);
	assert_int_equal(one.min, both.min);
	assert_int_equal(one.max, both.max);
	hist_fini(&one);
	hist_fini(&two);
	hist_fini(&both);
}

static void merge_is_a_then_b(void **state)
{
	static const uint64_t low[] = { 1, 2, 3 }, mid[] = { 100, 120 },
			      high[] = { 1u << 30, 5 }, wide[] = { 0, UINT64_MAX };
	static const struct {
		const uint64_t *v;
		size_t n;
	} set[] = { { low, 3 }, { mid, 2 }, { high, 2 }, { wide, 2 }, { low, 0 } };
	uint64_t seed = 42, v[60];

	(void)state;
	for (size_t i = 0; i < LENGTH(set); i++)
		for (size_t j = 0; j < LENGTH(set); j++)
			check_merge(set[i].v, set[i].n, set[j].v, set[j].n);
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < LENGTH(v); i++)
			v[i] = random_value(&seed);
		check_merge(v, round % 30, v + round % 30, round % 29);
	}
}

/* The window of one begins below the other's and ends within it. */
static void merge_from_below(void **state)
{
	static const uint64_t mid[] = { 100, 120 }, from_below[] = { 20, 127 };

	(void)state;
	check_merge(mid, 2, from_below, 2);
	check_merge(from_below, 2, mid, 2);
}

/* Emptied, it is filled as one that is new; what it keeps does not make others larger. */
static void emptied(void **state)
{
	uint64_t seed = 11;
	struct hist h = { 0 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct hist fresh = { 0 }, to = { 0 }, few = { 0 };
		for (int i = 0; i < round % 30; i++) {
			uint64_t v = round % 3 ? random_value(&seed) : 1000 + (uint64_t)i;
			assert_int_equal(hist_add(&h, v), 0);
			assert_int_equal(hist_add(&fresh, v), 0);
		}
		assert_same(&h, &fresh);
		assert_int_equal(hist_add(&few, 70), 0);
		assert_int_equal(hist_merge(&to, &h), 0);
		assert_same(&to, &fresh);
		assert_int_equal(to.len != 0, fresh.n > HIST_FEW);
		assert_true(to.len <= fresh.len);
		assert_int_equal(hist_merge(&few, &h), 0);
		assert_int_equal(few.n, fresh.n + 1);
		hist_empty(&h);
		assert_int_equal(h.n, 0);
		assert_int_equal(h.sum, 0);
		assert_true(h.len <= HIST_KEPT);
		hist_fini(&fresh);
		hist_fini(&to);
		hist_fini(&few);
	}
	hist_fini(&h);
}

static void subtract_undoes_merge(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct hist a = { 0 }, b = { 0 }, copy = { 0 };
		for (int i = 0; i < 40; i++) {
			uint64_t v = random_value(&seed);
			assert_int_equal(hist_add(&a, v), 0);
			assert_int_equal(hist_add(&copy, v), 0);
		}
		for (int i = 0; i < 10; i++)
			assert_int_equal(hist_add(&b, random_value(&seed)), 0);
		assert_int_equal(hist_merge(&a, &b), 0);
		assert_int_equal(a.n, 50);
		hist_subtract(&a, &b);
		assert_same(&a, &copy);
		hist_fini(&a);
		hist_fini(&b);
		hist_fini(&copy);
	}
}

/* What a histogram of samples ought to say, worked out from all of them. */
static void assert_says(const struct hist *h, const unsigned count[HIST_N])
{
	uint64_t octave[HIST_OCTAVES] = { 0 }, want[HIST_OCTAVES] = { 0 }, n, all = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < HIST_N; i++) {
		assert_int_equal(hist_count(h, i), count[i]);
		want[hist_octave(hist_lower(i))] += count[i];
		all += count[i];
		if (!count[i])
			continue;
		assert_true(hist_next(h, &at, &n));
		assert_int_equal(at++, i);
		assert_int_equal(n, count[i]);
	}
	assert_false(hist_next(h, &at, &n));
	assert_int_equal(h->n, all);
	hist_octaves(h, octave);
	assert_memory_equal(octave, want, sizeof(want));
}

/* A few samples take no memory; as soon as they are more nothing is forgotten. */
static void few_and_many(void **state)
{
	static unsigned left[HIST_N], right[HIST_N], both[HIST_N];
	uint64_t seed = 88172645463325252;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		unsigned na = round % 20, nb = round / 20;
		struct hist a = { 0 }, b = { 0 };
		memset(left, 0, sizeof(left));
		memset(right, 0, sizeof(right));
		for (unsigned i = 0; i < na + nb; i++) {
			uint64_t v = random_value(&seed) >> 40;
			(i < na ? left : right)[hist_index(v)]++;
			assert_int_equal(hist_add(i < na ? &a : &b, v), 0);
		}
		assert_int_equal(a.count != NULL, na > HIST_FEW);
		assert_says(&a, left);
		assert_says(&b, right);
		assert_int_equal(hist_merge(&a, &b), 0);
		for (unsigned i = 0; i < HIST_N; i++)
			both[i] = left[i] + right[i];
		assert_says(&a, both);
		hist_subtract(&a, &b);
		assert_says(&a, left);
		assert_int_equal(hist_fill(&b, 77, nb), 0);
		right[hist_index(77)] += nb;
		b.n += nb;
		assert_says(&b, right);
		hist_fini(&a);
		hist_fini(&b);
	}
}

/* Of a report that somebody has made up the sum of the buckets is not n. */
static void made_up(void **state)
{
	struct hist lie = { 0 }, to = { 0 }, none = { .n = 20, .sum = 7 }, part = { 0 };

	(void)state;
	assert_int_equal(hist_fill(&lie, 5, 200000), 0);
	lie.n = 1;
	assert_int_equal(hist_merge(&to, &lie), 0);
	assert_int_equal(hist_count(&to, 5), 200000);
	assert_int_equal(hist_merge(&to, &none), 0);
	assert_int_equal(to.n, 21);
	assert_int_equal(hist_count(&to, 5), 200000);
	hist_fini(&to);
	assert_int_equal(hist_merge(&to, &none), 0);
	assert_int_equal(to.n, 20);
	assert_null(to.count);
	/* More is taken out than there was, and what was not there. */
	for (int i = 0; i < 12; i++)
		assert_int_equal(hist_add(&part, i < 10 ? 6 : 5), 0);
	hist_subtract(&part, &lie);
	assert_int_equal(hist_count(&part, 5), 0);
	assert_int_equal(hist_count(&part, 6), 10);
	hist_fini(&to);
	assert_int_equal(hist_merge(&to, &part), 0);
	assert_int_equal(hist_count(&to, 6), 10);
	hist_fini(&to);
	hist_fini(&part);
	hist_fini(&lie);
}

static void octaves(void **state)
{
	static const struct {
		uint64_t value;
		unsigned octave;
	} row[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 1023, 10 },
		{ 1024, 11 }, { UINT64_C(1) << 63, 64 }, { UINT64_MAX, 64 } };
	uint64_t seed = 3, want[HIST_OCTAVES] = { 0 }, got[HIST_OCTAVES] = { 0 };
	struct hist h = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_int_equal(hist_octave(row[i].value), row[i].octave);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = random_value(&seed);
		assert_int_equal(hist_add(&h, v), 0);
		want[hist_octave(v)]++;
	}
	want[3] += 5; /* it adds */
	got[3] = 5;
	hist_octaves(&h, got);
	assert_memory_equal(got, want, sizeof(got));
	hist_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_table),
		cmocka_unit_test(every_value_in_its_bucket),
		cmocka_unit_test(empty),
		cmocka_unit_test(moments),
		cmocka_unit_test(exact_quantiles),
		cmocka_unit_test(quantiles_within_a_sixteenth),
		cmocka_unit_test(quantiles_stay_between_min_and_max),
		cmocka_unit_test(merge_is_a_then_b),
		cmocka_unit_test(merge_from_below),
		cmocka_unit_test(emptied),
		cmocka_unit_test(subtract_undoes_merge),
		cmocka_unit_test(few_and_many),
		cmocka_unit_test(made_up),
		cmocka_unit_test(octaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
