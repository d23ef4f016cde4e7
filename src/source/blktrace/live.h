/*
 * live.h - what the live source is made of.
 */
#ifndef IOPS_BLKTRACE_LIVE_H
#define IOPS_BLKTRACE_LIVE_H

#include "capture.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "order.h"
#include "track.h"
#include "whose.h"

struct input;

/* Records of one CPU of one device. */
struct stream {
	struct input *in;
	uint8_t *rest; /* the begin of a record whose end was not read yet */
	size_t nrest;
};

struct live {
	struct source base; /* first */
	struct sink sink;   /* of the tracker: then by process, to the session's */
	struct sink *to;
	struct launch *launch;
	struct names *names;
	const struct trace_options *trace; /* filters; NULL: none */
	struct capture *capture;
	unsigned ncaptures, ncpus;
	struct stream *stream; /* by device, then by CPU; also the feeds of order */
	struct order order;
	struct track track;
	struct whose whose;
	uint8_t *buf;
	uint64_t epoch_ns, looked_ns;
	uint64_t lost, told; /* events that found no room, and of which it is known */
	bool stopped, ended;
	char title[80];
};

/* The devices: those asked for or all. 0, or -errno, said why; live_devices_close(). */
int live_devices_open(struct live *l, const struct source_args *args);
void live_devices_close(struct live *l);

/* They are as before; nothing more can be read. */
void live_devices_free(struct live *l);

/* Whether all CPUs can be read on. 0, or -errno, said why. */
int live_check(struct live *l);

/* All that there is now, to the feeds. 0 or -errno. */
int live_read(struct live *l);

/* Each operation goes on if it is wanted, and with the process that the thread is of. */
int live_put(struct sink *sink, const struct op *op);

#endif
