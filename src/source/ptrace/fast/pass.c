/*
 * pass.c - calls that the hook would leave to us, but that need nothing of ours
 *
 * They are made from there all the same, and come back by the control words.
 */
#include "../tracer.h"

#include <asm/prctl.h>
#include <errno.h>
#include <sys/user.h>

/* 1: so it is; 0: it stops; -ESRCH: the task stands elsewhere. */
int pass_call(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	const struct site *s = space_site_of_stub(k->space, r->rip);

	if (!task_take_slot(t, k, r))
		return 0;
	k->slot.ctl->rax = r->orig_rax;
	k->slot.ctl->ret = s ? s->at + 2 : r->rip;
	r->rip = HOOK_AT + (uint64_t)(hook_free_sys - hook_code);
	r->rax = r->orig_rax;
	r->orig_rax = -1;
	return ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 ? -ESRCH : 1;
}

/*
 * arch_prctl(2), where a thread keeps its own: nearly every program says so once, behind
 * the last that it has mapped of its libraries. What is about gs is for us. Results
 * likewise.
 */
int pass_arch(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (r->rdi == ARCH_SET_FS && ahead_of_files(t, k) < 0)
		return -ESRCH;
	return r->rdi == ARCH_SET_FS || r->rdi == ARCH_GET_FS ? pass_call(t, k, r) : 0;
}
