/*
 * faults.c - what a target does about faults, kept from ours
 *
 * The hook looks at what arguments point to, where the call itself would have said
 * EFAULT. The kernel forces that signal: where it is blocked or ignored, it takes the
 * action away and unblocks it. So what the target sets for SIGSEGV and SIGBUS is
 * remembered, and put back. That an action of default was blocked alone is lost.
 */
#include "../tracer.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

static const int fault_signals[FAULT_SIGNALS] = { SIGSEGV, SIGBUS };

/* What sigaction(2) sets for a signal of those; NULL: it is none. */
static struct fault_action *action_of(struct process *p, uint64_t sig)
{
	for (unsigned i = 0; i < FAULT_SIGNALS; i++)
		if (sig == (uint64_t)fault_signals[i])
			return &p->fault[i];
	return NULL;
}

/* Before its rt_sigaction(2). What cannot be read is not set either. */
void fault_set(struct task *k, const uint64_t arg[4])
{
	struct fault_action *f = action_of(k->process, arg[0]), set;

	if (!f || !arg[1] || arg[3] != 8 ||
		task_read(k, arg[1], set.word, sizeof(set.word)) != sizeof(set.word))
		return;
	*f = set;
}

/* An exec leaves alone what is ignored, and nothing else. */
void fault_exec(struct process *p)
{
	for (unsigned i = 0; i < FAULT_SIGNALS; i++)
		if (handler_is_one(p->fault[i].word[ACTION_HANDLER]))
			p->fault[i] = (struct fault_action){ { 0 } };
}

/* One that is not ours is about to be delivered: sigaction(2), SA_RESETHAND. */
void fault_delivered(struct process *p, int sig)
{
	struct fault_action *f = action_of(p, (uint64_t)sig);

	if (f && f->word[ACTION_FLAGS] & SA_RESETHAND)
		f->word[ACTION_HANDLER] = 0;
}

/* Of a process that runs already, at a stop where calls can be made. 0 or -ESRCH. */
int fault_ask(struct tracer *t, struct task *k, const struct stand *s)
{
	struct signal_state is[FAULT_SIGNALS];

	if (tracee_signals(k->tid, fault_signals, is, FAULT_SIGNALS) < 0)
		return 0;
	for (unsigned i = 0; i < FAULT_SIGNALS; i++) {
		struct fault_action *f = &k->process->fault[i], got;
		const uint64_t arg[4] = { (uint64_t)fault_signals[i], 0, SCRATCH_AT, 8 };
		if (!is[i].caught && !is[i].ignored)
			continue;
		int err = stand_make(t, k, s, SYS_rt_sigaction, arg);
		if (err == -ESRCH)
			return err;
		if (!err && tracee_read(k->tid, SCRATCH_AT, got.word, sizeof(got.word)) ==
				    sizeof(got.word))
			*f = got;
	}
	return 0;
}

static int put_back(
	struct tracer *t, struct task *k, int sig, const struct fault_action *f)
{
	const uint64_t arg[4] = { (uint64_t)sig, SCRATCH_AT, 0, 8 };
	struct stand s = { .call_at = HOOK_AT + (uint64_t)(hook_free_sys - hook_code) };

	if (stand_begin(t, k, &s) < 0)
		return 0;
	int mem = stand_mem(t->fast, k->tid);
	int err = mem < 0 ? mem : mem_write(mem, SCRATCH_AT, f->word, sizeof(f->word));
	if (!err)
		err = stand_make(t, k, &s, SYS_rt_sigaction, arg);
	if (err == -ESRCH)
		return err;
	stand_same(k, &s);
	return 0;
}

static uint64_t bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

/* Who blocks the other faults has blocked this one too. */
static bool blocks_others(uint64_t mask, int sig)
{
	uint64_t others =
		(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE)) & ~bit(sig);

	return (mask & others) == others;
}

/*
 * At the stop of a fault of ours, which is not delivered. Only who blocks a signal loses
 * a handler of it. 0, or -ESRCH: the task stands elsewhere.
 */
int fault_undo(struct tracer *t, struct task *k, int sig)
{
	const struct fault_action *f = action_of(k->process, (uint64_t)sig);
	const uint64_t handler = f->word[ACTION_HANDLER];
	const bool handled = handler_is_one(handler);
	struct signal_state now;
	uint64_t mask = 0;

	if (handler && tracee_signal(k->tid, sig, &now) < 0)
		return 0;
	const bool lost = handler && !now.caught && !now.ignored;
	if (lost && !k->process->locked && put_back(t, k, sig, f) < 0)
		return -ESRCH;
	if (ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) < 0)
		return 0;
	if (handled ? lost : blocks_others(mask, sig)) {
		mask |= bit(sig);
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(mask), &mask);
	}
	return 0;
}
