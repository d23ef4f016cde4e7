/*
 * early.c - waits in io_uring_enter(2) that our presence has ended early, made again
 *
 * As again.c, but for this one call: where it has taken requests before it is woken, its
 * result is their number, and not EINTR. It is made again without any, with what is left
 * of its time; at its exit it has the arguments and the result that it had before.
 */
#include "early.h"
#include "uring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum { S_NS = 1000 * 1000 * 1000 };

/* Its arguments. */
enum { ENTER_FD, ENTER_SUBMIT, ENTER_MIN, ENTER_FLAGS, ENTER_ARG };

/* Where the time is said: struct io_uring_getevents_arg, and what it points to. */
struct timed {
	struct io_uring_getevents_arg arg;
	struct timespec left;
};

bool early_is(const struct made_call *c)
{
	return c->nr == SYS_io_uring_enter;
}

/* The answers that are there, of a ring that we cannot read: /proc/PID/fdinfo; -1. */
static int64_t told_ready(const struct task *k, int fd)
{
	char path[64], line[128];
	unsigned head = 0, tail = 0, n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", k->tid, fd);
	FILE *f = fopen(path, "re");
	while (f && n < 2 && fgets(line, sizeof(line), f))
		n += sscanf(line, "CqHead: %u", &head) == 1 ||
		     sscanf(line, "CqTail: %u", &tail) == 1;
	if (f)
		fclose(f);
	return n == 2 ? (int64_t)(tail - head) : -1;
}

/*
 * Whether it has ended before what it waited for was there, though not for a timeout that
 * the program had asked for, IORING_OP_TIMEOUT, which ends it as well. What other threads
 * have read since it began was there, too; of a ring that we cannot read that is not
 * known.
 */
static bool is_early(const struct tracer *t, const struct task *k, struct made_call *e)
{
	if (!tracee_made(k->tid, e) || !early_is(e) ||
		!(e->arg[ENTER_FLAGS] & IORING_ENTER_GETEVENTS) ||
		!(uint32_t)e->arg[ENTER_MIN] || (e->result < 0 && e->result != -EINTR) ||
		(e->result >= 0 && (uint32_t)e->arg[ENTER_SUBMIT] != e->result))
		return false; /* nor does it wait when it has not taken all */
	bool registered = e->arg[ENTER_FLAGS] & IORING_ENTER_REGISTERED_RING;
	int64_t ready = uring_ready(t, k, (int)e->arg[ENTER_FD], registered);
	if (ready < 0 && !registered && k->process->ntasks == 1)
		ready = told_ready(k, (int)e->arg[ENTER_FD]);
	return ready >= 0 && ready < (int64_t)(uint32_t)e->arg[ENTER_MIN];
}

/* What is there for it, of those that can be told apart; 0: nothing; -1: its ring cannot
 * be read. */
static int64_t ready_of(
	const struct tracer *t, const struct task *k, const struct made_call *e)
{
	return uring_ready(t, k, (int)e->arg[ENTER_FD],
		e->arg[ENTER_FLAGS] & IORING_ENTER_REGISTERED_RING);
}

/* With its time as it is left, least if that is less: 1; 0: it has none; -errno. */
static int shorten(
	const struct tracer *t, struct task *k, struct made_call *e, int64_t least)
{
	struct timed to;
	struct timespec asked;

	/* By an absolute time it ends when it did before. */
	if (!(e->arg[ENTER_FLAGS] & IORING_ENTER_EXT_ARG) ||
		e->arg[ENTER_FLAGS] & ENTER_ABS_TIMER ||
		task_read(k, e->arg[ENTER_ARG], &to.arg, sizeof(to.arg)) !=
			sizeof(to.arg) ||
		!to.arg.ts ||
		task_read(k, to.arg.ts, &asked, sizeof(asked)) != sizeof(asked) ||
		asked.tv_sec < 0 || asked.tv_sec >= INT64_MAX / S_NS)
		return 1;
	int64_t left = asked.tv_sec * S_NS + asked.tv_nsec;
	uint64_t from = ready_of(t, k, e) < 0 ? k->early.first : k->early.from;
	if (from)
		left -= (int64_t)(tracer_now(t) - from);
	left = left < least ? least : left;
	if (left < 0)
		return 0;
	uint64_t at = again_scratch(k, e->stack);
	to.left = (struct timespec){ left / S_NS, left % S_NS };
	to.arg.ts = at + offsetof(struct timed, left);
	e->arg[ENTER_ARG] = at;
	return !at || tracee_write(k->tid, at, &to, sizeof(to)) < 0 ? -EFAULT : 1;
}

