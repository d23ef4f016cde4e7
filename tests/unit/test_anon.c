/*
 * test_anon.c - names that tell nothing, and the same nothing for the same name
 */
#include "iops/anon.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

enum { HEX = 16 };

/* A key of these bytes. */
static struct anon *keyed(const char *key)
{
	struct anon *a = NULL;
	char path[] = "/tmp/anonXXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, key, strlen(key)), strlen(key));
	close(fd);
	assert_int_equal(anon_new(&a, path), 0);
	unlink(path);
	return a;
}

static int setup(void **state)
{
	*state = keyed("sixteen bytes or more of a key");
	return 0;
}

static int teardown(void **state)
{
	anon_free(*state);
	return 0;
}

/* HMAC-SHA-256 as others know it: RFC 4231, test case 6 (a key of 131 bytes). */
static void known_answer(void **state)
{
	char key[132], out[ANON_MAX];

	(void)state;
	memset(key, 0xaa, 131);
	key[131] = 0;
	struct anon *a = keyed(key);
	assert_string_equal(anon_text(a,
				    "Test Using Larger Than Block-Size Key - Hash Key "
				    "First",
				    out),
		"60e431591ee0b67f");
	anon_free(a);
}

/* Does pattern, where # is a hash, describe text? */
static bool is_like(const char *text, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern != '#') {
			if (*text++ != *pattern)
				return false;
			continue;
		}
		for (int i = 0; i < HEX; i++, text++)
			if (!isxdigit((unsigned char)*text) || isupper((unsigned char)*text))
				return false;
	}
	return !*text;
}

static void paths(void **state)
{
	static const struct {
		const char *path, *like;
	} row[] = {
		{ "", "" },
		{ "/", "/" },
		{ "/home/john", "/#/#" },
		{ "/home//john/", "/#//#/" },
		{ "a.txt", "#.txt" },
		{ "/a.b/c.tar.gz", "/#/#.gz" },
		{ "/a/.profile", "/#/#" },
		{ "/a/.profile.bak", "/#/#.bak" },
		{ "/a/b.", "/#/#" },
		{ "/a/b.12345678", "/#/#.12345678" },
		{ "/a/b.123456789", "/#/#" },
		{ "/a/b.c-d", "/#/#" },
		{ "/a/b.\xc3\xa4", "/#/#" },
		{ "./../x", "./../#" },
		{ "...", "#" },
		{ "/a/b.c (deleted)", "/#/#.c (deleted)" },
		{ "pipe:[123]", "pipe:[123]" },
		{ "socket:[4294967296]", "socket:[4294967296]" },
		{ "net:[4026531840]", "net:[4026531840]" },
		{ "anon_inode:[eventpoll]", "anon_inode:[eventpoll]" },
		{ "anon_inode:inotify", "anon_inode:inotify" },
		{ "anon_inode:a/secret", "#/#" },
		{ "pipe:[secret]", "#" },
		{ "pipe:[1]x", "#" },
		{ "/pipe:[1]", "/#" },
		{ "\xff\xfe", "#" },
	};
	char out[ANON_MAX];

	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_ptr_equal(anon_path(*state, row[i].path, out), out);
		if (!is_like(out, row[i].like))
			fail_msg("%s became %s, not like %s", row[i].path, out,
				row[i].like);
	}
}

/* One name is the same everywhere, two names are not; the extension does not change it. */
static void same(void **state)
{
	char a[ANON_MAX], b[ANON_MAX];

	anon_path(*state, "/john.smith/mail/john.smith", a);
	assert_memory_equal(a + 1, a + 1 + HEX + 1 + HEX + 1, HEX);
	assert_string_equal(a + 3 * (1 + HEX), ".smith");
	anon_path(*state, "john.smith (deleted)", b);
	assert_memory_equal(a + 1, b, HEX);
	anon_text(*state, "john.smith", b);
	assert_memory_equal(a + 1, b, HEX);
	assert_string_equal(anon_text(*state, "", b), "");

	struct anon *again = keyed("sixteen bytes or more of a key"),
		    *other = keyed("sixteen bytes or more of another key"), *random, *second;
	assert_string_equal(a, anon_path(again, "/john.smith/mail/john.smith", b));
	assert_string_not_equal(a, anon_path(other, "/john.smith/mail/john.smith", b));
	assert_int_equal(anon_new(&random, NULL), 0);
	assert_int_equal(anon_new(&second, NULL), 0);
	anon_text(random, "john", a);
	assert_string_not_equal(a, anon_text(second, "john", b));
	assert_string_equal(a, anon_text(random, "john", b));
	anon_free(again);
	anon_free(other);
	anon_free(random);
	anon_free(second);
}

