/*
 * diff_table.c - what changed, for people
 */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 27 };

static const char *style(const struct view *v, const char *sequence)
{
	return v->colour ? sequence : "";
}

/* "+1,155", "-4.2 MiB", "" for no change. */
static void change_text(
	char *buf, uint64_t a, uint64_t b, bool bytes, const struct view *v)
{
	char n[UNITS_LEN];
	uint64_t by = a < b ? b - a : a - b;

	*buf = 0;
	if (by)
		snprintf(buf, UNITS_LEN + 1, "%c%s", a < b ? '+' : '-',
			bytes ? units_bytes(n, by, v->units)
			      : units_count(n, by, v->units));
}

/* " -50 %", "  new", " gone". */
static void percent_text(char *buf, size_t size, uint64_t a, uint64_t b)
{
	if (a == b)
		*buf = 0;
	else if (!a)
		snprintf(buf, size, "new");
	else if (!b)
		snprintf(buf, size, "gone");
	else
		snprintf(
			buf, size, "%+.1f %%", ((double)b - (double)a) * 100 / (double)a);
}

static void put_line(FILE *out, const struct diff_in *in, const char *name, uint64_t a,
	uint64_t b, bool bytes)
{
	const struct view *v = in->a->view;
	char x[UNITS_LEN], y[UNITS_LEN], by[UNITS_LEN + 1], percent[24];

	change_text(by, a, b, bytes, v);
	percent_text(percent, sizeof(percent), a, b);
	char *first = bytes ? units_bytes(x, a, v->units) : units_count(x, a, v->units),
	     *second = bytes ? units_bytes(y, b, v->units) : units_count(y, b, v->units);
	fprintf(out, "%-20s %14s %14s %14s", name, first, second, by);
	fprintf(out, *percent ? " %11s\n" : "\n", percent);
}

