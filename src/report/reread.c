/*
 * reread.c - a JSON report back to sums
 *
 * Every counter and every bucket of a report's histograms is exact, so the sums of
 * several reports are those of their runs together.
 */
#include "iops/reread.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/trace.h"
#include "reread_row.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No trace begins like an object. */
bool reread_probe(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && isspace((unsigned char)text[i]))
		i++;
	return i < len && text[i] == '{';
}

static size_t number_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (isdigit((unsigned char)text[n]) ||
				  (text[n] && strchr(n ? "+-.eE" : "-", text[n]))))
		n++;
	return n;
}

static bool is_integer(const char *number, size_t len)
{
	for (size_t i = number[0] == '-'; i < len; i++)
		if (!isdigit((unsigned char)number[i]))
			return false;
	return true;
}

/*
 * cJSON holds numbers as doubles. Integers that these cannot hold exactly are put in
 * quotes, and read as text.
 */
static char *quote_integers(const char *text, size_t len, size_t *quoted)
{
	char *out = malloc(len + len / 8 + 3), *to = out;
	bool string = false;

	for (size_t i = 0; out && i < len; i++) {
		size_t n = string ? 0 : number_length(text + i, len - i);
		bool quote = n > 15 && is_integer(text + i, n);
		if (quote)
			*to++ = '"';
		memcpy(to, text + i, n);
		to += n;
		if (quote)
			*to++ = '"';
		if (n) {
			i += n - 1;
			continue;
		}
		if (string && text[i] == '\\' && i + 1 < len)
			*to++ = text[i++];
		else if (text[i] == '"')
			string = !string;
		*to++ = text[i];
	}
	if (out)
		*to = 0;
	*quoted = out ? to - out : 0;
	return out;
}

static void get_text(char *out, size_t size, const cJSON *o, const char *key)
{
	const char *s = cJSON_GetStringValue(json_get(o, key));

	snprintf(out, size, "%s", s ? s : "");
}

