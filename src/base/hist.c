/*
 * hist.c - log-linear histogram over a window of buckets
 *
 * A value v >= 16 with highest bit b falls into octave b - 4 + 1, and there into one
 * of 16 equal parts: index = (b - 3) * 16 + the four bits below the highest one.
 */
#include "iops/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t hist_lower(unsigned index)
{
	if (index < HIST_SUB)
		return index;

	unsigned shift = index / HIST_SUB - 1;
	return (uint64_t)(HIST_SUB + index % HIST_SUB) << shift;
}

void hist_fini(struct hist *h)
{
	free(h->count);
	*h = (struct hist){ 0 };
}

/* Widen the window to hold buckets lo ... hi, a whole octave at a time. */
static int cover(struct hist *h, unsigned lo, unsigned hi)
{
	unsigned end = h->first + h->len;

	lo -= lo % HIST_SUB;
	hi += HIST_SUB - hi % HIST_SUB;
	if (h->len) {
		lo = lo < h->first ? lo : h->first;
		hi = hi > end ? hi : end;
	}
	uint64_t *count = calloc(hi - lo, sizeof(*count));
	if (!count)
		return -ENOMEM;
	if (h->len)
		memcpy(count + (h->first - lo), h->count, h->len * sizeof(*count));
	free(h->count);
	h->count = count;
	h->first = lo;
	h->len = hi - lo;
	return 0;
}

int hist_cover(struct hist *h, unsigned index)
{
	return cover(h, index, index);
}

int hist_merge(struct hist *to, const struct hist *from)
{
	if (!from->n)
		return 0;

	unsigned first = from->first, last = first + from->len - 1;
	if ((first - to->first >= to->len || last - to->first >= to->len) &&
		cover(to, first, last) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < from->len; i++)
		to->count[first + i - to->first] += from->count[i];
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (!to->n || from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	return 0;
}

int hist_fill(struct hist *h, uint64_t lower, uint64_t n)
{
	unsigned i = hist_index(lower);

	if (i - h->first >= h->len && hist_cover(h, i) < 0)
		return -ENOMEM;
	h->count[i - h->first] += n;
	return 0;
}

int hist_add_many(struct hist *h, uint64_t n, uint64_t sum)
{
	uint64_t mean = n ? sum / n : 0;

	if (!n)
		return 0;
	if (hist_fill(h, mean, n) < 0)
		return -ENOMEM;
	h->min = !h->n || mean < h->min ? mean : h->min;
	h->max = !h->n || mean > h->max ? mean : h->max;
	h->n += n;
	h->sum += sum;
	return 0;
}

void hist_subtract(struct hist *from, const struct hist *what)
{
	/* What is not there stays so, whatever a log says of second sides. */
	for (unsigned i = 0; i < what->len; i++) {
		unsigned at = what->first + i - from->first;
		if (at < from->len)
			from->count[at] -= what->count[i];
	}
	from->n -= what->n;
	from->sum -= what->sum;
}

uint64_t hist_count(const struct hist *h, unsigned index)
{
	return index - h->first < h->len ? h->count[index - h->first] : 0;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t seen = 0, rank = (uint64_t)(q * (double)h->n + 0.5);

	for (unsigned i = 0; i < h->len; i++) {
		seen += h->count[i];
		if (!seen || seen < rank)
			continue;
		uint64_t low = hist_lower(h->first + i);
		uint64_t mid = low;
		if (h->first + i + 1 < HIST_N)
			mid += (hist_lower(h->first + i + 1) - low) / 2;
		return mid < h->min ? h->min : mid > h->max ? h->max : mid;
	}
	return 0;
}

void hist_octaves(const struct hist *h, uint64_t *out)
{
	for (unsigned i = 0; i < h->len; i++)
		out[hist_octave(hist_lower(h->first + i))] += h->count[i];
}
