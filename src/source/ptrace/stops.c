/*
 * stops.c - one switch over every stop of a tracee
 *
 * ptrace(2), "Stopped states"; the events come from PTRACE_SEIZE, so that group stops
 * can be told from signals.
 */
#include "early.h"
#include "fast/spawn.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FEW_TASKS = 256 };

static void go_on(struct tracer *t, struct task *k, int sig)
{
	if (k->state == TASK_QUEUED)
		return; /* it stands elsewhere by now, which is yet to be looked at */
	if (!task_leaves(t, k)) {
		queue_resume(t, k, sig);
	} else if (k->exiting ||
		   (!dispatch_holds(t, k) && !dispatch_owes(k) && !k->early.on)) {
		part_task(t, k, sig);
	} else if (!dispatch_stands(k) || k->early.on) {
		/* A signal that waits makes it stop by itself; an interrupt would come
		 * before that one, for ever. */
		if (k->status >> 16 != PTRACE_EVENT_STOP)
			ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
		queue_resume(t, k, sig);
	} else {
		k->waits = true;
		if (t->ntasks < FEW_TASKS)
			part_group(t, k->space);
	}
}

/*
 * The former leader of a process, of which another thread runs a program now, has gone
 * without a word. Its counters are what the process has and no other thread had.
 */
static void superseded(struct tracer *t, struct task *k)
{
	struct counters last;
	bool known = !task_last(k, &last);

	if (t->fast)
		drain_dead(t, k, known ? &last : NULL);
	if (known)
		call_ended(t, k, &last);
	task_ended(t, k, known ? &last : NULL);
}

static void on_exit_stop(struct tracer *t, struct task *k)
{
	struct task *heir = k->exiting ? NULL : task_heir(t, k);

	if (heir) {
		superseded(t, k);
		fast_exec_begin(t, k, heir->tid);
		task_inherits(t, k, heir);
	}
	if (!k->exiting) { /* else it was killed as it was let go */
		rest_died(t, k);
		if (t->fast)
			mend_dead(t, k);
		call_died(t, k);
		part_async(t, k);
		task_exiting(t, k);
	}
	go_on(t, k, 0);
}

/*
 * Killed meanwhile, it may have come to its exit stop by now: that is told by wait(2) no
 * more once we have resumed the task from there.
 */
static void stale_stop(struct tracer *t, struct task *k)
{
	siginfo_t info;

	if (!ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) &&
		info.si_code == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
		on_exit_stop(t, k);
	else
		queue_resume(t, k, 0);
}

/* false: it was killed meanwhile, and stands elsewhere now if at all. */
static bool is_at_signal(const struct task *k, int sig)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) && info.si_signo == sig;
}

/* Likewise. */
static bool call_info(struct task *k, struct __ptrace_syscall_info *in)
{
	*in = (struct __ptrace_syscall_info){ .op = PTRACE_SYSCALL_INFO_NONE };
	return ptrace(PTRACE_GET_SYSCALL_INFO, k->tid, sizeof(*in), in) > 0 &&
	       in->op != PTRACE_SYSCALL_INFO_NONE;
}

static void entered(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	call_enter(t, k, in);
	if (control_hands_over(t, k)) {
		k->process->started = true; /* even if it is the command itself */
		task_note(t, k, NOTE_HANDED, k->call.row);
		dispatch_leave(t, k);
		part_task(t, k, 0);
		return;
	}
	go_on(t, k, 0);
}

static void on_seccomp(struct tracer *t, struct task *k)
{
	struct __ptrace_syscall_info in;

	k->again.repeated = 0;

	if (!call_info(k, &in)) {
		stale_stop(t, k);
	} else if (in.op != PTRACE_SYSCALL_INFO_SECCOMP) {
		queue_resume(t, k, 0);
	} else if (in.seccomp.ret_data != FILTER_COOKIE) {
		/* A filter of the target's own asks for a tracer that it does not have.
		 */
		tracee_refuse_call(k->tid);
		queue_resume(t, k, 0);
	} else if (k->call.row >= 0 || k->aside || k->rest.on) {
		queue_resume(t, k, 0); /* has stopped for its entry before */
	} else {
		int patched = fast_stop(t, k, &in);
		if (patched > 0)
			queue_resume(t, k, 0);
		else if (!patched)
			entered(t, k, &in);
	}
}

