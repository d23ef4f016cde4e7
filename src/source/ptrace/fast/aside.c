/*
 * aside.c - calls that stop, of a program that our handler of SIGSYS waits in
 *
 * They are made as they are, so they are not to see that handler, nor to take it away. A
 * program that wants its place, or what else is ours, gets it: first the way is cleared.
 */
#include "../tracer.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* Its calls stop, where our handler waits: for others, too, of its process. */
static bool sees_ours(const struct task *k)
{
	return k->process->guarded && (k->aside || k->sysmode);
}

static void write_registers(struct task *k, const struct user_regs_struct *r)
{
	ptrace(PTRACE_SETREGS, k->tid, 0, r);
}

/* It is not made now, but once more when the way is clear. */
static void put_off(struct task *k, struct user_regs_struct *r)
{
	k->asks_handler = ASKS_AGAIN;
	k->asks_nr = r->orig_rax;
	k->act = r->rsi;
	r->orig_rax = -1;
	write_registers(k, r);
}

/* What cannot be read fails anyway. One with a filter of its own might be killed for what
 * would be done in its name: its handler takes the place of ours by itself. */
static void asks(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	uint64_t act[4] = { 0 };

	if (r->rsi && task_read(k, r->rsi, act, sizeof(act)) != sizeof(act))
		return;
	const bool handles = handler_is_one(act[0]);
	if (handles && !task_leaves(t, k) && !k->space->locked &&
		!tracee_is_filtered(k->tid)) {
		put_off(k, r);
		return;
	}
	k->asks_handler = ASKS_ANSWERED;
	k->act = r->rsi;
	k->old = r->rdx;
	if (handles) {
		rival_let_be(t, k);
		return;
	}
	r->rsi = 0;
	write_registers(k, r);
}

/* Of who is dispatched that is found out there: rival_is(). Its own mask is its own. */
static bool wants_way(struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	return k->sysmode && !k->space->quit && !k->space->locked && !task_leaves(t, k) &&
	       r->orig_rax != SYS_rt_sigprocmask && rival_is(t, k, r) &&
	       !tracee_is_filtered(k->tid);
}

/*
 * At the stop before a call that is aside, which may be another one than was dispatched,
 * or one of the time when we leave, or of a task that could not be dispatched.
 */
void dispatch_entered(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	struct user_regs_struct r = { .orig_rax = in->entry.nr,
		.rdi = in->entry.args[0],
		.rsi = in->entry.args[1],
		.rdx = in->entry.args[2],
		.r10 = in->entry.args[3],
		.r8 = in->entry.args[4] };

	if (!t->fast || !t->fast->guards || !k->space || !sees_ours(k) ||
		in->arch != AUDIT_ARCH_X86_64)
		return;
	const bool is_asked =
		r.orig_rax == SYS_rt_sigaction && (int)r.rdi == SIGSYS && r.r10 == 8;
	if ((!is_asked && !wants_way(t, k, &r)) ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	if (is_asked)
		asks(t, k, &r);
	else
		put_off(k, &r);
}

/* Who is dispatched clears it there. */
static int make_way(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	struct user_regs_struct call = *r;

	if (!k->sysmode || !k->process->guarded)
		return 0;
	call.orig_rax = k->asks_nr;
	return rival_clear(t, k, &call);
}

/* The call that has been made has told of our handler, or taken its place. */
static void answer(struct tracer *t, struct task *k)
{
	uint64_t act[4], was[4]; /* handler, flags, restorer, mask */

	memcpy(was, k->process->own, sizeof(was));
	if (k->act && task_read(k, k->act, act, sizeof(act)) == sizeof(act)) {
		if (handler_is_one(act[0])) { /* it stays when we leave */
			k->process->own[0] = 0;
			k->process->guarded = false;
			k->space->quit = true;
		} else {
			handler_own(t, k, act);
		}
	}
	if (k->old)
		tracee_write(k->tid, k->old, was, sizeof(was));
}

/* Behind it. 0; or -ESRCH: it stands elsewhere. */
int aside_over(struct tracer *t, struct task *k)
{
	enum asks asks = k->asks_handler;
	struct user_regs_struct r;

	k->asks_handler = ASKS_NOT;
	if (asks == ASKS_NOT || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return 0;
	if (asks == ASKS_AGAIN) {
		if (make_way(t, k, &r) == -ESRCH)
			return -ESRCH;
		r.rip -= 2;
		r.rax = k->asks_nr;
	}
	r.rsi = k->act;
	write_registers(k, &r);
	if (asks == ASKS_ANSWERED && !r.rax)
		answer(t, k);
	return 0;
}
