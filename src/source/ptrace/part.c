/*
 * part.c - tasks that are let go: alone, or all that share their memory together
 */
#include "tracer.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TICK_NS = 5 * 1000 * 1000, LOOKS = 20 };
static const uint64_t LATE_NS = 200 * 1000 * 1000;
static const uint64_t ASLEEP_NS = UINT64_C(5000) * 1000 * 1000;
static const uint64_t STARVED_NS = UINT64_C(60000) * 1000 * 1000;

/* It makes no more requests. */
void part_async(struct tracer *t, struct task *k)
{
	if (!t->awaited)
		return;
	uring_leave(t, k);
	if (k->exiting)
		return;
	uring_exits(t, k);
	control_look(t, k);
}

/* It goes: the last of its process takes what is under way with it. What the kernel still
 * does for a task that ends is done by the time that it is told to have ended. */
void part_requests(struct tracer *t, const struct task *k)
{
	if (t->awaited && k->process->ntasks == 1)
		control_forget(t, k->process);
}

/* Only ever from a stop that we have seen: else its signal would be lost. */
void part_task(struct tracer *t, struct task *k, int sig)
{
	task_flush(t, k);
	part_async(t, k);
	part_requests(t, k);
	if (!k->exiting)
		task_verdict(t, k);
	task_paths(t, k);
	if (!ptrace(PTRACE_DETACH, k->tid, 0, sig) || k->exiting) {
		task_drop(t, k);
		return;
	}
	k->exiting = true; /* it was killed meanwhile, and stops once more */
	k->waits = false;
	queue_resumed(t, k);
}

/* Those that share memory stand until all of them do: then it can be restored. */
struct group {
	struct space *space;
	struct task **task;
	unsigned n, running, lending;
};

static void add_to_group(struct tracer *t, struct task *k, void *arg)
{
	struct group *g = arg;

	(void)t;
	if (k->space != g->space)
		return;
	if (k->waits && k->state == TASK_STOPPED)
		g->task[g->n++] = k;
	else if (!k->exiting) {
		g->running++;
		g->lending += k->lends || k->lender;
	}
}

/* What runs on has been asked to stop, and sleeps where it cannot: all of it at each look
 * of many. Who has no turn on a busy machine, or has stopped and waits for us, does not,
 * and is waited for much longer.
 */
bool part_late(const struct tracer *t, const struct space *s)
{
	const uint64_t from = s->since_ns ? s->since_ns : t->stopping_ns,
		       since = tracer_now(t) - from;

	return since > STARVED_NS || (since > LATE_NS && t->looks - s->looked > LOOKS);
}

/* They are let go alone: until they are gone the code stays as it is. */
static void leave_alone(struct space *s, const struct group *g)
{
	unsigned n = 0;

	while (n < SPACE_LEFT && s->left[n])
		n++;
	for (unsigned i = 0; i < g->n; i++, n++)
		s->left[n < SPACE_LEFT ? n : SPACE_LEFT - 1] =
			n < SPACE_LEFT ? g->task[i]->tid : -1; /* too many to know */
}

/* Whether it may run in the memory of a task: what cannot be told may be so. */
static bool may_share(const struct task *k, pid_t tid)
{
	long differs = tid < 0 ? 0 : syscall(SYS_kcmp, k->tid, tid, KCMP_VM, 0, 0);

	return !differs || (differs < 0 && errno != ESRCH);
}

/* Whether one that was let go alone may still run in the memory of a task. */
static bool is_shared(const struct space *s, const struct task *k)
{
	for (unsigned i = 0; i < SPACE_LEFT && s->left[i]; i++)
		if (may_share(k, s->left[i]))
			return true;
	return false;
}

/*
 * A parent that sleeps in vfork(2) stops only when its child has gone on: if that takes
 * long nobody is kept waiting for it, and all are asked to stop once more behind it.
 */
static bool run_on(struct tracer *t, const struct group *g)
{
	struct space *s = g->space;

	if (g->running != g->lending || tracer_now(t) - t->stopping_ns > ASLEEP_NS)
		return false;
	s->runs_on = true;
	for (unsigned i = 0; i < g->n; i++) {
		g->task[i]->waits = false;
		queue_resume(t, g->task[i], 0);
	}
	return true;
}

