/*
 * cpu.c - to begin where one is
 */
#include "iops/cpu.h"

#include <string.h>

int cpu_here(void)
{
	unsigned here;

	return getcpu(&here, NULL) < 0 ? -1 : (int)here;
}

void cpu_pin(struct cpu_pin *p)
{
	int here = cpu_here();
	cpu_set_t one;

	p->pinned = here >= 0 && here < CPU_SETSIZE &&
		    !sched_getaffinity(0, sizeof(p->was), &p->was);
	if (!p->pinned)
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	p->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

/* Said of all CPUs that holds for those as well which the machine gets later. */
void cpu_allow(pid_t tid, const cpu_set_t *was)
{
	cpu_set_t all, now;

	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(tid, sizeof(all), &all) < 0 ||
		sched_getaffinity(tid, sizeof(now), &now) < 0 || !CPU_EQUAL(&now, was))
		sched_setaffinity(tid, sizeof(*was), was);
}

void cpu_unpin(const struct cpu_pin *p)
{
	if (p->pinned)
		cpu_allow(0, &p->was);
}
