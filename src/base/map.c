/*
 * map.c - open addressing with linear probing; deletion shifts back, no tombstones
 */
#include "iops/map.h"

#include <errno.h>
#include <stdlib.h>

/* One after the other: both may count up, and in step with each other. */
static size_t home(const struct map *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ a >> 32) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ b) * 0xbf58476d1ce4e5b9u;
	return (h ^ h >> 32) & (m->cap - 1);
}

/* The slot that holds the key, or the empty one where it would go. cap > n. */
static struct map_slot *find(const struct map *m, uint64_t a, uint64_t b)
{
	size_t i = home(m, a, b);

	while (m->slot[i].value && (m->slot[i].a != a || m->slot[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

static int grow(struct map *m)
{
	struct map bigger = { .cap = m->cap ? 2 * m->cap : 16, .n = m->n };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slot[i].value)
			*find(&bigger, m->slot[i].a, m->slot[i].b) = m->slot[i];
	free(m->slot);
	*m = bigger;
	return 0;
}

uintptr_t map_get(const struct map *m, uint64_t a, uint64_t b)
{
	return m->n ? find(m, a, b)->value : 0;
}

int map_put(struct map *m, uint64_t a, uint64_t b, uintptr_t value)
{
	if (4 * (m->n + 1) > 3 * m->cap && grow(m) < 0)
		return -ENOMEM;

	struct map_slot *s = find(m, a, b);
	m->n += !s->value;
	*s = (struct map_slot){ a, b, value };
	return 0;
}

uintptr_t map_del(struct map *m, uint64_t a, uint64_t b)
{
	if (!m->n)
		return 0;

	struct map_slot *s = find(m, a, b);
	uintptr_t value = s->value;
	if (!value)
		return 0;

	size_t hole = s - m->slot, mask = m->cap - 1;
	for (size_t i = (hole + 1) & mask; m->slot[i].value; i = (i + 1) & mask) {
		/* Move back what would not be found beyond a hole. */
		size_t want = home(m, m->slot[i].a, m->slot[i].b);
		if (((i - want) & mask) >= ((i - hole) & mask)) {
			m->slot[hole] = m->slot[i];
			hole = i;
		}
	}
	m->slot[hole].value = 0;
	m->n--;
	return value;
}

void map_fini(struct map *m)
{
	free(m->slot);
	*m = (struct map){ 0 };
}
