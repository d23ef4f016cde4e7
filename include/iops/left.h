/*
 * left.h - what a traced program leaves behind in the page cache.
 */
#ifndef IOPS_LEFT_H
#define IOPS_LEFT_H

#include <stdint.h>

struct sink;
struct stats;

/*
 * Of each file that pages were dirtied of, an operation that says how much of that waits
 * to be written by now: cache:left, see op.h. 0 or -errno of the sink.
 */
int left_put(const struct stats *stats, struct sink *to, uint64_t now_ns);

#endif
