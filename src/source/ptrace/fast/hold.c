/*
 * hold.c - threads that are to stand still while another one is served
 */
#include "../look.h"
#include "mend.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * Until another thread has stopped, before a call of who: what that thread raises comes
 * before. Not one that sleeps in the kernel whatever comes, or for its child.
 */
void hold_await(struct tracer *t, struct task *k, void *who)
{
	enum { TRIES = 1000, NAP_NS = 50 * 1000 };
	const struct timespec nap = { 0, NAP_NS };
	const struct task *first = who;

	if (k == first || k->space != first->space || k->lends)
		return;
	for (unsigned i = 0; i < TRIES && k->state == TASK_RUNNING; i++) {
		pid_t tid;
		int status, got;
		char state = i % 20 ? 'R' : process_state(k->process->pid, k->tid);
		if (!state || state == 'Z' || state == 'X' || state == 'D' ||
			(got = look_stopped(t, k->tid, &tid, &status)) < 0)
			return;
		if (got)
			queue_add(t, k, status);
		else
			nanosleep(&nap, NULL);
	}
}

/* When the wait with a limit began that it is in, if that is in the hook. */
void hold_waited(struct tracer *t, struct task *k)
{
	struct user_regs_struct r;

	if (k->slot.ctl && !ptrace(PTRACE_GETREGS, k->tid, 0, &r) &&
		(r.rip == AT(hook_free_post) || r.rip == AT(hook_events_post)))
		mend_waited(t, k, &r);
}

/* When the wait in a ring began that it is in, if that is in the hook. */
void hold_began(const struct tracer *t, struct task *k)
{
	const struct fast_rec *r =
		slot_in_flight(&k->slot) ? slot_rec(&k->slot, k->slot.tail) : NULL;

	if (!r || k->early.on || k->early.goes_on || rec_nr(r) != SYS_io_uring_enter)
		return;
	k->early.never = false;
	k->early.from = fast_then(t, r->t0);
	memcpy(&k->early.head, (const uint8_t *)r + R_RING_READ, sizeof(k->early.head));
}

/* When that began which the hook has sent back, as it had been woken for nothing, and how
 * far the answers were read then; 0: that is not so. */
uint64_t hold_vain(const struct tracer *t, struct task *k, uint32_t *read)
{
	uint64_t tsc = k->slot.ctl ? k->slot.ctl->vain : 0;

	if (!tsc)
		return 0;
	k->slot.ctl->vain = 0;
	*read = (uint32_t)k->slot.ctl->vain_read;
	return fast_then(t, tsc);
}
