/*
 * test_fast_foresee.c - what a command will call is the same, whoever finds it out
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <elf.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

enum { MANY = 320 };

/* Calls that are foreseen in the loader, which is there below a sanitizer, too. 0: none.
 */
static unsigned foreseen(struct texts *xs, uint64_t at[TEXT_MET])
{
	const Elf64_Ehdr *loader = (const Elf64_Ehdr *)getauxval(AT_BASE);
	struct space here = { .refs = 1 };

	return text_look(xs, &here, getpid(), (uintptr_t)loader + loader->e_entry)
		       ? text_met_before(&here, here.code[0].from, at)
		       : 0;
}

static void by_nobody(void **state)
{
	uint64_t at[TEXT_MET];
	struct texts xs = { .nkept = 0 };

	(void)state;
	assert_int_equal(foreseen(&xs, at), 0);
	texts_fini(&xs);
}

/* By a thread, if it begins before we do it ourselves. */
static void give(struct texts *xs)
{
	struct foresight *s = foresee_begin();

	foresee_give(s, xs);
	foresee_give(s, xs); /* once is enough */
	foresee_free(s);
}

static void by_a_thread_or_by_us(void **state)
{
	uint64_t at[2][TEXT_MET];
	struct texts theirs = { .nkept = 0 }, ours = { .nkept = 0 };

	(void)state;
	give(&theirs);
	foresee_give(NULL, &ours);
	unsigned n = foreseen(&theirs, at[0]);
	assert_in_range(n, 8, TEXT_MET);
	assert_int_equal(foreseen(&ours, at[1]), n);
	assert_memory_equal(at[0], at[1], n * sizeof(**at));
	for (unsigned i = 0; i < n; i++)
		assert_true(text_is_call(getpid(), at[0][i]));
	texts_fini(&theirs);
	texts_fini(&ours);
}

/* What has been mapped by then is what it is of: the thread has seen another task. */
static void maps_stay(void **state)
{
	struct texts xs = { .nkept = 0 };

	(void)state;
	assert_int_equal(maps_of(&xs.maps, getpid()), 0);
	char *text = xs.maps.text;
	give(&xs);
	assert_ptr_equal(xs.maps.text, text);
	texts_fini(&xs);
}

/* What threads are likely to call in the loader, and how each can be patched: how many.
 */
static unsigned for_threads(struct texts *xs, uint64_t call[], struct plan plan[])
{
	const uintptr_t loader = (uintptr_t)getauxval(AT_BASE);
	const uintptr_t code = loader + ((const Elf64_Ehdr *)loader)->e_entry;
	struct space here = { .refs = 1 };
	bool likely[NSHAPES];

	fast_likely(likely);
	assert_true(text_look(xs, &here, getpid(), code));
	unsigned n = text_calls(xs, &here, getpid(), code, likely, call, MANY);
	text_plans(xs, &here, getpid(), call, n, plan);
	return n;
}

static unsigned place_of(uint64_t at, const uint64_t call[], unsigned n)
{
	unsigned i = 0;

	while (i < n && call[i] != at)
		i++;
	return i;
}

/* What is found out quickly, ours; and that with what somebody tells, who looks further:
 * until it is enough. */
struct both {
	struct texts ours, told;
	uint64_t call[2][MANY];
	struct plan plan[2][MANY];
	unsigned n[2]; /* of which calls and plans there are so many */
};

static void look_further(struct both *b, bool till)
{
	const uintptr_t loader = (uintptr_t)getauxval(AT_BASE);
	struct texts more = { .nkept = 0 };
	struct space here = { .refs = 1 };
	atomic_bool enough = till;
	bool likely[NSHAPES];

	memset(b, 0, sizeof(*b));
	fast_likely(likely);
	foresee_give(NULL, &b->ours);
	foresee_give(NULL, &b->told);
	texts_learn(&b->told, &more); /* nobody has looked */
	text_foresee_all(&more, &here, loader + ((const Elf64_Ehdr *)loader)->e_entry,
		likely, &enough);
	texts_learn(&b->told, &more);
	texts_fini(&more);
	b->n[0] = for_threads(&b->ours, b->call[0], b->plan[0]);
	b->n[1] = for_threads(&b->told, b->call[1], b->plan[1]);
	texts_fini(&b->ours);
	texts_fini(&b->told);
}

/* More than could be found out quickly, and nothing else about what could. */
static void before_threads(void **state)
{
	static struct both b;

	(void)state;
	look_further(&b, false);
	assert_in_range(b.n[0], 8, MANY - 1);
	assert_in_range(b.n[1], b.n[0] + 1, MANY - 1);
	for (unsigned i = 0; i < b.n[0]; i++) {
		unsigned at = place_of(b.call[0][i], b.call[1], b.n[1]);
		assert_int_not_equal(at, b.n[1]);
		assert_int_equal(b.plan[0][i].length, b.plan[1][at].length);
		assert_int_equal(b.plan[0][i].patch, b.plan[1][at].patch);
	}
}

/* It was not wanted any more: then it is as if nobody had looked. */
static void nothing_to_learn(void **state)
{
	static struct both b;

	(void)state;
	look_further(&b, true);
	assert_in_range(b.n[0], 8, MANY - 1);
	assert_int_equal(b.n[1], b.n[0]);
	assert_memory_equal(b.call[0], b.call[1], b.n[0] * sizeof(**b.call));
}