static void put_total(FILE *out, const struct diff_in *in, const struct change *total)
{
	static const struct {
		unsigned class;
		const char *name;
	} rows[] = { { CLASS_READ, "read" }, { CLASS_WRITE, "write" },
		{ NCLASS, "total" }, { CLASS_SYNC, "sync" }, { CLASS_META, "meta" } };
	const struct view *v = in->a->view;
	char name[32];

	fprintf(out, "%s%-20s %14s %14s %14s%s\n", style(v, "\033[1m"), "", "a", "b",
		"change", style(v, "\033[0m"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct series *a = side_series(&total->side[0], rows[i].class),
				    *b = side_series(&total->side[1], rows[i].class);
		if (i > 2 && !a->operations && !b->operations && !a->errors && !b->errors)
			continue;
		snprintf(name, sizeof(name), "%s operations", rows[i].name);
		put_line(out, in, name, a->operations, b->operations, false);
		snprintf(name, sizeof(name), "%s bytes", rows[i].name);
		if (i <= 2)
			put_line(out, in, name, a->bytes, b->bytes, true);
		snprintf(name, sizeof(name), "%s errors", rows[i].name);
		if (a->errors || b->errors)
			put_line(out, in, name, a->errors, b->errors, false);
	}
	char x[UNITS_LEN], y[UNITS_LEN], percent[24];
	uint64_t m = in->a->run->elapsed_ns, n = in->b->run->elapsed_ns;
	percent_text(percent, sizeof(percent), m, n);
	fprintf(out, "%-20s %14s %14s %14s %11s\n", "elapsed", units_ns(x, m, v->units),
		units_ns(y, n, v->units), "", percent);
}

enum { NCOLUMNS = 5 };

static const struct {
	const char *title;
	int width;
} columns[NCOLUMNS] = { { "operations", 11 }, { "bytes", 12 }, { "sync", 7 },
	{ "meta", 9 }, { "errors", 8 } };

/* false: nothing that has a column. */
static bool row_texts(
	char text[NCOLUMNS][UNITS_LEN + 1], const struct change *c, const struct view *v)
{
	const struct side *a = &c->side[0], *b = &c->side[1];
	bool any = false;

	change_text(text[0], a->all.operations, b->all.operations, false, v);
	change_text(text[1], a->all.bytes, b->all.bytes, true, v);
	change_text(text[2], side_series(a, CLASS_SYNC)->operations,
		side_series(b, CLASS_SYNC)->operations, false, v);
	change_text(text[3], diff_meta(a), diff_meta(b), false, v);
	change_text(text[4], a->all.errors, b->all.errors, false, v);
	for (int i = 0; i < NCOLUMNS; i++)
		any |= *text[i] != 0;
	return any;
}

static void put_row(FILE *out, const struct change *c, char text[NCOLUMNS][UNITS_LEN + 1],
	size_t width, const struct view *v)
{
	char name[4096];

	units_elide(name, sizeof(name), c->name, width, v->text);
	int pad = (int)width - (int)units_width(name);
	fprintf(out, "%s%*s", name, pad > 0 ? pad : 0, "");
	for (int i = 0; i < NCOLUMNS; i++)
		fprintf(out, " %*s", columns[i].width, text[i]);
	fputc('\n', out);
}

static int put_rows(FILE *out, const struct diff_in *in, enum dim dim)
{
	const struct view *v = in->a->view;
	size_t width = v->width > 80 ? v->width - 54 : NAME_WIDTH, shown = 0, same = 0,
	       hidden = 0;
	char text[NCOLUMNS][UNITS_LEN + 1];
	struct changes list;
	int err = changes_new(&list, in, dim);

	if (err < 0)
		return err;
	fprintf(out, "\n%s%-*s", style(v, "\033[1m"), (int)width, dim_name(dim));
	for (int i = 0; i < NCOLUMNS; i++)
		fprintf(out, " %*s", columns[i].width, columns[i].title);
	fprintf(out, "%s\n", style(v, "\033[0m"));
	for (size_t i = 0; i < list.n; i++) {
		bool any = row_texts(text, &list.change[i], v);
		same += !change_any(&list.change[i]);
		hidden += !any && change_any(&list.change[i]);
		if (any && (!v->top || shown < v->top))
			put_row(out, &list.change[i], text, width, v);
		shown += any;
	}
	if (v->top && shown > v->top)
		fprintf(out, "... and %zu more that changed; --top 0 shows all\n",
			shown - v->top);
	if (!v->quiet)
		fprintf(out, "%zu without a change%s", same, hidden ? ", " : "\n");
	if (!v->quiet && hidden)
		fprintf(out, "%zu with changes that only --json tells\n", hidden);
	changes_free(&list);
	return 0;
}

static void put_run(FILE *out, const struct diff_in *in, int side)
{
	const struct run *run = side ? in->b->run : in->a->run;
	char what[512] = "", shown[1200], name[1200], time[UNITS_LEN];
	size_t at = 0;

	for (char *const *arg = run->command; arg && *arg && at < sizeof(what) - 2; arg++)
		at += snprintf(what + at, sizeof(what) - at, "%s%s", at ? " " : "", *arg);
	for (char *p = what; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	units_elide(shown, sizeof(shown), *run->title ? run->title : what, 40,
		in->a->view->text);
	units_elide(name, sizeof(name), in->name[side], sizeof(name), in->a->view->text);
	fprintf(out, "%c: %s: %s, %s%s\n", 'a' + side, name, shown,
		units_ns(time, run->elapsed_ns, UNITS_IEC),
		run->complete ? "" : ", incomplete");
}

int diff_table(FILE *out, const struct diff_in *in)
{
	struct change total;
	int err = change_total(&total, in);

	if (err < 0)
		return err;
	put_run(out, in, 0);
	put_run(out, in, 1);
	fputs("\n", out);
	put_total(out, in, &total);
	change_total_fini(&total);
	err = put_rows(out, in, DIM_FILE);
	if (!err)
		err = put_rows(out, in, DIM_CALL);
	return err ? err : ferror(out) ? -EIO : 0;
}
