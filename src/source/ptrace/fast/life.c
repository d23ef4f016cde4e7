/*
 * life.c - what every task of the fast path begins and ends with
 */
#include "../tracer.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	history_begin(t, k, other,
		other && !syscall(SYS_kcmp, k->tid, other->tid, KCMP_FILES, 0, 0));
}

void fast_forget(struct tracer *t, struct task *k)
{
	if (!t->fast)
		return;
	slot_give(t->fast, k);
	space_put(k->space);
	k->space = NULL;
	history_end(t, k);
}
