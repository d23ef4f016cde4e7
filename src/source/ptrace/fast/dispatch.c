/*
 * dispatch.c - calls that raise a signal, where there is no filter
 *
 * Syscall user dispatch (Linux 6.4 lets a tracer switch it on) makes every call raise
 * SIGSYS that is not made from the hook's pages. The tracer keeps the signal from the
 * program and leads it into the hook, whatever the call; a site is patched when it has
 * been met twice, or by others before (ahead.c). A call that has to stop is made again
 * with dispatch switched off, between two stops as ever.
 *
 * A program that runs already cannot be put under a filter. For the command and what its
 * children run it is the choice: a filter costs each call more than the hook does. What
 * gains nothing by it is handed over to the filters: who wants the signal or a filter for
 * itself, makes call after call from where nothing can be patched, or runs little but
 * short programs (spawn.c).
 *
 * When the tracer of a program that ran already dies the kernel clears the byte that it
 * looks at first (guard.c). A signal that is on its way then finds a handler in the
 * second page: setup_orphan.
 */
#include "../look.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals of a site: a patch takes as long as some of them; where others may run there,
 * as many more, and one for each two that are asked. */
enum { PATCH_AT = 2, PATCH_AMONG = 8 };

/* All that an address space needs, before anything is dispatched. */
static void prepare(struct tracer *t, struct task *k)
{
	struct space *sp = k->space;
	struct stand s;

	sp->strangers = k->seized;
	sp->state = SPACE_REFUSED;
	if (!handler_may_raise(t, k) || stand_anywhere(t, k, &s) < 0)
		return;
	int err = -ENOEXEC;
	sp->calm = true;
	if (s.regs.cs == IN_64_BITS) {
		sp->state = SPACE_COLD;
		err = setup_space(t, k, &s, s.regs.rip);
	}
	if (!err && t->launch && text_look(texts_of(t), sp, k->tid, s.regs.rip) &&
		ahead_met(t, k, &s, s.regs.rip) == -ESRCH)
		err = -ESRCH;
	if (!err && t->fast->guards)
		err = handler_begin(t, k, &s);
	if (!err && t->fast->guards)
		err = fault_ask(t, k, &s);
	if (err)
		sp->state = SPACE_REFUSED;
	if (err && err != -ESRCH && !t->launch && !k->process->guarded)
		err = space_unmap(t, k, &s) == -ESRCH ? -ESRCH : err;
	sp->calm = false;
	sp->dispatches = !err;
	if (err == -ESRCH)
		return;
	if (err)
		fast_left(t, k,
			s.regs.cs == IN_64_BITS ? "has no room for it"
						: "runs 32-bit code");
	if (t->launch)
		stand_begun(k, &s);
	else
		stand_back(t, k, &s);
}

/* Of a task that stands still: whether the kernel lets us. */
bool dispatch_can(const struct task *k)
{
	uint64_t mask;

	return !dispatch_state(k) &&
	       !ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) &&
	       !handler_is_odd(mask);
}

/* Its calls stop as there is a filter, or each of them. */
void dispatch_no_more(struct task *k)
{
	dispatch_off(k);
	k->dispatched = k->aside = false;
	k->sysmode = !k->filtered;
}

/* A program that we have not started may have its own, and what we add may be forbidden.
 */
static bool may_begin(struct tracer *t, struct task *k)
{
	if (t->launch)
		return true;
	const int state = dispatch_state(k);
	if (state < 0) {
		t->dispatch = state == -ESRCH;
		if (!t->dispatch)
			snprintf(t->no_patch, sizeof(t->no_patch),
				"attach needs Linux 6.4 or newer");
		return false;
	}
	bool filtered = tracee_is_filtered(k->tid);
	if (state || filtered)
		fast_left(t, k,
			filtered ? "has a seccomp filter" : "dispatches its own calls");
	if (state) /* of that signal the kernel tells no difference */
		k->space->quit = true;
	return !state && !filtered;
}

/* Whether one that has not stopped yet dispatches calls of its own. */
static void look_own(struct tracer *t, struct task *k, void *who)
{
	const struct task *first = who;

	if (k == first || k->space != first->space || !k->seized)
		return;
	hold_await(t, k, who);
	if (k->state == TASK_RUNNING || dispatch_state(k) != 1)
		return;
	fast_left(t, k, "dispatches its own calls");
	k->space->quit = true;
}

