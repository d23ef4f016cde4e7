/*
 * fio.h - what is to be replayed
 */
#ifndef IOPS_SRC_EXPORT_FIO_H
#define IOPS_SRC_EXPORT_FIO_H

#include "export.h"
#include "iops/map.h"

#include <stddef.h>

enum { OPEN_MAX = 64, SAFE_NAME = 64 };

/* A thread: a job of fio with a log of its own. */
struct job {
	uint32_t comm;
	uint64_t first_ns, last_ns; /* begin of its first, end of its last operation */
	uint32_t open[OPEN_MAX];    /* files that fio has open, plus 1; 0 none */
	unsigned turn;              /* the one to be closed next */
	char *text;                 /* of the log, not written yet */
	size_t len, cap;
};

/* A file under its replay name. */
struct target {
	uint32_t path;
	uint64_t size, filled; /* ends of the highest access and of the highest read */
};

struct fio {
	struct sink sink;
	struct rows rows;
	struct job *job;
	size_t njob, capjob;
	struct target *target;
	size_t ntarget, captarget;
	struct map jobs;      /* (tid, run) -> place, plus 1 */
	struct map targets;   /* file -> place, plus 1 */
	struct map added;     /* (job, target): its log has named the file */
	struct map positions; /* (tid and fd, file) -> position, plus 1 */
	uint64_t left_out, guessed;
	int err;
};

/* "000001-name", of characters that fio and the shell leave alone. */
void fio_target_name(const struct fio *s, size_t target, char name[SAFE_NAME]);

/* Open a file of the folder; NULL: said why, and s->err is set. */
FILE *fio_create(struct fio *s, const char *name, const char *mode);

/* Close it, after all was written. */
void fio_finish(struct fio *s, FILE *f, const char *name);

/* The jobs, the list of files and the script. */
void fio_put_rest(struct fio *s);

#endif
