/*
 * bundle.c - what is summed once for all dimensions, and brought to their rows
 */
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

struct bundles *bundles_new(void)
{
	return calloc(1, sizeof(struct bundles));
}

void bundles_free(struct bundles *b)
{
	for (size_t i = 0; b && i < b->nsum; i++)
		series_fini(&b->sum[i].series);
	if (b)
		free(b->sum);
	free(b);
}

uint64_t bundle_settle(
	struct bundles *b, const struct bundle *one, struct table *tables, unsigned dims)
{
	struct bundle_sum *from = one->sum ? &b->sum[one->sum - 1] : NULL;
	struct series *s = from ? &from->series : NULL;
	int err = 0;

	if (!s || !s->operations)
		return 0;
	s->bytes = s->size.sum;
	s->time_ns = s->latency.sum;
	for (unsigned left = dims; left; left &= left - 1) {
		unsigned dim = __builtin_ctz(left);
		struct row *r = &tables[dim].row[from->at[dim]];
		struct series *to = series_of(&r->series[one->class]);
		if (!to || series_merge(to, s) < 0)
			err = -1;
	}
	const uint64_t n = s->operations;
	s->operations = 0;
	s->requested = 0;
	hist_empty(&s->size);
	hist_empty(&s->latency);
	return err ? n : 0;
}

static void fetch(const void *from, size_t size)
{
	enum { LINE = 64 };

	for (size_t i = 0; i < size; i += LINE)
		__builtin_prefetch((const char *)from + i);
}

/* What the next ones need is far apart, and most of it in no cache: each step of the way
 * some of them ahead. */
static void hasten(const struct bundles *b, unsigned i, const struct table *files)
{
	enum { SUM = 12, ROW = 8, SERIES = 4 };
	const struct bundle *one = &b->bundle[i];
	const unsigned left = NBUNDLES - i;

	if (left > SUM && one[SUM].sum)
		fetch(&b->sum[one[SUM].sum - 1], sizeof(*b->sum));
	if (left > ROW && one[ROW].sum)
		fetch(&files->row[b->sum[one[ROW].sum - 1].at[DIM_FILE]].series, 64);
	if (left <= SERIES || !one[SERIES].sum)
		return;
	const struct row *r = &files->row[b->sum[one[SERIES].sum - 1].at[DIM_FILE]];
	if (r->series[one[SERIES].class])
		fetch(r->series[one[SERIES].class], sizeof(struct series));
}

uint64_t bundles_settle(struct bundles *b, struct table *tables, unsigned dims)
{
	uint64_t lost = 0;

	for (unsigned i = 0; b && b->open && i < NBUNDLES; i++) {
		hasten(b, i, &tables[DIM_FILE]);
		lost += bundle_settle(b, &b->bundle[i], tables, dims);
	}
	if (b)
		b->open = false;
	return lost;
}

void bundle_begin(struct bundles *b, struct bundle *one, const uint64_t key[3],
	unsigned class, const struct table *tables, unsigned dims)
{
	if (!one->sum) {
		if (rows_room(&b->sum, b->nsum, &b->capsum, sizeof(*b->sum)) < 0)
			return;
		memset(&b->sum[b->nsum], 0, sizeof(*b->sum));
		one->sum = ++b->nsum;
	}
	memcpy(one->key, key, sizeof(one->key));
	one->class = class;
	for (unsigned left = dims; left; left &= left - 1) {
		unsigned dim = __builtin_ctz(left);
		b->sum[one->sum - 1].at[dim] = tables[dim].last;
	}
}
