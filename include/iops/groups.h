/*
 * groups.h - names that people give to several processes, to sum them up together.
 */
#ifndef IOPS_GROUPS_H
#define IOPS_GROUPS_H

#include "iops/map.h"

#include <stddef.h>
#include <sys/types.h>

struct groups {
	const char **name; /* borrowed, each of that length */
	size_t *len;
	unsigned n;
	struct map pids; /* pid -> place of its group, plus 1 */
};

/*
 * "NAME:PID[,PID...]", borrowed; of a pid in several groups the last one counts, and a
 * name that comes again means the same group. 0, -EINVAL, -ENOMEM.
 */
int groups_add(struct groups *g, const char *text);
void groups_fini(struct groups *g);

/* The group of a thread, or else of its process, from 0 on; -1: none. */
int groups_of(const struct groups *g, pid_t tid, pid_t pid);

#endif
