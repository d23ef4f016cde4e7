/*
 * map.h - a hash table from two words to one.
 */
#ifndef IOPS_MAP_H
#define IOPS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t a, b;
	uintptr_t value; /* 0: empty */
};

/* All zero is an empty map. */
struct map {
	struct map_slot *slot;
	size_t cap, n;
};

/* The value, or 0. */
uintptr_t map_get(const struct map *m, uint64_t a, uint64_t b);

/* Set the value, which must not be 0. 0 or -ENOMEM. */
int map_put(struct map *m, uint64_t a, uint64_t b, uintptr_t value);

/* Forget the key; its value or 0. */
uintptr_t map_del(struct map *m, uint64_t a, uint64_t b);

void map_fini(struct map *m);

#endif
