/*
 * layers.c - which layers have sums of their own
 */
#include "iops/layer.h"
#include "iops/layer_block.h"
#include "iops/op.h"

#include <stddef.h>

static const struct layer_sums *const sums[NLAYERS] = {
	[LAYER_BLOCK] = &layer_block_sums,
};

const struct layer_sums *layer_sums(unsigned layer)
{
	return layer < NLAYERS ? sums[layer] : NULL;
}
