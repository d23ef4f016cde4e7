/*
 * replay.h - saved traces as one stream of operations, as if they happened now.
 */
#ifndef IOPS_REPLAY_H
#define IOPS_REPLAY_H

#include "iops/run.h"

#include <stdbool.h>

struct input;
struct names;
struct options;
struct replay;
struct sink;

/*
 * Open the files that the options name, each by its content or as --from says. What
 * cannot be opened has been said. 0 or -errno.
 */
int replay_open(struct replay **out, const struct options *o, struct names *names);

/* The same of what is open already; closed by replay_close(), also if this fails. */
struct replay_inputs {
	struct input **in;
	unsigned n;
	bool missing; /* some that belong to these are not there, said which */
};

/* Open the files that words name, as replay_open() does, none of which may be what is to
 * be written; in is on the heap. */
int replay_files(struct replay_inputs *inputs, const struct options *o, char *const *word,
	unsigned n);
int replay_open_inputs(struct replay **out, const struct options *o, struct names *names,
	const struct replay_inputs *inputs);

/* Tell hosts apart even if these are all of one; before replay_run(). */
void replay_tell_hosts(struct replay *r);

/* Filter as the options say, and hand on, in the order of time. 0 or -errno. */
int replay_run(struct replay *r, struct sink *to);

/*
 * All that is known of the runs together, borrowed: of their beginning once they are
 * open, of their end after replay_run().
 */
const struct run *replay_about(struct replay *r);

/* Each of the runs, as OP_RUN numbers them. */
const struct run *replay_runs(const struct replay *r, unsigned *n);

void replay_close(struct replay *r);

/* What several runs have in common, and what is true of all of them together. */
void runs_join(struct run *all, const struct run *runs, unsigned n);

#endif
