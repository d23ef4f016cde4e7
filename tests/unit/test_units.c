/*
 * test_units.c - numbers as people read them, text cut to a width
 */
#include "iops/units.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

static void counts(void **state)
{
	static const struct {
		uint64_t n;
		enum units u;
		const char *want;
	} row[] = {
		{ 0, UNITS_IEC, "0" },
		{ 999, UNITS_IEC, "999" },
		{ 1000, UNITS_IEC, "1,000" },
		{ 1234567, UNITS_SI, "1,234,567" },
		{ 1234567, UNITS_RAW, "1234567" },
		{ 100000, UNITS_IEC, "100,000" },
		{ UINT64_MAX, UNITS_IEC, "18,446,744,073,709,551,615" },
		{ UINT64_MAX, UNITS_RAW, "18446744073709551615" },
	};
	char buf[UNITS_LEN];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_string_equal(units_count(buf, row[i].n, row[i].u), row[i].want);
}

static void bytes(void **state)
{
	static const struct {
		uint64_t n;
		enum units u;
		const char *want;
	} row[] = {
		{ 0, UNITS_IEC, "0 B" },
		{ 1, UNITS_SI, "1 B" },
		{ 1023, UNITS_IEC, "1023 B" },
		{ 1024, UNITS_IEC, "1.0 KiB" },
		{ 1024, UNITS_SI, "1.0 kB" },
		{ 999, UNITS_SI, "999 B" },
		{ 1000, UNITS_SI, "1.0 kB" },
		{ 1536, UNITS_IEC, "1.5 KiB" },
		{ 1048575, UNITS_IEC, "1.0 MiB" }, /* never "1024.0 KiB" */
		{ 1048576, UNITS_IEC, "1.0 MiB" },
		{ 999949, UNITS_SI, "999.9 kB" },
		{ 999999, UNITS_SI, "1.0 MB" },
		{ UINT64_C(8808038), UNITS_IEC, "8.4 MiB" },
		{ UINT64_MAX, UNITS_IEC, "16.0 EiB" },
		{ UINT64_MAX, UNITS_SI, "18.4 EB" },
		{ 1234567, UNITS_RAW, "1234567" },
	};
	char buf[UNITS_LEN];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_string_equal(units_bytes(buf, row[i].n, row[i].u), row[i].want);
}

static void rates(void **state)
{
	static const struct {
		double n;
		enum units u;
		const char *want;
	} row[] = {
		{ 0, UNITS_IEC, "0 B/s" },
		{ 6.8 * 1048576, UNITS_IEC, "6.8 MiB/s" },
		{ 2.5e9, UNITS_SI, "2.5 GB/s" },
		{ 1023.4, UNITS_IEC, "1023 B/s" },
		{ 1234.4, UNITS_RAW, "1234" },
	};
	char buf[UNITS_LEN];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_string_equal(units_rate(buf, row[i].n, row[i].u), row[i].want);
}

/* Rounding up to the next unit takes its name. */
static void rates_round_into_the_next_unit(void **state)
{
	char buf[UNITS_LEN];

	(void)state;
	assert_string_equal(units_rate(buf, 1023.98, UNITS_IEC), "1.0 KiB/s");
	assert_string_equal(units_rate(buf, 1023.7, UNITS_IEC), "1.0 KiB/s");
	assert_string_equal(units_rate(buf, 999.7, UNITS_SI), "1.0 kB/s");
}

static void times(void **state)
{
	static const struct {
		uint64_t ns;
		enum units u;
		const char *want;
	} row[] = {
		{ 0, UNITS_IEC, "0 ns" },
		{ 999, UNITS_IEC, "999 ns" },
		{ 1000, UNITS_IEC, "1.0 us" },
		{ 1900, UNITS_SI, "1.9 us" },
		{ 99949, UNITS_IEC, "99.9 us" },
		{ 99950, UNITS_IEC, "100 us" },
		{ 999499, UNITS_IEC, "999 us" },
		{ 999500, UNITS_IEC, "1.0 ms" },
		{ 1000000, UNITS_IEC, "1.0 ms" },
		{ 1230000000, UNITS_IEC, "1.23 s" },
		{ 12300000000, UNITS_IEC, "12.3 s" },
		{ 3600000000000, UNITS_IEC, "3600 s" },
		{ 1234567, UNITS_RAW, "1234567" },
	};
	char buf[UNITS_LEN];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_string_equal(units_ns(buf, row[i].ns, row[i].u), row[i].want);
}

