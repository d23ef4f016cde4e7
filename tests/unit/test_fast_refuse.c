/*
 * test_fast_refuse.c - which calls a filter may refuse
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/refuse.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define LOAD(field)                                                                      \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(action)            BPF_STMT(BPF_RET | BPF_K, action)
#define IF(op, value, yes, no) BPF_JUMP(BPF_JMP | BPF_##op | BPF_K, value, yes, no)
#define MAY(code, nr)          refuse_may(code, sizeof(code) / sizeof(*(code)), nr)

static void all_or_nothing(void **state)
{
	const struct sock_filter allow[] = { RET(SECCOMP_RET_ALLOW) },
				 log[] = { RET(SECCOMP_RET_LOG) },
				 kill[] = { RET(SECCOMP_RET_KILL) },
				 trace[] = { RET(SECCOMP_RET_TRACE | 7) },
				 loaded[] = { LOAD(nr), BPF_STMT(BPF_RET | BPF_A, 0) },
				 endless[] = { LOAD(nr) };

	(void)state;
	assert_false(MAY(allow, SYS_read));
	assert_false(MAY(log, SYS_read));
	assert_true(MAY(kill, SYS_read));
	assert_true(MAY(trace, SYS_read));
	assert_true(MAY(loaded, SYS_read));
	assert_true(MAY(endless, SYS_read));
}

static void by_number(void **state)
{
	const struct sock_filter one[] = { LOAD(arch), IF(JEQ, AUDIT_ARCH_X86_64, 1, 0),
		RET(SECCOMP_RET_KILL_PROCESS), LOAD(nr), IF(JEQ, SYS_pwrite64, 0, 1),
		RET(SECCOMP_RET_ERRNO | 33), RET(SECCOMP_RET_ALLOW) };
	const struct sock_filter range[] = { LOAD(nr), IF(JGE, SYS_openat, 1, 0),
		IF(JGT, SYS_write, 0, 1), RET(SECCOMP_RET_TRAP), RET(SECCOMP_RET_ALLOW) };
	const struct sock_filter masked[] = { LOAD(nr),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1), IF(JEQ, 1, 0, 1),
		RET(SECCOMP_RET_ERRNO), RET(SECCOMP_RET_ALLOW) };

	(void)state;
	assert_true(MAY(one, SYS_pwrite64));
	assert_false(MAY(one, SYS_pread64));
	assert_false(MAY(one, SYS_read));
	assert_true(MAY(range, SYS_openat));
	assert_true(MAY(range, SYS_pread64));
	assert_false(MAY(range, SYS_write));
	assert_true(MAY(masked, SYS_write));
	assert_false(MAY(masked, SYS_read));
}

/* Arguments and addresses may be anything; what is done to them is not looked at. */
static void by_argument(void **state)
{
	const struct sock_filter argument[] = { LOAD(nr), IF(JEQ, SYS_write, 0, 3),
		LOAD(args[0]), IF(JEQ, 2, 0, 1), RET(SECCOMP_RET_ERRNO | 1),
		RET(SECCOMP_RET_ALLOW) };
	const struct sock_filter harmless[] = { LOAD(args[0]), IF(JEQ, 2, 0, 1),
		RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_LOG) };
	const struct sock_filter kept[] = { LOAD(nr), BPF_STMT(BPF_ST, 0),
		BPF_STMT(BPF_LD | BPF_MEM, 0), IF(JEQ, SYS_write, 0, 1),
		RET(SECCOMP_RET_ERRNO | 1), RET(SECCOMP_RET_ALLOW) };

	(void)state;
	assert_true(MAY(argument, SYS_write));
	assert_false(MAY(argument, SYS_read));
	assert_false(MAY(harmless, SYS_write));
	assert_true(MAY(kept, SYS_write));
	assert_true(MAY(kept, SYS_read)); /* not known to be none */
}

/* As many ways as there are numbers of 40 bits: it takes an end. */
static void long_one(void **state)
{
	enum { STEPS = 40 };
	struct sock_filter code[3 * STEPS + 1];

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		code[3 * i] = (struct sock_filter)LOAD(args[0]);
		code[3 * i + 1] = (struct sock_filter)IF(JSET, 1u << i % 32, 0, 1);
		code[3 * i + 2] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_IMM, 1000u + (unsigned)i);
	}
	code[3 * STEPS] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
	assert_false(MAY(code, SYS_read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(by_number),
		cmocka_unit_test(by_argument),
		cmocka_unit_test(long_one),
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
