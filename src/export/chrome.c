/*
 * chrome.c - trace events for ui.perfetto.dev and chrome://tracing
 *
 * Format: "Trace Event Format" of the Chromium project. Times are microseconds since
 * the session began; all is streamed, only names and counters of tasks are kept.
 */
#include "export.h"
#include "iops/map.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { PID_LIMIT = 1 << 22 /* of Linux: made-up ids begin here */ };

/* A process, and what it moved in the bucket of time at hand. */
struct track {
	uint32_t pid;
	uint64_t bucket, bytes[2];
	bool any;
};

struct chrome {
	struct sink sink;
	struct rows rows;
	struct output out;
	bool some;         /* an event has been written */
	uint64_t width;    /* of a bucket, ns */
	struct map ids;    /* (id, run) -> id in the trace */
	struct map used;   /* ids in the trace */
	struct map named;  /* (id in the trace, process or thread) -> name, plus 1 */
	struct map tracks; /* process -> place in track, plus 1 */
	struct track *track;
	size_t ntrack, captrack;
	uint32_t made_up;
};

/* Ids of several runs must not meet: the first to come keeps its own. */
static uint32_t trace_id(struct chrome *s, int32_t task)
{
	uint32_t id = map_get(&s->ids, (uint32_t)task, s->rows.nrun);

	if (id)
		return id - 1;
	id = task;
	if (map_get(&s->used, id, 0))
		id = PID_LIMIT + ++s->made_up;
	if (map_put(&s->used, id, 0, 1) < 0 ||
		map_put(&s->ids, (uint32_t)task, s->rows.nrun, (uintptr_t)id + 1) < 0)
		output_fail(&s->out, ENOMEM);
	return id;
}

static FILE *event(struct chrome *s, const char *phase, uint32_t pid, uint32_t tid)
{
	fprintf(s->out.f, "%s\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
		s->some ? "," : "", phase, pid, tid);
	s->some = true;
	return s->out.f;
}

static void put_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static void put_meta(struct chrome *s, const char *what, uint32_t id[2], const char *text)
{
	bool labels = what[8] == 'l';
	FILE *out = event(s, "M", id[0], id[1]);

	fprintf(out, ",\"name\":\"%s\",\"args\":{\"%s\":", what,
		labels ? "labels" : "name");
	text_put_json(out, text);
	fputs("}}", out);
}

/* Names change at exec; the newest one wins in the viewers. */
static void put_names(struct chrome *s, const struct op *op, uint32_t id[2])
{
	const char *comm = names_get(s->rows.args.names, op->comm);
	uintptr_t process = map_get(&s->named, id[0], 0);
	uintptr_t thread = map_get(&s->named, id[1], 1), now = (uintptr_t)op->comm + 1;

	if (!process && s->rows.args.nruns > 1 && *s->rows.host)
		put_meta(s, "process_labels", id, s->rows.host);
	if (!process || (process != now && op->tid == op->pid)) {
		put_meta(s, "process_name", id, comm);
		if (map_put(&s->named, id[0], 0, now) < 0)
			output_fail(&s->out, ENOMEM);
	}
	if (thread != now) {
		put_meta(s, "thread_name", id, comm);
		if (map_put(&s->named, id[1], 1, now) < 0)
			output_fail(&s->out, ENOMEM);
	}
}

static void put_counter(
	struct chrome *s, const struct track *t, uint64_t bucket, const uint64_t bytes[2])
{
	FILE *out = event(s, "C", t->pid, t->pid);

	put_us(out, "ts", bucket * s->width);
	fprintf(out, ",\"name\":\"throughput\",\"args\":{\"read\":%.0f,\"write\":%.0f}}",
		bytes[0] * 1e9 / s->width, bytes[1] * 1e9 / s->width);
}

/* What was moved in a bucket, and that nothing was right after it. */
static void end_bucket(struct chrome *s, struct track *t, bool gap)
{
	static const uint64_t none[2] = { 0 };

	if (t->any)
		put_counter(s, t, t->bucket, t->bytes);
	if (t->any && gap)
		put_counter(s, t, t->bucket + 1, none);
	t->bytes[0] = t->bytes[1] = 0;
	t->any = false;
}

static struct track *track_of(struct chrome *s, uint32_t pid)
{
	size_t at = map_get(&s->tracks, pid, 0);

	if (at)
		return &s->track[at - 1];
	if (array_room(&s->track, s->ntrack, &s->captrack, sizeof(*s->track)) < 0 ||
		map_put(&s->tracks, pid, 0, s->ntrack + 1) < 0)
		return NULL;
	s->track[s->ntrack] = (struct track){ .pid = pid };
	return &s->track[s->ntrack++];
}

/* An operation that ends late by a little counts in the bucket at hand. */
static void count(struct chrome *s, const struct op *op, uint32_t pid)
{
	uint64_t took = op->dur_ns == OP_NO_TIME || op->call & OP_PART ? 0 : op->dur_ns;
	uint64_t bucket = (op->start_ns + took) / s->width;
	bool moves = op->kind == OP_READ || op->kind == OP_WRITE;

	if (!moves || op->ret <= 0 || op->layer != LAYER_MAIN)
		return;
	struct track *t = track_of(s, pid);
	if (!t) {
		output_fail(&s->out, ENOMEM);
		return;
	}
	if (bucket > t->bucket) {
		end_bucket(s, t, bucket > t->bucket + 1);
		t->bucket = bucket;
	}
	t->bytes[op->kind == OP_WRITE] += op->ret;
	t->any = true;
}

