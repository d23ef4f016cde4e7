/*
 * stand.c - a task that stands still, and calls made in its name
 *
 * From a stop, where all of its state is kept and from where it goes on as if nothing had
 * been. Signals wait meanwhile.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOPPED = 1, ENDED, FROZEN };

/*
 * Sleep until there is news of a task. Not in wait(2) itself: the first thread of a
 * process that is killed may be dead without a word while others, which we serve next,
 * are not. That is -ESRCH. One that sleeps, where no call of ours does, is frozen with
 * its control group: cgroup.freeze.
 */
static int look(struct tracer *t, const struct task *k)
{
	enum { FEW = 4, BUSY = 200, NAP_NS = 50 * 1000, PATIENCE = 20, SLEEPS = 100 };
	const struct timespec nap = { 0, NAP_NS };
	unsigned asleep = 0, busy = BUSY;
	sigset_t news;

	sigemptyset(&news);
	sigaddset(&news, SIGCHLD);
	for (unsigned i = 0;; i++) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, k->tid, &info,
			    WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) < 0 &&
			errno != EINTR)
			return -ESRCH;
		if (info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED
				       ? STOPPED
				       : ENDED;
		/* It may be to run on this very CPU. Not sched_yield(2): where others
		 * want that too, each has its turn before. */
		if (i == FEW)
			busy = tracee_is_beside(k->tid) ? FEW : BUSY;
		if (i < busy)
			continue;
		if (sigtimedwait(&news, NULL, &nap) > 0)
			t->dirty = true; /* it may have been another's */
		if (i % PATIENCE)
			continue;
		char state = process_state(k->process->pid, k->tid);
		if (!state || state == 'Z' || state == 'X')
			return -ESRCH;
		asleep = state == 'S' ? asleep + 1 : 0;
		if (asleep == SLEEPS)
			return FROZEN;
	}
}

/* A stop of its group, or its end: that is told as well, but looks like an interrupt. */
static void note_stop(struct task *k, int sig, bool interrupted)
{
	if (sig != SIGTRAP)
		k->restop = true;
	else if (!interrupted && !k->poked)
		k->restop = false;
}

/*
 * Until the task stops as expected: 0. -ESRCH: it has died, or stands elsewhere, which
 * is in the queue then. -EAGAIN: it stands where it was, as it is frozen.
 */
int stand_wait(struct tracer *t, struct task *k, int event, int request)
{
	bool frozen = false;
	int status;

	for (;;) {
		int news = look(t, k);
		if (news < 0)
			return news;
		if (news == FROZEN) {
			frozen = !ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
			continue;
		}
		/* Once it is reaped its counters are gone. */
		if (news == ENDED && !k->exiting) {
			drain_killed(t, k);
			task_exiting(t, k);
		}
		if (waitpid(k->tid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (WIFSTOPPED(status)) {
			int sig = WSTOPSIG(status), got = status >> 16;
			if (got == event && (event || sig == (SIGTRAP | 0x80)))
				return 0;
			if (event == PTRACE_EVENT_SECCOMP && !got && sig == SIGTRAP)
				return 0; /* a breakpoint, where there is no filter */
			if (got == PTRACE_EVENT_SECCOMP) {
				/* Of a filter that we have just put there. */
				ptrace(request, k->tid, 0, 0);
				continue;
			}
			if (got == PTRACE_EVENT_STOP || (!got && sig == SIGSTOP)) {
				note_stop(k, sig, frozen);
				if (got && frozen)
					return -EAGAIN;
				ptrace(request, k->tid, 0, 0);
				continue;
			}
		}
		queue_add(t, k, status);
		return -ESRCH;
	}
}

int stand_go(struct tracer *t, struct task *k, const struct user_regs_struct *r,
	int request, int event)
{
	maps_forget(&t->fast->texts.maps);
	if (ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 || ptrace(request, k->tid, 0, 0) < 0)
		return -errno;
	return stand_wait(t, k, event, request);
}

enum { STEPS = 0x100 /* of eflags: a trap behind each instruction */ };

/* At the stop before a call: remember all, and let no signal in. */
int stand_begin(struct tracer *t, struct task *k, struct stand *s)
{
	uint64_t none = ~UINT64_C(0);

	maps_forget(&t->fast->texts.maps); /* it has run since */
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(none), &none) < 0)
		return -errno;
	if (k->met) /* which is where it will stand */
		s->regs.rip += 2;
	k->met = false;
	if (k->space)
		k->space->changed = fast_tsc();
	s->entry = s->regs;
	s->entry.eflags &= ~(uint64_t)STEPS;
	return 0;
}

/* A stop by a signal that came meanwhile is still to be. One that came later than what
 * ends it would have taken that away. */
static void stop_again(struct task *k)
{
	struct signal_state ends;

	if (k->restop && (tracee_signal(k->tid, SIGCONT, &ends) < 0 || !ends.pending))
		syscall(SYS_tgkill, k->process->pid, k->tid, SIGSTOP);
	k->restop = false;
}

