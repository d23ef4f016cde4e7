/*
 * report.h - statistics to text. One table of columns serves every format.
 */
#ifndef IOPS_REPORT_H
#define IOPS_REPORT_H

#include "iops/run.h"
#include "iops/stats.h"
#include "iops/units.h"

#include <stdio.h>

enum { MAX_BY = NDIMS, MAX_COLUMNS = 64 };

struct column;

/* How to show it. */
struct view {
	unsigned by[MAX_BY], nby;                 /* breakdowns of the table */
	const struct column *column[MAX_COLUMNS]; /* of the table and CSV */
	unsigned ncolumns;                        /* 0: what suits the breakdown */
	const struct column *sort;                /* NULL: by bytes */
	unsigned top;                             /* rows; 0: all */
	bool partial; /* filters leave some of the calls out */
	enum units_text text;
	bool histogram, colour, quiet, verbose;
	enum units units;
	unsigned width; /* columns of the terminal; 0: no limit */
};

struct report_in {
	const struct stats *stats;
	const struct names *names;
	const struct run *run;
	const struct view *view;
};

enum value_type {
	VALUE_NONE,
	VALUE_STR,
	VALUE_COUNT,
	VALUE_BYTES,
	VALUE_NS,
	VALUE_RATE,
	VALUE_BYTE_RATE,
	VALUE_FLAG
};

struct value {
	enum value_type type;
	const char *str;
	uint64_t num;
	double rate;
};

/* A row of one breakdown with its sum of reads and writes. */
struct line {
	const struct report_in *in;
	const struct row *row;
	enum dim dim;
	struct series all;
	char text[64]; /* room for a name made up of numbers */
};

/*
 * One number or word that iops can show. Either of the row as a whole (get), or of a
 * series: then there is one column for each of read, write, sync, meta, peek and all,
 * named like "read_bytes".
 */
struct column {
	const char *name;  /* JSON key, CSV header, --columns and --sort argument */
	const char *title; /* in the table; NULL: like name */
	const char *help;
	unsigned dims; /* bits of the breakdowns that have it; 0: all */
	uint8_t class; /* enum op_class; NCLASS: all; only if of_series */
	struct value (*get)(struct line *l);
	struct value (*of_series)(const struct series *s, const struct run *run);
};

/* Every column: of the row first, then those of the series. Ends with a NULL name. */
extern const struct column row_columns[];
extern const struct column series_columns[];

/* The column of that name, with class filled in; false if there is none. */
bool column_find(const char *name, struct column *out);

/* The value of a column in a line. */
struct value column_value(const struct column *c, struct line *l);

/* The series of a class in a line; an empty one where there is none. */
const struct series *line_series(const struct line *l, unsigned class);

/* The first n lines of a breakdown, in their order, of all that there are. */
struct lines {
	struct line *line;
	size_t n, all;
	bool meta; /* metadata was seen, in whichever of them */
};

/* top: how many lines at most; 0: all. To be freed by lines_fini(). 0 or -ENOMEM. */
int lines_of(const struct report_in *in, enum dim dim, size_t top, struct lines *out);
void lines_fini(struct lines *l);

struct report {
	const char *name;
	const char *help;
	int (*render)(FILE *out, const struct report_in *in); /* 0 or -errno */
};

extern const struct report report_table, report_json, report_csv;

/* Two runs compared: what changed from a to b, in the order of what matters. */
struct diff_in {
	const struct report_in *a, *b; /* of the same names and view */
	const char *name[2];
};
int diff_table(FILE *out, const struct diff_in *in);
int diff_json(FILE *out, const struct diff_in *in);

/* Sentences of the table; row is the total. */
void words_proof(FILE *out, const struct report_in *in);
void words_errors(FILE *out, const struct report_in *in, const struct row *row);
void words_remarks(FILE *out, const struct report_in *in, const struct row *row);
void words_left_behind(FILE *out, const struct report_in *in);

/* The histograms of --histogram, for the table. */
int histogram_render(FILE *out, const struct report_in *in);

#endif
