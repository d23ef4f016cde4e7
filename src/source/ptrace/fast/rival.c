/*
 * rival.c - what a program does that dispatch cannot stand beside
 *
 * It wants the signal, the dispatch or a filter for itself; or, of what is ours in its
 * memory, the byte that the kernel looks at before each call: without that it would be
 * killed.
 */
#include "../tracer.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/user.h>

static bool is_ours(const struct space *sp, uint64_t at, uint64_t len)
{
	return sp->hooked && !sp->taken && at < SLOTS_AT + sp->mapped &&
	       (at + len > WINDOW_AT || at + len < at);
}

/* Puts something else, or nothing, where what is ours lies. */
bool rival_takes(const struct task *k, const struct user_regs_struct *r)
{
	const struct space *sp = k->space;

	switch (r->orig_rax) {
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return is_ours(sp, r->rdi, r->rsi);
	case SYS_mmap:
		return r->r10 & MAP_FIXED && is_ours(sp, r->rdi, r->rsi);
	case SYS_mremap:
		return is_ours(sp, r->rdi, r->rsi) ||
		       (r->r10 & MREMAP_FIXED && is_ours(sp, r->r8, r->rdx));
	}
	return false;
}

/* r: of a call that is still to be made. */
bool rival_is(const struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_rt_sigprocmask:
		return handler_sets_mask(t, k, r);
	case SYS_rt_sigaction:
		return handler_sets(t, k, r);
	case SYS_prctl:
		return (int)r->rdi == PR_SET_SECCOMP ||
		       (int)r->rdi == PR_SET_SYSCALL_USER_DISPATCH;
	case SYS_seccomp:
		return (unsigned)r->rdi <= 1; /* SECCOMP_SET_MODE_STRICT, _FILTER */
	}
	return rival_takes(k, r);
}

/* It goes on from where it stands as all do that are not dispatched any more: each call
 * stops, whatever it stands at now. */
static void let_be(struct tracer *t, struct task *k, void *who)
{
	const struct task *first = who;

	hold_await(t, k, who);
	if (k == first || k->space != first->space || k->state == TASK_RUNNING)
		return;
	if (k->dispatched)
		dispatch_off(k);
	k->sysmode = true;
}

void rival_let_be(struct tracer *t, struct task *k)
{
	tasks_each(t, task_interrupt, k->space);
	tasks_each(t, let_be, k);
}

/*
 * Of a process attached to, before its call: nothing of ours stays in the way. Who else
 * runs in its memory is away from there before anything of that is taken. 0, or -errno;
 * after -ESRCH the task stands elsewhere.
 */
int rival_clear(struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	const bool takes = rival_takes(k, r);
	struct stand s;

	fast_left(t, k,
		takes ? "maps or unmaps what is ours in its memory"
		      : "handles or blocks SIGSYS, or filters its calls");
	rival_let_be(t, k); /* a call of theirs might take away what is given back */
	dispatch_off(k); /* the hook may be gone by now: calls are made from elsewhere */
	k->space->quit = true;
	int err = stand_anywhere(t, k, &s);
	if (err < 0) {
		k->space->taken |= takes;
		return err;
	}
	err = handler_give_back(t, k, &s);
	if (err == -ESRCH)
		return err;
	stand_same(k, &s);
	k->process->guarded = err < 0;
	if (!err)
		k->process->own[0] = 0; /* it is for the program itself again */
	if (patch_undo(t, k, r->rip - 2) == -ESRCH)
		return -ESRCH;
	k->space->taken |= takes;
	ptrace(PTRACE_SETREGS, k->tid, 0, &s.regs);
	return 0;
}
