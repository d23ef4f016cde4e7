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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A conditional jump reaches across this many ranges of numbers: three instructions each.
 */
enum { NEAR = 40 };

/* Jumps to a place that is yet to come. */
struct jumps {
	uint16_t at[32];
	unsigned n;
};

/* Conditional jumps: their yes or no leads to where calls stop, or pass. */
struct exits {
	struct {
		uint16_t at;
		bool yes, stop;
	} to[3 * NEAR];
	unsigned n;
};

struct program {
	struct sock_filter *code;
	unsigned n;
	struct jumps stop, pass;
	struct exits exits;
};

/* Numbers of calls, both ends included. */
struct range {
	uint16_t from, to;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void emit_jump(struct program *p, struct jumps *to)
{
	to->at[to->n++] = (uint16_t)p->n;
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

static void land(struct program *p, struct jumps *here)
{
	for (unsigned i = 0; i < here->n; i++)
		p->code[here->at[i]].k = p->n - here->at[i] - 1;
	here->n = 0;
}

static void emit_stop(struct program *p)
{
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE | FILTER_COOKIE);
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

enum { CHILD_SHARES = CLONE_THREAD | CLONE_VM | CLONE_FILES };

/* A call that has to stop only where an argument holds one of these values. */
static const struct condition {
	const char *name;
	uint8_t arg;
	bool bits;   /* any of these bits, instead of a value */
	bool second; /* in the second program, not in the first */
	uint32_t value[5];
	unsigned n;
} conditions[] = {
	/* A child that hides from us, or shares what is known of its parent. */
	{ "clone", 0, true, false, { CLONE_UNTRACED | CHILD_SHARES }, 1 },
	{ "fcntl", 1, false, false, { F_SETFL }, 1 },
	{ "open", 1, true, false, { O_TRUNC }, 1 },
	{ "openat", 2, true, false, { O_TRUNC }, 1 },
	{ "fcntl", 1, false, true, { F_DUPFD, F_DUPFD_CLOEXEC }, 2 },
	{ "mremap", 3, true, false, { MREMAP_FIXED | MREMAP_DONTUNMAP }, 1 },
	{ "setrlimit", 0, false, false, { RLIMIT_AS }, 1 },
	{ "prlimit64", 1, false, false, { RLIMIT_AS }, 1 },
	{ "rt_sigaction", 0, false, false, { SIGSEGV, SIGBUS }, 2 },
	{ "prctl", 0, false, false,
		{ PR_SET_SECCOMP, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH,
			PR_CAPBSET_DROP, PR_SET_SECUREBITS },
		5 },
};

/* The calls that a program is to make stop, and those of them for our own sake alone. */
struct stopping {
	struct syscall_set all, ours;
	bool hook; /* not where the hook makes them */
	bool second;
};

static const struct condition *condition_of(const struct stopping *s, int row)
{
	if (!syscall_wanted(&s->ours, row))
		return NULL;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		if (!strcmp(conditions[i].name, syscalls[row].name) &&
			conditions[i].second == s->second)
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
	emit_jump(p, &p->stop);
}

static bool stops(const struct stopping *s, int row)
{
	return row >= 0 && syscall_wanted(&s->all, row);
}

/* The numbers that stop whatever their arguments are. */
static unsigned ranges_of(
	const struct stopping *s, const int16_t row[NR_MAX], struct range out[NR_MAX])
{
	unsigned n = 0;

	for (int nr = 0; nr < NR_MAX; nr++) {
		if (!stops(s, row[nr]) || condition_of(s, row[nr]))
			continue;
		if (!n || out[n - 1].to != nr - 1)
			out[n++].from = (uint16_t)nr;
		out[n - 1].to = (uint16_t)nr;
	}
	return n;
}

static void leave(struct program *p, bool yes, bool stop)
{
	struct exits *e = &p->exits;

	e->to[e->n].at = (uint16_t)(p->n - 1);
	e->to[e->n].yes = yes;
	e->to[e->n++].stop = stop;
}

static void emit_range(struct program *p, const struct range *r)
{
	if (r->from == r->to) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, r->from);
		leave(p, true, true);
		leave(p, false, false);
		return;
	}
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 0, r->from);
	leave(p, false, false);
	emit(p, BPF_JMP | BPF_JGT | BPF_K, 0, 0, r->to);
	leave(p, true, false);
	leave(p, false, true);
}

