/*
 * ahead.c - call sites that are patched before they are hot
 *
 * In an address space in which nobody else runs: those that other processes have met in
 * the same file, and before the first thread begins those that threads are likely to
 * call. Many together take less time than a few one by one, most of all where they are
 * near each other: a page is read once and written once.
 */
#include "../tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

/* Memory of the task, within one page: that is written or not, but not half of it. */
struct part {
	uint64_t from;
	size_t len;
	uint8_t byte[PAGE];
};

/* A site with all that it changes and is: from lo to below hi, in one page. */
struct change {
	uint64_t at, lo, hi;
	struct plan plan;
	struct part *in;
};

enum { PARTS = 12 };

/* Of several sites, before any of them is changed. */
struct work {
	struct change change[TEXTS_MAX];
	unsigned n;
	struct part part[PARTS];
	unsigned nparts;
	struct stub_code stub[TEXTS_MAX];
	unsigned nstubs;
	uint64_t across[TEXTS_MAX]; /* sites whose changes are in two pages */
	unsigned nacross;
};

static int by_place(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* What is where a plan wants a change. */
static struct change change_of(uint64_t at, const struct plan *p)
{
	uint64_t patch = at + (uint64_t)p->patch, cave = at + (uint64_t)p->cave;
	struct change c = { at, patch, at + 2, *p, NULL };

	if (p->cave) {
		c.lo = cave < patch ? cave : patch;
		c.hi = cave + STUB_JUMP > c.hi ? cave + STUB_JUMP : c.hi;
	}
	return c;
}

static void find_changes(
	struct tracer *t, struct task *k, const uint64_t *at, unsigned n, struct work *w)
{
	struct plan plan[TEXTS_MAX];

	w->n = w->nacross = 0;
	text_plans(texts_of(t), k->space, k->tid, at, n, plan);
	for (unsigned i = 0; i < n; i++) {
		const struct change c = change_of(at[i], &plan[i]);
		const struct site *s =
			plan[i].length ? space_site(k->space, at[i]) : NULL;
		if (!s || s->state != SITE_COLD)
			continue;
		if (c.lo / PAGE == (c.hi - 1) / PAGE)
			w->change[w->n++] = c;
		else
			w->across[w->nacross++] = at[i];
	}
	qsort(w->change, w->n, sizeof(*w->change), by_place);
}

/* Which parts of the memory changes are in, from the first of them on: as many of them as
 * there is room for. How many. */
static unsigned find_parts(struct work *w, unsigned first)
{
	unsigned i = first;

	w->nparts = 0;
	for (; i < w->n; i++) {
		struct change *c = &w->change[i];
		struct part *p = w->nparts ? &w->part[w->nparts - 1] : NULL;
		if (!p || c->lo / PAGE != p->from / PAGE) {
			if (w->nparts == PARTS)
				break;
			p = &w->part[w->nparts++];
			p->from = c->lo;
			p->len = 0;
		}
		p->len = c->hi - p->from > p->len ? c->hi - p->from : p->len;
		c->in = p;
	}
	return i - first;
}

static bool read_parts(pid_t tid, struct work *w)
{
	struct iovec mine[PARTS], theirs[PARTS];
	size_t len = 0;

	for (unsigned i = 0; i < w->nparts; i++) {
		struct part *p = &w->part[i];
		mine[i] = (struct iovec){ p->byte, p->len };
		theirs[i] = (struct iovec){ (void *)(uintptr_t)p->from, p->len };
		len += p->len;
	}
	return process_vm_readv(tid, mine, w->nparts, theirs, w->nparts, 0) ==
	       (ssize_t)len;
}

static uint8_t *byte_at(const struct change *c, uint64_t at)
{
	return c->in->byte + (at - c->in->from);
}

/* Whether there is what the plan was made for, and the call that nobody has made yet. */
static bool is_as_planned(const struct change *c)
{
	const struct plan *p = &c->plan;

	return !memcmp(byte_at(c, c->at), "\x0f\x05", 2) &&
	       !memcmp(byte_at(c, c->at + (uint64_t)p->patch), p->old, p->length) &&
	       (!p->cave || !memcmp(byte_at(c, c->at + (uint64_t)p->cave), p->old + 2,
				    STUB_JUMP));
}

/* The jump to its stub, in the part that was read. */
static void put_jump(const struct change *c, struct site *s)
{
	struct stub_code jump;

	memcpy(byte_at(c, s->patch), s->now, s->length);
	if (s->cave) {
		stub_jump(&jump, s->cave, s->stub);
		memcpy(byte_at(c, s->cave), jump.byte, STUB_JUMP);
	}
	s->state = SITE_PATCHED;
}

/* Stubs that follow each other are written at once. 0, or -errno. */
static int write_stubs(int mem, const struct stub_code *stub, unsigned n)
{
	uint8_t bytes[PAGE];
	int err = 0;

	for (unsigned i = 0, end; i < n && !err; i = end) {
		size_t len = 0;
		for (end = i; end < n && stub[end].at == stub[i].at + len &&
			      len + STUB_SIZE <= sizeof(bytes);
			end++, len += STUB_SIZE)
			memcpy(bytes + len, stub[end].byte, STUB_SIZE);
		err = mem_write(mem, stub[i].at, bytes, len);
	}
	return err;
}

/* Stubs first: nobody gets to what is not there yet. */
static int write_parts(struct tracer *t, struct task *k, const struct work *w)
{
	int mem = stand_mem(t->fast, k->tid);
	int err = mem < 0 ? mem : write_stubs(mem, w->stub, w->nstubs);

	for (unsigned i = 0; i < w->nparts && !err; i++)
		err = mem_write(mem, w->part[i].from, w->part[i].byte, w->part[i].len);
	return err;
}

/* Some of the changes. 0, or -errno. */
static int change(struct tracer *t, struct task *k, struct stand *st, struct work *w,
	unsigned first, unsigned n)
{
	int err = 0;

	w->nstubs = 0;
	if (!read_parts(k->tid, w))
		return -EFAULT;
	for (unsigned i = first; i < first + n && (!err || err == -ENOEXEC); i++) {
		struct change *c = &w->change[i];
		struct site *s = space_find(k->space, c->at);
		if (!is_as_planned(c))
			continue;
		err = patch_draft(t, k, st, s, &c->plan, &w->stub[w->nstubs]);
		if (err)
			continue;
		w->nstubs++;
		put_jump(c, s);
	}
	return err == -ESRCH ? err : write_parts(t, k, w);
}

/*
 * Several sites, up to TEXTS_MAX, of one file. Those that cannot be patched are left as
 * they are. 0, or -errno.
 */
static int patch_many(struct tracer *t, struct task *k, struct stand *st,
	const uint64_t *at, unsigned n)
{
	struct work *w = malloc(sizeof(*w)); /* most of it is not used */
	int err = w ? 0 : -ENOMEM;

	if (w)
		find_changes(t, k, at, n, w);
	for (unsigned i = 0, some; w && i < w->n && err != -ESRCH; i += some) {
		some = find_parts(w, i);
		err = change(t, k, st, w, i, some);
	}
	for (unsigned i = 0; w && i < w->nacross && err != -ESRCH; i++)
		if (text_is_call(k->tid, w->across[i])) /* nobody has made it yet */
			err = patch_site(t, k, st, w->across[i]);
	free(w);
	return err;
}

/*
 * What threads are likely to call from the code around an address, while that takes no
 * breakpoints. 0, or -errno.
 */
static int patch_likely(
	struct tracer *t, struct task *k, struct stand *st, uint64_t around)
{
	enum { MANY = 320 };
	bool wanted[NSHAPES];
	uint64_t call[MANY];
	int err = 0;

	fast_likely(wanted);
	unsigned n =
		text_calls(texts_of(t), k->space, k->tid, around, wanted, call, MANY);
	for (unsigned i = 0; i < n && err != -ESRCH; i += TEXTS_MAX)
		err = patch_many(
			t, k, st, call + i, n - i < TEXTS_MAX ? n - i : TEXTS_MAX);
	return err;
}

/* What others have called from the code around an address, which text_look() has been
 * asked about. 0, or -errno. */
int ahead_met(struct tracer *t, struct task *k, struct stand *st, uint64_t around)
{
	uint64_t call[TEXT_MET];
	unsigned n = text_met_before(k->space, around, call);

	return n ? patch_many(t, k, st, call, n) : 0;
}

/* Whether nobody else runs there, and nothing has been taken back. */
static bool is_alone(const struct tracer *t, const struct task *k)
{
	const struct space *sp = k->space;

	return t->launch && !k->lender && space_is_alone(sp) &&
	       sp->state == SPACE_READY && !sp->undone;
}

/* At a stop: what others have met around several addresses. 0, or -ESRCH. */
static int met_around(struct tracer *t, struct task *k, const uint64_t *at, unsigned n)
{
	struct stand st;

	if (!n || stand_begin(t, k, &st) < 0)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (ahead_met(t, k, &st, at[i]) == -ESRCH)
			return -ESRCH;
	stand_same(k, &st);
	return 0;
}

/*
 * At the stop of a call at that address that is not patched: if it is the first one from
 * its mapping, all that others have met there; else, once, what many programs call. 0, or
 * -ESRCH.
 */
int ahead_of_code(struct tracer *t, struct task *k, uint64_t at)
{
	struct space *sp = k->space;

	if (!is_alone(t, k))
		return 0;
	maps_forget(&t->fast->texts.maps); /* it has run since */
	if (text_look(texts_of(t), sp, k->tid, at))
		return met_around(t, k, &at, 1);
	if (sp->often || !foresee_often(t->foresight, texts_of(t)))
		return 0;
	sp->often = true;
	return ahead_of_child(t, k);
}

/* At a stop that comes once the loader has done its work: the same in all of its files
 * that have no call of their own yet. 0, or -ESRCH. */
int ahead_of_files(struct tracer *t, struct task *k)
{
	struct fast *f = t->fast;
	uint64_t at[SPACE_CODES];
	struct mapping m;
	size_t next = 0;
	unsigned n = 0;

	maps_forget(&f->texts.maps);
	if (!is_alone(t, k) || maps_of(&f->texts.maps, k->tid) < 0)
		return 0;
	struct texts *xs = texts_of(t);
	while (n + 1 < SPACE_CODES && maps_next(&f->texts.maps, &next, &m))
		if (text_is_met(xs, &m) && text_look(xs, k->space, k->tid, m.from))
			at[n++] = m.from;
	return met_around(t, k, at, n);
}

/* Whether ahead_of_child() would do anything. */
bool ahead_is_due(const struct tracer *t, const struct task *k)
{
	uint64_t at[SPACE_CODES];

	return is_alone(t, k) && text_met_since(k->space, at);
}

/*
 * At the stop of a call that makes a child: what those before it have met in the same
 * code, and the parent itself may never call. 0, or -ESRCH.
 */
int ahead_of_child(struct tracer *t, struct task *k)
{
	uint64_t at[SPACE_CODES];

	return is_alone(t, k) ? met_around(t, k, at, text_met_since(k->space, at)) : 0;
}

/* What threads are likely to call, in all code that is known. 0, or -ESRCH. */
static int patch_for_threads(struct tracer *t, struct task *k, struct stand *st)
{
	struct space *sp = k->space;
	int err = 0;

	sp->threads = true;
	foresee_threads(t->foresight, texts_of(t));
	for (unsigned i = 0; i < SPACE_CODES && err != -ESRCH; i++)
		if (sp->code[i].to)
			err = patch_likely(t, k, st, sp->code[i].from);
	return err == -ESRCH ? err : 0;
}

/* Before the first thread, at the stop of its call. 0, or -ESRCH. */
int ahead_of_threads(struct tracer *t, struct task *k)
{
	struct space *sp = k->space;
	struct stand st;

	if (sp->state != SPACE_READY || stand_begin(t, k, &st) < 0)
		return 0;
	int err = patch_for_threads(t, k, &st);
	if (!err)
		stand_same(k, &st);
	return err;
}

/* Whether that is still to be done where there is a filter, and nobody else may run. */
bool ahead_may(const struct tracer *t, const struct space *sp)
{
	return t->launch && sp->state == SPACE_READY && !sp->threads && !sp->undone &&
	       t->fast->after > 1;
}

/*
 * The same below a filter, and what else would take long later. The call is made again.
 * Results as those of patch_hot().
 */
int ahead_below_filter(struct tracer *t, struct task *k, uint64_t at)
{
	struct space *sp = k->space;
	struct stand st;
	bool registered = sp->registered;
	int err = 0;

	sp->registered = true;
	if (stand_begin(t, k, &st) < 0)
		return 0;
	if (!registered)
		err = setup_register(t, k, &st);
	if (!err && ahead_may(t, sp))
		err = patch_for_threads(t, k, &st);
	if (err == -ESRCH)
		return err;
	stand_end(k, &st, at);
	return 1;
}
