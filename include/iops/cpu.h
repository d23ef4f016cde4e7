/*
 * cpu.h - to begin where one is
 *
 * The scheduler begins a new process on a CPU that is idle. To wake that takes a virtual
 * machine up to a millisecond, longer than much of what is begun.
 */
#ifndef IOPS_CPU_H
#define IOPS_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* The one that we run on; -1: unknown. Of any task: sched_getcpu(3) takes the word of
 * what the C library has told the kernel, which only knows threads: beside.h. */
int cpu_here(void);

struct cpu_pin {
	cpu_set_t was;
	bool pinned;
};

/* What is forked from now on begins on this CPU. Where that cannot be said nothing
 * happens.
 */
void cpu_pin(struct cpu_pin *p);

/* For both sides of a fork(2): on all CPUs as before. */
void cpu_unpin(const struct cpu_pin *p);

/* A task, 0: this one, may run where it might before, as if nothing had been said. */
void cpu_allow(pid_t tid, const cpu_set_t *was);

#endif
