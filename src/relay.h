/*
 * relay.h - the front end at work: signals to the command, its stops to the shell.
 */
#ifndef IOPS_RELAY_H
#define IOPS_RELAY_H

#include "iops/front.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct front {
	struct launch *launch; /* NULL: attach */
	pid_t tracer;
	int signals, done; /* to read: signalfd(2), the tracer's word */
	sigset_t mask;     /* as it was */
	bool ended, told;
	unsigned matched[NSIG]; /* deliveries to the command that we have had as well */
	int result;             /* what the tracer told */
	volatile uint64_t *due; /* since when a report is; 0: it is not */
	bool gave_up;           /* it was */
};

/* Until the command has ended and the tracer has told how it went. */
void relay_serve(struct front *f);

#endif
