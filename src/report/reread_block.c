/*
 * reread_block.c - the block layer of a JSON report back to sums
 */
#include "iops/layer_block.h"
#include "iops/names.h"
#include "reread_row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* As one who goes on: what was before has no part in what follows. */
static void get_depth(struct block_depth *d, const cJSON *o)
{
	const cJSON *mean = json_get(o, "mean");
	uint64_t max = json_number(o, "max"), ns = json_number(o, "time_ns");

	if (!o)
		return;
	d->max = max > d->max ? max : d->max;
	d->ns += ns;
	if (cJSON_IsNumber(mean) && isfinite(mean->valuedouble))
		d->area += mean->valuedouble * (double)ns;
}

static int get_stage(struct block_sums *to, unsigned stage, const cJSON *o)
{
	int err = 0;

	for (unsigned c = 0; c < NBLOCK_CLASSES && !err; c++) {
		const cJSON *s = json_get(o, block_class_name(c));
		to->count[stage] += json_number(s, "operations") +
				    json_number(s, "errors") + json_number(s, "again");
		err = s ? reread_series(&to->stage[stage][c], s) : 0;
	}
	return err;
}

static uint32_t node_of(struct names *names, uint32_t dev, const char *name)
{
	char path[300];
	int n = snprintf(path, sizeof(path), "%s%s", *name == '/' ? "" : "/dev/", name);
	struct file f = {
		.path = names_add(names, path, n < 300 ? n : 299),
		.type = FILE_BLOCK,
		.major = dev >> 20,
		.minor = dev & 0xfffff,
	};

	return names_add_file(names, &f);
}

static int get_device(struct block_sums *to, const cJSON *o)
{
	const char *number = cJSON_GetStringValue(json_get(o, "device"));
	const char *name = cJSON_GetStringValue(json_get(o, "name"));
	const cJSON *issued = json_get(o, "issued");
	unsigned major, minor;
	int err = 0;

	if (!number || sscanf(number, "%u:%u", &major, &minor) != 2)
		return 0;
	uint32_t dev = major << 20 | (minor & 0xfffff);
	struct block_device *d = block_device_of(to, dev);
	if (!d)
		return -ENOMEM;
	if (!d->file && name && *name)
		d->file = node_of(to->names, dev, name);
	for (unsigned c = 0; c < NBLOCK_CLASSES && !err; c++) {
		const cJSON *s = json_get(o, block_class_name(c));
		err = s ? reread_series(&d->completed[c], s) : 0;
	}
	for (unsigned i = 0; i < NSEEKS && !err; i++)
		err = reread_hist(&d->seek[i].distance,
			json_get(json_get(o, "seek_sectors"), block_seek_name(i)));
	get_depth(&d->depth, json_get(o, "queue_depth"));
	d->issued |= issued != NULL;
	d->consecutive += json_number(issued, "consecutive");
	d->elsewhere += json_number(issued, "elsewhere");
	return err;
}

int reread_block(struct block_sums *to, const cJSON *layer)
{
	const cJSON *one;
	int err = 0;

	to->events += json_number(layer, "events");
	to->count[STAGE_SPLIT] += json_number(layer, "split");
	to->count[STAGE_REMAPPED] += json_number(layer, "remapped");
	for (unsigned i = STAGE_PLUGGED; i < NSTAGES; i++)
		to->count[i] += json_number(layer, block_stage_name(i));
	for (unsigned i = 0; i < SHOWN_STAGES && !err; i++)
		err = get_stage(to, i, json_get(layer, block_stage_name(i)));
	for (unsigned i = 0; i < NSPANS && !err; i++)
		err = reread_hist(&to->span[i],
			json_get(json_get(layer, "latency_ns"), block_span_name(i)));
	cJSON_ArrayForEach (one, json_get(json_get(layer, "by"), "device"))
		if (!err)
			err = get_device(to, one);
	get_depth(&to->depth, json_get(layer, "queue_depth"));
	return err;
}