/* However far the thread has come by then. */
static void a_thread_may_be_late(void **state)
{
	static uint64_t call[MANY];
	static struct plan plan[MANY];

	(void)state;
	foresee_threads(NULL, NULL);
	for (unsigned late = 0; late < 24; late++) {
		struct texts xs = { .nkept = 0 };
		struct foresight *s = foresee_begin();
		foresee_give(s, &xs);
		usleep(late * 100);
		foresee_threads(s, &xs);
		foresee_threads(s, &xs); /* once is enough */
		assert_in_range(for_threads(&xs, call, plan), 8, MANY - 1);
		foresee_free(s);
		texts_fini(&xs);
	}
}

/* How many of the calls of a few functions of the C library have been met. */
static unsigned met_by_many(struct texts *xs)
{
	const uintptr_t from = (uintptr_t)getpid, to = from + 0x60;
	struct space here = { .refs = 1 };
	uint64_t at[TEXT_MET];
	unsigned n = 0;

	assert_true(text_look(xs, &here, getpid(), from));
	for (unsigned i = text_met_before(&here, from, at); i--;)
		n += at[i] >= from && at[i] < to;
	return n;
}

/* Whether it is told what many programs call, by a thread that has so long to begin with
 * what all call. */
static bool is_told(struct foresight *s, struct texts *xs, unsigned ms)
{
	enum { PATIENCE = 1000 };
	unsigned waited = 0;

	usleep(ms * 1000);
	assert_false(foresee_often(s, xs)); /* nobody has asked for what all call */
	foresee_give(s, xs);
	assert_int_equal(met_by_many(xs), 0);
	while (!foresee_often(s, xs) && waited++ < PATIENCE)
		usleep(1000);
	return foresee_often(s, xs);
}

static void what_many_call(void **state)
{
	enum { TRIES = 8 }; /* the other CPU may be busy */
	bool told = false;

	(void)state;
	for (unsigned i = 0; i < TRIES && !told; i++) {
		struct texts xs = { .nkept = 0 };
		struct foresight *s = foresee_begin();
		assert_false(foresee_often(NULL, &xs));
		if (!s)
			skip(); /* there is one CPU only */
		told = is_told(s, &xs, 10 << i);
		if (told) /* getpid(2), getuid(2) and the like */
			assert_in_range(met_by_many(&xs), 3, 8);
		foresee_free(s);
		texts_fini(&xs);
	}
	assert_true(told);
}

/* A plan is kept as it is; one whose padding is another call's is none of ours. */
static void plans_are_learnt(void **state)
{
	const struct plan before = { .patch = -5, .length = 5 },
			  cave = { .patch = 0, .cave = 40, .length = 2 },
			  same = { .patch = 0, .cave = 20, .length = 2 },
			  none = { .length = 0 };
	struct plans x = { .n = 0 }, from = { .n = 0 };

	(void)state;
	assert_true(plans_take(&x, 140, 100) && plans_take(&x, 140, 100));
	assert_false(plans_take(&x, 140, 120));
	assert_non_null(plans_add(&x, 100, &cave));
	assert_non_null(plans_add(&from, 100, &before));
	assert_true(plans_take(&from, 140, 120));
	assert_non_null(plans_add(&from, 120, &same));
	for (uint64_t call = 200; call < 240; call++)
		assert_non_null(plans_add(&from, call, &before));
	assert_true(plans_take(&from, 340, 300));
	assert_non_null(plans_add(&from, 300, &cave));
	assert_non_null(plans_add(&from, 400, &none));
	plans_learn(&x, &from);
	assert_int_equal(plans_get(&x, 100)->cave, 40);
	assert_null(plans_get(&x, 120));
	for (uint64_t call = 200; call < 240; call++)
		assert_int_equal(plans_get(&x, call)->patch, -5);
	assert_int_equal(plans_get(&x, 300)->cave, 40);
	assert_false(plans_take(&x, 340, 301));
	assert_int_equal(plans_get(&x, 400)->length, 0);
	assert_int_equal(x.n, 43);
	plans_fini(&x);
	plans_fini(&from);
}

static void nobody_wants_it(void **state)
{
	uint64_t at[TEXT_MET];
	struct texts xs = { .nkept = 0 };
	struct foresight *s = foresee_begin();

	(void)state;
	foresee_stop(s);
	if (s)
		foresee_give(s, &xs);
	foresee_threads(s, &xs);
	assert_int_equal(foreseen(&xs, at), 0);
	texts_fini(&xs);
	foresee_free(s);
	foresee_free(foresee_begin());
	foresee_free(NULL);
}

static void one_cpu(void **state)
{
	cpu_set_t was, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(was), &was), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &was))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_null(foresee_begin());
	assert_int_equal(sched_setaffinity(0, sizeof(was), &was), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_nobody),
		cmocka_unit_test(by_a_thread_or_by_us), cmocka_unit_test(maps_stay),
		cmocka_unit_test(before_threads), cmocka_unit_test(nothing_to_learn),
		cmocka_unit_test(a_thread_may_be_late), cmocka_unit_test(what_many_call),
		cmocka_unit_test(plans_are_learnt), cmocka_unit_test(nobody_wants_it),
		cmocka_unit_test(one_cpu) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
