/*
 * diff.c - two runs compared: totals, files and calls
 *
 * Files are the same if their paths are: inode numbers are of no use across machines.
 */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t magnitude(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Bytes first, then operations, then what failed or moved nothing. */
static int compare(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	uint64_t (*const of[])(
		const struct series *) = { diff_bytes, diff_operations, diff_errors };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		uint64_t m = magnitude(of[i](&a->side[0].all), of[i](&a->side[1].all));
		uint64_t n = magnitude(of[i](&b->side[0].all), of[i](&b->side[1].all));
		if (m != n)
			return m < n ? 1 : -1;
	}
	uint64_t m = magnitude(diff_meta(&a->side[0]), diff_meta(&a->side[1]));
	uint64_t n = magnitude(diff_meta(&b->side[0]), diff_meta(&b->side[1]));
	if (m != n)
		return m < n ? 1 : -1;
	return strcmp(a->name, b->name);
}

uint64_t diff_bytes(const struct series *s)
{
	return s->bytes;
}

uint64_t diff_operations(const struct series *s)
{
	return s->operations;
}

uint64_t diff_errors(const struct series *s)
{
	return s->errors;
}

uint64_t diff_requested(const struct series *s)
{
	return series_requested(s);
}

uint64_t diff_time(const struct series *s)
{
	return s->time_ns;
}

uint64_t diff_meta(const struct side *s)
{
	return s->class[CLASS_META].operations + s->class[CLASS_META].errors;
}

static int add_line(struct side *to, const struct line *l)
{
	int err = 0;

	for (int c = 0; c < NCLASS && !err; c++)
		err = series_merge(&to->class[c], line_series(l, c));
	return err ? err : series_merge(&to->all, &l->all);
}

static void change_fini(struct change *c)
{
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < NCLASS; k++)
			series_fini(&c->side[i].class[k]);
		series_fini(&c->side[i].all);
	}
	free(c->name);
}

void changes_free(struct changes *list)
{
	for (size_t i = 0; i < list->n; i++)
		change_fini(&list->change[i]);
	free(list->change);
	map_fini(&list->index);
	*list = (struct changes){ 0 };
}

static struct change *change_of(struct changes *list, uint32_t id, const char *name)
{
	uintptr_t at = map_get(&list->index, id, 0);

	if (at)
		return &list->change[at - 1];
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		struct change *more = realloc(list->change, cap * sizeof(*more));
		if (!more)
			return NULL;
		list->change = more;
		list->cap = cap;
	}
	struct change *c = &list->change[list->n];
	*c = (struct change){ .name = strdup(name) };
	if (!c->name || map_put(&list->index, id, 0, list->n + 1) < 0) {
		free(c->name);
		return NULL;
	}
	list->n++;
	return c;
}

static int add_side(
	struct changes *list, const struct report_in *in, enum dim dim, int side)
{
	struct lines l;
	int err = lines_of(in, dim, 0, &l);

	for (size_t i = 0; i < l.n && !err; i++) {
		uint32_t key = (uint32_t)l.line[i].row->key[0];
		uint32_t id = dim == DIM_FILE ? names_file(in->names, key)->path : key;
		const char *name = dim == DIM_FILE ? names_get(in->names, id)
						   : names_call_name(in->names, key);
		struct change *c = change_of(list, id, *name ? name : "(unknown)");
		err = c ? add_line(&c->side[side], &l.line[i]) : -ENOMEM;
	}
	lines_fini(&l);
	return err;
}

int changes_new(struct changes *list, const struct diff_in *in, enum dim dim)
{
	*list = (struct changes){ 0 };
	int err = add_side(list, in->a, dim, 0);

	if (!err)
		err = add_side(list, in->b, dim, 1);
	if (!err && list->n)
		qsort(list->change, list->n, sizeof(*list->change), compare);
	if (err < 0)
		changes_free(list);
	return err;
}

static int total_side(struct side *to, const struct report_in *in)
{
	struct row row;
	struct line l = { .in = in, .row = &row, .dim = NDIMS };
	int err = stats_total(in->stats, &row);

	if (err < 0)
		return err;
	err = row_all(&row, false, &l.all);
	if (!err)
		err = add_line(to, &l);
	series_fini(&l.all);
	row_fini(&row);
	return err;
}

int change_total(struct change *c, const struct diff_in *in)
{
	*c = (struct change){ .name = strdup("total") };
	int err = c->name ? total_side(&c->side[0], in->a) : -ENOMEM;

	if (!err)
		err = total_side(&c->side[1], in->b);
	if (err < 0)
		change_fini(c);
	return err;
}

void change_total_fini(struct change *c)
{
	change_fini(c);
}

const struct series *side_series(const struct side *s, unsigned class)
{
	return class == NCLASS ? &s->all : &s->class[class];
}

bool change_any(const struct change *c)
{
	uint64_t (*const of[])(const struct series *) = { diff_bytes, diff_operations,
		diff_errors, diff_requested };

	for (unsigned k = 0; k <= NCLASS; k++)
		for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
			if (of[i](side_series(&c->side[0], k)) !=
				of[i](side_series(&c->side[1], k)))
				return true;
	return false;
}
