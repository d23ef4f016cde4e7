/*
 * mount.h - what iops mount is told: a folder, where it is to be seen, and how.
 */
#ifndef IOPS_MOUNT_H
#define IOPS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Of the operation that the source puts just now: what struct op has no room for. */
struct mount_detail {
	char *text; /* the line of a FUSE trace but for time and outcome; NULL: none */
	uint32_t uid;
};

struct mount_options {
	const char *source, *point;
	const char *command; /* its name; NULL: none */
	bool cached;         /* the kernel may keep what it knows */
	bool daemon, flush, clear;
	bool trace;                  /* lines of a FUSE trace instead of a report */
	struct mount_detail *detail; /* filled in for a trace; or NULL */
};

/*
 * What speaks against mounting source on point: said. 0 or -errno.
 */
int mount_check(const char *source, const char *point);

/* An option of the verb, by its id in the table of options; whether it is one. */
bool opts_mount_set(struct mount_options *m, int id);

#endif
