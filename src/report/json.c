/*
 * json.c - schema iops.report/1
 *
 * The top level is written here, one line an element, so that a report of a hundred
 * thousand files never stands in memory as a whole; cJSON writes each element.
 */
#include "json.h"
#include "ledger.h"
#include "iops/layer.h"
#include "iops/report.h"
#include "iops/diag.h"
#include "iops/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* cJSON holds numbers as doubles: integers beyond 2^53 would not be exact. */
static void add_int(cJSON *o, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	cJSON_AddRawToObject(o, key, text);
}

static void add_uint(cJSON *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cJSON_AddRawToObject(o, key, text);
}

/* Text that is no UTF-8 gets U+FFFD for each bad byte, and KEY_base64 with the truth. */
static void add_text(cJSON *o, const char *key, const char *s)
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
		add_text(o, key, v->str);
		break;
	case VALUE_RATE:
	case VALUE_BYTE_RATE:
		cJSON_AddNumberToObject(o, key, round(v->rate * 1000) / 1000);
		break;
	default:
		add_uint(o, key, v->num);
	}
}

/* The buckets that are not empty, as [lower bound, samples]: what makes reports add up.
 */
static void add_buckets(cJSON *q, const struct hist *h)
{
	size_t cap = 2 + 48 * (size_t)h->len, n = 0;
	char *text = malloc(cap + 1);

	for (unsigned i = 0; text && i < h->len; i++)
		if (h->count[i])
			n += snprintf(text + n, cap + 1 - n,
				"%s[%" PRIu64 ",%" PRIu64 "]", n ? "," : "[",
				hist_lower(h->first + i), h->count[i]);
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
	add_uint(q, "count", h->n);
	add_uint(q, "sum", h->sum);
	add_buckets(q, h);
}

/* S of the contract. "size_bytes.p50" goes into an object; what is unknown stays out. */
static cJSON *series_object(const struct series *s, const struct run *run)
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

static void add_classes(cJSON *o, const struct line *l, bool always)
{
	const struct run *run = l->in->run;

	for (unsigned c = CLASS_READ; c <= CLASS_WRITE; c++)
		cJSON_AddItemToObject(
			o, op_class_name(c), series_object(line_series(l, c), run));
	cJSON_AddItemToObject(o, "all", series_object(&l->all, run));
	for (unsigned c = CLASS_SYNC; c < NCLASS; c++)
		if (used(line_series(l, c)) || (always && c != CLASS_PEEK))
			cJSON_AddItemToObject(o, op_class_name(c),
				series_object(line_series(l, c), run));
}

/* Print an element and let go of it. */
static void put_item(FILE *out, cJSON *item)
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
	add_classes(o, &l, false);
	fprintf(out, "%s\n   ", comma);
	put_item(out, o);
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
		if (v.type != VALUE_NONE || strcmp(c->name, "host"))
			add_value(o, c->name, &v);
	}
	add_classes(o, l, false);
	return o;
}

static int put_breakdown(FILE *out, const struct report_in *in, enum dim dim)
{
	size_t n, nproc;
	struct line *l = lines_new(in, dim, &n);
	const char *comma = "";
	bool *seen = NULL;

	stats_procs(in->stats, &nproc);
	if (dim == DIM_PROCESS && !(seen = calloc(nproc + 1, sizeof(*seen)))) {
		lines_free(l, n);
		return -ENOMEM;
	}
	if (!l) {
		free(seen);
		return -ENOMEM;
	}
	fprintf(out, "\n  \"%s\": [", dim_name(dim));
	for (size_t i = 0; i < n; i++, comma = ",") {
		fprintf(out, "%s\n   ", comma);
		put_item(out, line_object(&l[i]));
		if (seen)
			seen[l[i].row->key[0]] = true;
	}
	for (size_t i = 0; seen && i < nproc; i++)
		if (!seen[i]) {
			put_idle(out, in, i, comma);
			comma = ",";
		}
	fputs(" ]", out);
	free(seen);
	lines_free(l, n);
	return 0;
}

static cJSON *exit_object(int status)
{
	cJSON *o = cJSON_CreateObject();
	char buf[16];

	if (WIFSIGNALED(status))
		cJSON_AddStringToObject(o, "signal", signal_name(WTERMSIG(status), buf));
	else
		add_int(o, "code", WEXITSTATUS(status));
	return o;
}

static void add_time(cJSON *o, const char *key, uint64_t ns)
{
	char day[40], text[80];
	time_t s = ns / 1000000000;
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", day, ns % 1000000000);
	cJSON_AddStringToObject(o, key, text);
}

static void add_notes(cJSON *o, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);
	cJSON *notes = cJSON_CreateArray();

	for (int i = 0; i < NNOTES; i++) {
		if (!t->notes[i] || i == NOTE_RUNNING)
			continue;
		cJSON *n = cJSON_CreateObject();
		cJSON_AddStringToObject(n, "note", op_note_name(i));
		add_uint(n, "processes", t->notes[i]);
		cJSON_AddItemToArray(notes, n);
	}
	cJSON_AddItemToObject(o, "notes", notes);
}

