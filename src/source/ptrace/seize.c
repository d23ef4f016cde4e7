/*
 * seize.c - the processes that are attached to
 *
 * PTRACE_SEIZE waits while its process becomes another program: for a lock that execve(2)
 * holds until all other threads of the process have ended. Those that are ours already
 * stop at their end, and wait for us. So we never wait for long: a timer takes us out of
 * the call, those who die are let die, and all is looked at again.
 */
#include "tracer.h"
#include "iops/diag.h"
#include "iops/process.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <linux/ptrace.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
	PATIENCE_NS = 5 * 1000 * 1000,
	NAP_NS = 1000 * 1000,
	TRIES = 10,
	AGAIN_NS = 10 * 1000 * 1000
};

/* A program that cannot be read in this time is not waited for. */
static const uint64_t EXEC_NS = 2000000000;

/*
 * A jump from the handler: after it returned the kernel would make the call again. All
 * other signals wait meanwhile: their handlers would be jumped over.
 */
struct patience {
	sigjmp_buf out;
	timer_t timer;
	struct sigaction before;
	sigset_t mask; /* as it was */
	bool has_end;
};

static void lose_patience(int sig, siginfo_t *info, void *context)
{
	struct patience *p = info->si_value.sival_ptr;

	(void)sig;
	(void)context;
	siglongjmp(p->out, 1);
}

static void patience_begin(struct patience *p)
{
	struct sigaction act = { .sa_sigaction = lose_patience, .sa_flags = SA_SIGINFO };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN,
		.sigev_value.sival_ptr = p };
	sigset_t set;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	sigfillset(&set);
	sigdelset(&set, SIGRTMIN);
	sigprocmask(SIG_SETMASK, &set, &p->mask);
	p->has_end = !sigaction(SIGRTMIN, &act, &p->before) &&
		     !timer_create(CLOCK_MONOTONIC, &event, &p->timer);
}

static void patience_end(struct patience *p)
{
	if (p->has_end)
		timer_delete(p->timer);
	sigaction(SIGRTMIN, &p->before, NULL);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
}

static void patience_set(struct patience *p, long ns)
{
	const struct itimerspec spec = { .it_value.tv_nsec = ns };

	if (p && p->has_end)
		timer_settime(p->timer, 0, &spec, NULL);
}

/* 0, -EINTR if it would take too long, or -errno. */
static int try_seize(pid_t tid, pid_t pid, long options, struct patience *p)
{
	if (p && sigsetjmp(p->out, 1)) /* perhaps it was done just before */
		return process_tracer(pid, tid) == getpid() ? 0 : -EINTR;
	patience_set(p, PATIENCE_NS);
	int err = ptrace(PTRACE_SEIZE, tid, 0, options) < 0 ? -errno : 0;
	patience_set(p, 0);
	return err;
}

/*
 * Whoever becomes another program takes the id of the first thread, perhaps while we
 * waited for just that. The former owner of that id, who is told of no more, is
 * forgotten. false: it is gone.
 */
static bool renamed(struct tracer *t, pid_t pid)
{
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
		return false;
	struct task *former = task_find(t, pid);
	if (former && former->exiting)
		task_drop(t, former);
	return true;
}

struct joins {
	pid_t tid, pid;
};

static bool has_memory_of(const struct task *k, pid_t tid)
{
	return !syscall(SYS_kcmp, tid, k->tid, KCMP_VM, 0, 0);
}

static void offer(struct tracer *t, struct task *k, void *arg)
{
	const struct joins *j = arg;

	(void)t;
	if (k->process->pid == j->pid && !k->process->newest && has_memory_of(k, j->tid))
		k->process->newest = k;
}

/* Whom it shares its memory with: the last one that was found may have ended, or have had
 * what was there before an execve(2). */
static void join(struct tracer *t, pid_t tid, pid_t pid)
{
	struct process *p = (struct process *)map_get(&t->processes, pid, 0);
	struct joins j = { tid, pid };

	if (!p || (p->newest && has_memory_of(p->newest, tid)))
		return;
	p->newest = NULL;
	tasks_each(t, offer, &j);
	p->guarded &= p->newest != NULL;
}

