/*
 * join.c - a process in memory that is prepared: by a child of vfork(2), perhaps, whose
 * handlers are its own
 *
 * Without our handler in this process, too, a signal of ours would take its own action
 * away.
 */
#include "../tracer.h"

#include <errno.h>

/* Whether our handler of SIGSYS is there, or none is needed. */
bool handler_is_there(struct tracer *t, struct task *k)
{
	struct stand s;

	if (!t->fast->guards || k->process->guarded)
		return true;
	struct signal_state is;
	if (!tracee_signal(k->tid, SIGSYS, &is) && is.caught) {
		fast_left(t, k, "handles SIGSYS"); /* and who was there before does not */
		return false;
	}
	if (!handler_may_raise(t, k) || stand_anywhere(t, k, &s) < 0)
		return false;
	int err = handler_begin(t, k, &s);
	if (!err)
		err = fault_ask(t, k, &s);
	if (err != -ESRCH)
		stand_back(t, k, &s);
	return !err;
}
