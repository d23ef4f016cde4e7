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

struct context_word {
	uint64_t key; /* 0: none */
	uint64_t at;  /* above its lowest 32 bits: how often it has been moved */
};

/* The one of a pair that has it, as in hook.S; or the first that has none. NULL: both
 * have others. */
static struct context_word *word_of(const struct rings *r, uint64_t key, uint64_t has)
{
	uint64_t at = (key * AIO_SPREAD >> AIO_SHIFT) & AIO_MASK;
	struct context_word *w = (struct context_word *)(r->base + AIO_OFFSET + at);

	return w->key == has ? w : w[1].key == has ? w + 1 : NULL;
}

static uint64_t moved(uint64_t was, uint32_t at)
{
	return ((was >> 32) + 1) << 32 | at;
}

bool context_take(struct rings *r, uint64_t key, uint32_t at, uint32_t *turn)
{
	struct context_word *w = word_of(r, key, 0);

	if (!w)
		return false;
	w->at = moved(w->at, at);
	*turn = (uint32_t)(w->at >> 32);
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
	__atomic_fetch_add(&w->at, UINT64_C(1) << 32, __ATOMIC_ACQ_REL);
}

bool context_at(const struct rings *r, uint64_t key, uint64_t *at)
{
	const struct context_word *w = word_of(r, key, key);

	if (w)
		*at = __atomic_load_n(&w->at, __ATOMIC_ACQUIRE);
	return w != NULL;
}

bool context_move(struct rings *r, uint64_t key, uint64_t was, uint32_t at)
{
	struct context_word *w = word_of(r, key, key);

	return w && __atomic_compare_exchange_n(&w->at, &was, moved(was, at), false,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
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
		r->rax = c->ret_value;
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
	if (!between(r->rip, hook_submit, hook_submit_saved))
		put_back(r, c);
	before(r, c, site);
	return true;
}
