/*
 * test_syscalls.c - the table of calls against the kernel's headers; sets of calls
 */
#include "iops/op.h"
#include "iops/syscalls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

enum { MAX_CALLS = 600 };

struct number {
	char name[48];
	int nr;
};

struct header {
	const char *path;
	struct number call[MAX_CALLS];
	size_t n;
};

static struct header headers[NABI] = {
	[ABI_X86_64] = { .path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h" },
	[ABI_I386] = { .path = "/usr/include/x86_64-linux-gnu/asm/unistd_32.h" },
	[ABI_AARCH64] = { .path = "/usr/include/asm-generic/unistd.h" },
};

/*
 * One line of a header. What asm-generic numbers as __NR3264_NAME is NAME where a word
 * has 64 bits, but for this one.
 */
static bool number_in(const char *line, struct number *c)
{
	if (sscanf(line, "#define __NR_%47s %d", c->name, &c->nr) != 2 &&
		sscanf(line, "#define __NR3264_%47s %d", c->name, &c->nr) != 2)
		return false;
	if (!strcmp(c->name, "fstatat"))
		strcpy(c->name, "newfstatat");
	return true;
}

/* The kernel's own numbers, or skip. */
static const struct header *header_of(enum abi abi)
{
	struct header *h = &headers[abi];
	char line[256];
	FILE *f = h->n ? NULL : fopen(h->path, "r");

	if (!h->n && !f)
		skip();
	while (f && h->n < MAX_CALLS && fgets(line, sizeof(line), f))
		h->n += number_in(line, &h->call[h->n]);
	if (f)
		fclose(f);
	assert_true(h->n > 300 && h->n < MAX_CALLS);
	return h;
}

static int number_of(const struct header *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->call[i].name, name))
			return h->call[i].nr;
	return NR_NONE;
}

/* Calls that headers older than Linux 6.6 do not know yet. */
static bool newer(const char *name)
{
	return !strcmp(name, "fchmodat2");
}

static void numbers(enum abi abi)
{
	const struct header *h = header_of(abi);

	for (const struct syscall_desc *d = syscalls; d->name; d++) {
		int want = number_of(h, d->name);
		if (want == NR_NONE && d->nr[abi] != NR_NONE && newer(d->name))
			continue;
		if (d->nr[abi] != want)
			fail_msg("%s is %d, not %d", d->name, want, d->nr[abi]);
	}
}

static void numbers_64(void **state)
{
	(void)state;
	numbers(ABI_X86_64);
}

static void numbers_32(void **state)
{
	(void)state;
	numbers(ABI_I386);
}

static void numbers_arm(void **state)
{
	(void)state;
	numbers(ABI_AARCH64);
}

/* Rows of the index stand for the call of that number, under its own or a twin's name. */
static void index_plain(enum abi abi)
{
	const struct header *h = header_of(abi);
	int16_t row[NR_MAX];
	size_t n = 0, want = 0;

	syscall_index(abi, row);
	for (int nr = 0; nr < NR_MAX; nr++) {
		if (row[nr] < 0)
			continue;
		n++;
		if (!newer(syscalls[row[nr]].name))
			assert_int_equal(number_of(h, syscalls[row[nr]].name), nr);
	}
	for (const struct syscall_desc *d = syscalls; d->name; d++)
		want += d->nr[abi] >= 0;
	assert_int_equal(n, want);
}

static void index_64(void **state)
{
	(void)state;
	index_plain(ABI_X86_64);
}

static void index_arm(void **state)
{
	(void)state;
	index_plain(ABI_AARCH64);
}

