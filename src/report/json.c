/*
 * json.c - schema iops.report/1
 *
 * The top level is written here, one line an element, so that a report of a hundred
 * thousand files never stands in memory as a whole; cJSON writes each element.
 */
#include "json.h"
#include "ledger.h"
#include "story.h"
#include "iops/layer.h"
#include "iops/report.h"
#include "iops/diag.h"
#include "iops/text.h"
#include "iops/trace.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static cJSON *exit_object(int status)
{
	cJSON *o = cJSON_CreateObject();
	char buf[16];

	if (WIFSIGNALED(status))
		cJSON_AddStringToObject(o, "signal", signal_name(WTERMSIG(status), buf));
	else
		json_int(o, "code", WEXITSTATUS(status));
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
		json_uint(n, "processes", t->notes[i]);
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
		json_int(one, "pid", p[i].pid);
		json_text(one, "command", names_get(in->names, p[i].comm));
		cJSON_AddItemToArray(list, one);
	}
	json_int(o, "still_running", cJSON_GetArraySize(list));
	cJSON_AddItemToObject(o, "still_running_processes", list);
}

static void add_verified(cJSON *o, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);

	if (!in->run->verifies)
		return;
	cJSON *v = cJSON_AddObjectToObject(o, "verified");
	json_uint(v, "threads", t->threads);
	json_uint(v, "matched", t->matched);
	json_uint(v, "unchecked", t->unchecked);
	if (t->threads != t->matched) {
		json_int(v, "calls_difference", t->off_calls);
		json_int(v, "bytes_difference", t->off_bytes);
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
	if (*in->run->no_patch)
		json_text(o, "reason", in->run->no_patch);
	json_uint(o, "operations", t->fast);
	json_uint(o, "stopped", t->stopped);
}

static void add_layers(cJSON *o, uint32_t layers)
{
	cJSON *list = cJSON_AddArrayToObject(o, "layers");

	for (unsigned i = 0; i < NLAYERS; i++)
		if (layers >> i & 1)
			cJSON_AddItemToArray(list, cJSON_CreateString(op_layer_name(i)));
	if (layers & TRACE_URING)
		cJSON_AddItemToArray(list, cJSON_CreateString("uring"));
}

/* As json_text() has one text; of words of which one is no UTF-8 all are told twice. */
static void add_command(cJSON *o, char *const *words)
{
	cJSON *list = cJSON_AddArrayToObject(o, "command"), *truth = NULL;
	bool odd = false;

	for (char *const *arg = words; *arg; arg++) {
		char *clean = text_clean(*arg);
		cJSON_AddItemToArray(list, cJSON_CreateString(clean ? clean : ""));
		free(clean);
		odd |= !text_is_utf8(*arg);
	}
	if (odd)
		truth = cJSON_AddArrayToObject(o, "command_base64");
	for (char *const *arg = words; odd && *arg; arg++) {
		char *bytes = text_base64(*arg);
		cJSON_AddItemToArray(truth, cJSON_CreateString(bytes ? bytes : ""));
		free(bytes);
	}
}

/* What was run, where and how. */
cJSON *json_run(const struct run *run)
{
	cJSON *o = cJSON_CreateObject(), *list;

	json_text(o, "id", run->id);
	json_text(o, "host", run->host);
	json_text(o, "kernel", run->kernel);
	if (*run->boot_id)
		json_text(o, "boot_id", run->boot_id);
	json_text(o, "backend", run->backend);
	if (*run->why)
		json_text(o, "backend_reason", run->why);
	if (run->command)
		add_command(o, run->command);
	list = cJSON_AddArrayToObject(o, "pids");
	for (unsigned i = 0; i < run->npids; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(run->pids[i]));
	if (run->started_ns)
		add_time(o, "started_at", run->started_ns);
	json_uint(o, "elapsed_ns", run->elapsed_ns);
	if (run->layers)
		add_layers(o, run->layers);
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
	json_uint(o, "lost", stats_totals(in->stats)->lost);
	cJSON_AddBoolToObject(o, "complete", run->complete);
	if (run->snapshot)
		cJSON_AddTrueToObject(o, "snapshot");
	if (run->filtered || in->view->partial)
		cJSON_AddTrueToObject(o, "filtered");
	add_still_running(o, in);
	add_verified(o, in);
	json_fast_path(o, in);
	add_notes(o, in);
	return o;
}

static void octave_bounds(cJSON *o, unsigned i)
{
	json_uint(o, "from", i ? UINT64_C(1) << (i - 1) : 0);
	if (i < 64)
		json_uint(o, "to", UINT64_C(1) << i);
}

static void add_octave(cJSON *o, const char *key, uint64_t operations, uint64_t bytes)
{
	cJSON *x = cJSON_AddObjectToObject(o, key);

	json_uint(x, "operations", operations);
	json_uint(x, "bytes", bytes);
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
		json_put(out, o);
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
		json_uint(o, "read", n[0][i]);
		json_uint(o, "write", n[1][i]);
		json_uint(o, "all", n[2][i]);
		fprintf(out, "%s\n   ", comma);
		json_put(out, o);
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
		json_text(o, "call", names_call_name(in->names, f[i].call));
		cJSON_AddStringToObject(o, "errno", errno_name(f[i].err, buf));
		json_uint(o, "count", f[i].count);
		fputs(i ? ",\n  " : "\n  ", out);
		json_put(out, o);
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
	int err = json_total(&in, &row, &total);
	if (err < 0)
		return err;
	fprintf(out, "\n  \"%s\": {\"completed\": ", op_layer_name(layer));
	cJSON *o = cJSON_CreateObject();
	json_classes(o, &total, false);
	json_put(out, o);
	fputs(", \"by\": {", out);
	err = json_breakdown(out, &in, DIM_FILE);
	fputs(",", out);
	if (!err)
		err = json_breakdown(out, &in, DIM_PROCESS);
	fputs(",", out);
	if (!err)
		err = json_breakdown(out, &in, DIM_CALL);
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
	int err = json_total(in, &row, &total);

	if (err < 0)
		return err;
	put_head(out);
	json_put(out, run_object(in));
	fputs(",\n \"total\": ", out);
	cJSON *o = cJSON_CreateObject();
	json_classes(o, &total, true);
	json_put(out, o);
	fputs(",\n \"by\": {", out);
	for (unsigned d = 0; d < NDIMS && !err; d++)
		if (dims >> d & 1) {
			fputs(shown++ ? "," : "", out);
			err = json_breakdown(out, in, d);
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
	if (!err && story_there(in))
		err = story_json(out, in);
	fputs(" }\n", out);
	series_fini(&total.all);
	row_fini(&row);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct report report_json = { "json", "one object, schema iops.report/1", render };