/* Where is the number? left: how many of the ranges are asked for first. */
static void emit_near(struct program *p, const struct range *r, unsigned n, unsigned left)
{
	unsigned at = p->n;

	if (n == 1) {
		emit_range(p, r);
		return;
	}
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 0, r[left].from);
	emit_near(p, r, left, left / 2);
	p->code[at].jt = (uint8_t)(p->n - at - 1);
	emit_near(p, r + left, n - left, (n - left) / 2);
}

static void emit_exits(struct program *p)
{
	unsigned stop = p->n, pass = p->n + 1;

	emit_jump(p, &p->stop);
	emit_jump(p, &p->pass);
	for (unsigned i = 0; i < p->exits.n; i++) {
		unsigned at = p->exits.to[i].at;
		uint8_t by = (uint8_t)((p->exits.to[i].stop ? stop : pass) - at - 1);
		*(p->exits.to[i].yes ? &p->code[at].jt : &p->code[at].jf) = by;
	}
	p->exits.n = 0;
}

/* The kernel runs it once for each number there is, to know the answer: a search, no
 * list. Reads and writes have the lowest numbers, and are found first. */
static void emit_numbers(struct program *p, const struct range *r, unsigned n)
{
	for (; n > NEAR; r += NEAR, n -= NEAR) {
		emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, r[NEAR].from);
		unsigned on = p->n;
		emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_near(p, r, NEAR, 1);
		emit_exits(p);
		p->code[on].k = p->n - on - 1;
	}
	if (n) {
		emit_near(p, r, n, 1);
		emit_exits(p);
	}
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

static void emit_abi(
	struct program *p, const struct arch_abi *a, const struct stopping *s)
{
	int16_t row[NR_MAX];
	struct range range[NR_MAX];

	syscall_index(a->abi, row);
	emit_load(p, offsetof(struct seccomp_data, nr));
	emit_numbers(p, range, ranges_of(s, row, range));
	land(p, &p->pass);
	for (int nr = 0; nr < NR_MAX; nr++)
		if (stops(s, row[nr]) && condition_of(s, row[nr]))
			emit_condition(p, condition_of(s, row[nr]), nr);
	if (a->foreign && !s->second)
		emit_foreign(p, a->foreign);
	emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	land(p, &p->stop);
	if (s->hook && a == arch_abis)
		emit_hook(p);
	else
		emit_stop(p);
}

static void add_row(struct syscall_set *set, unsigned row)
{
	set->bit[row / 64] |= UINT64_C(1) << row % 64;
}

/* What is wanted has stopped before it comes to the second program. */
static struct stopping stopping_of(const struct syscall_set *want, enum filter_part part)
{
	struct stopping s = { .hook = part != FILTER_WANTED,
		.second = part == FILTER_SECOND };
	const struct syscall_set none = { { 0 } },
				 fast = s.hook ? fast_concerned(s.second) : none;

	for (unsigned row = 0; syscalls[row].name; row++) {
		bool wanted = syscall_wanted(want, row);
		if (syscall_wanted(&fast, row) ||
			(!s.second && (syscalls[row].sets & SET_CONTROL ||
					      syscall_traced(want, row))))
			add_row(&s.all, row);
		if (!wanted)
			add_row(&s.ours, row);
	}
	return s;
}

unsigned filter_build(
	const struct syscall_set *want, enum filter_part part, struct sock_filter *out)
{
	const struct stopping s = stopping_of(want, part);
	struct program p = { .code = out };

	emit_load(&p, offsetof(struct seccomp_data, arch));
	for (const struct arch_abi *a = arch_abis; a->audit; a++) {
		emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, a->audit);
		unsigned other = p.n;
		emit(&p, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_abi(&p, a, &s);
		p.code[other].k = p.n - other - 1;
	}
	emit_stop(&p);
	return p.n;
}

int filter_install(const struct syscall_set *want, bool patch)
{
	struct sock_filter code[BPF_MAXINSNS];
	unsigned n = filter_build(want, patch ? FILTER_FIRST : FILTER_WANTED, code);
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = code };

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
