/*
 * rows.h - the rows of one dimension, found by their key
 */
#ifndef IOPS_SINK_ROWS_H
#define IOPS_SINK_ROWS_H

#include "iops/map.h"
#include "iops/stats.h"

struct table {
	struct row *row;
	size_t n, cap;
	uint32_t *direct; /* by key[0] where that is a small id: place, plus 1 */
	size_t ndirect;
	struct map index; /* key -> place, plus 1, of all other keys */
	size_t last;      /* where the operation before went: often the same place */
};

void table_fini(struct table *t);

/* Room for one more in a growing array of elements of that size. 0 or -ENOMEM. */
int rows_room(void *array, size_t n, size_t *cap, size_t size);

/* A row that is not in the direct table: by the index, or new. NULL: no memory. */
struct row *row_apart(struct table *t, const uint64_t key[2]);

/* The row of a key, made if it is new; t->last is its place. NULL: no memory. */
static inline struct row *row_of(struct table *t, const uint64_t key[2])
{
	size_t at = key[1] || key[0] >= t->ndirect ? 0 : t->direct[key[0]];

	if (!at)
		return row_apart(t, key);
	t->last = at - 1;
	return &t->row[at - 1];
}

#endif
