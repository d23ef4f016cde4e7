/*
 * layers.c - which layers have sums of their own
 */
#include "iops/layer.h"
#include "iops/layer_block.h"
#include "iops/layer_cache.h"
#include "iops/layer_net.h"
#include "iops/op.h"

#include <stddef.h>

static const struct layer_sums *const sums[NLAYERS] = {
	[LAYER_BLOCK] = &layer_block_sums,
	[LAYER_CACHE] = &layer_cache_sums,
	[LAYER_FAULT] = &layer_fault_sums,
	[LAYER_NET] = &layer_net_sums,
};

const struct layer_sums *layer_sums(unsigned layer)
{
	return layer < NLAYERS ? sums[layer] : NULL;
}
