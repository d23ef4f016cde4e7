/*
 * run.h - what is known of a run besides its operations.
 */
#ifndef IOPS_RUN_H
#define IOPS_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run {
	char id[37], boot_id[37]; /* UUIDs; "" unknown */
	char host[65], kernel[65];
	char backend[32]; /* name of the source */
	char why[200];    /* why this one and not a better one; "" if it is the best */
	char *const *command; /* NULL-terminated, or NULL */
	const pid_t *pids;    /* the command, or what was attached to */
	unsigned npids;
	uint64_t started_ns; /* real time, since 1970, of start_ns 0; 0: unknown */
	uint64_t epoch_ns;   /* CLOCK_MONOTONIC at that moment; 0: unknown */
	uint64_t elapsed_ns;
	bool complete;      /* nothing is missing but what the report names */
	bool counters_only; /* operations and bytes without files, sizes and times */
	bool machine_wide;  /* of everything that runs, not of the command alone */
	bool verifies;      /* the run's counts are compared with the kernel's */
	bool imported;      /* another tool traced it: there is nothing to compare with */
	bool damaged;       /* not all of the input could be read */
	bool ended;         /* status is valid */
	int status;         /* wait status of the command */
	bool snapshot;      /* the run goes on */
	bool filtered;      /* some of its operations were left out, as was asked for */
	bool patches;       /* hot call sites were patched, so that they do not stop */
	char no_patch[120]; /* why not; "": they were, or it is not known */
	char title[80];     /* instead of the command; "": none */
	uint32_t layers;    /* that were traced: as in trace.h; 0: only the calls */
	bool story;         /* they are shown as one */
	bool pageless;      /* the sums of their pages are not there */
	const struct run *part; /* the runs that are summed up here ... */
	unsigned nparts;        /* ... if there are several of them; else 0 */
};

#endif
