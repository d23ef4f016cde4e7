/*
 * moment.h - whether the time of a record can be right, by those of its neighbours.
 */
#ifndef IOPS_BLKTRACE_MOMENT_H
#define IOPS_BLKTRACE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MOMENT_BEHIND = 64,
	MOMENT_NEAR = 1000000000, /* ns; what is not further ahead needs no judge */
};

/* Times of a row of records: of the one before ours, if any, and of n behind it. */
struct moment_row {
	bool any;
	uint64_t before;
	unsigned n;
	uint64_t behind[MOMENT_BEHIND];
};

struct moment {
	uint64_t time;              /* of ours */
	bool sorted;                /* times of the stream only grow */
	struct moment_row all, own; /* of the stream; of the same CPU in it */
};

enum moment_is { MOMENT_RIGHT, MOMENT_WRONG, MOMENT_BACK /* the clock is another one */ };

static inline bool moment_near(uint64_t a, uint64_t b)
{
	return a > b ? a - b <= MOMENT_NEAR : b - a <= MOMENT_NEAR;
}

enum moment_is moment_judge(const struct moment *m);

#endif
