/*
 * texts.h - code that is mapped, and the files that it is from
 *
 * Part of fast.h.
 */
#ifndef FAST_TEXTS_H
#define FAST_TEXTS_H

#include "iops/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A mapping of code and the file that it is of. */
struct text;
struct code {
	uint64_t from, to, offset;
	struct text *text;
	bool sure;    /* its file was seen to be what is mapped there */
	unsigned met; /* of the calls that processes have met in it, those known here */
};

/* What /proc/PID/maps says, while it is known. */
struct maps {
	char *text;
	size_t len, cap; /* len 0: not known */
	pid_t of;
	pid_t held; /* maps_hold(); 0: nobody's are open */
	int fd;
	char name[4096]; /* of what was asked for last */
};

struct mapping {
	uint64_t from, to, offset;
	uint64_t dev, inode; /* dev: major in the upper half */
	const char *path;    /* not terminated; until the next is asked for */
	size_t path_len;
	char mode[4];
};

/* Files whose code was looked at, and what is mapped where in the task at hand. */
struct texts {
	struct maps maps;
	struct decoder *decoder;
	bool unarmed;      /* there is none */
	struct map files;  /* by device and inode */
	unsigned nkept;    /* how many of them stay mapped */
	struct map served; /* device -> whether a process answers for it */
	bool stale;        /* ... but others may have been mounted since */
	bool asked;        /* one may do so for all of them: fanotify(7) */
};

#endif
