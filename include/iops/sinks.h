/*
 * sinks.h - the sinks that stand between a source and the statistics, or beside them.
 */
#ifndef IOPS_SINKS_H
#define IOPS_SINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct mount_detail;
struct names;
struct run;
struct sink;
struct syscall_set;

/* Keep what matches all of these; process life always passes. */
struct filter {
	const char *const *path; /* fnmatch(3) patterns of the whole path */
	unsigned npaths;         /* 0: all */
	unsigned types;          /* bits of enum file_type; 0: all */
	const pid_t *pids;
	unsigned npids;                 /* 0: all */
	const struct syscall_set *want; /* calls; NULL: all */
	uint64_t from_ns, to_ns;        /* start_ns from ... to - 1; to_ns 0: no end */
};

/* to is borrowed. 0 or -ENOMEM. */
int filter_new(
	struct sink **out, const struct filter *f, struct names *names, struct sink *to);

enum interval_format { INTERVAL_TABLE, INTERVAL_JSON, INTERVAL_CSV };

/* A row at each tick, given to write(). 0 or -ENOMEM. */
struct interval_args {
	enum interval_format format;
	int units;
	int (*write)(void *arg, const char *text, size_t len);
	void *arg;
};
int interval_new(struct sink **out, const struct interval_args *args);

/* Lines of a FUSE trace, given to write(). 0 or -ENOMEM. */
struct fuse_trace_args {
	const struct mount_detail *detail; /* of the operation that is put */
	const struct run *run;             /* when it began */
	bool flush;                        /* each line at once */
	int (*write)(void *arg, const char *text, size_t len);
	void *arg;
};
int fuse_trace_new(struct sink **out, const struct fuse_trace_args *args);

#endif
