/*
 * launch.h - what the front end, the tracer and the command-to-be share.
 *
 * Three processes: the front end is the shell's job and the command's parent. The
 * command waits in a pipe until the tracer lets it go. The tracer lives in a session
 * of its own. One page of memory that is shared in any case (beside.h) holds what they
 * have to tell one another.
 */
#ifndef IOPS_LAUNCH_H
#define IOPS_LAUNCH_H

#include "iops/process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

struct syscall_set;

/* How the command is to start: the byte that lets it go. */
enum launch_how {
	LAUNCH_PLAIN = 'p',
	LAUNCH_FILTER = 'f',
	LAUNCH_PATCH = 'h',
	LAUNCH_ASK = 'a' /* it stops, and is told then which of the others */
};

struct launch {
	pid_t front, command, tracer;
	int go[2]; /* a pipe: the command waits for a byte of enum launch_how */

	/* The command's word: errno of a failed exec or of the filter; 0 while none. */
	volatile int exec_errno, filter_errno;

	/* The command's word: what comes next is its exec. */
	volatile int begins;

	/* The command's word: it stops to ask how it is to go on. The tracer's: that. */
	volatile int asks, answer;

	/* The front end's word: the command is known to be a program of 32 bits. */
	volatile int of_32;

	/* The tracer's word: how often the command got a signal, last when and from whom.
	 */
	struct {
		volatile unsigned n;
		volatile uint64_t at_ns; /* CLOCK_MONOTONIC */
		volatile pid_t from;
	} delivered[NSIG];

	/* The front end's word: it has stopped, as the command had. Whoever sees the
	 * command go on sends it SIGCONT. */
	volatile int stopped;

	/* The front end's word: the command's wait status, valid once ended is set. */
	volatile int ended, status;

	/* The front end's word: the rest of the tree is not waited for any more, as a
	 * signal has come that would have ended the command. */
	volatile int enough;

	/* The tracer's word: since when only its report is left; 0: it is not. */
	volatile uint64_t due_ns; /* CLOCK_MONOTONIC */
};

/* Whether the command has ended; should the front end have been killed, nobody says how.
 */
static inline bool launch_over(const struct launch *l)
{
	return l->ended || (getppid() != l->front && !process_runs(l->command));
}

/* Let the command go. 0 or -errno. */
static inline int launch_go(const struct launch *l, enum launch_how how)
{
	char byte = how;

	return write(l->go[1], &byte, 1) == 1 ? 0 : -errno;
}

/*
 * Which byte of a tracer's id is 1, so that it can guard the calls that it makes stop in
 * a program which runs on after it: fast/guard.c. Its low half is not 0. -1: none.
 */
static inline int launch_guard_byte(pid_t tid)
{
	for (int i = 0; i < 3 && (tid & 0xffff); i++)
		if ((tid >> 8 * i & 0xff) == 1)
			return i;
	return -1;
}

/*
 * In the tracer, as soon as it can: a thread finds out what any command will need, if
 * there is another CPU for it. NULL: it is found out when it is needed.
 */
struct foresight *foresee_begin(void);

struct sock_filter;

/*
 * What a seccomp program makes stop for the tracer: what is wanted; also what the fast
 * path has to know of from the start on, and nothing that its hook makes; or, in a second
 * one above that, what it has to know of once a process has rings.
 */
enum filter_part { FILTER_WANTED, FILTER_FIRST, FILTER_SECOND };

/* out: room for BPF_MAXINSNS instructions. Returns how many there are. */
unsigned filter_build(
	const struct syscall_set *want, enum filter_part part, struct sock_filter *out);

/* In the command-to-be: put it in force. 0 or -errno. */
int filter_install(const struct syscall_set *want, bool patch);

#endif