/* All fits the room that the header asks for. */
static void fits(void **state)
{
	char buf[UNITS_LEN + 1];

	(void)state;
	for (int b = 0; b <= 64; b++)
		for (enum units u = UNITS_IEC; u <= UNITS_RAW; u++) {
			uint64_t n = b == 64 ? UINT64_MAX : UINT64_C(1) << b;
			buf[UNITS_LEN] = 'x';
			assert_true(strlen(units_count(buf, n, u)) < UNITS_LEN);
			assert_true(strlen(units_bytes(buf, n, u)) < UNITS_LEN);
			assert_true(strlen(units_ns(buf, n, u)) < UNITS_LEN);
			assert_true(strlen(units_rate(buf, (double)n, u)) < UNITS_LEN);
			assert_int_equal(buf[UNITS_LEN], 'x');
		}
}

static void width(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} row[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "\xc3\xa4", 1 },                 /* a umlaut */
		{ "e\xcc\x81", 1 },                /* combining acute accent */
		{ "\xe6\xbc\xa2\xe5\xad\x97", 4 }, /* kanji */
		{ "a\xff", 5 },
		{ "\xc3", 4 },
		{ "\xe6\xbc", 8 },
		{ "\xe2\x80\xae", 12 }, /* U+202E would turn the rest of the line around */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		assert_int_equal(units_width(row[i].text), row[i].want);
}

static void elide(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		bool utf8;
		const char *want;
	} row[] = {
		{ "short", 10, true, "short" },
		{ "exactly", 7, true, "exactly" },
		{ "0123456789", 7, true,
			"01\xe2\x80\xa6"
			"6789" },
		{ "0123456789", 7, false, "0...789" },
		{ "0123456789", 1, true, "\xe2\x80\xa6" },
		{ "0123456789", 3, false, "..." },
		{ "\xff", 10, true, "\\xff" },
		{ "", 5, true, "" },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		char *got = units_elide(
			buf, sizeof(buf), row[i].text, row[i].width, row[i].utf8);
		assert_ptr_equal(got, buf);
		assert_string_equal(buf, row[i].want);
	}
}

/* Whatever the text, it is no wider than asked for, and moves no cursor. */
static void elide_holds_to_width(void **state)
{
	static const char *const text[] = { "/usr/share/doc/a-rather-long-name/README",
		"/\xe6\xbc\xa2\xe5\xad\x97/\xe6\xbc\xa2\xe5\xad\x97/\xe6\xbc\xa2/x",
		"/tmp/\x1b[2J\x1b[H\r\n\t\x7f/end",
		"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7",
		"/e\xcc\x81/e\xcc\x81/e\xcc\x81/e\xcc\x81/e\xcc\x81/e\xcc\x81" };
	char buf[128];

	(void)state;
	for (size_t i = 0; i < LENGTH(text); i++)
		for (size_t w = 3; w < 60; w++)
			for (int utf8 = 0; utf8 <= 1; utf8++) {
				units_elide(buf, sizeof(buf), text[i], w, utf8);
				assert_true(units_width(buf) <= w);
				for (char *p = buf; *p; p++)
					assert_false(
						(unsigned char)*p < ' ' || *p == 0x7f);
			}
}

static void elide_holds_to_size(void **state)
{
	char text[300], buf[64];

	(void)state;
	for (int fill = 0; fill < 2; fill++)
		for (size_t size = 8; size < 40; size++) {
			memset(text, fill ? '\xff' : 'x', sizeof(text) - 1);
			text[sizeof(text) - 1] = 0;
			memset(buf, '#', sizeof(buf));
			units_elide(buf, size, text, 1000, true);
			assert_true(strlen(buf) < size);
			for (size_t i = size; i < sizeof(buf); i++)
				assert_int_equal(buf[i], '#');
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(bytes),
		cmocka_unit_test(rates),
		cmocka_unit_test(rates_round_into_the_next_unit),
		cmocka_unit_test(times),
		cmocka_unit_test(fits),
		cmocka_unit_test(width),
		cmocka_unit_test(elide),
		cmocka_unit_test(elide_holds_to_width),
		cmocka_unit_test(elide_holds_to_size),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
