/*
 * groups.h - processes under a common name: NAME:PID[,PID...].
 */
#ifndef IOPS_GROUPS_H
#define IOPS_GROUPS_H

#include "iops/map.h"

#include <stdint.h>

/* All zero: there are none. */
struct groups {
	char **name;
	unsigned n;
	struct map pids; /* pid -> group, plus 1 */
};

/*
 * Take one more such text. A name that comes again means the same group, and a pid that
 * does moves to the later one. 0; -EINVAL or -ENOMEM, said why.
 */
int groups_add(struct groups *g, const char *text);
void groups_fini(struct groups *g);

/* Which group, or -1. */
int groups_of(const struct groups *g, uint32_t pid);

#endif
