/*
 * test_map.c - the hash table against a plain array
 */
#include "iops/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void empty(void **state)
{
	struct map m = { 0 };

	(void)state;
	assert_int_equal(map_get(&m, 1, 2), 0);
	assert_int_equal(map_del(&m, 1, 2), 0);
	map_fini(&m);
}

static void both_words_are_the_key(void **state)
{
	static const uint64_t key[][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 },
		{ 1, UINT64_C(1) << 32 }, { UINT64_C(1) << 32, 1 },
		{ UINT64_MAX, UINT64_MAX } };
	enum { N = sizeof(key) / sizeof(*key) };
	struct map m = { 0 };

	(void)state;
	for (int i = 0; i < N; i++)
		assert_int_equal(map_put(&m, key[i][0], key[i][1], 100 + i), 0);
	assert_int_equal(m.n, N);
	for (int i = 0; i < N; i++)
		assert_int_equal(map_get(&m, key[i][0], key[i][1]), 100 + i);
	assert_int_equal(map_get(&m, 2, 2), 0);
	map_fini(&m);
	assert_int_equal(m.n, 0);
	assert_null(m.slot);
}

static void put_again_replaces(void **state)
{
	struct map m = { 0 };

	(void)state;
	assert_int_equal(map_put(&m, 7, 8, 1), 0);
	assert_int_equal(map_put(&m, 7, 8, 2), 0);
	assert_int_equal(m.n, 1);
	assert_int_equal(map_get(&m, 7, 8), 2);
	assert_int_equal(map_del(&m, 7, 8), 2);
	assert_int_equal(map_del(&m, 7, 8), 0);
	assert_int_equal(m.n, 0);
	assert_int_equal(map_get(&m, 7, 8), 0);
	map_fini(&m);
}

static void grows(void **state)
{
	struct map m = { 0 };
	enum { N = 20000 };

	(void)state;
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(map_put(&m, i, i % 7, i + 1), 0);
	assert_int_equal(m.n, N);
	assert_true(m.cap > m.n);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(map_get(&m, i, i % 7), i + 1);
	map_fini(&m);
}

/* Random puts and deletions, so many that clusters form and break. */
static void like_an_array(void **state)
{
	enum { A = 12, B = 11 };
	uintptr_t want[A][B] = { { 0 } };
	struct map m = { 0 };
	size_t n = 0;

	(void)state;
	srand(1);
	for (int step = 0; step < 30000; step++) {
		unsigned a = rand() % A, b = rand() % B;
		if (rand() % 2) {
			uintptr_t v = rand() % 1000 + 1;
			n += !want[a][b];
			want[a][b] = v;
			assert_int_equal(map_put(&m, a, b, v), 0);
		} else {
			n -= !!want[a][b];
			assert_int_equal(map_del(&m, a, b), want[a][b]);
			want[a][b] = 0;
		}
		assert_int_equal(m.n, n);
		for (unsigned i = 0; step % 10 == 0 && i < A * B; i++)
			assert_int_equal(map_get(&m, i / B, i % B), want[i / B][i % B]);
	}
	map_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(both_words_are_the_key),
		cmocka_unit_test(put_again_replaces),
		cmocka_unit_test(grows),
		cmocka_unit_test(like_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
