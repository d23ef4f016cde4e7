/*
 * handler.h - what a program has of its own where ours is: each by its file, see there.
 * Part of fast.h.
 */
#ifndef IOPS_PTRACE_FAST_HANDLER_H
#define IOPS_PTRACE_FAST_HANDLER_H

struct __ptrace_syscall_info;
struct stand;
struct user_regs_struct;

/* faults.c */
void fault_set(struct task *k, const uint64_t arg[4]);
void fault_exec(struct process *p);
void fault_delivered(struct process *p, int sig);
int fault_ask(struct tracer *t, struct task *k, const struct stand *s);
int fault_undo(struct tracer *t, struct task *k, int sig);

/* handler.c */
bool handler_may_raise(struct tracer *t, const struct task *k);
bool handler_may_still(const struct task *k);
int handler_own(struct tracer *t, struct task *k, const uint64_t act[4]);
int handler_set(struct tracer *t, struct task *k, const struct stand *s, uint64_t action);
int handler_give_back(struct tracer *t, struct task *k, const struct stand *s);
bool handler_unblock(struct tracer *t, struct task *k);
bool handler_keep_mask(struct task *k);
bool handler_waited(struct task *k);
bool handler_is_odd(uint64_t mask);
void handler_found(struct task *k);
int handler_keep(struct tracer *t, struct task *k);
int handler_begin(struct tracer *t, struct task *k, const struct stand *s);
void handler_pass_on(struct tracer *t, struct task *k);
bool handler_is_one(uint64_t handler);
bool handler_ignores(const struct process *p);
bool handler_sets(
	const struct tracer *t, const struct task *k, const struct user_regs_struct *r);
bool handler_sets_mask(
	const struct tracer *t, struct task *k, const struct user_regs_struct *r);

/* rival.c */
bool rival_takes(const struct task *k, const struct user_regs_struct *r);
bool rival_is(const struct tracer *t, struct task *k, const struct user_regs_struct *r);
void rival_let_be(struct tracer *t, struct task *k);
int rival_clear(struct tracer *t, struct task *k, const struct user_regs_struct *r);

/* aside.c */
void dispatch_entered(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in);
int aside_over(struct tracer *t, struct task *k);

#endif