static void index_32(void **state)
{
	static const struct {
		const char *i386, *name;
	} twin[] = {
		{ "sendfile64", "sendfile" },
		{ "recvmmsg_time64", "recvmmsg" },
		{ "_llseek", "lseek" },
		{ "stat64", "stat" },
		{ "lstat64", "lstat" },
		{ "fstat64", "fstat" },
		{ "fstatat64", "newfstatat" },
		{ "oldstat", "stat" },
		{ "oldlstat", "lstat" },
		{ "oldfstat", "fstat" },
		{ "fcntl64", "fcntl" },
		{ "truncate64", "truncate" },
		{ "ftruncate64", "ftruncate" },
		{ "statfs64", "statfs" },
		{ "fstatfs64", "fstatfs" },
		{ "fadvise64_64", "fadvise64" },
		{ "chown32", "chown" },
		{ "lchown32", "lchown" },
		{ "fchown32", "fchown" },
		{ "utimensat_time64", "utimensat" },
		{ "io_pgetevents_time64", "io_pgetevents" },
		{ "setuid32", "setuid" },
		{ "setreuid32", "setreuid" },
		{ "setresuid32", "setresuid" },
	};
	const struct header *h = header_of(ABI_I386);
	int16_t row[NR_MAX];
	size_t n = 0, want = LENGTH(twin);

	(void)state;
	syscall_index(ABI_I386, row);
	for (size_t i = 0; i < LENGTH(twin); i++) {
		int nr = number_of(h, twin[i].i386);
		assert_true(nr >= 0 && row[nr] >= 0);
		assert_string_equal(syscalls[row[nr]].name, twin[i].name);
	}
	for (int i = 0; syscalls[i].name; i++)
		if (syscalls[i].nr[ABI_I386] >= 0) {
			assert_int_equal(row[syscalls[i].nr[ABI_I386]], i);
			want++;
		}
	for (int nr = 0; nr < NR_MAX; nr++)
		n += row[nr] >= 0;
	assert_int_equal(n, want);
}

static void rows_make_sense(void **state)
{
	(void)state;
	for (int i = 0; syscalls[i].name; i++) {
		const struct syscall_desc *d = &syscalls[i];
		assert_int_equal(syscall_by_name(d->name), i); /* so there are no two */
		assert_true(d->kind < OP_NKINDS);
		assert_true((d->form == FORM_CONTROL) == (d->kind == OP_NOTE));
		assert_true(d->form == FORM_CONTROL || d->sets & SET_ALL);
		assert_true((d->form == FORM_TWO) == (d->fd2 != ARG_NONE));
		assert_true(d->form != FORM_PATH || d->path != ARG_NONE);
		const int8_t arg[] = { d->fd, d->size, d->offset, d->fd2, d->offset2,
			d->path, d->flags };
		for (size_t k = 0; k < sizeof(arg); k++)
			assert_true(arg[k] >= ARG_NONE && arg[k] < 6);
		/* What the kernel counts is what reads or writes. */
		assert_true(!d->weight || d->kind == OP_READ || d->kind == OP_WRITE);
	}
	assert_int_equal(syscall_by_name("nonsense"), -1);
	assert_int_equal(syscall_by_name(""), -1);
}

