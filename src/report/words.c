/*
 * words.c - what the table says in sentences: proof, errors, remarks
 */
#include "ledger.h"
#include "iops/layer.h"
#include "iops/report.h"
#include "iops/diag.h"

#include <stdlib.h>
#include <string.h>

static const char *style(const struct view *v, const char *sequence)
{
	return v->colour ? sequence : "";
}

/*
 * A paragraph, broken between words where the terminal ends. Every word is made safe:
 * names may hold anything.
 */
static void say(FILE *out, const struct view *v, const char *sequence, const char *text)
{
	size_t at = 0;
	char word[256], safe[1100];

	fputs(style(v, sequence), out);
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		units_elide(safe, sizeof(safe), word, sizeof(word), v->text);
		size_t width = units_width(safe);
		if (at && v->width && at + 1 + width > v->width) {
			fputs("\n ", out);
			at = 1;
		} else if (at) {
			fputc(' ', out);
			at++;
		}
		fputs(safe, out);
		at += width;
		p += n + (p[n] == ' ');
	}
	fprintf(out, "%s\n", *sequence ? style(v, "\033[0m") : "");
}

static const char red[] = "\033[31m";

static void proof(FILE *out, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);
	const struct view *v = in->view;
	char a[UNITS_LEN], b[UNITS_LEN], more[160] = "", text[400];
	bool off = t->matched != t->threads;

	if (!in->run->verifies) {
		if (!in->run->counters_only && !in->run->machine_wide &&
			!in->run->imported && strcmp(in->run->backend, "fuse"))
			say(out, v, "",
				"not verified: options leave out calls that the "
				"kernel's counters hold");
		return;
	}
	if (off)
		snprintf(more, sizeof(more),
			": the kernel counted %+lld calls, %+lld bytes beyond ours",
			(long long)t->off_calls, (long long)t->off_bytes);
	int n = snprintf(text, sizeof(text),
		"verified against kernel counters: %s of %s threads%s",
		units_count(a, t->matched, v->units),
		units_count(b, t->threads, v->units), more);
	if (t->unchecked)
		snprintf(text + n, sizeof(text) - n, "; %s could not be checked",
			units_count(a, t->unchecked, v->units));
	say(out, v, off ? red : "", text);
}

/*
 * How much of it did not stop. That nothing did is for those who ask, unless it is for
 * what a process does.
 */
static void fast_path(FILE *out, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);
	const struct view *v = in->view;
	const struct run *run = in->run;
	char a[UNITS_LEN], b[UNITS_LEN], c[UNITS_LEN], text[400];
	const char *but = run->patches ? run->no_patch : "";
	int n = 0;

	if (t->fast)
		n = snprintf(text, sizeof(text), "fast path: %s of %s calls; %s stopped",
			units_count(a, t->fast, v->units),
			units_count(b, t->fast + t->stopped, v->units),
			units_count(c, t->stopped, v->units));
	else if (*but || (v->verbose && run->patches))
		n = snprintf(text, sizeof(text), "fast path: no call took it");
	else if (v->verbose && *run->no_patch)
		snprintf(text, sizeof(text), "no fast path: %s", run->no_patch);
	else
		return;
	if (*but)
		snprintf(text + n, sizeof(text) - n, "; %s", but);
	say(out, v, "", text);
}

void words_proof(FILE *out, const struct report_in *in)
{
	const struct view *v = in->view;
	char text[400];

	if (v->verbose) {
		snprintf(text, sizeof(text), "run %s on %s, Linux %s", in->run->id,
			in->run->host, in->run->kernel);
		say(out, v, "", text);
	}
	if (*in->run->why)
		say(out, v, "", in->run->why);
	proof(out, in);
	fast_path(out, in);
}

static int by_count(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return x->count < y->count   ? 1
	       : x->count > y->count ? -1
				     : (int)x->call - (int)y->call;
}

void words_errors(FILE *out, const struct report_in *in, const struct row *row)
{
	size_t n;
	const struct fault *f = stats_faults(in->stats, &n);
	struct fault *sorted = calloc(n + 1, sizeof(*sorted));
	uint64_t sum = 0, again = 0, interrupted = 0;
	enum units u = in->view->units;
	char buf[UNITS_LEN], name[16], text[600];

	for (int c = 0; c < NCLASS; c++)
		if (row->series[c]) {
			again += row->series[c]->again;
			interrupted += row->series[c]->interrupted;
		}
	for (size_t i = 0; i < n; i++)
		sum += f[i].count;
	int at = snprintf(text, sizeof(text), "errors %s", units_count(buf, sum, u));
	if (sorted && n) {
		memcpy(sorted, f, n * sizeof(*f));
		qsort(sorted, n, sizeof(*f), by_count);
		for (size_t i = 0; i < n && i < 3; i++)
			at += snprintf(text + at, sizeof(text) - at, "%s%.40s %s %s",
				i ? ", " : " (",
				names_call_name(in->names, sorted[i].call),
				errno_name(sorted[i].err, name),
				units_count(buf, sorted[i].count, u));
		at += snprintf(text + at, sizeof(text) - at, n > 3 ? ", ...)" : ")");
	}
	if (again)
		at += snprintf(text + at, sizeof(text) - at, "  would block %s",
			units_count(buf, again, u));
	if (interrupted)
		snprintf(text + at, sizeof(text) - at, "  interrupted %s",
			units_count(buf, interrupted, u));
	say(out, in->view, sum ? red : "", text);
	free(sorted);
}

