/*
 * numbers.h - the numbers that each CPU gives its events: which of them are missing.
 *
 * Both numbers and times of one CPU only grow, so a record that is behind in both was
 * moved within the stream; one that is behind in its number alone begins another trace,
 * or its number is damaged.
 */
#ifndef IOPS_BLKTRACE_NUMBERS_H
#define IOPS_BLKTRACE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct gap {
	uint32_t from, to; /* both are missing, and all between */
};

/* All zero: none was seen. */
struct numbers {
	uint32_t low, high; /* of those that were seen; 0: none */
	uint32_t was;  /* the highest before another trace began; 0: there was none */
	uint64_t time; /* of the highest one */
	uint64_t missing;
	struct gap *gap; /* from low to high */
	unsigned n, cap;
	uint64_t forgotten; /* missing ones that no gap holds any more */
};

/* 0 or -ENOMEM. */
int numbers_take(struct numbers *n, uint32_t number, uint64_t time);
void numbers_fini(struct numbers *n);

/* Take it if it is the one that is due; if not, nothing is done. Whether it was. */
static inline bool numbers_next(struct numbers *n, uint32_t number, uint64_t time)
{
	if (!number) /* it has none: nothing is known */
		return true;
	if (number != n->high + 1 || !n->high || time < n->time || n->was)
		return false;
	n->high = number;
	n->time = time;
	return true;
}

#endif
