/*
 * patch.c - hot call sites to jumps
 */
#include "../tracer.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

enum { REACH = 0x70000000 };

/* Room for a stub within reach. 0: none, or -ESRCH. */
static int find_stub(struct tracer *t, struct task *k, struct stand *st, uint64_t near,
	struct stubs **out)
{
	struct space *s = k->space;

	for (int again = 0; again < 2; again++) {
		for (unsigned i = 0; i < s->nstubs; i++) {
			uint64_t at = s->stubs[i].at;
			uint64_t far = at > near ? at - near : near - at;
			if (far < REACH && s->stubs[i].n < STUBS_MAX) {
				*out = &s->stubs[i];
				return 0;
			}
		}
		int err = again ? -ENOMEM : setup_stubs(t, k, st, near);
		if (err < 0)
			return err;
	}
	return -ENOMEM;
}

struct trap_state {
	const struct space *space;
	const struct task *stands; /* it goes on when there is no breakpoint any more */
	uint64_t mask;             /* its own */
	bool caught, unsafe;
};

/* Whether it has met one of our breakpoints, and nobody has looked at it yet: the kernel
 * has unblocked the signal for that. s: its signals now. */
static bool is_trapped(const struct task *k, const struct signal_state *s)
{
	siginfo_t info;

	return s->pending ||
	       (!ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) &&
		       info.si_signo == SIGTRAP && info.si_code == SI_KERNEL);
}

static void look_at_mask(struct tracer *t, struct task *k, void *arg)
{
	struct trap_state *state = arg;
	struct signal_state s = { 0 };

	(void)t;
	if (k->space != state->space)
		return;
	if (k == state->stands) {
		k->trap_mask = state->mask;
		return;
	}
	const uint64_t was = k->trap_mask;
	k->trap_mask = tracee_signal(k->tid, SIGTRAP, &s) ? 0 : s.mask;
	if (was == (k->trap_mask | signal_bit(SIGTRAP)) && is_trapped(k, &s))
		k->trap_mask = was;
	state->unsafe |= k->trap_mask & signal_bit(SIGTRAP) && state->caught;
}

/*
 * A breakpoint that is hit where SIGTRAP is blocked or ignored makes the kernel set its
 * default action and let it through. The mask can be put back, the action cannot.
 */
static bool may_break(struct tracer *t, struct task *k, const struct stand *st)
{
	enum { MANY = 512 };
	struct signal_state s;

	if (k->space->refs > MANY || tracee_signal(k->tid, SIGTRAP, &s) < 0 || s.ignored)
		return false;
	struct trap_state state = { k->space, k, st->mask, s.caught, false };
	tasks_each(t, look_at_mask, &state);
	return !state.unsafe;
}

/*
 * Write over code that other threads may run: a breakpoint first, the rest, the first
 * byte last, and all CPUs told in between. Who meets the breakpoint stops and goes on.
 * was: what is there now, to be put back if they cannot be told. cave: what is in that.
 *
 * They may meanwhile bring back what the file has, madvise(2): so each time all is
 * written that has to be there.
 */
static int write_code(struct tracer *t, struct task *k, struct stand *st, int mem,
	const struct site *s, const uint8_t *was, const uint8_t *code,
	const uint8_t *cave)
{
	static const uint8_t breakpoint = 0xcc;

	if (space_is_alone(k->space))
		return mem_write(mem, s->patch, code, s->length);
	if (!k->space->barrier || k->space->locked)
		return -EPERM;
	if (!may_break(t, k, st))
		return -EAGAIN;
	int err = mem_write(mem, s->patch, &breakpoint, 1);
	if (!err)
		err = setup_barrier_now(t, k, st);
	if (err < 0) {
		mem_write(mem, s->patch, was, 1);
		return err;
	}
	uint8_t half[sizeof(s->now)] = { breakpoint };
	memcpy(half + 1, code + 1, s->length - 1);
	mem_write(mem, s->patch, half, s->length);
	err = setup_barrier_now(t, k, st);
	if (cave)
		mem_write(mem, s->cave, cave, STUB_JUMP);
	mem_write(mem, s->patch, code, s->length);
	return err;
}

