/*
 * dispatch.c - calls of a program that runs already, where no filter can be installed
 *
 * Syscall user dispatch (Linux 6.4 lets a tracer switch it on) makes every call raise
 * SIGSYS that is not made from the hook's pages. The tracer keeps the signal from the
 * program and leads it into the hook, whatever the call; a site is patched when it has
 * been met a few times. A call that has to stop is made again with dispatch switched
 * off, between two stops as ever.
 *
 * When the tracer dies the kernel clears the byte that it looks at first (guard.c). A
 * signal that is on its way then finds a handler in the second page: setup_orphan.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/ptrace.h, signal.h: newer than the C library may be. */
static const enum __ptrace_request SET_DISPATCH = 0x4210, GET_DISPATCH = 0x4211;
enum { USER_DISPATCH = 2 };
enum { IN_64_BITS = 0x33 /* cs */ };
enum { PATCH_AT = 2 }; /* signals of a site: a patch takes as long as some of them */

struct dispatch_config {
	uint64_t mode, selector, offset, len;
};

static const uint64_t sigsys = UINT64_C(1) << (SIGSYS - 1);

static int switch_on(const struct tracer *t, struct task *k)
{
	struct dispatch_config on = {
		.mode = 1, .offset = HOOK_AT, .len = TABLES_AT - HOOK_AT
	};

	if (t->fast->guards)
		on.selector = GUARD_AT + (uint64_t)launch_guard_byte(getpid());
	return ptrace(SET_DISPATCH, k->tid, sizeof(on), &on) < 0 ? -errno : 0;
}

static void switch_off(struct task *k)
{
	struct dispatch_config off = { .mode = 0 };

	ptrace(SET_DISPATCH, k->tid, sizeof(off), &off);
}

static int set_handler(
	struct tracer *t, struct task *k, const struct stand *s, uint64_t action)
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

/* What raises the signals of ours is as if they had never come. */
static bool may_raise(const struct tracer *t, const struct task *k)
{
	static const int sig[] = { SIGSYS, SIGTRAP };
	struct signal_state s[2];

	return !tracee_signals(k->tid, sig, s, 2) && !s[0].caught && !s[0].ignored &&
	       !(t->launch && s[1].ignored);
}

/* All that an address space needs, before anything is dispatched. */
static void prepare(struct tracer *t, struct task *k)
{
	struct space *sp = k->space;
	struct stand s;

	sp->strangers = k->seized;
	sp->state = SPACE_REFUSED;
	if (!may_raise(t, k) || stand_anywhere(t, k, &s) < 0)
		return;
	int err = -ENOEXEC;
	if (s.regs.cs == IN_64_BITS) {
		sp->state = SPACE_COLD;
		err = setup_space(t, k, &s, s.regs.rip);
	}
	if (!err && t->fast->guards)
		err = set_handler(t, k, &s, ACTION_AT);
	if (err)
		sp->state = SPACE_REFUSED;
	sp->dispatches = !err;
	if (err == -ESRCH)
		return;
	if (t->launch)
		stand_begun(k, &s);
	else
		stand_back(t, k, &s);
}

/* From now on a blocked signal is not reset to its default when it is raised. */
static void unblock(struct task *k)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 ||
		!(mask & sigsys))
		return;
	mask &= ~sigsys;
	ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	k->unblocked = k->seized;
}

/* Of a task that stands still: whether the kernel lets us. */
bool dispatch_can(const struct task *k)
{
	struct dispatch_config now;

	return ptrace(GET_DISPATCH, k->tid, sizeof(now), &now) >= 0 && !now.mode;
}

/* Its calls stop as there is a filter, or each of them. */
static void dispatch_no_more(struct task *k)
{
	switch_off(k);
	k->dispatched = k->aside = false;
	k->sysmode = !k->filtered;
}

/* A program that we have not started may have its own, and what we add may be forbidden. */
static bool may_begin(struct tracer *t, struct task *k)
{
	struct dispatch_config now;

	if (t->launch)
		return true;
	if (ptrace(GET_DISPATCH, k->tid, sizeof(now), &now) < 0) {
		t->dispatch = errno == ESRCH;
		if (!t->dispatch)
			snprintf(t->no_patch, sizeof(t->no_patch),
				"attach needs Linux 6.4 or newer");
		return false;
	}
	return !now.mode && !tracee_is_filtered(k->tid);
}

