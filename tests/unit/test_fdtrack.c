/*
 * test_fdtrack.c - descriptors and paths from the history of a process
 */
#include "iops/fdtrack.h"
#include "iops/names.h"
#include "iops/op.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

struct world {
	struct names *names;
	struct fdtrack *track;
	struct fd_table *a;
};

static int setup(void **state)
{
	static struct world w;

	w.names = names_new();
	w.track = fdtrack_new(w.names);
	w.a = fdtrack_table(w.track);
	*state = &w;
	return !w.names || !w.track || !w.a;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fdtrack_free(w->track); /* and with it all tables that are left */
	names_free(w->names);
	return 0;
}

static void opened(struct world *w, struct fd_table *t, int fd, uint32_t file, int flags)
{
	struct fd_open o = { .file = file, .flags = flags, .end = OP_NO_OFFSET };

	assert_int_equal(fdtrack_open(w->track, t, fd, &o), 0);
}

/* The files of descriptors 0 to 9: '1' is file 1, '-' is none. */
static void expect(const struct fd_table *t, const char *files)
{
	char got[11] = "";

	for (int fd = 0; fd < 10; fd++) {
		struct fd_open *o = fdtrack_get(t, fd);
		got[fd] = o ? (char)('0' + o->file) : '-';
	}
	assert_string_equal(got, files);
}

static void paths(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *dir, *path, *want;
	} rows[] = {
		{ "", "/a/b", "/a/b" },
		{ "", "a/b", "a/b" },
		{ "/x", "a", "/x/a" },
		{ "/x", "/a", "/a" },
		{ "/", "a", "/a" },
		{ "/x/", "a", "/x/a" },
		{ "/x", "", "/x" },
		{ "/x", ".", "/x" },
		{ "/x", "./a", "/x/a" },
		{ "/x", "a/.", "/x/a" },
		{ "/x/y", "..", "/x" },
		{ "/x/y", "../a", "/x/a" },
		{ "/x", "..", "/" },
		{ "/", "..", "/" },
		{ "/", "../../a", "/a" },
		{ "/x", "../..", "/" },
		{ "", "/a//b", "/a/b" },
		{ "", "//a", "/a" },
		{ "", "/", "/" },
		{ "", "///", "/" },
		{ "", "/a/", "/a" },
		{ "", "/a/../b", "/b" },
		{ "", "/a/b/../../c", "/c" },
		{ "", "/..a/b", "/..a/b" },
		{ "", "/a../b", "/a../b" },
		{ "", "/.a", "/.a" },
		{ "", "/a/...", "/a/..." },
		{ "", ".", "." },
		{ "", "", "." },
		{ "", "a/..", "." },
		{ "", "..", ".." },
		{ "", "../a", "../a" },
		{ "", "../../a", "../../a" },
		{ "", "a/../../b", "../b" },
		{ "", "../a/..", ".." },
		{ "d", "a", "d/a" },
		{ "d", "..", "." },
		{ "d", "../..", ".." },
		{ "../d", "..", ".." },
		{ "..", "..", "../.." },
		{ "a..", "..", "." },
		{ "/a b/\xff", "\n", "/a b/\xff/\n" },
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		uint32_t dir = names_add(w->names, rows[i].dir, strlen(rows[i].dir));
		uint32_t id =
			fdtrack_path(w->track, dir, rows[i].path, strlen(rows[i].path));
		print_message("# '%s' from '%s'\n", rows[i].path, rows[i].dir);
		assert_string_equal(names_get(w->names, id), rows[i].want);
		/* What is plain stays as it is. */
		assert_int_equal(
			fdtrack_path(w->track, 0, rows[i].want, strlen(rows[i].want)),
			id);
	}
	char deep[9000];
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 3 ? (i % 3 == 1 ? 'x' : 'y') : '/';
	uint32_t id = fdtrack_path(w->track, 0, deep, sizeof(deep));
	assert_int_equal(strlen(names_get(w->names, id)), sizeof(deep));
	assert_string_equal(
		names_get(w->names, fdtrack_path(w->track, 0, "/abc/d", 4)), "/abc");
}