static int seize(
	struct tracer *t, pid_t tid, pid_t pid, bool interrupt, struct patience *p)
{
	int err = try_seize(tid, pid, t->options, p);
	if (err < 0)
		return err;
	if (interrupt && ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) {
		if (tid == pid || !renamed(t, pid))
			return -ESRCH;
		tid = pid;
	}

	struct task *k = task_find(t, tid);
	if (!k) {
		join(t, tid, pid);
		k = task_new(t, tid, pid, NULL);
	}
	if (!k) {
		ptrace(PTRACE_INTERRUPT, tid, 0, 0); /* to be let go at its stop */
		return -ENOMEM;
	}
	if (interrupt && !k->seized) {
		k->seized = true;
		k->base.calls = -1; /* what it has done so far is not known yet */
		k->process->unmet++;
		k->process->gone.calls = -1; /* who has ended before us? */
	}
	queue_resumed(t, k);
	return 0;
}

int seize_child(struct tracer *t, pid_t pid, bool interrupt)
{
	return seize(t, pid, pid, interrupt, NULL);
}

static bool is_anothers(pid_t pid)
{
	pid_t tracer = process_tracer(pid, pid);

	return tracer && tracer != getpid();
}

/*
 * Who became another program without being ours has the id of the first thread now, whose
 * end, if that was ours, nobody is told of.
 */
static bool is_still_ours(struct tracer *t, pid_t pid, pid_t tid)
{
	struct task *k = task_find(t, tid);

	if (!k || !k->exiting || !process_lives(pid, tid) ||
		process_tracer(pid, tid) == getpid())
		return k != NULL;
	task_drop(t, k);
	return false;
}

/*
 * One pass over the threads of a process. Whether that was not all (1), 0, or -errno of
 * the first that refused for a reason: not for being dead, a zombie or ours already.
 */
static int seize_threads(struct tracer *t, pid_t pid, struct patience *p)
{
	char path[48];
	int err = 0;
	bool again = false;
	struct dirent *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((d = readdir(dir))) {
		pid_t tid = atoi(d->d_name);
		if (tid <= 0 || is_still_ours(t, pid, tid) || process_is_worker(pid, tid))
			continue;
		int got = seize(t, tid, pid, true, p);
		if (!got || got == -EINTR)
			again = true;
		else if (!err && got != -ESRCH && process_tracer(pid, tid) != getpid() &&
			 process_lives(pid, tid))
			err = got;
		if (got == -EINTR)
			break;
	}
	closedir(dir);
	return again ? 1 : err;
}

/* Who dies while nobody listens yet has done nothing that we have seen. arg: of which
 * process. */
static void let_die(struct tracer *t, struct task *k, void *arg)
{
	const int how = WEXITED | WSTOPPED | WNOHANG | __WALL;
	siginfo_t info = { .si_pid = 0 };
	pid_t tid = k->tid;
	int status;

	if (k->process->pid != *(const pid_t *)arg)
		return;
	if (waitid(P_PID, (id_t)tid, &info, how | WNOWAIT) < 0)
		return;
	bool stands = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
	if (!info.si_pid || (stands && info.si_status >> 8 != PTRACE_EVENT_EXIT))
		return;
	if (waitpid(tid, &status, WNOHANG | __WALL) != tid)
		return;
	k->exiting = true;
	if (WIFSTOPPED(status))
		ptrace(PTRACE_CONT, tid, 0, 0);
	else
		task_drop(t, k);
}

static void look_alive(struct tracer *t, struct task *k, void *pid)
{
	(void)t;
	if (k->process->pid == *(pid_t *)pid && !k->exiting)
		*(pid_t *)pid = 0;
}

/* Whether any of its threads is ours, and does not end. */
static bool has_some(struct tracer *t, pid_t pid)
{
	tasks_each(t, look_alive, &pid);
	return !pid;
}

/*
 * Until all its threads are ours. 0, or -errno. Where nothing can be had of a process
 * that lives, what was found may have died in an execve(2) just then, and who made it has
 * taken the id meanwhile: the kernel says of the dead, too, that they are not permitted.
 */
