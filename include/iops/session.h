/*
 * session.h - the only loop: step the source, hand operations to each sink, tick.
 */
#ifndef IOPS_SESSION_H
#define IOPS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct sink;
struct source;

enum { MAX_SINKS = 8 };

struct session {
	struct source *source; /* owned */
	struct sink *sink[MAX_SINKS];
	unsigned nsinks;
	uint64_t epoch_ns;           /* CLOCK_MONOTONIC at the start */
	uint64_t interval_ns;        /* between ticks of the sinks; 0: none */
	uint64_t duration_ns;        /* 0: no limit */
	bool stop_on_signal;         /* SIGTERM, SIGINT and SIGHUP end it */
	void (*snapshot)(void *arg); /* on SIGUSR1 */
	void *arg;
};

/* Nanoseconds since the epoch of the session. */
uint64_t session_now(const struct session *s);

/* Catch signals and start the clock. */
void session_begin(struct session *s);

/* Until the source has no more. 0, or the first -errno of source or sinks. */
int session_run(struct session *s);

#endif