static void opens(void **state)
{
	struct world *w = *state;

	expect(w->a, "----------");
	opened(w, w->a, 3, 1, O_RDONLY);
	opened(w, w->a, 9, 2, O_RDWR);
	expect(w->a, "---1-----2");
	opened(w, w->a, 3, 4, O_RDONLY); /* its close was not seen */
	expect(w->a, "---4-----2");
	fdtrack_close(w->track, w->a, 3);
	fdtrack_close(w->track, w->a, 3);
	expect(w->a, "---------2");
	/* What cannot be a descriptor is nothing, and no error. */
	opened(w, w->a, -1, 5, 0);
	opened(w, w->a, FDTRACK_MAX, 5, 0);
	opened(w, w->a, FDTRACK_MAX - 1, 6, 0);
	assert_int_equal(fdtrack_get(w->a, FDTRACK_MAX - 1)->file, 6);
	assert_null(fdtrack_get(w->a, -1));
	assert_null(fdtrack_get(w->a, FDTRACK_MAX));
	fdtrack_close(w->track, w->a, -1);
	fdtrack_close(w->track, w->a, 1 << 30);
	fdtrack_set_cloexec(w->a, -1, true);
	fdtrack_set_cloexec(w->a, 1 << 30, true);
}

static void dups(void **state)
{
	struct world *w = *state;

	opened(w, w->a, 3, 1, O_RDONLY);
	opened(w, w->a, 4, 2, O_RDONLY);
	assert_int_equal(fdtrack_dup(w->track, w->a, 3, 5, false), 0);
	assert_int_equal(fdtrack_dup(w->track, w->a, 3, 4, true), 0);
	assert_int_equal(fdtrack_dup(w->track, w->a, 3, 3, false), 0);
	expect(w->a, "---111----");
	fdtrack_get(w->a, 3)->offset = 77;
	assert_int_equal(fdtrack_get(w->a, 5)->offset, 77);
	assert_int_equal(fdtrack_get(w->a, 5)->refs, 3);
	fdtrack_close(w->track, w->a, 3);
	assert_int_equal(fdtrack_get(w->a, 5)->refs, 2);
	/* Of one that is not known: it is no more what it was. */
	assert_int_equal(fdtrack_dup(w->track, w->a, 8, 5, false), 0);
	expect(w->a, "----1-----");
	assert_int_equal(fdtrack_dup(w->track, w->a, 4, -1, false), 0);
	assert_int_equal(fdtrack_dup(w->track, w->a, 4, FDTRACK_MAX, false), 0);
	assert_int_equal(fdtrack_dup(w->track, w->a, -1, 2, false), 0);
}

static void forks(void **state)
{
	struct world *w = *state;

	opened(w, w->a, 3, 1, O_RDONLY);
	opened(w, w->a, 4, 2, O_RDONLY);
	struct fd_table *b = fdtrack_copy(w->track, w->a), *c = fdtrack_share(w->a);
	assert_ptr_equal(c, w->a);
	fdtrack_close(w->track, w->a, 4);
	opened(w, b, 5, 3, O_RDONLY);
	expect(c, "---1------");
	expect(b, "---123----");
	fdtrack_get(b, 3)->offset = 9; /* the position is of both */
	assert_int_equal(fdtrack_get(w->a, 3)->offset, 9);
	fdtrack_end(w->track, w->a);
	expect(c, "---1------"); /* one of two still uses it */
	fdtrack_end(w->track, c);
	assert_int_equal(fdtrack_get(b, 3)->refs, 1);
	fdtrack_end(w->track, b);
	fdtrack_end(w->track, NULL);
	struct fd_table *empty = fdtrack_table(w->track);
	expect(fdtrack_copy(w->track, empty), "----------");
}

