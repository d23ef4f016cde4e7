/*
 * spawn.h - children, and what they run: spawn.c, exec.c
 */
#ifndef IOPS_FAST_SPAWN_H
#define IOPS_FAST_SPAWN_H

#include "../program.h"

bool spawn_is(const struct user_regs_struct *r);
void spawn_refused(struct tracer *t, const struct task *k);
bool spawn_is_vain(struct tracer *t, struct task *k, const struct user_regs_struct *r,
	struct program *p);
int spawn_exec(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const struct program *p);
int spawn_child(struct tracer *t, struct task *k, struct user_regs_struct *r);
bool spawn_may_pass(const struct task *k, const struct user_regs_struct *r);
bool spawn_is_hooked(const struct task *k, const struct user_regs_struct *r);
bool spawn_was_plain(const struct task *parent);
void spawn_told(
	const struct tracer *t, const struct task *parent, const struct task *child);
void spawn_held(struct task *k);
void spawn_born(struct task *k);
bool spawn_is_plain(
	const struct tracer *t, const struct task *parent, const struct task *child);

/* first.c: see there. */
int first_stopped(struct tracer *t, struct task *k);

/* An exec is about to be made that will not stop. */
void exec_begins(struct tracer *t, struct task *k);

/*
 * At the stop of a signal. Whether it was the breakpoint behind such an exec, and the
 * task is to be resumed without it. Else it gets the signal where the program has its
 * call: behind it, or before it, if it is to be made again.
 */
bool exec_stop(struct tracer *t, struct task *k, int sig);

#endif
