/*
 * life.c - what every task of the fast path begins and ends with
 */
#include "../tracer.h"

/* A task of which nothing is known, or the first one. */
void fast_new(struct tracer *t, struct task *k)
{
	if (!t->fast || k->space)
		return;
	k->space = space_new();
	history_begin(t, k, NULL, false);
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