static bool begin(struct tracer *t, struct task *k)
{
	if (!k->space || k->space->quit || task_leaves(t, k) ||
		WSTOPSIG(k->status) != SIGTRAP || !may_begin(t, k))
		return false;
	if (t->fast->guards && k->space->state == SPACE_COLD)
		tasks_each(t, look_own, k);
	if (k->space->quit)
		return false;
	if (k->space->state == SPACE_COLD)
		prepare(t, k);
	if (k->space->state != SPACE_READY || !handler_is_there(t, k) ||
		(t->fast->guards && !handler_unblock(t, k)) || dispatch_on(t, k) < 0)
		return false;
	if (!t->fast->guards)
		task_hook(t, k); /* it makes calls at once, as a thread does */
	return true;
}

/* Whether a signal of our making still waits: without us the task would die of it. */
static bool is_pending(pid_t tid)
{
	siginfo_t info[8];
	int n = tracee_waiting(tid, info, sizeof(info) / sizeof(*info));

	for (int i = 0; i < n; i++)
		if ((info[i].si_signo == SIGSYS || info[i].si_signo == SIGTRAP ||
			    info[i].si_signo == SIGSEGV || info[i].si_signo == SIGBUS) &&
			info[i].si_code > 0)
			return true;
	return false;
}

/* Its calls are dispatched from now on, or each of them stops. */
static void begun(struct tracer *t, struct task *k, bool dispatched)
{
	k->dispatched = dispatched;
	k->sysmode = !dispatched && !k->filtered;
	if (!dispatched && t->fast->guards)
		handler_pass_on(t, k);
	if (k->sysmode && t->launch)
		spawn_refused(t, k);
	if (!dispatched && t->launch && k->space && k->space->state != SPACE_READY)
		history_lose(t, k);
}

/* At an interrupt's stop, or at the first one of a new task. */
void dispatch_begin(struct tracer *t, struct task *k)
{
	if (k->dispatched && k->space->quit && !is_pending(k->tid))
		dispatch_no_more(k);
	if (!t->dispatch || k->dispatched || k->held_back || !k->process->started ||
		(k->filtered && !(k->seen && k->space && k->space->dispatches)))
		return;
	if (k->seized && t->fast->guards)
		handler_found(k);
	begun(t, k, begin(t, k));
}

/*
 * The kernel has switched it off. To be switched on at once, or where the new program
 * begins: an interrupt is forgotten at any other stop, so there is to be none before.
 */
void dispatch_exec(struct tracer *t, struct task *k)
{
	if (!t->dispatch)
		return;
	k->process->renewed = t->fast->guards;
	k->process->guarded = false;
	k->dispatched = k->aside = k->sysmode = false;
	if (k->filtered)
		return;
	if (!first_begin(t, k)) {
		ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
		return;
	}
	begun(t, k, k->dispatched);
	if (k->dispatched)
		task_hook(t, k); /* it makes calls at once, as a thread does */
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
	tasks_each(t, hold_await, k);
	return 0;
}

/*
 * Before its call: nothing of its memory is dispatched any more. Where no filter can be
 * put in its place each call stops, and what is patched goes on noting. 0 or -ESRCH.
 */
static int quit(struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	bool takes = t->launch && rival_takes(k, r);
	int err = takes ? patch_undo(t, k, r->rip - 2) : 0;

	if (err)
		return err;
	err = t->launch ? hand_over(t, k) : rival_clear(t, k, r);
	k->space->taken |= takes && err != -ESRCH;
	if (!err || err == -ESRCH)
		return err;
	k->space->quit = true;
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
	bool records = shape_returns(shape_of(t->fast, k->space, r->orig_rax), r->rsi);
	uint64_t end = slot_end(&k->slot);
	bool back = records && k->led == r->rip && k->led_head == end;

	k->led = records && !back ? r->rip : 0;
	k->led_head = end;
	return back;
}

/* What it is about to make stops twice. */
void dispatch_aside(struct task *k)
{
	if (!k->dispatched)
		return;
	dispatch_off(k);
	k->aside = true;
}

