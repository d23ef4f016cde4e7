/*
 * whose.h - which process a thread is of, and whether it is wanted.
 */
#ifndef IOPS_BLKTRACE_WHOSE_H
#define IOPS_BLKTRACE_WHOSE_H

#include "iops/map.h"

#include <stdbool.h>
#include <sys/types.h>

struct whose {
	struct map threads;
	const pid_t *pids; /* these, and what they start if follow; none: all */
	unsigned npids;
	bool follow;
};

struct whose_is {
	pid_t pid;
	bool known, wanted; /* known: it was there to be looked at */
};

void whose_fini(struct whose *w);

/* A thread does something; renewed: it may be another one than before. */
void whose_seen(struct whose *w, pid_t tid, bool renewed);

struct whose_is whose_get(const struct whose *w, pid_t tid);

#endif
