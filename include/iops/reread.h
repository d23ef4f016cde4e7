/*
 * reread.h - a JSON report back to the sums that it was made of.
 */
#ifndef IOPS_REREAD_H
#define IOPS_REREAD_H

#include "iops/run.h"

#include <stddef.h>

struct stats;

/* What is kept of a report besides its sums. All zero is empty. */
struct reread {
	struct run run;
	char **argv;
	pid_t *pids;
	uint64_t lost;
	struct reread *part; /* the runs that it sums up, if it does; else none */
	unsigned nparts;
};

/* Whose sums are to be added to what. */
struct reread_args {
	const char *text, *name; /* name: of the file, for messages */
	size_t len;
	struct stats *into;
	unsigned run; /* the number of this run among all */
	bool hosts;   /* tell hosts apart */
};

/* Add a report's sums. 0, or -errno, said why; reread_fini() in any case. */
int reread(struct reread *r, const struct reread_args *args);
void reread_fini(struct reread *r);

/* Whether text begins like a JSON report. */
bool reread_probe(const char *text, size_t len);

#endif
