/*
 * test_tags.c - groups of processes, and tags of them for block traces
 */
#include "iops/groups.h"
#include "iops/tags.h"
#include "iops/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

enum { RECORD = 48, PID_AT = 32 };
static const uint32_t queued = 0x00110001;

/* Of version 7, in the order of this machine, without a payload. */
static void record(uint8_t out[RECORD], uint32_t action, uint32_t pid)
{
	const uint32_t magic = 0x65617407;

	memset(out, 0, RECORD);
	memcpy(out, &magic, sizeof(magic));
	memcpy(out + PID_AT - 4, &action, sizeof(action));
	memcpy(out + PID_AT, &pid, sizeof(pid));
}

static void no_records(void **state)
{
	static const struct {
		const char *bytes;
		int result;
	} row[] = { { "abc", 0 }, { "abcd", -EBADMSG }, { "tae\7", -EBADMSG },
		{ "\6tae", -EPROTONOSUPPORT }, { "\11tae", -EPROTONOSUPPORT },
		{ "eat\6", -EPROTONOSUPPORT }, { "eat\7", 0 }, { "\10tae", 0 },
		{ "\7taf", -EBADMSG } };
	struct groups none = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		struct tags *tags = tags_new(&none);
		struct wire_out out = { 0 };
		size_t used = 1;
		assert_non_null(tags);
		assert_int_equal(tags_answer(tags, row[i].bytes, strlen(row[i].bytes),
					 &used, &out),
			row[i].result);
		assert_int_equal(used, 0);
		assert_int_equal(out.n, 0);
		tags_free(tags);
	}
}

/* Records one after the other, and a part of one more. */
static void pieces(void **state)
{
	struct groups none = { 0 };
	struct tags *tags = tags_new(&none);
	struct wire_out out = { 0 };
	uint8_t bytes[3 * RECORD];
	size_t used;

	(void)state;
	assert_non_null(tags);
	for (int i = 0; i < 3; i++)
		record(bytes + i * RECORD, queued, 7);
	assert_int_equal(tags_answer(tags, bytes, 3 * RECORD - 1, &used, &out), 0);
	assert_int_equal(used, 2 * RECORD);
	assert_int_equal(out.n, 12 + sizeof("? (7)") + 12 + 12);
	assert_string_equal((char *)out.p + 12, "? (7)");
	assert_int_equal(tags_answer(tags, bytes + used, RECORD, &used, &out), 0);
	assert_int_equal(used, RECORD);
	assert_int_equal(out.n, 12 + sizeof("? (7)") + 12 + 12 + 12);
	wire_fini(&out);
	tags_free(tags);
}

static void groups(void **state)
{
	struct groups g = { 0 };

	(void)state;
	assert_int_equal(groups_of(&g, 1, 1), -1);
	assert_int_equal(groups_add(&g, "a:1,2"), 0);
	assert_int_equal(groups_add(&g, "b b:0,2,2147483647"), 0);
	assert_int_equal(groups_add(&g, "a:3"), 0);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.len[0], 1);
	assert_memory_equal(g.name[0], "a", 1);
	assert_int_equal(g.len[1], 3);
	assert_memory_equal(g.name[1], "b b", 3);
	assert_int_equal(groups_of(&g, 0, 0), 1);
	assert_int_equal(groups_of(&g, 1, 1), 0);
	assert_int_equal(groups_of(&g, 2, 2), 1);
	assert_int_equal(groups_of(&g, 3, 3), 0);
	assert_int_equal(groups_of(&g, INT32_MAX, INT32_MAX), 1);
	assert_int_equal(groups_of(&g, 4, 4), -1);
	groups_fini(&g);
}

/* More processes than are remembered: those in use keep their tags. */
static void forgetting(void **state)
{
	struct groups none = { 0 };
	struct tags *tags = tags_new(&none);
	struct wire_out out = { 0 };
	uint8_t bytes[RECORD];
	size_t used, last = 0;

	(void)state;
	assert_non_null(tags);
	for (uint32_t pid = 1; pid < 1000000; pid++) {
		/* Every thousandth is of the same process. */
		uint32_t who = pid % 1000 ? pid : 1000;
		record(bytes, queued, who);
		out.n = 0;
		assert_int_equal(tags_answer(tags, bytes, RECORD, &used, &out), 0);
		assert_int_equal(used, RECORD);
		if (pid % 1000)
			assert_true(out.n > 24);
		else if (last++)
			assert_int_equal(out.n, 12);
	}
	assert_int_equal(last, 999);
	wire_fini(&out);
	tags_free(tags);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_records),
		cmocka_unit_test(pieces), cmocka_unit_test(groups),
		cmocka_unit_test(forgetting) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
