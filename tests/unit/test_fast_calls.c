/*
 * test_fast_calls.c - the fast path's table of calls against syscalls[]
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/tracer.h"
#include "iops/async.h"
#include "iops/op.h"

#include <linux/io_uring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

static struct fast index_of(const char *want)
{
	struct fast f = { .after = 0 };
	struct syscall_set set;
	const char *bad;

	assert_int_equal(syscall_set_parse(&set, want, &bad), 0);
	fast_calls_index(&f, &set);
	return f;
}

/* The table begins with read and ends with a call that has no name. */
static const struct fast_call *table(void)
{
	struct fast f = index_of("data");

	return f.call[syscall_by_name("read")];
}

static int nr_of(const char *name)
{
	int row = syscall_by_name(name);

	return row < 0 ? -1 : syscalls[row].nr[ABI_X86_64];
}

static void names(void **state)
{
	struct fast f = index_of("data");
	struct syscall_set concerned = fast_concerned(false),
			   later = fast_concerned(true);
	unsigned n = 0, rows = 0;

	(void)state;
	for (const struct fast_call *c = table(); c->name; c++, n++) {
		int row = syscall_by_name(c->name);
		if (row < 0)
			fail_msg("%s is no row of syscalls[]", c->name);
		if (f.call[row] != c)
			fail_msg("%s is there twice", c->name);
		assert_in_range(nr_of(c->name), 0, NSHAPES - 1);
		/* Those with values of an argument that stop early, and late, are in
		 * both. */
		assert_true(
			syscall_wanted(&concerned, row) || syscall_wanted(&later, row));
		assert_int_equal(
			syscall_wanted(&concerned, row) && syscall_wanted(&later, row),
			!strcmp(c->name, "fcntl") || (c->role == ROLE_OPEN && c->cuts));
	}
	assert_true(syscall_wanted(&later, syscall_by_name("close")));
	assert_true(syscall_wanted(&concerned, syscall_by_name("lseek")));
	for (unsigned i = 0; i < sizeof(f.call) / sizeof(*f.call); i++)
		rows += f.call[i] != NULL;
	assert_int_equal(rows, n);
	assert_true(syscall_rows() <= sizeof(f.call) / sizeof(*f.call));
	for (unsigned row = 0; row < syscall_rows(); row++)
		assert_int_equal(
			syscall_wanted(&concerned, row) || syscall_wanted(&later, row),
			f.call[row] != NULL);
	assert_false(syscall_wanted(&concerned, syscall_by_name("mkdir")));
}

/* Where the hook and those who read its records look is where the call has it. */
static bool fits(const struct fast_call *c, const struct syscall_desc *d)
{
	switch (c->shape) {
	case SHAPE_PASS:
		return c->role != ROLE_DATA;
	case SHAPE_PLAIN: /* four arguments are kept */
		return d->fd < 4 && d->size < 4 && d->offset < 4 && d->flags < 4 &&
		       d->path < 0 && d->form != FORM_VEC && d->form != FORM_MSG &&
		       d->form != FORM_TWO;
	case SHAPE_VEC:
		return d->form == FORM_VEC && d->fd == 0 && d->offset < 4;
	case SHAPE_MSG:
		return d->form == FORM_MSG && d->fd == 0 && d->flags < 4;
	case SHAPE_TWO:
		return d->form == FORM_TWO && d->fd >= 0 && d->fd < 4 && d->fd2 >= 0 &&
		       d->fd2 < 4 && d->size <= 4;
	case SHAPE_OPEN0:
		return d->form == FORM_OPEN && d->path == 0 && c->role == ROLE_OPEN;
	case SHAPE_OPEN1:
		return d->form == FORM_OPEN && d->path == 1 && d->fd == 0 &&
		       c->role == ROLE_OPEN;
	case SHAPE_NEWFD:
		return d->form == FORM_NEWFD && c->role == ROLE_OPEN;
	case SHAPE_PAIR: /* where argument 0 leads */
		return d->form == FORM_NEWFD && d->fd < 0 && c->role == ROLE_PAIR &&
		       !strncmp(c->name, "pipe", 4);
	case SHAPE_PATH0:
		return d->path == 0 && c->role == ROLE_PATH;
	case SHAPE_PATHS01: /* what a symbolic link leads to is said before its name */
		return d->path == !strcmp(c->name, "symlink") &&
		       (c->role == ROLE_PATH || c->role == ROLE_LINK);
	case SHAPE_PATHS02:
		return d->path == 2 && d->fd == 1 && c->role == ROLE_LINK;
	case SHAPE_PATH1:
		return d->path == 1 && c->role == ROLE_PATH;
	case SHAPE_PATHS13:
		return d->path == 1 && (c->role == ROLE_PATH || c->role == ROLE_LINK);
	case SHAPE_RING:
		return !strcmp(c->name, "io_uring_enter") && c->role == ROLE_ENTER;
	case SHAPE_SUBMIT:
		return !strcmp(c->name, "io_submit") && c->role == ROLE_SUBMIT;
	}
	return false;
}

