/*
 * test_interval.c - a row for each interval, in three formats
 */
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/sinks.h"
#include "iops/units.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))
#define NS        UINT64_C(1000000000)

struct rig {
	struct sink *sink;
	char text[4096];
	size_t len;
	int answer;
};

static int keep(void *arg, const char *text, size_t len)
{
	struct rig *r = arg;

	assert_true(len < sizeof(r->text));
	assert_int_equal(strlen(text), len);
	memcpy(r->text, text, len + 1);
	r->len = len;
	return r->answer;
}

static void start(struct rig *r, enum interval_format format)
{
	struct interval_args a = { format, UNITS_IEC, keep, r };

	*r = (struct rig){ 0 };
	assert_int_equal(interval_new(&r->sink, &a), 0);
}

static void put(struct rig *r, unsigned kind, int64_t ret, uint64_t want, uint16_t call)
{
	struct op op = { .kind = kind, .ret = ret, .want = want, .call = call };

	assert_int_equal(sink_put(r->sink, &op), 0);
}

/* 3 reads of 600 bytes, one write of 24, an error, a sync, a copy of 1000 bytes. */
static void some(struct rig *r)
{
	for (int i = 0; i < 3; i++)
		put(r, OP_READ, 200, 4096, 0);
	put(r, OP_WRITE, 24, 24, 1);
	put(r, OP_WRITE, -ENOSPC, 24, 1);
	put(r, OP_READ, -EAGAIN, 10, 0);
	put(r, OP_READ, -512, 10, 0);
	put(r, OP_SYNC, 0, 0, 2);
	put(r, OP_META, 4711, 0, 3); /* a result, no bytes */
	put(r, OP_READ, 1000, 1000, 4);
	put(r, OP_WRITE, 1000, 1000, 4 | OP_SECOND);
	put(r, OP_PEEK, 50, 50, 5);
	put(r, OP_FORK, 12, 0, 0);
	put(r, OP_READ, 70, 7, 6 | OP_SUM);
}

static void csv(void **state)
{
	struct rig r;

	(void)state;
	start(&r, INTERVAL_CSV);
	some(&r);
	assert_int_equal(sink_tick(r.sink, 2 * NS), 0);
	assert_string_equal(r.text,
		"from_ns,to_ns,read_operations,read_bytes,read_errors,write_operations,"
		"write_bytes,write_errors,sync_operations,meta_operations\r\n"
		"0,2000000000,11,1670,0,2,1024,1,1,1\r\n");
	assert_int_equal(sink_tick(r.sink, 3 * NS), 0); /* each interval starts anew */
	assert_string_equal(r.text, "2000000000,3000000000,0,0,0,0,0,0,0,0\r\n");
	assert_int_equal(sink_close(r.sink), 0);
}

static double number(const cJSON *o, const char *group, const char *key)
{
	const cJSON *g = group ? cJSON_GetObjectItemCaseSensitive(o, group) : o;
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(g, key);

	assert_true(cJSON_IsNumber(n));
	return n->valuedouble;
}

static void json(void **state)
{
	static const struct {
		const char *group;
		int operations, bytes, errors;
	} row[] = { { "read", 11, 1670, 0 }, { "write", 2, 1024, 1 }, { "sync", 1, 0, 0 },
		{ "meta", 1, 0, 0 } };
	struct rig r;

	(void)state;
	start(&r, INTERVAL_JSON);
	assert_int_equal(sink_tick(r.sink, NS), 0);
	some(&r);
	assert_int_equal(sink_tick(r.sink, 2 * NS), 0);
	assert_ptr_equal(strchr(r.text, '\n'), r.text + r.len - 1); /* one line */
	cJSON *o = cJSON_Parse(r.text);
	assert_non_null(o);
	assert_string_equal(
		cJSON_GetObjectItem(o, "schema")->valuestring, "iops.interval/1");
	assert_int_equal(number(o, NULL, "from_ns"), NS);
	assert_int_equal(number(o, NULL, "to_ns"), 2 * NS);
	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_int_equal(
			number(o, row[i].group, "operations"), row[i].operations);
		assert_int_equal(number(o, row[i].group, "bytes"), row[i].bytes);
		assert_int_equal(number(o, row[i].group, "errors"), row[i].errors);
	}
	cJSON_Delete(o);
	assert_int_equal(sink_close(r.sink), 0);
}

