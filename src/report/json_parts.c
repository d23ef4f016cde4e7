/*
 * json_parts.c - what JSON reports are made of: numbers, texts, sums, breakdowns
 */
#include "json.h"
#include "iops/report.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* cJSON holds numbers as doubles: integers beyond 2^53 would not be exact. */
void json_int(cJSON *o, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	cJSON_AddRawToObject(o, key, text);
}

void json_uint(cJSON *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cJSON_AddRawToObject(o, key, text);
}

/* Text that is no UTF-8 gets U+FFFD for each bad byte, and KEY_base64 with the truth. */
void json_text(cJSON *o, const char *key, const char *s)
{
	char *clean = text_clean(s), *b;
	char other[40];

	if (clean)
		cJSON_AddStringToObject(o, key, clean);
	free(clean);
	if (text_is_utf8(s))
		return;
	b = text_base64(s);
	snprintf(other, sizeof(other), "%s_base64", key);
	cJSON_AddStringToObject(o, other, b ? b : "");
	free(b);
}

static void add_value(cJSON *o, const char *key, const struct value *v)
{
	switch (v->type) {
	case VALUE_NONE:
		cJSON_AddNullToObject(o, key);
		break;
	case VALUE_STR:
		json_text(o, key, v->str);
		break;
	case VALUE_RATE:
	case VALUE_BYTE_RATE:
		cJSON_AddNumberToObject(o, key, round(v->rate * 1000) / 1000);
		break;
	default:
		json_uint(o, key, v->num);
	}
}

/* The buckets that are not empty, as [lower bound, samples]: what makes reports add up.
 */
static void add_buckets(cJSON *q, const struct hist *h)
{
	size_t cap = 2 + 48 * ((size_t)h->len + h->nfew), n = 0;
	char *text = malloc(cap + 1);
	uint64_t samples;

	for (unsigned i = 0; text && hist_next(h, &i, &samples); i++)
		n += snprintf(text + n, cap + 1 - n, "%s[%" PRIu64 ",%" PRIu64 "]",
			n ? "," : "[", hist_lower(i), samples);
	if (text && n) {
		memcpy(text + n, "]", 2);
		cJSON_AddRawToObject(q, "buckets", text);
	}
	free(text);
}

static void add_hist(cJSON *o, const char *key, const struct hist *h)
{
	cJSON *q = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!q)
		return;
	json_uint(q, "count", h->n);
	json_uint(q, "sum", h->sum);
	add_buckets(q, h);
}

cJSON *json_hist(const struct hist *h)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = { { "p50", .5 }, { "p90", .9 }, { "p99", .99 },
		{ "p999", .999 } };
	cJSON *q = cJSON_CreateObject();

	json_uint(q, "count", h->n);
	if (!h->n)
		return q;
	json_uint(q, "sum", h->sum);
	json_uint(q, "min", h->min);
	json_uint(q, "mean", h->sum / h->n);
	for (int i = 0; i < 4; i++)
		json_uint(q, quantiles[i].key, hist_quantile(h, quantiles[i].q));
	json_uint(q, "max", h->max);
	add_buckets(q, h);
	return q;
}

/* S of the contract. "size_bytes.p50" goes into an object; what is unknown stays out. */
cJSON *json_series(const struct series *s, const struct run *run)
{
	cJSON *o = cJSON_CreateObject();

	for (const struct column *c = series_columns; c->name; c++) {
		struct value v = c->of_series(s, run);
		const char *dot = strchr(c->name, '.');
		char group[24];
		if (v.type == VALUE_NONE)
			continue;
		if (!dot) {
			add_value(o, c->name, &v);
			continue;
		}
		snprintf(group, sizeof(group), "%.*s", (int)(dot - c->name), c->name);
		cJSON *q = cJSON_GetObjectItemCaseSensitive(o, group);
		add_value(q ? q : cJSON_AddObjectToObject(o, group), dot + 1, &v);
	}
	add_hist(o, "size_bytes", &s->size);
	add_hist(o, "latency_ns", &s->latency);
	return o;
}