static void on_syscall(struct tracer *t, struct task *k)
{
	struct __ptrace_syscall_info in;
	uint64_t now = tracer_now(t);

	if (!call_info(k, &in)) {
		stale_stop(t, k);
		return;
	}
	if (in.op == PTRACE_SYSCALL_INFO_ENTRY) {
		if (rest_begins(t, k)) {
			queue_resume(t, k, 0);
			return;
		}
		again_begins(k, now);
		if (task_leaves(t, k) && k->early.on) /* it ends as it had without us */
			ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
		dispatch_entered(t, k, &in);
		if (k->slot.ctl && in_hook(in.instruction_pointer))
			queue_resume(t, k, 0); /* is in its ring */
		else if (t->fast && rights_stop(t, k, in.entry.nr))
			queue_resume(t, k, 0);
		else
			entered(t, k, &in);
		return;
	}
	if (in.op != PTRACE_SYSCALL_INFO_EXIT) {
		queue_resume(t, k, 0);
		return;
	}
	again_exit(t, k, in.exit.rval);
	in.exit.rval = rest_exit(t, k, early_exit(t, k, in.exit.rval));
	if (rest_quietly(t, k, in.exit.rval, in.instruction_pointer)) {
		queue_resume(t, k, 0);
		return;
	}
	if (in.exit.rval == -EINTR && again_quietly(t, k))
		in.exit.rval = -514; /* ERESTARTNOHAND */
	early_quietly(t, k);
	call_leave(t, k, in.exit.rval, now);
	if (dispatch_again(t, k) == -ESRCH)
		return;
	if (task_leaves(t, k) &&
		(in.exit.rval == -EINTR || op_interrupted(in.exit.rval))) {
		/* To be detached only where the kernel decides about the restart. */
		ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
		queue_resume(t, k, 0);
		return;
	}
	go_on(t, k, 0);
}

/* A call that our presence has ended with EINTR is made again. */
static void mend_eintr(struct tracer *t, struct task *k, bool ours)
{
	if (ours) {
		hold_waited(t, k);
		if (again_make(t, k))
			k->held.ret = -514; /* ERESTARTNOHAND */
	} else {
		again_interrupted(k);
	}
	task_flush(t, k);
}

/* The front end asks whether the command got a signal by itself. */
static void tell_front(struct tracer *t, struct task *k, int sig)
{
	siginfo_t info;

	if (!t->launch || k->process->pid != t->launch->command || sig >= NSIG ||
		ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0)
		return;
	if (sig == SIGCONT && t->launch->stopped)
		kill(t->launch->front, SIGCONT);
	if (info.si_code <= 0 && info.si_pid == t->launch->front)
		return; /* passed on by it */
	t->launch->delivered[sig].from = info.si_code > 0 ? 0 : info.si_pid;
	t->launch->delivered[sig].at_ns = tracer_now(t) + t->epoch_ns;
	t->launch->delivered[sig].n++;
}

/* Before its exec the command asks what becomes of its calls. */
static void answer_launcher(struct tracer *t, struct task *k)
{
	bool dispatched = t->dispatch && !t->launch->of_32 && dispatch_can(k);

	t->launch->asks = 0;
	t->launch->answer = dispatched ? LAUNCH_PLAIN
			    : t->fast  ? LAUNCH_PATCH
				       : LAUNCH_FILTER;
	k->filtered = !dispatched;
	task_begin(k);
	if (dispatched && !t->foresight) /* else there is work on the other CPU */
		place_send(t->place, k->tid);
	queue_resume(t, k, 0);
	place_settle(t->place);
	if (dispatched) {
		fast_foresee(t);
		return;
	}
	foresee_stop(t->foresight);
}

/* Of its whole process: what the others are in may end so. */
static bool stops_all(const struct task *k, int sig)
{
	struct signal_state is;

	return signal_stops(sig) && !tracee_signal(k->tid, sig, &is) && !is.caught;
}

/* Ignored, were it not for our handler. */
static bool is_ours(const struct tracer *t, const struct task *k, int sig)
{
	return t->fast && fast_ignores(t, k, sig);
}

/* Without us it would have been thrown away. */
static bool is_vain(const struct tracer *t, const struct task *k, int sig)
{
	return is_ours(t, k, sig) || tracee_ignores(k->tid, sig);
}

