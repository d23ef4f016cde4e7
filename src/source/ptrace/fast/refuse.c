/*
 * refuse.c - which calls a program's own seccomp filter may refuse
 *
 * A call that the filter answers in place of the kernel was never made, but behind it the
 * hook sees a result like any other. Those that might be are made from their stubs, where
 * they stop only if they are allowed. What is not known of a call, its arguments, may be
 * anything: seccomp(2), bpf(4) of the BSDs.
 */
#include "refuse.h"

#include "../tracer.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <unistd.h>

enum { SEEN_ANY = 1, SEEN_NR = 2, SEEN_ARCH = 4, BUDGET = 20000 };

/* Of the accumulator; all else that a program keeps may be anything. */
struct value {
	bool known;
	uint32_t is;
};

struct walk {
	const struct sock_filter *code;
	unsigned n, steps;
	uint32_t nr;
	uint8_t seen[BPF_MAXINSNS]; /* at which instructions, with what */
};

static const struct value anything = { false, 0 };

static struct value loaded(const struct walk *w, const struct sock_filter *c)
{
	if (BPF_MODE(c->code) == BPF_IMM)
		return (struct value){ true, c->k };
	if (BPF_MODE(c->code) != BPF_ABS)
		return anything;
	if (c->k == offsetof(struct seccomp_data, nr))
		return (struct value){ true, w->nr };
	if (c->k == offsetof(struct seccomp_data, arch))
		return (struct value){ true, AUDIT_ARCH_X86_64 };
	return anything;
}

static struct value computed(const struct sock_filter *c, struct value a)
{
	if (!a.known || BPF_SRC(c->code) != BPF_K)
		return anything;
	switch (BPF_OP(c->code)) {
	case BPF_AND:
		return (struct value){ true, a.is & c->k };
	case BPF_OR:
		return (struct value){ true, a.is | c->k };
	case BPF_ADD:
		return (struct value){ true, a.is + c->k };
	case BPF_SUB:
		return (struct value){ true, a.is - c->k };
	}
	return anything;
}

/* 1: it jumps, 0: it does not, -1: that depends. */
static int jumps(const struct sock_filter *c, struct value a)
{
	if (!a.known || BPF_SRC(c->code) != BPF_K)
		return -1;
	switch (BPF_OP(c->code)) {
	case BPF_JEQ:
		return a.is == c->k;
	case BPF_JGT:
		return a.is > c->k;
	case BPF_JGE:
		return a.is >= c->k;
	case BPF_JSET:
		return (a.is & c->k) != 0;
	}
	return -1;
}

static bool refuses(const struct sock_filter *c)
{
	uint32_t action = c->k & SECCOMP_RET_ACTION_FULL;

	return BPF_RVAL(c->code) != BPF_K ||
	       (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG);
}

static bool seen_before(struct walk *w, unsigned at, struct value a)
{
	uint8_t with = !a.known                    ? SEEN_ANY
		       : a.is == w->nr             ? SEEN_NR
		       : a.is == AUDIT_ARCH_X86_64 ? SEEN_ARCH
						   : 0;
	bool seen = w->seen[at] & with;

	w->seen[at] |= with;
	return seen;
}

/* Jumps lead forward only. Whether some way from there ends in a refusal. */
static bool may_end_so(struct walk *w, unsigned at, struct value a)
{
	for (; at < w->n; at++) {
		const struct sock_filter *c = &w->code[at];
		if (++w->steps > BUDGET)
			return true;
		if (seen_before(w, at, a))
			return false;
		switch (BPF_CLASS(c->code)) {
		case BPF_LD:
			a = loaded(w, c);
			break;
		case BPF_ALU:
			a = computed(c, a);
			break;
		case BPF_MISC:
			a = anything;
			break;
		case BPF_RET:
			return refuses(c);
		case BPF_JMP:
			if (BPF_OP(c->code) == BPF_JA) {
				at += c->k;
				break;
			}
			int jump = jumps(c, a);
			if (jump < 0 && may_end_so(w, at + 1u + c->jf, a))
				return true;
			at += jump ? c->jt : c->jf;
		}
	}
	return true;
}

bool refuse_may(const struct sock_filter *code, unsigned n, int nr)
{
	struct walk w = { .code = code, .n = n, .nr = (uint32_t)nr };

	return n > BPF_MAXINSNS || may_end_so(&w, 0, anything);
}

/* What cannot be read may refuse all. */
void refuse_begin(struct tracer *t, struct task *k)
{
	const uint8_t stops = SHAPE_PASS;
	struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog prog;
	int mem = k->space->state == SPACE_READY ? mem_open(k->tid) : -1;

	if (mem < 0)
		return;
	bool known =
		task_read(k, k->call.arg[2], &prog, sizeof(prog)) == sizeof(prog) &&
		prog.len <= BPF_MAXINSNS &&
		task_read(k, (uintptr_t)prog.filter, code, prog.len * sizeof(*code)) ==
			(ssize_t)(prog.len * sizeof(*code));
	for (int nr = 0; nr < NSHAPES; nr++)
		if (shape_records(t->fast->shape[nr]) &&
			(!known || refuse_may(code, prog.len, nr)))
			mem_write(mem, SHAPES_AT + (uint64_t)nr, &stops, sizeof(stops));
	close(mem);
}
