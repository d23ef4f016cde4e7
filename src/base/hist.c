/*
 * hist.c - log-linear histogram: a few samples, or a window of buckets
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

/*
 * Widen the window to hold buckets lo ... hi, a whole octave at a time, and what is in it
 * already.
 */
static int cover(struct hist *h, unsigned lo, unsigned hi)
{
	for (unsigned i = 0; i < h->nfew; i++) {
		lo = h->few[i] < lo ? h->few[i] : lo;
		hi = h->few[i] > hi ? h->few[i] : hi;
	}
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
	for (unsigned i = 0; i < h->nfew; i++)
		count[h->few[i] - lo]++;
	free(h->count);
	h->count = count;
	h->first = lo;
	h->len = hi - lo;
	h->nfew = 0;
	return 0;
}

/* Room for n samples in buckets lo ... hi. 0 or -ENOMEM, and then nothing has changed. */
static int make_room(struct hist *h, unsigned lo, unsigned hi, uint64_t n)
{
	if (h->len ? lo - h->first < h->len && hi - h->first < h->len
		   : n <= (uint64_t)HIST_FEW - h->nfew)
		return 0;
	return cover(h, lo, hi);
}

static void count(struct hist *h, unsigned index, uint64_t n)
{
	if (h->len)
		h->count[index - h->first] += n;
	else
		while (n--)
			h->few[h->nfew++] = (uint16_t)index;
}

int hist_count_new(struct hist *h, unsigned index)
{
	if (make_room(h, index, index, 1) < 0)
		return -ENOMEM;
	count(h, index, 1);
	return 0;
}

static bool next_of_few(const struct hist *h, unsigned *index, uint64_t *n)
{
	unsigned at = HIST_N;

	*n = 0;
	for (unsigned i = 0; i < h->nfew; i++) {
		if (h->few[i] < *index || h->few[i] > at)
			continue;
		*n = h->few[i] == at ? *n + 1 : 1;
		at = h->few[i];
	}
	if (at < HIST_N)
		*index = at;
	return at < HIST_N;
}

bool hist_next(const struct hist *h, unsigned *index, uint64_t *n)
{
	unsigned i = *index > h->first ? *index - h->first : 0;

	if (!h->len)
		return next_of_few(h, index, n);
	while (i < h->len && !h->count[i])
		i++;
	if (i >= h->len)
		return false;
	*index = h->first + i;
	*n = h->count[i];
	return true;
}

/* The buckets that have samples, all of them from lo to hi. Returns how many these are,
 * by what is there: n of a report that somebody has made up may be anything. */
static uint64_t range_of(const struct hist *h, unsigned *lo, unsigned *hi)
{
	uint64_t n = h->nfew;
	unsigned from = 0, to = h->len;

	while (from < to && !h->count[from])
		from++;
	while (to > from && !h->count[to - 1])
		to--;
	*lo = from < to ? h->first + from : HIST_N;
	*hi = from < to ? h->first + to - 1 : 0;
	for (unsigned i = from; i < to; i++)
		n = n + h->count[i] < n ? UINT64_MAX : n + h->count[i];
	for (unsigned i = 0; i < h->nfew; i++) {
		*lo = h->few[i] < *lo ? h->few[i] : *lo;
		*hi = h->few[i] > *hi ? h->few[i] : *hi;
	}
	return n;
}

int hist_merge(struct hist *to, const struct hist *from)
{
	unsigned lo, hi;

	if (!from->n)
		return 0;
	uint64_t n = range_of(from, &lo, &hi);
	if (n && make_room(to, lo, hi, n) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < from->nfew; i++)
		count(to, from->few[i], 1);
	for (unsigned i = lo; from->len && i <= hi; i++)
		count(to, i, from->count[i - from->first]);
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (!to->n || from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	return 0;
}

void hist_empty(struct hist *h)
{
	h->n = h->sum = h->nfew = 0;
	if (h->len > HIST_KEPT)
		hist_fini(h);
	else if (h->len)
		memset(h->count, 0, h->len * sizeof(*h->count));
}

int hist_fill(struct hist *h, uint64_t lower, uint64_t n)
{
	unsigned i = hist_index(lower);

	if (make_room(h, i, i, n) < 0)
		return -ENOMEM;
	count(h, i, n);
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

static void take_out(struct hist *h, unsigned index, uint64_t n)
{
	/* What is not there stays so, whatever a log says of second sides. */
	if (h->len) {
		uint64_t there = hist_count(h, index);
		if (there)
			h->count[index - h->first] -= n < there ? n : there;
		return;
	}
	for (unsigned i = h->nfew; n && i-- > 0;)
		if (h->few[i] == index) {
			h->few[i] = h->few[--h->nfew];
			n--;
		}
}

void hist_subtract(struct hist *from, const struct hist *what)
{
	uint64_t n;

	for (unsigned i = 0; hist_next(what, &i, &n); i++)
		take_out(from, i, n);
	from->n -= what->n;
	from->sum -= what->sum;
}

uint64_t hist_count(const struct hist *h, unsigned index)
{
	unsigned at = index;
	uint64_t n;

	return hist_next(h, &at, &n) && at == index ? n : 0;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	/* The first that so many are no longer than; what a product is above a whole
	 * number is not more than how it is rounded. */
	const double exact = q * (double)h->n * (1 - 1e-12);
	uint64_t seen = 0, rank = (uint64_t)exact, n;

	rank += (double)rank < exact;
	for (unsigned i = 0; hist_next(h, &i, &n); i++) {
		seen += n;
		if (seen < rank)
			continue;
		uint64_t low = hist_lower(i), mid = low;
		if (i + 1 < HIST_N)
			mid += (hist_lower(i + 1) - low) / 2;
		return mid < h->min ? h->min : mid > h->max ? h->max : mid;
	}
	return 0;
}

void hist_octaves(const struct hist *h, uint64_t *out)
{
	uint64_t n;

	for (unsigned i = 0; hist_next(h, &i, &n); i++)
		out[hist_octave(hist_lower(i))] += n;
}
