/*
 * queue.c - tasks that have stopped, in their order, how they go on, and those that are
 * likely to stop soon
 */
#include "tracer.h"

#include <sys/wait.h>

void queue_add(struct tracer *t, struct task *k, int status)
{
	k->status = status;
	if (k->state == TASK_QUEUED)
		return; /* killed in its stop: the newer one counts */
	k->state = TASK_QUEUED;
	k->next = NULL;
	*t->tail = k;
	t->tail = &k->next;
}

struct task *queue_take(struct tracer *t)
{
	struct task *k = t->queue;

	t->queue = k->next;
	if (!t->queue)
		t->tail = &t->queue;
	k->state = TASK_STOPPED;
	return k;
}

void queue_forget(struct tracer *t, struct task *k)
{
	for (unsigned i = 0; i < t->nrecent; i++)
		if (t->recent[i] == k)
			t->recent[i] = t->recent[--t->nrecent];
	if (k->state != TASK_QUEUED)
		return;
	for (struct task **at = &t->queue; *at; at = &(*at)->next)
		if (*at == k) {
			*at = k->next;
			if (!*at)
				t->tail = at;
			break;
		}
}

void queue_resumed(struct tracer *t, struct task *k)
{
	k->state = TASK_RUNNING;
	k->looks = 0;
	for (unsigned i = 0; i < t->nrecent; i++)
		if (t->recent[i] == k)
			return;
	if (t->nrecent < RECENT)
		t->recent[t->nrecent++] = k;
	else
		t->recent[t->stops % RECENT] = k;
}

/* ESRCH all over: a stopped task may be killed at any moment. Its end will be told. */
void queue_resume(struct tracer *t, struct task *k, int sig)
{
	bool exit_wanted = (k->call.row >= 0 && !k->execs) || k->aside || k->again.on ||
			   k->early.on || k->rest.on || (task_stops_always(k) && t->sink);

	ptrace(exit_wanted ? PTRACE_SYSCALL : PTRACE_CONT, k->tid, 0, sig);
	queue_resumed(t, k);
}

/* As it was, from a stop by an interrupt: one of its process goes on. */
void queue_go_on(struct tracer *t, struct task *k)
{
	if (!signal_stops(WSTOPSIG(k->status))) {
		queue_resume(t, k, 0);
		return;
	}
	ptrace(PTRACE_LISTEN, k->tid, 0, 0);
	queue_resumed(t, k);
}
