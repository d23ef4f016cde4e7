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
#include <sys/mman.h>
#include <sys/resource.h>
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

/* An argument decides about these, unless they are wanted anyway: 1 is none that stops.
 */
static const struct condition {
	const char *name;
	int arg;
	uint64_t stops, too;
} by_argument[] = {
	{ "clone", 0, CLONE_UNTRACED | CLONE_SETTLS, CLONE_FILES },
	{ "clone", 0, CLONE_THREAD, CLONE_VM },
	{ "fcntl", 1, F_SETFL, F_SETFL },
	{ "open", 1, O_WRONLY | O_CREAT | O_TRUNC, O_TRUNC },
	{ "openat", 2, O_WRONLY | O_CREAT | O_TRUNC, O_TRUNC },
	{ "prctl", 0, PR_SET_SECCOMP, PR_SET_TSC },
	{ "prctl", 0, PR_CAPBSET_DROP, PR_SET_SECUREBITS },
	{ "mremap", 3, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_DONTUNMAP },
	{ "setrlimit", 0, RLIMIT_AS, RLIMIT_AS },
	{ "prlimit64", 1, RLIMIT_AS, RLIMIT_AS },
	{ "rt_sigaction", 0, SIGSEGV, SIGBUS },
	{ .name = NULL },
}, by_argument_second[] = {
	{ "fcntl", 1, F_DUPFD, F_DUPFD_CLOEXEC },
	{ .name = NULL },
};

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

static void check(const struct syscall_set *want, enum filter_part part,
	const struct sock_filter *code, unsigned n, const struct arch_abi *a, int nr,
	int row)
{
	bool second = part == FILTER_SECOND;
	const struct syscall_set none = { { 0 } },
				 fast = part ? fast_concerned(second) : none;
	struct seccomp_data d = { .nr = nr,
		.arch = a->audit,
		.instruction_pointer = 0x7000,
		.args = { 1, 1, 1, 1, 1, 1 } };
	bool wanted = row >= 0 && !second && syscall_traced(want, row);
	bool stops =
		wanted || (row >= 0 && ((!second && syscalls[row].sets & SET_CONTROL) ||
					       syscall_wanted(&fast, row)));
	bool does = stopped(answer(code, n, d)), conditional = false;

	for (int i = 0; stops && !syscall_wanted(want, row); i++) {
		const struct condition *c =
			&(second ? by_argument_second : by_argument)[i];
		if (!c->name)
			break;
		if (!is(syscalls[row].name, c->name))
			continue;
		conditional = true;
		struct seccomp_data with = d;
		with.args[c->arg] = c->stops;
		assert_true(stopped(answer(code, n, with)));
		with.args[c->arg] = c->too;
		assert_true(stopped(answer(code, n, with)));
	}
	if (does != (stops && !conditional))
		fail_msg("number %d of ABI %d: %d", nr, (int)a->abi, does);
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
	for (size_t s = 0; s < 3 * sizeof(sets) / sizeof(sets[0]); s++) {
		const enum filter_part part = s % 3;
		struct syscall_set want = { { 0 } };
		if (is(sets[s / 3], "every other"))
			every_other(&want);
		else
			assert_int_equal(syscall_set_parse(&want, sets[s / 3], &bad), 0);
		unsigned n = filter_build(&want, part, code);
		assert_true(n > 10 && n < BPF_MAXINSNS);
		for (const struct arch_abi *a = arch_abis; a->audit; a++) {
			syscall_index(a->abi, row);
			for (int nr = 0; nr < NR_MAX; nr++)
				check(&want, part, code, n, a, nr, row[nr]);
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
	unsigned n = filter_build(&want, FILTER_WANTED, code);
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
	unsigned calls = fast_addresses(after);
	assert_true(calls > 0);
	for (unsigned i = 0; i < 2 * calls; i++) {
		bool second = i >= calls;
		unsigned n =
			filter_build(&want, second ? FILTER_SECOND : FILTER_FIRST, code);
		struct seccomp_data d = { .nr = second ? 3 /* close */ : 0,
			.arch = arch_abis[0].audit,
			.instruction_pointer = after[i % calls] };
		assert_int_equal(answer(code, n, d), SECCOMP_RET_ALLOW);
		d.instruction_pointer++;
		assert_true(stopped(answer(code, n, d)));
		d.instruction_pointer += UINT64_C(1) << 32;
		d.instruction_pointer--;
		assert_true(stopped(answer(code, n, d)));
		d.instruction_pointer = after[i % calls];
		d.arch = arch_abis[1].audit; /* 32 bits: read is number 3, close 6 */
		d.nr = second ? 6 : 3;
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
