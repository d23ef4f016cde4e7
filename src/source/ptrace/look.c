/*
 * look.c - whether a tracee has stopped
 *
 * Where the tracees go on as we die, a signal is gone that one of them has stopped at, if
 * wait(2) has taken note of that. So that is put off until its task is resumed.
 */
#include "look.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* Whether it has stopped before a signal, and has not been met there as yet. What is
 * raised by the instruction that it stands at is raised again. */
static bool is_before_signal(const struct task *k, const siginfo_t *info)
{
	const int sig = info->si_status;

	return k && sig < NSIG && sig != SIGTRAP && !k->met &&
	       (k->state == TASK_RUNNING || k->status != (sig << 8 | 0x7f));
}

/* Before it is taken note of. One that could not go on from there without us is seen to.
 */
static int look_first(struct tracer *t, pid_t tid, siginfo_t *info)
{
	const int how = WSTOPPED | WNOHANG | WNOWAIT | __WALL;

	if (waitid(tid ? P_PID : P_ALL, tid, info, how) < 0)
		return -errno;
	if (!info->si_pid)
		return 0;
	struct task *k = task_find(t, info->si_pid);
	if (k && info->si_status == SIGSYS)
		dispatch_met(t, k);
	return is_before_signal(k, info) ? AT_SIGNAL : STOPPED;
}

/*
 * tid 0: any. One AT_SIGNAL hides others until it is resumed, or is seen once more: then
 * it is taken note of. *status: as of wait4(2). 0: none has stopped; -errno.
 */
int look_stopped(struct tracer *t, pid_t tid, pid_t *who, int *status)
{
	siginfo_t info = { .si_pid = 0 };
	const int met = t->launch ? STOPPED : look_first(t, tid, &info);

	if (met <= 0)
		return met;
	tid = info.si_pid ? info.si_pid : tid;
	if (met == STOPPED &&
		waitid(tid ? P_PID : P_ALL, tid, &info, WSTOPPED | WNOHANG | __WALL) < 0)
		return -errno;
	*who = info.si_pid;
	*status = info.si_status << 8 | 0x7f;
	return info.si_pid ? met : 0;
}