static void json_is_exact(void **state)
{
	struct rig r;

	(void)state;
	start(&r, INTERVAL_JSON);
	put(&r, OP_READ, INT64_MAX, 1, 0);
	assert_int_equal(sink_tick(r.sink, (UINT64_C(1) << 53) + 1), 0);
	assert_non_null(strstr(r.text, "\"to_ns\": 9007199254740993,"));
	assert_non_null(strstr(r.text, "\"bytes\": 9223372036854775807,"));
	assert_int_equal(sink_close(r.sink), 0);
}

static void table(void **state)
{
	struct rig r;

	(void)state;
	start(&r, INTERVAL_TABLE);
	some(&r);
	assert_int_equal(sink_tick(r.sink, 2 * NS), 0);
	char *second = strchr(r.text, '\n') + 1;
	assert_non_null(strstr(r.text, "throughput\n"));
	/* 12 calls that read or wrote within 2 s; the copy is one of them. */
	assert_string_equal(second, "  2.00 s         11    1.6 KiB          2    1.0 KiB"
				    "        1          6   1.3 KiB/s\n");
	assert_int_equal(strlen(second), second - r.text); /* as wide as the header */
	assert_int_equal(sink_tick(r.sink, 3 * NS), 0);
	assert_string_equal(r.text,
		"  3.00 s          0        0 B          0        0 B"
		"        0          0       0 B/s\n");
	assert_int_equal(sink_close(r.sink), 0);
}

static void header_again(void **state)
{
	struct rig r;
	int headers = 0;

	(void)state;
	start(&r, INTERVAL_TABLE);
	for (int i = 0; i < 48; i++) {
		assert_int_equal(sink_tick(r.sink, (i + 1) * NS), 0);
		bool header = strstr(r.text, "throughput");
		assert_int_equal(header, i % 24 == 0);
		headers += header;
	}
	assert_int_equal(headers, 2);
	assert_int_equal(sink_close(r.sink), 0);
}

/* No time at all between two ticks divides by nothing. */
static void empty_interval(void **state)
{
	struct rig r;

	(void)state;
	start(&r, INTERVAL_TABLE);
	assert_int_equal(sink_tick(r.sink, NS), 0);
	assert_int_equal(sink_tick(r.sink, NS), 0);
	assert_null(strstr(r.text, "nan"));
	assert_null(strstr(r.text, "inf"));
	assert_int_equal(sink_close(r.sink), 0);
}

static void largest_numbers_fit(void **state)
{
	struct rig r;

	(void)state;
	for (enum interval_format f = INTERVAL_TABLE; f <= INTERVAL_CSV; f++) {
		start(&r, f);
		put(&r, OP_READ, INT64_MAX, UINT64_MAX, OP_SUM);
		put(&r, OP_WRITE, INT64_MAX, UINT64_MAX, OP_SUM);
		put(&r, OP_SYNC, INT64_MAX, UINT64_MAX, OP_SUM);
		put(&r, OP_META, INT64_MAX, UINT64_MAX, OP_SUM);
		assert_int_equal(sink_tick(r.sink, UINT64_MAX), 0);
		assert_int_equal(r.text[r.len - 1], '\n');
		assert_int_equal(sink_close(r.sink), 0);
	}
}

static void errors_come_back(void **state)
{
	struct rig r;

	(void)state;
	start(&r, INTERVAL_CSV);
	r.answer = -EPIPE;
	assert_int_equal(sink_tick(r.sink, NS), -EPIPE);
	assert_int_equal(sink_close(r.sink), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv),
		cmocka_unit_test(json),
		cmocka_unit_test(json_is_exact),
		cmocka_unit_test(table),
		cmocka_unit_test(header_again),
		cmocka_unit_test(empty_interval),
		cmocka_unit_test(largest_numbers_fit),
		cmocka_unit_test(errors_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
