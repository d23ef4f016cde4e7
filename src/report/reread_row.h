/*
 * reread_row.h - rows of a JSON report back to rows of statistics.
 */
#ifndef IOPS_REPORT_REREAD_ROW_H
#define IOPS_REPORT_REREAD_ROW_H

#include "iops/op.h"
#include "iops/stats.h"

#include <cjson/cJSON.h>

struct reread_rows {
	struct stats *into;
	unsigned run;
	uint32_t host; /* name; 0: hosts are not told apart */
	bool several;  /* but their rows may tell */
};

/* NULL-safe. */
const cJSON *json_get(const cJSON *o, const char *key);

/* A number, which may stand in quotes; 0 if it is none. */
uint64_t json_number(const cJSON *o, const char *key);
int64_t json_value(const cJSON *item);

/* Add every breakdown. running: the processes that were left behind. 0 or -errno. */
int reread_rows(const struct reread_rows *r, const cJSON *by, const cJSON *running);

/* Add what an S, a Q holds. 0 or -errno. */
int reread_series(struct series *to, const cJSON *s);
int reread_hist(struct hist *to, const cJSON *q);

/* The sums of requests to block devices. 0 or -errno. */
struct block_sums;
int reread_block(struct block_sums *to, const cJSON *layer);

/* What text_base64() was given, of len bytes, with a zero behind them: to be freed. NULL:
 * no memory. */
char *reread_base64(const char *text, size_t *len);

/* The number of "ENOENT". */
int reread_errno(const char *name);

#endif
