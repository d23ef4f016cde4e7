/*
 * early.h - waits in io_uring_enter(2) that our presence has ended early, made again
 */
#ifndef IOPS_PTRACE_EARLY_H
#define IOPS_PTRACE_EARLY_H

#include "tracer.h"

/* Whether a call is one of those. */
bool early_is(const struct made_call *c);

/* At its entry; at a stop behind it, where one that has ended early is made again, if so;
 * and at its exit, quietly: without a signal that would have told of it. */
void early_begins(const struct tracer *t, struct task *k);
bool early_make(const struct tracer *t, struct task *k);
bool early_quietly(const struct tracer *t, struct task *k);

/* What ends it without us as well: a stop of its group; another signal, before it is made
 * again. may_end: one is, or has been and may be once more. */
void early_never(struct task *k);
void early_undo(struct task *k);
bool early_may_end(const struct task *k);

/* At the exit of one that was made again: the result that the program sees. */
int64_t early_exit(const struct tracer *t, struct task *k, int64_t ret);

#endif
