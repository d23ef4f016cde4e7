/*
 * export.h - the operations themselves, in the forms of other tools. Each is a sink.
 */
#ifndef IOPS_EXPORT_H
#define IOPS_EXPORT_H

#include <stdint.h>

struct names;
struct run;
struct sink;

enum export_weight { WEIGHT_BYTES, WEIGHT_OPERATIONS, WEIGHT_TIME };

struct export_args {
	struct names *names;    /* borrowed, like all of this */
	const struct run *runs; /* what OP_RUN numbers; the first until it says so */
	unsigned nruns;
	uint64_t started_ns; /* real time of start_ns 0, ns since 1970; 0: unknown */
	const char *output;  /* NULL and "-": standard output, where the exporter can */
	enum export_weight weight;
};

struct exporter {
	const char *name, *help;
	/* The sink writes late errors at close(). 0, or -errno, said why. */
	int (*open)(struct sink **out, const struct export_args *args);
	/* What it makes, if that has to have a name; NULL: it can be a stream. */
	const char *makes;
};

/* Ends with NULL. */
extern const struct exporter *const exporters[];

#endif