/* The fields that are arguments of an event, as far as they are known. */
static void put_args(struct chrome *s, const struct op *op)
{
	static const char *const shown[] = { "path", "type", "fd", "offset", "requested",
		"bytes", "operations", "result", "errno", "layer" };
	const char *comma = "";

	fputs(",\"args\":{", s->out.f);
	for (const struct field *f = fields; f->name; f++) {
		bool wanted = false;
		for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
			wanted |= f->name[0] == shown[i][0] && !strcmp(f->name, shown[i]);
		struct cell c = { .null = true };
		if (wanted)
			c = rows_cell(&s->rows, f, op);
		if (c.null)
			continue;
		fprintf(s->out.f, "%s\"%s\":", comma, f->name);
		if (f->type == FIELD_INT)
			fprintf(s->out.f, "%" PRId64, c.num);
		else
			text_put_json(s->out.f, c.str);
		comma = ",";
	}
	fputs("}}", s->out.f);
}

static void put_op(struct chrome *s, const struct op *op, uint32_t id[2])
{
	bool timed = op->dur_ns != OP_NO_TIME && !(op->call & OP_PART);
	FILE *out = event(s, timed ? "X" : "i", id[0], id[1]);

	put_us(out, "ts", op->start_ns);
	if (timed)
		put_us(out, "dur", op->dur_ns);
	else
		fputs(",\"s\":\"t\"", out);
	fputs(",\"name\":", out);
	text_put_json(out, names_call_name(s->rows.args.names, op->call & OP_CALL));
	fprintf(out, ",\"cat\":\"%s\"", op_class_name(op_kind_class(op->kind)));
	put_args(s, op);
}

static void put_life(struct chrome *s, const struct op *op, uint32_t id[2])
{
	const char *key = op->kind == OP_EXIT ? "status" : "parent";
	const struct names *n = s->rows.args.names;
	FILE *out = event(s, "i", id[0], id[1]);

	put_us(out, "ts", op->start_ns);
	fprintf(out, ",\"s\":\"%c\",\"name\":\"%s\",\"cat\":\"process\"",
		op->tid == op->pid ? 'p' : 't', op_kind_name(op->kind));
	fprintf(out, ",\"args\":{\"%s\":%" PRId64, key, op->ret);
	if (op->file) {
		fputs(",\"path\":", out);
		text_put_json(out, names_get(n, names_file(n, op->file)->path));
	}
	fputs("}}", out);
}

static int chrome_put(struct sink *sink, const struct op *op)
{
	struct chrome *s = (struct chrome *)sink;
	bool row = rows_take(&s->rows, op);
	bool life = op->kind == OP_FORK || op->kind == OP_EXEC || op->kind == OP_EXIT;

	if (s->out.err || (!row && !life))
		return s->out.err;
	uint32_t id[2] = { trace_id(s, op->pid), trace_id(s, op->tid) };
	if (op->comm)
		put_names(s, op, id);
	if (life) {
		put_life(s, op, id);
	} else {
		put_op(s, op, id);
		count(s, op, id[0]);
	}
	return output_check(&s->out);
}

/* Losses are known at the end only, so what is said of the whole stands there. */
static void put_end(struct chrome *s)
{
	FILE *out = s->out.f;

	for (size_t i = 0; i < s->ntrack; i++)
		end_bucket(s, &s->track[i], true);
	fprintf(out,
		"\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"iops_version\":\"%s\","
		"\"started_ns\":\"%" PRIu64 "\",\"lost\":%" PRIu64 ",\"runs\":[",
		VERSION, s->rows.args.started_ns, s->rows.lost);
	for (unsigned i = 0; i < s->rows.args.nruns; i++) {
		const struct run *run = &s->rows.args.runs[i];
		fputs(i ? ",{\"id\":" : "{\"id\":", out);
		text_put_json(out, run->id);
		fputs(",\"host\":", out);
		text_put_json(out, run->host);
		fputs(",\"kernel\":", out);
		text_put_json(out, run->kernel);
		putc('}', out);
	}
	fputs("]}}\n", out);
}

static int chrome_close(struct sink *sink)
{
	struct chrome *s = (struct chrome *)sink;

	put_end(s);
	int err = output_close(&s->out);
	rows_end(&s->rows);
	map_fini(&s->ids);
	map_fini(&s->used);
	map_fini(&s->named);
	map_fini(&s->tracks);
	free(s->track);
	free(s);
	return err;
}

/* A thousand buckets, none below 10 ms or above 1 s. */
static uint64_t bucket_width(const struct export_args *args)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < args->nruns; i++)
		if (args->runs[i].elapsed_ns > longest)
			longest = args->runs[i].elapsed_ns;
	if (!longest)
		return 100 * MS;
	return longest < 10000 * MS     ? 10 * MS
	       : longest > 1000000 * MS ? 1000 * MS
					: longest / 1000;
}

static int chrome_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "chrome", .put = chrome_put, .close = chrome_close
	};
	struct chrome *s = calloc(1, sizeof(*s));
	int err = s ? output_open(&s->out, args->output) : -ENOMEM;

	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	s->width = bucket_width(args);
	rows_init(&s->rows, args);
	fputs("{\"traceEvents\":[", s->out.f);
	*out = &s->sink;
	return 0;
}

const struct exporter export_chrome = { .name = "chrome",
	.help = "trace events for Perfetto and chrome://tracing",
	.open = chrome_open };
