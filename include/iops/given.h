/*
 * given.h - what a command would have from who starts us: limits of what it may open,
 * write and compute, and timers, such as of alarm(2). They are not to hit us.
 */
#ifndef IOPS_GIVEN_H
#define IOPS_GIVEN_H

#include <sys/resource.h>
#include <sys/time.h>

enum { NLIMITED = 3, NTIMERS = ITIMER_PROF + 1 };

struct given {
	struct rlimit limit[NLIMITED];
	struct itimerval timer[NTIMERS]; /* by ITIMER_..., of what was left */
};

void given_lift_limits(struct given *g);
void given_take(struct given *g);       /* likewise, and the timers are stopped */
void given_back(const struct given *g); /* in the command: allocates nothing */

#endif
