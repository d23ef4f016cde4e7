/*
 * mounts.h - what is mounted where, by mountinfo: proc(5)
 */
#ifndef IOPS_BASE_MOUNTS_H
#define IOPS_BASE_MOUNTS_H

#include "iops/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct names;
struct stat;

struct mount_spot {
	uint64_t id, parent, major, minor;
	uint32_t point; /* name of the mount point; 0: none */
	bool odd;       /* stat(2) tells other numbers of devices there */
	int8_t buried;  /* below what was mounted over it; -1: not, 0: not known yet */
};

/* All zero but for names, to begin with. */
struct mounts {
	struct names *names;
	struct map points;  /* mount id -> name of the mount point */
	struct map systems; /* (major, minor) -> name of the type */
	FILE *mountinfo;    /* our own, kept open; or NULL */
	char *mounted;      /* what it said last */
	struct mount_spot *spot;
	size_t nspots; /* 0: not listed yet */
	bool fresh;    /* that is as it has been since mounts_later() */
};

void mounts_fini(struct mounts *m);

/* What is mounted where we are, by now: the text. NULL: it cannot be read. */
const char *mounts_look(struct mounts *m);

/* What is asked by path from here on is of later: it is to be looked again. */
void mounts_later(struct mounts *m);

/* Something is not mounted any more: its id may be given to another one. */
void mounts_changed(struct mounts *m);

/* The mount point of a mount id: if we have no such mount, by the task's own mountinfo.
 * Names; 0: unknown. */
uint32_t mounts_point(struct mounts *m, pid_t tid, uint64_t id);

/* That of a file, by its path and its file system. Where that is mounted but once the
 * path says nothing. */
uint32_t mounts_above(
	struct mounts *m, const char *path, size_t len, const struct stat *is);

/* The type of a file system. */
uint32_t mounts_system(struct mounts *m, const struct stat *is);

#endif
