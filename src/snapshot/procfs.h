/*
 * procfs.h - a process as /proc shows it: proc(5)
 */
#ifndef IOPS_SNAPSHOT_PROCFS_H
#define IOPS_SNAPSHOT_PROCFS_H

#include <stddef.h>
#include <stdint.h>

enum { PROCFS_NAME = 64 };

struct procfs_stat {
	int pid;
	char state;             /* R, S, ... */
	char name[PROCFS_NAME]; /* comm */
	uint64_t used, start;   /* ticks: in user and kernel mode; since boot */
};

/* All read below proc, a descriptor of /proc. 0 or -errno. */
int procfs_stat(int proc, int pid, struct procfs_stat *out);
int procfs_memory(int proc, int pid, uint64_t *vms_kb, uint64_t *rss_kb);

/*
 * The arguments with spaces between them, "..." at the end of what does not fit the size;
 * "" where there are none. The name of a program that comm has cut short goes to name.
 */
int procfs_cmdline(int proc, int pid, char *text, size_t size, char name[PROCFS_NAME]);

/* The word for a state, as psutil has it. */
const char *procfs_state(char state);

#endif