/* What is about to be made again, or has ended half done, goes on if it is in vain. */
static void before_signal(struct tracer *t, struct task *k, int sig)
{
	const bool vain =
		(early_may_end(k) || k->rest.on || rest_may(k)) && is_vain(t, k, sig);

	if (early_may_end(k) && !vain)
		early_undo(k);
	if (k->rest.on && (!vain || task_leaves(t, k)))
		rest_undo(t, k);
	else if (vain)
		rest_make(t, k);
}

static void on_signal(struct tracer *t, struct task *k, int sig)
{
	if (t->launch && !k->process->started && t->launch->filter_errno &&
		sig == SIGSTOP) {
		/* The launcher could not install the filter: every call will stop. */
		t->filter = false;
		k->sysmode = true;
		ptrace(PTRACE_SETOPTIONS, k->tid, 0, t->options & ~PTRACE_O_EXITKILL);
		queue_resume(t, k, 0);
		return;
	}
	if (t->launch && t->launch->asks && sig == SIGSTOP) {
		answer_launcher(t, k);
		return;
	}
	int trapped = sig == SIGSYS ? dispatch_trap(t, k) : 0;
	k->met = false;
	if (trapped) {
		exec_begins(t, k);
		if (trapped > 0)
			go_on(t, k, 0);
		return;
	}
	if (sig == SIGSYS && !is_at_signal(k, sig)) {
		stale_stop(t, k);
		return;
	}
	if (signal_stops(sig) && first_stopped(t, k) < 0)
		return;
	k->process->signals++;
	fast_met(t, k, sig);
	before_signal(t, k, sig);
	trapped = !t->fast ? 0 : exec_stop(t, k, sig) ? 1 : fast_mend(t, k, sig);
	if (trapped) {
		if (trapped > 0)
			go_on(t, k, 0);
		return;
	}
	tell_front(t, k, sig);
	k->process->stopped |= stops_all(k, sig);
	struct made_call c;
	const bool waited = tracee_made(k->tid, &c) && early_is(&c);
	const bool ended = k->again.on || k->again.repeated || tracee_in_eintr(k->tid);
	const bool vain = (ended || waited) && is_vain(t, k, sig);
	if (!waited || !vain || !early_make(t, k))
		mend_eintr(t, k, ended && vain);
	go_on(t, k, is_ours(t, k, sig) ? 0 : sig);
}

static void on_event_stop(struct tracer *t, struct task *k, int sig)
{
	bool group = signal_stops(sig);

	k->process->stopped &= group;
	k->process->signals += k->stopped_before;
	const bool seized = k->seized, fresh = !k->stopped_before && !seized && !group;
	if (!k->stopped_before)
		uring_born(t, k);
	k->stopped_before = true;
	control_restore(k);
	fast_first_stop(t, k);
	if (k->held_back) { /* until its parent's event */
		t->held_ns = t->held_ns ? t->held_ns : k->held_back;
		return;
	}
	task_found(t, k);
	if (seized)
		control_judged(t, k);
	k->poked = false;
	if (fresh) { /* it has made no call yet */
		go_on(t, k, 0);
		return;
	}
	if (group && !task_leaves(t, k)) {
		early_undo(k);
		rest_undo(t, k);
		if (t->fast && !exec_stop(t, k, sig))
			fast_mend(t, k, sig);
		again_never(k);
		early_never(k);
		rest_never(k);
		task_flush(t, k);
		queue_go_on(t, k);
		return;
	}
	if (task_leaves(t, k) && k->early.on && tracee_is_before(k->tid, &k->early.call))
		early_undo(k); /* else we would not see its exit */
	if (group || !early_make(t, k))
		mend_eintr(t, k, !group);
	if (group || task_leaves(t, k))
		rest_undo(t, k);
	else
		rest_interrupted(t, k, seized);
	if (!group)
		again_plainly(t, k);
	go_on(t, k, 0);
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0;
}

static bool is_alive(unsigned long tid)
{
	return syscall(SYS_tkill, tid, 0) == 0 || errno != ESRCH;
}

