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
static const uint64_t EARLY_NS = 50 * 1000 * 1000; /* doubled with each try */
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
	unsigned n, running;
};

static void add_to_group(struct tracer *t, struct task *k, void *arg)
{
	struct group *g = arg;

	if (k->space != g->space)
		return;
	if (k->waits && k->state == TASK_STOPPED)
		g->task[g->n++] = k;
	else
		g->running += !k->exiting && task_leaves(t, k);
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

static void let_go(struct tracer *t, struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		dispatch_leave(t, g->task[i]);
	if (g->running)
		leave_alone(g->space, g);
	else if (!is_shared(g->space, g->task[0]))
		dispatch_restore(t, g->task, g->n);
	else
		task_note(t, g->task[0], NOTE_PATCHED, 0);
	for (unsigned i = 0; i < g->n; i++)
		if (g->task[i]->state == TASK_STOPPED)
			part_task(t, g->task[i], 0);
}

/*
 * Not all stop soon: what does not may be in need of one that stands by now. It cannot
 * before a child of vfork(2) has gone on, or a page is there that another thread brings,
 * userfaultfd(2). So those run on until it has stopped, and are asked to once more then.
 */
static void run_on(struct tracer *t, const struct group *g)
{
	g->space->runs_on = true;
	g->space->asked_ns = tracer_now(t);
	for (unsigned i = 0; i < g->n; i++) {
		g->task[i]->waits = false;
		g->task[i]->runs_on = true;
		again_stays(t, g->task[i]);
		dispatch_resume(t, g->task[i]);
		queue_go_on(t, g->task[i]);
	}
}

static void ask_again(struct tracer *t, struct task *k, void *space)
{
	if (k->space != space)
		return;
	k->runs_on = false;
	task_interrupt(t, k, NULL);
}

static void stop_again(struct tracer *t, struct space *s)
{
	s->runs_on = false;
	s->tries++; /* which may take longer: the machine is busy */
	s->asked_ns = tracer_now(t);
	tasks_each(t, ask_again, s);
}

static bool takes_long(const struct tracer *t, const struct space *s)
{
	enum { MOST = 8 };
	const uint64_t from = s->asked_ns ? s->asked_ns : t->stopping_ns;

	return tracer_now(t) - from > EARLY_NS << (s->tries < MOST ? s->tries : MOST);
}

void part_group(struct tracer *t, struct space *s)
{
	struct group g = { .space = s, .task = calloc(t->ntasks, sizeof(*g.task)) };

	if (!g.task)
		return;
	tasks_each(t, add_to_group, &g);
	if (s->runs_on && (!g.running || s->late))
		stop_again(t, s);
	else if (g.n && (!g.running || s->late))
		let_go(t, &g);
	else if (g.n && takes_long(t, s))
		run_on(t, &g);
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
	if (k->space && !k->exiting && task_leaves(t, k) && k->state != TASK_STOPPED &&
		will_stop(k))
		k->space->looked = t->looks;
}

/* What has not stopped was asked to, and sleeps where it cannot: all of it at each look
 * of many. Who has no turn on a busy machine, or has stopped and waits for us, does not,
 * and is waited for much longer.
 */
static void judge(struct tracer *t, struct task *k, void *arg)
{
	const uint64_t since = tracer_now(t) - t->stopping_ns;

	(void)arg;
	if (k->space)
		k->space->late |=
			since > STARVED_NS ||
			(since > ASLEEP_NS && t->looks - k->space->looked > LOOKS);
}

/* What is let go alone; and what did not stand where it could be let go as it stopped. */
static void interrupt_more(struct tracer *t, struct task *k, void *arg)
{
	if (k->space && task_leaves(t, k) && (k->space->late || !k->poked))
		task_interrupt(t, k, arg);
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
	if (now - t->stopping_ns > EARLY_NS) {
		t->looks++;
		tasks_each(t, look, NULL);
		tasks_each(t, judge, NULL);
	}
	struct waiting w = { .space = calloc(t->ntasks + 1, sizeof(*w.space)) };
	if (w.space)
		tasks_each(t, add_space, &w);
	for (unsigned i = 0; i < w.n; i++)
		part_group(t, w.space[i]);
	free(w.space);
	tasks_each(t, interrupt_more, NULL);
}
