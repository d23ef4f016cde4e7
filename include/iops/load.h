/*
 * load.h - the sums of saved runs: of JSON reports, and of traces of any kind.
 */
#ifndef IOPS_LOAD_H
#define IOPS_LOAD_H

#include "iops/run.h"

struct input;
struct names;
struct options;
struct replay;
struct reread;
struct stats;

/* All zero is empty. */
struct load {
	struct stats *stats;
	struct run run;   /* of all of them together */
	struct run *runs; /* each of them */
	unsigned nruns;
	/* What that is borrowed from. */
	struct replay *replay;
	struct reread *report;
	unsigned nreports;
};

/*
 * Load what the words name: files, and of a block trace those of all CPUs. Elapsed times
 * add up. 0, or -errno, said why; load_fini() in any case.
 */
int load(
	struct load *l, const struct options *o, struct names *names, char *const *words);
void load_fini(struct load *l);

#endif
