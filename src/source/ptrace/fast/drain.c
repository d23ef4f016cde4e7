/*
 * drain.c - rings to records, in the order of their time
 *
 * What one task opens another one may use, so records of all tasks are taken in the
 * order of time: calls that use a descriptor at their start, calls that make one at
 * their end. Only what is older than the start of the pass: whatever could come before
 * that is in its ring by now.
 */
#include "../tracer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A ring at its next record. */
struct cursor {
	struct task *task;
	uint64_t key, head;
	bool flight; /* it is not in the ring yet */
};

static uint32_t state_of(const struct fast_rec *r)
{
	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
}

static uint64_t key_of(const struct fast *f, const struct fast_rec *r)
{
	unsigned shape = nr_shape(f, rec_nr(r));

	return shape_opens(shape) || rec_dups(r) ? r->t1 : r->t0;
}

/* The target has written over its control words: what it did is lost, and it goes on
 * slowly. */
static void distrust(struct tracer *t, struct task *k)
{
	struct op lost = { .kind = OP_LOST,
		.ret = 1,
		.pid = k->process->pid,
		.tid = k->tid,
		.comm = k->process->comm,
		.fd = -1,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.start_ns = tracer_now(t) };

	if (!k->distrusted)
		tracer_put(t, &lost);
	k->distrusted = true;
	k->slot.ctl->limit = 0;
}

static bool is_early(const struct slot *s, const struct fast_rec *r)
{
	return s->early && r->t0 == s->early;
}

/* What is told of later than it was needed does no harm, but what has been answered
 * meanwhile may belong to what others are yet to tell of: uring_told.c. */
static bool has_numbers(const struct fast *f, const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr < NSHAPES && f->shape[nr] == SHAPE_RING;
}

/* A call that is not in the ring yet. It may have ended since that was looked at. */
static bool set_flight(struct fast *f, struct cursor *c, const struct fast_rec *r)
{
	struct slot *s = &c->task->slot;
	uint32_t state = state_of(r);
	uint64_t t0 = r->t0;
	bool sane;

	c->key = state == REC_OWING ? r->t1 : state == REC_ENDED ? key_of(f, r) : t0;
	if (state != REC_ENDED)
		return (state == REC_OWING || (state == REC_BEGUN && t0 != s->begun)) &&
		       t0 > s->ended;
	if (has_numbers(f, r))
		return false;
	c->head = slot_head(s, &sane);
	c->flight = s->tail == c->head;
	return !c->flight || (t0 > s->ended && !is_early(s, r));
}

/* Set the cursor to the next record. false: none for now. */
static bool set(struct fast *f, struct cursor *c)
{
	struct slot *s = &c->task->slot;
	const struct fast_rec *r = slot_rec(s, s->tail);

	c->flight = s->tail == c->head;
	if (c->flight)
		return set_flight(f, c, r);
	__builtin_prefetch((const char *)r + 512);
	c->key = key_of(f, r);
	return true;
}

static bool begin(struct tracer *t, struct cursor *c, struct task *k)
{
	bool sane;

	c->task = k;
	c->head = slot_head(&k->slot, &sane);
	if (!sane) {
		distrust(t, k);
		return false;
	}
	return set(t->fast, c);
}

/*
 * What has opened a file and is still to ask what that is, which it may not do for long.
 * Nothing but the task itself could close it, and its next call would change the state
 * of the record before. false: it has. Where we may not ask, it is to do so by itself,
 * unless it stands still: what it does next may be no call through the hook.
 */
static bool take_owing(
	struct tracer *t, struct task *k, const struct fast_rec *r, bool stands)
{
	union {
		struct fast_rec rec;
		uint8_t all[RING_SLACK];
	} copy;
	const int64_t unknown = -1; /* whatever may be there by now */
	struct slot *s = &k->slot;

	memcpy(&copy, r, R_NEW_PATH);
	unsigned size = rec_size(t->fast, &copy.rec);
	if (size > R_NEW_PATH)
		memcpy(copy.all + R_NEW_PATH, (const uint8_t *)r + R_NEW_PATH,
			size - R_NEW_PATH);
	memcpy(copy.all + R_NEW_STATX, &unknown, sizeof(unknown));
	bool asked = path_ask(t, k, &copy.rec);
	if (state_of(r) != REC_OWING)
		return false;
	if (!rec_may_be(t->fast, &copy.rec)) {
		distrust(t, k);
	} else if (!asked && !stands) {
		slot_asks_now(s);
		return true;
	} else if (!decode_put(t, k, &copy.rec)) {
		distrust(t, k);
	}
	s->early = copy.rec.t0;
	t->fast->when = s->ended = copy.rec.t1;
	t->fast->records++;
	return true;
}

