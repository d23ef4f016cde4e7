/*
 * test_fast_results.c - what a call cannot have returned, says a record that lies
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { NOBODY = 0x3ffffff0 }; /* no process has this id */

static const int64_t large = INT64_C(3) << 30;
static struct rig *rig;

static int start(void **state)
{
	(void)state;
	rig = rig_new(1, NOBODY, "data");
	return rig ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

static void data(unsigned when, long nr, int64_t result, uint64_t asked)
{
	struct fast_rec *rec = rig_begin(rig, 0, nr, when, result);

	rec->arg[0] = 3;
	if (nr == SYS_copy_file_range)
		memcpy((uint8_t *)rec + R_TWO_ARG4, &asked, sizeof(asked));
	else
		rec->arg[2] = asked;
	rig_done(rig, 0, rec);
}

/* Nothing of it is counted, and what is lost is told. */
static void is_distrusted(long nr, int64_t result, uint64_t asked)
{
	void *state = NULL;

	data(1, nr, result, asked);
	assert_true(rig_is_distrusted(rig, 0));
	assert_int_equal(rig->nops, 0);
	stop(&state);
	start(&state);
}

static void numbers_end(void **state)
{
	static const int64_t results[] = { -4096, INT64_MIN, 0x7ffff001, INT64_MAX };

	(void)state;
	for (unsigned n = 0; n < sizeof(results) / sizeof(*results); n++)
		is_distrusted(SYS_write, results[n], UINT64_MAX);
	data(1, SYS_write, 0x7ffff000, 0x7ffff000);
	data(2, SYS_write, -4095, 1);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
}

/* A file system that copies by itself returns up to what was asked for. */
static void large_copies(void **state)
{
	(void)state;
	is_distrusted(SYS_copy_file_range, large + 1, (uint64_t)large);
	is_distrusted(SYS_copy_file_range, INT64_MAX, UINT64_MAX);
	data(1, SYS_copy_file_range, large, (uint64_t)large);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->op[0].ret, large);
	assert_int_equal(rig->op[1].ret, large);
	assert_int_equal(rig->nlost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_end, start, stop),
		cmocka_unit_test_setup_teardown(large_copies, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
