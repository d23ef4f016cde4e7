/*
 * gone.c - stubs that a program has taken away
 *
 * By who knows what is to be mapped near its code, and clears the rest: it does not know
 * of them. The next call of a site that leads there faults, and so does the return of the
 * call that has done it. From then on all sites are as they were, and their calls stop.
 */
#include "../tracer.h"

#include <string.h>
#include <sys/user.h>

/* Whether a stub is not what was written there, or cannot be run. */
static bool is_gone(struct fast *f, const struct task *k, const struct site *s)
{
	static const uint8_t begins[] = { 0xf3, 0x48, 0x0f, 0xae,
		0xc9 }; /* stub_build() */
	uint8_t now[sizeof(begins)];
	struct mapping m;

	maps_forget(&f->texts.maps);
	bool there =
		!maps_at(&f->texts.maps, k->tid, s->stub, &m) && m.mode[2] == 'x' &&
		tracee_read(k->tid, s->stub + s->body, now, sizeof(now)) == sizeof(now) &&
		!memcmp(now, begins, sizeof(now));
	maps_forget(&f->texts.maps);
	return !there;
}

/*
 * At a fault in a stub, from where r leads out: whether that is for being gone. Then it
 * is not the program's, and nothing of what was there has been run.
 */
bool gone_mend(struct tracer *t, struct task *k, const struct site *s,
	struct user_regs_struct *r)
{
	struct space *sp = k->space;

	if (!space_is_alone(sp) || !is_gone(t->fast, k, s))
		return false;
	if (!sp->undone)
		patch_restore(sp, k->tid);
	sp->undone = true;
	if (r->rip == s->at)
		r->rip = s->patch;
	return true;
}
