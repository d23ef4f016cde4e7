/*
 * test_blktrace_live.c - records of block traces that come bit by bit, CPU by CPU
 */
#include "../../src/source/blktrace/order.h"
#include "iops/input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CPUS = 3, QUEUE = 0x00110001, PROCESS = 0x04000000 };

struct trace {
	struct input *in[CPUS];
	struct order order;
	uint32_t seq[CPUS];
};

static void begin(struct trace *t)
{
	char name[40];

	*t = (struct trace){ .seq = { 0 } };
	for (unsigned i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), "/dev/sda.blktrace.%u", i);
		assert_int_equal(input_growing(&t->in[i], name), 0);
	}
	assert_int_equal(order_init_live(&t->order, t->in, CPUS), 0);
}

static void end(struct trace *t)
{
	order_fini(&t->order);
	for (unsigned i = 0; i < CPUS; i++)
		input_close(t->in[i]);
}

/* An event, or a note with a name, of that CPU at that time. */
static size_t make(struct trace *t, uint8_t out[64], unsigned cpu, uint64_t at)
{
	const uint32_t magic = 0x65617407, action = at ? QUEUE : PROCESS, dev = 8 << 20,
		       seq = at ? ++t->seq[cpu] : 0, c = cpu;
	const uint16_t len = at ? 0 : 16;

	memset(out, 0, 64);
	memcpy(out, &magic, 4);
	memcpy(out + 4, &seq, 4);
	memcpy(out + 8, &at, 8);
	memcpy(out + 28, &action, 4);
	memcpy(out + 36, &dev, 4);
	memcpy(out + 40, &c, 4);
	memcpy(out + 46, &len, 2);
	memcpy(out + 48, "name", 5);
	return 48 + len;
}

static void add(struct trace *t, unsigned cpu, uint64_t at)
{
	uint8_t bytes[64];
	size_t n = make(t, bytes, cpu, at);

	assert_int_equal(feed_more(&t->order.feed[cpu], bytes, n), 0);
}

/* Times of what goes out before a moment; a note is an n. */
static const char *until(struct trace *t, uint64_t moment)
{
	static char text[4096];
	struct blk_rec r;
	int got;

	*text = 0;
	assert_int_equal(order_until(&t->order, moment), 0);
	while ((got = order_next(&t->order, &r)) > 0) {
		char *at = text + strlen(text);
		if (record_is_note(&r))
			strcpy(at, "n ");
		else
			sprintf(at, "%llu ", (unsigned long long)r.time);
		record_fini(&r);
	}
	assert_int_equal(got, 0);
	return text;
}

static void in_order(void **state)
{
	struct trace t;

	(void)state;
	begin(&t);
	assert_string_equal(until(&t, 100), "");
	add(&t, 0, 30);
	add(&t, 0, 110);
	add(&t, 2, 20);
	/* What is younger waits: another CPU may tell something between. */
	assert_string_equal(until(&t, 100), "20 30 ");
	add(&t, 1, 105);
	add(&t, 2, 120);
	assert_string_equal(until(&t, 115), "105 110 ");
	assert_string_equal(until(&t, 115), "");
	add(&t, 0, 119);
	assert_string_equal(until(&t, UINT64_MAX), "119 120 ");
	assert_int_equal(t.order.late, 0);
	for (unsigned i = 0; i < CPUS; i++)
		assert_false(feed_say(&t.order.feed[i]));
	end(&t);
}

/* A name comes before the event that it is of, also where that comes later. */
static void names_first(void **state)
{
	struct trace t;

	(void)state;
	begin(&t);
	add(&t, 1, 0);
	add(&t, 1, 50);
	add(&t, 0, 40);
	assert_string_equal(until(&t, 100), "40 n 50 ");
	add(&t, 1, 0);
	assert_string_equal(until(&t, 200), "n ");
	add(&t, 1, 210);
	assert_string_equal(until(&t, 300), "210 ");
	end(&t);
}

static void what_is_late_goes_out(void **state)
{
	struct trace t;

	(void)state;
	begin(&t);
	add(&t, 0, 50);
	assert_string_equal(until(&t, 100), "50 ");
	add(&t, 1, 40);
	assert_string_equal(until(&t, 100), "40 ");
	assert_int_equal(t.order.late, 1);
	end(&t);
}

static void gaps_and_garbage(void **state)
{
	struct trace t;

	(void)state;
	begin(&t);
	add(&t, 0, 10);
	t.seq[0] += 5;
	add(&t, 0, 20);
	assert_int_equal(feed_more(&t.order.feed[1], "garbage", 7), 0);
	add(&t, 1, 15);
	assert_string_equal(until(&t, 100), "10 15 20 ");
	assert_int_equal(feed_lost(&t.order.feed[0]), 5);
	assert_true(feed_say(&t.order.feed[1]));
	end(&t);
}

/* A long one, in shares of any size: all of it, and memory does not grow with it. */
static void a_long_trace(void **state)
{
	struct trace t;
	uint64_t at = 1, seen = 0;
	struct blk_rec r;

	(void)state;
	begin(&t);
	for (unsigned round = 1; round <= 300; round++) {
		for (unsigned i = 0; i < round; i++)
			add(&t, (at * 7) % CPUS, at), at++;
		assert_int_equal(order_until(&t.order, at - round % 5), 0);
		while (order_next(&t.order, &r) > 0)
			assert_int_equal(r.time, ++seen);
	}
	assert_int_equal(order_until(&t.order, UINT64_MAX), 0);
	while (order_next(&t.order, &r) > 0)
		assert_int_equal(r.time, ++seen);
	assert_int_equal(seen, at - 1);
	assert_int_equal(t.order.late, 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(names_first),
		cmocka_unit_test(what_is_late_goes_out),
		cmocka_unit_test(gaps_and_garbage),
		cmocka_unit_test(a_long_trace),
	};

	return cmocka_run_group_tests_name("blktrace_live", tests, NULL, NULL);
}
