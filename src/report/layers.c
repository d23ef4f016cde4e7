/*
 * layers.c - how the sums of each layer are shown
 */
#include "iops/layer.h"
#include "layers.h"
#include "iops/op.h"

#include <stddef.h>

static const struct layer_report *const reports[NLAYERS] = {
	[LAYER_BLOCK] = &layer_block_report,
	[LAYER_CACHE] = &layer_cache_report,
	[LAYER_FAULT] = &layer_fault_report,
	[LAYER_NET] = &layer_net_report,
};

const struct layer_report *layer_report(unsigned layer)
{
	return layer < NLAYERS ? reports[layer] : NULL;
}