/* Whether a name was remembered or not makes no difference. */
static void many(void **state)
{
	enum { N = 30000 };
	char (*first)[HEX + 1] = calloc(N, sizeof(*first)), name[100], out[ANON_MAX];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "%0*d", i % 60 + 6, i);
			anon_text(*state, name, out);
			assert_int_equal(strlen(out), HEX);
			if (round)
				assert_string_equal(out, first[i]);
			strcpy(first[i], out);
		}
	}
	qsort(first, N, sizeof(*first), (int (*)(const void *, const void *))strcmp);
	for (int i = 1; i < N; i++)
		assert_string_not_equal(first[i - 1], first[i]);
	free(first);
}

/* However long the path, the result is in bounds, and tells long paths apart. */
static void long_paths(void **state)
{
	static const char *const unit[] = { "/", "a/", "/abc", "xyz", "/..", "/a.12345678" };
	char *path = malloc(20001), out[2][ANON_MAX];

	for (size_t i = 0; i < LENGTH(unit); i++) {
		size_t n = 0, len = strlen(unit[i]);
		for (; n + len + 10 < 20000; n += len)
			memcpy(path + n, unit[i], len);
		for (int k = 0; k < 2; k++) {
			strcpy(path + n, k ? "2 (deleted)" : "1 (deleted)");
			memset(out[k], 'x', ANON_MAX);
			anon_path(*state, path, out[k]);
			assert_true(memchr(out[k], 0, ANON_MAX) != NULL);
			assert_true(strlen(out[k]) < ANON_MAX);
			assert_null(strstr(out[k], "xyz"));
			assert_null(strstr(out[k], "abc/"));
		}
		assert_string_not_equal(out[0], out[1]);
		assert_string_equal(anon_text(*state, path, out[0]),
			anon_text(*state, path, out[1]));
	}
	free(path);
}

static const char *addr(const struct anon *a, const char *text, char out[ANON_MAX])
{
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	struct in6_addr b;

	assert_int_equal(inet_pton(family, text, &b), 1);
	return anon_addr(a, family, &b, out);
}

static void addresses(void **state)
{
	static const char *const stay[] = { "0.0.0.0", "127.0.0.1", "127.255.3.4", "::",
		"::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0" };
	static const char *const hide[] = { "8.8.8.8", "8.8.4.4", "10.0.0.1", "10.0.0.2",
		"255.255.255.255", "2001:db8::1", "2001:db8::2", "fe80::1", "fd00::1" };
	char out[LENGTH(hide)][ANON_MAX], mapped[ANON_MAX];
	unsigned char b[16];

	for (size_t i = 0; i < LENGTH(stay); i++)
		assert_string_equal(addr(*state, stay[i], out[0]), stay[i]);
	for (size_t i = 0; i < LENGTH(hide); i++) {
		bool six = strchr(hide[i], ':');
		addr(*state, hide[i], out[i]);
		assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, out[i], b), 1);
		assert_memory_equal(out[i], six ? "fd00::" : "10.", six ? 6 : 3);
		assert_string_not_equal(out[i], hide[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(out[i], out[k]);
		assert_string_equal(addr(*state, hide[i], mapped), out[i]);
	}
	addr(*state, "::ffff:8.8.8.8", mapped);
	assert_memory_equal(mapped, "::ffff:", 7);
	assert_string_equal(mapped + 7, out[0]);
	assert_string_equal(anon_addr(*state, AF_UNIX, b, out[0]), "");
}

static void bad_keys(void **state)
{
	struct anon *a = NULL;
	char path[] = "/tmp/anonXXXXXX", none[64];
	int fd = mkstemp(path), keep = dup(STDERR_FILENO),
	    quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	dup2(quiet, STDERR_FILENO);
	close(quiet);
	snprintf(none, sizeof(none), "%s.none", path);
	assert_int_equal(write(fd, "fifteen bytes..", 15), 15);
	assert_int_equal(anon_new(&a, path), -EINVAL);
	assert_int_equal(anon_new(&a, none), -ENOENT);
	assert_int_equal(anon_new(&a, "/tmp"), -EISDIR);
	assert_int_equal(anon_new(&a, "/dev/null"), -EINVAL);
	assert_null(a);
	assert_int_equal(write(fd, ".", 1), 1);
	assert_int_equal(anon_new(&a, path), 0);
	anon_free(a);
	anon_free(NULL);
	assert_int_equal(anon_new(&a, "/dev/zero"), 0); /* not read to its end */
	anon_free(a);
	dup2(keep, STDERR_FILENO);
	close(keep);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answer),
		cmocka_unit_test_setup_teardown(paths, setup, teardown),
		cmocka_unit_test_setup_teardown(same, setup, teardown),
		cmocka_unit_test_setup_teardown(many, setup, teardown),
		cmocka_unit_test_setup_teardown(long_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses, setup, teardown),
		cmocka_unit_test(bad_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