static void shapes(void **state)
{
	(void)state;
	for (const struct fast_call *c = table(); c->name; c++)
		if (!fits(c, &syscalls[syscall_by_name(c->name)]))
			fail_msg("%s: shape %d", c->name, c->shape);
}

/* Where the roles look: their descriptors are in argument 0. */
static void roles(void **state)
{
	(void)state;
	for (const struct fast_call *c = table(); c->name; c++) {
		const struct syscall_desc *d = &syscalls[syscall_by_name(c->name)];
		bool first = c->role == ROLE_SEEK || c->role == ROLE_SIZE ||
			     c->role == ROLE_CLOSE || c->role == ROLE_DUP ||
			     c->role == ROLE_DUP_TO || c->role == ROLE_FCNTL;
		if (first && d->fd > 0)
			fail_msg("%s: its descriptor is argument %d", c->name, d->fd);
		/* Without a role: it only has to stop. */
		if (c->shape != SHAPE_PASS)
			assert_int_not_equal(c->role, ROLE_NONE);
		/* What is counted by the kernel has to be by us. */
		if (d->weight)
			assert_int_equal(c->role, ROLE_DATA);
	}
}

/* All that receive messages with control data, and nothing else. */
static void rights(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const struct fast_call *c = table(); c->name; c++) {
		const struct syscall_desc *d = &syscalls[syscall_by_name(c->name)];
		bool message = d->form == FORM_MSG || d->form == FORM_MMSG;
		if (c->rights != (message && d->kind == OP_READ))
			fail_msg("%s may bring descriptors or not", c->name);
		n += c->rights;
	}
	assert_int_equal(n, 2);
}

/* A call that is wanted with its path has to stop. */
static void what_is_wanted(void **state)
{
	struct fast data = index_of("data"), all = index_of("all");

	(void)state;
	assert_int_equal(data.shape[nr_of("read")], SHAPE_PLAIN);
	assert_int_equal(all.shape[nr_of("read")], SHAPE_PLAIN);
	assert_int_equal(data.shape[nr_of("openat")], SHAPE_OPEN1);
	assert_int_equal(data.shape[nr_of("rename")], SHAPE_PATHS01);
	for (int row = 0; syscalls[row].name; row++) {
		const struct syscall_desc *d = &syscalls[row];
		if (d->nr[ABI_X86_64] < 0 || d->nr[ABI_X86_64] >= NSHAPES)
			continue;
		if (!data.call[row] || d->form == FORM_PATH || d->form == FORM_OPEN ||
			d->form == FORM_NEWFD)
			assert_int_equal(all.shape[d->nr[ABI_X86_64]], SHAPE_PASS);
		else
			assert_int_equal(
				all.shape[d->nr[ABI_X86_64]], data.call[row]->shape);
	}
}

/* Numbers that drain.c and history.c have by themselves. */
static void numbers(void **state)
{
	(void)state;
	assert_int_equal(nr_of("close"), 3);
	assert_int_equal(nr_of("dup"), 32);
	assert_int_equal(nr_of("dup2"), 33);
	assert_int_equal(nr_of("fcntl"), 72);
	assert_int_equal(nr_of("dup3"), 292);
}

