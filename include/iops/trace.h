/*
 * trace.h - what iops trace is told: which layers, of whom, and where rows go.
 */
#ifndef IOPS_TRACE_H
#define IOPS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Besides the bits of enum op_layer: io_uring, whose requests are of the main layer. */
#define TRACE_URING (1u << 31)

enum { TRACE_LIST = 64 };

/* What the kernel side keeps back before it costs anything. */
struct trace_filter {
	char comm[16]; /* what the name of a command begins with; "": any */
	bool by_uid, by_device;
	uint32_t uid, major, minor;
	uint64_t cgroup; /* id of a cgroup(7) directory; 0: any */
	uint64_t min_bytes, min_ns;
	const char *under; /* a directory; NULL: anywhere */
};

/* Whether anything is kept back. */
static inline bool trace_filters(const struct trace_filter *f)
{
	return *f->comm || f->by_uid || f->by_device || f->cgroup || f->min_bytes ||
	       f->min_ns || f->under;
}

struct trace_options {
	uint32_t layers; /* bits of enum op_layer and TRACE_URING; 0: the usual ones */
	pid_t pid[TRACE_LIST];
	unsigned npids;
	struct trace_filter filter;
	dev_t device[TRACE_LIST]; /* asked for; the last one is in filter too */
	unsigned ndevices;
	uint64_t buffer_bytes; /* of the ring; 0: the usual size */
	const char *dir;       /* a folder of streams; NULL: none */
	unsigned snapshots;    /* bits of enum snapshot_what */
	const char *root[TRACE_LIST];
	unsigned nroots;
	bool anonymous, plain, aggregate;
	const char *key_file;
	uint64_t rotate_bytes, rotate_ns;
};

/* An option of the verb, by its id in the table of options. 0 or -EINVAL, said why. */
int opts_trace_set(struct trace_options *t, int id, const char *arg);

#endif
