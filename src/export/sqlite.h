/*
 * sqlite.h - the database at work
 */
#ifndef IOPS_SRC_EXPORT_SQLITE_H
#define IOPS_SRC_EXPORT_SQLITE_H

#include "export.h"
#include "iops/late.h"
#include "iops/map.h"

#include <sqlite3.h>
#include <sys/types.h>

enum { SQLITE_APPLICATION = 0x696f7073 /* "iops", PRAGMA application_id */ };

#define SQLITE_FUNCTIONS(X)                                                              \
	X(sqlite3_bind_blob)                                                             \
	X(sqlite3_bind_int64)                                                            \
	X(sqlite3_bind_null)                                                             \
	X(sqlite3_bind_text)                                                             \
	X(sqlite3_close)                                                                 \
	X(sqlite3_errcode)                                                               \
	X(sqlite3_errmsg)                                                                \
	X(sqlite3_exec)                                                                  \
	X(sqlite3_finalize)                                                              \
	X(sqlite3_open_v2)                                                               \
	X(sqlite3_prepare_v2)                                                            \
	X(sqlite3_reset)                                                                 \
	X(sqlite3_step)                                                                  \
	X(sqlite3_system_errno)

struct sqlite_functions {
	SQLITE_FUNCTIONS(LATE_MEMBER)
};

enum statement { INSERT_OP, INSERT_FILE, INSERT_PROCESS, INSERT_RUN, NSTATEMENTS };

struct process {
	pid_t pid, ppid; /* ppid: 0 unknown */
	unsigned run;
	uint32_t comm, exe;        /* name, file */
	uint64_t start_ns, end_ns; /* OP_NO_TIME unknown */
	int status;                /* valid if end_ns is */
};

struct sqlite {
	struct sink sink;
	struct rows rows;
	struct sqlite_functions lib;
	sqlite3 *db;
	sqlite3_stmt *stmt[NSTATEMENTS];
	char *temporary;
	struct process *process; /* the id is the place, plus 1 */
	size_t nprocess, capprocess;
	struct map pids;  /* (pid, run) -> id of its newest process */
	struct map files; /* file ids that are in the table */
	uint64_t *lost;   /* by run */
	bool *seen;       /* by run */
	int err;
};

/* Say what went wrong, once. -errno */
int sqlite_failed(struct sqlite *s);

/* The run at hand will be in the table. 0 */
int sqlite_see_run(struct sqlite *s);

/* The id of the process of an operation, which may be news of it. -ENOMEM */
int64_t sqlite_process(struct sqlite *s, const struct op *op);

/* The row, and before it that of its file. 0 or -errno. */
int sqlite_insert_op(struct sqlite *s, const struct op *op, int64_t process);

/* The processes and the runs. 0 or -errno. */
int sqlite_insert_rest(struct sqlite *s);

#endif