/* Of a record that is whole. */
static void put(struct tracer *t, struct task *k, const struct fast_rec *r, bool fits)
{
	struct slot *s = &k->slot;

	t->fast->when = s->ended = r->t1;
	t->fast->records++;
	if (t->fast->renaming) /* at any time */
		epoch_unsure(t->fast);
	if (!fits || !rec_may_be(t->fast, r) || !decode_put(t, k, r))
		distrust(t, k);
}

/* Returns whether there may be another one by now, or the same at another time. */
static bool take_begun(struct tracer *t, struct cursor *c, const struct task *stands)
{
	struct slot *s = &c->task->slot;
	const struct fast_rec *r = slot_rec(s, s->tail);
	uint32_t state = state_of(r);
	bool sane;

	if (state == REC_BEGUN) {
		decode_begun(t, c->task, r);
		return false;
	}
	if (state == REC_OWING && c->key == r->t1 &&
		take_owing(t, c->task, r, c->task == stands))
		return false;
	c->head = slot_head(s, &sane);
	/* All but told: others may do by now what comes behind it. If it is a record:
	 * what lies there may be any part of one of the lap before. */
	if (state == REC_ENDED && sane && c->head == s->tail && !is_early(s, r) &&
		r->t0 > s->ended && rec_may_be(t->fast, r)) {
		s->early = r->t0;
		put(t, c->task, r, true);
		return false;
	}
	return sane && (state != REC_ENDED || c->head != s->tail);
}

/* Also while a pass goes on: nobody is to wait for its end. */
static void give_room(struct task *k)
{
	struct slot *s = &k->slot;

	if (!k->distrusted)
		__atomic_store_n(
			&s->ctl->limit, s->tail + s->size - RING_SLACK, __ATOMIC_RELEASE);
}

static void take(struct tracer *t, struct cursor *c)
{
	enum { ROOMS = 8 };
	struct slot *s = &c->task->slot;
	const uint64_t before = s->tail, room = s->size / ROOMS;
	const struct fast_rec *r = slot_rec(s, s->tail);
	unsigned size = rec_size(t->fast, r);
	const unsigned left = c->head - s->tail;

	if (!is_early(s, r))
		put(t, c->task, r, size <= left);
	slot_took(t->fast, s, r, size > left ? left : size);
	if ((s->tail ^ before) >= room)
		give_room(c->task);
}

/* The earliest of them, and the earliest key of the others. */
static unsigned earliest(const struct cursor *c, unsigned n, uint64_t *other)
{
	unsigned first = 0;

	*other = UINT64_MAX;
	for (unsigned i = 1; i < n; i++) {
		if (c[i].key < c[first].key) {
			*other = c[first].key < *other ? c[first].key : *other;
			first = i;
		} else if (c[i].key < *other) {
			*other = c[i].key;
		}
	}
	return first;
}

static void merge(struct tracer *t, struct cursor *c, unsigned n, uint64_t until,
	const struct task *stands)
{
	while (n) {
		uint64_t other;
		unsigned i = earliest(c, n, &other);
		if (c[i].key >= until)
			break;
		bool more = true;
		while (more && c[i].key <= other && c[i].key < until) {
			if (c[i].flight)
				more = take_begun(t, &c[i], stands);
			else
				take(t, &c[i]);
			more = more && set(t->fast, &c[i]);
		}
		if (!more)
			c[i] = c[--n];
	}
	/* What is left is young, or says that it is yet to be. */
	for (unsigned i = 0; i < n; i++) {
		if (c[i].flight || c[i].key <= t->fast->now)
			continue;
		const struct slot *s = &c[i].task->slot;
		if (rec_may_be(t->fast, slot_rec(s, s->tail)))
			continue;
		distrust(t, c[i].task);
		c[i].task->slot.tail = c[i].head;
	}
}

/* How long the busiest ring takes to fill by a third: the next pass is to come before. */
static void pace(struct fast *f, uint64_t now, unsigned most)
{
	const uint64_t third = RING_PARTS / 3, forever = UINT64_C(1) << 32;
	uint64_t since = now - f->passed;
	/* It may have stood still for a part of it. */
	uint64_t longer = f->fill_ticks < forever ? 2 * f->fill_ticks + 1 : forever;

	if (since > forever)
		since = forever;
	f->passed = now;
	if (most > 8)
		f->fill_ticks = since * third / most;
	else if (since <= f->fill_ticks / 2)
		return;
	if (most <= 8 || f->fill_ticks > longer)
		f->fill_ticks = longer;
}

