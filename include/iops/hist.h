/*
 * hist.h - log-linear histogram: exact below 16, then within 1/16 of the value.
 *
 * The layout of buckets is fixed, so histograms of other runs and machines add up
 * exactly. Only the range of buckets that is in use takes memory, and none but its own
 * one of a few samples: most files are read once or twice.
 */
#ifndef IOPS_HIST_H
#define IOPS_HIST_H

#include <stdbool.h>
#include <stdint.h>

enum { HIST_BITS = 4, HIST_SUB = 1 << HIST_BITS, HIST_N = HIST_SUB * (65 - HIST_BITS) };

/* Samples without memory of their own; buckets whose memory hist_empty() keeps. */
enum { HIST_FEW = 9, HIST_KEPT = 8 * HIST_SUB };

/* All zero is an empty histogram. min and max mean nothing while n is 0. */
struct hist {
	uint64_t n, sum, min, max;
	uint64_t *count; /* of buckets first ... first + len - 1; NULL: few has them */
	uint16_t first, len;
	uint16_t nfew, few[HIST_FEW]; /* the bucket of each sample, in any order */
};

void hist_fini(struct hist *h);

/* Take all samples out, but keep the memory for others like them if it is not much. */
void hist_empty(struct hist *h);

/* 0 or -ENOMEM, and then nothing has changed. */
int hist_merge(struct hist *to, const struct hist *from);

/*
 * Put in n samples of the bucket that begins at lower; the caller sets n, sum, min and
 * max. 0 or -ENOMEM.
 */
int hist_fill(struct hist *h, uint64_t lower, uint64_t n);

/* n samples of which only the sum is known, and that they were alike. 0 or -ENOMEM. */
int hist_add_many(struct hist *h, uint64_t n, uint64_t sum);

/* Take out what hist_add() put in before; min and max stay. */
void hist_subtract(struct hist *from, const struct hist *what);

/* The middle of the bucket that holds the sample of rank q * n. 0 if empty. */
uint64_t hist_quantile(const struct hist *h, double q);

/* Samples in a bucket, whatever its index. */
uint64_t hist_count(const struct hist *h, unsigned index);

/* The next bucket with samples, from *index on, and how many; false: there is none. */
bool hist_next(const struct hist *h, unsigned *index, uint64_t *n);

static inline unsigned hist_index(uint64_t value)
{
	if (value < HIST_SUB)
		return (unsigned)value;

	unsigned shift = 63 - __builtin_clzll(value) - HIST_BITS;
	return (shift + 1) * HIST_SUB + ((value >> shift) & (HIST_SUB - 1));
}

uint64_t hist_lower(unsigned index);

/* Power-of-two octave of a value: 0 for 0, n for 2^(n-1) ... 2^n - 1. */
static inline unsigned hist_octave(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}

enum { HIST_OCTAVES = 65 };

/* Samples by octave: out has HIST_OCTAVES places and is added to. */
void hist_octaves(const struct hist *h, uint64_t *out);

/* Count a sample in a bucket that has had none, perhaps. 0 or -ENOMEM. */
int hist_count_new(struct hist *h, unsigned index);

/*
 * 0 or -ENOMEM, and then nothing has changed. Here, as it is called for every operation;
 * i is hist_index() of the value, which often goes to several histograms.
 */
static inline int hist_put(struct hist *h, unsigned i, uint64_t value)
{
	if (__builtin_expect(i - h->first < h->len, 1))
		h->count[i - h->first]++;
	else if (hist_count_new(h, i) < 0)
		return -12; /* ENOMEM */
	if (!h->n++)
		h->min = h->max = value;
	h->min = value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
	h->sum += value;
	return 0;
}

static inline int hist_add(struct hist *h, uint64_t value)
{
	return hist_put(h, hist_index(value), value);
}

#endif
