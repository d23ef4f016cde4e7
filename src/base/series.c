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

static void add(struct series *a, const struct series *b)
{
	a->operations += b->operations;
	a->errors += b->errors;
	a->again += b->again;
	a->interrupted += b->interrupted;
	a->bytes += b->bytes;
	a->requested += b->requested;
	a->time_ns += b->time_ns;
}

int series_merge(struct series *a, const struct series *b)
{
	add(a, b);
	if (hist_merge(&a->size, &b->size) < 0 ||
		hist_merge(&a->latency, &b->latency) < 0)
		return -ENOMEM;
	return 0;
}

/* Take the second sides out again: each such call was one. Its bytes moved on both. */
static void once(struct series *a, const struct series *pair)
{
	a->operations -= pair->operations;
	a->errors -= pair->errors;
	a->again -= pair->again;
	a->interrupted -= pair->interrupted;
	a->requested -= pair->requested;
	a->time_ns -= pair->time_ns;
}

static unsigned classes(bool everything)
{
	return everything ? NCLASS : CLASS_WRITE + 1;
}

void row_sums(const struct row *r, bool everything, struct series *out)
{
	*out = (struct series){ 0 };
	for (unsigned c = 0; c < classes(everything); c++)
		if (r->series[c])
			add(out, r->series[c]);
	if (r->pair)
		once(out, r->pair);
}

int row_all(const struct row *r, bool everything, struct series *out)
{
	row_sums(r, everything, out);
	for (unsigned c = 0; c < classes(everything); c++)
		if (r->series[c] &&
			(hist_merge(&out->size, &r->series[c]->size) < 0 ||
				hist_merge(&out->latency, &r->series[c]->latency) < 0)) {
			series_fini(out);
			return -ENOMEM;
		}
	if (r->pair) {
		hist_subtract(&out->size, &r->pair->size);
		hist_subtract(&out->latency, &r->pair->latency);
	}
	return 0;
}
