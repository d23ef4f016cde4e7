/*
 * filter.c - the seccomp program that makes wanted calls stop
 *
 * The number decides alone for nearly every call, so the kernel caches the answer for
 * the rest and they run at full speed: seccomp(2), "bitmap" in kernel/seccomp.c.
 */
#include "tracer.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_CODE = 2 * 2 * 256 + 32 };

struct program {
	struct sock_filter code[MAX_CODE];
	unsigned n;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void emit_stop(struct program *p)
{
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE | FILTER_COOKIE);
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

/* clone(2) has to stop only where it would hide its child from us. */
static void emit_clone(struct program *p, unsigned nr)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, nr);
	emit_load(p, offsetof(struct seccomp_data, args[0]));
	emit(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_UNTRACED);
	emit_stop(p);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

static bool stops(const struct syscall_set *want, int row)
{
	return row >= 0 &&
	       (syscalls[row].sets & SET_CONTROL || syscall_traced(want, row));
}

/* A negative number is no call at all, and none of another ABI. */
static void emit_foreign(struct program *p, uint32_t first)
{
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 2, first);
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 1, 0, INT32_MIN);
	emit_stop(p);
}

static void emit_abi(
	struct program *p, const struct arch_abi *a, const struct syscall_set *want)
{
	int16_t row[NR_MAX];
	int clone = syscall_by_name("clone");

	syscall_index(a->abi, row);
	emit_load(p, offsetof(struct seccomp_data, nr));
	for (int nr = 0; nr < NR_MAX; nr++) {
		if (!stops(want, row[nr]))
			continue;
		if (row[nr] == clone) {
			emit_clone(p, nr);
		} else {
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, nr);
			emit_stop(p);
		}
	}
	if (a->foreign)
		emit_foreign(p, a->foreign);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

/* Jumps reach 255 instructions; a table of more is entered by an unconditional one. */
static void build(struct program *p, const struct syscall_set *want)
{
	emit_load(p, offsetof(struct seccomp_data, arch));
	for (const struct arch_abi *a = arch_abis; a->audit; a++) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, a->audit);
		unsigned other = p->n;
		emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_abi(p, a, want);
		p->code[other].k = p->n - other - 1;
	}
	emit_stop(p);
}

int filter_install(const struct syscall_set *want)
{
	struct program p = { .n = 0 };

	build(&p, want);
	struct sock_fprog prog = { .len = p.n, .filter = p.code };

	/*
	 * SPEC_ALLOW: without it kernels before 5.16 switch on costly mitigations.
	 * No-new-privileges only where the kernel insists, as it changes what set-uid
	 * programs may do.
	 */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &prog))
		return 0;
	if (errno != EACCES)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) < 0
		       ? -errno
		       : 0;
}