static bool used(const struct series *s)
{
	return s->operations || s->errors || s->again || s->interrupted;
}

void json_classes(cJSON *o, const struct line *l, bool always)
{
	const struct run *run = l->in->run;

	for (unsigned c = CLASS_READ; c <= CLASS_WRITE; c++)
		cJSON_AddItemToObject(
			o, op_class_name(c), json_series(line_series(l, c), run));
	cJSON_AddItemToObject(o, "all", json_series(&l->all, run));
	for (unsigned c = CLASS_SYNC; c < NCLASS; c++)
		if (used(line_series(l, c)) || (always && c != CLASS_PEEK))
			cJSON_AddItemToObject(
				o, op_class_name(c), json_series(line_series(l, c), run));
}

/* Print an element and let go of it. */
void json_put(FILE *out, cJSON *item)
{
	char *text = cJSON_PrintUnformatted(item);

	fputs(text ? text : "null", out);
	cJSON_free(text);
	cJSON_Delete(item);
}

/* A process that had no I/O is still one of the tree. */
static void put_idle(FILE *out, const struct report_in *in, size_t i, const char *comma)
{
	struct row row = { .key = { i } };
	struct line l = { .in = in, .row = &row, .dim = DIM_PROCESS };
	cJSON *o = cJSON_CreateObject();

	for (const struct column *c = row_columns; c->name; c++)
		if (c->dims >> DIM_PROCESS & 1) {
			struct value v = c->get(&l);
			if (v.type != VALUE_NONE || strcmp(c->name, "host"))
				add_value(o, c->name, &v);
		}
	json_classes(o, &l, false);
	fprintf(out, "%s\n   ", comma);
	json_put(out, o);
}

static cJSON *line_object(struct line *l)
{
	cJSON *o = cJSON_CreateObject();

	for (const struct column *c = row_columns; c->name; c++) {
		/* Access counts belong to files that were read or written. */
		bool access = c->dims == 1u << DIM_FILE && c->get(l).type == VALUE_COUNT;
		if (!(c->dims >> l->dim & 1) ||
			(access && !l->row->access && strcmp(c->name, "inode")))
			continue;
		struct value v = c->get(l);
		if (v.type != VALUE_NONE || l->dim == DIM_HOST || strcmp(c->name, "host"))
			add_value(o, c->name, &v);
	}
	json_classes(o, l, false);
	return o;
}

int json_breakdown(FILE *out, const struct report_in *in, enum dim dim)
{
	size_t nproc;
	struct lines l;
	const char *comma = "";
	bool *seen = NULL;

	stats_procs(in->stats, &nproc);
	if (dim == DIM_PROCESS && !(seen = calloc(nproc + 1, sizeof(*seen))))
		return -ENOMEM;
	if (lines_of(in, dim, 0, &l) < 0) {
		free(seen);
		return -ENOMEM;
	}
	fprintf(out, "\n  \"%s\": [", dim_name(dim));
	for (size_t i = 0; i < l.n; i++, comma = ",") {
		fprintf(out, "%s\n   ", comma);
		json_put(out, line_object(&l.line[i]));
		if (seen)
			seen[l.line[i].row->key[0]] = true;
	}
	for (size_t i = 0; seen && i < nproc; i++)
		if (!seen[i]) {
			put_idle(out, in, i, comma);
			comma = ",";
		}
	fputs(" ]", out);
	free(seen);
	lines_fini(&l);
	return 0;
}

int json_total(const struct report_in *in, struct row *row, struct line *l)
{
	int err = stats_total(in->stats, row);

	*l = (struct line){ .in = in, .row = row, .dim = NDIMS };
	if (!err && (err = row_all(row, false, &l->all)) < 0)
		row_fini(row);
	return err;
}