static bool begin(struct tracer *t, struct task *k)
{
	if (!k->space || k->space->quit || t->stopping || k->held_back ||
		WSTOPSIG(k->status) != SIGTRAP || !may_begin(t, k))
		return false;
	if (k->space->state == SPACE_COLD)
		prepare(t, k);
	if (k->space->state != SPACE_READY || switch_on(t, k) < 0)
		return false;
	if (t->fast->guards)
		unblock(k);
	else if (k->process->ntasks > 1)
		task_hook(t, k); /* a thread makes calls of its own at once */
	return true;
}

/* At an interrupt's stop, or at the first one of a new task. */
void dispatch_begin(struct tracer *t, struct task *k)
{
	if (k->dispatched && k->space->quit)
		dispatch_no_more(k);
	if (!t->dispatch || k->dispatched || !k->process->started ||
		(k->filtered && !(k->seen && k->space && k->space->dispatches)))
		return;
	k->dispatched = begin(t, k);
	k->sysmode = !k->dispatched && !k->filtered;
}

/*
 * The kernel has switched it off. To be switched on where the new program begins: an
 * interrupt is forgotten at any other stop, so there is to be none before.
 */
void dispatch_exec(struct tracer *t, struct task *k)
{
	if (!t->dispatch)
		return;
	k->dispatched = k->aside = k->unblocked = k->sysmode = false;
	if (k->filtered)
		return;
	ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
}

/*
 * The signal was raised while it was blocked: then the kernel has unblocked it. Who blocks
 * all others, as the C library does around clone(2), has blocked that too.
 */
static void keep_mask(struct task *k)
{
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
	/* The C library keeps these from being blocked. */
	const uint64_t its = UINT64_C(3) << (__SIGRTMIN - 1);
	uint64_t mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0 ||
		(mask | sigsys | never | its) != ~UINT64_C(0) || mask & sigsys)
		return;
	mask |= sigsys;
	ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
}

/*
 * Likewise, and it has taken the handler away. Only worth asking where anything else is
 * blocked, or this was.
 */
static int keep_handler(struct tracer *t, struct task *k)
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
	int err = set_handler(t, k, &s, ACTION_AT);
	if (err == -ESRCH)
		return err;
	stand_same(k, &s);
	return 0;
}

/* A handler of SIGSYS of its own, or that it is to be ignored. */
static bool sets_handler(const struct task *k, const struct user_regs_struct *r)
{
	uint64_t handler = 0;

	return r->rdi == SIGSYS && r->rsi &&
	       tracee_read(k->tid, r->rsi, &handler, sizeof(handler)) ==
		       sizeof(handler) &&
	       handler;
}

/* A program that wants the signal or the dispatch for itself, or judges its calls. */
static bool is_rival(const struct task *k, const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_rt_sigaction:
		return sets_handler(k, r);
	case SYS_prctl:
		return r->rdi == PR_SET_SECCOMP || r->rdi == PR_SET_SYSCALL_USER_DISPATCH;
	case SYS_seccomp:
		return r->rdi <= 1; /* SECCOMP_SET_MODE_STRICT, _FILTER */
	}
	return false;
}

/*
 * Before its call: from now on calls of its process stop as our filters say. What is
 * patched stays so, and is as fast as it can be below a filter. 0, or why not.
 */
static int hand_over(struct tracer *t, struct task *k)
{
	struct stand s;

	if (stand_begin(t, k, &s) < 0)
		return -ESRCH;
	int err = setup_filters(t, k, &s, true);
	if (err == -ESRCH)
		return err;
	stand_same(k, &s);
	if (err < 0)
		return err;
	k->space->quit = true;
	tasks_each(t, task_interrupt, k->space);
	return 0;
}

/* Before its call: all of its memory goes back to two stops for good. 0 or -ESRCH. */
static int quit(struct tracer *t, struct task *k, uint64_t at)
{
	struct stand s;

	int handed = t->launch ? hand_over(t, k) : -EPERM;
	if (!handed || handed == -ESRCH)
		return handed;
	switch_off(k); /* the hook may be gone by now: calls are made from elsewhere */
	if (stand_anywhere(t, k, &s) < 0)
		return -ESRCH;
	if (t->fast->guards && set_handler(t, k, &s, DEFAULT_AT) == -ESRCH)
		return -ESRCH;
	stand_same(k, &s);
	k->space->quit = true;
	if (patch_undo(t, k, at) == -ESRCH)
		return -ESRCH;
	ptrace(PTRACE_SETREGS, k->tid, 0, &s.regs);
	tasks_each(t, task_interrupt, k->space);
	return 0;
}