/* Whether a site that could not be changed as it was to be has been changed all the same,
 * or that cannot be told: what it leads to has to stay. */
static bool leads_there(const struct task *k, const struct site *s)
{
	uint8_t now[16];

	return tracee_read(k->tid, s->patch, now, s->length) != s->length ||
	       memcmp(now, s->old, s->length);
}

/* Stub, cave and site, in this order: nobody gets to what is not there yet. */
static int write_all(struct tracer *t, struct task *k, struct stand *st, struct site *s,
	const struct stub_code *stub)
{
	struct stub_code c;
	int mem = stand_mem(t->fast, k->tid);

	if (mem < 0)
		return mem;
	int err = mem_write(mem, s->stub, stub->byte, STUB_SIZE);
	if (!err && s->cave) {
		stub_jump(&c, s->cave, s->stub);
		err = mem_write(mem, s->cave, c.byte, STUB_JUMP);
	}
	s->state = SITE_PATCHED; /* from now on its breakpoint is known */
	if (!err)
		err = write_code(
			t, k, st, mem, s, s->old, s->now, s->cave ? c.byte : NULL);
	if (err && s->cave && !leads_there(k, s)) /* the next try looks at it */
		mem_write(mem, s->cave, s->cave_old, STUB_JUMP);
	return err;
}

/* A page of stubs begins with where they all go. Only those that are used take memory. */
static int begin_page(struct tracer *t, struct task *k, const struct stubs *page)
{
	uint64_t enter = hook_entrance(t->fast);
	int mem = page->n ? 0 : stand_mem(t->fast, k->tid);

	return page->n ? 0 : mem < 0 ? mem : mem_write(mem, page->at, &enter, 8);
}

static struct stubs *page_of(struct space *sp, uint64_t stub)
{
	for (unsigned i = 0; stub && i < sp->nstubs; i++)
		if (stub - sp->stubs[i].at < 4096)
			return &sp->stubs[i];
	return NULL;
}

static void draft(
	struct site *s, const struct plan *p, struct stub_code *c, uint64_t page)
{
	s->stub = c->at;
	s->patch = s->at + p->patch;
	s->cave = p->cave ? s->at + p->cave : 0;
	s->length = p->length;
	s->moved = p->moved;
	s->far = p->far;
	memcpy(s->old, p->old, sizeof(s->old));
	memcpy(s->cave_old, p->old + 2, sizeof(s->cave_old));
	stub_build(c, s, p, page);
	stub_site(s);
}

/* Whether the stub that it had is what it is to have: others may still be in there. */
static bool draft_same(
	struct task *k, struct site *s, const struct plan *p, struct stub_code *c)
{
	const struct stubs *page = page_of(k->space, s->stub);
	uint8_t now[STUB_SIZE];

	*c = (struct stub_code){ .at = s->stub };
	if (!page || (p->far && !stub_reaches(p, s->at + p->patch, c->at)))
		return false;
	struct site same = *s;
	draft(&same, p, c, page->at);
	if (tracee_read(k->tid, c->at, now, sizeof(now)) != sizeof(now) ||
		memcmp(now, c->byte, sizeof(now)) != 0)
		return false;
	*s = same;
	return true;
}

/* What a plan makes of a site: its stub, and what is to be there. 0, or -errno. */
int patch_draft(struct tracer *t, struct task *k, struct stand *st, struct site *s,
	const struct plan *p, struct stub_code *c)
{
	struct stubs *page = NULL;

	if (draft_same(k, s, p, c))
		return 0;
	int err = find_stub(t, k, st, s->at, &page);
	if (err < 0)
		return err;
	*c = (struct stub_code){ .at = page->at + (uint64_t)(page->n + 1) * STUB_SIZE };
	if (p->far && !stub_reaches(p, s->at + p->patch, c->at))
		return -ENOEXEC;
	err = begin_page(t, k, page);
	if (err < 0)
		return err;
	page->n++;
	draft(s, p, c, page->at);
	return 0;
}

