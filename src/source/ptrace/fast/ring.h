/*
 * ring.h - slots of control words and records
 *
 * Part of fast.h. What is asked for each record stands here, to be compiled into whoever
 * asks.
 */
#ifndef FAST_RING_H
#define FAST_RING_H

#include <fcntl.h>

_Static_assert(!(RING_SIZE & (RING_SIZE - 1)) && !(RING_MAX & (RING_MAX - 1)),
	"the place of a record in its ring is found by a mask");

/* Once: it may change. */
static inline uint32_t rec_nr(const struct fast_rec *r)
{
	return __atomic_load_n(&r->nr, __ATOMIC_RELAXED);
}

/* dup2(2) and dup3(2). */
static inline bool rec_dups_to(const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr == 33 || nr == 292;
}

/* How the arguments of that call are kept. */
static inline uint8_t nr_shape(const struct fast *f, uint32_t nr)
{
	return nr < NSHAPES ? f->shape[nr] : SHAPE_PASS;
}

/* A call that makes a descriptor, and is kept. */
static inline bool shape_opens(uint8_t shape)
{
	return shape >= SHAPE_OPEN0 && shape <= SHAPE_PAIR;
}

/* ... by a path. */
static inline bool shape_names(uint8_t shape)
{
	return shape == SHAPE_OPEN0 || shape == SHAPE_OPEN1;
}

/* Whether the hook may leave a record of it. */
static inline bool shape_records(uint8_t shape)
{
	return (shape != SHAPE_PASS && shape < SHAPE_FREE) || shape == SHAPE_DUPS;
}

/* Whether the hook may send a call back, or leaves a record of it each time. */
static inline bool shape_returns(uint8_t shape, uint64_t arg1)
{
	if (shape == SHAPE_DUPS)
		return (int)arg1 == F_DUPFD || (int)arg1 == F_DUPFD_CLOEXEC ||
		       (int)arg1 == F_SETFL;
	return shape != SHAPE_FREE && shape != SHAPE_WAIT;
}

struct rings *rings_new(struct grave *grave, int fd, size_t size);
struct rings *rings_get(struct rings *r);
void rings_put(struct rings *r);
void rings_bury(struct grave *g);
int slot_take(struct fast *f, struct task *k, uint64_t ask_by);
void slot_asks_now(struct slot *s);
void slot_forbid(struct slot *s);
void slot_settle(struct slot *s);
void slot_give(struct fast *f, struct task *k);
bool slot_full(const struct slot *s);
void slot_grow(struct slot *s);

static inline const struct fast_rec *slot_rec(const struct slot *s, uint64_t at)
{
	return (const struct fast_rec *)(s->ring + (at & (s->size - 1)));
}

/* How far the task has come. Not sane: it has written over its own control words. */
static inline uint64_t slot_head(const struct slot *s, bool *sane)
{
	uint64_t head = __atomic_load_n(&s->ctl->head, __ATOMIC_ACQUIRE);

	*sane = head - s->tail <= s->size && head % R_SIZE == 0;
	return *sane ? head : s->tail;
}

/* Whether the task is inside a call that its next record is about. */
static inline bool slot_in_flight(const struct slot *s)
{
	const struct fast_rec *r = s->ctl ? slot_rec(s, s->tail) : NULL;

	return r && r->state == REC_BEGUN && r->t0 > s->ended;
}

/* Whether the record at the head is of a call that is under way, or has ended in this
 * moment: it is not counted yet. Before that there may be anything. */
static inline bool slot_is_open(const struct slot *s, const struct fast_rec *r)
{
	uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);

	return (state == REC_BEGUN || state == REC_ENDED) && r->t0 > s->ended;
}

/* How far it has come when what is owed is paid. */
static inline uint64_t slot_end(const struct slot *s)
{
	return s->ctl->owed ? s->ctl->owed : s->ctl->head;
}

/* Bytes of a record, by its call and nothing that it says of itself but a length. */
unsigned rec_size_more(const struct fast *f, const struct fast_rec *r, uint32_t nr);
static inline unsigned rec_size(const struct fast *f, const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr_shape(f, nr) <= SHAPE_MSG && nr != NR_EVENTS ? R_SIZE
							       : rec_size_more(f, r, nr);
}

/* Has it been, since we began? A counter of another CPU may be a little ahead. */
static inline bool rec_may_be(struct fast *f, const struct fast_rec *r)
{
	enum { AHEAD = 1 << 20 };

	if (r->t1 > f->now)
		f->now = fast_tsc() + AHEAD;
	return r->t0 >= f->clock.tsc0 && r->t0 <= r->t1 && r->t1 <= f->now;
}

/* ring.c: see there what of a record can be believed. */
typedef bool record_fn(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg);
bool records_later(const struct fast *f, record_fn *fn, void *arg, uint64_t *mark);
bool closes_later(const struct fast *f, const struct task *k, int fd);
bool closes_by_now(const struct fast *f, const struct task *k, int fd);
bool closes_before(const struct fast *f, const struct task *k, int fd, uint64_t then);
bool rec_dups(const struct fast_rec *r);
int rec_frees(const struct fast_rec *r, bool open);
bool rec_renames(const struct fast_rec *r);
bool rec_exchanges(const struct fast_rec *r);
bool rec_links(const struct fast_rec *r);
bool rec_shares(const struct fast_rec *r);
unsigned rec_npaths(const struct fast *f, const struct fast_rec *r);
void rec_paths(const struct fast_rec *r, unsigned n, char path[][PATH_LEN + 1]);

#endif
