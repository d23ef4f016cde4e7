/*
 * first.c - a new program, before its first instruction
 *
 * At the stop of its exec there is nothing of ours in its memory, and no call can be made
 * in its name yet. So it begins with code of ours in the place of its own, which maps all
 * that is needed and ends in a breakpoint: the bytes are put back there, and the program
 * closes what it has opened and goes on to where it begins by itself. To make the calls
 * one by one, with a stop for that, takes five.
 */
#include "spawn.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

enum { MOST = 320 }; /* bytes of our code: it has some 250 */

/* What stands for a while where the program begins, and what is there. */
struct entry {
	uint64_t at, gap;
	size_t len;
	uint8_t code[MOST], own[MOST];
};

static void add(struct entry *e, const uint8_t *from, const uint8_t *to)
{
	memcpy(e->code + e->len, from, (size_t)(to - from));
	e->len += (size_t)(to - from);
}

/* What the kernel gives it: linux/arch/x86/include/asm/elf.h, ELF_PLAT_INIT. */
static bool is_new(const struct user_regs_struct *r)
{
	return r->cs == IN_64_BITS && r->rip &&
	       !(r->rbx | r->rcx | r->rdx | r->rsi | r->rdi | r->rbp | r->r8 | r->r9 |
		       r->r10 | r->r11 | r->r12 | r->r13 | r->r14 | r->r15);
}

/* Whether there is a place that can be looked at, and one near it for stubs. */
static bool find_entry(struct tracer *t, struct task *k, uint64_t at, struct entry *e)
{
	e->at = at;
	e->len = 0;
	add(e, setup_entry, setup_entry_end);
	add(e, setup_named, setup_trap + 1);
	if (!text_is_plain(texts_now(t), k->tid, at, at + e->len) ||
		tracee_read(k->tid, at, e->own, e->len) != (ssize_t)e->len)
		return false;
	e->gap = gap_first(t, k, at);
	return e->gap;
}

/* To the breakpoint at its end. 0; -ENOMEM: it is at the one behind what was refused. */
static int run_entry(struct tracer *t, struct task *k, const struct entry *e,
	struct user_regs_struct *r)
{
	const uint64_t but_trap = ~signal_bit(SIGTRAP);
	int mem = stand_mem(t->fast, k->tid);
	int err = mem < 0 ? mem : mem_write(mem, e->at, e->code, e->len);

	if (!err && ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(but_trap), &but_trap) < 0)
		err = -errno;
	r->rip = e->at + (uint64_t)(setup_entry_go - setup_entry);
	err = err ? err : stand_go(t, k, r, PTRACE_CONT, PTRACE_EVENT_SECCOMP);
	if (err == -ESRCH)
		return err;
	const int back = mem < 0 ? mem : mem_write(mem, e->at, e->own, e->len);
	if (ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
		return -errno;
	err = err ? err : back;
	return err ? err : r->rip == e->at + e->len ? 0 : -ENOMEM;
}

/* What the code has mapped, while its descriptor is there yet. 0, or -errno. */
static int take(struct tracer *t, struct task *k, struct stand *s,
	const struct user_regs_struct *r, uint64_t gap)
{
	struct space *sp = k->space;

	int err = setup_fill(t, k);
	sp->hooked = !err;
	int took = setup_took(t, k, r, gap);
	err = err ? err : took;
	err = err ? err : setup_ready(t, k, s->regs.rip);
	if (err)
		return err;
	sp->state = SPACE_READY;
	path_start(t, k, AT_FDCWD);
	text_look(texts_of(t), sp, k->tid, s->regs.rip);
	return ahead_met(t, k, s, s->regs.rip) == -ESRCH ? -ESRCH : 0;
}

/*
 * Where its calls do not stop it closes the descriptor by itself. No signal is handled
 * by a program that has not begun. err: what has become of the rest. The same, or
 * -ESRCH.
 */