/*
 * Whether the hook has sent this call back, as it does with what it leaves to the tracer:
 * it was led there before, and has left no record.
 */
static bool was_sent_back(
	struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	bool records = !(t->fast->shape[r->orig_rax] & SHAPE_FREE);
	bool back = records && k->led == r->rip && k->led_head == k->slot.ctl->head;

	k->led = back ? 0 : r->rip;
	k->led_head = k->slot.ctl->head;
	return back;
}

/* A slot that gs leads to: as it is, or from now on. */
static bool take_slot(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (k->slot.ctl)
		return task_has_slot(k, r);
	task_hook(t, k);
	if (k->slot.ctl)
		r->gs_base = SLOTS_AT + (uint64_t)k->slot.number * SLOT_SIZE;
	return k->slot.ctl;
}

/* Into the hook, with the way back behind the call. As through_hook(). */
static int lead(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (!take_slot(t, k, r) || k->slot.ctl->head >= k->slot.ctl->limit ||
		was_sent_back(t, k, r))
		return 0; /* the hook would send it back */
	r->rcx = r->rip;
	r->rax = r->orig_rax;
	r->orig_rax = -1;
	r->rip = hook_entrance(t->fast);
	return ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 ? -ESRCH : 1;
}

/* At a site of the program's. As through_hook(). */
static int at_site(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	struct space *sp = k->space;
	struct site *s = sp->undone ? NULL : space_site(sp, r->rip - 2);

	if (!s)
		return 0;
	sp->strays += s->state == SITE_REFUSED;
	bool hot = ++s->hits >= PATCH_AT || t->fast->after == 1;
	if (s->state == SITE_PATCHED ||
		(s->state == SITE_COLD && hot && !space_has_strangers(t, k))) {
		int done = patch_dispatched(t, k, r->rip - 2);
		if (done)
			return done;
	}
	return lead(t, k, r);
}

/*
 * Through the hook, if that can be. 1: it is made there; 0: that cannot be; -ESRCH: the
 * task stands elsewhere. full: its ring was.
 */
static int through_hook(
	struct tracer *t, struct task *k, struct user_regs_struct *r, bool full)
{
	const struct site *s = space_site_of_stub(k->space, r->rip);

	if (!s)
		return in_hook(r->rip) ? 0 : at_site(t, k, r);
	if (!k->slot.ctl) {
		task_hook(t, k);
		if (!k->slot.ctl || ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
			return 0;
	} else if (!full) {
		return 0;
	}
	r->rip = s->stub + s->body;
	r->orig_rax = -1;
	ptrace(PTRACE_SETREGS, k->tid, 0, r);
	return 1;
}

/*
 * A call that the hook would leave to us, but needs nothing of ours: it is made from there
 * all the same, and comes back by the control words. As through_hook().
 */
static int let_pass(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	const struct site *s = space_site_of_stub(k->space, r->rip);

	if (!take_slot(t, k, r))
		return 0;
	k->passes = k->slot.ctl->ret = s ? s->at + 2 : r->rip;
	r->rip = HOOK_AT + (uint64_t)(hook_free_sys - hook_code);
	r->rax = r->orig_rax;
	r->orig_rax = -1;
	return ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 ? -ESRCH : 1;
}

/*
 * What a child of the command runs is under the filter from its beginning: most of that is
 * short, and what means nothing to us passes there without ever having stopped. Also what
 * could not be dispatched.
 */
static bool runs_filtered(
	struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	char path[PROGRAM_PATH];
	bool at = r->orig_rax == SYS_execveat;

	return t->launch && !k->filtered &&
	       (k->process->pid != t->launch->command || !setup_may_reserve(k->tid) ||
		       (!program_path(k, at, path) && !program_is_64(k->tid, path)));
}

/* Who has forked it: every other program that it runs need not be set up for that. */
static void has_spawned(struct tracer *t, const struct task *k)
{
	struct process *maker = (struct process *)map_get(&t->processes, k->process->maker, 0);

	if (maker)
		maker->spawns++;
}

/* Where that cannot be it is as it was. 0 or -ESRCH. */
static int filter_first(struct tracer *t, struct task *k)
{
	struct stand s;

	if (k->space->state != SPACE_READY || k->space->locked ||
		stand_begin(t, k, &s) < 0)
		return 0;
	if (setup_filters(t, k, &s, false) == -ESRCH)
		return -ESRCH;
	stand_same(k, &s);
	return 0;
}

/* Before an exec. As through_hook(). */
static int before_exec(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	k->call.arg[0] = r->rdi;
	k->call.arg[1] = r->rsi;
	/* As most of those along PATH. */
	if (r->orig_rax == SYS_execve && !k->filtered && program_is_missing(k))
		return let_pass(t, k, r);
	if (!runs_filtered(t, k, r))
		return 0;
	has_spawned(t, k);
	return filter_first(t, k);
}

/* Below a filter, calls from where nothing can be patched stop only if they count. */
static bool strays(const struct tracer *t, const struct task *k)
{
	enum { MANY = 200 };

	return t->launch && k->space->strays >= MANY;
}

static bool makes_child(
	const struct task *k, const struct user_regs_struct *r, uint64_t *flags)
{
	*flags = r->orig_rax == SYS_clone ? r->rdi : 0;
	switch (r->orig_rax) {
	case SYS_clone3:
		return tracee_read(k->tid, r->rdi, flags, sizeof(*flags)) ==
		       sizeof(*flags);
	case SYS_clone:
	case SYS_fork:
	case SYS_vfork:
		return true;
	}
	return false;
}

/* Before there is one. As through_hook(): a child begins where dispatch_born() says. */
static int before_child(
	struct tracer *t, struct task *k, struct user_regs_struct *r, uint64_t flags)
{
	enum { FEW = 2 };
	struct space *sp = k->space;

