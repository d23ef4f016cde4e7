/*
 * trap.c - SIGTRAP of our making: breakpoints where sites are written, and the steps of a
 * program that steps through itself
 */
#include "../tracer.h"

#include <signal.h>
#include <sys/user.h>

/*
 * A program that steps through itself (EFLAGS.TF) has a trap behind each instruction,
 * also of ours. To it they are one, so there is none until it is behind them: from its
 * site it would never get any further.
 */
bool trap_steps(const struct task *k, const struct user_regs_struct *r)
{
	siginfo_t info;

	return (in_hook(r->rip) || space_site_of_stub(k->space, r->rip) ||
		       space_site_of_cave(k->space, r->rip)) &&
	       !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) && info.si_code == TRAP_TRACE;
}

/*
 * Whether a task that has met a breakpoint had blocked SIGTRAP until the kernel took that
 * away: as it had when the breakpoint was set, or, where it blocks others by now than it
 * did then, if that is all of them, as the C library does around what must not be
 * interrupted.
 */
static bool had_blocked(const struct task *k, uint64_t now)
{
	const uint64_t trap = signal_bit(SIGTRAP);
	uint64_t all =
		UINT32_MAX >> 1 &
		~(trap | signal_bit(SIGKILL) | signal_bit(SIGSTOP) | signal_bit(SIGSYS));

	return now == (k->trap_mask & ~trap) ? k->trap_mask & trap : (now & all) == all;
}

/*
 * A breakpoint of ours, hit while the site was being written, or put back: by now it may
 * have been. A copy of the memory made in that moment holds it for good.
 */
bool trap_is_ours(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	struct site *s = space_site_of_patch(k->space, r->rip - 1);
	uint64_t mask;
	uint8_t now;

	/* Of a site that is no more one in its code may be the program's own. */
	if (!s || (!s->length && tracee_read(k->tid, s->patch, &now, 1) == 1 &&
			  now == 0xcc))
		return false;
	r->rip--;
	if (s->state == SITE_PATCHED)
		patch_again(t, k, s);
	else
		patch_gone(k, s);
	if (!ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) &&
		had_blocked(k, mask)) {
		mask |= signal_bit(SIGTRAP);
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	}
	return true;
}
