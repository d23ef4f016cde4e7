/*
 * refuse.h - which calls a program's own seccomp filter may refuse
 */
#ifndef IOPS_FAST_REFUSE_H
#define IOPS_FAST_REFUSE_H

#include <stdbool.h>

struct sock_filter;
struct tracer;
struct task;

/*
 * Whether a filter of n instructions may answer an x86_64 call, whatever its arguments
 * are, with anything but ALLOW or LOG: seccomp(2). nr: its number.
 */
bool refuse_may(const struct sock_filter *code, unsigned n, int nr);

/* From now on such calls are made where they stop: argument 2 of the call at hand is a
 * struct sock_fprog. */
void refuse_begin(struct tracer *t, struct task *k);

#endif