/* "2026-01-02T03:04:05.123456789Z" to ns since 1970; 0 if it is none. */
static uint64_t get_time(const cJSON *o, const char *key)
{
	const char *s = cJSON_GetStringValue(json_get(o, key));
	struct tm tm = { 0 };
	const char *p = s ? strptime(s, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	if (!p || *p != '.')
		return 0;
	return timegm(&tm) * UINT64_C(1000000000) + strtoull(p + 1, NULL, 10);
}

static int get_words(struct reread *r, const cJSON *run)
{
	const cJSON *twin = json_get(run, "command_base64"), *one;
	const cJSON *list = twin ? twin : json_get(run, "command");
	int n = cJSON_GetArraySize(list), i = 0;
	size_t len;

	r->argv = calloc(n + 1, sizeof(*r->argv));
	if (!r->argv)
		return -ENOMEM;
	cJSON_ArrayForEach (one, list)
		if (cJSON_IsString(one) &&
			(r->argv[i] = twin ? reread_base64(one->valuestring, &len)
					   : strdup(one->valuestring)))
			i++;
	r->run.command = i ? r->argv : NULL;
	list = json_get(run, "pids");
	r->pids = calloc(cJSON_GetArraySize(list) + 1, sizeof(*r->pids));
	if (!r->pids)
		return -ENOMEM;
	cJSON_ArrayForEach (one, list)
		r->pids[r->run.npids++] = (pid_t)json_value(one);
	r->run.pids = r->pids;
	return 0;
}

static int signal_of(const char *name)
{
	char buf[16];

	for (int sig = 1; name && sig < NSIG; sig++)
		if (!strcmp(signal_name(sig, buf), name))
			return sig;
	return 0;
}

/* Around, as the unsigned sums go. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void get_fast_path(struct run *run, const cJSON *o, struct totals *t)
{
	const char *status = cJSON_GetStringValue(json_get(o, "status"));

	run->patches = status && !strcmp(status, "on");
	get_text(run->no_patch, sizeof(run->no_patch), o, "reason");
	t->fast += json_number(o, "operations");
	t->stopped += json_number(o, "stopped");
}

/* Layers of pages have no rows that all layers have. */
static bool is_summed(unsigned layer)
{
	return layer != LAYER_CACHE && layer != LAYER_FAULT;
}

/* A bit of struct run; 0: there is none of that name. */
static uint32_t layer_of(const char *name)
{
	for (unsigned i = 0; name && i < NLAYERS; i++)
		if (!strcmp(op_layer_name(i), name))
			return 1u << i;
	return name && !strcmp(name, "uring") ? TRACE_URING : 0;
}

/* What is told of each run, also of those that others sum up. */
static int get_told(struct reread *r, const cJSON *run)
{
	const cJSON *end = json_get(run, "exit"), *one;

	get_text(r->run.id, sizeof(r->run.id), run, "id");
	get_text(r->run.boot_id, sizeof(r->run.boot_id), run, "boot_id");
	get_text(r->run.host, sizeof(r->run.host), run, "host");
	get_text(r->run.kernel, sizeof(r->run.kernel), run, "kernel");
	get_text(r->run.backend, sizeof(r->run.backend), run, "backend");
	get_text(r->run.why, sizeof(r->run.why), run, "backend_reason");
	r->run.started_ns = get_time(run, "started_at");
	r->run.elapsed_ns = json_number(run, "elapsed_ns");
	cJSON_ArrayForEach (one, json_get(run, "layers"))
		r->run.layers |= layer_of(cJSON_GetStringValue(one));
	r->run.pageless = true;
	r->run.counters_only = !strcmp(r->run.backend, "proc");
	r->run.machine_wide =
		!strcmp(r->run.backend, "system") || !strcmp(r->run.backend, "blktrace");
	r->run.imported = !strncmp(r->run.why, "imported", 8);
	r->run.ended = end != NULL;
	r->run.status = (int)json_number(end, "code") << 8 |
			signal_of(cJSON_GetStringValue(json_get(end, "signal")));
	return get_words(r, run);
}

/* All that is told only of them together is so of each. */
static int get_parts(struct reread *r, const cJSON *runs)
{
	const cJSON *one;
	int err = 0;

	if (!runs)
		return 0;
	if (!cJSON_IsArray(runs))
		return -EINVAL;
	cJSON_ArrayForEach (one, runs)
		if (!cJSON_IsString(json_get(one, "id")) ||
			!cJSON_IsString(json_get(one, "host")))
			return -EINVAL;
	r->part = calloc(cJSON_GetArraySize(runs) + 1, sizeof(*r->part));
	if (!r->part)
		return -ENOMEM;
	cJSON_ArrayForEach (one, runs) {
		struct reread *p = &r->part[r->nparts++];
		p->run = (struct run){ .complete = r->run.complete,
			.filtered = r->run.filtered,
			.verifies = r->run.verifies,
			.patches = r->run.patches,
			.snapshot = r->run.snapshot };
		memcpy(p->run.no_patch, r->run.no_patch, sizeof(p->run.no_patch));
		err = err ? err : get_told(p, one);
	}
	return err;
}

static int get_run(struct reread *r, const cJSON *run, struct totals *t)
{
	const cJSON *v = json_get(run, "verified"), *one;
	int err = get_told(r, run);

	r->run.snapshot = cJSON_IsTrue(json_get(run, "snapshot"));
	r->run.complete = cJSON_IsTrue(json_get(run, "complete"));
	r->run.filtered = cJSON_IsTrue(json_get(run, "filtered"));
	r->run.verifies = v != NULL;
	r->lost = json_number(run, "lost");
	t->lost += r->lost;
	t->threads += json_number(v, "threads");
	t->matched += json_number(v, "matched");
	t->unchecked += json_number(v, "unchecked");
	t->off_calls = add(t->off_calls, json_value(json_get(v, "calls_difference")));
	t->off_bytes = add(t->off_bytes, json_value(json_get(v, "bytes_difference")));
	get_fast_path(&r->run, json_get(run, "fast_path"), t);
	cJSON_ArrayForEach (one, json_get(run, "notes")) {
		const char *note = cJSON_GetStringValue(json_get(one, "note"));
		for (int i = 0; note && i < NNOTES; i++)
			if (!strcmp(op_note_name(i), note))
				t->notes[i] += json_number(one, "processes");
	}
	t->notes[NOTE_RUNNING] += json_number(run, "still_running");
	return err ? err : get_parts(r, json_get(run, "runs"));
}

static void get_octave(struct octave *o, const cJSON *bucket, const char *key)
{
	const cJSON *x = json_get(bucket, key);

	o->operations += json_number(x, "operations");
	o->bytes += json_number(x, "bytes");
}

static void get_totals(const cJSON *top, struct totals *t)
{
	const cJSON *ledger = json_get(top, "ledger"), *one;

	t->accounts += json_number(ledger, "accounts");
	t->rchar += json_number(ledger, "rchar");
	t->wchar += json_number(ledger, "wchar");
	t->storage_cancelled += json_number(ledger, "cancelled_write_bytes");
	t->storage_read += json_number(ledger, "storage_read_bytes");
	t->storage_written += json_number(ledger, "storage_write_bytes");
	cJSON_ArrayForEach (one, json_get(json_get(top, "histogram"), "size_bytes")) {
		unsigned i = hist_octave(json_number(one, "from"));
		struct octave all = { 0 }, sides[2] = { 0 };
		get_octave(&sides[0], one, "read");
		get_octave(&sides[1], one, "write");
		get_octave(&all, one, "all");
		for (int k = 0; k < 2; k++) {
			t->size[k][i].operations += sides[k].operations;
			t->size[k][i].bytes += sides[k].bytes;
		}
		t->pair[i].operations +=
			sides[0].operations + sides[1].operations - all.operations;
	}
}

static int get_errors(const cJSON *top, struct stats *into)
{
	const cJSON *one;
	int err = 0;

	cJSON_ArrayForEach (one, json_get(top, "errors")) {
		const char *call = cJSON_GetStringValue(json_get(one, "call")),
			   *name = cJSON_GetStringValue(json_get(one, "errno"));
		if (!call || !name || err)
			continue;
		struct fault f = {
			names_call(stats_names(into), call, strlen(call)),
			reread_errno(name),
			json_number(one, "count"),
		};
		err = stats_add_fault(into, &f);
	}
	return err;
}

/* What the kernel tells apart as no files: pipes, sockets and terminals. */
static void get_apart(const cJSON *by, struct totals *t)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(by, "file")) {
		int type = file_type_of(cJSON_GetStringValue(json_get(one, "type")));
		if (type != FILE_PIPE && type != FILE_SOCKET && type != FILE_TTY)
			continue;
		for (int c = CLASS_READ; c <= CLASS_WRITE; c++) {
			const cJSON *s = json_get(one, op_class_name(c));
			t->apart_operations += json_number(s, "operations");
			t->apart_bytes += json_number(s, "bytes");
		}
	}
}

