/*
 * cpu.c - to begin where one is
 */
#include "iops/cpu.h"

void cpu_pin(struct cpu_pin *p)
{
	int here = sched_getcpu();
	cpu_set_t one;

	p->pinned = here >= 0 && here < CPU_SETSIZE &&
		    !sched_getaffinity(0, sizeof(p->was), &p->was);
	if (!p->pinned)
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	p->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

void cpu_unpin(const struct cpu_pin *p)
{
	if (p->pinned)
		sched_setaffinity(0, sizeof(p->was), &p->was);
}
