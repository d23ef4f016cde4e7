/*
 * requests.c - requests that are not answered yet, by the word that the answer will bear
 *
 * Programs may give several the same word: the oldest of them is answered first, then.
 */
#include "async.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct requests *q)
{
	unsigned cap = q->cap ? 2 * q->cap : 64;
	struct request *all =
		cap > REQUESTS_MAX ? NULL : realloc(q->all, cap * sizeof(*all));

	if (!all)
		return false;
	memset(all + q->cap, 0, (cap - q->cap) * sizeof(*all));
	for (unsigned i = q->cap; i < cap; i++)
		all[i].next = i + 1 < cap ? i + 2 : 0;
	q->all = all;
	q->unused = q->cap + 1;
	q->cap = cap;
	return true;
}

struct request *requests_find(const struct requests *q, uint64_t key)
{
	uintptr_t at = map_get(&q->oldest, key, 0);

	return at ? &q->all[at - 1] : NULL;
}

struct request *requests_add(struct requests *q, uint64_t key)
{
	if (!q->unused && !grow(q))
		return NULL;
	unsigned at = q->unused;
	struct request *r = &q->all[at - 1], *oldest = requests_find(q, key);
	unsigned unused = r->next;

	if (!oldest && map_put(&q->oldest, key, 0, at) < 0)
		return NULL;
	*r = (struct request){ .key = key,
		.last = at,
		.used = true,
		.direct = -1,
		.place = { -1, -1 },
		.open = -1,
		.result = OP_NO_OFFSET };
	if (oldest) {
		q->all[oldest->last - 1].next = at;
		oldest->last = at;
	}
	q->unused = unused;
	q->n++;
	return r;
}

struct request *requests_put(struct requests *q, const struct request *what)
{
	struct request *r = requests_add(q, what->key);

	if (!r)
		return NULL;
	unsigned next = r->next, last = r->last;
	*r = *what;
	r->next = next;
	r->last = last;
	r->used = true;
	q->positions += r->moves != 0;
	return r;
}

static void give_back(struct tracer *t, struct requests *q, struct request *r)
{
	flight_ends(t, r);
	q->positions -= r->moves != 0;
	r->used = false;
	r->next = q->unused;
	q->unused = (unsigned)(r - q->all) + 1;
	q->n--;
}

static void take_oldest(struct tracer *t, struct requests *q, struct request *oldest)
{
	unsigned next = oldest->next;

	if (!next) {
		map_del(&q->oldest, oldest->key, 0);
	} else {
		q->all[next - 1].last = oldest->last;
		map_put(&q->oldest, oldest->key, 0, next); /* is there: needs no memory */
	}
	give_back(t, q, oldest);
}

/* One that may have older ones of its key. */
void requests_done(struct tracer *t, struct requests *q, struct request *r)
{
	struct request *oldest = requests_find(q, r->key), *before = oldest;
	unsigned at = (unsigned)(r - q->all) + 1;

	if (oldest == r) {
		take_oldest(t, q, r);
		return;
	}
	while (before->next != at)
		before = &q->all[before->next - 1];
	before->next = r->next;
	if (oldest->last == at)
		oldest->last = (unsigned)(before - q->all) + 1;
	give_back(t, q, r);
}

bool requests_confused(const struct requests *q, const struct request *r, uint64_t now)
{
	const struct request *next = r->next ? &q->all[r->next - 1] : NULL;

	return next && next->op[0].start_ns < now &&
	       (next->op[0].call != r->op[0].call || next->op[0].file != r->op[0].file);
}

unsigned requests_undo(struct tracer *t, struct requests *q, uint64_t from, pid_t tid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->cap; i++) {
		struct request *r = &q->all[i];
		if (!r->used || r->at < from || (tid && r->op[0].tid != tid))
			continue;
		n += r->wanted;
		requests_done(t, q, r);
	}
	return n;
}

bool requests_refuse(struct tracer *t, struct requests *q, uint64_t at, pid_t tid,
	int64_t err, uint64_t now)
{
	for (unsigned i = 0; i < q->cap; i++) {
		struct request *r = &q->all[i];
		if (!r->used || r->at != at || r->op[0].tid != tid)
			continue;
		async_end(t, r, err, now);
		requests_done(t, q, r);
		return true;
	}
	return false;
}

void requests_fini(struct tracer *t, struct requests *q)
{
	for (unsigned i = 0; i < q->cap; i++)
		if (q->all[i].used)
			flight_ends(t, &q->all[i]);
	free(q->all);
	map_fini(&q->oldest);
	*q = (struct requests){ 0 };
}
