/*
 * mend.c - a task that a signal stops inside the hook, back to its call site
 *
 * The tracer sees every signal before it is delivered. The task is made to look as if it
 * stood at the site: before its call, just behind it, or at its return. So no handler
 * ever sees our code, jumps out of it or runs above it, and the kernel's own rules about
 * restarting work at the site.
 */
#include "../look.h"
#include "mend.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/user.h>
#include <sys/wait.h>

/* Before the call: it is to be made again, from the site. */
static void before(struct user_regs_struct *r, const struct site *s,
	const struct fast_ctl *c, struct fast_rec *rec)
{
	uint64_t ip = r->rip;

	r->rip = s->at;
	if (ip < AT(hook_saved) && ip >= AT(hook_enter))
		return;
	r->rax = c->rax;
	r->rdx = c->rdx;
	if (ip >= AT(hook_flagged) || ip < AT(hook_enter))
		mend_flags(r, c);
	if ((ip > AT(hook_special) && ip <= AT(hook_special_end)) ||
		(ip >= AT(hook_fault_path) && ip < AT(hook_end)))
		r->rsi = c->rsi;
	if (!c->owed) /* else it is that of the call before */
		rec->state = REC_NONE;
}

static void finish(struct tracer *t, struct task *k, struct fast_rec *rec)
{
	struct fast_ctl *c = k->slot.ctl;
	uint64_t step = rec_size(t->fast, rec);

	path_made(t, k, rec);
	rec->t1 = fast_tsc();
	rec->state = REC_ENDED;
	c->head += step;
}

/*
 * Behind the call, its result in rax or in the record. The record is not told through
 * the ring if the kernel has yet to decide about the result.
 */
static void behind(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const struct site *s, struct fast_rec *rec, bool made)
{
	struct fast_ctl *c = k->slot.ctl;
	uint64_t ip = r->rip;
	bool open = ip >= AT(hook_new_post);
	bool exact = ip == AT(hook_post) || ip == AT(hook_new_post);

	if (exact || ip < AT(hook_kept) || (open && ip < AT(hook_new_kept)))
		rec->result = (int64_t)r->rax;
	if (exact)
		c->r11 = r->r11;
	if (!made) {
		aio_not_asked(k, rec);
		rec->state = REC_NONE;
	} else if (ip < AT(hook_done) || (open && ip < AT(hook_new_end)) ||
		   between(ip, hook_late, hook_late_end)) {
		finish(t, k, rec);
	}
	if (open && !exact && ip >= AT(hook_new_kept)) {
		r->rdi = rec->arg[0];
		r->rsi = rec->arg[1];
		r->r10 = rec->arg[3];
		r->r8 = c->r8;
		mend_flags(r, c);
	}
	r->rax = (uint64_t)rec->result;
	r->rdx = c->rdx;
	r->r11 = c->r11;
	r->rip = r->rcx = s->at + 2;
	if (!exact)
		r->orig_rax = -1;
}

/* A pointer of the program's that leads nowhere: the call itself is to say so. */
static uint64_t after_fault(uint64_t ip)
{
	if (between(ip, hook_sum_at, hook_sum_end))
		return AT(hook_fault_sum);
	if (between(ip, hook_two_at, hook_two_end))
		return AT(hook_fault_two);
	if (between(ip, hook_paths_at, hook_paths_end))
		return AT(hook_fault_paths);
	if (between(ip, hook_mask_at, hook_mask_end))
		return AT(hook_free);
	if (between(ip, hook_spare_at, hook_spare_end))
		return AT(hook_free);
	if (between(ip, hook_child_at, hook_child_end))
		return AT(hook_code);
	if (between(ip, hook_path_at, hook_path_end))
		return AT(hook_fault_path);
	if (between(ip, hook_pair_at, hook_pair_end))
		return AT(hook_fault_pair);
	if (between(ip, hook_extended_at, hook_extended_end))
		return AT(hook_ring_pass);
	if (between(ip, hook_parts_at, hook_parts_end))
		return AT(hook_fault_parts);
	if (between(ip, hook_control_at, hook_control_end))
		return AT(hook_control_out);
	if (between(ip, hook_look_at, hook_look_end))
		return AT(hook_look_gone);
	if (between(ip, hook_iocb_at, hook_iocb_end) ||
		between(ip, hook_room_at, hook_room_end))
		return AT(hook_submit_pass);
	if (between(ip, hook_own_at, hook_own_end))
		return AT(hook_paid);
	if (between(ip, hook_take_at, hook_take_end))
		return AT(hook_own_out);
	return 0;
}

