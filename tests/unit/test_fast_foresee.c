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
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

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

static void nobody_wants_it(void **state)
{
	uint64_t at[TEXT_MET];
	struct texts xs = { .nkept = 0 };
	struct foresight *s = foresee_begin();

	(void)state;
	foresee_stop(s);
	if (s)
		foresee_give(s, &xs);
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
		cmocka_unit_test(nobody_wants_it), cmocka_unit_test(one_cpu) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
