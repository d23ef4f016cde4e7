/*
 * begin.h - the command, up to its exec
 */
#ifndef IOPS_BEGIN_H
#define IOPS_BEGIN_H

#include "iops/cpu.h"
#include "iops/launch.h"
#include "iops/opts.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { EXIT_FAILED = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

enum { NLIMITED = 3 };

/* What was given to us, before we changed it for ourselves. */
struct given {
	struct rlimit limit[NLIMITED]; /* what may be opened, written and computed */
	sigset_t mask;
	struct sigaction child; /* of SIGCHLD */
	struct cpu_pin here;    /* whoever we start begins where we are */
};

/* The command's limits are not to hit us. */
void begin_lift(struct given *g);

/* What the three share. 0 or -errno. */
int begin_new(struct launch **out);

/* Start it, once the tracer is there. Returns after its exec, or when that has failed,
 * which the launch tells. 0, or -errno: there is none. */
int begin_command(struct launch *l, const struct given *g, const struct options *o);

/* In the tracer: until there is a command. false: there will be none. */
bool begin_await(struct launch *l);

#endif
