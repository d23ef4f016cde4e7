/*
 * layer_block.c - requests to block devices, stage by stage
 */
#include "iops/layer_block.h"
#include "iops/report.h"
#include "json.h"
#include "layers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool used(const struct series *s)
{
	return s->operations || s->errors || s->again;
}

/* Whether it tells stages at all: traces of other tools have only transfers. */
static bool has_stages(const struct block_sums *s)
{
	for (unsigned i = 0; i < NSTAGES; i++)
		if (i != STAGE_COMPLETED && s->count[i])
			return true;
	return s->ndevice;
}

static double mean_depth(const struct block_depth *d)
{
	return d->ns ? round(d->area / (double)d->ns * 1000) / 1000 : 0;
}

static cJSON *depth_object(const struct block_depth *d)
{
	cJSON *q = cJSON_CreateObject();

	cJSON_AddNumberToObject(q, "mean", mean_depth(d));
	json_uint(q, "max", d->max);
	json_uint(q, "time_ns", d->ns);
	return q;
}

static void add_order(cJSON *o, const struct block_device *d)
{
	if (!d->issued)
		return;
	cJSON *q = cJSON_AddObjectToObject(o, "issued");
	json_uint(q, "consecutive", d->consecutive);
	json_uint(q, "elsewhere", d->elsewhere);
}

static void add_seeks(cJSON *o, const struct block_device *d)
{
	if (!d->seek[SEEK_QUEUED].distance.n && !d->seek[SEEK_ISSUED].distance.n)
		return;
	cJSON *q = cJSON_AddObjectToObject(o, "seek_sectors");
	for (unsigned i = 0; i < NSEEKS; i++)
		cJSON_AddItemToObject(
			q, block_seek_name(i), json_hist(&d->seek[i].distance));
}

/* The node of a device as it is called below /dev. */
static const char *device_name(const struct block_sums *s, const struct block_device *d)
{
	const char *path = names_get(s->names, names_file(s->names, d->file)->path);

	return strncmp(path, "/dev/", 5) ? path : path + 5;
}

static void device_text(char out[32], uint32_t dev)
{
	snprintf(out, 32, "%u:%u", dev >> 20, dev & 0xfffff);
}

static cJSON *device_object(
	const struct block_sums *s, const struct block_device *d, const struct run *run)
{
	cJSON *o = cJSON_CreateObject();
	char text[32];

	device_text(text, d->dev);
	cJSON_AddStringToObject(o, "device", text);
	if (d->file)
		json_text(o, "name", device_name(s, d));
	for (unsigned c = 0; c < NBLOCK_CLASSES; c++)
		if (c <= BLOCK_CLASS_WRITE || used(&d->completed[c]))
			cJSON_AddItemToObject(o, block_class_name(c),
				json_series(&d->completed[c], run));
	if (d->depth.max)
		cJSON_AddItemToObject(o, "queue_depth", depth_object(&d->depth));
	add_order(o, d);
	add_seeks(o, d);
	return o;
}

static void put_stage(FILE *out, const struct block_sums *s, unsigned stage,
	const struct line *all, const struct run *run)
{
	cJSON *o = cJSON_CreateObject();

	for (unsigned c = 0; c < NBLOCK_CLASSES; c++)
		cJSON_AddItemToObject(
			o, block_class_name(c), json_series(&s->stage[stage][c], run));
	if (stage == STAGE_COMPLETED)
		cJSON_AddItemToObject(o, "all", json_series(&all->all, run));
	fprintf(out, ",\n   \"%s\": ", block_stage_name(stage));
	json_put(out, o);
}

static void put_latencies(FILE *out, const struct block_sums *s)
{
	cJSON *o = cJSON_CreateObject();

	for (unsigned i = 0; i < NSPANS; i++)
		cJSON_AddItemToObject(o, block_span_name(i), json_hist(&s->span[i]));
	fputs(",\n   \"latency_ns\": ", out);
	json_put(out, o);
}

/* Events without data, where there were any. */
static void put_rest(FILE *out, const struct block_sums *s)
{
	for (unsigned i = STAGE_PLUGGED; i < NSTAGES; i++)
		if (s->count[i])
			fprintf(out, ",\n   \"%s\": %llu", block_stage_name(i),
				(unsigned long long)s->count[i]);
}

static int put_by(
	FILE *out, const struct block_sums *s, const struct report_in *in, bool devices)
{
	static const enum dim dims[] = { DIM_FILE, DIM_PROCESS, DIM_CALL, DIM_GROUP };
	const char *comma = "";
	int err = 0;

	fputs(",\n   \"by\": {", out);
	if (devices) {
		fputs("\n  \"device\": [", out);
		for (size_t i = 0; i < s->ndevice; i++, comma = ",") {
			fprintf(out, "%s\n   ", comma);
			json_put(out, device_object(s, &s->device[i], in->run));
		}
		fputs(" ],", out);
	}
	bool groups = stats_dims(in->stats) >> DIM_GROUP & 1;
	for (unsigned i = 0; i < (groups ? 4 : 3) && !err; i++) {
		fputs(i ? "," : "", out);
		err = json_breakdown(out, in, dims[i]);
	}
	fputs(" }", out);
	return err;
}

