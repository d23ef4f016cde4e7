/*
 * test_fast_restore.c - code as it was before it was patched, also half of it
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGE = 4096, SITES = 8, LENGTH = 7, ENTER = 0x70000120 };
/* mov $1, %eax; syscall; and behind each of them room for the second jump. */
static const uint8_t site_code[LENGTH] = { 0xb8, 1, 0, 0, 0, 0x0f, 0x05 };
static const uint8_t room[STUB_JUMP] = { 0x66, 0x0f, 0x1f, 0x44, 0x00 };

/* Our own memory as it would be in a copy: code, and pages of stubs. */
struct copy {
	uint8_t *code, *pages;
	struct space *space;
};

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static uint8_t *code_of(const struct copy *c, unsigned i)
{
	return c->code + i * 64;
}

static uint8_t *cave_of(const struct copy *c, unsigned i)
{
	return code_of(c, i) + 32;
}

static void put_site(struct copy *c, unsigned i, unsigned page)
{
	bool cave = i % 2;
	uint8_t *code = code_of(c, i);
	struct site *s = space_site(c->space, address(code + 5));

	assert_non_null(s);
	memcpy(code, site_code, LENGTH);
	memcpy(cave_of(c, i), room, sizeof(room));
	s->state = SITE_PATCHED;
	s->stub = address(c->pages + page * PAGE + (1 + i) * STUB_SIZE);
	s->patch = address(cave ? code + 5 : code);
	s->length = cave ? 2 : LENGTH;
	s->cave = cave ? address(cave_of(c, i)) : 0;
	memcpy(s->old, cave ? site_code + 5 : site_code, s->length);
	memcpy(s->cave_old, room, sizeof(room));
	stub_site(s);
}

static void patch(const struct copy *c, unsigned i, unsigned n_bytes)
{
	const struct site *s = &c->space->site[i];
	struct stub_code jump;
	uint8_t *at = (uint8_t *)(uintptr_t)s->patch;

	if (s->cave) {
		stub_jump(&jump, s->cave, s->stub);
		memcpy(cave_of(c, i), jump.byte, STUB_JUMP);
	}
	memcpy(at, s->now, s->length);
	if (n_bytes < s->length) { /* the first comes last */
		at[0] = 0xcc;
		memcpy(at + 1, s->old + 1, s->length - 1u);
		memcpy(at + 1, s->now + 1, n_bytes);
	}
}

static bool is_as_it_was(const struct copy *c, unsigned i)
{
	return !memcmp(code_of(c, i), site_code, LENGTH) &&
	       !memcmp(cave_of(c, i), room, sizeof(room));
}

static void begin(struct copy *c)
{
	c->code = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(c->code, MAP_FAILED);
	c->pages = c->code + PAGE;
	c->space = space_new();
	assert_non_null(c->space);
	c->space->stubs = calloc(8, sizeof(*c->space->stubs));
	for (unsigned i = 0; i < 4; i++) {
		c->space->stubs[c->space->nstubs++] =
			(struct stubs){ .at = address(c->pages + i * PAGE), .n = 5 };
		memcpy(c->pages + i * PAGE, &(uint64_t){ ENTER }, 8);
	}
	for (unsigned i = 0; i < SITES; i++)
		put_site(c, i, 0);
}

static void end(struct copy *c)
{
	space_put(c->space);
	munmap(c->code, 8 * PAGE);
}

/* Whole, half in both ways, with its second jump alone, not at all. */
static void patch_in_all_ways(struct copy *c)
{
	for (unsigned i = 0; i < 2; i++) {
		patch(c, i, 99);
		patch(c, 2 + i, 0);
	}
	patch(c, 4, LENGTH - 1);
	patch(c, 5, 1);
	patch(c, 7, 0);
	memcpy(code_of(c, 7), site_code, LENGTH);
}

static void all_is_put_back(void **state)
{
	struct copy c;

	(void)state;
	begin(&c);
	patch_in_all_ways(&c);
	assert_false(is_as_it_was(&c, 7));
	patch_restore(c.space, getpid());
	for (unsigned i = 0; i < SITES; i++)
		assert_true(is_as_it_was(&c, i));
	end(&c);
}

/* What the program, or somebody else, has written there is theirs. */
static void of_others(void **state)
{
	struct copy c;
	uint8_t theirs[LENGTH] = { 0xcc, 2, 2, 2, 2, 2, 2 };

	(void)state;
	begin(&c);
	memcpy(code_of(&c, 0), theirs, LENGTH);
	memcpy(cave_of(&c, 1), theirs, STUB_JUMP);
	patch_restore(c.space, getpid());
	assert_memory_equal(code_of(&c, 0), theirs, LENGTH);
	assert_memory_equal(cave_of(&c, 1), theirs, STUB_JUMP);
	assert_memory_equal(code_of(&c, 1), site_code, LENGTH);
	end(&c);
}

/* What is whole stays, all else is as it was, and is not known as patched. */
static void copies(void **state)
{
	struct copy c;

	(void)state;
	begin(&c);
	patch_in_all_ways(&c);
	c.space->site[1].state = SITE_REFUSED; /* meanwhile taken back in the original */
	patch_copied(c.space, getpid(), ENTER);
	assert_int_equal(c.space->nstubs, 4);
	assert_int_equal(c.space->site[0].state, SITE_PATCHED);
	assert_int_equal(c.space->site[0].stub, address(c.pages + STUB_SIZE));
	assert_memory_equal(code_of(&c, 0), c.space->site[0].now, LENGTH);
	assert_int_equal(c.space->site[1].state, SITE_REFUSED);
	for (unsigned i = 1; i < SITES; i++) {
		assert_true(is_as_it_was(&c, i));
		assert_int_equal(c.space->site[i].stub, 0);
		assert_int_equal(c.space->site[i].at, address(code_of(&c, i) + 5));
		assert_int_equal(
			c.space->site[i].state, i == 1 ? SITE_REFUSED : SITE_COLD);
	}
	end(&c);
}

/* Not yet there, there and empty, something else. */
static void pages_of_copies(void **state)
{
	struct copy c;

	(void)state;
	begin(&c);
	memset(c.pages, 0, 8);
	memset(c.pages + PAGE, 1, 8);
	munmap(c.pages + 2 * PAGE, PAGE);
	patch_copied(c.space, getpid(), ENTER);
	assert_int_equal(c.space->nstubs, 2);
	assert_int_equal(c.space->stubs[0].at, address(c.pages));
	assert_int_equal(c.space->stubs[0].n, 0);
	assert_int_equal(c.space->stubs[1].at, address(c.pages + 3 * PAGE));
	assert_int_equal(c.space->stubs[1].n, 5);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_put_back),
		cmocka_unit_test(of_others),
		cmocka_unit_test(copies),
		cmocka_unit_test(pages_of_copies),
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
