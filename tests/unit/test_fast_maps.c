/*
 * test_fast_maps.c - what /proc/PID/maps says
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* What maps_next() tells against what sscanf(3) reads of the same lines. */
static void all_mappings(void **state)
{
	struct maps maps = { 0 };
	struct mapping m;
	size_t next = 0, lines = 0;

	(void)state;
	assert_int_equal(maps_of(&maps, getpid()), 0);
	for (char *line = maps.text; *line; line = strchr(line, '\n') + 1, lines++) {
		unsigned long from, to, offset, inode;
		unsigned major, minor;
		char mode[5];
		int path = 0;
		assert_int_equal(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &from, &to,
					 mode, &offset, &major, &minor, &inode, &path),
			7);
		assert_true(maps_next(&maps, &next, &m));
		assert_int_equal(m.from, from);
		assert_int_equal(m.to, to);
		assert_int_equal(m.offset, offset);
		assert_int_equal(m.inode, inode);
		assert_int_equal(m.dev, (uint64_t)major << 32 | minor);
		assert_memory_equal(m.mode, mode, 4);
		size_t len = strcspn(line, "\n");
		assert_int_equal(m.path_len, (size_t)path < len ? len - path : 0);
		assert_memory_equal(m.path, line + len - m.path_len, m.path_len);
	}
	assert_false(maps_next(&maps, &next, &m));
	assert_true(lines > 10);
	maps_free(&maps);
	assert_int_equal(maps_of(&maps, -1), -ENOENT);
	maps_free(&maps);
}

static void same(const struct mapping *a, const struct mapping *b)
{
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->inode, b->inode);
	assert_int_equal(a->dev, b->dev);
	assert_memory_equal(a->mode, b->mode, 4);
	assert_int_equal(a->path_len, b->path_len);
	assert_memory_equal(a->path, b->path, a->path_len);
}

/* The one around an address: by asking for it, and where all have been read. */
static void one_mapping(void **state)
{
	struct maps all = { 0 }, asked = { 0 };
	struct mapping m, one;
	size_t next = 0;

	(void)state;
	assert_int_equal(maps_of(&all, getpid()), 0);
	while (maps_next(&all, &next, &m)) {
		if (m.path_len == 10 && !memcmp(m.path, "[vsyscall]", 10))
			continue; /* no mapping, but for /proc/PID/maps */
		assert_int_equal(maps_at(&all, getpid(), m.from, &one), 0);
		same(&one, &m);
		if (*m.path == '[')
			continue; /* the stack or the heap, which may have grown */
		assert_int_equal(maps_at(&asked, getpid(), m.to - 1, &one), 0);
		same(&one, &m);
	}
	assert_int_equal(maps_at(&asked, getpid(), 1, &one), -EFAULT);
	assert_int_equal(maps_at(&all, getpid(), 1, &one), -EFAULT);
	maps_free(&all);
	assert_true(maps_at(&all, -1, 1, &one) < 0);
	maps_free(&asked);
}

/* Which is the first one from an address on, by asking for it, and where all are read;
 * the same while they are held open. */
static void from_an_address(void **state)
{
	struct maps all = { 0 }, held = { 0 };
	struct mapping one, other, last;
	uint64_t from = 0;

	(void)state;
	assert_int_equal(maps_of(&all, getpid()), 0);
	maps_hold(&held, getpid());
	assert_int_equal(held.held, getpid());
	for (int i = 0; i < 3; i++, from = one.to) {
		assert_int_equal(maps_from(&held, getpid(), from, &one), 0);
		assert_true(one.from >= from);
		assert_int_equal(maps_from(&all, getpid(), from, &other), 0);
		same(&one, &other);
		assert_int_equal(maps_at(&held, getpid(), one.from, &other), 0);
		same(&one, &other);
	}
	assert_int_equal(maps_of(&held, getpid()), 0);
	assert_int_equal(maps_from(&held, getpid(), 1, &last), 0);
	maps_forget(&held);
	assert_int_equal(maps_of(&held, getpid()), 0); /* from its beginning on */
	assert_int_equal(maps_from(&held, getpid(), 1, &one), 0);
	same(&one, &last);
	const int fd = held.fd;
	maps_let(&held);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), -1);
	maps_let(&held);
	maps_hold(&held, -1);
	assert_int_equal(held.held, 0);
	maps_free(&all);
	maps_free(&held);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_mappings),
		cmocka_unit_test(one_mapping), cmocka_unit_test(from_an_address) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
