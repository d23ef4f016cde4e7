/*
 * test_requests.c - requests that are not answered yet
 */
#include "../../src/source/ptrace/async.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct request *add(struct requests *q, uint64_t key, uint64_t at, pid_t tid)
{
	struct request *r = requests_add(q, key);

	assert_non_null(r);
	r->at = at;
	r->op[0].tid = tid;
	return r;
}

/* The oldest of a key is answered first. */
static void in_order(void **state)
{
	struct requests q = { 0 };

	(void)state;
	assert_null(requests_find(&q, 7));
	for (uint64_t i = 0; i < 1000; i++)
		add(&q, i % 3, i, 1);
	assert_int_equal(q.n, 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		struct request *r = requests_find(&q, i % 3);
		assert_non_null(r);
		assert_int_equal(r->at, i);
		requests_done(NULL, &q, r);
	}
	assert_int_equal(q.n, 0);
	for (uint64_t key = 0; key < 3; key++)
		assert_null(requests_find(&q, key));
	requests_fini(NULL, &q);
}

/* Keys that come and go use the same places. */
static void reused(void **state)
{
	struct requests q = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		add(&q, i, i, 1);
		if (i >= 40)
			requests_done(NULL, &q, requests_find(&q, i - 40));
	}
	assert_int_equal(q.n, 40);
	assert_int_equal(q.cap, 64);
	requests_fini(NULL, &q);
}

/* What is taken back was asked for last, by one task or by all. */
static void undone(void **state)
{
	struct requests q = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		add(&q, i % 2, i, 1 + (pid_t)(i % 4) / 2);
	requests_undo(NULL, &q, 12, 2); /* 14, 15, 18, 19 */
	assert_int_equal(q.n, 16);
	requests_undo(NULL, &q, 16, 0); /* 16, 17 */
	assert_int_equal(q.n, 14);
	static const uint64_t left[2][7] = { { 0, 2, 4, 6, 8, 10, 12 },
		{ 1, 3, 5, 7, 9, 11, 13 } };
	for (uint64_t key = 0; key < 2; key++)
		for (int i = 0; i < 7; i++) {
			struct request *r = requests_find(&q, key);
			assert_non_null(r);
			assert_int_equal(r->at, left[key][i]);
			requests_done(NULL, &q, r);
		}
	add(&q, 0, 1, 1);
	add(&q, 0, 2, 1);
	requests_undo(NULL, &q, 1, 0); /* all */
	assert_null(requests_find(&q, 0));
	struct request *again = add(&q, 0, 3, 1);
	assert_ptr_equal(again, requests_find(&q, 0));
	requests_fini(NULL, &q);
}

/* One in the middle or at the end is answered; whether the next of a key is another. */
static void not_the_oldest(void **state)
{
	struct requests q = { 0 };

	(void)state;
	struct request *r[4];
	for (int i = 0; i < 4; i++) {
		r[i] = add(&q, 9, (uint64_t)i, 1);
		r[i]->op[0].call = i == 3;
	}
	assert_false(requests_confused(&q, r[0], 10));
	assert_true(requests_confused(&q, r[2], 10));
	r[3]->op[0].start_ns = 11; /* later than that answer */
	assert_false(requests_confused(&q, r[2], 10));
	assert_false(requests_confused(&q, r[3], 10));
	requests_done(NULL, &q, r[1]);
	requests_done(NULL, &q, r[3]);
	assert_false(requests_confused(&q, r[2], 10));
	struct request *last = add(&q, 9, 4, 1);
	last->op[0].file = 1;
	assert_true(requests_confused(&q, r[2], 10));
	static const uint64_t left[] = { 0, 2, 4 };
	for (int i = 0; i < 3; i++) {
		struct request *oldest = requests_find(&q, 9);
		assert_non_null(oldest);
		assert_int_equal(oldest->at, left[i]);
		requests_done(NULL, &q, oldest);
	}
	assert_null(requests_find(&q, 9));
	requests_fini(NULL, &q);
}

static void by_position(void **state)
{
	struct requests q = { 0 };

	(void)state;
	const struct request what[] = {
		{ .key = 1, .at = 1, .moves = 1 },
		{ .key = 2, .at = 2, .moves = 3 }, /* by two positions: is one request */
		{ .key = 3, .at = 3 },
	};
	assert_non_null(requests_put(&q, &what[0]));
	assert_int_equal(q.positions, 1);
	assert_non_null(requests_put(&q, &what[1]));
	assert_non_null(requests_put(&q, &what[2]));
	assert_int_equal(q.positions, 2);
	requests_done(NULL, &q, requests_find(&q, 1));
	assert_int_equal(q.positions, 1);
	requests_undo(NULL, &q, 0, 0);
	assert_int_equal(q.positions, 0);
	requests_fini(NULL, &q);
}

static void no_more_than(void **state)
{
	struct requests q = { 0 };

	(void)state;
	for (unsigned i = 0; i < REQUESTS_MAX; i++)
		assert_non_null(requests_add(&q, i % 1000));
	assert_null(requests_add(&q, 5));
	requests_done(NULL, &q, requests_find(&q, 5));
	assert_non_null(requests_add(&q, 5));
	requests_fini(NULL, &q);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_order),
		cmocka_unit_test(reused), cmocka_unit_test(undone),
		cmocka_unit_test(not_the_oldest), cmocka_unit_test(by_position), cmocka_unit_test(no_more_than) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