/* What the hook asks in place of an exec is not to be taken for the program's own. */
static void asks(void **state)
{
	static const struct {
		const char *want;
		uint8_t shape;
	} row[] = { { "data", SHAPE_EXEC }, { "data,stat", SHAPE_PASS } };

	(void)state;
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct syscall_set want;
		const char *bad;
		assert_int_equal(syscall_set_parse(&want, row[i].want, &bad), 0);
		struct fast f = index_of(row[i].want);
		fast_calls_free(&f, &want);
		assert_int_equal(f.shape[SYS_execve], row[i].shape);
		assert_true(shape_asks(f.shape[SYS_openat]));
		assert_false(shape_asks(f.shape[SYS_getppid]));
	}
	assert_true(shape_asks(SHAPE_EXEC) && !shape_opens(SHAPE_EXEC));
}

/* Requests that make or close descriptors, or have more to tell in memory, stop. */
static void requests(void **state)
{
	static const uint8_t stop[] = { IORING_OP_OPENAT, IORING_OP_OPENAT2,
		IORING_OP_CLOSE, IORING_OP_ACCEPT, IORING_OP_SOCKET, IORING_OP_SENDMSG,
		IORING_OP_RECVMSG, IORING_OP_STATX, IORING_OP_CONNECT, IORING_OP_SPLICE,
		IORING_OP_TEE, IORING_OP_FILES_UPDATE, IORING_OP_MSG_RING,
		IORING_OP_RENAMEAT };
	uint8_t how[NENTRIES];

	(void)state;
	fast_entries(how);
	for (unsigned i = 0; i < sizeof(stop); i++)
		assert_int_equal(how[stop[i]], ENTRY_PASS);
	for (unsigned i = 0; i < NENTRIES; i++) {
		unsigned kind = async_kind(ASYNC_URING, i);
		bool open = kind == OP_OPEN || kind == OP_CLOSE;
		assert_true(how[i] == ENTRY_PASS || !open);
		/* By the position of its descriptor, where it says no offset. */
		if (how[i] == ENTRY_NOTED && (kind == OP_READ || kind == OP_WRITE))
			assert_true(i == IORING_OP_SEND || i == IORING_OP_RECV ||
				    i == IORING_OP_SEND_ZC);
	}
	assert_int_equal(how[IORING_OP_READ], ENTRY_PLACED);
	assert_int_equal(how[IORING_OP_WRITE_FIXED], ENTRY_PLACED);
	assert_int_equal(how[IORING_OP_READV], ENTRY_VECTOR);
	assert_int_equal(how[IORING_OP_FSYNC], ENTRY_NOTED);
}

/* What the filter lets through is the place behind a call in the hook. */
static void addresses(void **state)
{
	uint32_t at[FAST_CALLS];
	unsigned n = fast_addresses(at), calls = 0;

	(void)state;
	assert_int_equal(n, FAST_CALLS);
	for (unsigned i = 0; i < n; i++) {
		assert_true(in_hook(at[i]));
		assert_memory_equal(hook_code + (at[i] - HOOK_AT) - 2, "\x0f\x05", 2);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(at[i], at[j]);
	}
	/* In the first page others are for where calls are dispatched, without the
	 * filter: any, stat(2), fstat(2) where the program makes it, and a mask of
	 * signals. What makes a thread is in the second one. */
	for (const uint8_t *p = hook_code; p + 1 < hook_end; p++)
		calls += p[0] == 0x0f && p[1] == 0x05;
	assert_int_equal(calls, n - 1 + 4);
	assert_true(hook_end - hook_code <= 0x1000);
	assert_true(setup_end - setup_code <= 0x1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(shapes),
		cmocka_unit_test(roles),
		cmocka_unit_test(rights),
		cmocka_unit_test(what_is_wanted),
		cmocka_unit_test(numbers),
		cmocka_unit_test(asks),
		cmocka_unit_test(requests),
		cmocka_unit_test(addresses),
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
