/*
 * test_blktrace.c - records of block traces, groups of processes, and tags
 */
#include "iops/blktrace.h"
#include "iops/groups.h"
#include "iops/tags.h"
#include "iops/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

struct field {
	unsigned len;
	uint64_t value;
};

/* Numbers in little or big endian, one behind the other. Returns how many bytes. */
static size_t put(uint8_t *out, const struct field *f, size_t n, bool big)
{
	uint8_t *p = out;

	for (; n--; f++)
		for (unsigned i = 0; i < f->len; i++)
			*p++ = (uint8_t)(f->value >> 8 * (big ? f->len - 1 - i : i));
	return p - out;
}

/* Every field has a value of its own; the payload is 12 bytes. */
static size_t record(uint8_t *out, int version, bool big, uint64_t action)
{
	const struct field seven[] = { { 4, 0x65617407 }, { 4, 0x01020304 },
		{ 8, 0x1122334455667788 }, { 8, 0x99aabbccddeeff00 }, { 4, 4096 },
		{ 4, action }, { 4, 70001 }, { 4, 7 << 20 | 3 }, { 4, 5 }, { 2, 65531 },
		{ 2, 12 }, { 8, 28 }, { 4, 0x01020304 } };
	const struct field eight[] = { { 4, 0x65617408 }, { 4, 0x01020304 },
		{ 8, 0x1122334455667788 }, { 8, 0x99aabbccddeeff00 }, { 4, 4096 },
		{ 4, 70001 }, { 8, action }, { 4, 7 << 20 | 3 }, { 4, 5 }, { 2, 65531 },
		{ 2, 12 }, { 8, 0 }, { 4, 0 }, { 8, 28 }, { 4, 0x01020304 } };

	return version == 7 ? put(out, seven, LENGTH(seven), big)
			    : put(out, eight, LENGTH(eight), big);
}

static bool big_machine(void)
{
	return *(const uint8_t *)&(const uint16_t){ 1 } == 0;
}

static void fields(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		uint8_t bytes[128];
		struct blk_record r;
		int version = 7 + (i & 1);
		bool big = i & 2;
		/* Bits beyond 31 are only in version 8. */
		uint64_t high = version == 8 ? UINT64_C(1) << 38 : 0;
		size_t size = record(bytes, version, big, high | 0x80110001);
		assert_int_equal(size, version == 7 ? 60 : 76);
		for (size_t len = 0; len < size; len++)
			assert_int_equal(blk_decode(&r, bytes, len), 0);
		assert_int_equal(blk_decode(&r, bytes, size), size);
		assert_int_equal(blk_decode(&r, bytes, sizeof(bytes)), size);
		assert_int_equal(r.version, version);
		assert_int_equal(r.swapped, big != big_machine());
		assert_int_equal(r.sequence, 0x01020304);
		assert_true(r.time_ns == UINT64_C(0x1122334455667788));
		assert_true(r.sector == UINT64_C(0x99aabbccddeeff00));
		assert_int_equal(r.bytes, 4096);
		assert_int_equal(r.pid, 70001);
		assert_int_equal(r.device, 7 << 20 | 3);
		assert_int_equal(r.cpu, 5);
		assert_int_equal(r.error, 65531);
		assert_int_equal(r.action, BLK_ACT_QUEUE);
		assert_int_equal(r.category,
			BLK_READ | BLK_QUEUE | BLK_FUA | (high ? BLK_WRITE_ZEROES : 0));
		assert_int_equal(r.cgroup, 0);
		assert_int_equal(r.payload_len, 12);
		assert_ptr_equal(r.payload, bytes + size - 12);
	}
}

static void cgroups(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		uint8_t bytes[128];
		struct blk_record r;
		size_t size = record(bytes, 7 + (i & 1), i & 2, 0x00420107);
		assert_int_equal(blk_decode(&r, bytes, size), size);
		assert_int_equal(r.action, BLK_ACT_ISSUE);
		assert_int_equal(r.cgroup, 28);
		assert_int_equal(r.payload_len, 4);
		assert_int_equal(blk_host32(&r, r.payload), 0x01020304);
	}
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
	struct blk_record r;

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_int_equal(blk_decode(&r, row[i].bytes, strlen(row[i].bytes)),
			row[i].result);
}

static void big_numbers(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	(void)state;
	assert_int_equal(blk_big32(bytes), 0x01020304);
	assert_true(blk_big64(bytes) == UINT64_C(0x0102030405060708));
}

static void names(void **state)
{
	static const struct {
		const char *payload;
		uint16_t len;
		const char *name;
	} row[] = { { "cat\0\0\0\0", 7, "cat" }, { "cat", 3, "cat" }, { "cat", 2, "ca" },
		{ "", 0, "" }, { "0123456789abcdef", 16, "0123456789abcde" },
		{ "0123456789abcdefghi", 19, "0123456789abcde" } };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		char comm[BLK_COMM];
		struct blk_record r = { .payload = (const uint8_t *)row[i].payload,
			.payload_len = row[i].len };
		blk_comm(&r, comm);
		assert_string_equal(comm, row[i].name);
	}
}

static void groups(void **state)
{
	struct groups g = { 0 };

	(void)state;
	assert_int_equal(groups_of(&g, 1), -1);
	assert_int_equal(groups_add(&g, "a:1,2"), 0);
	assert_int_equal(groups_add(&g, "b b:0,2,4294967295"), 0);
	assert_int_equal(groups_add(&g, "a:3"), 0);
	assert_int_equal(g.n, 2);
	assert_string_equal(g.name[0], "a");
	assert_string_equal(g.name[1], "b b");
	assert_int_equal(groups_of(&g, 0), 1);
	assert_int_equal(groups_of(&g, 1), 0);
	assert_int_equal(groups_of(&g, 2), 1);
	assert_int_equal(groups_of(&g, 3), 0);
	assert_int_equal(groups_of(&g, UINT32_MAX), 1);
	assert_int_equal(groups_of(&g, 4), -1);
	groups_fini(&g);
}

/* More processes than are remembered: those in use keep their tags. */
static void forgetting(void **state)
{
	struct groups none = { 0 };
	struct tags *tags = tags_new(&none);
	struct wire_out out = { 0 };
	uint8_t bytes[128];
	size_t used, last = 0;

	(void)state;
	assert_non_null(tags);
	for (uint32_t pid = 1; pid < 1000000; pid++) {
		size_t size = record(bytes, 7, big_machine(), 0x00110001);
		/* Every thousandth is of the same process. */
		uint32_t who = pid % 1000 ? pid : 1000;
		memcpy(bytes + 32, &who, sizeof(who));
		out.n = 0;
		assert_int_equal(tags_answer(tags, bytes, size, &used, &out), 0);
		assert_int_equal(used, size);
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(fields),
		cmocka_unit_test(cgroups), cmocka_unit_test(no_records),
		cmocka_unit_test(big_numbers), cmocka_unit_test(names),
		cmocka_unit_test(groups), cmocka_unit_test(forgetting) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
