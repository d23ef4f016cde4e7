/*
 * handler.c - our handler of SIGSYS, and what the target sees of that signal
 *
 * In a program that may outlive us a handler waits for the signal that nobody keeps from
 * it any more; the program is not to notice, nor what it runs, whether it ignores that
 * signal, or handles it, or not: ours leads there. In what we have started there is none.
 */
#include "../tracer.h"

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
bool handler_may_raise(struct tracer *t, const struct task *k)
{
	static const int sig[] = { SIGSYS, SIGTRAP };
	struct signal_state s[2];
	uint64_t mask = 0;

	if (tracee_signals(k->tid, sig, s, 2) < 0)
		return false;
	if (!t->launch)
		return true;
	return !s[0].caught && !s[0].ignored && !s[0].pending && !s[1].pending &&
	       !s[1].ignored && !ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) &&
	       !handler_is_odd(mask);
}

/* Of one that was alone when it was asked about, and has run another program since:
 * signals that wait are all that can be new. */
bool handler_may_still(const struct task *k)
{
	const uint64_t ours = sigsys | signal_bit(SIGTRAP);

	return !tracee_pends(k->tid, ours);
}

static int set(struct tracer *t, struct task *k, const struct stand *s, uint64_t action,
	uint64_t old)
{
	const uint64_t arg[4] = { SIGSYS, action, old, 8 };

	return stand_make(t, k, s, SYS_rt_sigaction, arg);
}

int handler_set(struct tracer *t, struct task *k, const struct stand *s, uint64_t action)
{
	return set(t, k, s, action, 0);
}

/*
 * Without us it is like that; who takes our place when we are killed knows, too: of the
 * process whose memory it is. A child of vfork(2) has actions of its own.
 */
int handler_own(struct tracer *t, struct task *k, const uint64_t act[4])
{
	int mem = stand_mem(t->fast, k->tid);

	memcpy(k->process->own, act, sizeof(k->process->own));
	k->process->guarded = true;
	return mem < 0     ? mem
	       : k->lender ? 0
			   : mem_write(mem, OWN_AT, act, sizeof(k->process->own));
}

/* What there is without us, in place of ours. */
int handler_give_back(struct tracer *t, struct task *k, const struct stand *s)
{
	const uint64_t *act = k->process->own;
	int mem = stand_mem(t->fast, k->tid);
	int err =
		mem < 0 ? mem : mem_write(mem, SCRATCH_AT, act, sizeof(k->process->own));

	return err ? err : handler_set(t, k, s, SCRATCH_AT);
}

/* What rt_sigaction(2) has said. 0, or -EFAULT. */
static int told(const struct task *k, uint64_t act[4])
{
	const size_t len = 4 * sizeof(*act);

	return tracee_read(k->tid, SCRATCH_AT, act, len) == (ssize_t)len ? 0 : -EFAULT;
}

/* Hardly any signal is left out: as the C library blocks all around clone(2). */
static bool is_full(uint64_t mask)
{
	enum { FEW = 8 }; /* as in hook.S */
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1)
								      << (SIGSTOP - 1);

	return __builtin_popcountll(~mask & ~never) <= FEW;
}

/* Ours is to be called as its own would be, on its stack and with its mask, and goes on
 * to that; but where it does not block nearly all, not this signal: its calls are
 * dispatched. One that is to be called once cannot be led to. */
static int call_as_own(struct tracer *t, struct task *k, const struct stand *s)
{
	uint64_t act[4];
	int err = set(t, k, s, 0, SCRATCH_AT), mem = stand_mem(t->fast, k->tid);

	err = err ? err : mem < 0 ? mem : told(k, act);
	if (err || !handler_is_one(act[0]))
		return err;
	if (act[1] & SA_RESETHAND)
		return -EPERM;
	act[1] |= SA_SIGINFO;
	if (!is_full(act[3] | sigsys)) {
		act[1] |= SA_NODEFER;
		act[3] &= ~sigsys;
	}
	return mem_write(mem, ACTION_AT + 8, act + 1, sizeof(act) - 8);
}

/*
 * For the first time in this memory. An exec takes our handler away, where a signal that
 * is ignored would have stayed so.
 */
int handler_begin(struct tracer *t, struct task *k, const struct stand *s)
{
	struct process *p = k->process;
	struct signal_state is;
	uint64_t act[4] = { 0 };
	const bool caught = !tracee_signal(k->tid, SIGSYS, &is) && is.caught;
	int err = caught ? call_as_own(t, k, s) : 0;

	err = err ? err : set(t, k, s, ACTION_AT, SCRATCH_AT);
	err = err ? err : told(k, act);
	if (!err && handler_is_one(act[0]) && !caught) /* another thread, just now */
		err = handler_set(t, k, s, SCRATCH_AT) == -ESRCH ? -ESRCH : -EPERM;
	if (err == -EPERM)
		fast_left(t, k, "handles SIGSYS");
	if (!act[0] && p->renewed && handler_ignores(p))
		act[0] = p->own[0];
	p->renewed = false;
	return err ? err : handler_own(t, k, act);
}

