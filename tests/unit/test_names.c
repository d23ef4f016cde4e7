/*
 * test_names.c - interned strings and files
 */
#include "iops/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

static uint32_t add(struct names *n, const char *s)
{
	return names_add(n, s, strlen(s));
}

static void strings(void **state)
{
	struct names *n = names_new();

	(void)state;
	uint32_t a = add(n, "a"), ab = add(n, "ab");
	assert_true(a && ab && a != ab);
	assert_int_equal(add(n, "a"), a);
	assert_int_equal(names_add(n, "abc", 2), ab); /* a prefix, without a NUL */
	assert_string_equal(names_get(n, a), "a");
	assert_string_equal(names_get(n, ab), "ab");
	assert_int_equal(names_add(n, "x", 0), 0);
	assert_string_equal(names_get(n, 0), "");
	assert_string_equal(names_get(n, 12345), "");
	assert_string_equal(names_get(n, add(n, "\xff\xfe")), "\xff\xfe");
	names_free(n);
	names_free(NULL);
}

static void many_strings(void **state)
{
	enum { N = 5000 };
	struct names *n = names_new();
	uint32_t id[N];
	char text[32];

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "/tmp/%d", i);
		id[i] = add(n, text);
		assert_true(id[i]);
	}
	const char *first = names_get(n, id[0]);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "/tmp/%d", i);
		assert_int_equal(add(n, text), id[i]);
		assert_string_equal(names_get(n, id[i]), text);
	}
	assert_ptr_equal(names_get(n, id[0]), first);
	names_free(n);
}

/* A file differs by each of what makes it up. */
static void files(void **state)
{
	struct names *n = names_new();
	struct file f = { .path = add(n, "/d/f"),
		.major = 8,
		.minor = 1,
		.inode = 5,
		.type = FILE_REGULAR,
		.mount = add(n, "/") };
	struct file other[6];
	uint32_t id = names_add_file(n, &f), ids[6];

	(void)state;
	assert_true(id);
	for (int i = 0; i < 6; i++)
		other[i] = f;
	other[0].path = add(n, "/d/g");
	other[1].major = 9;
	other[2].minor = 2;
	other[3].inode = 6;
	other[4].type = FILE_DIR;
	other[5].mount = add(n, "/mnt");
	for (int i = 0; i < 6; i++) {
		ids[i] = names_add_file(n, &other[i]);
		assert_true(ids[i] && ids[i] != id);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(ids[i], ids[j]);
	}
	assert_int_equal(names_add_file(n, &f), id);
	for (int i = 0; i < 6; i++)
		assert_int_equal(names_add_file(n, &other[i]), ids[i]);
	const struct file *got = names_file(n, id);
	assert_int_equal(got->path, f.path);
	assert_int_equal(got->mount, f.mount);
	assert_int_equal(got->major, 8);
	assert_int_equal(got->minor, 1);
	assert_int_equal(got->inode, 5);
	assert_int_equal(got->type, FILE_REGULAR);
	names_free(n);
}

static void unknown_file(void **state)
{
	struct names *n = names_new();

	(void)state;
	for (uint32_t id = 0; id < 3; id++) {
		assert_int_equal(names_file(n, id * 1000)->inode, 0);
		assert_int_equal(names_file(n, id * 1000)->type, FILE_UNKNOWN);
	}
	names_free(n);
}

static void many_files(void **state)
{
	enum { N = 3000 };
	struct names *n = names_new();
	uint32_t id[N];

	(void)state;
	for (int i = 0; i < N; i++) {
		struct file f = { .path = i % 3 + 1, .inode = i / 3 };
		id[i] = names_add_file(n, &f);
		assert_true(id[i]);
	}
	for (int i = 0; i < N; i++) {
		struct file f = { .path = i % 3 + 1, .inode = i / 3 };
		assert_int_equal(names_add_file(n, &f), id[i]);
		assert_int_equal(names_file(n, id[i])->inode, i / 3);
	}
	names_free(n);
}

static void directories(void **state)
{
	static const struct {
		const char *path, *dir;
	} row[] = {
		{ "/a/b/c", "/a/b" },
		{ "/a", "/" },
		{ "/", "/" },
		{ "pipe:[123]", "" },
		{ "socket:[1/2]", "" },
		{ "", "" },
	};
	struct names *n = names_new();

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct file f = { .path = add(n, row[i].path), .inode = i };
		const struct file *got = names_file(n, names_add_file(n, &f));
		assert_string_equal(names_get(n, got->dir), row[i].dir);
	}
	names_free(n);
}

static void types(void **state)
{
	(void)state;
	for (int i = 0; i < NFILE_TYPES; i++)
		assert_int_equal(file_type_of(file_type_name(i)), i);
	assert_string_equal(file_type_name(FILE_REGULAR), "regular");
	assert_string_equal(file_type_name(999), "unknown");
	assert_int_equal(file_type_of("nonsense"), -1);
	assert_int_equal(file_type_of(""), -1);
	assert_int_equal(file_type_of(NULL), -1);
}

static void types_by_mode(void **state)
{
	static const struct {
		mode_t mode;
		unsigned device;
		enum file_type type;
	} are[] = {
		{ S_IFREG | 0644, 0, FILE_REGULAR },
		{ S_IFDIR | 0755, 0, FILE_DIR },
		{ S_IFIFO, 0, FILE_PIPE },
		{ S_IFSOCK, 0, FILE_SOCKET },
		{ S_IFBLK, 4, FILE_BLOCK },
		{ S_IFCHR, 1, FILE_CHAR },
		{ S_IFCHR, 4, FILE_TTY },
		{ S_IFCHR, 5, FILE_TTY },
		{ S_IFCHR, 135, FILE_CHAR },
		{ S_IFCHR, 136, FILE_TTY },
		{ S_IFCHR, 143, FILE_TTY },
		{ S_IFCHR, 144, FILE_CHAR },
		{ 0600, 0, FILE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		assert_int_equal(
			file_type_by_mode(are[i].mode, makedev(are[i].device, 0)),
			are[i].type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(many_strings),
		cmocka_unit_test(files),
		cmocka_unit_test(unknown_file),
		cmocka_unit_test(many_files),
		cmocka_unit_test(directories),
		cmocka_unit_test(types),
		cmocka_unit_test(types_by_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
