/*
 * handler.c - our handler of SIGSYS, and what the target sees of that signal
 *
 * In a program that may outlive us a handler waits for the signal that nobody keeps from
 * it any more; the program is not to notice. In what we have started there is none.
 */
#include "../tracer.h"

#include <linux/audit.h>
#include <linux/ptrace.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

static const uint64_t sigsys = UINT64_C(1) << (SIGSYS - 1);

/*
 * Whether signals of ours, which are forced, change nothing about those signals. Nearly
 * all that is blocked is so for a while, and put back by us: handler_keep_mask().
 */
bool handler_may_raise(const struct tracer *t, const struct task *k)
{
	static const int sig[] = { SIGSYS, SIGTRAP };
	struct signal_state s[2];
	uint64_t mask = 0;

	if (tracee_signals(k->tid, sig, s, 2) < 0 || s[0].caught || s[0].ignored)
		return false;
	if (!t->launch)
		return true;
	return !s[0].pending && !s[1].pending && !s[1].ignored &&
	       !ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) &&
	       !handler_is_odd(mask);
}

int handler_set(struct tracer *t, struct task *k, const struct stand *s, uint64_t action)
{
	struct user_regs_struct r = s->entry;

	r.rax = SYS_rt_sigaction;
	r.rdi = SIGSYS;
	r.rsi = action;
	r.rdx = 0;
	r.r10 = 8;
	int err = stand_call(t, k, s, &r);
	return err ? err : (int)r.rax;
}

/* From now on a blocked signal is not reset to its default when it is raised. */
void handler_unblock(struct task *k)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 ||
		!(mask & sigsys))
		return;
	mask &= ~sigsys;
	ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	k->unblocked = k->seized;
}

/* Hardly any signal is left out: as the C library blocks all around clone(2). */
static bool is_full(uint64_t mask)
{
	enum { FEW = 8 }; /* as in hook.S */

	return __builtin_popcountll(~mask) <= FEW;
}

/* A mask that we could not put back, as it says of SIGSYS what it does not say of others.
 */
bool handler_is_odd(uint64_t mask)
{
	return !(mask & sigsys) == is_full(mask);
}

/*
 * The signal was raised while it was blocked: then the kernel has unblocked it. Who
 * blocks nearly all has blocked that too.
 */
void handler_keep_mask(struct task *k)
{
	uint64_t mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 || mask & sigsys ||
		!is_full(mask | sigsys))
		return;
	mask |= sigsys;
	ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
}

/*
 * Likewise, and it has taken the handler away. Only worth asking where anything else is
 * blocked, or this was.
 */
int handler_keep(struct tracer *t, struct task *k)
{
	uint64_t mask = 0;
	struct signal_state now;
	struct stand s = { .call_at = HOOK_AT + (uint64_t)(hook_free_sys - hook_code) };
	uint16_t call = 0;

	ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask);
	if ((!mask && !k->unblocked) || k->space->locked ||
		tracee_signal(k->tid, SIGSYS, &now) < 0 || now.caught ||
		tracee_read(k->tid, s.call_at, &call, sizeof(call)) != sizeof(call) ||
		memcmp(&call, hook_free_sys, sizeof(call)) != 0 ||
		stand_begin(t, k, &s) < 0)
		return 0;
	int err = handler_set(t, k, &s, ACTION_AT);
	if (err == -ESRCH)
		return err;
	stand_same(k, &s);
	return 0;
}

/*
 * At the stop before a call that is aside, which may be another one than was dispatched,
 * or one of the time when we leave: it is not to see our handler, nor to take it away.
 * What cannot be read fails anyway.
 */
void dispatch_entered(
	const struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	struct user_regs_struct r;
	uint64_t act[4] = { 0 };

	if (!t->fast || !t->fast->guards || !k->aside || k->space->quit ||
		in->arch != AUDIT_ARCH_X86_64 || in->entry.nr != SYS_rt_sigaction ||
		in->entry.args[0] != SIGSYS || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	if (r.rsi && tracee_read(k->tid, r.rsi, act, sizeof(act)) != sizeof(act))
		return;
	k->asks_handler = act[0] && !t->stopping ? ASKS_AGAIN : ASKS_ANSWERED;
	k->act = r.rsi;
	k->old = r.rdx;
	if (k->asks_handler == ASKS_AGAIN)
		r.orig_rax = -1; /* not made now */
	else if (act[0])
		k->space->quit = true; /* it stays when we leave */
	else
		r.rsi = 0;
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
}

void handler_show_none(struct task *k)
{
	static const uint64_t none[4]; /* handler, flags, restorer, mask */
	enum asks asks = k->asks_handler;
	struct user_regs_struct r;

	k->asks_handler = ASKS_NOT;
	if (asks == ASKS_NOT || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	if (asks == ASKS_AGAIN) {
		r.rip -= 2;
		r.rax = SYS_rt_sigaction;
	}
	r.rsi = k->act;
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	if (asks == ASKS_ANSWERED && !r.rax && k->old)
		tracee_write(k->tid, k->old, none, sizeof(none));
}
