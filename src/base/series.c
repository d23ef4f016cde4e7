/*
 * series.c - sums of a class of operations, put together and taken apart
 */
#include "iops/stats.h"

#include <errno.h>
#include <stdlib.h>

void series_fini(struct series *s)
{
	hist_fini(&s->size);
	hist_fini(&s->latency);
}

void row_fini(struct row *r)
{
	for (int c = 0; c < NCLASS; c++) {
		if (r->series[c])
			series_fini(r->series[c]);
		free(r->series[c]);
	}
	if (r->pair)
		series_fini(r->pair);
	free(r->pair);
	free(r->access);
	*r = (struct row){ 0 };
}

int series_merge(struct series *a, const struct series *b)
{
	a->operations += b->operations;
	a->errors += b->errors;
	a->again += b->again;
	a->interrupted += b->interrupted;
	a->bytes += b->bytes;
	a->requested += b->requested;
	a->time_ns += b->time_ns;
	if (hist_merge(&a->size, &b->size) < 0 ||
		hist_merge(&a->latency, &b->latency) < 0)
		return -ENOMEM;
	return 0;
}

/* Take the second sides out again: each such call was one. Its bytes moved on both. */
static void series_once(struct series *a, const struct series *pair)
{
	a->operations -= pair->operations;
	a->errors -= pair->errors;
	a->again -= pair->again;
	a->interrupted -= pair->interrupted;
	a->requested -= pair->requested;
	a->time_ns -= pair->time_ns;
	hist_subtract(&a->size, &pair->size);
	hist_subtract(&a->latency, &pair->latency);
}

int row_all(const struct row *r, bool everything, struct series *out)
{
	unsigned n = everything ? NCLASS : CLASS_WRITE + 1;

	*out = (struct series){ 0 };
	for (unsigned c = 0; c < n; c++)
		if (r->series[c] && series_merge(out, r->series[c]) < 0) {
			series_fini(out);
			return -ENOMEM;
		}
	if (r->pair)
		series_once(out, r->pair);
	return 0;
}
