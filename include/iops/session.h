/*
 * session.h - the only loop: step the source, hand operations to each sink, tick.
 */
#ifndef IOPS_SESSION_H
#define IOPS_SESSION_H

#include "iops/sink.h"

#include <stdbool.h>
#include <stdint.h>

struct source;

enum { MAX_SINKS = 8 };

struct session {
	struct source *source; /* owned */
	struct sink fan;       /* hands every operation to each of the sinks */
	struct sink *entry;    /* where the source's go; NULL: to the fan */
	struct sink *sink[MAX_SINKS];
	unsigned nsinks;
	int error;                   /* the first one of a sink */
	uint64_t epoch_ns;           /* CLOCK_MONOTONIC at the start */
	uint64_t open_ns;            /* since then: the source was open */
	uint64_t interval_ns;        /* between ticks of the sinks; 0: none */
	uint64_t duration_ns;        /* from when the source was open; 0: no limit */
	bool flushes;                /* a sink has something to flush every second */
	bool stop_on_signal;         /* SIGTERM, SIGINT and SIGHUP end it */
	void (*snapshot)(void *arg); /* on SIGUSR1 */
	void *arg;
};

/* Nanoseconds since the epoch of the session. */
uint64_t session_now(const struct session *s);

/* The sink that hands on to all of s->sink. */
struct sink *session_fan(struct session *s);

/* Catch signals and start the clock. */
void session_begin(struct session *s);

/* Until the source has no more. 0, or the first -errno of source or sinks. */
int session_run(struct session *s);

#endif
