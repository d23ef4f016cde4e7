/*
 * exec.c - an exec that is made without a stop before it
 *
 * Its account is closed at the stop of the signal that it has raised, and the call made
 * from the second page (spawn.c): what stops next is the new program, or the breakpoint
 * behind the call, as there is none.
 */
#include "spawn.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <sys/user.h>

void exec_begins(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;

	if (!k->execs || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	const struct __ptrace_syscall_info in = { .op = PTRACE_SYSCALL_INFO_ENTRY,
		.arch = AUDIT_ARCH_X86_64,
		.instruction_pointer = k->execs,
		.stack_pointer = r.rsp,
		.entry = { .nr = r.rax,
			.args = { r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 } } };
	call_enter(t, k, &in);
}

/* It is over, or was not made: to where the program goes on. */
static bool back(struct tracer *t, struct task *k, struct user_regs_struct *r,
	uint64_t to, int64_t ret)
{
	r->rip = to;
	k->execs = 0;
	k->raises = false;
	if (ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0)
		return false;
	call_leave(t, k, ret, tracer_now(t));
	return true;
}

/* By somebody, while the breakpoint was met: the kernel makes one signal of both. */
static bool is_sent(const struct task *k)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) && info.si_code <= 0;
}

bool exec_stop(struct tracer *t, struct task *k, int sig)
{
	struct user_regs_struct r;

	if (!k->execs || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return false;
	const bool met = sig == SIGTRAP && r.rip == setup_at(setup_exec_trap) + 1;
	if (met || r.rip == setup_at(setup_exec_trap)) {
		r.rcx = k->execs;
		return back(t, k, &r, k->execs, (int64_t)r.rax) && met && !is_sent(k);
	}
	if (r.rip == setup_at(setup_exec))
		k->hurried = back(t, k, &r, k->execs - 2, -EINTR);
	return false;
}
