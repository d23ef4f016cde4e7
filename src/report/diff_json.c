/*
 * diff_json.c - schema iops.diff/1
 */
#include "diff.h"
#include "iops/text.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint64_t (*get)(const struct series *s);
} counters[] = {
	{ "operations", diff_operations },
	{ "errors", diff_errors },
	{ "bytes", diff_bytes },
	{ "requested_bytes", diff_requested },
	{ "time_ns", diff_time },
};

static const double quantiles[] = { 0.5, 0.9, 0.99 };
static const char *const quantile_name[] = { "p50", "p90", "p99" };

static void put_pair(
	FILE *out, const char *comma, const char *name, uint64_t a, uint64_t b)
{
	fprintf(out,
		"%s\"%s\": {\"a\": %" PRIu64 ", \"b\": %" PRIu64
		", \"change\": %s%" PRIu64 "}",
		comma, name, a, b, a > b ? "-" : "", a > b ? a - b : b - a);
}

/* Where only one of them is known there is no change to tell. */
static void put_quantiles(
	FILE *out, const char *name, const struct hist *a, const struct hist *b)
{
	if (!a->n || !b->n)
		return;
	fprintf(out, ", \"%s\": {", name);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		put_pair(out, i ? ", " : "", quantile_name[i],
			hist_quantile(a, quantiles[i]), hist_quantile(b, quantiles[i]));
	fputs("}", out);
}

static bool is_empty(const struct series *s)
{
	return !s->operations && !s->errors && !s->again && !s->interrupted;
}

static void put_series(FILE *out, const struct series *a, const struct series *b)
{
	fputs("{", out);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		put_pair(out, i ? ", " : "", counters[i].name, counters[i].get(a),
			counters[i].get(b));
	put_quantiles(out, "size_bytes", &a->size, &b->size);
	put_quantiles(out, "latency_ns", &a->latency, &b->latency);
	fputs("}", out);
}

static void put_sides(FILE *out, const struct change *c, bool always)
{
	static const unsigned order[] = { CLASS_READ, CLASS_WRITE, NCLASS, CLASS_SYNC,
		CLASS_META, CLASS_PEEK };
	const char *comma = "";

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct series *a = side_series(&c->side[0], order[i]),
				    *b = side_series(&c->side[1], order[i]);
		if (i > 2 && is_empty(a) && is_empty(b) && (!always || i > 4))
			continue;
		fprintf(out, "%s\"%s\": ", comma,
			order[i] == NCLASS ? "all" : op_class_name(order[i]));
		put_series(out, a, b);
		comma = ", ";
	}
}

static int put_rows(FILE *out, const struct diff_in *in, enum dim dim, const char *key)
{
	struct changes list;
	int err = changes_new(&list, in, dim);

	if (err < 0)
		return err;
	fprintf(out, "\n  \"%s\": [", dim_name(dim));
	for (size_t i = 0; i < list.n; i++) {
		const char *name = list.change[i].name;
		fprintf(out, "%s\n   {\"%s\": ", i ? "," : "", key);
		text_put_json(out, name);
		if (!text_is_utf8(name)) {
			char *b = text_base64(name);
			fprintf(out, ", \"%s_base64\": \"%s\"", key, b ? b : "");
			free(b);
		}
		fprintf(out, ", \"changed\": %s, ",
			change_any(&list.change[i]) ? "true" : "false");
		put_sides(out, &list.change[i], false);
		fputs("}", out);
	}
	fputs(" ]", out);
	changes_free(&list);
	return 0;
}

static void put_run(
	FILE *out, const char *key, const char *file, const struct report_in *in)
{
	cJSON *o = json_run(in->run);
	char *text;

	fprintf(out, ",\n \"%s\": ", key);
	json_fast_path(o, in);
	json_uint(o, "lost", stats_totals(in->stats)->lost);
	cJSON_AddBoolToObject(o, "complete", in->run->complete);
	json_text(o, "file", file);
	text = cJSON_PrintUnformatted(o);
	fputs(text ? text : "null", out);
	cJSON_free(text);
	cJSON_Delete(o);
}

int diff_json(FILE *out, const struct diff_in *in)
{
	struct change total;
	int err = change_total(&total, in);

	if (err < 0)
		return err;
	fprintf(out, "{\"schema\": \"iops.diff/1\", \"iops_version\": \"%s\"", VERSION);
	put_run(out, "a", in->name[0], in->a);
	put_run(out, "b", in->name[1], in->b);
	put_pair(out, ",\n ", "elapsed_ns", in->a->run->elapsed_ns,
		in->b->run->elapsed_ns);
	fputs(",\n \"total\": {", out);
	put_sides(out, &total, true);
	fputs("},\n \"by\": {", out);
	change_total_fini(&total);
	err = put_rows(out, in, DIM_FILE, "path");
	fputs(",", out);
	if (!err)
		err = put_rows(out, in, DIM_CALL, "call");
	fputs(" } }\n", out);
	return err ? err : ferror(out) ? -EIO : 0;
}
