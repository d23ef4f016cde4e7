/*
 * aio_hook.c - Linux AIO without a stop: what the hook knows of contexts, and where a
 * task stands in it
 *
 * A context has a ring in the program's own memory, with the place of its next answer,
 * but not how many there have been. So those who look for answers, the hook of each task
 * or we, agree by a word which of them has got how far: whoever moves it has seen what
 * lies before, and nobody else tells of that.
 */
#include "../tracer.h"
#include "mend.h"

#include <string.h>

struct context_word {
	uint64_t key; /* 0: none */
	uint64_t at;
};

/* Of the word, from its lowest bit on: AIO_FIELD. */
static uint64_t word(uint32_t place, uint32_t asked, uint32_t turn)
{
	return place | (uint64_t)asked << 24 | (uint64_t)turn << 48;
}

static struct context_state state_of(uint64_t at)
{
	return (struct context_state){ .place = at & AIO_FIELD,
		.asked = at >> 24 & AIO_FIELD,
		.turn = (uint16_t)(at >> 48),
		.word = at };
}

/* The one of a pair that has it, as in hook.S; or the first that has none. NULL: both
 * have others. */
static struct context_word *word_of(const struct rings *r, uint64_t key, uint64_t has)
{
	uint64_t at = (key * AIO_SPREAD >> AIO_SHIFT) & AIO_MASK;
	struct context_word *w = (struct context_word *)(r->base + AIO_OFFSET + at);

	return w->key == has ? w : w[1].key == has ? w + 1 : NULL;
}

bool context_take(
	struct rings *r, uint64_t key, uint32_t place, uint32_t asked, uint16_t *turn)
{
	struct context_word *w = word_of(r, key, 0);

	if (!w)
		return false;
	*turn = (uint16_t)(state_of(w->at).turn + 1);
	w->at = word(place, asked & AIO_FIELD, *turn);
	__atomic_store_n(&w->key, key, __ATOMIC_RELEASE);
	return true;
}

void context_drop(struct rings *r, uint64_t key)
{
	struct context_word *w = word_of(r, key, key);

	if (!w)
		return; /* the target has written there */
	__atomic_store_n(&w->key, 0, __ATOMIC_RELEASE);
	/* Who looks at it in this moment cannot tell of it any more. */
	__atomic_fetch_add(&w->at, UINT64_C(1) << 48, __ATOMIC_ACQ_REL);
}

bool context_at(const struct rings *r, uint64_t key, struct context_state *s)
{
	const struct context_word *w = word_of(r, key, key);

	if (w)
		*s = state_of(__atomic_load_n(&w->at, __ATOMIC_ACQUIRE));
	return w != NULL;
}

static bool change(struct context_word *w, uint64_t was, uint64_t to)
{
	return __atomic_compare_exchange_n(
		&w->at, &was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool context_move(struct rings *r, uint64_t key, const struct context_state *was,
	uint32_t place, uint32_t seen)
{
	struct context_word *w = word_of(r, key, key);
	uint32_t left = was->asked > seen ? was->asked - seen : 0;

	return w && change(w, was->word, word(place, left, was->turn + 1u));
}

void context_asks(struct rings *r, uint64_t key, int32_t n)
{
	enum { TRIES = 1000 }; /* the target can write there, too */
	struct context_word *w = word_of(r, key, key);

	for (int i = 0; w && i < TRIES; i++) {
		struct context_state s =
			state_of(__atomic_load_n(&w->at, __ATOMIC_ACQUIRE));
		int64_t asked = (int64_t)s.asked + n;
		asked = asked < 0 ? 0 : asked > AIO_FIELD ? AIO_FIELD : asked;
		if (change(w, s.word, word(s.place, (uint32_t)asked, s.turn)))
			return;
	}
}

/* A task has said that it is about to ask for what its record tells, but goes back. */
void aio_not_asked(const struct task *k, const struct fast_rec *rec)
{
	uint32_t n;

	memcpy(&n, (const uint8_t *)rec + R_AIO_N, sizeof(n));
	if (rec_nr(rec) == 209 /* io_submit */ && n <= IOCBS_MOST && k->slot.rings)
		context_asks(k->slot.rings, rec->arg[0] ^ context_salt(k->process->pid),
			-(int32_t)n);
}

/* Behind the moving of the word, if that was it who did. */
void aio_claims(struct task *k, const struct user_regs_struct *r)
{
	enum { ZERO = 1 << 6 };
	struct fast_ctl *c = k->slot.ctl;
	bool sane, sees = r->rip == AT(hook_look_taken)
				  ? r->eflags & ZERO
				  : between(r->rip, hook_look_taken, hook_look_told);

	if (!sees)
		return;
	uint64_t head = slot_head(&k->slot, &sane);
	struct fast_rec *rec = (struct fast_rec *)slot_rec(&k->slot, head);
	if (!sane || rec_nr(rec) != 208)
		return;
	rec->state = REC_ENDED;
	c->head = r->rsi;
}

static void put_back(struct user_regs_struct *r, const struct fast_ctl *c)
{
	r->rdi = c->rdi;
	r->rsi = c->rsi;
	r->r8 = c->r8;
	r->r10 = c->r10;
}

static void before(struct user_regs_struct *r, const struct fast_ctl *c, uint64_t site)
{
	r->rax = c->rax;
	r->rdx = c->rdx;
	mend_flags(r, c);
	r->orig_rax = -1;
	r->rip = site;
}

static void behind(struct user_regs_struct *r, uint64_t site)
{
	if (r->rip != AT(hook_events_post))
		r->orig_rax = -1;
	r->rip = r->rcx = site + 2;
}

/* io_getevents(2). Ready to be made it may be another one: that which goes on with a
 * wait. */
static void in_events(struct user_regs_struct *r, const struct fast_ctl *c, uint64_t site)
{
	if (r->rip == AT(hook_events_sys)) {
		r->rip = site;
	} else if (between(r->rip, hook_events, hook_events_sys) ||
		   between(r->rip, hook_events_again, hook_events_made)) {
		before(r, c, site);
	} else if (between(r->rip, hook_events_post, hook_events_kept)) {
		behind(r, site);
	} else {
		put_back(r, c);
		mend_flags(r, c);
		r->rax = c->result;
		r->rdx = c->rdx;
		r->r11 = c->r11;
		behind(r, site);
	}
}

bool aio_mend(struct task *k, struct user_regs_struct *r, uint64_t site)
{
	const struct fast_ctl *c = k->slot.ctl;
	/* Both calls come there. */
	bool looks = between(r->rip, hook_look, hook_submit) ||
		     between(r->rip, hook_submit_back, hook_submit_pass);

	if (!between(r->rip, hook_look, hook_events_end))
		return false;
	aio_claims(k, r);
	if (between(looks ? c->buf : r->rip, hook_events, hook_events_end)) {
		in_events(r, c, site);
		return true;
	}
	if (between(r->rip, hook_submit_added, hook_submit_back) ||
		(between(r->rip, hook_submit_back, hook_submit_pass) &&
			r->rcx == AT(hook_go))) {
		bool sane;
		uint64_t head = slot_head(&k->slot, &sane);
		if (sane)
			aio_not_asked(k, slot_rec(&k->slot, head));
	}
	if (!between(r->rip, hook_submit, hook_submit_saved))
		put_back(r, c);
	before(r, c, site);
	return true;
}