/* An exec that we do nothing more about: likewise. Nothing is below the stack as yet. */
void handler_pass_on(struct tracer *t, struct task *k)
{
	const uint64_t act[4] = { k->process->own[0] }, none[4] = { 0 };
	bool owes = k->process->renewed && handler_ignores(k->process);
	struct stand s;

	k->process->renewed = false;
	if (!owes || stand_anywhere(t, k, &s) < 0)
		return;
	uint64_t at = (s.regs.rsp - 1024) & ~UINT64_C(15);
	if (s.regs.cs == IN_64_BITS && !tracee_write(k->tid, at, act, sizeof(act)) &&
		handler_set(t, k, &s, at) == -ESRCH)
		return;
	tracee_write(k->tid, at, none, sizeof(none));
	stand_back(t, k, &s);
}

/* Whether the program itself ignores the signal. */
bool handler_ignores(const struct process *p)
{
	return p->own[0] == (uint64_t)(uintptr_t)SIG_IGN;
}

/* Whether only our handler keeps it from being ignored. */
bool fast_ignores(const struct tracer *t, const struct task *k, int sig)
{
	return sig == SIGSYS && t->fast->guards && k->process->guarded &&
	       handler_ignores(k->process);
}

/* Neither SIG_DFL nor SIG_IGN, of which we can make what the program wants. */
bool handler_is_one(uint64_t handler)
{
	return handler > 1;
}

/* A mask that we could not put back, as it says of SIGSYS what it does not say of others.
 */
bool handler_is_odd(uint64_t mask)
{
	return !(mask & sigsys) == is_full(mask | sigsys);
}

/* As it was before us: one that blocks nearly all, and not that signal, keeps to it. */
void handler_found(struct task *k)
{
	uint64_t mask;

	if (!ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask))
		k->bare = !(mask & sigsys) && handler_is_odd(mask);
}

/* From now on a blocked signal is not reset to its default when it is raised. false: that
 * could not be put back; or one waits, which it would get then. */
bool handler_unblock(struct tracer *t, struct task *k)
{
	struct signal_state s;
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 ||
		!(mask & sigsys))
		return true;
	if (tracee_signal(k->tid, SIGSYS, &s) < 0 || s.pending) {
		fast_left(t, k, "has SIGSYS pending");
		return false;
	}
	if (handler_is_odd(mask)) {
		fast_left(t, k, "blocks SIGSYS");
		return false;
	}
	mask &= ~sigsys;
	ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	return true;
}

/* A handler of SIGSYS of its own; or that it is to be ignored, where we have none. */
bool handler_sets(
	const struct tracer *t, const struct task *k, const struct user_regs_struct *r)
{
	uint64_t handler = 0;

	return (int)r->rdi == SIGSYS && r->rsi &&
	       (task_read(k, r->rsi, &handler, sizeof(handler)) != sizeof(handler) ||
		       (t->launch ? handler != 0 : handler_is_one(handler)));
}

/*
 * Its mask, of which that signal is a part that matters. Not what it was told that its
 * mask is while all are blocked, and puts back: in that the signal is missing, by us.
 * Nor, where nothing of ours is lost by it, one of its own that spares only that signal.
 */
bool handler_sets_mask(
	const struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	const bool is_attached = t->fast->guards;
	uint64_t set = 0, now = 0;

	if ((int)r->rdi == SIG_UNBLOCK || !r->rsi ||
		task_read(k, r->rsi, &set, sizeof(set)) != sizeof(set) ||
		!handler_is_odd(set))
		return false;
	if (set & sigsys || ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(now), &now) < 0)
		return true;
	if (is_full(now | sigsys))
		return false;
	k->bare = is_attached;
	return !is_attached;
}

/*
 * The signal was raised while it was blocked, and the kernel has unblocked it for that;
 * or we have, for as long as we are here. Who blocks nearly all has blocked that too,
 * unless it is known not to. Whether that was so.
 */
bool handler_keep_mask(struct task *k)
{
	uint64_t mask = 0;

	if (k->bare || ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 ||
		mask & sigsys || !is_full(mask | sigsys))
		return false;
	mask |= sigsys;
	return !ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
}

/*
 * Without a handler of ours: it had been sent, and waited, when a call was dispatched.
 * The kernel has unblocked it for that, but has not raised it once more; the call is
 * still to be made, at its site. Whether that was so.
 */
bool handler_waited(struct task *k)
{
	struct user_regs_struct r;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0 || info.si_code > 0 ||
		!handler_keep_mask(k))
		return false;
	if (!ptrace(PTRACE_GETREGS, k->tid, 0, &r) && (int64_t)r.orig_rax >= 0 &&
		r.rax == r.orig_rax && r.rip == r.rcx) {
		r.rip -= 2;
		r.orig_rax = -1;
		ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	}
	return true;
}

/*
 * As handler_keep_mask(), and it has taken the handler away. Only worth asking where
 * anything else is blocked, or this was.
 */
int handler_keep(struct tracer *t, struct task *k)
{
	uint64_t mask = 0;
	struct signal_state now;
	struct stand s = { .call_at = HOOK_AT + (uint64_t)(hook_free_sys - hook_code) };
	uint16_t call = 0;

	ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask);
	if (!mask || k->space->locked || tracee_signal(k->tid, SIGSYS, &now) < 0 ||
		now.caught ||
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
