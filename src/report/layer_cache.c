/*
 * layer_cache.c - the page cache and page faults, by file and process
 */
#include "iops/layer_cache.h"
#include "iops/report.h"
#include "json.h"
#include "layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One of the two layers: what its counts are called. */
struct kind {
	unsigned counts;
	const char *(*name)(unsigned count);
	bool ratio;
};

static const struct kind cache = { NCACHE_COUNTS, cache_count_name, true };
static const struct kind fault = { NFAULT_COUNTS, fault_count_name, false };

static uint64_t weight(const struct pages_row *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < PAGES_COUNTS; i++)
		sum += r->n[i];
	return sum;
}

static int by_weight(const void *a, const void *b)
{
	uint64_t x = weight(a), y = weight(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Largest first, a copy; NULL if there are none, or no memory. */
static struct pages_row *sorted(const struct pages_table *t)
{
	struct pages_row *r = t->n ? malloc(t->n * sizeof(*r)) : NULL;

	if (r) {
		memcpy(r, t->row, t->n * sizeof(*r));
		qsort(r, t->n, sizeof(*r), by_weight);
	}
	return r;
}

static void add_counts(cJSON *o, const struct kind *k, const uint64_t n[])
{
	for (unsigned i = 0; i < k->counts; i++)
		json_uint(o, k->name(i), n[i]);
	if (k->ratio && n[CACHE_HITS] + n[CACHE_MISSES])
		cJSON_AddNumberToObject(o, "hit_ratio",
			(double)n[CACHE_HITS] /
				(double)(n[CACHE_HITS] + n[CACHE_MISSES]));
}

static void add_file(cJSON *o, const struct pages_sums *s, uint32_t id)
{
	const struct file *f = names_file(s->names, id);
	char device[32];

	json_text(o, "path", names_get(s->names, f->path));
	if (!f->inode)
		return;
	snprintf(device, sizeof(device), "%u:%u", f->major, f->minor);
	cJSON_AddStringToObject(o, "device", device);
	json_uint(o, "inode", f->inode);
}

static int put_rows(
	FILE *out, const struct pages_sums *s, const struct kind *k, bool files)
{
	const struct pages_table *t = files ? &s->file : &s->process;
	struct pages_row *r = sorted(t);

	if (!r && t->n)
		return -ENOMEM;
	fprintf(out, "\n  \"%s\": [", files ? "file" : "process");
	for (size_t i = 0; i < t->n; i++) {
		cJSON *o = cJSON_CreateObject();
		if (files) {
			add_file(o, s, r[i].key);
		} else {
			json_uint(o, "pid", r[i].key);
			json_text(o, "command", names_get(s->names, r[i].comm));
		}
		add_counts(o, k, r[i].n);
		fputs(i ? ",\n   " : "\n   ", out);
		json_put(out, o);
	}
	fputs(" ]", out);
	free(r);
	return 0;
}

/* The members of an object, which is let go of, without its braces. */
static void put_members(FILE *out, cJSON *o)
{
	char *text = cJSON_PrintUnformatted(o);

	if (text)
		fprintf(out, "\n   %.*s", (int)strlen(text) - 2, text + 1);
	cJSON_free(text);
	cJSON_Delete(o);
}

static int put_by(FILE *out, const struct pages_sums *s, const struct kind *k)
{
	fputs(",\n   \"by\": {", out);
	int err = put_rows(out, s, k, true);
	fputs(",", out);
	if (!err)
		err = put_rows(out, s, k, false);
	fputs(" }", out);
	return err;
}

static cJSON *totals(const struct pages_sums *s, const struct kind *k)
{
	cJSON *o = cJSON_CreateObject(), *bytes;

	add_counts(o, k, s->n);
	bytes = cJSON_AddObjectToObject(o, "bytes");
	for (unsigned i = 0; i < k->counts; i++)
		json_uint(bytes, k->name(i), s->bytes[i]);
	return o;
}

static int cache_json(FILE *out, const void *sums, const struct report_in *in)
{
	const struct pages_sums *s = sums;
	cJSON *o = totals(s, &cache);

	(void)in;
	cJSON_AddItemToObject(o, "writeback_ns", json_hist(&s->time[0]));
	put_members(out, o);
	return put_by(out, s, &cache);
}

static int fault_json(FILE *out, const void *sums, const struct report_in *in)
{
	const struct pages_sums *s = sums;
	cJSON *o = totals(s, &fault);

	(void)in;
	cJSON_AddItemToObject(o, "minor_ns", json_hist(&s->time[0]));
	cJSON_AddItemToObject(o, "major_ns", json_hist(&s->time[1]));
	put_members(out, o);
	return put_by(out, s, &fault);
}

/* The rest is the table for people: columns of a fixed width, but for the name. */

static const unsigned cache_columns[] = { CACHE_HITS, CACHE_MISSES, CACHE_READAHEAD,
	CACHE_DIRTIED, CACHE_WRITTEN, CACHE_EVICTED };
static const unsigned fault_columns[] = { FAULTS_MAJOR, FAULTS_MINOR, FAULTS_READ,
	FAULTS_WRITE };

struct sheet {
	FILE *out;
	const struct pages_sums *s;
	const struct view *v;
	const struct kind *k;
	const unsigned *column;
	unsigned ncolumns;
	size_t name; /* width */
};

static void ratio(char out[16], const uint64_t n[])
{
	uint64_t all = n[CACHE_HITS] + n[CACHE_MISSES];

	strcpy(out, "-");
	if (all)
		snprintf(out, 16, "%.1f %%", 100 * (double)n[CACHE_HITS] / (double)all);
}

static void line(const struct sheet *t, const char *name, const uint64_t n[])
{
	char shown[600], text[UNITS_LEN], share[16];

	units_elide(shown, sizeof(shown), name, t->name, t->v->text);
	fprintf(t->out, "%s%*s", shown,
		(int)(t->name > units_width(shown) ? t->name - units_width(shown) : 0),
		"");
	for (unsigned i = 0; i < t->ncolumns; i++) {
		fprintf(t->out, " %9s", units_count(text, n[t->column[i]], t->v->units));
		if (t->k->ratio && t->column[i] == CACHE_MISSES) {
			ratio(share, n);
			fprintf(t->out, " %7s", share);
		}
	}
	fputc('\n', t->out);
}

static void head(const struct sheet *t, const char *title)
{
	const struct view *v = t->v;

	fprintf(t->out, "\n%s%-*s", v->colour ? "\033[1m" : "", (int)t->name, title);
	for (unsigned i = 0; i < t->ncolumns; i++) {
		fprintf(t->out, " %9s", t->k->name(t->column[i]));
		if (t->k->ratio && t->column[i] == CACHE_MISSES)
			fprintf(t->out, " %7s", "ratio");
	}
	fprintf(t->out, "%s\n", v->colour ? "\033[0m" : "");
}

static void files(const struct sheet *t)
{
	struct pages_row *r = sorted(&t->s->file);
	size_t n = r ? t->s->file.n : 0,
	       shown = t->v->top && t->v->top < n ? t->v->top : n;

	for (size_t i = 0; i < shown; i++) {
		const struct file *f = names_file(t->s->names, r[i].key);
		const char *path = names_get(t->s->names, f->path);
		char number[48];
		snprintf(number, sizeof(number), "(inode %llu)",
			(unsigned long long)f->inode);
		line(t, *path ? path : number, r[i].n);
	}
	if (shown < n)
		fprintf(t->out, "... and %zu more; --top 0 shows all\n", n - shown);
	free(r);
}

static void sheet(struct sheet *t, const char *title)
{
	size_t rest = t->ncolumns * 10 + (t->k->ratio ? 8 : 0), width = t->v->width;

	t->name = !width ? 60 : width > rest + 12 ? width - rest : 12;
	if (t->name > 60)
		t->name = 60;
	head(t, title);
	line(t, "all files", t->s->n);
	if (t->s->file.n > 1)
		files(t);
}

static void cache_table(FILE *out, const void *sums, const struct report_in *in)
{
	struct sheet t = { out, sums, in->view, &cache, cache_columns,
		sizeof(cache_columns) / sizeof(*cache_columns), 0 };
	const struct pages_sums *s = sums;
	char a[2][UNITS_LEN], b[2][UNITS_LEN];
	enum units u = in->view->units;

	/* Where room is scarce, what left the cache is said below. */
	if (in->view->width && in->view->width < 100)
		t.ncolumns--;
	sheet(&t, "page cache");
	fprintf(out, "in bytes: %s found, %s missed",
		units_bytes(a[0], s->bytes[CACHE_HITS], u),
		units_bytes(b[0], s->bytes[CACHE_MISSES], u));
	if (s->n[CACHE_MAPPED_HITS] || s->n[CACHE_MAPPED_MISSES])
		fprintf(out, "; of these by mappings %s and %s",
			units_bytes(a[1], s->bytes[CACHE_MAPPED_HITS], u),
			units_bytes(b[1], s->bytes[CACHE_MAPPED_MISSES], u));
	if (t.ncolumns < sizeof(cache_columns) / sizeof(*cache_columns) &&
		s->n[CACHE_EVICTED])
		fprintf(out, "; evicted %s",
			units_bytes(a[0], s->bytes[CACHE_EVICTED], u));
	fputc('\n', out);
}

static void fault_table(FILE *out, const void *sums, const struct report_in *in)
{
	struct sheet t = { out, sums, in->view, &fault, fault_columns,
		sizeof(fault_columns) / sizeof(*fault_columns), 0 };
	const struct pages_sums *s = sums;
	char p50[UNITS_LEN], max[UNITS_LEN];

	sheet(&t, "page faults");
	for (unsigned i = 0; i < 2; i++)
		if (s->time[i].n)
			fprintf(out, "%s%s: p50 %s, max %s", i ? "   " : "",
				i ? "major" : "minor",
				units_ns(p50, hist_quantile(&s->time[i], .5),
					in->view->units),
				units_ns(max, s->time[i].max, in->view->units));
	if (s->time[0].n || s->time[1].n)
		fputc('\n', out);
}

const struct layer_report layer_cache_report = { cache_json, cache_table };
const struct layer_report layer_fault_report = { fault_json, fault_table };
