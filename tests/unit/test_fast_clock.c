/*
 * test_fast_clock.c - the time stamp counter against CLOCK_MONOTONIC
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static struct fast_clock running(void)
{
	struct fast_clock c;

	fast_clock_start(&c);
	usleep(5000);
	fast_clock_look(&c);
	return c;
}

/* How far apart the clocks are, at the moment that was measured most closely of some. */
static int64_t difference(const struct fast_clock *c)
{
	uint64_t best = UINT64_MAX;
	int64_t found = 0;

	for (int i = 0; i < 200; i++) {
		uint64_t a = fast_tsc(), ns = monotonic(), b = fast_tsc();
		if (b - a >= best)
			continue;
		best = b - a;
		found = (int64_t)(fast_clock_ns(c, a + (b - a) / 2) - ns);
	}
	return found;
}

static void is_close(void **state)
{
	int64_t best = INT64_MAX;

	(void)state;
	/* The rate is as good as two readings are; on a busy machine one may be bad. */
	for (int i = 0; i < 20 && best > 1000; i++) {
		struct fast_clock c = running();
		int64_t d = llabs(difference(&c));
		best = d < best ? d : best;
	}
	assert_in_range(best, 0, 1000);
}

static void stays_close(void **state)
{
	struct fast_clock c = running();
	int64_t best = INT64_MAX;

	(void)state;
	for (int i = 0; i < 50; i++) {
		usleep(2000);
		fast_clock_look(&c);
		int64_t d = llabs(difference(&c));
		best = d < best ? d : best;
	}
	assert_in_range(best, 0, 1000);
}

static void is_monotonic(void **state)
{
	struct fast_clock c = running();
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t ns = fast_clock_ns(&c, fast_tsc());
		assert_true(ns >= last);
		last = ns;
	}
}

/* What was before the newest pair of readings has its place too. */
static void goes_back(void **state)
{
	struct fast_clock c = running();
	uint64_t span = c.tsc - c.tsc0;

	(void)state;
	assert_int_equal(fast_clock_ns(&c, c.tsc), c.ns);
	assert_in_range(fast_clock_ns(&c, c.tsc0), c.ns0 - 1, c.ns0 + 1);
	for (uint64_t at = c.tsc0; at + span / 1000 < c.tsc; at += span / 1000 + 1)
		assert_true(fast_clock_ns(&c, at) <= fast_clock_ns(&c, at + span / 1000));
}

/* Before there is a rate, all times are that of the start. */
static void has_no_rate_yet(void **state)
{
	struct fast_clock c;

	(void)state;
	fast_clock_start(&c);
	assert_int_equal(fast_clock_ns(&c, c.tsc0 + 12345), c.ns0);
	assert_int_equal(fast_clock_ns(&c, 0), c.ns0);
}

/* A look that comes too soon changes nothing. */
static void looks_seldom(void **state)
{
	struct fast_clock c = running(), was = c;

	(void)state;
	fast_clock_look(&c);
	if (fast_tsc() - was.tsc < 100000)
		assert_int_equal(c.tsc, was.tsc);
	usleep(2000);
	fast_clock_look(&c);
	assert_true(c.tsc > was.tsc && c.ns > was.ns);
	assert_true(c.tsc0 == was.tsc0 && c.ns0 == was.ns0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_close),
		cmocka_unit_test(stays_close),
		cmocka_unit_test(is_monotonic),
		cmocka_unit_test(goes_back),
		cmocka_unit_test(has_no_rate_yet),
		cmocka_unit_test(looks_seldom),
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
