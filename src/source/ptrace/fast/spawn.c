/*
 * spawn.c - children of what is dispatched, and what they run
 *
 * A child is made from the hook, which takes no stop but those that tell of it, unless
 * there is something to be done before. What it runs is dispatched like the command. To
 * set that up takes about as long as two dozen stops, which is more than many programs
 * have below a filter, where what means nothing to us never stops. To put it there takes
 * as long, if it is done for one program; but who runs little but such programs gets the
 * filter itself, and all its children inherit it.
 */
#include "mend.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

/* After so many brief programs more of them are to be expected; a longer one loses by the
 * filter what so many of them gain. */
enum { TIMES = 2, WORTH = 3 };

/* What it has run could not be dispatched after all: what comes next may not either. */
void spawn_refused(struct tracer *t, const struct task *k)
{
	struct process *maker = life_maker(t, k);

	if (maker)
		maker->refused = true;
}

/* Of the command itself what cannot be looked at is taken for what can be dispatched. */
static bool is_of_command(
	const struct tracer *t, const struct task *k, const struct user_regs_struct *r)
{
	bool at = r->orig_rax == SYS_execveat;
	char path[PROGRAM_PATH];

	return k->process->pid == t->launch->command &&
	       (program_path(k, at, path) || program_is_64(k->tid, path));
}

/* What may not be dispatched has the filter from its beginning. */
static bool runs_filtered(struct tracer *t, struct task *k,
	const struct user_regs_struct *r, const struct program *p)
{
	const struct process *maker = life_maker(t, k);

	if ((maker && maker->refused) || !gap_may_reserve(k->tid) ||
		!handler_may_raise(t, k))
		return true;
	return !p->plain && !is_of_command(t, k, r);
}

/* Where that cannot be it is as it was. 0 or -ESRCH. */
static int filter_first(struct tracer *t, struct task *k)
{
	struct stand s;

	if (k->space->state != SPACE_READY || k->space->locked ||
		k->process->unfiltered || stand_begin(t, k, &s) < 0)
		return 0;
	int err = setup_filters(t, k, &s, false);
	if (err == -ESRCH)
		return err;
	k->process->unfiltered = err < 0;
	stand_same(k, &s);
	return 0;
}

/* Whether a call is an exec that will find nothing, as most of those along PATH. p: what
 * it will find. */
bool spawn_is_vain(struct tracer *t, struct task *k, const struct user_regs_struct *r,
	struct program *p)
{
	*p = (struct program){ .missing = false };
	if (r->orig_rax != SYS_execve || k->filtered)
		return false;
	k->call.arg[0] = r->rdi;
	int root = root_take(t, k);
	program_look(k, root, p);
	root_give(t, root);
	return p->missing;
}

/* Whether a breakpoint is told, and nothing lost by it; and what stops before its calls
 * need not. */
static bool may_make(const struct tracer *t, const struct task *k, bool at)
{
	uint64_t mask;

	return !k->space->locked && !k->rest.on && !k->early.on && !k->hurried &&
	       !task_leaves(t, k) &&
	       !ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(mask), &mask) &&
	       !(mask & signal_bit(SIGTRAP)) &&
	       (t->filter || !geteuid() || !program_gains(k, at));
}

/* Where handler_may_raise(). 1: it is made when the task is resumed: exec.c; 0: it is to
 * stop; -ESRCH: the task stands elsewhere. */
static int make_exec(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (!may_make(t, k, r->orig_rax == SYS_execveat))
		return 0;
	drain_task(t, k);
	k->entered = fast_tsc();
	k->execs = r->rip;
	k->raises = k->process->ntasks == 1;
	r->rip = setup_at(setup_exec);
	r->rax = r->orig_rax;
	r->orig_rax = -1;
	return ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 ? -ESRCH : 1;
}

/* Before any other exec. Results as those of pass_call(). */
int spawn_exec(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const struct program *p)
{
	k->call.arg[0] = r->rdi;
	k->call.arg[1] = r->rsi;
	if (!t->launch || k->filtered)
		return 0;
	bool filtered = runs_filtered(t, k, r, p);
	k->process->runs = true;
	struct process *maker = life_maker(t, k);
	if (maker)
		maker->spawns++;
	return filtered ? filter_first(t, k) : make_exec(t, k, r);
}

bool spawn_is(const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_clone || r->orig_rax == SYS_clone3 ||
	       r->orig_rax == SYS_fork || r->orig_rax == SYS_vfork;
}

