/*
 * layer.h - what a layer below the calls adds up to, where that is more than the sums
 * that all layers have.
 */
#ifndef IOPS_LAYER_H
#define IOPS_LAYER_H

#include <stdio.h>

struct names;
struct op;
struct report_in;
struct stats;

/* How operations of a layer are summed up. */
struct layer_sums {
	void *(*open)(struct names *names); /* NULL: no memory */
	/* 0 or -errno; 1: the operation counts in what all layers have, too. */
	int (*put)(void *sums, const struct op *op);
	void (*close)(void *sums);
};

/* How the sums are shown. */
struct layer_report {
	/* Members of the layer's JSON object, with commas between. 0 or -errno. */
	int (*json)(FILE *out, const void *sums, const struct report_in *in);

	/* Lines below the table, or a table of its own. */
	void (*table)(FILE *out, const void *sums, const struct report_in *in);
};

/* Of a layer (enum op_layer); NULL where it has only what all have. */
const struct layer_sums *layer_sums(unsigned layer);
const struct layer_report *layer_report(unsigned layer);

/* The sums of a layer, or NULL if nothing was seen of it. */
const void *stats_layer_sums(const struct stats *s, unsigned layer);

#endif