static void add_still_running(cJSON *o, const struct report_in *in)
{
	size_t n;
	const struct proc *p = stats_procs(in->stats, &n);
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++) {
		if (!p[i].running_on)
			continue;
		cJSON *one = cJSON_CreateObject();
		add_int(one, "pid", p[i].pid);
		add_text(one, "command", names_get(in->names, p[i].comm));
		cJSON_AddItemToArray(list, one);
	}
	add_int(o, "still_running", cJSON_GetArraySize(list));
	cJSON_AddItemToObject(o, "still_running_processes", list);
}

static void add_verified(cJSON *o, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);

	if (!in->run->verifies)
		return;
	cJSON *v = cJSON_AddObjectToObject(o, "verified");
	add_uint(v, "threads", t->threads);
	add_uint(v, "matched", t->matched);
	add_uint(v, "unchecked", t->unchecked);
	if (t->threads != t->matched) {
		add_int(v, "calls_difference", t->off_calls);
		add_int(v, "bytes_difference", t->off_bytes);
	}
}

void json_fast_path(cJSON *run, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);
	bool on = in->run->patches;

	if (!on && !*in->run->no_patch && !t->fast && !t->stopped)
		return;
	cJSON *o = cJSON_AddObjectToObject(run, "fast_path");
	cJSON_AddStringToObject(o, "status", on ? "on" : "off");
	if (!on && *in->run->no_patch)
		add_text(o, "reason", in->run->no_patch);
	add_uint(o, "operations", t->fast);
	add_uint(o, "stopped", t->stopped);
}

/* What was run, where and how. */
cJSON *json_run(const struct run *run)
{
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "id", run->id);
	add_text(o, "host", run->host);
	add_text(o, "kernel", run->kernel);
	if (*run->boot_id)
		add_text(o, "boot_id", run->boot_id);
	cJSON_AddStringToObject(o, "backend", run->backend);
	if (*run->why)
		add_text(o, "backend_reason", run->why);
	if (run->command) {
		list = cJSON_AddArrayToObject(o, "command");
		for (char *const *arg = run->command; *arg; arg++) {
			cJSON *word = cJSON_CreateObject();
			add_text(word, "w", *arg);
			cJSON_AddItemToArray(list, cJSON_DetachItemFromObject(word, "w"));
			cJSON_Delete(word);
		}
	}
	list = cJSON_AddArrayToObject(o, "pids");
	for (unsigned i = 0; i < run->npids; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(run->pids[i]));
	if (run->started_ns)
		add_time(o, "started_at", run->started_ns);
	add_uint(o, "elapsed_ns", run->elapsed_ns);
	if (run->ended)
		cJSON_AddItemToObject(o, "exit", exit_object(run->status));
	return o;
}

static cJSON *run_object(const struct report_in *in)
{
	const struct run *run = in->run;
	cJSON *o = json_run(run), *list;

	if (run->nparts) {
		list = cJSON_AddArrayToObject(o, "runs");
		for (unsigned i = 0; i < run->nparts; i++)
			cJSON_AddItemToArray(list, json_run(&run->part[i]));
	}
	add_uint(o, "lost", stats_totals(in->stats)->lost);
	cJSON_AddBoolToObject(o, "complete", run->complete);
	if (run->snapshot)
		cJSON_AddTrueToObject(o, "snapshot");
	add_still_running(o, in);
	add_verified(o, in);
	json_fast_path(o, in);
	add_notes(o, in);
	return o;
}

static int total_line(const struct report_in *in, struct row *row, struct line *l)
{
	int err = stats_total(in->stats, row);

	*l = (struct line){ .in = in, .row = row, .dim = NDIMS };
	if (!err && (err = row_all(row, false, &l->all)) < 0)
		row_fini(row);
	return err;
}

static void octave_bounds(cJSON *o, unsigned i)
{
	add_uint(o, "from", i ? UINT64_C(1) << (i - 1) : 0);
	if (i < 64)
		add_uint(o, "to", UINT64_C(1) << i);
}

static void add_octave(cJSON *o, const char *key, uint64_t operations, uint64_t bytes)
{
	cJSON *x = cJSON_AddObjectToObject(o, key);

	add_uint(x, "operations", operations);
	add_uint(x, "bytes", bytes);
}

static void put_sizes(FILE *out, const struct totals *t)
{
	const char *comma = "";

	fputs("\n  \"size_bytes\": [", out);
	for (unsigned i = 0; i < HIST_OCTAVES; i++) {
		const struct octave *r = &t->size[0][i], *w = &t->size[1][i];
		if (!r->operations && !w->operations)
			continue;
		cJSON *o = cJSON_CreateObject();
		octave_bounds(o, i);
		add_octave(o, "read", r->operations, r->bytes);
		add_octave(o, "write", w->operations, w->bytes);
		add_octave(o, "all",
			r->operations + w->operations - t->pair[i].operations,
			r->bytes + w->bytes);
		fprintf(out, "%s\n   ", comma);
		put_item(out, o);
		comma = ",";
	}
	fputs(" ]", out);
}