static bool in_stub(const struct site *s, struct user_regs_struct *r)
{
	uint64_t at = r->rip - s->stub;

	if (!at)
		r->rip = s->patch;
	else if (at > s->bare && at < s->bare + 14u) {
		if (at > s->bare + 2u)
			r->orig_rax = -1;
		r->rip = r->rcx = s->at + 2;
	} else
		r->rip = s->at;
	return true;
}

/* A call that is not recorded; behind it, from post to end, nothing but the way back. */
static void in_free(struct user_regs_struct *r, const struct site *s,
	const struct fast_ctl *c, const uint8_t *post, const uint8_t *end)
{
	if (between(r->rip, post, end)) {
		if (r->rip > AT(post))
			r->orig_rax = -1;
		r->rip = r->rcx = s->at + 2;
		return;
	}
	/* Ready to be made it may be another one: that which goes on with a wait. */
	if (r->rip < AT(post) - 2) {
		r->rax = c->rax;
		r->rdx = c->rdx;
		mend_flags(r, c);
	}
	r->rip = s->at;
}

/* Where a call that waits may be made again, with what is left of its time. Whether it is
 * one. */
bool mend_waited(struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	struct fast *f = t->fast;

	if (r->orig_rax >= NSHAPES || (f->shape[r->orig_rax] != SHAPE_WAIT &&
					      f->shape[r->orig_rax] != SHAPE_EVENTS))
		return false;
	fast_clock_look(&f->clock);
	again_begins(k, fast_then(t, k->slot.ctl->began));
	return true;
}

/* A call that is looked at before it is made: it has not been made. */
static void in_exec(
	struct user_regs_struct *r, const struct site *s, const struct fast_ctl *c)
{
	if (!between(r->rip, hook_exec, hook_exec_saved) &&
		!between(r->rip, hook_spare, hook_spare_saved))
		r->rsi = c->rsi;
	r->rax = c->rax;
	r->rdx = c->rdx;
	mend_flags(r, c);
	r->orig_rax = -1;
	r->rip = s->at;
}

/* Likewise; or it stands behind it. */
static void in_spare(
	struct user_regs_struct *r, const struct site *s, const struct fast_ctl *c)
{
	if (r->rip < AT(hook_spare_post)) {
		in_exec(r, s, c);
		return;
	}
	if (r->rip > AT(hook_spare_post))
		r->orig_rax = -1;
	r->rsi = c->rsi;
	r->rip = r->rcx = s->at + 2;
}

/* What is asked, but not told yet, or told already, is not to be asked once more. */
static void settle(struct task *k)
{
	bool sane;
	uint64_t head = slot_head(&k->slot, &sane);

	if (sane && (head == k->slot.ctl->owed ||
			    slot_rec(&k->slot, head)->state == REC_ENDED))
		slot_settle(&k->slot);
}

/* Before what is owed is asked, or meanwhile: the call has not been made. */
static void in_pay(
	struct user_regs_struct *r, const struct site *s, const struct fast_ctl *c)
{
	if (r->rip >= AT(hook_pay_saved)) {
		r->rdi = c->rdi;
		r->rsi = c->rsi;
		r->r8 = c->r8;
		r->r10 = c->r10;
	}
	r->rax = c->rax;
	r->rdx = c->rdx;
	mend_flags(r, c);
	r->orig_rax = -1;
	r->rip = s->at;
}