/* As it stood, at the same stop. */
int stand_same(struct task *k, struct stand *s)
{
	if (ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		return -errno;
	stop_again(k);
	return 0;
}

/* Go on at ip as if the call had not been begun; regs may have been changed. */
int stand_end(struct task *k, struct stand *s, uint64_t ip)
{
	s->regs.rip = ip;
	s->regs.rax = s->regs.orig_rax;
	s->regs.orig_rax = -1;
	if (ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		return -errno;
	stop_again(k);
	return 0;
}

/* Where code of a task makes a call, from the beginning on. 0: nowhere. */
static uint64_t search_call(pid_t tid, const struct mapping *m)
{
	uint8_t code[16384];
	size_t len = m->to - m->from < sizeof(code) ? m->to - m->from : sizeof(code);

	if (tracee_read(tid, m->from, code, len) != (ssize_t)len)
		return 0;
	const uint8_t *at = memmem(code, len, "\x0f\x05", 2);
	return at ? m->from + (uint64_t)(at - code) : 0;
}

/* A place in the vdso where a call can be made: every process has one, most of them the
 * same. 0: none. */
static uint64_t find_call(struct fast *f, pid_t tid)
{
	static const char name[] = "[vdso]";
	struct mapping m;
	size_t next = 0;

	if (maps_of(&f->texts.maps, tid) < 0)
		return 0;
	while (maps_next(&f->texts.maps, &next, &m)) {
		if (m.path_len != sizeof(name) - 1 || memcmp(m.path, name, m.path_len))
			continue;
		if (f->vdso_call && text_is_call(tid, m.from + f->vdso_call))
			return m.from + f->vdso_call;
		uint64_t at = search_call(tid, &m);
		f->vdso_call = at ? at - m.from : 0;
		return at;
	}
	return 0;
}

/*
 * Where it would go on. In a section that rseq(2) is to begin anew when it has not had
 * the CPU all the time, that is not where it stands; behind a call that it makes
 * elsewhere the kernel knows of no section any more.
 */
static void leave_section(const struct task *k, struct user_regs_struct *r)
{
	struct ptrace_rseq_configuration at;
	struct rseq_cs cs;
	uint64_t is = 0;

	if ((int64_t)r->orig_rax >= 0 ||
		ptrace(PTRACE_GET_RSEQ_CONFIGURATION, k->tid, sizeof(at), &at) !=
			sizeof(at) ||
		!at.rseq_abi_pointer)
		return;
	const uint64_t from = at.rseq_abi_pointer + offsetof(struct rseq, rseq_cs);
	if (tracee_read(k->tid, from, &is, sizeof(is)) == sizeof(is) && is &&
		tracee_read(k->tid, is, &cs, sizeof(cs)) == sizeof(cs) &&
		r->rip - cs.start_ip < cs.post_commit_offset)
		r->rip = cs.abort_ip;
}

/* The same at a stop that is not that of a call. */
int stand_anywhere(struct tracer *t, struct task *k, struct stand *s)
{
	int err = stand_begin(t, k, s);

	if (!err) {
		leave_section(k, &s->regs);
		s->call_at = find_call(t->fast, k->tid);
	}
	if (!err && !s->call_at)
		err = -ENOEXEC;
	if (err == -ENOEXEC)
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask);
	return err;
}

/* One call, its number and arguments in r, and its result afterwards. */
int stand_call(struct tracer *t, struct task *k, const struct stand *s,
	struct user_regs_struct *r)
{
	r->rip = s->call_at;
	r->orig_rax = -1;
	int err = stand_go(t, k, r, PTRACE_SYSCALL, 0);
	if (!err && ptrace(PTRACE_SYSCALL, k->tid, 0, 0) < 0)
		err = -errno;
	if (!err)
		err = stand_wait(t, k, 0, PTRACE_SYSCALL);
	if (!err && ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
		err = -errno;
	return err;
}

/* The same by its number and arguments. Its result, or -errno. */
int stand_make(struct tracer *t, struct task *k, const struct stand *s, uint64_t nr,
	const uint64_t arg[4])
{
	struct user_regs_struct r = s->entry;

	r.rax = nr;
	r.rdi = arg[0];
	r.rsi = arg[1];
	r.rdx = arg[2];
	r.r10 = arg[3];
	int err = stand_call(t, k, s, &r);
	return err ? err : (int)r.rax;
}

/* What the kernel makes of a call that it restarts: linux/errno.h, 512 to 516. */
static struct user_regs_struct restarted(const struct user_regs_struct *from)
{
	struct user_regs_struct r = *from;
	int64_t err = -(int64_t)r.rax;

	if ((int64_t)r.orig_rax < 0 || err < 512 || err > 516 || err == 515)
		return r;
	r.rip -= 2;
	r.rax = err == 516 ? SYS_restart_syscall : r.orig_rax;
	r.orig_rax = -1;
	return r;
}

/*
 * Behind a call, back to a stop like that where it stood: there the kernel decides about
 * the restart of what the program itself was in. Should we die meanwhile it is restarted.
 */
int stand_back(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r = restarted(&s->regs);

	ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
	int err = stand_go(t, k, &r, PTRACE_CONT, PTRACE_EVENT_STOP);
	if (!err && ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0)
		err = -errno;
	if (!err && ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		err = -errno;
	if (!err)
		stop_again(k);
	return err;
}

/* Where a program begins: no call is to be restarted there. */
void stand_begun(struct task *k, struct stand *s)
{
	s->regs.orig_rax = s->regs.rax;
	stand_end(k, s, s->regs.rip);
}