/* 0: patched. -ESRCH: the task is gone from its stop; else it cannot be. */
int patch_site(struct tracer *t, struct task *k, struct stand *st, uint64_t at)
{
	struct plan p;
	struct stub_code c;
	int err = text_plan(texts_of(t), k->space, k->tid, at, &p);

	if (!err)
		err = setup_space(t, k, st, at);
	struct site *s = err ? NULL : space_find(k->space, at);
	if (!err)
		err = patch_draft(t, k, st, s, &p, &c);
	return err < 0 ? err : write_all(t, k, st, s, &c);
}

/* With a slot that its gs leads to. */
bool task_has_slot(const struct task *k, const struct user_regs_struct *r)
{
	return k->slot.ctl &&
	       r->gs_base == SLOTS_AT + (uint64_t)k->slot.number * SLOT_SIZE;
}

/*
 * Until its next call nobody but the task itself can close what it has opened, if it is
 * alone with its descriptors. Where it is mounted its path says, if those mean what ours
 * do.
 */
static uint64_t ask_by(struct tracer *t, struct task *k)
{
	const struct fast *f = t->fast;

	if (k->space->locked)
		return 0;
	bool alone = f->ask_later && k->files && !fdtrack_is_shared(k->files) &&
		     !root_of(t, k) && !mounts_of(t, k);
	return f->ask_by | (alone ? f->ask_later : 0);
}

/* Else the program uses gs itself. */
bool leads_to_slot(uint64_t gs_base)
{
	return gs_base >= WINDOW_AT && gs_base < WINDOW_END;
}

/* A task of its own finds its slot through gs, unless the program uses that. */
static void give_slot(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	bool left = k->space->strangers && leads_to_slot(r->gs_base); /* by a tracer that
									 was killed */

	if ((r->gs_base && !left) || k->slotless ||
		slot_take(t->fast, k, ask_by(t, k)) < 0)
		return;
	r->gs_base = SLOTS_AT + (uint64_t)k->slot.number * SLOT_SIZE;
}

