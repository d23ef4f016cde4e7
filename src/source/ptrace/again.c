/*
 * again.c - calls that our presence has ended with EINTR, made again
 *
 * To a tracee signals come that it ignores, which would never have been queued otherwise,
 * and some calls end with EINTR for them; also for our interrupts. They are made again,
 * as if nothing had been, with what is left of the time that the program wanted to wait.
 * The argument that says so is put back at their exit.
 */
#include "tracer.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <time.h>

enum { RED_ZONE = 128, BELOW = 512, MS_NS = 1000 * 1000, S_NS = 1000 * 1000 * 1000 };

/* In ns; -1: for ever, or something that the kernel does not take either. */
static int64_t asked_ns(const struct task *k, const struct time_limit *l)
{
	struct timespec s;

	if (!l->pointer)
		return (int32_t)l->value < 0 ? -1 : (int64_t)(int32_t)l->value * MS_NS;
	if (!l->value || task_read(k, l->value, &s, sizeof(s)) != sizeof(s) ||
		s.tv_sec < 0 || s.tv_sec >= INT64_MAX / S_NS ||
		(uint64_t)s.tv_nsec >= S_NS)
		return -1;
	return s.tv_sec * S_NS + s.tv_nsec;
}

/* 0: there is none. Below its stack, and below what a function may keep there without
 * having said so. */
uint64_t again_scratch(const struct task *k, uint64_t stack)
{
	uint64_t at = (stack - RED_ZONE - BELOW) & ~UINT64_C(15), word[2];

	return task_read(k, at, word, sizeof(word)) == sizeof(word) ? at : 0;
}

static int set_left(struct task *k, const struct time_limit *l, int64_t ns)
{
	const struct timespec s = { ns / S_NS, ns % S_NS };
	uint64_t value = (uint64_t)((ns + MS_NS - 1) / MS_NS);

	if (l->pointer) {
		value = again_scratch(k, l->stack);
		if (!value)
			return -EFAULT;
		int err = tracee_write(k->tid, value, &s, sizeof(s));
		if (err)
			return err;
	}
	k->again.value = value;
	return tracee_set_limit(k->tid, l, value);
}

/* When it began is known of calls that have stopped then, and of those in the hook. */
void again_begins(struct task *k, uint64_t now)
{
	k->again.began = now;
	k->again.repeated = 0;
}

/* As it is about to be made again. */
void again_limit(const struct tracer *t, struct task *k)
{
	struct again *a = &k->again;
	uint64_t now = tracer_now(t);

	if (!a->on) {
		a->asked = tracee_limit(k->tid, &a->limit) ? asked_ns(k, &a->limit) : -1;
		a->from = a->began && a->began < now ? a->began : now;
	}
	a->on = a->asked >= 0;
	int64_t left = a->on ? a->asked - (int64_t)(now - a->from) : 0;
	if (a->on && set_left(k, &a->limit, left > 0 ? left : 0) < 0)
		a->on = false;
}

/* At a stop where such a call has ended. Whether it is going to be made again. */
bool again_make(struct tracer *t, struct task *k)
{
	if (!tracee_in_eintr(k->tid))
		return false;
	if (!task_leaves(t, k)) /* else we would not see its exit */
		again_limit(t, k);
	return !tracee_unmask_eintr(k->tid);
}

/* At the stop from which it was to leave, but goes on. */
void again_stays(const struct tracer *t, struct task *k)
{
	struct time_limit l;

	if (tracee_in_nohand(k->tid) && tracee_limit(k->tid, &l))
		again_limit(t, k);
}

/*
 * After a stop the kernel goes on with some waits by restart_syscall(2), which a filter
 * of the program's own may not know of, and kill for. There the call itself is made
 * again, for all of its time: what was left of it only the kernel knows.
 */
void again_plainly(const struct tracer *t, struct task *k)
{
	const bool own = k->process->locked || !t->launch;

	if (own && tracee_in_restart(k->tid) && tracee_is_filtered(k->tid))
		tracee_unmask_eintr(k->tid);
}

/* A file system may say EINTR of its own, again and again. */
static bool is_of_socket(const struct tracer *t, const struct task *k)
{
	return k->call.row >= 0 && !k->call.quiet &&
	       names_file(t->names, k->call.op[0].file)->type == FILE_SOCKET;
}

/*
 * At the exit stop of a call that has ended with EINTR. Among threads the one that is
 * woken for a signal may not be the one that takes it: then no stop follows, and for a
 * signal that is ignored nothing is to be seen of it. Whether it is made again.
 */
bool again_quietly(struct tracer *t, struct task *k)
{
	struct again *a = &k->again;

	if (task_leaves(t, k) || k->process->stopped || k->process->ntasks < 2 ||
		tracee_awaits(k->tid))
		return false;
	if (tracee_limit(k->tid, &a->limit))
		again_limit(t, k);
	else if (a->on || !tracee_lasts(k->tid, is_of_socket(t, k), &a->limit))
		return false;
	if (!a->on)
		a->value = a->limit.value;
	if (tracee_repeat(k->tid, &a->repeated) < 0)
		a->repeated = 0;
	return a->repeated;
}

/* A handler is to run, or its group stops. It may not have been made again by now: then
 * it has ended by that. */
void again_interrupted(struct task *k)
{
	if ((k->again.on || k->again.repeated) &&
		tracee_unrepeat(
			k->tid, &k->again.limit, k->again.value, k->again.repeated))
		k->again.on = false;
	again_over(k);
}

/* It ends for a reason of its own. */
void again_over(struct task *k)
{
	struct again *a = &k->again;

	if (a->on && tracee_is_limited(k->tid, &a->limit))
		tracee_set_limit(k->tid, &a->limit, a->limit.value);
	a->on = false;
	a->repeated = 0;
	a->began = 0;
}

/* A stop of its group ends it with EINTR without us as well: signal(7). */
void again_never(struct task *k)
{
	again_interrupted(k);
	if (tracee_in_eintr(k->tid))
		tracee_keep_eintr(k->tid);
}

/* At the exit stop of a call, this or another one that was made meanwhile. */
void again_exit(struct tracer *t, struct task *k, int64_t ret)
{
	struct again *a = &k->again;
	struct time_limit l;

	a->repeated = 0;
	/* The kernel makes it again by itself, if no handler comes: io_pgetevents(2). */
	if (ret == -514 /* ERESTARTNOHAND */ && !task_leaves(t, k) &&
		tracee_limit(k->tid, &l)) {
		again_limit(t, k);
		return;
	}

	if (a->on && !tracee_is_limited(k->tid, &a->limit))
		return;
	if (ret != -EINTR)
		again_over(k);
	else if (a->on)
		tracee_set_limit(k->tid, &a->limit, a->limit.value);
}
