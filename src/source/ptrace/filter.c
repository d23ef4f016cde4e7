/*
 * filter.c - the seccomp program that makes wanted calls stop
 *
 * The number decides alone for nearly every call, so the kernel caches the answer for
 * the rest and they run at full speed: seccomp(2), "bitmap" in kernel/seccomp.c.
 */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
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
	unsigned stop[8], nstops; /* jumps to where calls stop */
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

/* A call that has to stop only where an argument holds one of these values. */
static const struct condition {
	const char *name;
	uint8_t arg;
	bool bits; /* any of these bits, instead of a value */
	uint32_t value[3];
	unsigned n;
} conditions[] = {
	/* A child that hides from us. */
	{ "clone", 0, true, { CLONE_UNTRACED }, 1 },
	{ "fcntl", 1, false, { F_DUPFD, F_DUPFD_CLOEXEC, F_SETFL }, 3 },
	{ "prctl", 0, false, { PR_SET_SECCOMP, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH },
		3 },
};

static const struct condition *condition_of(const struct syscall_set *want, int row)
{
	if (syscall_wanted(want, row))
		return NULL;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		if (!strcmp(conditions[i].name, syscalls[row].name))
			return &conditions[i];
	return NULL;
}

static void emit_condition(struct program *p, const struct condition *c, unsigned nr)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3 + c->n, nr);
	emit_load(p, offsetof(struct seccomp_data, args) + 8 * c->arg);
	for (unsigned i = 0; i < c->n; i++)
		emit(p, BPF_JMP | (c->bits ? BPF_JSET : BPF_JEQ) | BPF_K, c->n - i, 0,
			c->value[i]);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	p->stop[p->nstops++] = p->n;
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

static bool stops(const struct syscall_set *want, int row, bool patch)
{
	if (row < 0)
		return false;
	if (syscalls[row].sets & SET_CONTROL || syscall_traced(want, row))
		return true;
	return patch && fast_concerns(syscalls[row].name);
}

/* A negative number is no call at all, and none of another ABI. */
static void emit_foreign(struct program *p, uint32_t first)
{
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 2, first);
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 1, 0, INT32_MIN);
	emit_stop(p);
}

/* The hook has made the record: let the call pass where only the hook can stand. */
static void emit_hook(struct program *p)
{
	uint32_t after[FAST_CALLS];
	unsigned n = fast_addresses(after);

	emit_load(p, offsetof(struct seccomp_data, instruction_pointer));
	for (unsigned i = 0; i < n; i++)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, n - i, 0, after[i]);
	emit_stop(p);
	emit_load(p, offsetof(struct seccomp_data, instruction_pointer) + 4);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	emit_stop(p);
}

/* A conditional jump reaches 255 instructions: so does the list of numbers. */
static void emit_abi(struct program *p, const struct arch_abi *a,
	const struct syscall_set *want, bool patch)
{
	int16_t row[NR_MAX];
	unsigned first = p->n + 1, last;

	syscall_index(a->abi, row);
	p->nstops = 0;
	emit_load(p, offsetof(struct seccomp_data, nr));
	for (int nr = 0; nr < NR_MAX; nr++)
		if (stops(want, row[nr], patch) && !condition_of(want, row[nr]))
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, nr);
	last = p->n;
	for (int nr = 0; nr < NR_MAX; nr++)
		if (stops(want, row[nr], patch) && condition_of(want, row[nr]))
			emit_condition(p, condition_of(want, row[nr]), nr);
	if (a->foreign)
		emit_foreign(p, a->foreign);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	for (unsigned i = first; i < last; i++)
		p->code[i].jt = p->n - i - 1;
	for (unsigned i = 0; i < p->nstops; i++)
		p->code[p->stop[i]].k = p->n - p->stop[i] - 1;
	if (patch && a == arch_abis)
		emit_hook(p);
	else
		emit_stop(p);
}

/* A table of more than 255 instructions is entered by an unconditional jump. */
static void build(struct program *p, const struct syscall_set *want, bool patch)
{
	emit_load(p, offsetof(struct seccomp_data, arch));
	for (const struct arch_abi *a = arch_abis; a->audit; a++) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, a->audit);
		unsigned other = p->n;
		emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_abi(p, a, want, patch);
		p->code[other].k = p->n - other - 1;
	}
	emit_stop(p);
}

int filter_install(const struct syscall_set *want, bool patch)
{
	struct program p = { .n = 0 };

	build(&p, want, patch);
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