/* At the stop before a call from a stub: next time it is not to stop. */
void task_hook(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;

	if (k->slot.ctl || k->slotless || k->space->state != SPACE_READY ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	uint64_t before = r.gs_base;
	give_slot(t, k, &r);
	if (r.gs_base != before)
		ptrace(PTRACE_POKEUSER, k->tid,
			offsetof(struct user_regs_struct, gs_base), r.gs_base);
}

/* A slot that gs leads to: as it is, or from now on. */
bool task_take_slot(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (k->slot.ctl)
		return task_has_slot(k, r);
	task_hook(t, k);
	if (k->slot.ctl)
		r->gs_base = SLOTS_AT + (uint64_t)k->slot.number * SLOT_SIZE;
	return k->slot.ctl;
}

/* From now on its calls stop again. */
void task_unhook(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	drain_task(t, k);
	k->slotless = true;
	slot_give(t->fast, k);
	if (leads_to_slot(r->gs_base))
		r->gs_base = 0;
}

/* Without a ring from its next call on. slot: where gs leads; 0: to any. It stands still.
 */
void task_leave_slot(struct task *k, uint64_t slot)
{
	const size_t gs_base = offsetof(struct user_regs_struct, gs_base);

	errno = 0;
	long at = ptrace(PTRACE_PEEKUSER, k->tid, gs_base, 0);
	if (!errno && (slot ? (uint64_t)at == slot : leads_to_slot((uint64_t)at)))
		ptrace(PTRACE_POKEUSER, k->tid, gs_base, 0L);
}

/* Whether the bytes of a patched site are still what was written there. */
static bool is_patched(struct task *k, struct site *s)
{
	uint8_t now[16];

	if (s->state != SITE_PATCHED)
		return false;
	if (tracee_read(k->tid, s->patch, now, s->length) != s->length ||
		!memcmp(now, s->now, s->length))
		return true;
	/* Unmapped meanwhile, brought back, or copied before. Others may still be in its
	 * stub, or on their way there, and go on behind it. */
	s->state = SITE_COLD;
	s->hits = s->rest = 0;
	s->length = 0;
	return false;
}

/* At the stop of a call. Results as those of patch_hot(). */
static int patch_now(struct tracer *t, struct task *k, uint64_t at)
{
	struct stand st;

	if (stand_begin(t, k, &st) < 0)
		return 0;
	int err = patch_site(t, k, &st, at);
	if (err == -ESRCH)
		return err;
	struct site *s = space_find(k->space, at);
	if (!err) {
		give_slot(t, k, &st.regs);
		stand_end(k, &st, s->stub + s->body);
	} else {
		s->state = err == -EAGAIN ? SITE_COLD : SITE_REFUSED;
		s->rest = s->hits;
		stand_end(k, &st, at);
	}
	return 1;
}

/*
 * Whether it is time for the first patch of an address space, which takes as long as
 * about two dozen stops; many programs end after as many. All that a shell runs would be
 * under the second filter as well, so it has to be worth that.
 */
static bool is_due(const struct tracer *t, const struct task *k)
{
	enum { SHELL = 5 };
	unsigned after = t->fast->after;

	if (k->space->forked && !k->sealed && after > 1)
		after *= SHELL;
	return k->space->hits >= after && space_may_begin(t, k);
}

/* At one more call from there. Whether it is too soon for another try: what was in the
 * way may last, so each time it takes twice as many. */
static bool is_tired(struct site *s)
{
	s->rest -= s->rest > 0;
	return s->rest;
}

/*
 * At the stop before a call that costs so many of them: if its site is hot, patch it, and
 * make the call again through the hook. 1: the task is to be resumed as it is; 0: the
 * call goes on as ever; -ESRCH: it stands elsewhere.
 */
int patch_hot(struct tracer *t, struct task *k, uint64_t at, unsigned stops)
{
	struct space *sp = k->space;
	struct site *s =
		sp->state == SPACE_REFUSED || sp->undone ? NULL : space_site(sp, at);

	if (!s || s->state == SITE_REFUSED || k->slotless)
		return 0;
	sp->hits += stops;
	if (is_patched(k, s))
		return 0; /* jumped to directly */
	s->hits++;
	if (is_tired(s))
		return 0;
	if (sp->state == SPACE_COLD ? !is_due(t, k) : s->hits < 2 && t->fast->after > 1)
		return 0;
	return patch_now(t, k, at);
}

/*
 * At the stop of a call that was dispatched, which has not been made. 1: it is made
 * through the hook; 0: that cannot be; -ESRCH: the task stands elsewhere.
 */
int patch_dispatched(struct tracer *t, struct task *k, uint64_t at)
{
	struct site *s = k->space->undone ? NULL : space_site(k->space, at);
	struct user_regs_struct r;

	if (!s || s->state == SITE_REFUSED)
		return 0;
	if (!is_patched(k, s)) {
		int done = is_tired(s) ? 0 : patch_now(t, k, at);
		s = space_find(k->space, at);
		return done == 1 && s->state != SITE_PATCHED ? 0 : done;
	}
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return -ESRCH;
	give_slot(t, k, &r);
	r.rip = s->stub + s->body;
	r.rax = r.orig_rax; /* it may stand before the call itself by now */
	r.orig_rax = -1;
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	return 1;
}

/* What was made in place of a call has gone so: the call is made again. Results as those
 * of patch_hot(). */
static int call_again(struct task *k, struct stand *st, uint64_t at, int err)
{
	if (err == -ESRCH)
		return err;
	stand_end(k, st, at);
	return 1;
}

/* Before the target closes itself up: everything that later patches could need. */
int patch_prepare(struct tracer *t, struct task *k, uint64_t at)
{
	struct stand st;

	if (!space_may_begin(t, k) || stand_begin(t, k, &st) < 0)
		return 0;
	return call_again(k, &st, at, setup_space(t, k, &st, at));
}

/* Whether a call is about to lock all memory, where ours would count, and be real; or to
 * limit what there may be. For the first time. */
bool patch_counts(const struct space *sp, uint64_t nr, const uint64_t *arg)
{
	if (nr == SYS_mlockall)
		return !sp->lean;
	return !sp->lean && !sp->limited &&
	       ((nr == SYS_setrlimit && arg[0] == RLIMIT_AS) ||
		       (nr == SYS_prlimit64 && arg[1] == RLIMIT_AS && arg[2]));
}

/* Before that: without what nobody uses yet, but for a few threads to come, if it is not
 * to be locked. */
int patch_lean(struct tracer *t, struct task *k, uint64_t nr, uint64_t at)
{
	enum { TO_COME = 16 };
	struct space *sp = k->space;
	bool locks = nr == SYS_mlockall;
	struct stand st;

	sp->limited = true;
	sp->lean |= locks;
	if (locks && sp->state == SPACE_COLD)
		sp->state = SPACE_REFUSED;
	if (sp->state != SPACE_READY || sp->locked || stand_begin(t, k, &st) < 0)
		return 0;
	return call_again(k, &st, at, setup_trim(t, k, &st, locks ? 0 : TO_COME));
}

/* Whether a call is about to move code that is patched: jumps lead nowhere from there. */
bool patch_moves(struct task *k, uint64_t nr, uint64_t from, uint64_t len)
{
	const struct space *sp = k->space;

	for (unsigned i = 0; nr == SYS_mremap && sp && !sp->undone && i < sp->nsites;
		i++) {
		struct site *s = &sp->site[i];
		if (is_patched(k, s) &&
			(s->patch - from < len || (s->cave && s->cave - from < len)))
			return true;
	}
	return false;
}

/* What stands there may be a breakpoint that was copied with the memory. */
void patch_again(struct tracer *t, struct task *k, struct site *s)
{
	uint8_t now;
	int mem;
	struct stub_code c = { .at = s->stub };
	struct plan p = { .moved = s->moved, .far = s->far };

	(void)t;
	if (tracee_read(k->tid, s->patch, &now, 1) != 1 || now != 0xcc ||
		(mem = mem_open(k->tid)) < 0)
		return;
	const struct stubs *page = page_of(k->space, s->stub);
	memcpy(p.old, s->old, sizeof(p.old));
	if (page)
		stub_build(&c, s, &p, page->at);
	if (c.n && !mem_write(mem, s->stub, c.byte, STUB_SIZE)) {
		if (s->cave) {
			struct stub_code j;
			stub_jump(&j, s->cave, s->stub);
			mem_write(mem, s->cave, j.byte, STUB_JUMP);
		}
		mem_write(mem, s->patch + 1, s->now + 1, s->length - 1);
		mem_write(mem, s->patch, s->now, 1);
	}
	close(mem);
}

/* The same of one that has been put back. */
void patch_gone(struct task *k, const struct site *s)
{
	uint8_t now;
	int mem = -1;

	if (tracee_read(k->tid, s->patch, &now, 1) == 1 && now == 0xcc)
		mem = mem_open(k->tid);
	if (mem < 0)
		return;
	mem_write(mem, s->patch + 1, s->old + 1, s->length - 1);
	mem_write(mem, s->patch, s->old, 1);
	close(mem);
}

/*
 * Put back every site of an address space: all its calls are to stop again, and its code
 * is to be where it was. At the stop before a call, which is made again. 1, or -ESRCH.
 */
int patch_undo(struct tracer *t, struct task *k, uint64_t at)
{
	struct space *sp = k->space;
	struct stand st;
	int err = 0;

	if (sp->state == SPACE_COLD)
		sp->state = SPACE_REFUSED;
	if (sp->undone || sp->state != SPACE_READY || stand_begin(t, k, &st) < 0)
		return 0;
	int mem = mem_open(k->tid);
	for (unsigned i = 0; mem >= 0 && err != -ESRCH && i < sp->nsites; i++) {
		struct site *s = &sp->site[i];
		uint8_t was[16];
		if (!is_patched(k, s))
			continue;
		memcpy(was, s->now, sizeof(was));
		memcpy(s->now, s->old, sizeof(s->now));
		err = write_code(t, k, &st, mem, s, was, s->old, NULL);
		s->state = SITE_REFUSED;
	}
	if (mem >= 0)
		close(mem);
	sp->undone = err != -ESRCH;
	return call_again(k, &st, at, err);
}