static void on_birth(struct tracer *t, struct task *k, bool vfork)
{
	unsigned long tid = 0;

	ptrace(PTRACE_GETEVENTMSG, k->tid, 0, &tid);
	struct task *child = tid ? task_find(t, tid) : NULL;
	/* One that had been let go before may have ended. */
	if (tid && !child && is_alive(tid)) {
		pid_t pid =
			is_thread_of(k->process->pid, tid) ? k->process->pid : (pid_t)tid;
		child = task_new(t, tid, pid, k);
		if (child)
			task_born(t, child, k->process->pid);
	}
	if (child && !child->released) {
		bool held = child->held_back;
		fast_birth(t, child, k, vfork);
		uring_born(t, child);
		child->held_back = 0;
		child->sysmode |= k->sysmode;
		child->bare = k->bare;
		child->runs_on = k->runs_on;
		child->clone_flag = k->clone_flag;
		child->clone_at = k->clone_at;
		child->call.abi = k->call.abi;
		if (held && child->state == TASK_STOPPED) {
			fast_first_stop(t, child);
			queue_resume(t, child, 0);
		} else if (child->state != TASK_QUEUED) {
			queue_resumed(t, child);
		}
	}
	go_on(t, k, 0);
}

static void on_exec(struct tracer *t, struct task *k)
{
	unsigned long former = k->tid;

	if (ptrace(PTRACE_GETEVENTMSG, k->tid, 0, &former) < 0) { /* killed meanwhile */
		const struct task *heir = task_heir(t, k);
		former = heir ? heir->tid : k->tid;
	}
	/* One that was seized on its way here has had no other record. */
	if (former != (unsigned long)k->tid && task_find(t, former) && !k->exiting)
		superseded(t, k);
	control_forget(t, k->process);
	fast_exec_begin(t, k, former);
	uint32_t exe = task_exec(t, k, former);
	fast_exec(t, k);
	if (t->filter && geteuid() && exe &&
		tracee_gains_rights(names_get(t->names, names_file(t->names, exe)->path)))
		task_note(t, k, NOTE_SETUID, 0);
	go_on(t, k, 0);
}

struct release {
	uint64_t since, first; /* what was held back by then; the first that stays */
};

static void release_held(struct tracer *t, struct task *k, void *arg)
{
	struct release *r = arg;

	if (!k->held_back)
		return;
	if (k->state != TASK_STOPPED || !k->stopped_before || k->held_back > r->since) {
		r->first = k->held_back < r->first ? k->held_back : r->first;
		return;
	}
	k->held_back = 0;
	k->released = true;
	k->regs_shared = true;
	k->slotless = true;
	fast_first_stop(t, k);
	queue_resume(t, k, 0);
	if (t->stopping)
		task_interrupt(t, k, NULL);
}

/*
 * A parent may have died before it could tell of a child: nothing is known of its memory
 * then. Which parent that was nobody knows: one that lives would have told by now. idle:
 * nobody has stopped.
 */
void stops_tick(struct tracer *t, bool idle)
{
	const uint64_t now = tracer_now(t),
		       is_long = UINT64_C(200000000) * (idle ? 1 : 10);
	struct release r = { now - is_long, UINT64_MAX };

	if (!t->held_ns || now - t->held_ns < is_long || (!idle && t->queue))
		return;
	tasks_each(t, release_held, &r);
	t->held_ns = r.first == UINT64_MAX ? 0 : r.first;
}

/* 0, or the first error that the sink has returned. */
int stops_dispatch(struct tracer *t, struct task *k)
{
	int sig = WSTOPSIG(k->status), event = k->status >> 16;

	if (!WIFSTOPPED(k->status)) {
		if (t->fast)
			drain_task(t, k);
		part_async(t, k);
		part_requests(t, k);
		task_gone(t, k, k->status);
		return t->error;
	}
	if (!event && sig != (SIGTRAP | 0x80)) {
		on_signal(t, k, sig);
		return t->error;
	}
	k->met = false; /* killed meanwhile, it stops elsewhere */
	if (event != PTRACE_EVENT_STOP)
		task_flush(t, k);
	switch (event) {
	case 0:
		on_syscall(t, k);
		break;
	case PTRACE_EVENT_SECCOMP:
		on_seccomp(t, k);
		break;
	case PTRACE_EVENT_STOP:
		on_event_stop(t, k, sig);
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_birth(t, k, event == PTRACE_EVENT_VFORK);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(t, k);
		break;
	case PTRACE_EVENT_EXIT:
		on_exit_stop(t, k);
		break;
	default:
		go_on(t, k, 0);
	}
	return t->error;
}

/* What stops from now on is let go. Tasks in their queue need no interrupt. */
void stops_detach_all(struct tracer *t)
{
	if (t->stopping)
		return;
	t->stopping = true;
	t->stopping_ns = tracer_now(t);
	tasks_each(t, task_interrupt, NULL);
}
