/*
 * test_fast_dups.c - records of dup(2), pipe(2) and their like, and what descriptors
 * stand for then
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { NOBODY = 0x3ffffff0 /* no process has this id: /proc knows nothing */ };

static struct rig *rig;

static int start(void **state)
{
	(void)state;
	rig = rig_new(3, NOBODY, "data");
	return rig ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

/* A call with two arguments that has come back. */
static struct fast_rec *made(
	unsigned i, long nr, unsigned when, int fd, int arg, int64_t result)
{
	struct fast_rec *rec = rig_begin(rig, i, nr, when, result);

	rec->arg[0] = (uint64_t)fd;
	rec->arg[1] = (uint64_t)arg;
	rec->arg[2] = 4096;
	rig_done(rig, i, rec);
	return rec;
}

static void moved(unsigned i, long nr, unsigned when, int fd, int64_t bytes)
{
	made(i, nr, when, fd, 0, bytes);
}

static void assert_ops(const char *const *paths, const int64_t *offsets, unsigned n)
{
	drain_all(&rig->t);
	assert_int_equal(rig->nops, n);
	for (unsigned i = 0; i < n; i++) {
		const struct file *f = names_file(rig->t.names, rig->op[i].file);
		assert_string_equal(names_get(rig->t.names, f->path), paths[i]);
		assert_int_equal(rig->op[i].offset, offsets[i]);
	}
	assert_int_equal(rig->nlost, 0);
}

static void duplicates(void **state)
{
	static const char *const paths[] = { "/file", "/file", "/file" };
	static const int64_t offsets[] = { 0, 100, 10 };

	(void)state;
	rig_opened(rig, 0, 1, 2, 3, "/file");
	made(1, SYS_dup, 3, 3, 0, 4);
	moved(2, SYS_write, 5, 4, 100);
	made(0, SYS_close, 6, 3, 0, 0);
	made(1, SYS_fcntl, 7, 4, F_DUPFD, 9);
	moved(0, SYS_write, 8, 9, 50);
	made(2, SYS_lseek, 9, 4, 10, 10);
	moved(1, SYS_read, 10, 9, 20);
	assert_ops(paths, offsets, 3);
}

/* A descriptor is put on another one, which stood for something else until then. */
static void duplicates_over(void **state)
{
	static const char *const paths[] = { "/b", "/a", "/a", "/a", "/b", "/a" };
	static const int64_t offsets[] = { 0, 0, 7, 14, 5, 21 };

	(void)state;
	rig_opened(rig, 0, 1, 2, 3, "/a");
	rig_opened(rig, 1, 3, 4, 4, "/b");
	moved(2, SYS_write, 5, 4, 5);
	made(1, SYS_dup2, 6, 4, 8, 8);
	made(0, SYS_dup2, 7, 3, 4, 4);
	moved(2, SYS_write, 8, 4, 7);
	made(1, SYS_dup2, 9, 4, 4, 4);
	made(1, SYS_dup3, 10, 8, 8, -EINVAL);
	made(1, SYS_dup2, 11, 99, 4, -EBADF);
	made(0, SYS_close, 12, 3, 0, 0);
	moved(2, SYS_write, 13, 4, 7);
	made(0, SYS_dup3, 14, 4, 3, 3);
	moved(2, SYS_write, 15, 3, 7);
	moved(2, SYS_write, 16, 8, 5);
	made(0, SYS_close, 17, 4, 0, 0);
	moved(2, SYS_write, 18, 3, 7);
	assert_ops(paths, offsets, 6);
}

/* Both ends of a pipe are one file, and where they are can be lost. */
static void pairs(void **state)
{
	static const char *const paths[] = { "pipe:[77]", "pipe:[77]", "/a", "" };
	static const int64_t offsets[] = { OP_NO_OFFSET, OP_NO_OFFSET, 0, OP_NO_OFFSET };
	const struct fast_stat x = { .mode = S_IFIFO | 0600, .ino = 77 };
	const int64_t got = 0;

	(void)state;
	rig_opened(rig, 0, 1, 2, 3, "/a");
	for (int i = 0; i < 2; i++) {
		struct fast_rec *rec = rig_begin(rig, 0, SYS_pipe2, i ? 8 : 3, 0);
		uint8_t *more = (uint8_t *)rec;
		rec->arg[2] = i ? UINT64_MAX : 4 | UINT64_C(5) << 32;
		memcpy(more + R_NEW_STATX, &got, sizeof(got));
		memcpy(more + R_NEW_STAT, &x, sizeof(x));
		rig_done(rig, 0, rec);
	}
	moved(1, SYS_write, 5, 5, 10);
	moved(2, SYS_read, 6, 4, 10);
	moved(1, SYS_write, 7, 3, 10);
	moved(1, SYS_write, 9, 5, 10);
	assert_ops(paths, offsets, 4);
}

/* What is open already is no new one: somebody has written there meanwhile. */
static void pairs_are_new(void **state)
{
	static const char *const paths[] = { "pipe:[78]", "" };
	static const int64_t offsets[] = { OP_NO_OFFSET, OP_NO_OFFSET };
	const struct fast_stat x = { .mode = S_IFIFO | 0600, .ino = 78 };
	const int64_t got = 0;
	struct fast_rec *rec;

	(void)state;
	rig_opened(rig, 0, 1, 2, 3, "/a");
	rec = rig_begin(rig, 0, SYS_pipe2, 3, 0);
	rec->arg[2] = 4 | UINT64_C(3) << 32;
	memcpy((uint8_t *)rec + R_NEW_STATX, &got, sizeof(got));
	memcpy((uint8_t *)rec + R_NEW_STAT, &x, sizeof(x));
	rig_done(rig, 0, rec);
	moved(1, SYS_write, 5, 4, 10);
	moved(1, SYS_write, 6, 3, 10);
	assert_ops(paths, offsets, 2);
}

/* A task may write there what it likes: a path is not looked for behind such a record. */
static void pairs_have_no_path(void **state)
{
	const uint64_t long_path = PATH_LEN, not_asked = UINT64_MAX;
	struct fast_rec *rec = rig_begin(rig, 0, SYS_pipe, 1, 0);

	(void)state;
	rec->arg[2] = 6 | UINT64_C(7) << 32;
	memcpy((uint8_t *)rec + R_NEW_LEN, &long_path, sizeof(long_path));
	memcpy((uint8_t *)rec + R_NEW_STATX, &not_asked, sizeof(not_asked));
	rig_done(rig, 0, rec);
	made(1, SYS_close, 9, 6, 0, 0);
	moved(2, SYS_read, 8, 6, 10);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(rig->op[0].file, 0);
	assert_int_equal(rig->nlost, 0);
}

/* Who of two came later cannot be told: then it is neither, until somebody is asked. */
static void duplicates_at_once(void **state)
{
	static const char *const paths[] = { "/b", "", "/c" };
	static const int64_t offsets[] = { 0, OP_NO_OFFSET, 0 };

	(void)state;
	rig_opened(rig, 0, 1, 2, 3, "/a");
	made(0, SYS_dup2, 4, 3, 5, 5)->t1 = rig_at(rig, 9);
	rig_opened(rig, 1, 5, 7, 5, "/b");
	moved(2, SYS_write, 8, 5, 1);
	moved(2, SYS_write, 10, 5, 1);
	rig_opened(rig, 1, 11, 12, 5, "/c");
	moved(2, SYS_write, 13, 5, 1);
	assert_ops(paths, offsets, 3);
}

/* Whether it would be too late to ask what a descriptor is. */
static void freed_later(void **state)
{
	const struct fast *f = rig->t.fast;
	const struct task *k = &rig->task[0];
	struct fast_rec *rec;

	(void)state;
	moved(2, SYS_read, 1, 3, 1);
	drain_all(&rig->t);
	made(1, SYS_dup2, 2, 3, 4, 4);
	made(1, SYS_dup3, 3, 5, 6, -EBADF);
	made(1, SYS_dup2, 4, 7, 7, 7);
	made(1, SYS_close, 5, 9, 0, 0);
	rec = rig_begin(rig, 2, SYS_dup2, 6, 0);
	rec->arg[0] = 3;
	rec->arg[1] = 10;
	rec->state = REC_BEGUN;
	for (int fd = 3; fd <= 10; fd++) {
		assert_int_equal(closes_later(f, k, fd), fd == 4 || fd == 9);
		assert_int_equal(closes_by_now(f, k, fd), fd == 4 || fd == 9 || fd == 10);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(duplicates),
		TEST(duplicates_over),
		TEST(pairs),
		TEST(pairs_are_new),
		TEST(pairs_have_no_path),
		TEST(duplicates_at_once),
		TEST(freed_later),
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