static void execs(void **state)
{
	struct world *w = *state;

	opened(w, w->a, 3, 1, O_RDONLY | O_CLOEXEC);
	opened(w, w->a, 4, 2, O_RDONLY);
	opened(w, w->a, 5, 3, -1); /* flags are not known: it stays */
	assert_int_equal(fdtrack_dup(w->track, w->a, 3, 6, false), 0);
	assert_int_equal(fdtrack_dup(w->track, w->a, 4, 7, true), 0);
	opened(w, w->a, 8, 4, O_CLOEXEC);
	fdtrack_set_cloexec(w->a, 8, false);
	opened(w, w->a, 9, 5, 0);
	fdtrack_set_cloexec(w->a, 9, true);
	struct fd_table *other = fdtrack_share(w->a);
	struct fd_table *own = fdtrack_exec(w->track, w->a);
	assert_ptr_not_equal(own, other);
	expect(own, "----231-4-");
	expect(other, "---1231245"); /* who shared it keeps all */
	assert_ptr_equal(fdtrack_exec(w->track, own), own);
	fdtrack_cloexec_range(own, 5, 6);
	assert_ptr_equal(fdtrack_exec(w->track, own), own);
	expect(own, "----2---4-");
	fdtrack_cloexec_range(own, 0, ~0u);
	fdtrack_exec(w->track, own);
	expect(own, "----------");
}

static void ranges(void **state)
{
	static const struct {
		unsigned from, to;
		const char *want;
	} rows[] = {
		{ 3, 3, "012-456789" },
		{ 3, ~0u, "012-------" },
		{ 0, 1, "--23456789" },
		{ 5, 4, "0123456789" },
		{ 9, ~0u, "012345678-" },
		{ 100, ~0u, "0123456789" },
		{ ~0u, ~0u, "0123456789" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		for (int fd = 0; fd < 10; fd++)
			opened(w, w->a, fd, fd, 0);
		fdtrack_close_range(w->track, w->a, rows[i].from, rows[i].to);
		expect(w->a, rows[i].want);
	}
}

static void held(void **state)
{
	struct world *w = *state;
	struct fd_table *b = fdtrack_table(w->track);

	opened(w, w->a, 3, 1, O_CLOEXEC);
	struct fd_open *one = fdtrack_hold(w->a, 3), *two = fdtrack_hold(w->a, 3);
	fdtrack_close(w->track, w->a, 3);
	assert_int_equal(one->file, 1);
	assert_int_equal(fdtrack_give(b, 7, one), 0);
	fdtrack_drop(two);
	expect(b, "-------1--");
	assert_ptr_equal(fdtrack_exec(w->track, b), b); /* given without O_CLOEXEC */
	expect(b, "-------1--");
	assert_int_equal(fdtrack_give(b, 7, NULL), 0);
	expect(b, "----------");
	assert_null(fdtrack_hold(b, 7));
	assert_null(fdtrack_hold(b, -1));
	fdtrack_drop(NULL);
	opened(w, w->a, 3, 1, 0);
	assert_int_equal(fdtrack_give(b, -1, fdtrack_hold(w->a, 3)), 0);
	assert_int_equal(fdtrack_get(w->a, 3)->refs, 1);
}

static void replays(void **state)
{
	struct world *w = *state;
	struct fd_table *wrong = w->a, *right = fdtrack_table(w->track);

	opened(w, wrong, 0, 1, 0);
	opened(w, wrong, 1, 2, 0);
	opened(w, right, 0, 3, 0);
	opened(w, right, 1, 4, 0);
	opened(w, right, 2, 5, 0);
	struct fd_table *base = fdtrack_copy(w->track, wrong),
			*child = fdtrack_copy(w->track, wrong);
	fdtrack_close(w->track, child, 1);
	opened(w, child, 9, 6, O_CLOEXEC);
	assert_int_equal(fdtrack_replay(right, base, child), 0);
	expect(right, "3-5------6");
	expect(child, "1--------6");
	fdtrack_end(w->track, child);
	assert_ptr_equal(fdtrack_exec(w->track, right), right);
	expect(right, "3-5-------");
	assert_int_equal(fdtrack_replay(right, base, base), 0);
	expect(right, "3-5-------");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(paths),
		TEST(opens),
		TEST(dups),
		TEST(forks),
		TEST(execs),
		TEST(ranges),
		TEST(held),
		TEST(replays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