/* What follows "note: N processes". */
static const char *const note_text[NNOTES] = {
	[NOTE_IO_URING] = "used io_uring in a way that was not all seen: use -b bpf",
	[NOTE_AIO] = "used Linux AIO in a way that was not all seen",
	[NOTE_SETUID] = "ran set-id programs without their rights: use --no-filter",
	[NOTE_HANDED] = "ran set-id programs: left alone, and not counted",
	[NOTE_PTRACE] =
		"wanted to trace others, which was refused because iops traces them",
	[NOTE_SUPERVISED] = "installed a seccomp supervisor: every call stops there",
	[NOTE_COMPAT] = "made calls of an unknown ABI, which are not counted",
	[NOTE_PATCHED] = "could not be left as before: what stays does no harm",
};

/* What was seen of another layer, which is in no total of this one. */
static void layer_line(FILE *out, const struct report_in *in, unsigned layer)
{
	char n[2][UNITS_LEN], b[2][UNITS_LEN], text[300];
	uint64_t operations[2] = { 0 }, bytes[2] = { 0 };
	struct row row;

	if (stats_total(stats_layer(in->stats, layer), &row) < 0)
		return;
	for (int c = CLASS_READ; c <= CLASS_WRITE; c++)
		if (row.series[c]) {
			operations[c] = row.series[c]->operations;
			bytes[c] = row.series[c]->bytes;
		}
	row_fini(&row);
	enum units u = in->view->units;
	snprintf(text, sizeof(text),
		"%s layer, apart from the total: %s reads of %s, %s writes of %s",
		op_layer_name(layer), units_count(n[0], operations[0], u),
		units_bytes(b[0], bytes[0], u), units_count(n[1], operations[1], u),
		units_bytes(b[1], bytes[1], u));
	say(out, in->view, "", text);
}

void words_remarks(FILE *out, const struct report_in *in, const struct row *row)
{
	const struct totals *t = stats_totals(in->stats);
	const struct view *v = in->view;
	char a[UNITS_LEN], b[UNITS_LEN], text[300], line[LEDGER_LINE];

	if (t->apart_operations) {
		snprintf(text, sizeof(text),
			"of these pipes, sockets, terminals: %s operation%s, %s",
			units_count(a, t->apart_operations, v->units),
			t->apart_operations == 1 ? "" : "s",
			units_bytes(b, t->apart_bytes, v->units));
		say(out, v, "", text);
	}
	for (int w = 0; w < 2; w++)
		if (ledger_line(line, in, row, w))
			say(out, v, "", line);
	if (row->pair && row->pair->operations) {
		snprintf(text, sizeof(text),
			"total counts calls: %s of them were a read of one file and a "
			"write of another",
			units_count(a, row->pair->operations, v->units));
		say(out, v, "", text);
	}
	if (t->lost) {
		snprintf(text, sizeof(text), "LOST: %s operations were not seen",
			units_count(a, t->lost, v->units));
		say(out, v, red, text);
	}
	for (unsigned i = LAYER_MAIN + 1; i < NLAYERS; i++)
		if (in->run->story && !v->verbose)
			continue;
		else if (stats_layer_sums(in->stats, i))
			layer_report(i)->table(out, stats_layer_sums(in->stats, i), in);
		else if (stats_layer(in->stats, i))
			layer_line(out, in, i);
	for (int i = 0; i < NNOTES; i++)
		if (t->notes[i] && note_text[i]) {
			snprintf(text, sizeof(text), "note: %s process%s %s",
				units_count(a, t->notes[i], v->units),
				t->notes[i] == 1 ? "" : "es", note_text[i]);
			say(out, v, "", text);
		}
}

void words_left_behind(FILE *out, const struct report_in *in)
{
	size_t n, shown = 0;
	const struct proc *p = stats_procs(in->stats, &n);
	uint64_t all = stats_totals(in->stats)->notes[NOTE_RUNNING];
	char text[600];

	if (!all)
		return;
	int at = snprintf(text, sizeof(text),
		"still running, not included from here on: %llu process%s (",
		(unsigned long long)all, all == 1 ? "" : "es");
	for (size_t i = 0; i < n && shown < 4; i++)
		if (p[i].running_on)
			at += snprintf(text + at, sizeof(text) - at, "%s%d %.40s",
				shown++ ? ", " : "", p[i].pid,
				names_get(in->names, p[i].comm));
	snprintf(text + at, sizeof(text) - at, all > shown ? ", ...)" : ")");
	say(out, in->view, "", text);
}