/* The program's own fstat(2), and the taking of what it says. */
static void in_own(
	struct user_regs_struct *r, const struct site *s, const struct fast_ctl *c)
{
	if (r->rip < AT(hook_own_post)) {
		r->rax = c->rax;
		r->rdx = c->rdx;
		mend_flags(r, c);
		r->rip = s->at;
		return;
	}
	if (r->rip > AT(hook_own_post)) {
		r->r11 = c->r11;
		r->orig_rax = -1;
	}
	r->rdx = c->rdx;
	r->rip = r->rcx = s->at + 2;
}

/* Its requests are taken, as many as it has returned, but where a wait was made again,
 * early.c. What has been answered since the call began is looked at next time. */
static void finish_ring(struct fast_rec *rec)
{
	struct fast_ring *g = (struct fast_ring *)((uint8_t *)rec + R_MORE);

	uint32_t most = (uint32_t)rec->arg[1], n = rec->result > 0 ? rec->result : 0;
	g->taken = g->from + (n < most ? n : most);
	g->then = g->known + g->before;
	g->behind = 0;
	rec->t1 = fast_tsc();
	rec->state = REC_ENDED;
}

static bool is_behind_ring(uint64_t ip)
{
	return between(ip, hook_ring_post, hook_ring_vain);
}

/* io_uring_enter(2) of a ring that is the task's own: before the call, or behind it. */
static void in_ring(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const struct site *s, bool made)
{
	struct fast_ctl *c = k->slot.ctl;
	bool told = between(r->rip, hook_ring_told, hook_ring_vain),
	     exact = r->rip == AT(hook_ring_post);
	struct fast_rec *rec =
		(struct fast_rec *)slot_rec(&k->slot, told ? c->rec - c->ring : c->head);

	if (!between(r->rip, hook_ring, hook_ring_saved) &&
		!between(r->rip, hook_ring_vain, hook_ring_pass)) {
		r->rdi = c->rdi;
		r->r8 = c->r8;
		r->r10 = rec->arg[3];
	}
	r->rdx = c->rdx;
	if (!exact) {
		mend_flags(r, c);
		r->orig_rax = -1;
	}
	if (!is_behind_ring(r->rip)) {
		rec->state = REC_NONE;
		r->rax = c->rax;
		r->rip = s->at;
		return;
	}
	if (r->rip < AT(hook_ring_kept))
		rec->result = (int64_t)r->rax;
	if (exact)
		c->r11 = r->r11;
	if (!made) {
		rec->state = REC_NONE;
	} else if (!told) {
		finish_ring(rec);
		c->head += rec_size(t->fast, rec);
	}
	r->rax = (uint64_t)rec->result;
	r->r11 = c->r11;
	r->rip = r->rcx = s->at + 2;
}

/*
 * In the hook: which site led there? The control words tell, or rcx at its entry. made:
 * false if a filter of the program's own has refused the call that it stands behind.
 */
static bool in_code(
	struct tracer *t, struct task *k, struct user_regs_struct *r, bool made)
{
	struct fast_ctl *c = k->slot.ctl;
	bool guarded = between(r->rip, hook_guarded, hook_enter);
	uint64_t back = r->rip == AT(hook_enter) || r->rip == AT(hook_guarded) ? r->rcx
			: guarded                                              ? r->r11
			: rights_may_come(k)                                   ? c->back
									       : c->ret;
	const struct site direct = { .at = back - 2 };
	const struct site *s = space_site_of_stub(k->space, back);