/* Of clone(2). Where they cannot be read, something that does not pass. */
static uint64_t flags_of(const struct task *k, const struct user_regs_struct *r)
{
	uint64_t flags = r->orig_rax == SYS_clone ? r->rdi : 0;

	if (r->orig_rax == SYS_clone3 &&
		task_read(k, r->rdi, &flags, sizeof(flags)) != sizeof(flags))
		return CLONE_UNTRACED;
	return flags;
}

static bool is_thread(uint64_t flags)
{
	return (flags & ~(uint64_t)THREAD_MAY) == THREAD_MUST;
}

/* Whether its children may as well have the filter from it. */
static bool runs_brief(const struct process *p)
{
	return p->refused || p->brief >= TIMES + WORTH * p->lengthy;
}

/* Whether something is to be done before its next child that cannot be done behind it. */
static bool is_due(const struct tracer *t, const struct task *k)
{
	return ahead_is_due(t, k) || (!k->filtered && runs_brief(k->process));
}

/*
 * At the stop of a call that makes a child, which begins where spawn_born() says. 0 or
 * -ESRCH.
 */
int spawn_child(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	uint64_t flags = flags_of(k, r);
	struct space *sp = k->space;

	k->entered = fast_tsc();
	if (flags & CLONE_THREAD) {
		/* Sites can be patched without breakpoints for the last time. */
		int err = !sp->threads && !sp->undone && t->fast->after > 1 &&
					  space_is_alone(sp)
				  ? ahead_of_threads(t, k)
				  : 0;
		if (!err && is_thread(flags))
			shapes_threads(t, k);
		return err;
	}
	if (ahead_of_child(t, k) < 0)
		return -ESRCH;
	if (!k->filtered && runs_brief(k->process) && filter_first(t, k) < 0)
		return -ESRCH;
	shapes_spawns(t, k, false);
	return 0;
}

/* Whether it can be made without a stop, but the child's. */
bool spawn_may_pass(const struct task *k, const struct user_regs_struct *r)
{
	return !(flags_of(k, r) & CLONE_UNTRACED);
}

static bool is_plain(const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_fork ||
	       (r->orig_rax == SYS_clone && !(r->rdi & ~(uint64_t)CHILD_MAY));
}

/* Whether the hook makes it: hook_child. */
bool spawn_is_hooked(const struct task *k, const struct user_regs_struct *r)
{
	return is_plain(r) || (k->space->own & OWN_THREADS && is_thread(flags_of(k, r)));
}

/* At the stop that tells of a child: whether it was made by such a call. */
bool spawn_was_plain(const struct task *parent)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, parent->tid, 0, &r) && r.cs == IN_64_BITS &&
	       is_plain(&r);
}

/* A child is there, and its parent has not gone on. But for threads, those that share
 * memory with it are made at a stop in any case. */
void spawn_told(
	const struct tracer *t, const struct task *parent, const struct task *child)
{
	if (parent->dispatched && child->process != parent->process && !t->fast->guards)
		shapes_spawns(t, parent, is_due(t, parent));
}

/*
 * A process that spawns is below the filter itself, so that its children are. They are
 * not dispatched, nor is their history kept: most of them soon run something else.
 */
bool spawn_is_plain(
	const struct tracer *t, const struct task *parent, const struct task *child)
{
	return t->launch && child->filtered && parent->dispatched &&
	       child->process != parent->process;
}

/* A child that stands behind the call that has made it, in the hook. */
static bool is_made(const struct user_regs_struct *r)
{
	return r->rip == AT(hook_free_post) || r->rip == AT(hook_thread_post);
}

/*
 * At the first stop of a child that its parent has not told of, and may never do, as it
 * is killed. Where it goes on is in the slot that it was made in.
 */
void spawn_held(struct task *k)
{
	struct user_regs_struct r;
	uint64_t at;

	if (!ptrace(PTRACE_GETREGS, k->tid, 0, &r) && is_made(&r) &&
		leads_to_slot(r.gs_base) &&
		tracee_read(k->tid, r.gs_base + C_RET, &at, sizeof(at)) == sizeof(at))
		k->begins = at;
}

/* At the first stop of a child whose parent has made it from the hook. */
void spawn_born(struct task *k)
{
	struct user_regs_struct r;

	if (k->begins && !ptrace(PTRACE_GETREGS, k->tid, 0, &r) && is_made(&r)) {
		r.rip = r.rcx = k->begins;
		ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	}
	k->begins = 0;
}