/* The kernel counts from what is read by now: others may have read some. */
static void lessen(const struct tracer *t, const struct task *k, struct made_call *e)
{
	uint32_t min = (uint32_t)e->arg[ENTER_MIN];
	uint32_t read = uring_read(t, k, (int)e->arg[ENTER_FD],
		e->arg[ENTER_FLAGS] & IORING_ENTER_REGISTERED_RING);

	e->arg[ENTER_MIN] = read < min ? min - read : 0;
}

/*
 * At its entry. One that the hook has sent back has begun before: it goes on with what is
 * left of its time, and what others have read since then is no more to come.
 */
void early_begins(const struct tracer *t, struct task *k)
{
	const struct uring *r = k->ring;
	struct made_call c, rest;

	if (k->early.on)
		return;
	k->early.never = false;
	k->early.first = 0;
	if (!r)
		return;
	k->early.head = uring_word(r->view.cq, r->p.cq_off.head);
	k->early.from = hold_vain(t, k, &k->early.head);
	if (!k->early.from) {
		k->early.from = tracer_now(t);
		return;
	}
	if (task_leaves(t, k) || !tracee_made(k->tid, &c) || !early_is(&c))
		return;
	rest = c;
	lessen(t, k, &rest);
	if (shorten(t, k, &rest, 0) < 0 || !memcmp(rest.arg, c.arg, sizeof(c.arg)) ||
		tracee_make_over(k->tid, &rest) < 0)
		return;
	k->early.on = true;
	k->early.call = c;
}

/* At a stop behind it. Whether it is going to be made again. */
bool early_make(const struct tracer *t, struct task *k)
{
	struct made_call e;

	hold_began(t, k);
	if (k->early.on || k->early.never)
		return false;
	if (!is_early(t, k, &e)) {
		k->early.first = 0; /* what there was is over */
		return false;
	}
	struct made_call again = e;
	if (e.result >= 0)
		again.arg[ENTER_SUBMIT] = 0;
	lessen(t, k, &again);
	if (!k->early.first)
		k->early.first = tracer_now(t);
	/* Else we would not see its exit. */
	if (shorten(t, k, &again, -1) <= 0 ||
		(task_leaves(t, k) &&
			(again.arg[ENTER_SUBMIT] != e.arg[ENTER_SUBMIT] ||
				again.arg[ENTER_ARG] != e.arg[ENTER_ARG] ||
				again.arg[ENTER_MIN] != e.arg[ENTER_MIN])) ||
		tracee_make_again(k->tid, &again) < 0) {
		k->early.first = 0;
		return false;
	}
	k->early.on = k->early.goes_on = !task_leaves(t, k);
	k->early.call = e;
	return true;
}

/*
 * At its exit: an interrupt of ours is forgotten there, and among threads the one that
 * was woken for a signal may not be the one that takes it. But not where its time is said
 * in a way that we cannot read: it would have all of that once more.
 */
bool early_quietly(const struct tracer *t, struct task *k)
{
	struct made_call e;

	return k->ring && !k->ring->hushed && !task_leaves(t, k) &&
	       !k->process->stopped && is_early(t, k, &e) &&
	       !(e.arg[ENTER_FLAGS] & ENTER_ARG_REG) && !ready_of(t, k, &e) &&
	       !tracee_awaits(k->tid) && early_make(t, k);
}

/* Another signal has come before it was made again: it has ended as it had without us. */
void early_undo(struct task *k)
{
	if (k->early.on)
		tracee_make_undo(k->tid, &k->early.call);
	k->early.on = k->early.goes_on = false;
	k->early.first = 0;
}

/* Whether one is made again, or has been and may be once more. */
bool early_may_end(const struct task *k)
{
	return k->early.on || k->early.first;
}

/* A stop of its group ends it without us as well. */
void early_never(struct task *k)
{
	k->early.never = true;
}

/*
 * At its exit. Its result. As it was made again without requests, it says itself why it
 * has ended: if that is its time, or an error, it ends for good.
 */
int64_t early_exit(const struct tracer *t, struct task *k, int64_t ret)
{
	struct made_call *e = &k->early.call;

	if (!k->early.on)
		return ret;
	k->early.on = false;
	if (ret != -EINTR)
		k->early.first = 0;
	if (k->ring) { /* else its next call may not be seen to begin */
		k->early.never |= ret != -EINTR && (ret || !ready_of(t, k, e));
		k->early.goes_on = false; /* the hook has no part in it */
	}
	if (k->slot.ctl) { /* the hook puts them back */
		k->slot.ctl->r8 = e->arg[ENTER_ARG];
		k->slot.ctl->rdx = e->arg[ENTER_MIN];
	}
	if (e->result < 0)
		e->result = ret;
	tracee_make_over(k->tid, e);
	return e->result;
}
