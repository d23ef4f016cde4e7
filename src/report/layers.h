/*
 * layers.h - the reports of the layers that have their own
 */
#ifndef IOPS_REPORT_LAYERS_H
#define IOPS_REPORT_LAYERS_H

#include "iops/layer.h"

extern const struct layer_report layer_block_report, layer_cache_report,
	layer_fault_report, layer_net_report;

#endif
