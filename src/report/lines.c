/*
 * lines.c - the lines of a breakdown, in their order
 *
 * There may be a line for each of a million files, of which ten are shown: only as many
 * are kept while looking for the largest.
 */
#include "iops/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calls, kinds and errors are shown with all that was done, files with what moved data.
 */
static bool whole(enum dim dim)
{
	return dim == DIM_CALL || dim == DIM_KIND || dim == DIM_ERROR;
}

static double weight(const struct value *v)
{
	return v->type == VALUE_RATE || v->type == VALUE_BYTE_RATE ? v->rate
								   : (double)v->num;
}

static int compare(const void *a, const void *b)
{
	struct line *x = (struct line *)a, *y = (struct line *)b;
	const struct column *sort = x->in->view->sort;

	if (sort) {
		struct value v = column_value(sort, x), w = column_value(sort, y);
		if ((v.type == VALUE_NONE) != (w.type == VALUE_NONE))
			return v.type == VALUE_NONE ? 1 : -1; /* unknown comes last */
		int c = v.type == VALUE_STR && w.type == VALUE_STR ? strcmp(v.str, w.str)
								   : 0;
		if (c)
			return c;
		if (v.type != VALUE_STR && weight(&v) != weight(&w))
			return weight(&v) < weight(&w) ? 1 : -1;
	}
	if (x->all.bytes != y->all.bytes)
		return x->all.bytes < y->all.bytes ? 1 : -1;
	if (x->all.operations != y->all.operations)
		return x->all.operations < y->all.operations ? 1 : -1;
	uint64_t m = line_series(x, CLASS_META)->operations +
		     line_series(x, CLASS_META)->errors;
	uint64_t w = line_series(y, CLASS_META)->operations +
		     line_series(y, CLASS_META)->errors;
	if (m != w)
		return m < w ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void swap(struct line *a, struct line *b)
{
	struct line was = *a;

	*a = *b;
	*b = was;
}

/* A heap whose root is the line that comes last: a new root sinks to its place. */
static void sink(struct line *l, size_t n)
{
	for (size_t at = 0, next; (next = 2 * at + 1) < n; at = next) {
		if (next + 1 < n && compare(&l[next + 1], &l[next]) > 0)
			next++;
		if (compare(&l[at], &l[next]) >= 0)
			return;
		swap(&l[at], &l[next]);
	}
}

static void rise(struct line *l, size_t at)
{
	for (size_t up; at && (up = (at - 1) / 2, compare(&l[at], &l[up]) > 0); at = up)
		swap(&l[at], &l[up]);
}

/* Keep the first of all lines, as many as there is room for. */
static void keep(struct lines *to, size_t room, struct line *new)
{
	if (to->n < room) {
		to->line[to->n] = *new;
		if (room < to->all)
			rise(to->line, to->n);
		to->n++;
	} else if (compare(new, &to->line[0]) < 0) {
		series_fini(&to->line[0].all);
		to->line[0] = *new;
		sink(to->line, to->n);
	} else {
		series_fini(&new->all);
	}
}

/* Of many rows hardly any is in a cache. */
static void row_fetch(const struct row *row)
{
	__builtin_prefetch(row->series[CLASS_READ]);
	__builtin_prefetch(row->series[CLASS_WRITE]);
}

/* Whether it comes behind all of those by what it has moved: most of many do. */
static bool is_behind(const struct lines *to, size_t room, const struct row *row)
{
	uint64_t bytes = 0;

	if (to->n < room || room == to->all || !room)
		return false;
	for (unsigned c = 0; c < NCLASS; c++)
		bytes += row->series[c] ? row->series[c]->bytes : 0;
	return bytes < to->line[0].all.bytes;
}

/* Those of what did not fail are none. */
static bool is_line(enum dim dim, const struct row *row)
{
	return dim != DIM_ERROR || row->key[0];
}

int lines_of(const struct report_in *in, enum dim dim, size_t top, struct lines *out)
{
	enum { AHEAD = 8 };
	size_t rows, all = 0;
	const struct row *row = stats_rows(in->stats, dim, &rows);

	for (size_t i = 0; i < rows; i++)
		all += is_line(dim, &row[i]);
	size_t room = top && top < all ? top : all;
	*out = (struct lines){ .line = calloc(room + 1, sizeof(*out->line)), .all = all };
	if (!out->line)
		return -ENOMEM;
	/* Unless a column decides, which may be of a histogram, sums do: those that are
	 * merged for each of many files take longest of all. */
	bool sums = !in->view->sort;
	int err = 0;
	for (size_t i = 0; i < rows && !err; i++) {
		struct line new;
		if (i + AHEAD < rows)
			row_fetch(&row[i + AHEAD]);
		if (!is_line(dim, &row[i]))
			continue;
		out->meta |= row[i].series[CLASS_META] != NULL;
		if (sums && is_behind(out, room, &row[i]))
			continue;
		new = (struct line){ .in = in, .row = &row[i], .dim = dim };
		if (sums)
			row_sums(new.row, whole(dim), &new.all);
		else
			err = row_all(new.row, whole(dim), &new.all);
		if (!err)
			keep(out, room, &new);
	}
	for (size_t i = 0; i < out->n && sums && !err; i++)
		err = row_all(out->line[i].row, whole(dim), &out->line[i].all);
	if (err < 0)
		lines_fini(out);
	else
		qsort(out->line, out->n, sizeof(*out->line), compare);
	return err;
}

void lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		series_fini(&l->line[i].all);
	free(l->line);
	*l = (struct lines){ .line = NULL };
}
