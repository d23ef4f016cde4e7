/*
 * json.h - parts of the JSON report that other reports have as well.
 */
#ifndef IOPS_REPORT_JSON_H
#define IOPS_REPORT_JSON_H

#include <cjson/cJSON.h>

#include "iops/stats.h"

#include <stdio.h>

struct hist;
struct line;
struct report_in;
struct row;
struct run;

/* What was run, where and how. */
cJSON *json_run(const struct run *run);

/* A number, exactly; a text, safely: see json.c. */
void json_int(cJSON *o, const char *key, int64_t n);
void json_uint(cJSON *o, const char *key, uint64_t n);
void json_text(cJSON *o, const char *key, const char *s);

/* S and Q of the report. */
cJSON *json_series(const struct series *s, const struct run *run);
cJSON *json_hist(const struct hist *h);

/* S of each class into o; always: of those that nothing is of, too. */
void json_classes(cJSON *o, const struct line *l, bool always);

/* Print an element and let go of it. */
void json_put(FILE *out, cJSON *item);

/* "DIM": [...]. 0 or -errno */
int json_breakdown(FILE *out, const struct report_in *in, enum dim dim);

/* The row of everything, and its line; series_fini(&l->all), row_fini(row). 0 or -errno
 */
int json_total(const struct report_in *in, struct row *row, struct line *l);

/* How many calls took the fast path; where nothing is known of it, nothing is added. */
void json_fast_path(cJSON *run, const struct report_in *in);

#endif