/* Whether it holds all the breakdowns that are asked for. */
static int check_breakdowns(const struct reread_args *a, const cJSON *by)
{
	for (unsigned d = 0; d < NDIMS; d++)
		if (stats_dims(a->into) >> d & 1 && !json_get(by, dim_name(d))) {
			diag("%s: holds no breakdown by %s", a->name, dim_name(d));
			return -ENODATA;
		}
	return 0;
}

static int get_all(struct reread *r, const struct reread_args *a, const cJSON *top)
{
	struct totals *t = stats_totals_of(a->into);
	const cJSON *run = json_get(top, "run"), *by = json_get(top, "by"), *layer;
	struct reread_rows rows = { .into = a->into, .run = a->run };
	int err = check_breakdowns(a, by);

	if (!err)
		err = get_run(r, run, t);
	if (err < 0)
		return err;
	/* Of those of several hosts rows tell. */
	if (a->hosts && (!r->nparts || strcmp(r->run.host, "several") != 0))
		rows.host =
			names_add(stats_names(a->into), r->run.host, strlen(r->run.host));
	rows.several = r->nparts;
	get_totals(top, t);
	get_apart(by, t);
	err = get_errors(top, a->into);
	if (!err)
		err = reread_rows(&rows, by, json_get(run, "still_running_processes"));
	cJSON_ArrayForEach (layer, json_get(top, "layers")) {
		struct reread_rows below = rows;
		unsigned i = LAYER_MAIN + 1;
		while (i < NLAYERS && strcmp(op_layer_name(i), layer->string))
			i++;
		const bool pages = i < NLAYERS && !is_summed(i);
		if (pages || i == LAYER_NET)
			diag("%s: of its layer %s %s is summed; logs are summed whole",
				a->name, layer->string,
				pages ? "nothing" : "only what all layers have");
		if (err || i == NLAYERS || pages)
			continue;
		if (i == LAYER_BLOCK) {
			void *sums = stats_layer_sums_of(a->into, i);
			err = sums ? reread_block(sums, layer) : -ENOMEM;
		}
		below.into = stats_layer_of(a->into, i);
		err = err          ? err
		      : below.into ? reread_rows(&below, json_get(layer, "by"), NULL)
				   : -ENOMEM;
	}
	return err;
}