static int seize_all(struct tracer *t, pid_t pid, struct patience *p)
{
	const uint64_t until = tracer_now(t) + EXEC_NS;
	const struct timespec nap = { .tv_nsec = NAP_NS };
	size_t before;
	int got, tries = TRIES;

	do {
		before = t->ntasks;
		got = seize_threads(t, pid, p);
		if (got == 1 && t->ntasks > before)
			continue;
		if (got != 1 && has_some(t, pid))
			return 0;
		if (got < 0 && (is_anothers(pid) || !tries--))
			return got;
		if (!got && !process_runs(pid))
			return -ESRCH;
		tasks_each(t, let_die, &pid);
		nanosleep(&nap, NULL);
	} while (tracer_now(t) < until);
	return -EBUSY;
}

/*
 * A thread that was being made when its maker was seized is not ours, and may have come
 * to light after the last look. But to stop for the first time its maker has had to get
 * done with it. So there is a look after the last of these stops, and after those of whom
 * it finds; and again a while after one that an execve(2) was in the way of. The record
 * of the process may be another one afterwards: is_still_ours().
 */
static void look_again(struct tracer *t, pid_t pid)
{
	struct patience patience = { .has_end = false };
	size_t before;
	int got;

	patience_begin(&patience);
	do {
		before = t->ntasks;
		got = seize_threads(t, pid, &patience);
	} while (got == 1 && t->ntasks > before);
	patience_end(&patience);

	struct process *p = (struct process *)map_get(&t->processes, pid, 0);
	if (!p)
		return;
	p->incomplete = got == 1;
	t->incomplete |= p->incomplete;
	if (!p->started)
		p->comm = tracee_comm(t->names, pid);
	p->started = true;
}

void seize_late(struct tracer *t)
{
	const uint64_t now = tracer_now(t);

	if (!t->incomplete || t->stopping || now < t->again_ns)
		return;
	t->incomplete = false;
	for (size_t i = 0; i < t->processes.cap; i++) {
		const struct process *p = (struct process *)t->processes.slot[i].value;
		if (p && p->incomplete)
			look_again(t, p->pid);
	}
	t->again_ns = t->incomplete ? now + AGAIN_NS : 0;
}

int seize_process(struct tracer *t, pid_t pid)
{
	pid_t parent, tgid = process_tgid(pid, &parent);
	struct patience p = { .has_end = false };

	if (!tgid)
		return -ESRCH;
	if (map_get(&t->processes, tgid, 0))
		return 0; /* named twice */
	patience_begin(&p);
	int err = seize_all(t, tgid, &p);
	patience_end(&p);
	if (err < 0)
		return err;

	struct process *found = (struct process *)map_get(&t->processes, tgid, 0);
	struct op op = { .kind = OP_EXEC,
		.pid = tgid,
		.tid = tgid,
		.fd = -1,
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME,
		.start_ns = tracer_now(t) };
	struct fd_task at = { .tid = tgid };
	serves_already(t, found);
	found->started = true;
	found->comm = op.comm = tracee_comm(t->names, tgid);
	op.file = fdtab_exe(t->fdtab, &at);
	op.ret = parent;
	t->found[t->nfound++] = op;
	return 0;
}

void seize_failed(pid_t pid, int err)
{
	pid_t other = err == -EPERM ? process_tracer(pid, pid) : 0;

	if (other)
		diag("cannot attach to %d: already traced by process %d", pid, other);
	else if (process_check(pid) < 0)
		return;
	else if (err == -EPERM && process_is_kernels(pid))
		diag("cannot attach to %d: it is a thread of the kernel, which makes no "
		     "system calls",
			pid);
	else if (err == -EPERM)
		diag("cannot attach to %d: not permitted; 'iops doctor' tells why", pid);
	else if (err == -EBUSY)
		diag("cannot attach to %d: it is becoming another program (execve) and "
		     "does not get there; try again",
			pid);
	else
		diag_err(err, "cannot attach to %d", pid);
}