	if (!s && t->dispatch)
		s = &direct; /* led here by the tracer */
	if (!s)
		return false;
	if (guarded) {
		r->rip = s->at;
		return true;
	}
	if (rights_mend(k, r))
		return true;
	if (between(r->rip, hook_free, hook_free_end)) {
		if (r->rip == AT(hook_free_post))
			mend_waited(t, k, r);
		in_free(r, s, c, hook_free_post, hook_free_again);
		return true;
	}
	if (between(r->rip, hook_thread, hook_thread_end)) {
		in_free(r, s, c, hook_thread_post, hook_thread_end);
		return true;
	}
	if (between(r->rip, hook_exec, hook_exec_end)) {
		in_exec(r, s, c);
		return true;
	}
	if (between(r->rip, hook_spare, hook_spare_over)) {
		in_spare(r, s, c);
		return true;
	}
	if (between(r->rip, hook_ring, hook_ring_end)) {
		in_ring(t, k, r, s, made);
		return true;
	}
	if (r->rip == AT(hook_events_post))
		mend_waited(t, k, r);
	if (aio_mend(k, r, s->at))
		return true;
	if (between(r->rip, hook_owes, hook_pay_end))
		settle(k);
	if (between(r->rip, hook_owes, hook_pay)) {
		in_own(r, s, c);
		return true;
	}
	if (between(r->rip, hook_pay, hook_pay_end)) {
		in_pay(r, s, c);
		return true;
	}
	bool told = (r->rip >= AT(hook_done) && r->rip < AT(hook_special)) ||
		    r->rip == AT(hook_new_end) || r->rip == AT(hook_late_end);
	uint64_t at = told ? c->rec - c->ring : c->head;
	struct fast_rec *rec =
		(struct fast_rec *)(k->slot.ring + at % k->slot.size / R_SIZE * R_SIZE);
	if ((r->rip > AT(hook_sys) && r->rip < AT(hook_special)) ||
		(r->rip > AT(hook_new_sys) && r->rip < AT(hook_fault_path))) {
		behind(t, k, r, s, rec, made);
	} else {
		if (between(r->rip, hook_go, hook_post))
			aio_not_asked(k, rec);
		before(r, s, c, rec);
	}
	return true;
}

/* SECCOMP_RET_TRAP: instead of the call, whose number is where its result would be. */
static bool is_refusal(const struct task *k, int sig)
{
	siginfo_t info;

	return sig == SIGSYS && !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) &&
	       info.si_code == BY_SECCOMP;
}

/* Its handler is told where the call was made: seccomp(2). */
static void tell_place(const struct task *k, const struct user_regs_struct *r)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0)
		return;
	info.si_call_addr = (void *)(uintptr_t)r->rip;
	ptrace(PTRACE_SETSIGINFO, k->tid, 0, &info);
}

/* SECCOMP_RET_KILL: likewise, at the exit stop; of a thread, or all end as one does. */
static bool was_refused(const struct task *k, const struct user_regs_struct *r)
{
	return r->rax == r->orig_rax && tracee_ends_by(k->tid, SIGSYS);
}

static bool is_ours(const struct space *sp, const void *addr)
{
	const uint64_t at = (uintptr_t)addr;
	bool is = at >= WINDOW_AT && at < WINDOW_END;

	for (unsigned i = 0; i < sp->nstubs; i++)
		is |= at >= sp->stubs[i].at && at < sp->stubs[i].at + 4096;
	return is;
}

