/*
 * leave.c - the memory of a program that was attached to, as it was before
 */
#include "../uring.h"

#include <errno.h>
#include <sys/syscall.h>

static int unmap(struct tracer *t, struct task *k, const struct stand *s, uint64_t at,
	uint64_t len)
{
	const uint64_t arg[4] = { at, len };

	return stand_make(t, k, s, SYS_munmap, arg);
}

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
				err = unmap(t, k, s, r->at[i], r->len[i]);
		r->at[0] = r->at[1] = r->at[2] = 0;
	}
	return err;
}

/* One of them, once all have left: the memory as it was. */
void dispatch_restore(struct tracer *t, struct task *k)
{
	struct space *sp = k->space;
	struct stand s;

	patch_restore(sp, k->tid);
	if (sp->locked || stand_anywhere(t, k, &s) < 0)
		return;
	bool guarded = k->process->guarded && !sp->quit;
	int err = guarded ? handler_set(t, k, &s, OWN_AT) : 0;
	if (!err)
		err = unmap_rings(t, k, &s);
	for (unsigned i = 0; !err && i < sp->nstubs; i++)
		err = unmap(t, k, &s, sp->stubs[i].at, 4096);
	if (!err && sp->rings)
		err = unmap(t, k, &s, SLOTS_AT, sp->rings->size);
	if (!err)
		err = unmap(t, k, &s, HOOK_AT, HOOK_SIZE);
	if (err != -ESRCH)
		stand_back(t, k, &s);
}
