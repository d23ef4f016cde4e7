/*
 * feed.h - a thread that reads, and records that it hands to the thread which writes.
 */
#ifndef IOPS_SNAPSHOT_FEED_H
#define IOPS_SNAPSHOT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct feed;

struct feed_ops {
	/* In a thread of its own: read, feed_put() what is found. 0 or -errno. */
	int (*work)(void *ctx, struct feed *f);
	/* In the thread that drains: a record, aligned to 8 bytes. 0 or -errno. */
	int (*take)(void *ctx, const void *record);
};

int feed_new(struct feed **out, const struct feed_ops *ops, void *ctx);

/* Begin to work; only where feed_busy() is false. 0 or -errno. */
int feed_start(struct feed *f);
bool feed_busy(const struct feed *f);

/* By the worker: a record of these parts; waits while too much lies undrained. */
int feed_put(struct feed *f, const struct iovec *part, int n);

/* Take records until that many ns have passed, or, if UINT64_MAX, until the work is
 * done. The first error of work and take since the last call, or 0. */
int feed_drain(struct feed *f, uint64_t budget_ns);

/* The work is to end soon, with -ECANCELED: safe in a signal handler. */
void feed_hurry(struct feed *f);
bool feed_hurried(const struct feed *f);

/* Not while it is busy. NULL is nothing. */
void feed_free(struct feed *f);

#endif
