/*
 * test_fast_numbers.c - which calls of a file are likely to be made by threads
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

enum { MANY = 1024 };

static struct texts texts;
static struct space here = { .refs = 1 };
static uint64_t library;

static const uint8_t *memory(uint64_t at)
{
	return (const uint8_t *)(uintptr_t)at;
}

/* Somewhere in the C library, not in what a sanitizer has in its place. */
static int begin(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	(void)state;
	library = (uintptr_t)dlsym(libc ? libc : RTLD_DEFAULT, "read");
	return text_look(&texts, &here, getpid(), library) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	texts_fini(&texts);
	return 0;
}

static unsigned calls(const bool wanted[NSHAPES], uint64_t *out)
{
	return text_calls(&texts, &here, getpid(), library, wanted, out, MANY);
}

/* Those whose number nothing tells are always among them. */
static void no_number(void **state)
{
	static uint64_t at[MANY];
	const bool none[NSHAPES] = { false };
	unsigned n = calls(none, at);

	(void)state;
	assert_in_range(n, 1, MANY - 1);
	for (unsigned i = 0; i < n; i++) {
		assert_memory_equal(memory(at[i]), "\x0f\x05", 2);
		assert_memory_not_equal(memory(at[i] - 7), "\x48\xc7\xc0", 3);
		assert_int_not_equal(memory(at[i] - 5)[0], 0xb8);
	}
}

/* The way back from signal handlers says mov $nr, %rax in every version of it. */
static void of_64_bits(void **state)
{
	static uint64_t at[MANY];
	bool wanted[NSHAPES] = { false };
	unsigned n = calls(wanted, at);

	(void)state;
	wanted[SYS_rt_sigreturn] = true;
	assert_int_equal(calls(wanted, at), n + 1);
}

/* Without threads read(2) is made from elsewhere, close to where it is with them. */
static void twins(void **state)
{
	static uint64_t at[MANY];
	bool wanted[NSHAPES] = { false };
	unsigned n = calls(wanted, at), near = 0;

	(void)state;
	wanted[SYS_read] = true;
	assert_true(calls(wanted, at) > n);
	for (unsigned i = 0; i < MANY && at[i]; i++)
		near += at[i] >= library && at[i] < library + 128;
	assert_int_equal(near, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_number),
		cmocka_unit_test(of_64_bits), cmocka_unit_test(twins) };

	return cmocka_run_group_tests(tests, begin, end);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
