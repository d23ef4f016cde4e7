/*
 * test_groups.c - names of several processes
 */
#include "iops/groups.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void by_thread_then_process(void **state)
{
	struct groups g = { .n = 0 };

	(void)state;
	assert_int_equal(groups_add(&g, "cats:7,101"), 0);
	assert_int_equal(groups_add(&g, "dogs:8,7"), 0);
	assert_int_equal(groups_of(&g, 101, 1), 0);
	assert_int_equal(groups_of(&g, 7, 101), 1); /* the last one counts */
	assert_int_equal(groups_of(&g, 9, 8), 1);
	assert_int_equal(groups_of(&g, 9, 9), -1);
	assert_memory_equal(g.name[1], "dogs", g.len[1]);
	groups_fini(&g);
}

static void refused(void **state)
{
	static const char *const bad[] = { "", "x", ":1", "x:", "x:1,", "x:,1", "x:1 2",
		"x:-1", "x:99999999999" };

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct groups g = { .n = 0 };
		assert_int_equal(groups_add(&g, bad[i]), -EINVAL);
		groups_fini(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_thread_then_process),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