static bool is_report(const cJSON *top)
{
	const char *schema = cJSON_GetStringValue(json_get(top, "schema"));

	return schema && !strcmp(schema, "iops.report/1");
}

static const char *id_of(const cJSON *top)
{
	const char *id = cJSON_GetStringValue(json_get(json_get(top, "run"), "id"));

	return id ? id : "";
}

/*
 * The last report, behind lines of intervals and snapshots of the same run. partly: there
 * is one of another run, or something else behind it. NULL: not JSON.
 */
static cJSON *parse(const char *text, size_t len, bool *partly)
{
	const char *end = text + len;
	cJSON *last = NULL;

	for (const char *next;; text = next) {
		while (text < end && isspace((unsigned char)*text))
			text++;
		cJSON *top = text < end ? cJSON_ParseWithLengthOpts(
						  text, end - text, &next, false)
					: NULL;
		if (!top) {
			*partly |= last && text < end;
			return last;
		}
		const bool is = is_report(top), was = is_report(last);
		*partly |= was && (!is || strcmp(id_of(last), id_of(top)) != 0);
		cJSON_Delete(was && !is ? top : last);
		last = was && !is ? last : top;
	}
}

int reread(struct reread *r, const struct reread_args *args)
{
	size_t len;
	char *text = quote_integers(args->text, args->len, &len);
	bool partly = false;
	cJSON *top = text ? parse(text, len, &partly) : NULL;
	int err = -EINVAL;

	*r = (struct reread){ 0 };
	if (!top)
		diag("%s: not JSON", args->name);
	else if (!is_report(top))
		diag("%s: not a report of schema iops.report/1", args->name);
	else if ((err = get_all(r, args, top)) == -EINVAL)
		diag("%s: damaged, or of another version", args->name);
	else if (err < 0 && err != -ENODATA)
		diag_err(err, "%s", args->name);
	if (!err && partly) {
		diag("%s: holds more than this report of run %s, which is not read",
			args->name, id_of(top));
		r->run.damaged = true;
		r->run.complete = false;
	}
	cJSON_Delete(top);
	free(text);
	return err;
}

void reread_fini(struct reread *r)
{
	for (unsigned i = 0; i < r->nparts; i++)
		reread_fini(&r->part[i]);
	free(r->part);
	for (int i = 0; r->argv && r->argv[i]; i++)
		free(r->argv[i]);
	free(r->argv);
	free(r->pids);
	*r = (struct reread){ 0 };
}