void part_group(struct tracer *t, struct space *s)
{
	struct group g = { .space = s, .task = calloc(t->ntasks, sizeof(*g.task)) };

	if (!g.task)
		return;
	tasks_each(t, add_to_group, &g);
	if (g.n && (!g.running || (part_late(t, s) && !run_on(t, &g)))) {
		for (unsigned i = 0; i < g.n; i++)
			dispatch_leave(t, g.task[i]);
		if (g.running)
			leave_alone(s, &g);
		else if (!is_shared(s, g.task[0]))
			dispatch_restore(t, g.task, g.n);
		else
			task_note(t, g.task[0], NOTE_PATCHED, 0);
		for (unsigned i = 0; i < g.n; i++)
			if (g.task[i]->state == TASK_STOPPED)
				part_task(t, g.task[i], 0);
	}
	free(g.task);
}

static void look_asleep(struct tracer *t, struct task *k, void *all)
{
	(void)t;
	if (k->state == TASK_STOPPED || k->state == TASK_QUEUED ||
		process_state(k->process->pid, k->tid) != 'D')
		*(bool *)all = false;
}

static void give_up(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	if (dispatch_holds(t, k))
		task_note(t, k, NOTE_PATCHED, 0);
	task_verdict(t, k);
	task_paths(t, k);
}

/*
 * Whether all that is left sleeps where nothing but its own end wakes it up, and has for
 * as long as anybody is to wait: it is let go when we end, as if we had been killed.
 */
bool part_gives_up(struct tracer *t)
{
	bool all = t->ntasks > 0;

	if (!t->stopping || t->given_up || !all ||
		tracer_now(t) - t->stopping_ns < ASLEEP_NS)
		return t->given_up;
	tasks_each(t, look_asleep, &all);
	if (all)
		tasks_each(t, give_up, NULL);
	return t->given_up = all;
}

/* Whether it stops, or has stopped or ended, as soon as it or we have a turn. */
static bool will_stop(const struct task *k)
{
	char state =
		k->state == TASK_QUEUED ? 't' : process_state(k->process->pid, k->tid);

	return !state || strchr("RtT", state);
}

static void look(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	if (k->space && !k->exiting && !k->lender && k->state != TASK_STOPPED &&
		will_stop(k))
		k->space->looked = t->looks;
}

static void interrupt_late(struct tracer *t, struct task *k, void *arg)
{
	if (k->space && !k->space->runs_on && part_late(t, k->space))
		task_interrupt(t, k, arg);
}

/* Its children have gone on, or are waited for no longer. */
static void stop_again(struct tracer *t, struct space *s)
{
	if (s->asleep && tracer_now(t) - t->stopping_ns <= ASLEEP_NS)
		return;
	s->runs_on = false;
	s->since_ns = tracer_now(t);
	s->looked = t->looks;
	tasks_each(t, task_interrupt, s);
}

struct waiting {
	struct space **space;
	unsigned n;
};

static void add_space(struct tracer *t, struct task *k, void *arg)
{
	struct waiting *w = arg;

	(void)t;
	if (!k->waits && !(k->space && k->space->runs_on))
		return;
	for (unsigned i = 0; i < w->n; i++)
		if (w->space[i] == k->space)
			return;
	w->space[w->n++] = k->space;
}

/*
 * Now and then while stopping. Who is let go alone may still make calls from patched
 * code, which does no harm.
 */
void part_tick(struct tracer *t)
{
	uint64_t now = t->stopping && t->dispatch ? tracer_now(t) : 0;

	if (now < t->tick_ns || !now)
		return;
	t->tick_ns = now + TICK_NS;
	if (now - t->stopping_ns > LATE_NS / 2) {
		t->looks++;
		tasks_each(t, look, NULL);
	}
	struct waiting w = { .space = calloc(t->ntasks + 1, sizeof(*w.space)) };
	if (w.space)
		tasks_each(t, add_space, &w);
	for (unsigned i = 0; i < w.n; i++)
		(w.space[i]->runs_on ? stop_again : part_group)(t, w.space[i]);
	free(w.space);
	tasks_each(t, interrupt_late, NULL);
}
