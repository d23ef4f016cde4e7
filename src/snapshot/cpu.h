/*
 * cpu.h - how much of a processor each process has used lately: samples of its time at a
 * few moments that all processes share.
 */
#ifndef IOPS_SNAPSHOT_CPU_H
#define IOPS_SNAPSHOT_CPU_H

#include "iops/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPU_WINDOWS = 3, CPU_SAMPLES = 28 }; /* 5 s, 2 minutes, an hour */

struct cpu_proc {
	int pid;
	uint32_t pass;              /* the last one that saw it */
	uint64_t start;             /* ticks since boot; with pid: which process */
	uint64_t known_ns;          /* since boot: the pass that found it */
	uint32_t used[CPU_SAMPLES]; /* ticks at each moment; 0 where it was not there yet
				     */
};

/* All zero but tick_ns is one that knows nothing yet. */
struct cpu {
	uint64_t tick_ns;                /* of the kernel's clock ticks */
	uint64_t asked_ns[CPU_WINDOWS];  /* cpu_due() said so, by the caller's clock */
	uint64_t moment_ns[CPU_SAMPLES]; /* since boot; 0: none yet */
	uint64_t now_ns;                 /* of the pass in progress, since boot */
	uint64_t at_ns;                  /* how far it has come */
	unsigned newest[CPU_WINDOWS];    /* in each window's part of the moments */
	int since[CPU_WINDOWS];          /* the moment that a window begins at, or -1 */
	bool open[CPU_WINDOWS];          /* this pass takes a sample for it */
	uint32_t pass;
	struct cpu_proc *proc;
	size_t n, cap;
	struct map index; /* pid, start: of proc, plus 1 */
};

/*
 * A sample is to be taken now, so that there is one at the beginning of each window when
 * next_ns has come. Remembers for which windows that was.
 */
bool cpu_due(struct cpu *c, uint64_t now_ns, uint64_t next_ns);

/* A pass over all processes, at this time since boot. */
void cpu_begin(struct cpu *c, uint64_t boot_ns);

/* The pass has come as far as that: it takes time, in which processes go on. */
void cpu_reached(struct cpu *c, uint64_t boot_ns);

/* A process with that many ticks used by now: its percent of one processor in each
 * window, or so much of it as is known; below 0: nothing is known. 0 or -ENOMEM. */
int cpu_sample(struct cpu *c, int pid, uint64_t start, uint64_t used,
	double percent[CPU_WINDOWS]);

/* Forget those that were not seen. 0 or -ENOMEM. */
int cpu_end(struct cpu *c);

void cpu_fini(struct cpu *c);

#endif
