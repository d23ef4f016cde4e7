/*
 * space.c - address spaces and what was changed in them
 */
#include "fast.h"

#include <stdlib.h>
#include <string.h>

struct space *space_new(void)
{
	struct space *s = calloc(1, sizeof(*s));

	if (s)
		s->refs = 1;
	return s;
}

/* NULL: no memory. */
struct space *space_copy(struct space *of)
{
	struct space *s = space_new();

	if (!s)
		return NULL;
	s->state = of->state;
	s->locked = of->locked;
	s->keyed = of->keyed;
	s->quit = of->quit;
	s->dispatches = of->dispatches;
	s->strays = of->strays;
	s->own = of->own;
	s->barrier = of->barrier;
	s->often = of->often;
	s->undone = of->undone;
	s->lean = of->lean;
	s->hits = of->hits;
	memcpy(s->code, of->code, sizeof(s->code));
	s->ncodes = of->ncodes;
	s->site = malloc((of->nsites + 1) * sizeof(*s->site));
	s->stubs = malloc((of->nstubs + 1) * sizeof(*s->stubs));
	if (!s->site || !s->stubs) {
		space_put(s);
		return NULL;
	}
	if (of->nsites)
		memcpy(s->site, of->site, of->nsites * sizeof(*s->site));
	if (of->nstubs)
		memcpy(s->stubs, of->stubs, of->nstubs * sizeof(*s->stubs));
	for (unsigned i = 0; i < of->nsites; i++)
		if (map_put(&s->index, s->site[i].at, 0, i + 1) < 0) {
			space_put(s);
			return NULL;
		}
	s->nsites = of->nsites;
	s->cap = of->nsites + 1;
	s->nstubs = of->nstubs;
	s->rings = of->rings ? rings_get(of->rings) : NULL;
	s->mapped = of->mapped;
	s->hooked = of->hooked;
	s->taken = of->taken;
	return s;
}

void space_put(struct space *s)
{
	if (!s || --s->refs)
		return;
	rings_put(s->rings);
	map_fini(&s->index);
	free(s->site);
	free(s->stubs);
	free(s);
}

struct site *space_find(struct space *s, uint64_t at)
{
	size_t n = map_get(&s->index, at, 0);

	return n ? &s->site[n - 1] : NULL;
}

/* Found or added; valid until the next one is added. NULL: no memory. */
struct site *space_site(struct space *s, uint64_t at)
{
	struct site *found = space_find(s, at);

	if (found)
		return found;
	if (s->nsites == s->cap) {
		unsigned cap = s->cap ? 2 * s->cap : 16;
		struct site *more = realloc(s->site, cap * sizeof(*more));
		if (!more)
			return NULL;
		s->site = more;
		s->cap = cap;
	}
	if (map_put(&s->index, at, 0, s->nsites + 1) < 0)
		return NULL;
	s->site[s->nsites] = (struct site){ .at = at };
	return &s->site[s->nsites++];
}

struct site *space_site_of_stub(struct space *s, uint64_t ip)
{
	for (unsigned i = 0; i < s->nstubs; i++) {
		if (ip < s->stubs[i].at || ip >= s->stubs[i].at + 4096)
			continue;
		uint64_t stub = ip - (ip - s->stubs[i].at) % STUB_SIZE;
		for (unsigned n = 0; n < s->nsites; n++)
			if (s->site[n].stub == stub)
				return &s->site[n];
	}
	return NULL;
}

/* The patched site that begins there. */
struct site *space_site_of_patch(struct space *s, uint64_t ip)
{
	for (unsigned n = 0; n < s->nsites; n++)
		if (s->site[n].patch == ip && s->site[n].patch)
			return &s->site[n];
	return NULL;
}

/* Likewise, by its second jump. */
struct site *space_site_of_cave(struct space *s, uint64_t ip)
{
	for (unsigned n = 0; n < s->nsites; n++)
		if (s->site[n].cave == ip && s->site[n].cave)
			return &s->site[n];
	return NULL;
}
