/*
 * front.h - the front end: the shell's job, parent of the command and of the tracer.
 */
#ifndef IOPS_FRONT_H
#define IOPS_FRONT_H

#include "iops/launch.h"
#include "iops/opts.h"
#include "iops/out.h"

#include <stdint.h>

struct out;

/* What the tracer process does. done() tells the front end that it may go. */
struct front_job {
	const struct options *options;
	struct launch *launch;       /* NULL: attach */
	struct foresight *foresight; /* NULL: none */
	struct out *out;
	struct out *log;        /* fd is -1 if none is kept */
	int done;               /* a pipe to the front end */
	volatile uint64_t *due; /* shared with it: as due_ns of launch.h */
};

/* Tell the front end how it went (0, or -errno) and let go of its terminal. */
void front_done(struct front_job *j, int err);

/* Nobody needs us any more: SIGALRM ends the tracer from now on, whatever it waits for.
 */
void front_reports(const struct front_job *j);

/* In the tracer process; returns when all is served. */
typedef void front_work(struct front_job *j);

/* Run o->argv, or attach if it is NULL. Returns the exit status, or does not return. */
int front_run(
	const struct options *o, struct out *out, struct out *log, front_work *work);
int front_attach(
	const struct options *o, struct out *out, struct out *log, front_work *work);

/* The work of both verbs: trace, sum up, report. */
void collect(struct front_job *j);

#endif
