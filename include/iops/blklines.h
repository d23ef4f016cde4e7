/*
 * blklines.h - iops report --format blkparse.
 */
#ifndef IOPS_BLKLINES_H
#define IOPS_BLKLINES_H

struct options;

/* The events of the block traces that the options name, as lines. The exit status. */
int blklines(const struct options *o);

#endif