/* As it stands behind it. */
static bool regs_behind(const struct task *k, struct user_regs_struct *r)
{
	bool stands = !ptrace(PTRACE_GETREGS, k->tid, 0, r);

	r->rip += stands && k->met ? 2 : 0;
	return stands;
}

/* Into the hook, with the way back behind the call. As through_hook(). */
static int lead(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	/* The hook would send it back; or to where it may be another call by then. */
	if (r->orig_rax == SYS_recvmsg || !task_take_slot(t, k, r) ||
		k->slot.ctl->head >= k->slot.ctl->limit || was_sent_back(t, k, r))
		return 0;
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
	if (s->state == SITE_COLD && ahead_of_code(t, k, r->rip - 2) < 0)
		return -ESRCH;
	s = space_find(sp, r->rip - 2);
	if (s->state == SITE_COLD)
		text_met(sp, r->rip - 2);
	sp->strays += s->state == SITE_REFUSED || s->rest;
	unsigned enough = space_is_alone(sp) ? PATCH_AT : PATCH_AMONG + sp->refs / 2;
	bool hot = ++s->hits >= enough || t->fast->after == 1;
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
		if (!k->slot.ctl || !regs_behind(k, r))
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
 * Calls that stop although they are dispatched: below a filter they might not. Whether
 * there are so many that the others, which would cost more there, do not make up for it.
 * Who spawns would pass the filters on.
 */
static bool strays(const struct tracer *t, const struct task *k)
{
	enum { MANY = 200, EACH = 256 /* calls through the hook that cost as much */ };
	const struct space *sp = k->space;

	return t->launch && !sp->stays && sp->strays >= MANY * (1 + k->process->spawns) &&
	       sp->strays * (uint64_t)EACH > k->slot.tail / R_SIZE;
}

/* Where that cannot be it goes on as it is. As through_hook(). */
static int to_filters(struct tracer *t, struct task *k)
{
	int err = hand_over(t, k);

	k->space->stays = err < 0;
	return err == -ESRCH ? err : 0;
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
	if (k->space->quit || dispatch_on(t, k) < 0)
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

/*
 * The action of a signal that is of ours, too. What becomes of a fault is to be known,
 * and the call is made all the same; of SIGSYS, by stops. As through_hook().
 */
static int set_action(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	const uint64_t arg[] = { r->rdi, r->rsi, r->rdx, r->r10 };

	if (!t->launch || r->rdi == SIGSYS || k->slotless ||
		shape_of(t->fast, k->space, r->orig_rax) != SHAPE_ACTION)
		return 0;
	fault_set(k, arg);
	return pass_call(t, k, r);
}

/* What can be done in place of a call with dispatch switched off. As through_hook(). */
static int instead(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const siginfo_t *info, bool full)
{
	if (k->space->quit && t->launch && !k->filtered)
		return to_filters(t, k);
	if (k->space->quit || task_leaves(t, k) || info->si_arch != AUDIT_ARCH_X86_64)
		return 0;
	if (!k->space->locked && rival_is(t, k, r))
		return quit(t, k, r);
	if (!k->space->locked && strays(t, k) && (to_filters(t, k) < 0 || k->space->quit))
		return k->space->quit ? 0 : -ESRCH;
	const uint64_t arg[] = { r->rdi, r->rsi, r->rdx, r->r10 };
	if (patch_counts(k->space, r->orig_rax, arg))
		return patch_lean(t, k, r->orig_rax, r->rip - 2);
	if (patch_moves(k, r->orig_rax, r->rdi, r->rsi))
		return patch_undo(t, k, r->rip - 2);
	int ring = uring_stop(t, k, r->orig_rax, arg, r->rip - 2);
	if (ring)
		return ring;
	struct program p;
	const bool vain = spawn_is_vain(t, k, r, &p);
	if (!vain && (r->orig_rax == SYS_execve || r->orig_rax == SYS_execveat))
		return spawn_exec(t, k, r, &p);
	if (t->launch && r->orig_rax == SYS_arch_prctl)
		return pass_arch(t, k, r);
	if (r->orig_rax == SYS_rt_sigaction &&
		(r->rdi == SIGSYS || r->rdi == SIGSEGV || r->rdi == SIGBUS))
		return set_action(t, k, r);
	const bool spawns = t->launch && spawn_is(r);
	if (spawns && spawn_child(t, k, r) < 0)
		return -ESRCH;
	const bool passes = vain || (spawns && spawn_may_pass(k, r));
	bool hooked = shape_of(t->fast, k->space, r->orig_rax) != SHAPE_PASS &&
		      !(spawns && !spawn_is_hooked(k, r));
	int done = hooked && !k->slotless ? through_hook(t, k, r, full) : 0;
	return done || !passes ? done : pass_call(t, k, r);
}

/* The hook has sent back a wait that has ended for nothing: what is left of it. */
static bool goes_on(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (task_leaves(t, k) || !k->slot.ctl || !space_site_of_stub(k->space, r->rip) ||
		!mend_waited(t, k, r))
		return false;
	again_limit(t, k);
	return regs_behind(k, r);
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
		info.si_code != BY_DISPATCH)
		return 0;
	k->again.repeated = 0;
	bool full = !k->distrusted && slot_full(&k->slot);
	if (full) {
		drain_task(t, k);
		slot_grow(&k->slot);
	}
	if (!t->fast->guards)
		handler_keep_mask(k);
	else if (!task_leaves(t, k) && !k->space->quit && handler_keep(t, k) < 0)
		return -ESRCH;
	if (!regs_behind(k, &r))
		return -ESRCH;
	if (info.si_arch == AUDIT_ARCH_X86_64 && rights_stop(t, k, r.orig_rax))
		return 1;
	int done = instead(t, k, &r, &info, full);
	if (done)
		return done;
	drain_task(t, k);
	k->entered = fast_tsc();
	if (!goes_on(t, k, &r) && !uring_soon(t, k, r.orig_rax, r.rdi, r.r10))
		k->space->strays++;
	r.rip -= 2;
	r.rax = r.orig_rax;
	r.orig_rax = -1;
	if (k->space->quit)
		dispatch_no_more(k);
	else
		dispatch_aside(k);
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	return 1;
}

/* Behind the call that was aside, or is to be made once more. 0; or -ESRCH: it stands
 * elsewhere. */
int dispatch_again(struct tracer *t, struct task *k)
{
	const bool aside = k->aside;

	k->aside = false;
	if (aside_over(t, k) == -ESRCH)
		return -ESRCH;
	if (aside && k->dispatched && k->space->quit)
		dispatch_no_more(k);
	else if (aside && !task_leaves(t, k))
		dispatch_resume(t, k);
	return 0;
}

/* It goes on, and is seen. */
void dispatch_resume(struct tracer *t, struct task *k)
{
	if (k->dispatched && !k->aside && !k->space->quit)
		dispatch_on(t, k);
}

/* Whether there is something of ours in its memory. */
bool dispatch_holds(const struct tracer *t, const struct task *k)
{
	return t->dispatch && k->space && k->space->state == SPACE_READY;
}

/* Whether its next stop is to be awaited: an exec has taken away what it ignores. */
bool dispatch_owes(const struct task *k)
{
	return k->process->renewed && handler_ignores(k->process);
}

/* Whether it is in our handler, and about to get the signal once more, without one. At
 * the beginning of it, before it goes on to its own, it is there at once. */
static bool stays_in_handler(const struct task *k)
{
	const uint64_t own = k->process->own[0];
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0 || !in_setup(r.rip))
		return false;
	if (r.rip != setup_at(setup_orphan) || !handler_is_one(own))
		return true;
	r.rip = own;
	return ptrace(PTRACE_SETREGS, k->tid, 0, &r) < 0;
}

/* Stopping: whether it stands where it can be let go. */
bool dispatch_stands(const struct task *k)
{
	return k->status >> 16 == PTRACE_EVENT_STOP && !is_pending(k->tid) &&
	       !stays_in_handler(k);
}

/* Nothing of ours in its registers, and its calls are its own. */
void dispatch_leave(struct tracer *t, struct task *k)
{
	if (!dispatch_holds(t, k))
		return;
	mend_home(t, k);
	if (k->dispatched)
		dispatch_off(k);
	k->dispatched = k->aside = false;
	handler_keep_mask(k);
}
