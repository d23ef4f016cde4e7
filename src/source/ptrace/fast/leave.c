/*
 * leave.c - the memory of a program that was attached to, as it was before
 */
#include "../uring.h"

#include <errno.h>
#include <signal.h>

/* Where the hook looked at rings: they would live on for that. */
static int unmap_rings(struct tracer *t, struct task *k, const struct stand *s)
{
	int err = 0;

	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r && !err;
		r = r->next) {
		if (r->space != k->space)
			continue;
		uring_keeps(t, k, r);
		for (int i = 0; i < 3 && !err; i++)
			if (r->at[i])
				err = stand_unmap(t, k, s, r->at[i], r->len[i]);
		r->at[0] = r->at[1] = r->at[2] = 0;
	}
	return err;
}

/* Of a process: others in the same memory have actions of their own. */
static void give_back_handler(struct tracer *t, struct task *k)
{
	struct stand s;
	int err = stand_anywhere(t, k, &s);

	if (!err) {
		err = handler_give_back(t, k, &s);
		if (err != -ESRCH)
			stand_back(t, k, &s);
	}
	k->process->guarded = err && err != -ESRCH; /* else it has been killed */
}

/* Whether calls may be made in its name: a filter might kill for them. */
static bool may_call(const struct task *k)
{
	return !k->space->keyed && !tracee_is_filtered(k->tid);
}

/* Else it has been killed. */
static bool has_memory(const struct task *k)
{
	char byte;

	if (k->space->taken)
		return false;
	ssize_t got = tracee_read(k->tid, HOOK_AT, &byte, 1);
	return got == 1 || got == -EPERM; /* it is there, and not for us any more */
}

/* -ESRCH: it has been killed. */
static int unmap_all(struct tracer *t, struct task *k)
{
	struct stand s;
	int err = stand_anywhere(t, k, &s);

	if (err < 0)
		return err;
	err = unmap_rings(t, k, &s);
	if (!err)
		err = space_unmap(t, k, &s);
	if (err != -ESRCH)
		stand_back(t, k, &s);
	return err;
}

/*
 * All of them stand, and have left: the memory as it was. Where our handler has to stay,
 * for want of a task that can give it back, so do the pages that it needs: it is as if we
 * had been killed, and is said. So do those of a task that must make no calls, or is
 * frozen.
 */
void dispatch_restore(struct tracer *t, struct task *const *task, unsigned n)
{
	struct space *sp = task[0]->space;
	bool clear = true, over = false;

	for (unsigned i = 0; i < n && !over; i++) {
		patch_restore(sp, task[i]->tid);
		over = has_memory(task[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (task[i]->process->guarded && may_call(task[i]))
			give_back_handler(t, task[i]);
	for (unsigned i = 0; i < n; i++)
		clear &= !task[i]->process->guarded;
	over = false;
	for (unsigned i = 0; i < n && clear && !over; i++)
		over = may_call(task[i]) && unmap_all(t, task[i]) != -ESRCH;
	for (unsigned i = 0; i < n; i++)
		if (has_memory(task[i])) {
			task_note(t, task[i], NOTE_PATCHED, 0);
			return;
		}
}

/*
 * Somebody has sent it. Where only we have unblocked it, it waits from now on, as it
 * would have without us: the kernel puts it back where it is blocked by the time that the
 * task goes on. Nothing is dispatched any more, as that would unblock it.
 */
void fast_met(struct tracer *t, struct task *k, int sig)
{
	if (sig != SIGSYS || !t->fast || !k->dispatched)
		return;
	if (!(t->fast->guards ? handler_keep_mask(k) : handler_waited(k)))
		return;
	fast_left(t, k, "has SIGSYS pending");
	dispatch_no_more(k);
}
