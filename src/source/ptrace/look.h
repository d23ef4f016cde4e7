/*
 * look.h - stops of tasks, before they are taken note of
 */
#ifndef IOPS_PTRACE_LOOK_H
#define IOPS_PTRACE_LOOK_H

#include "tracer.h"

/* si_code of SIGSYS: asm-generic/siginfo.h; newer than the C library may be. */
enum { BY_SECCOMP = 1, BY_DISPATCH = 2 };

/* look.c: of a task, or of any. */
enum { STOPPED = 1, AT_SIGNAL };
int look_stopped(struct tracer *t, pid_t tid, pid_t *who, int *status);

/* fast/guard.c: at the stop of a SIGSYS. */
void dispatch_met(const struct tracer *t, struct task *k);

#endif
