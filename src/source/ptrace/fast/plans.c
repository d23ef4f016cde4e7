/*
 * plans.c - how the calls of a file can be patched, once that was found out
 */
#include "fast.h"

#include <stdlib.h>

const struct plan *plans_get(const struct plans *x, uint64_t call)
{
	size_t n = map_get(&x->number, call, 0);

	return n ? &x->plan[n - 1] : NULL;
}

/* Length 0: it cannot be patched. As it is kept; NULL: no memory. */
const struct plan *plans_add(struct plans *x, uint64_t call, const struct plan *p)
{
	if (!(x->n & (x->n - 1))) {
		size_t cap = x->n ? 2 * x->n : 1;
		struct plan *more = realloc(x->plan, cap * sizeof(*more));
		if (!more)
			return NULL;
		x->plan = more;
	}
	x->plan[x->n] = *p;
	if (map_put(&x->number, call, 0, x->n + 1) < 0)
		return NULL;
	return &x->plan[x->n++];
}

/* Whether the padding at that place is that call's, from now on. */
bool plans_take(struct plans *x, uint64_t cave, uint64_t call)
{
	const uint64_t of = map_get(&x->caves, cave, 0);

	return of ? of == call : !map_put(&x->caves, cave, 0, call);
}

/* What is not known yet; but those whose padding another call has are left out. */
void plans_learn(struct plans *x, const struct plans *from)
{
	for (size_t i = 0; i < from->number.cap; i++) {
		const struct map_slot *s = &from->number.slot[i];
		if (!s->value || plans_get(x, s->a))
			continue;
		const struct plan *p = &from->plan[s->value - 1];
		if (!p->length || !p->cave ||
			plans_take(x, s->a + (uint64_t)p->cave, s->a))
			plans_add(x, s->a, p);
	}
}

void plans_fini(struct plans *x)
{
	map_fini(&x->number);
	map_fini(&x->caves);
	free(x->plan);
}
