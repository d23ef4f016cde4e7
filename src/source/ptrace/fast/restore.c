/*
 * restore.c - code as it was before it was patched
 *
 * Also in a copy of memory that was made while the tracer was changing it: one thread
 * forks, and another one stands still meanwhile so that its call sites can be patched.
 * The copy may have some of that, or half of it, and what is known of the original by the
 * time that we hear of the copy is not true for it.
 */
#include "../tracer.h"

#include <string.h>
#include <sys/user.h>
#include <unistd.h>

enum found { IS_OTHER, IS_OLD, IS_HALF, IS_PATCHED };

/* What is at a site now. Half: its breakpoint, and behind that either. */
static enum found look(const struct site *s, pid_t tid)
{
	struct site patched = *s;
	uint8_t now[sizeof(s->old)];

	if (tracee_read(tid, s->patch, now, s->length) != s->length)
		return IS_OTHER;
	stub_site(&patched);
	if (!memcmp(now, s->old, s->length))
		return IS_OLD;
	if (!memcmp(now, patched.now, s->length))
		return IS_PATCHED;
	if (now[0] == 0xcc && (!memcmp(now + 1, s->old + 1, s->length - 1u) ||
				      !memcmp(now + 1, patched.now + 1, s->length - 1u)))
		return IS_HALF;
	return IS_OTHER;
}

/* Whether its second jump is there. */
static bool cave_leads(const struct site *s, pid_t tid)
{
	struct stub_code jump;
	uint8_t now[STUB_JUMP];

	if (!s->cave || tracee_read(tid, s->cave, now, sizeof(now)) != sizeof(now))
		return false;
	stub_jump(&jump, s->cave, s->stub);
	return !memcmp(now, jump.byte, sizeof(now));
}

/* Where a task is at the second jump of a site, by which nothing has changed: before it.
 */
bool patch_in_cave(const struct task *k, struct user_regs_struct *r)
{
	const struct site *s = space_site_of_cave(k->space, r->rip);

	if (!s || !cave_leads(s, k->tid))
		return false;
	r->rip = s->at;
	return true;
}

static void put_back(const struct site *s, enum found is, pid_t tid, int mem)
{
	if (is == IS_PATCHED || is == IS_HALF)
		mem_write(mem, s->patch, s->old, s->length);
	if (cave_leads(s, tid))
		mem_write(mem, s->cave, s->cave_old, sizeof(s->cave_old));
}

/* Everything as it was, in an address space none of whose tasks runs or is in a stub. */
void patch_restore(struct space *sp, pid_t tid)
{
	int mem = mem_open(tid);

	for (unsigned i = 0; mem >= 0 && i < sp->nsites; i++)
		if (sp->site[i].length || sp->site[i].cave)
			put_back(&sp->site[i], look(&sp->site[i], tid), tid, mem);
	if (mem >= 0)
		close(mem);
}

/* Whether a page of stubs is there yet: by the word that all of them begin with, once
 * something was written to them. */
bool stub_is(const struct fast *f, pid_t tid, const struct stubs *page)
{
	uint64_t word;

	return tracee_read(tid, page->at, &word, sizeof(word)) == sizeof(word) &&
	       (word == hook_entrance(f) || (!word && !page->n));
}

/*
 * Of the pages of stubs, those that the copy has, too. One that nothing was written to
 * yet is begun anew. enter: the word that all others begin with.
 */
static void keep_pages(struct space *sp, pid_t tid, uint64_t enter)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < sp->nstubs; i++) {
		struct stubs page = sp->stubs[i];
		uint64_t word;
		if (tracee_read(tid, page.at, &word, sizeof(word)) != sizeof(word) ||
			(word && word != enter))
			continue;
		page.n = word ? page.n : 0;
		sp->stubs[kept++] = page;
	}
	sp->nstubs = kept;
}

/* Of a copy that nobody has run in: only what it really has of the patches is known. */
void patch_copied(struct space *sp, pid_t tid, uint64_t enter)
{
	int mem = mem_open(tid);

	keep_pages(sp, tid, enter);
	for (unsigned i = 0; mem >= 0 && i < sp->nsites; i++) {
		struct site *s = &sp->site[i];
		enum found is = s->length ? look(s, tid) : IS_OTHER;
		if (s->state == SITE_PATCHED && is == IS_PATCHED)
			continue;
		if (s->length)
			put_back(s, is, tid, mem);
		*s = (struct site){ .at = s->at,
			.state = s->state == SITE_REFUSED ? SITE_REFUSED : SITE_COLD };
	}
	if (mem >= 0)
		close(mem);
}