static int let_start(struct tracer *t, struct task *k, struct stand *s,
	struct user_regs_struct *r, int err)
{
	k->dispatched = !err && dispatch_on(t, k) == 0;
	if (k->dispatched) {
		k->starts = s->regs.rip;
		s->regs.rip = setup_at(setup_start);
		s->regs.r12 = r->r12;
		return 0;
	}
	return k->space->hooked && setup_drop(t, k, r) == -ESRCH ? -ESRCH : err;
}

static bool may(struct tracer *t, const struct task *k)
{
	const struct space *sp = k->space;

	return t->launch && sp && sp->state == SPACE_COLD && !sp->quit && !sp->locked &&
	       k->process->started && !k->held_back && !k->seized && !task_leaves(t, k);
}

/* Whether it has begun, from a stop where all is known. */
static bool begin(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r;
	struct entry e;

	if (!is_new(&s->regs) || !find_entry(t, k, s->regs.rip, &e))
		return false;
	k->space->state = SPACE_REFUSED;
	if (!task_is_seen(t, k))
		history_begin(t, k, NULL, false);
	history_take_stock(t, k);
	r = s->entry;
	setup_ask(k, &r, e.gap);
	r.r12 = (uint64_t)-1; /* no descriptor yet */
	k->space->calm = true;
	int err = run_entry(t, k, &e, &r);
	s->regs.rax = s->regs.orig_rax = 0;
	if (!err)
		err = take(t, k, s, &r, e.gap);
	if (err != -ESRCH)
		err = let_start(t, k, s, &r, err);
	k->space->calm = false;
	k->space->dispatches = !err;
	if (err == -ESRCH)
		return true;
	if (err)
		fast_left(t, k, "has no room for it");
	stand_begun(k, s);
	return true;
}

/*
 * At the stop of an exec. false: nothing was done, and it is to be asked again where the
 * program begins. After true its space is ready, or refused, and it stands there, or just
 * before it if its calls are dispatched.
 */
bool first_begin(struct tracer *t, struct task *k)
{
	struct maps *maps = &t->fast->texts.maps;
	const bool known = k->raises;
	struct stand s;

	k->raises = false;
	if (!may(t, k) || !(known ? handler_may_still(k) : handler_may_raise(t, k)) ||
		stand_begin(t, k, &s) < 0)
		return false;
	maps_hold(maps, k->tid);
	const bool begun = begin(t, k, &s);
	maps_let(maps);
	if (!begun)
		stand_same(k, &s);
	return begun;
}

/* Where it is about to begin by itself. */
static bool is_starting(const struct user_regs_struct *r)
{
	return r->rip >= setup_at(setup_start) && r->rip < setup_at(setup_start_end);
}

/* A place to begin from, as the kernel makes it. */
static void renew(struct user_regs_struct *r, uint64_t at)
{
	enum { IF = 0x200 };

	*r = (struct user_regs_struct){ .rip = at,
		.rsp = r->rsp,
		.cs = r->cs,
		.ss = r->ss,
		.gs_base = r->gs_base,
		.eflags = IF,
		.orig_rax = (uint64_t)-1 };
}

/* At a breakpoint that was met meanwhile the signal is as good as where it came from. */
static bool takes_place(const struct task *k, const siginfo_t *of)
{
	siginfo_t now;

	return !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &now) && now.si_signo == SIGTRAP &&
	       !ptrace(PTRACE_SETSIGINFO, k->tid, 0, of);
}

/*
 * At the stop of a signal that may stop its group: others may look at it then, and are to
 * find a program that begins. 0: so it stands, and is to get the signal; -ESRCH: it
 * stands elsewhere.
 */
int first_stopped(struct tracer *t, struct task *k)
{
	const uint64_t at = k->starts;
	struct user_regs_struct r;
	struct stand s;
	siginfo_t info;

	k->starts = 0;
	if (!at || ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0 || !is_starting(&r) ||
		ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0 ||
		stand_begin(t, k, &s) < 0)
		return 0;
	r = s.entry;
	const bool open = r.rip < setup_at(setup_start_shut);
	if (open && setup_drop(t, k, &r) == -ESRCH)
		return -ESRCH;
	renew(&s.regs, at);
	k->restop |= open && !takes_place(k, &info) && info.si_signo == SIGSTOP;
	stand_same(k, &s);
	return 0;
}