static int mend(struct tracer *t, struct task *k, int sig)
{
	struct user_regs_struct r;
	bool ours = false;

	if (!k->space || k->space->state != SPACE_READY ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return 0;
	if (in_setup(r.rip))
		return 0; /* in our handler, which is to be run as it is */
	if (sig == SIGTRAP && trap_is_ours(t, k, &r)) {
		ptrace(PTRACE_SETREGS, k->tid, 0, &r);
		return 1;
	}
	if (sig == SIGTRAP && trap_steps(k, &r))
		return 1;
	if (k->rest.on || (k->early.on && r.rip == AT(hook_ring_sys)))
		return 0; /* about to be made again, and it knows of it */
	siginfo_t info;
	/* What a call has raised, or was sent, is not: an exception leaves no number. */
	bool fault = (sig == SIGSEGV || sig == SIGBUS) && (int64_t)r.orig_rax < 0 &&
		     !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) && info.si_code > 0;
	/* By keys that keep it from its own memory, pkeys(7), and so from ours: nor can
	 * it do anything for us any more. */
	if (fault && info.si_code == SEGV_PKUERR && is_ours(k->space, info.si_addr))
		k->space->locked = k->space->keyed = true;
	if (k->slot.ctl)
		k->slot.ctl->vain = 0; /* what comes next may be another call */
	if (in_hook(r.rip) && k->space->taken && !fault)
		return 0; /* the program has code of its own there */
	if (in_hook(r.rip) && k->slot.ctl) {
		/* Gone, and what waits there may have been counted before it is made
		 * again. */
		if (fault && r.rip == AT(hook_sys))
			k->unsure += slot_in_flight(&k->slot);
		if (fault && after_fault(r.rip)) {
			r.rip = after_fault(r.rip);
			ours = true;
		} else if (in_code(t, k, &r, !is_refusal(k, sig))) {
			ours = fault;
			if (fault)
				task_unhook(t, k, &r);
		}
	} else if (in_hook(r.rip)) {
		return 0;
	} else {
		const struct site *s = space_site_of_stub(k->space, r.rip);
		if (!rights_mend(k, &r) && (s ? !in_stub(s, &r) : !patch_in_cave(k, &r)))
			return 0;
		ours = s && fault && gone_mend(t, k, s, &r);
	}
	if (is_refusal(k, sig))
		tell_place(k, &r);
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	rest_over(k, r.rip);
	k->mending = true;
	drain_task(t, k);
	k->mending = false;
	rights_look(t, k, &r);
	return ours ? fault_undo(t, k, sig) < 0 ? -ESRCH : 1 : 0;
}

/*
 * At a signal's stop. 1: it was of our making, and is not to be delivered; 0: it was not;
 * -ESRCH: the task stands elsewhere.
 */
int fast_mend(struct tracer *t, struct task *k, int sig)
{
	int mended = mend(t, k, sig);

	if (!mended)
		fault_delivered(k->process, sig);
	return mended;
}

/* To be let go: it stands at its site then, and there is nothing of ours in it. */
void mend_home(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;

	if (!k->space || k->space->state != SPACE_READY ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return;
	const struct site *s = space_site_of_stub(k->space, r.rip);
	if (in_hook(r.rip) && k->slot.ctl) {
		if (!in_code(t, k, &r, true))
			return;
	} else if (!rights_mend(k, &r)) {
		if (s)
			in_stub(s, &r);
		else
			patch_in_cave(k, &r);
	}
	if (task_has_slot(k, &r))
		r.gs_base = 0;
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	drain_task(t, k);
}

/* What a call in the hook has returned; false: it was not made, or its end not awaited.
 */
static bool has_returned(const struct user_regs_struct *r, const struct fast_rec *rec)
{
	bool exact = r->rip == AT(hook_post) || r->rip == AT(hook_new_post) ||
		     r->rip == AT(hook_ring_post);
	bool kept = between(r->rip, hook_kept, hook_special) ||
		    between(r->rip, hook_new_kept, hook_fault_path) ||
		    between(r->rip, hook_ring_kept, hook_ring_told);
	int64_t ret = kept ? rec->result : (int64_t)r->rax;

	if (!kept && !between(r->rip, hook_post, hook_kept) &&
		!between(r->rip, hook_new_post, hook_new_kept) &&
		!between(r->rip, hook_ring_post, hook_ring_kept))
		return false;
	return !exact || is_last_result(ret);
}

/*
 * At its exit stop: where it was killed in the hook behind its call, that was made, and
 * is told as ever.
 */
void mend_dead(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;
	bool sane = k->slot.ctl && !k->distrusted && k->space;
	uint64_t head = sane ? slot_head(&k->slot, &sane) : 0;
	const struct fast_rec *rec = sane ? slot_rec(&k->slot, head) : NULL;

	if (rec && rec->state == REC_BEGUN && !ptrace(PTRACE_GETREGS, k->tid, 0, &r) &&
		in_hook(r.rip) && has_returned(&r, rec))
		in_code(t, k, &r, !was_refused(k, &r));
	else if (sane && t->aio_told && !ptrace(PTRACE_GETREGS, k->tid, 0, &r))
		aio_claims(k, &r);
	drain_killed(t, k);
}