	/* Sites can be patched without breakpoints for the last time. */
	if (flags & CLONE_THREAD && !sp->threads && !sp->undone && t->fast->after > 1 &&
		space_is_alone(sp) && patch_ahead_of_threads(t, k) < 0)
		return -ESRCH;
	if (!(flags & CLONE_THREAD) && !k->filtered && k->process->spawns >= FEW &&
		filter_first(t, k) < 0)
		return -ESRCH;
	return flags & CLONE_UNTRACED ? 0 : let_pass(t, k, r);
}

/*
 * A process that spawns is below the filter itself, so that its children are. They are
 * not dispatched, nor is their history kept: most of them soon run something else.
 */
bool dispatch_spawns(
	const struct tracer *t, const struct task *parent, const struct task *child)
{
	return t->launch && parent->filtered && parent->dispatched &&
	       child->process != parent->process;
}

static void begin_history(struct tracer *t, struct task *k)
{
	history_begin(t, k, NULL, false);
	k->seen = true;
	history_take_stock(t, k);
	path_moved(k);
	path_start(t, k, AT_FDCWD);
}

/* Such a child goes on for itself. At the stop of a call, which is made as it is. */
void dispatch_adopt(struct tracer *t, struct task *k)
{
	if (k->space->quit || switch_on(t, k) < 0)
		return;
	k->dispatched = true;
	begin_history(t, k);
}

/* ... and is about to forbid what would be needed. Results as those of patch_hot(). */
int dispatch_seal(struct tracer *t, struct task *k, uint64_t at)
{
	struct stand s;

	if (k->space->locked || stand_begin(t, k, &s) < 0)
		return 0;
	int err = setup_filters(t, k, &s, true);
	if (err == -ESRCH)
		return err;
	if (err < 0) {
		stand_same(k, &s);
		return 0;
	}
	k->space->quit |= space_is_alone(k->space);
	begin_history(t, k);
	stand_end(k, &s, at);
	return 1;
}

/* At the first stop of a child whose parent has made it from the hook. */
void dispatch_born(struct task *k)
{
	struct user_regs_struct r;

	if (k->begins && !ptrace(PTRACE_GETREGS, k->tid, 0, &r) &&
		r.rip == HOOK_AT + (uint64_t)(hook_free_post - hook_code)) {
		r.rip = r.rcx = k->begins;
		ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	}
	k->begins = 0;
}

/* What can be done in place of a call with dispatch switched off. As through_hook(). */
static int instead(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const siginfo_t *info, bool full)
{
	uint64_t flags;

	if (k->space->quit && t->launch && !k->filtered)
		return hand_over(t, k) == -ESRCH ? -ESRCH : 0;
	if (k->space->quit || t->stopping || info->si_arch != AUDIT_ARCH_X86_64)
		return 0;
	if (!k->space->locked && (is_rival(k, r) || strays(t, k)))
		return quit(t, k, r->rip - 2);
	if (r->orig_rax == SYS_mlockall && !k->space->lean)
		return patch_lean(t, k, r->rip - 2);
	if (r->orig_rax == SYS_execve || r->orig_rax == SYS_execveat)
		return before_exec(t, k, r);
	if (r->orig_rax == SYS_rt_sigaction && r->rdi == SIGSYS)
		return 0;
	if (t->launch && makes_child(k, r, &flags))
		return before_child(t, k, r, flags);
	return is_shape(t->fast, r->orig_rax) && !k->slotless
		       ? through_hook(t, k, r, full)
		       : 0;
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

	if (!t->fast || !t->fast->guards || !k->aside || k->space->quit || in->arch != AUDIT_ARCH_X86_64 ||
		in->entry.nr != SYS_rt_sigaction || in->entry.args[0] != SIGSYS ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
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

static void show_none(struct task *k)
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

/*
 * At the stop of a SIGSYS. 1: it was ours, and the task is to be resumed without it; 0:
 * it was not; -ESRCH: the task stands elsewhere.
 */
int dispatch_trap(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;
	siginfo_t info;

	if (!k->dispatched || ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0 ||
		info.si_code != USER_DISPATCH)
		return 0;
	bool full = !k->distrusted && slot_full(&k->slot);
	if (full) {
		drain_task(t, k);
		slot_grow(&k->slot);
	}
	if (!t->fast->guards)
		keep_mask(k);
	else if (!t->stopping && !k->space->quit && keep_handler(t, k) < 0)
		return -ESRCH;
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return -ESRCH;
	int done = instead(t, k, &r, &info, full);
	if (done)
		return done;
	drain_task(t, k);
	k->entered = fast_tsc();
	r.rip -= 2;
	r.rax = r.orig_rax;
	r.orig_rax = -1;
	if (k->space->quit) {
		dispatch_no_more(k);
	} else {
		switch_off(k);
		k->aside = true;
	}
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	return 1;
}

/* Behind the call that was aside. */
void dispatch_again(struct tracer *t, struct task *k)
{
	if (!k->aside)
		return;
	k->aside = false;
	show_none(k);
	/* A child that goes on so that its parent can stop is seen to its end. */
	if (k->dispatched && (!t->stopping || k->lender))
		switch_on(t, k);
}

/* Whether a signal of our making still waits: let go with it, the task would die. */
static bool is_pending(pid_t tid)
{
	struct {
		uint64_t off;
		uint32_t flags;
		int32_t nr;
	} args = { .nr = 8 };
	siginfo_t info[8];
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

	for (long i = 0; i < n; i++)
		if ((info[i].si_signo == SIGSYS || info[i].si_signo == SIGTRAP ||
			    info[i].si_signo == SIGSEGV || info[i].si_signo == SIGBUS) &&
			info[i].si_code > 0)
			return true;
	return false;
}

/* Whether there is something of ours in its memory. */
bool dispatch_holds(const struct tracer *t, const struct task *k)
{
	return t->dispatch && k->space && k->space->state == SPACE_READY;
}

/* Stopping: whether it stands where it can be let go. */
bool dispatch_stands(const struct task *k)
{
	return k->status >> 16 == PTRACE_EVENT_STOP && !is_pending(k->tid);
}

/* Nothing of ours in its registers, and its calls are its own. */
void dispatch_leave(struct tracer *t, struct task *k)
{
	uint64_t mask;

	if (!dispatch_holds(t, k))
		return;
	mend_home(t, k);
	if (k->dispatched)
		switch_off(k);
	k->dispatched = k->aside = false;
	if (k->unblocked && !ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask)) {
		mask |= sigsys;
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	}
	k->unblocked = false;
}

static int unmap(struct tracer *t, struct task *k, const struct stand *s, uint64_t at,
	uint64_t len)
{
	struct user_regs_struct r = s->entry;

	r.rax = SYS_munmap;
	r.rdi = at;
	r.rsi = len;
	return stand_call(t, k, s, &r);
}

/* One of them, once all have left: the memory as it was. */
void dispatch_restore(struct tracer *t, struct task *k)
{
	struct space *sp = k->space;
	struct stand s;

	patch_restore(sp, k->tid);
	if (sp->locked || stand_anywhere(t, k, &s) < 0)
		return;
	int err = sp->quit ? 0 : set_handler(t, k, &s, DEFAULT_AT);
	for (unsigned i = 0; !err && i < sp->nstubs; i++)
		err = unmap(t, k, &s, sp->stubs[i].at, 4096);
	if (!err && sp->rings)
		err = unmap(t, k, &s, SLOTS_AT, sp->rings->size);
	if (!err)
		err = unmap(t, k, &s, HOOK_AT, HOOK_SIZE);
	if (err != -ESRCH)
		stand_back(t, k, &s);
}
