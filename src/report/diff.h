/*
 * diff.h - what changed between two runs, for the table and for JSON.
 */
#ifndef IOPS_REPORT_DIFF_H
#define IOPS_REPORT_DIFF_H

#include "iops/map.h"
#include "iops/report.h"

/* Sums of one row in one of the runs; empty where there is none. */
struct side {
	struct series class[NCLASS], all;
};

struct change {
	char *name; /* path or call */
	struct side side[2];
};

struct changes {
	struct change *change; /* what changed most first */
	size_t n, cap;
	struct map index;
};

/* Rows of both runs by file (path) or call. 0 or -errno. */
int changes_new(struct changes *list, const struct diff_in *in, enum dim dim);
void changes_free(struct changes *list);

int change_total(struct change *c, const struct diff_in *in);
void change_total_fini(struct change *c);

/* Whether a counter differs: times always do, and do not count. */
bool change_any(const struct change *c);

/* class NCLASS: all. */
const struct series *side_series(const struct side *s, unsigned class);

uint64_t diff_bytes(const struct series *s);
uint64_t diff_operations(const struct series *s);
uint64_t diff_errors(const struct series *s);
uint64_t diff_requested(const struct series *s);
uint64_t diff_time(const struct series *s);
uint64_t diff_meta(const struct side *s);

#endif
