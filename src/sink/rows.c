/*
 * rows.c - the rows of one dimension: by a table where keys are small, else by an index
 */
#include "rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIRECT = 1 << 22 };

void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		row_fini(&t->row[i]);
	free(t->row);
	free(t->direct);
	map_fini(&t->index);
}

int rows_room(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return 0;

	size_t more = *cap ? 2 * *cap : 16;
	void *bigger = realloc(*(void **)array, more * size);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*cap = more;
	return 0;
}

/* Room for one more id in the direct table, which grows as ids do. */
static int reach(struct table *t, uint64_t id)
{
	size_t n = t->ndirect ? 2 * t->ndirect : 64;

	if (id < t->ndirect)
		return 0;
	while (n <= id)
		n *= 2;
	uint32_t *more = realloc(t->direct, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + t->ndirect, 0, (n - t->ndirect) * sizeof(*more));
	t->direct = more;
	t->ndirect = n;
	return 0;
}

static struct row *row_new(struct table *t, const uint64_t key[2], bool small)
{
	if (rows_room(&t->row, t->n, &t->cap, sizeof(*t->row)) < 0 ||
		(small ? reach(t, key[0])
		       : map_put(&t->index, key[0], key[1], t->n + 1)) < 0)
		return NULL;
	if (small)
		t->direct[key[0]] = t->n + 1;
	t->row[t->n] = (struct row){ .key = { key[0], key[1] } };
	t->last = t->n++;
	return &t->row[t->last];
}

struct row *row_apart(struct table *t, const uint64_t key[2])
{
	bool small = !key[1] && key[0] < MAX_DIRECT;
	size_t at = small ? 0 : map_get(&t->index, key[0], key[1]);

	if (!at)
		return row_new(t, key, small);
	t->last = at - 1;
	return &t->row[at - 1];
}
