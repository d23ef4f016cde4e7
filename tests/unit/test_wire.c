/*
 * test_wire.c - numbers and bytes as the log holds them
 */
#include "iops/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

static struct wire_in all_of(const struct wire_out *o)
{
	return (struct wire_in){ o->p, o->p + o->n, false };
}

static void numbers(void **state)
{
	static const struct {
		uint64_t n;
		size_t len;
	} row[] = { { 0, 1 }, { 1, 1 }, { 127, 1 }, { 128, 2 }, { 16383, 2 },
		{ 16384, 3 }, { UINT32_MAX, 5 }, { INT64_MAX, 9 },
		{ UINT64_C(1) << 63, 10 }, { UINT64_MAX, WIRE_MAX } };
	struct wire_out o = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		size_t before = o.n;
		wire_u64(&o, row[i].n);
		assert_int_equal(o.n - before, row[i].len);
	}
	struct wire_in in = all_of(&o);
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_true(wire_get(&in) == row[i].n);
	assert_ptr_equal(in.p, in.end);
	assert_false(in.bad);
	wire_fini(&o);
}

static void every_power_of_two(void **state)
{
	struct wire_out o = { 0 };

	(void)state;
	for (int bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++)
			wire_u64(&o, (UINT64_C(1) << bit) + (uint64_t)more);
	struct wire_in in = all_of(&o);
	for (int bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++)
			assert_true(
				wire_get(&in) == (UINT64_C(1) << bit) + (uint64_t)more);
	assert_false(in.bad);
	wire_fini(&o);
}

/* No prefix of a number is one, and nothing beyond 64 bits is. */
static void no_numbers(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} row[] = {
		{ "", 0 },
		{ "\x80", 1 },
		{ "\xff\xff", 2 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		const uint8_t *p = (const uint8_t *)row[i].bytes;
		struct wire_in in = { p, p + row[i].len, false };
		assert_int_equal(wire_get(&in), 0);
		assert_true(in.bad);
		assert_true(in.p <= in.end);
	}
}

static void zigzag(void **state)
{
	static const struct {
		int64_t n;
		uint64_t z;
	} row[] = { { 0, 0 }, { -1, 1 }, { 1, 2 }, { -2, 3 }, { -64, 127 }, { 64, 128 },
		{ INT64_MAX, UINT64_MAX - 1 }, { INT64_MIN, UINT64_MAX } };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_true(wire_zigzag(row[i].n) == row[i].z);
		assert_true(wire_unzigzag(row[i].z) == row[i].n);
	}
}

static void fixed(void **state)
{
	struct wire_out o = { 0 };

	(void)state;
	wire_fixed(&o, 0xab, 1);
	wire_fixed(&o, 0x1234, 2);
	wire_fixed(&o, 0x89abcdef, 4);
	wire_fixed(&o, UINT64_C(0x0123456789abcdef), 8);
	assert_memory_equal(
		o.p, "\xab\x34\x12\xef\xcd\xab\x89\xef\xcd\xab\x89\x67\x45\x23\x01", o.n);
	struct wire_in in = all_of(&o);
	assert_int_equal(wire_get_fixed(&in, 1), 0xab);
	assert_int_equal(wire_get_fixed(&in, 2), 0x1234);
	assert_int_equal(wire_get_fixed(&in, 4), 0x89abcdef);
	assert_true(wire_get_fixed(&in, 8) == UINT64_C(0x0123456789abcdef));
	assert_false(in.bad);
	in = all_of(&o);
	wire_get_bytes(&in, 8);
	assert_int_equal(wire_get_fixed(&in, 8), 0); /* only 7 are left */
	assert_true(in.bad);
	wire_fini(&o);
}

static void bytes(void **state)
{
	struct wire_out o = { 0 };

	(void)state;
	wire_bytes(&o, NULL, 0);
	wire_text(&o, "");
	wire_text(&o, "a\xff b");
	struct wire_in in = all_of(&o);
	assert_int_equal(wire_get(&in), 0);
	assert_int_equal(wire_get(&in), 4);
	assert_memory_equal(wire_get_bytes(&in, 4), "a\xff b", 4);
	assert_non_null(wire_get_bytes(&in, 0));
	assert_false(in.bad);
	assert_null(wire_get_bytes(&in, 1));
	assert_true(in.bad);
	in = all_of(&o);
	assert_null(wire_get_bytes(&in, SIZE_MAX));
	wire_fini(&o);
}

static void grows(void **state)
{
	struct wire_out o = { 0 };
	char *big = malloc(1 << 20);

	(void)state;
	assert_non_null(big);
	memset(big, 'x', 1 << 20);
	for (int i = 0; i < 5; i++)
		wire_bytes(&o, big, 1 << 20);
	assert_false(o.failed);
	assert_int_equal(o.n, 5 << 20);
	for (int i = 0; i < 5; i++)
		assert_memory_equal(o.p + ((size_t)i << 20), big, 1 << 20);
	free(big);
	wire_fini(&o);
	assert_null(o.p);
}

/* RFC 3720 B.4, and the check value of every catalogue of CRCs. */
static void crc(void **state)
{
	uint8_t b[32];

	(void)state;
	assert_int_equal(wire_crc(0, "123456789", 9), 0xe3069283);
	assert_int_equal(wire_crc(0, NULL, 0), 0);
	memset(b, 0, sizeof(b));
	assert_int_equal(wire_crc(0, b, sizeof(b)), 0x8a9136aa);
	memset(b, 0xff, sizeof(b));
	assert_int_equal(wire_crc(0, b, sizeof(b)), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		b[i] = (uint8_t)i;
	assert_int_equal(wire_crc(0, b, sizeof(b)), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		b[i] = (uint8_t)(31 - i);
	assert_int_equal(wire_crc(0, b, sizeof(b)), 0x113fdb5c);
	for (size_t i = 0; i <= sizeof(b); i++) /* in two parts it is the same */
		assert_int_equal(
			wire_crc(wire_crc(0, b, i), b + i, sizeof(b) - i), 0x113fdb5c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(every_power_of_two),
		cmocka_unit_test(no_numbers),
		cmocka_unit_test(zigzag),
		cmocka_unit_test(fixed),
		cmocka_unit_test(bytes),
		cmocka_unit_test(grows),
		cmocka_unit_test(crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