static void put_latencies(FILE *out, const struct line *l)
{
	uint64_t n[3][HIST_OCTAVES] = { 0 };
	const char *comma = "";

	hist_octaves(&line_series(l, CLASS_READ)->latency, n[0]);
	hist_octaves(&line_series(l, CLASS_WRITE)->latency, n[1]);
	hist_octaves(&l->all.latency, n[2]);
	fputs(",\n  \"latency_ns\": [", out);
	for (unsigned i = 0; i < HIST_OCTAVES; i++) {
		if (!n[0][i] && !n[1][i])
			continue;
		cJSON *o = cJSON_CreateObject();
		octave_bounds(o, i);
		add_uint(o, "read", n[0][i]);
		add_uint(o, "write", n[1][i]);
		add_uint(o, "all", n[2][i]);
		fprintf(out, "%s\n   ", comma);
		put_item(out, o);
		comma = ",";
	}
	fputs(" ]", out);
}

static void put_errors(FILE *out, const struct report_in *in)
{
	size_t n;
	const struct fault *f = stats_faults(in->stats, &n);
	char buf[16];

	fputs(",\n \"errors\": [", out);
	for (size_t i = 0; i < n; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "call", names_call_name(in->names, f[i].call));
		cJSON_AddStringToObject(o, "errno", errno_name(f[i].err, buf));
		add_uint(o, "count", f[i].count);
		fputs(i ? ",\n  " : "\n  ", out);
		put_item(out, o);
	}
	fputs(" ]", out);
}

/* What was seen of another layer, next to the layer that the run is about. */
static int put_layer(FILE *out, const struct report_in *main, unsigned layer)
{
	const void *sums = stats_layer_sums(main->stats, layer);
	struct report_in in = *main;
	struct row row;
	struct line total;

	if (sums) {
		fprintf(out, "\n  \"%s\": {", op_layer_name(layer));
		int bad = layer_report(layer)->json(out, sums, main);
		fputs(" }", out);
		return bad;
	}
	in.stats = stats_layer(main->stats, layer);
	int err = total_line(&in, &row, &total);
	if (err < 0)
		return err;
	fprintf(out, "\n  \"%s\": {\"completed\": ", op_layer_name(layer));
	cJSON *o = cJSON_CreateObject();
	add_classes(o, &total, false);
	put_item(out, o);
	fputs(", \"by\": {", out);
	err = put_breakdown(out, &in, DIM_FILE);
	fputs(",", out);
	if (!err)
		err = put_breakdown(out, &in, DIM_PROCESS);
	fputs(",", out);
	if (!err)
		err = put_breakdown(out, &in, DIM_CALL);
	fputs(" } }", out);
	series_fini(&total.all);
	row_fini(&row);
	return err;
}

static int put_layers(FILE *out, const struct report_in *in)
{
	unsigned shown = 0;
	int err = 0;

	for (unsigned i = LAYER_MAIN + 1; i < NLAYERS && !err; i++) {
		if (!stats_layer(in->stats, i) && !stats_layer_sums(in->stats, i))
			continue;
		fputs(shown++ ? "," : ",\n \"layers\": {", out);
		err = put_layer(out, in, i);
	}
	fputs(shown ? " }" : "", out);
	return err;
}

static void put_head(FILE *out)
{
	cJSON *o = cJSON_CreateObject();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	add_time(o, "t", now.tv_sec * UINT64_C(1000000000) + now.tv_nsec);
	fprintf(out,
		"{\"schema\": \"iops.report/1\", \"iops_version\": \"%s\",\n"
		" \"reported_at\": \"%s\",\n \"run\": ",
		VERSION, cJSON_GetStringValue(cJSON_GetObjectItem(o, "t")));
	cJSON_Delete(o);
}

static int render(FILE *out, const struct report_in *in)
{
	struct row row;
	struct line total;
	unsigned dims = stats_dims(in->stats), shown = 0;
	int err = total_line(in, &row, &total);

	if (err < 0)
		return err;
	put_head(out);
	put_item(out, run_object(in));
	fputs(",\n \"total\": ", out);
	cJSON *o = cJSON_CreateObject();
	add_classes(o, &total, true);
	put_item(out, o);
	fputs(",\n \"by\": {", out);
	for (unsigned d = 0; d < NDIMS && !err; d++)
		if (dims >> d & 1) {
			fputs(shown++ ? "," : "", out);
			err = put_breakdown(out, in, d);
		}
	fputs(" },\n \"histogram\": {", out);
	put_sizes(out, stats_totals(in->stats));
	put_latencies(out, &total);
	fputs(" }", out);
	put_errors(out, in);
	fputs(",\n \"ledger\": ", out);
	ledger_json(out, in, &row);
	if (!err)
		err = put_layers(out, in);
	fputs(" }\n", out);
	series_fini(&total.all);
	row_fini(&row);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct report report_json = { "json", "one object, schema iops.report/1", render };