/* What is in the rings by now has happened before anything that is asked from here on. */
static void pass_begins(struct tracer *t)
{
	t->fast->pass++;
	fast_clock_look(&t->fast->clock);
	fdtab_later(t->fdtab);
}

/* stands: a task that does; or NULL. */
static unsigned drain_rings(struct tracer *t, const struct task *stands)
{
	struct fast *f = t->fast;
	struct cursor small[16], *c = small;
	unsigned n = 0, most = 0;

	if (!f->nringed)
		return 0;
	pass_begins(t);
	uint64_t until = fast_tsc();
	if (until - f->epoch_since >= OTHERS_TICKS)
		new_epoch(f); /* who is not traced may rename as well */
	if (f->nringed > 16 && !(c = malloc(f->nringed * sizeof(*c))))
		return 0;
	for (unsigned i = 0; i < f->nringed; i++) {
		if (!begin(t, &c[n], f->ringed[i]))
			continue;
		uint64_t bytes = c[n].head - c[n].task->slot.tail;
		unsigned parts = (unsigned)(bytes * RING_PARTS / c[n].task->slot.size);
		if (parts > most) {
			most = parts;
			f->busiest = c[n].task->tid;
		}
		n++;
	}
	pace(f, until, most);
	merge(t, c, n, until, stands);
	if (stands) /* it has not filled its ring meanwhile */
		f->passed = fast_tsc();
	found_soon(t);
	for (unsigned i = 0; i < f->nringed; i++)
		if (f->ringed[i]->slot.ctl->limit !=
			f->ringed[i]->slot.tail + f->ringed[i]->slot.size - RING_SLACK)
			give_room(f->ringed[i]);
	if (c != small)
		free(c);
	return most;
}

/* All rings, up to now. Returns how full the fullest of them was, in RING_PARTS. */
unsigned drain_all(struct tracer *t)
{
	return drain_rings(t, NULL);
}

/*
 * Before something is learnt of a task that stands still: what it did before, and what
 * those did that it may share descriptors with.
 */
void drain_task(struct tracer *t, struct task *k)
{
	enum { FEW = 256 };
	struct cursor c;

	if (t->fast->nringed <= FEW) {
		drain_rings(t, k);
		return;
	}
	if (!k->slot.ctl)
		return;
	pass_begins(t);
	if (begin(t, &c, k))
		merge(t, &c, 1, UINT64_MAX, k);
	found_soon(t);
	give_room(k);
}

/*
 * It has died in a call in the hook, and nothing there tells of its end: one that the
 * kernel has counted was made. last: its counters.
 */
static void end_counted(struct tracer *t, struct task *k, const struct counters *last)
{
	struct fast_rec *r = (struct fast_rec *)slot_rec(&k->slot, k->slot.tail);
	const uint32_t nr = rec_nr(r);
	const int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;
	const int weight = row >= 0 ? syscalls[row].weight : 0;
	const int64_t bytes = last->bytes - k->base.bytes - k->mine.bytes;

	if (!weight || bytes <= 0 ||
		last->calls - k->base.calls - k->mine.calls != weight)
		return;
	r->result = bytes / weight;
	r->t1 = fast_tsc();
	r->state = REC_ENDED;
	if (!rec_may_be(t->fast, r))
		return;
	k->slot.ctl->head = k->slot.tail + rec_size(t->fast, r);
	drain_task(t, k);
}

/*
 * Of a task that will not go on: it may have died in the hook when the last record had
 * ended and was not told yet. What lies there from the lap before is older. last: its
 * counters, where they are known.
 */
void drain_dead(struct tracer *t, struct task *k, const struct counters *last)
{
	struct slot *s = &k->slot;
	bool sane = s->ctl && !k->distrusted;
	uint64_t head = sane ? slot_head(s, &sane) : 0;

	if (sane) {
		const struct fast_rec *r = slot_rec(s, head);
		if (r->state == REC_ENDED && r->t0 > s->ended && rec_may_be(t->fast, r))
			s->ctl->head = head + rec_size(t->fast, r);
	}
	drain_task(t, k);
	if (sane && last && !k->distrusted && t->countable && k->base.calls >= 0 &&
		!k->unsure && slot_in_flight(s) && slot_head(s, &sane) == s->tail && sane)
		end_counted(t, k, last);
}

/* Likewise, while it can be asked. */
void drain_killed(struct tracer *t, struct task *k)
{
	struct counters now;

	drain_dead(t, k, NULL);
	if (slot_in_flight(&k->slot) && !tracee_counters(k->process->pid, k->tid, &now))
		drain_dead(t, k, &now);
}
