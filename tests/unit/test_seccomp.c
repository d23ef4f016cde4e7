/*
 * test_seccomp.c - the program that makes calls stop: run here, number by number
 */
#include "../../src/source/ptrace/tracer.h"
#include "iops/launch.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 40 };

/* What the kernel would make of a call, as seccomp(2) and its bpf(4) have it. */
static uint32_t answer(const struct sock_filter *code, unsigned n, struct seccomp_data d)
{
	uint32_t a = 0;

	for (unsigned at = 0, steps = 0; at < n; at++, steps++) {
		const struct sock_filter *f = &code[at];
		assert_true(steps < STEPS); /* a search, no list */
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(f->k % 4 == 0 && f->k < sizeof(d));
			memcpy(&a, (const char *)&d + f->k, 4);
			break;
		case BPF_JMP | BPF_JA:
			at += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & f->k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			fail_msg("instruction %u", at);
		}
	}
	fail_msg("it has no end");
	return 0;
}

static bool is(const char *name, const char *other)
{
	return !strcmp(name, other);
}

/* An argument decides about these, unless they are wanted anyway: 7 is none that stops.
 */
static const struct {
	const char *name;
	int arg;
	uint64_t stops, too;
} by_argument[] = {
	{ "clone", 0, CLONE_UNTRACED | CLONE_VM, CLONE_THREAD | CLONE_VM },
	{ "fcntl", 1, F_DUPFD, F_SETFL },
	{ "prctl", 0, PR_SET_SECCOMP, PR_SET_TSC },
};

static int decides(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (is(name, by_argument[i].name))
			return i;
	return -1;
}

static bool stopped(uint32_t answer)
{
	assert_true(answer == SECCOMP_RET_ALLOW ||
		    (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE);
	return answer != SECCOMP_RET_ALLOW;
}

/* As many ranges as there can be. */
static void every_other(struct syscall_set *want)
{
	for (unsigned row = 0; syscalls[row].name; row++)
		if (syscalls[row].nr[arch_abis[0].abi] % 2 == 0)
			want->bit[row / 64] |= UINT64_C(1) << row % 64;
}

static void check(const struct syscall_set *want, bool patch,
	const struct sock_filter *code, unsigned n, const struct arch_abi *a, int nr,
	int row)
{
	const struct syscall_set fast = fast_concerned();
	struct seccomp_data d = { .nr = nr,
		.arch = a->audit,
		.instruction_pointer = 0x7000,
		.args = { 7, 7, 7, 7, 7, 7 } };
	bool wanted = row >= 0 && syscall_traced(want, row);
	bool stops =
		wanted || (row >= 0 && (syscalls[row].sets & SET_CONTROL ||
					       (patch && syscall_wanted(&fast, row))));
	int by = row < 0 || syscall_wanted(want, row) || !stops
			 ? -1
			 : decides(syscalls[row].name);
	bool does = stopped(answer(code, n, d));

	if (does != (stops && by < 0))
		fail_msg("number %d of ABI %d: %d", nr, (int)a->abi, does);
	if (by >= 0) {
		d.args[by_argument[by].arg] = by_argument[by].stops;
		assert_true(stopped(answer(code, n, d)));
		d.args[by_argument[by].arg] = by_argument[by].too;
		assert_true(stopped(answer(code, n, d)));
	}
}

static void each_number(void **state)
{
	static const char *const sets[] = { "data,sync", "all", "read", "classic", "meta",
		"net", "openat", "fsync,write,openat2", "pread64,lseek,getdents64",
		"every other" };
	struct sock_filter *code = calloc(BPF_MAXINSNS, sizeof(*code));
	int16_t row[NR_MAX];
	const char *bad;

	(void)state;
	for (size_t s = 0; s < 2 * sizeof(sets) / sizeof(sets[0]); s++) {
		struct syscall_set want = { { 0 } };
		if (is(sets[s / 2], "every other"))
			every_other(&want);
		else
			assert_int_equal(syscall_set_parse(&want, sets[s / 2], &bad), 0);
		unsigned n = filter_build(&want, s % 2, code);
		assert_true(n > 10 && n < BPF_MAXINSNS);
		for (const struct arch_abi *a = arch_abis; a->audit; a++) {
			syscall_index(a->abi, row);
			for (int nr = 0; nr < NR_MAX; nr++)
				check(&want, s % 2, code, n, a, nr, row[nr]);
		}
	}
	free(code);
}

static void others(void **state)
{
	struct sock_filter *code = calloc(BPF_MAXINSNS, sizeof(*code));
	struct syscall_set want = { { 0 } };
	const char *bad;

	(void)state;
	assert_int_equal(syscall_set_parse(&want, "read", &bad), 0);
	unsigned n = filter_build(&want, false, code);
	struct seccomp_data d = { .nr = 0, .arch = 1 };
	assert_true(stopped(answer(code, n, d))); /* an unknown machine */
	d.arch = arch_abis[0].audit;
	d.nr = -1; /* no call */
	assert_int_equal(answer(code, n, d), SECCOMP_RET_ALLOW);
	d.nr = NR_MAX + 7; /* a new one */
	assert_int_equal(answer(code, n, d), SECCOMP_RET_ALLOW);
	if (arch_abis[0].foreign) {
		d.nr = (int)arch_abis[0].foreign; /* of another ABI of this machine */
		assert_true(stopped(answer(code, n, d)));
	}
	free(code);
}

#ifdef __x86_64__
/* Behind the hook's own calls it need not stop again; anywhere near them it must. */
static void from_the_hook(void **state)
{
	struct sock_filter *code = calloc(BPF_MAXINSNS, sizeof(*code));
	struct syscall_set want = { { 0 } };
	uint32_t after[FAST_CALLS];
	const char *bad;

	(void)state;
	assert_int_equal(syscall_set_parse(&want, "data,sync", &bad), 0);
	unsigned n = filter_build(&want, true, code);
	unsigned calls = fast_addresses(after);
	assert_true(calls > 0);
	for (unsigned i = 0; i < calls; i++) {
		struct seccomp_data d = { .nr = 0,
			.arch = arch_abis[0].audit,
			.instruction_pointer = after[i] };
		assert_int_equal(answer(code, n, d), SECCOMP_RET_ALLOW);
		d.instruction_pointer++;
		assert_true(stopped(answer(code, n, d)));
		d.instruction_pointer += UINT64_C(1) << 32;
		d.instruction_pointer--;
		assert_true(stopped(answer(code, n, d)));
		d.instruction_pointer = after[i];
		d.arch = arch_abis[1].audit; /* 32 bits: read is number 3 */
		d.nr = 3;
		assert_true(stopped(answer(code, n, d)));
	}
	free(code);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number),
		cmocka_unit_test(others),
#ifdef __x86_64__
		cmocka_unit_test(from_the_hook),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
