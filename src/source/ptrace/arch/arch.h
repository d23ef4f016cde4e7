/*
 * arch.h - what a machine has to say for itself
 *
 * One file beside this one answers it; the Makefile takes that of the compiler's machine.
 * A new machine also needs its numbers in syscalls[] and its layouts in call.c.
 */
#ifndef IOPS_PTRACE_ARCH_H
#define IOPS_PTRACE_ARCH_H

#include "iops/op.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arch_abi {
	uint32_t audit; /* AUDIT_ARCH_*; 0: the end of the table */
	enum abi abi;
	uint32_t foreign; /* from here on numbers are an unknown ABI's; 0: none are */
};

/* The ABIs whose calls are understood, the machine's own first. Others stop, for a note.
 */
extern const struct arch_abi arch_abis[];

/* At a signal's stop: whether it came as a call was about to return EINTR. */
bool tracee_in_eintr(pid_t tid);

/* There: make the call again, unless a handler runs. 0 or -errno, as below. */
int tracee_unmask_eintr(pid_t tid);

/* ... or rather do not, whatever comes before it goes on. */
int tracee_keep_eintr(pid_t tid);

/* Whether it is to be gone on with by restart_syscall(2); or made again so. */
bool tracee_in_restart(pid_t tid);
bool tracee_in_nohand(pid_t tid);

/* How long a call is to wait: an argument, in ms or where a struct timespec is. */
struct time_limit {
	int nr;
	unsigned arg; /* which one */
	bool pointer;
	uint64_t value;
	uint64_t stack; /* where the stack ends */
};

/* Where there it is one of those: true. lasts: one whose limit is its socket's, if it
 * has any: no argument; socket: it is known to be on one. */
enum { NO_LIMIT = 6 };
bool tracee_limit(pid_t tid, struct time_limit *l);
bool tracee_lasts(pid_t tid, bool socket, struct time_limit *l);

/* At its exit stop: whether that is of this call. */
bool tracee_is_limited(pid_t tid, const struct time_limit *l);

int tracee_set_limit(pid_t tid, const struct time_limit *l, uint64_t value);

/* At the exit stop of a call: make it again, whatever follows. at: where it stands then.
 * 0 or -errno. */
int tracee_repeat(pid_t tid, uint64_t *at);

/* One that is about to be made again, with that value in its argument, is not: it has
 * ended with EINTR, and the argument is what it was. at: where it is to stand; 0:
 * anywhere. false: the task stands elsewhere. */
bool tracee_unrepeat(pid_t tid, const struct time_limit *l, uint64_t value, uint64_t at);

/*
 * A call, at its exit and before the program goes on. made: false where it stands behind
 * none, or its ABI keeps too little of it. again: it is made with the arguments as they
 * are there. over: these and the result are as they are there, at its entry also; undo:
 * likewise, where it was to be made again, but has not been. 0 or -errno.
 */
struct made_call {
	int nr;
	uint64_t arg[6], at, stack; /* at: where it stands */
	int64_t result;
};
bool tracee_made(pid_t tid, struct made_call *c);
int tracee_make_again(pid_t tid, const struct made_call *c);
int tracee_make_over(pid_t tid, const struct made_call *c);
int tracee_make_undo(pid_t tid, const struct made_call *c);
bool tracee_is_before(pid_t tid, const struct made_call *c);

/*
 * At the exit stop of a task: the result of the call that it was killed in. -ENODATA: it
 * was in none, or that was not made, or not over; -ENOSYS: the machine does not tell.
 */
int tracee_last_result(pid_t tid, int64_t *ret);

/* Of what stands for the result there: whether the call was made, and was over. */
static inline bool is_last_result(int64_t ret)
{
	return ret != -ENOSYS && ret != -EINTR && !op_interrupted(ret);
}

/* At the entry of a call: skip it with ENOSYS, as the kernel does without a tracer. */
int tracee_refuse_call(pid_t tid);

/* At the entry of a call: change its first argument. */
int tracee_set_arg0(pid_t tid, enum abi abi, uint64_t value);

/* After the call, in the caller or in a child: the register as the target knows it. */
int tracee_restore_arg0(pid_t tid, enum abi abi, uint64_t value);

#endif
