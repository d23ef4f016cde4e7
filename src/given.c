/*
 * given.c - limits and timers that are the command's, lifted while we are in its place
 */
#include "iops/given.h"

#include <stddef.h>

static const int limited[NLIMITED] = { RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU };

static void lift(int which, struct rlimit *old)
{
	struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };

	getrlimit(which, old);
	if (which == RLIMIT_NOFILE)
		most = (struct rlimit){ 65536,
			old->rlim_max > 65536 ? old->rlim_max : 65536 };
	if (setrlimit(which, &most) < 0) {
		most.rlim_cur = most.rlim_max = old->rlim_max;
		setrlimit(which, &most);
	}
}

void given_lift_limits(struct given *g)
{
	for (int i = 0; i < NLIMITED; i++)
		lift(limited[i], &g->limit[i]);
}

void given_take(struct given *g)
{
	const struct itimerval none = { .it_value.tv_sec = 0 };

	given_lift_limits(g);
	for (int i = 0; i < NTIMERS; i++)
		if (setitimer(i, &none, &g->timer[i]) < 0)
			g->timer[i] = none;
}

void given_back(const struct given *g)
{
	for (int i = 0; i < NLIMITED; i++)
		setrlimit(limited[i], &g->limit[i]);
	for (int i = 0; i < NTIMERS; i++)
		if (g->timer[i].it_value.tv_sec || g->timer[i].it_value.tv_usec)
			setitimer(i, &g->timer[i], NULL);
}
