/*
 * table.c - the report for people
 */
#include "story.h"
#include "iops/layer.h"
#include "iops/report.h"
#include "iops/diag.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { NAME_MIN = 10, WIDE = 200 };

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
	[DIM_HOST] = "host",
	[DIM_GROUP] = "group",
};
static const char data_default[] =
	" read_operations read_bytes write_operations write_bytes all_time_ns";

static const char *style(const struct view *v, const char *sequence)
{
	return v->colour ? sequence : "";
}

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
		return units_count(
			buf, v->rate < 1e18 ? (uint64_t)(v->rate + 0.5) : UINT64_MAX, u);
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
	     by[3 * sizeof(run->backend)], state[64] = "", buf[16];
	size_t at = 0;

	if (*run->title)
		at = snprintf(what, sizeof(what), "%s", run->title);
	for (char *const *arg = run->command; arg && *arg && at < sizeof(what) - 2; arg++)
		at += snprintf(what + at, sizeof(what) - at, "%s%s", at ? " " : "", *arg);
	for (unsigned i = 0;
		!run->command && !*run->title && i < run->npids && at < sizeof(what) - 2;
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
		units_ns(time, run->elapsed_ns, UNITS_IEC), state,
		units_elide(by, sizeof(by), run->backend, sizeof(by), v->text),
		run->complete ? "complete" : "incomplete");
	size_t width = v->width ? v->width : 80, used = strlen(tail) + 9;
	units_elide(shown, sizeof(shown), what,
		width > used + NAME_MIN ? width - used : NAME_MIN, v->text);
	fprintf(out, "%siops: %s%s", style(v, "\033[1m"), shown, style(v, "\033[0m"));
	int gap = (int)(width - units_width(shown) - strlen(tail) - 6);
	fprintf(out, "%*s%s\n", gap > 3 ? gap : 3, "", tail);
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

/* Cut the text of the first columns so that the rest fits the terminal. */
struct grid {
	const struct column *column[MAX_COLUMNS];
	struct column found[MAX_COLUMNS];
	unsigned n;
};

/* meta: it has columns where it was asked for, and there was any. */
static void default_columns(enum dim dim, struct grid *g, bool meta)
{
	char words[512], *save = NULL;
	bool data = dim != DIM_CALL && dim != DIM_KIND && dim != DIM_ERROR;

	snprintf(words, sizeof(words), "%s%s%s", by_default[dim],
		data ? data_default : "",
		data && meta ? " meta_operations meta_errors" : "");
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
	} else if (!chosen && !strcmp(c->name, "operations")) {
		return op_class_name(c->class);
	} else if (!chosen && !strcmp(c->name, "errors")) {
		return "failed";
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
			text = units_elide(shown, sizeof(shown), text, room, v->text);
		err = scols_line_set_data(ln, c, text);
	}
	return err;
}

static int breakdown(FILE *out, const struct report_in *in, enum dim dim)
{
	const struct view *v = in->view;
	struct grid g = { .n = 0 };
	struct lines l;
	int err = lines_of(in, dim, v->top, &l);
	struct libscols_table *tb = table_new(v);
	char title[64];

	err = err ? err : tb ? 0 : -ENOMEM;
	for (; g.n < v->ncolumns; g.n++)
		g.column[g.n] = v->column[g.n];
	if (!g.n)
		default_columns(dim, &g, l.meta);

	size_t room = err ? 0 : text_room(&g, l.line, l.n, v);
	for (unsigned c = 0; c < g.n && !err; c++)
		err = add_column(tb, title_of(g.column[c], v->ncolumns, title),
			      !is_text(g.column[c], l.line, l.n))
			      ? 0
			      : -ENOMEM;
	for (size_t i = 0; i < l.n && !err; i++) {
		struct libscols_line *ln = scols_table_new_line(tb, NULL);
		err = ln ? fill_line(ln, &g, &l.line[i], room) : -ENOMEM;
	}
	if (!err && l.n) {
		fputc('\n', out);
		err = print_table(out, tb);
	}
	if (!err && l.n < l.all)
		fprintf(out, "... and %zu more; --top 0 shows all\n", l.all - l.n);
	if (tb)
		scols_unref_table(tb);
	lines_fini(&l);
	return err;
}

/* Only what lies below the calls was asked for. */
static bool no_calls(const struct report_in *in, const struct row *row)
{
	bool below = false;

	for (int c = 0; c < NCLASS; c++)
		if (row->series[c])
			return false;
	for (unsigned i = LAYER_MAIN + 1; i < NLAYERS; i++)
		below |= stats_layer_sums(in->stats, i) != NULL;
	return below;
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
		words_proof(out, in);
	bool below = no_calls(in, &row);
	err = below ? 0 : summary(out, in, &row, &all);
	if (!err && !in->view->quiet && below) {
		words_remarks(out, in, &row);
	} else if (!err && !in->view->quiet) {
		words_errors(out, in, &row);
		words_remarks(out, in, &row);
	}
	words_left_behind(out, in);
	if (!err && story_there(in))
		err = story_table(out, in);
	for (unsigned i = 0; i < in->view->nby && !err && !in->run->counters_only; i++)
		err = breakdown(out, in, in->view->by[i]);
	if (!err && in->view->histogram)
		err = histogram_render(out, in);
	series_fini(&all);
	row_fini(&row);
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct report report_table = { "table", "for people", render };
