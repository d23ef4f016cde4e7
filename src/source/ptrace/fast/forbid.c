/*
 * forbid.c - a program that forbids calls, to itself and to us
 *
 * After its own seccomp(2) filter nothing can be asked from inside any more: it may kill
 * for that. What was patched stays so, as its calls are the program's own.
 */
#include "../tracer.h"
#include "refuse.h"

#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

/*
 * A filter of the target's own that judges calls by where they come from would see ours.
 * seccomp(2): struct seccomp_data holds the address in bytes 8 to 15.
 */
static bool judges_places(struct task *k, bool prctl)
{
	struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog prog;
	uint64_t at = k->call.arg[2];

	if (prctl ? k->call.arg[0] != PR_SET_SECCOMP || k->call.arg[1] != 2
		  : k->call.arg[0] != 1 /* SECCOMP_SET_MODE_FILTER */)
		return false;
	if (task_read(k, at, &prog, sizeof(prog)) != sizeof(prog) ||
		prog.len > BPF_MAXINSNS ||
		task_read(k, (uintptr_t)prog.filter, code, prog.len * sizeof(*code)) < 0)
		return true;
	for (unsigned i = 0; i < prog.len; i++)
		if (BPF_CLASS(code[i].code) == BPF_LD && code[i].k >= 8 &&
			code[i].k < 16 && BPF_MODE(code[i].code) == BPF_ABS)
			return true;
	return false;
}

/* Something that forbids calls, or the place that they come from. */
bool forbid_is(const struct __ptrace_syscall_info *in)
{
	return in->entry.nr == SYS_seccomp ||
	       (in->entry.nr == SYS_prctl &&
		       (in->entry.args[0] == PR_SET_SECCOMP ||
			       in->entry.args[0] == PR_SET_SYSCALL_USER_DISPATCH));
}

bool forbid_judges_sites(struct task *k, const struct __ptrace_syscall_info *in)
{
	bool prctl = in->entry.nr == SYS_prctl;

	return k->space->state != SPACE_REFUSED &&
	       ((prctl && in->entry.args[0] == PR_SET_SYSCALL_USER_DISPATCH) ||
		       judges_places(k, prctl));
}

/* Inside a call of its own, and not on the way to one of ours: /proc/PID/syscall. */
static bool is_in_call(pid_t tid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	FILE *f = fopen(path, "re");
	int c = f ? fgetc(f) : '0';
	if (f)
		fclose(f);
	return c >= '0' && c <= '9';
}

/* Whether it is about to open something, and to ask what that is; maybe so if a signal
 * has taken it out of there. */
static bool may_ask(const struct fast *f, const struct task *k)
{
	const struct fast_ctl *c = k->slot.ctl;
	bool sane;
	uint64_t head = slot_head(&k->slot, &sane);
	const struct fast_rec *r = slot_rec(&k->slot, head);
	uint32_t nr = rec_nr(r);
	bool inside = __atomic_load_n(&c->rec, __ATOMIC_ACQUIRE) - c->ring ==
		      (head & (k->slot.size - 1));

	bool owes = r->state == REC_OWING; /* alone with its descriptors: no thread */

	return sane && inside && !owes && nr < NSHAPES && shape_opens(f->shape[nr]);
}

/* Threads between two instructions get a while to leave them, and a shorter one to come
 * back from an open that waits for something. */
static void await_askers(struct fast *f, const struct task *k)
{
	enum { TRIES = 1000, FEW = 50, NAP_US = 100 };
	unsigned tries = 0;

	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		if (other == k || other->space != k->space)
			continue;
		for (; tries < TRIES && may_ask(f, other); tries++) {
			if (tries >= FEW && is_in_call(other->tid))
				break;
			usleep(NAP_US);
		}
	}
}

/* Nothing more is mapped, or asked from inside. */
static void forbid(struct tracer *t, struct task *k)
{
	struct fast *f = t->fast;

	k->process->locked = true;
	k->space->locked = true;
	setup_close(t, k);
	await_askers(f, k);
	for (unsigned i = 0; i < f->nringed; i++)
		if (f->ringed[i]->space == k->space)
			slot_forbid(&f->ringed[i]->slot);
	await_askers(f, k);
}

/* A filter that comes upon all threads at once: they are not to ask any more by then. */
void forbid_begin(struct tracer *t, struct task *k)
{
	if (syscalls[k->call.row].nr[ABI_X86_64] == SYS_seccomp && k->space &&
		k->call.arg[0] == SECCOMP_SET_MODE_FILTER && k->call.arg[2] &&
		k->call.arg[1] & SECCOMP_FILTER_FLAG_TSYNC) {
		forbid(t, k);
		refuse_begin(t, k);
	}
}

/* The call has succeeded. */
void forbid_end(struct tracer *t, struct task *k)
{
	bool prctl = syscalls[k->call.row].nr[ABI_X86_64] == SYS_prctl;
	struct user_regs_struct r;
	uint64_t what = k->call.arg[0];

	if (!prctl || what == PR_SET_SECCOMP) {
		if (prctl || what <= 1) /* SECCOMP_SET_MODE_STRICT, _FILTER */
			forbid(t, k);
		if (prctl ? k->call.arg[1] == SECCOMP_MODE_FILTER : what == 1)
			refuse_begin(t, k);
		return;
	}
	/* No more time stamps, or call sites that are its own to judge. */
	if (what != PR_SET_SYSCALL_USER_DISPATCH &&
		(what != PR_SET_TSC || k->call.arg[1] != PR_TSC_SIGSEGV))
		return;
	if (what == PR_SET_SYSCALL_USER_DISPATCH && k->dispatched) {
		k->dispatched = false;
		k->sysmode = true;
	}
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	bool had = k->slot.ctl != NULL;
	task_unhook(t, k, &r);
	if (had)
		task_leave_slot(k, 0);
}
