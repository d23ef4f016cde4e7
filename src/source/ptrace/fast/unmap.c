/*
 * unmap.c - what is mapped of ours, away again
 */
#include "../tracer.h"

#include <sys/syscall.h>

int stand_unmap(struct tracer *t, struct task *k, const struct stand *s, uint64_t at,
	uint64_t len)
{
	const uint64_t arg[4] = { at, len };

	return stand_make(t, k, s, SYS_munmap, arg);
}

/* All of it, or what there is if that was not to be all; but nothing that the program has
 * put in its place. -ESRCH: the task was killed. */
int space_unmap(struct tracer *t, struct task *k, const struct stand *s)
{
	const struct space *sp = k->space;
	int err = 0;

	for (unsigned i = 0; !err && i < sp->nstubs; i++)
		if (stub_is(t->fast, k->tid, &sp->stubs[i]))
			err = stand_unmap(t, k, s, sp->stubs[i].at, 4096);
	if (sp->taken)
		return err;
	if (!err && sp->mapped)
		err = stand_unmap(t, k, s, SLOTS_AT, sp->mapped);
	if (!err && sp->hooked)
		err = stand_unmap(t, k, s, WINDOW_AT, SLOTS_AT - WINDOW_AT);
	return err;
}