static int json(FILE *out, const void *sums, const struct report_in *main)
{
	const struct block_sums *s = sums;
	struct report_in in = *main;
	bool stages = has_stages(s);
	struct stats *none = NULL;
	struct row row = { 0 };
	struct line all = { 0 };

	in.stats = stats_layer(main->stats, LAYER_BLOCK);
	if (!in.stats && !(in.stats = none = stats_new(s->names, 0)))
		return -ENOMEM;
	int err = json_total(&in, &row, &all);
	if (!err) {
		fprintf(out, "\n   \"events\": %llu", (unsigned long long)s->events);
		for (unsigned i = 0; i < SHOWN_STAGES; i++)
			if (stages || i == STAGE_COMPLETED)
				put_stage(out, s, i, &all, in.run);
		if (stages) {
			fprintf(out, ",\n   \"split\": %llu,\n   \"remapped\": %llu",
				(unsigned long long)s->count[STAGE_SPLIT],
				(unsigned long long)s->count[STAGE_REMAPPED]);
			put_rest(out, s);
			put_latencies(out, s);
		}
		if (s->depth.max) {
			fputs(",\n   \"queue_depth\": ", out);
			json_put(out, depth_object(&s->depth));
		}
		err = put_by(out, s, &in, stages);
		series_fini(&all.all);
		row_fini(&row);
	}
	stats_free(none);
	return err;
}

/* The rest is the table for people: columns of a fixed width, 80 in all. */

static void head(FILE *out, const struct view *v, const char *line)
{
	fprintf(out, "%s%s%s\n", v->colour ? "\033[1m" : "", line,
		v->colour ? "\033[0m" : "");
}

static void cells(FILE *out, const struct series *r, const struct series *w, enum units u)
{
	char n[2][UNITS_LEN], b[2][UNITS_LEN];

	fprintf(out, " %11s %10s %11s %10s", units_count(n[0], r->operations, u),
		units_bytes(b[0], r->bytes, u), units_count(n[1], w->operations, u),
		units_bytes(b[1], w->bytes, u));
}

static void stage_lines(FILE *out, const struct block_sums *s, enum units u)
{
	for (unsigned i = 0; i < SHOWN_STAGES; i++) {
		const struct series *of = s->stage[i];
		char n[3][UNITS_LEN];
		uint64_t errors = 0;
		bool any = false;
		for (unsigned c = 0; c < NBLOCK_CLASSES; c++) {
			any |= used(&of[c]);
			errors += of[c].errors;
		}
		if (!any && i != STAGE_COMPLETED)
			continue;
		fprintf(out, "%-10s", block_stage_name(i));
		cells(out, &of[BLOCK_CLASS_READ], &of[BLOCK_CLASS_WRITE], u);
		fprintf(out, " %7s %6s %6s\n",
			units_count(n[0], of[BLOCK_CLASS_FLUSH].operations, u),
			units_count(n[1],
				of[BLOCK_CLASS_DISCARD].operations +
					of[BLOCK_CLASS_PASSTHROUGH].operations,
				u),
			units_count(n[2], errors, u));
	}
}

static void span_lines(FILE *out, const struct block_sums *s, const struct view *v)
{
	static const char *const words[NSPANS] = {
		[SPAN_Q2Q] = "queued to queued",
		[SPAN_Q2G] = "queued to request",
		[SPAN_G2I] = "request to inserted",
		[SPAN_Q2M] = "queued to merged",
		[SPAN_I2D] = "inserted to issued",
		[SPAN_D2C] = "issued to completed",
		[SPAN_Q2C] = "queued to completed",
	};
	char t[5][UNITS_LEN];
	bool any = false;

	for (unsigned i = 0; i < NSPANS; i++) {
		const struct hist *h = &s->span[i];
		if (!h->n)
			continue;
		if (!any)
			head(out, v,
				"\nlatency                          count      mean      "
				" p50       p99       max");
		any = true;
		fprintf(out, "%-4s%-23s %10s %9s %9s %9s %9s\n", block_span_name(i),
			words[i], units_count(t[0], h->n, v->units),
			units_ns(t[1], h->sum / h->n, v->units),
			units_ns(t[2], hist_quantile(h, .5), v->units),
			units_ns(t[3], hist_quantile(h, .99), v->units),
			units_ns(t[4], h->max, v->units));
	}
}

static void device_lines(FILE *out, const struct block_sums *s, const struct view *v)
{
	if (s->ndevice)
		head(out, v,
			"\ndevice           reads      bytes      writes      bytes  "
			"depth   max  in row");
	for (size_t i = 0; i < s->ndevice; i++) {
		const struct block_device *d = &s->device[i];
		const struct block_depth *q = &d->depth;
		char text[32], name[64], share[16] = "-";
		uint64_t moves = d->consecutive + d->elsewhere;
		device_text(text, d->dev);
		if (moves)
			snprintf(share, sizeof(share), "%llu %%",
				(unsigned long long)(100 * d->consecutive / moves));
		fprintf(out, "%-10s",
			units_elide(name, sizeof(name),
				d->file ? device_name(s, d) : text, 10, v->text));
		cells(out, &d->completed[BLOCK_CLASS_READ],
			&d->completed[BLOCK_CLASS_WRITE], v->units);
		fprintf(out, " %6.1f %5llu %7s\n", mean_depth(q),
			(unsigned long long)q->max, share);
	}
}

static void table(FILE *out, const void *sums, const struct report_in *in)
{
	const struct block_sums *s = sums;

	head(out, in->view,
		"\nblock layer      reads      bytes      writes      bytes flushes  "
		"other errors");
	stage_lines(out, s, in->view->units);
	span_lines(out, s, in->view);
	device_lines(out, s, in->view);
}

const struct layer_report layer_block_report = { json, table };
