/*
 * table.c - the report for people
 */
#include "iops/report.h"
#include "iops/diag.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { NAME_MIN = 12, WIDE = 200 };

/* Columns of the table where --columns does not say: the names of a breakdown first. */
static const char *const by_default[NDIMS] = {
	[DIM_PROCESS] = "pid command",
	[DIM_THREAD] = "tid pid command",
	[DIM_FILE] = "path",
	[DIM_CALL] = "call operations errors bytes time_ns latency_ns_p50 "
		     "latency_ns_p99 latency_ns_max",
	[DIM_KIND] = "kind operations errors bytes time_ns latency_ns_p50 "
		     "latency_ns_p99 latency_ns_max",
	[DIM_ERROR] = "error errors time_ns",
	[DIM_DIR] = "dir",
	[DIM_TYPE] = "type",
	[DIM_COMMAND] = "command",
	[DIM_DEVICE] = "device",
	[DIM_MOUNT] = "mount",
};
static const char data_default[] =
	" read_operations read_bytes write_operations write_bytes all_time_ns";

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
		units_elide(safe, sizeof(safe), word, sizeof(word), v->utf8);
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

/* Blanks between columns: one where room is scarce. */
static size_t gap(const struct view *v)
{
	return v->width && v->width < 100 ? 1 : 2;
}

static struct libscols_table *table_new(const struct view *v)
{
	struct libscols_table *tb = scols_new_table();

	if (!tb)
		return NULL;
	scols_table_set_termforce(tb, SCOLS_TERMFORCE_NEVER);
	scols_table_set_termwidth(tb, WIDE * 100); /* widths are ours to choose */
	scols_table_enable_colors(tb, v->colour);
	scols_table_enable_noencoding(tb, 1); /* units_elide() has made it safe */
	scols_table_set_column_separator(tb, gap(v) == 1 ? " " : "  ");
	return tb;
}

static struct libscols_column *add_column(
	struct libscols_table *tb, const char *title, bool right)
{
	struct libscols_column *cl =
		scols_table_new_column(tb, title, 0, right ? SCOLS_FL_RIGHT : 0);

	if (cl)
		scols_cell_set_color(scols_column_get_header(cl), "bold");
	return cl;
}

static int print_table(FILE *out, struct libscols_table *tb)
{
	char *text = NULL;
	int err = scols_print_table_to_string(tb, &text);

	/* Without the blanks that the last column of left-aligned text would end with. */
	for (char *p = text, *end; !err && p && *p; p = *end ? end + 1 : end) {
		end = strchrnul(p, '\n');
		int len = (int)(end - p);
		while (len && p[len - 1] == ' ')
			len--;
		fprintf(out, "%.*s\n", len, p);
	}
	free(text);
	return err < 0 ? err : 0;
}

static const char *value_text(const struct value *v, enum units u, char *buf)
{
	switch (v->type) {
	case VALUE_STR:
		return v->str;
	case VALUE_BYTES:
		return units_bytes(buf, v->num, u);
	case VALUE_NS:
		return units_ns(buf, v->num, u);
	case VALUE_BYTE_RATE:
		return units_rate(buf, v->rate, u);
	case VALUE_RATE:
		return units_count(buf, (uint64_t)(v->rate + 0.5), u);
	case VALUE_COUNT:
		return units_count(buf, v->num, u);
	default:
		return "";
	}
}