static void arguments(void **state)
{
	static const struct {
		const char *name;
		int kind, fd, size, offset, weight;
	} row[] = {
		{ "read", OP_READ, 0, 2, -1, 1 },
		{ "pwrite64", OP_WRITE, 0, 2, 3, 1 },
		{ "preadv2", OP_READ, 0, -1, 3, 1 },
		{ "vmsplice", OP_WRITE, 0, -1, -1, 0 },
		{ "sendfile", OP_READ, 1, 3, 2, 2 },
		{ "copy_file_range", OP_READ, 0, 4, 1, 2 },
		{ "recvfrom", OP_READ, 0, 2, -1, 0 },
		{ "fsync", OP_SYNC, 0, -1, -1, 0 },
		{ "sync", OP_SYNC, -1, -1, -1, 0 },
		{ "close", OP_CLOSE, 0, -1, -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		int at = syscall_by_name(row[i].name);
		assert_true(at >= 0);
		assert_int_equal(syscalls[at].kind, row[i].kind);
		assert_int_equal(syscalls[at].fd, row[i].fd);
		assert_int_equal(syscalls[at].size, row[i].size);
		assert_int_equal(syscalls[at].offset, row[i].offset);
		assert_int_equal(syscalls[at].weight, row[i].weight);
	}
}

/* Numbers of <linux/net.h>. */
static void socketcalls(void **state)
{
	static const char *const name[] = { NULL, "socket", "bind", "connect", "listen",
		"accept", NULL, NULL, "socketpair", "send", "recv", "sendto", "recvfrom",
		"shutdown", NULL, NULL, "sendmsg", "recvmsg", "accept4", "recvmmsg",
		"sendmmsg", NULL, NULL };

	(void)state;
	for (size_t i = 0; i < LENGTH(name); i++) {
		int row = syscall_of_socketcall(i);
		if (name[i])
			assert_true(row >= 0 && !strcmp(syscalls[row].name, name[i]));
		else
			assert_int_equal(row, -1);
	}
	assert_int_equal(syscall_of_socketcall(-1ul), -1);
}

static void set_words(void **state)
{
	/* in and out: calls that the set has and has not */
	static const struct {
		const char *text, *in[4], *out[4];
	} row[] = {
		{ "data", { "read", "sendmsg", "tee", "recv:peek" },
			{ "fsync", "open" } },
		{ "sync", { "fsync", "msync" }, { "read", "close" } },
		{ "classic", { "read", "pwritev2" },
			{ "sendfile", "recvfrom", "fsync" } },
		{ "net", { "recvmmsg", "socket", "recvmsg:peek" }, { "read", "open" } },
		{ "meta", { "open", "close", "stat", "socket" }, { "read", "fsync" } },
		{ "all", { "read", "fsync", "open", "bind" }, { "execve", "ptrace" } },
		{ "%data,sync", { "read", "fsync" }, { "open" } },
		{ "trace=read", { "read" }, { "readv", "pread64", "write" } },
		{ "recvfrom", { "recvfrom", "recvfrom:peek" }, { "recv", "recv:peek" } },
		{ "read,openat", { "read", "openat" }, { "open", "write" } },
		{ "!read", { "write", "fsync" }, { "read", "open" } },
		{ "!%sync", { "read" }, { "fsync" } },
		{ "all,!meta,close", { "read", "close", "fsync" }, { "open", "stat" } },
		{ "meta,!open", { "openat" }, { "open" } },
		{ "!recv", { "recvfrom", "recvfrom:peek" }, { "recv", "recv:peek" } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		struct syscall_set s;
		const char *bad;
		memset(&s, 0xff, sizeof(s));
		assert_int_equal(syscall_set_parse(&s, row[i].text, &bad), 0);
		for (int k = 0; k < 4; k++) {
			if (row[i].in[k] &&
				!syscall_wanted(&s, syscall_by_name(row[i].in[k])))
				fail_msg("%s lacks %s", row[i].text, row[i].in[k]);
			if (row[i].out[k] &&
				syscall_wanted(&s, syscall_by_name(row[i].out[k])))
				fail_msg("%s has %s", row[i].text, row[i].out[k]);
		}
	}
}

static void set_errors(void **state)
{
	static const struct {
		const char *text, *bad;
	} row[] = {
		{ "", "" },
		{ "trace=", "" },
		{ "nonsense", "nonsense" },
		{ "read,nonsense,write", "nonsense,write" },
		{ "read,", "" },
		{ "read,,write", ",write" },
		{ "!", "!" },
		{ "data,!nonsense", "!nonsense" },
		{ "execve", "execve" }, /* no operation */
		{ "rea", "rea" },
		{ "dat", "dat" },
		{ "read ", "read " },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		struct syscall_set s;
		const char *bad = NULL;
		assert_true(syscall_set_parse(&s, row[i].text, &bad) < 0);
		assert_string_equal(bad, row[i].bad);
	}
}

/* Counts compare with the kernel's only if all that it counts is traced. */
static void countable(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} row[] = { { "data", true }, { "all", true }, { "!sync", true },
		{ "classic", true }, { "!pread64", false }, { "net", false },
		{ "data,!recvfrom", true }, { "data,!sendfile", true },
		{ "read,write", false } };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		struct syscall_set s;
		const char *bad;
		assert_int_equal(syscall_set_parse(&s, row[i].text, &bad), 0);
		assert_int_equal(syscall_set_countable(&s), row[i].want);
		for (unsigned k = 0; syscalls[k].name; k++) {
			if (syscall_wanted(&s, k))
				assert_true(syscall_traced(&s, k));
			else
				assert_int_equal(syscall_traced(&s, k),
					row[i].want && syscalls[k].weight);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_64),
		cmocka_unit_test(numbers_32),
		cmocka_unit_test(numbers_arm),
		cmocka_unit_test(index_64),
		cmocka_unit_test(index_32),
		cmocka_unit_test(index_arm),
		cmocka_unit_test(rows_make_sense),
		cmocka_unit_test(arguments),
		cmocka_unit_test(socketcalls),
		cmocka_unit_test(set_words),
		cmocka_unit_test(set_errors),
		cmocka_unit_test(countable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
