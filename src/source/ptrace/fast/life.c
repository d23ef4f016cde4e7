/*
 * life.c - what every task of the fast path begins and ends with
 */
#include "../tracer.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

void history_begin(struct tracer *t, struct task *k, struct task *parent, bool shared)
{
	struct fdtrack *track = t->fast->track;
	struct fd_table *was = k->files; /* may be what is to be copied: unshare(2) */

	k->files = !parent || !parent->files ? fdtrack_table(track)
		   : shared                  ? fdtrack_share(parent->files)
					     : fdtrack_copy(track, parent->files);
	fdtrack_end(track, was);
}

void history_end(struct tracer *t, struct task *k)
{
	if (k->files)
		fdtrack_end(t->fast->track, k->files);
	k->files = NULL;
}

/* A task of which nothing is known but what its process has in common. */
void fast_new(struct tracer *t, struct task *k)
{
	struct task *other = k->process->newest;

	if (!t->fast || k->space)
		return;
	if (other == k || (other && !other->space))
		other = NULL;
	if (other)
		other->space->refs++;
	k->space = other ? other->space : space_new();
	k->filtered = other ? other->filtered : k->filtered;
	k->sealed = other && other->sealed;
	k->seen = other && other->seen;
	history_begin(t, k, other,
		other && !syscall(SYS_kcmp, k->tid, other->tid, KCMP_FILES, 0, 0));
}

/* vfork(2): the parent sleeps until its child needs its memory no more. */
void life_lend(struct task *parent, struct task *child)
{
	/* Nor does who has borrowed it lend it: should it die, its own lender wakes up.
	 */
	if (parent->lender)
		return;
	/* The child before may have gone without our having heard of it. */
	if (parent->lends)
		parent->lends->lender = NULL;
	else
		parent->space->asleep++;
	parent->lends = child;
	child->lender = parent;
}

static void wake(struct task *k)
{
	if (!k || !k->lends)
		return;
	k->space->asleep--;
	k->lends->lender = NULL;
	k->lends = NULL;
}

void life_leave_space(struct task *k)
{
	wake(k->lender);
	wake(k);
	space_put(k->space);
	k->space = NULL;
}

/* Who has forked it. NULL: nobody who is traced. */
struct process *life_maker(const struct tracer *t, const struct task *k)
{
	return (struct process *)map_get(&t->processes, k->process->maker, 0);
}

/*
 * At the end of a task, once its calls are counted: whether its process was one that is
 * better off below a filter that it has from the beginning, what it has run included.
 */
static void tally(struct tracer *t, const struct task *k)
{
	enum { MANY = 30 };
	struct process *p = k->process, *maker = life_maker(t, k);

	p->calls += k->counted + k->mine.calls;
	if (p->ntasks > 1 || !maker)
		return;
	maker->calls += p->calls;
	maker->lengthy += p->runs && p->calls >= MANY;
	maker->brief += p->runs && p->calls < MANY;
}

/* It has ended in a seek, which may have been made. */
void life_leave_seek(struct task *k)
{
	struct fd_open *o = k->call.sought;

	k->call.sought = NULL;
	if (!o)
		return;
	o->offset = OP_NO_OFFSET;
	o->crossed = true; /* for who is inside a call by the same position yet */
	if (o->user == k->tid)
		o->busy = fast_tsc();
	fdtrack_drop(o);
}

void fast_forget(struct tracer *t, struct task *k)
{
	if (!t->fast)
		return;
	tally(t, k);
	ends_died(t, k);
	life_leave_seek(k);
	slot_give(t->fast, k);
	if (t->fast->mem.of == k->tid)
		stand_forget(t->fast);
	life_leave_space(k);
	history_end(t, k);
}