/* The line that says what ran, how long, how it ended and how it was seen. */
static void head(FILE *out, const struct report_in *in)
{
	const struct run *run = in->run;
	const struct view *v = in->view;
	char what[4096] = "", shown[4096 + 16], tail[320], time[UNITS_LEN],
	     state[64] = "", buf[16];
	size_t at = 0;

	for (char *const *arg = run->command; arg && *arg && at < sizeof(what) - 2; arg++)
		at += snprintf(what + at, sizeof(what) - at, "%s%s", at ? " " : "", *arg);
	for (unsigned i = 0; !run->command && i < run->npids && at < sizeof(what) - 2;
		i++)
		at += snprintf(what + at, sizeof(what) - at, "%s%d",
			at ? " " : "process ", run->pids[i]);
	for (char *p = what; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	if (run->snapshot)
		snprintf(state, sizeof(state), "running   ");
	else if (run->ended && WIFSIGNALED(run->status))
		snprintf(state, sizeof(state), "%s   ",
			signal_name(WTERMSIG(run->status), buf));
	else if (run->ended)
		snprintf(state, sizeof(state), "exit %d   ", WEXITSTATUS(run->status));
	snprintf(tail, sizeof(tail), "%s   %s%s, %s",
		units_ns(time, run->elapsed_ns, UNITS_IEC), state, run->backend,
		run->complete ? "complete" : "incomplete");
	size_t width = v->width ? v->width : 80, used = strlen(tail) + 9;
	units_elide(shown, sizeof(shown), what,
		width > used + NAME_MIN ? width - used : NAME_MIN, v->utf8);
	fprintf(out, "%siops: %s%s", style(v, "\033[1m"), shown, style(v, "\033[0m"));
	int gap = (int)(width - units_width(shown) - strlen(tail) - 6);
	fprintf(out, "%*s%s\n", gap > 3 ? gap : 3, "", tail);
}

static void proof(FILE *out, const struct report_in *in)
{
	const struct totals *t = stats_totals(in->stats);
	const struct view *v = in->view;
	char a[UNITS_LEN], b[UNITS_LEN], more[160] = "", text[400];
	bool off = t->matched != t->threads;

	if (v->verbose) {
		snprintf(text, sizeof(text), "run %s on %s, Linux %s", in->run->id,
			in->run->host, in->run->kernel);
		say(out, v, "", text);
	}
	if (*in->run->why)
		say(out, v, "", in->run->why);
	if (!in->run->verifies) {
		if (!in->run->counters_only && !in->run->machine_wide)
			say(out, v, "",
				"not verified: --trace leaves out calls that the "
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

/* The summary's columns; those with a rank go first where the terminal is narrow. */
static const struct {
	const char *name, *title;
	int rank;
} summary_columns[] = {
	{ "operations", "operations", 0 },
	{ "bytes", "bytes", 0 },
	{ "iops", "IOPS", 0 },
	{ "bytes_per_second", "throughput", 0 },
	{ "size_bytes_p50", "size p50", 1 },
	{ "latency_ns_p50", "lat p50", 0 },
	{ "latency_ns_p99", "p99", 2 },
	{ "latency_ns_max", "max", 0 },
};
enum { NSUMMARY = sizeof(summary_columns) / sizeof(*summary_columns), RANKS = 3 };

/* Columns whose rank is not above skip. */
static bool shown_column(unsigned i, int skip)
{
	return !summary_columns[i].rank || summary_columns[i].rank > skip;
}

struct summary {
	const struct report_in *in;
	struct libscols_table *tb;
	int skip;
};

static int summary_line(struct summary *s, const char *label, const struct series *series)
{
	struct libscols_line *ln = scols_table_new_line(s->tb, NULL);
	char buf[UNITS_LEN];
	int err = ln ? scols_line_set_data(ln, 0, label) : -ENOMEM, at = 1;

	for (unsigned i = 0; i < NSUMMARY && !err; i++) {
		struct column c;
		if (!shown_column(i, s->skip) ||
			!column_find(summary_columns[i].name, &c))
			continue;
		struct value v = c.of_series(series, s->in->run);
		/* Calls that move no bytes have neither bytes nor sizes. */
		bool blank = !series->size.n && !series->bytes &&
			     (v.type == VALUE_BYTES || v.type == VALUE_BYTE_RATE);
		err = scols_line_set_data(
			ln, at++, blank ? "" : value_text(&v, s->in->view->units, buf));
	}
	return err;
}

static int summary_table(
	struct summary *s, const struct row *row, const struct series *all)
{
	static const struct series none;
	int err = add_column(s->tb, "", false) ? 0 : -ENOMEM;

	for (unsigned i = 0; i < NSUMMARY && !err; i++)
		if (shown_column(i, s->skip))
			err = add_column(s->tb, summary_columns[i].title, true) ? 0
										: -ENOMEM;
	for (unsigned c = 0; c <= CLASS_WRITE && !err; c++)
		err = summary_line(
			s, op_class_name(c), row->series[c] ? row->series[c] : &none);
	if (!err)
		err = summary_line(s, "total", all);
	for (unsigned c = CLASS_SYNC; c < NCLASS && !err; c++)
		if (row->series[c])
			err = summary_line(s, op_class_name(c), row->series[c]);
	return err;
}

/* Whether a text of lines, with or without colours, keeps within the terminal. */
static bool fits(const char *text, const struct view *v)
{
	size_t len = strcspn(text, "\n");

	/* Colour codes stand in the first line only: the headings. */
	if (v->colour && text[len])
		text += len + 1;
	len = strcspn(text, "\n");
	return !v->width || len <= v->width;
}

static int summary(FILE *out, const struct report_in *in, const struct row *row,
	const struct series *all)
{
	char *text = NULL;
	int err = 0;
	bool done = false;

	fputc('\n', out);
	for (int skip = 0; skip < RANKS && !err && !done; skip++) {
		struct summary s = { in, table_new(in->view), skip };
		err = s.tb ? summary_table(&s, row, all) : -ENOMEM;
		if (!err)
			err = scols_print_table_to_string(s.tb, &text);
		done = !err && (fits(text, in->view) || skip + 1 == RANKS);
		free(text);
		text = NULL;
		if (done)
			err = print_table(out, s.tb);
		if (s.tb)
			scols_unref_table(s.tb);
	}
	return err;
}

static int by_count(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return x->count < y->count   ? 1
	       : x->count > y->count ? -1
				     : (int)x->call - (int)y->call;
}

static void errors(FILE *out, const struct report_in *in, const struct row *row)
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
			at += snprintf(text + at, sizeof(text) - at, "%s%s %s %s",
				i ? ", " : " (", syscalls[sorted[i].call].name,
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
	[NOTE_IO_URING] = "used io_uring: what it read and wrote is not counted",
	[NOTE_AIO] = "used Linux AIO (io_submit): what it read and wrote is not counted",
	[NOTE_SETUID] = "ran set-id programs without their rights: use --no-filter",
	[NOTE_HANDED] = "ran set-id programs: left alone, and not counted",
	[NOTE_PTRACE] =
		"wanted to trace others, which was refused because iops traces them",
	[NOTE_SUPERVISED] = "installed a seccomp supervisor: every call stops there",
	[NOTE_COMPAT] = "made calls of an unknown ABI, which are not counted",
};

static void remarks(FILE *out, const struct report_in *in, const struct row *row)
{
	const struct totals *t = stats_totals(in->stats);
	const struct view *v = in->view;
	char a[UNITS_LEN], b[UNITS_LEN], text[300];

	if (t->apart_operations) {
		snprintf(text, sizeof(text),
			"of these pipes, sockets, terminals: %s operation%s, %s",
			units_count(a, t->apart_operations, v->units),
			t->apart_operations == 1 ? "" : "s",
			units_bytes(b, t->apart_bytes, v->units));
		say(out, v, "", text);
	}
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
	for (int i = 0; i < NNOTES; i++)
		if (t->notes[i] && note_text[i]) {
			snprintf(text, sizeof(text), "note: %s process%s %s",
				units_count(a, t->notes[i], v->units),
				t->notes[i] == 1 ? "" : "es", note_text[i]);
			say(out, v, "", text);
		}
}

static void left_behind(FILE *out, const struct report_in *in)
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

/* Cut the text of the first columns so that the rest fits the terminal. */
struct grid {
	const struct column *column[MAX_COLUMNS];
	struct column found[MAX_COLUMNS];
	unsigned n;
};

static void default_columns(enum dim dim, struct grid *g)
{
	char words[512], *save = NULL;
	bool data = dim != DIM_CALL && dim != DIM_KIND && dim != DIM_ERROR;

	snprintf(words, sizeof(words), "%s%s", by_default[dim], data ? data_default : "");
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (column_find(w, &g->found[g->n])) {
			g->column[g->n] = &g->found[g->n];
			g->n++;
		}
}

/* "reads" is plainer than "read_operations"; "bytes" stands right of what it counts. */
static const char *title_of(const struct column *c, bool chosen, char buf[64])
{
	const char *title = c->title ? c->title : c->name;

	if (!c->of_series || c->class == NCLASS) {
		return !chosen && !strcmp(title, "time") ? "I/O time" : title;
	} else if (!strcmp(c->name, "operations") && c->class <= CLASS_WRITE) {
		return c->class == CLASS_READ ? "reads" : "writes";
	} else if (!chosen && !strcmp(c->name, "bytes")) {
		return "bytes";
	}
	snprintf(buf, 64, "%s %s", op_class_name(c->class), title);
	return buf;
}

static bool is_text(const struct column *c, struct line *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct value v = column_value(c, &l[i]);
		if (v.type != VALUE_NONE)
			return v.type == VALUE_STR;
	}
	return !c->of_series && strcmp(c->name, "inode") != 0;
}

/* How wide the widest text column may be: what the others leave of the terminal. */
static size_t text_room(
	const struct grid *g, struct line *l, size_t n, const struct view *v)
{
	size_t fixed = 0, texts = 0;
	char title[64], buf[UNITS_LEN];

	for (unsigned c = 0; c < g->n; c++) {
		size_t most = units_width(title_of(g->column[c], v->ncolumns, title));
		bool text = is_text(g->column[c], l, n);
		texts += text;
		for (size_t i = 0; i < n && !text; i++) {
			struct value val = column_value(g->column[c], &l[i]);
			/* Process and thread ids are names, not amounts. */
			size_t w = strlen(value_text(&val, v->units, buf));
			most = w > most ? w : most;
		}
		fixed += text ? gap(v) : most + gap(v);
	}
	if (!v->width || !texts)
		return WIDE * 20;
	return v->width > fixed + NAME_MIN * texts ? (v->width - fixed) / texts
						   : NAME_MIN;
}

static bool is_id(const struct column *c)
{
	return !c->of_series && (strstr(c->name, "pid") || strstr(c->name, "tid") ||
					!strcmp(c->name, "inode"));
}

static int fill_line(
	struct libscols_line *ln, const struct grid *g, struct line *l, size_t room)
{
	const struct view *v = l->in->view;
	char buf[UNITS_LEN], shown[WIDE * 24];
	int err = 0;

	for (unsigned c = 0; c < g->n && !err; c++) {
		struct value val = column_value(g->column[c], l);
		bool name = !g->column[c]->of_series && val.type == VALUE_NONE && !c;
		const char *text =
			name ? "(unknown)"
			     : value_text(&val,
				       is_id(g->column[c]) ? UNITS_RAW : v->units, buf);
		if (val.type == VALUE_STR)
			text = units_elide(shown, sizeof(shown), text, room, v->utf8);
		err = scols_line_set_data(ln, c, text);
	}
	return err;
}

static int breakdown(FILE *out, const struct report_in *in, enum dim dim)
{
	const struct view *v = in->view;
	struct grid g = { .n = 0 };
	size_t n, shown;
	struct line *l = lines_new(in, dim, &n);
	struct libscols_table *tb = table_new(v);
	char title[64];
	int err = l && tb ? 0 : -ENOMEM;

	shown = v->top && v->top < n ? v->top : n;
	for (; g.n < v->ncolumns; g.n++)
		g.column[g.n] = v->column[g.n];
	if (!g.n)
		default_columns(dim, &g);

	size_t room = err ? 0 : text_room(&g, l, shown, v);
	for (unsigned c = 0; c < g.n && !err; c++)
		err = add_column(tb, title_of(g.column[c], v->ncolumns, title),
			      !is_text(g.column[c], l, shown))
			      ? 0
			      : -ENOMEM;
	for (size_t i = 0; i < shown && !err; i++) {
		struct libscols_line *ln = scols_table_new_line(tb, NULL);
		err = ln ? fill_line(ln, &g, &l[i], room) : -ENOMEM;
	}
	if (!err && shown) {
		fputc('\n', out);
		err = print_table(out, tb);
	}
	if (!err && shown < n)
		fprintf(out, "... and %zu more; --top 0 shows all\n", n - shown);
	if (tb)
		scols_unref_table(tb);
	lines_free(l, n);
	return err;
}

static int render(FILE *out, const struct report_in *in)
{
	struct row row;
	struct series all;
	int err = stats_total(in->stats, &row);

	if (err < 0)
		return err;
	if ((err = row_all(&row, false, &all)) < 0) {
		row_fini(&row);
		return err;
	}
	head(out, in);
	if (!in->view->quiet)
		proof(out, in);
	err = summary(out, in, &row, &all);
	if (!err && !in->view->quiet) {
		errors(out, in, &row);
		remarks(out, in, &row);
	}
	left_behind(out, in);
	for (unsigned i = 0; i < in->view->nby && !err && !in->run->counters_only; i++)
		err = breakdown(out, in, in->view->by[i]);
	if (!err && in->view->histogram)
		err = histogram_render(out, in);
	series_fini(&all);
	row_fini(&row);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct report report_table = { "table", "for people", render };
