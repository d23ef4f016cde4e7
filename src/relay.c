/*
 * relay.c - what the front end does while the command runs
 */
#include "relay.h"
#include "iops/slurp.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	FORWARD_WAIT_MS = 20,
	FORWARD_LATE_MS = 500,
	TAKE_MS = 1000, /* a report takes less, if there is somebody to take it */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Whether a signal waits in the command, blocked by it. No stdio: beside.h. */
static bool is_pending(const struct launch *l, unsigned sig)
{
	static const char *const fields[] = { "\nSigPnd:", "\nShdPnd:" };
	char path[64], text[64 << 10]; /* it may be in thousands of groups */
	bool pending = false;

	snprintf(path, sizeof(path), "/proc/%d/status", l->command);
	if (slurp(path, text, sizeof(text)) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(text, fields[i]);
		pending |=
			at && strtoull(at + strlen(fields[i]), NULL, 16) >> (sig - 1) & 1;
	}
	return pending;
}

/*
 * Whether the command got this signal too, from the same sender: as when it was sent to
 * the process group. Each delivery is the answer to one signal of ours at most.
 */
static bool had_it_too(struct front *f, const struct signalfd_siginfo *si, uint64_t at)
{
	const struct launch *l = f->launch;
	unsigned sig = si->ssi_signo, n = l->delivered[sig].n;

	if (n != f->matched[sig] && l->delivered[sig].from == (pid_t)si->ssi_pid &&
		l->delivered[sig].at_ns + FORWARD_LATE_MS * UINT64_C(1000000) > at) {
		f->matched[sig] = n;
		return true;
	}
	return is_pending(l, sig);
}

/* What a user ends a program by. */
static bool ends_command(int sig)
{
	return sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP;
}

/*
 * A report that is due may wait for its reader for ever. Whoever signals still, and not
 * just with what has ended all else, wants that no more. false: it is not due.
 */
static bool give_up(struct front *f)
{
	uint64_t due = *f->due;

	if (due && f->tracer > 0 && now_ns() - due >= TAKE_MS * UINT64_C(1000000)) {
		kill(f->tracer, SIGALRM);
		f->gave_up = true;
	}
	return due;
}

/*
 * What the terminal sends reaches the command by itself; what was meant for us is its.
 * A hangup is told to the session's leader alone: as which the command would run.
 */
static void forward(struct front *f, const struct signalfd_siginfo *si)
{
	struct timespec wait = { 0, FORWARD_WAIT_MS * 1000000 };
	uint64_t at = now_ns();
	bool hangup = si->ssi_signo == SIGHUP && getsid(0) == getpid();

	if (f->ended) {
		if (ends_command((int)si->ssi_signo)) {
			f->launch->enough = 1;
			give_up(f);
		}
		return;
	}
	if (si->ssi_code == SI_KERNEL && !hangup)
		return;
	nanosleep(&wait, NULL);
	if (!had_it_too(f, si, at))
		kill(f->launch->command, (int)si->ssi_signo);
}

/* Stop as the command did, so that the shell takes the job for stopped. */
static void stop_like(struct front *f, int sig)
{
	struct sigaction deflt = { .sa_handler = SIG_DFL }, old;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaction(sig, &deflt, &old);
	if (f->launch) {
		f->matched[SIGCONT] = f->launch->delivered[SIGCONT].n;
		f->launch->stopped = 1;
	}
	raise(sig);
	if (sig != SIGSTOP) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	sigaction(sig, &old, NULL);
}

/* Whoever continues only us means the command, if it has not gone on by itself. */
static void go_on(struct front *f)
{
	struct timespec wait = { 0, FORWARD_WAIT_MS * 1000000 };
	siginfo_t info = { .si_pid = 0 };

	if (!f->launch->stopped)
		return;
	f->launch->stopped = 0;
	nanosleep(&wait, NULL);
	waitid(P_PID, f->launch->command, &info, WCONTINUED | WNOHANG);
	if (!info.si_pid && f->matched[SIGCONT] == f->launch->delivered[SIGCONT].n)
		kill(f->launch->command, SIGCONT);
}

static void look_at_children(struct front *f)
{
	siginfo_t info;

	if (f->tracer > 0 && waitpid(f->tracer, NULL, WNOHANG) == f->tracer)
		f->tracer = 0; /* its id is free for others now */
	if (!f->launch || f->ended)
		return;
	for (;;) {
		info.si_pid = 0;
		if (waitid(P_PID, f->launch->command, &info,
			    WSTOPPED | WCONTINUED | WNOHANG) < 0 ||
			!info.si_pid)
			break;
		if (info.si_code == CLD_STOPPED)
			stop_like(f, info.si_status);
	}
	/* Its counters can be read until it is reaped: at the very end. */
	info.si_pid = 0;
	if (!waitid(P_PID, f->launch->command, &info, WEXITED | WNOWAIT | WNOHANG) &&
		info.si_pid) {
		f->launch->status =
			info.si_code == CLD_EXITED
				? info.si_status << 8
				: info.si_status |
					  (info.si_code == CLD_DUMPED ? 0x80 : 0);
		f->ended = true;
		f->launch->ended = 1;
	}
}

static void on_signal(struct front *f, const struct signalfd_siginfo *si)
{
	switch (si->ssi_signo) {
	case SIGCHLD:
		look_at_children(f);
		break;
	case SIGUSR1:
		if (f->tracer > 0)
			kill(f->tracer, SIGUSR1);
		break;
	case SIGCONT:
		if (f->launch)
			go_on(f);
		break;
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		/* The command stops first, if it does at all; attached ones run on. */
		if (!f->launch)
			stop_like(f, (int)si->ssi_signo);
		break;
	default:
		if (f->launch)
			forward(f, si);
		else if (!give_up(f) && f->tracer > 0)
			kill(f->tracer, SIGTERM);
	}
}

void relay_serve(struct front *f)
{
	struct pollfd on[2] = { { .fd = f->signals, .events = POLLIN },
		{ .fd = f->done, .events = POLLIN } };
	struct signalfd_siginfo si;
	char byte;

	look_at_children(f);
	while ((f->launch && !f->ended) || !f->told) {
		if (poll(on, 2, -1) < 0 && errno != EINTR)
			break;
		if (on[0].revents && read(f->signals, &si, sizeof(si)) == sizeof(si))
			on_signal(f, &si);
		if (on[1].revents && !f->told) {
			ssize_t n = read(f->done, &byte, 1);
			f->told = true;
			f->result = n == 1 ? byte : -1;
			on[1].fd = -1;
		}
	}
}
