/*
 * export.h - what the exporters share: the fields of a row, and where it is written.
 */
#ifndef IOPS_SRC_EXPORT_H
#define IOPS_SRC_EXPORT_H

#include "iops/export.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a row is of. */
struct rows {
	struct export_args args;
	const struct run *run; /* never NULL */
	unsigned nrun;         /* its number; args.nruns: one that nobody knows */
	const char *host;      /* "" unknown */
	uint64_t lost;
	char text[40]; /* of the cell at hand */
};

struct cell {
	bool null;
	int64_t num;
	const char *str;
};

enum field_type { FIELD_INT, FIELD_STR };

/* The table of a database that a field is of. */
enum field_home { HOME_OP, HOME_RUN, HOME_FILE };

struct field {
	const char *name;
	uint8_t type, home;
	bool nullable;
	bool bytes; /* text that need not be UTF-8 */
	void (*get)(struct rows *r, const struct op *op, struct cell *c);
};

/* Ends with a NULL name. */
extern const struct field fields[];

void rows_init(struct rows *r, const struct export_args *args);

/* Whether it is a row. Notices are none: they say of which run the next rows are. */
bool rows_take(struct rows *r, const struct op *op);

/* Say what was not seen. */
void rows_end(const struct rows *r);

/* The value of a field. Its text is borrowed until the next one. */
struct cell rows_cell(struct rows *r, const struct field *f, const struct op *op);

/* Real time, ns since 1970, of a time of the session. */
int64_t rows_time(const struct rows *r, uint64_t ns);

/* Bytes that it moved; how many operations it stands for. */
int64_t op_bytes(const struct op *op);
int64_t op_count(const struct op *op);

/* The name of what a negative result is; in buf if it has none. */
const char *op_errno(const struct op *op, char buf[16]);

/* A buffered file; the first error is said once and stays. */
struct output {
	FILE *f;
	const char *name;
	int err;
};

/* NULL and "-" are standard output. 0 or -errno, said why. */
int output_open(struct output *o, const char *name);

/* Keep that error and say it, if it is the first. -errno */
int output_fail(struct output *o, int err);

/* After each row: 0 or -errno, said why. */
int output_check(struct output *o);

/* Flush, and close what was opened. The error of this or of before. */
int output_close(struct output *o);

/* Room for one more in a growing array, at *array, of elements of that size. -ENOMEM */
int array_room(void *array, size_t n, size_t *cap, size_t size);

extern const struct exporter export_csv, export_jsonl, export_chrome, export_fio,
	export_folded, export_sqlite, export_avro;

#endif
