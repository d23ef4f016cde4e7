/*
 * touch.c - records still to come that change paths, by the names that they touch
 *
 * Whether one of them may be about a path is asked for nearly every file that is opened,
 * and a ring holds thousands of records. So each is looked at once, and listed by the
 * last parts of its paths until it has been read.
 */
#include "../tracer.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 256 };

/* A path of a record. Numbered from 1 in the order of records. */
struct touch {
	uint64_t at;   /* of the record, in its ring */
	uint64_t prev; /* the number of the one before of its kind; 0: none */
	uint32_t hash;
};

struct touches {
	uint64_t from, to;    /* the numbers that are listed: from, ... to - 1 */
	uint64_t last[KINDS]; /* number of the last of a kind */
	size_t cap;           /* a power of two */
	struct touch of[];    /* by number */
};

static struct touch *touch_at(struct touches *x, uint64_t number)
{
	return &x->of[number & (x->cap - 1)];
}

/* One with more room, in place of one or of none. NULL: no memory. */
static struct touches *grown(struct touches *x)
{
	size_t cap = x ? 2 * x->cap : 64;
	struct touches *more = malloc(sizeof(*more) + cap * sizeof(more->of[0]));

	if (!more)
		return NULL;
	*more = x ? *x : (struct touches){ .from = 1, .to = 1 };
	more->cap = cap;
	for (uint64_t i = more->from; i < more->to; i++)
		*touch_at(more, i) = *touch_at(x, i);
	free(x);
	return more;
}

static uint32_t hash(const char *part, size_t len)
{
	uint32_t h = 2166136261;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)part[i]) * 16777619;
	return h ^ h >> 15;
}

/* The last part of a path. */
static uint32_t last_part(const char *path)
{
	size_t end = strlen(path), at;

	while (end && path[end - 1] == '/')
		end--;
	for (at = end; at && path[at - 1] != '/';)
		at--;
	return hash(path + at, end - at);
}

/* Without memory for the list, each record has to be looked at each time. */
static void add(struct slot *s, uint64_t at, const char *path)
{
	struct touches *x = s->touches;
	uint32_t h = last_part(path);

	if (x->to - x->from == x->cap) {
		x = grown(x);
		if (!x)
			free(s->touches);
		s->touches = x;
	}
	if (!x)
		return;
	*touch_at(x, x->to) = (struct touch){ at, x->last[h % KINDS], h };
	x->last[h % KINDS] = x->to++;
}

static void look_at(const struct fast *f, struct slot *s, const struct fast_rec *r)
{
	char path[2][PATH_LEN + 1];
	unsigned n = rec_npaths(f, r);

	if (!n || r->result < 0)
		return;
	if (!s->renames++ && !s->touches)
		s->touches = grown(NULL);
	rec_paths(r, n, path);
	for (unsigned i = 0; i < n && s->touches; i++)
		add(s, s->looked, path[i]);
}

/* What is said of a path while it is no record yet, or a call is in flight. */
static const struct fast_rec *at_head(const struct fast *f, const struct slot *s)
{
	bool sane;
	const struct fast_rec *r = slot_rec(s, slot_head(s, &sane));

	if (!slot_is_open(s, r) || (r->state == REC_ENDED && r->result < 0))
		return NULL;
	return rec_npaths(f, r) ? r : NULL;
}

static void look_on(const struct fast *f, struct slot *s)
{
	bool sane;
	uint64_t head = slot_head(s, &sane);

	if (s->looked <= s->tail) {
		s->looked = s->tail;
		s->renames = 0;
		if (s->touches)
			s->touches->from = s->touches->to;
	}
	for (; s->looked < head; s->looked += rec_size(f, slot_rec(s, s->looked)))
		look_at(f, s, slot_rec(s, s->looked));
}

/*
 * How many records that are still to come change paths, the one at hand too. Each is
 * looked at once.
 */
unsigned paths_later(struct fast *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->nringed; i++) {
		struct slot *s = &f->ringed[i]->slot;
		look_on(f, s);
		/* It may have ended meanwhile. Of what is no record yet, one too many. */
		n += s->renames + (at_head(f, s) != NULL);
	}
	return n;
}

/* Those of a ring whose last part is that one. */
static bool each_of(
	const struct task *k, const char *part, size_t len, record_fn *fn, void *arg)
{
	struct touches *x = k->slot.touches;
	uint32_t h = hash(part, len);

	for (uint64_t i = x->last[h % KINDS]; i >= x->from; i = touch_at(x, i)->prev)
		if (touch_at(x, i)->hash == h &&
			!fn(k, slot_rec(&k->slot, touch_at(x, i)->at), false, arg))
			return false;
	return true;
}

static bool each_touching(const struct fast *f, const struct task *k, const char *path,
	record_fn *fn, void *arg)
{
	const struct slot *s = &k->slot;

	for (uint64_t at = s->tail; !s->touches && at < s->looked;) {
		const struct fast_rec *r = slot_rec(s, at);
		if (r->result >= 0 && rec_npaths(f, r) && !fn(k, r, false, arg))
			return false;
		at += rec_size(f, r);
	}
	for (size_t len; *path && s->touches; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len && !each_of(k, path, len, fn, arg))
			return false;
	}
	return true;
}

/*
 * Each record that is still to come, of all tasks, and may be about a part of that path,
 * as it changes one of that name; some twice, in no order. false: fn has said so of one.
 */
bool records_touching(struct fast *f, const char *path, record_fn *fn, void *arg)
{
	if (!paths_later(f))
		return true;
	for (unsigned i = 0; i < f->nringed; i++) {
		struct task *k = f->ringed[i];
		const struct fast_rec *r = at_head(f, &k->slot);
		look_on(f, &k->slot); /* it may be told by now */
		if (r && !fn(k, r, true, arg))
			return false;
		if (k->slot.renames && !each_touching(f, k, path, fn, arg))
			return false;
	}
	return true;
}

/* One record further. */
void slot_took(
	const struct fast *f, struct slot *s, const struct fast_rec *r, unsigned size)
{
	struct touches *x = s->touches;

	if (s->tail < s->looked && s->renames && r->result >= 0 && rec_npaths(f, r))
		s->renames--;
	s->tail += size;
	while (x && x->from < x->to && touch_at(x, x->from)->at < s->tail)
		x->from++;
}
