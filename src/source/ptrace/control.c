/*
 * control.c - calls that are no I/O but change how tracing must go on
 */
#include "early.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* enter: whether the exit has to be seen. leave: may be NULL. */
struct control {
	const char *name;
	bool (*enter)(struct tracer *t, struct task *k);
	void (*leave)(struct tracer *t, struct task *k, int64_t ret);
};

/*
 * A child made with CLONE_UNTRACED would run without us but with our filter, under which
 * every wanted call fails. The flag is taken out, and put back once the child is there.
 */
static bool enter_clone(struct tracer *t, struct task *k)
{
	uint64_t flags = k->call.arg[0];

	(void)t;
	if (!(flags & CLONE_UNTRACED))
		return false;
	k->clone_flag = flags;
	k->clone_at = 0;
	return tracee_set_arg0(k->tid, k->call.abi, flags & ~(uint64_t)CLONE_UNTRACED) ==
	       0;
}

static bool enter_clone3(struct tracer *t, struct task *k)
{
	uint64_t flags = 0, at = k->call.arg[0];

	(void)t;
	if (task_read(k, at, &flags, sizeof(flags)) != sizeof(flags) ||
		!(flags & CLONE_UNTRACED))
		return false;
	k->clone_flag = flags;
	k->clone_at = at;
	flags &= ~(uint64_t)CLONE_UNTRACED;
	return tracee_write(k->tid, at, &flags, sizeof(flags)) == 0;
}

/* What has been answered by now: soon nobody can be asked any more. */
void control_look(struct tracer *t, const struct task *k)
{
	uring_look(t, k);
	aio_look(t, k);
}

/* A process has ended, or runs another program. */
void control_forget(struct tracer *t, const struct process *p)
{
	uring_gone(t, p);
	aio_gone(t, p);
}

void control_free(struct tracer *t)
{
	uring_free(t);
	aio_free(t);
	free(t->awaited);
	t->awaited = NULL;
}

/* Before any call: descriptors may be about to go, by close(2) and its like. */
void control_async(struct tracer *t, struct task *k)
{
	static const struct {
		const char *name;
		uint8_t from, to;
	} closing[] = { { "close", 0, 0 }, { "close_range", 0, 1 }, { "dup2", 1, 1 },
		{ "dup3", 1, 1 } };
	const uint64_t *arg = k->call.arg;

	if (!strcmp(syscalls[k->call.row].name, "close_range") &&
		arg[2] & CLOSE_RANGE_CLOEXEC)
		return; /* at the next exec */
	if (!strcmp(syscalls[k->call.row].name, "dup2") && arg[0] == arg[1])
		return; /* it closes nothing */
	for (unsigned i = 0; i < sizeof(closing) / sizeof(*closing); i++)
		if (!strcmp(syscalls[k->call.row].name, closing[i].name))
			uring_close(t, k, (uint32_t)arg[closing[i].from],
				(uint32_t)arg[closing[i].to]);
}

void control_restore(struct task *k)
{
	if (!k->clone_flag)
		return;
	if (k->clone_at)
		tracee_write(k->tid, k->clone_at, &k->clone_flag, sizeof(k->clone_flag));
	else
		tracee_restore_arg0(k->tid, k->call.abi, k->clone_flag);
	k->clone_flag = 0;
}

static void leave_clone(struct tracer *t, struct task *k, int64_t ret)
{
	(void)t;
	(void)ret;
	control_restore(k);
}

/* Under a supervisor's filter wanted calls no longer stop: it outranks ours. seccomp(2)
 */
static bool adds_supervisor(const struct task *k)
{
	return k->call.arg[0] == SECCOMP_SET_MODE_FILTER &&
	       k->call.arg[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER;
}

/* No filter of ours tells which calls the kernel makes: those of its own may answer some.
 */
static bool is_unfiltered(const struct tracer *t, const struct task *k)
{
	return !t->launch || k->sysmode;
}

/* It was running before, or has put a filter there. */
void control_judged(const struct tracer *t, struct task *k)
{
	if (is_unfiltered(t, k) && tracee_is_filtered(k->tid) &&
		tracee_is_answered(k->tid))
		k->process->supervised = true;
}

static bool enter_seccomp(struct tracer *t, struct task *k)
{
	return adds_supervisor(k) || is_unfiltered(t, k);
}

static bool enter_prctl(struct tracer *t, struct task *k)
{
	return k->call.arg[0] == PR_SET_SECCOMP && is_unfiltered(t, k);
}

static void leave_prctl(struct tracer *t, struct task *k, int64_t ret)
{
	if (ret >= 0 && k->call.arg[0] == PR_SET_SECCOMP)
		control_judged(t, k);
}

/* One that runs might not stop any more. */
static void supervise(struct tracer *t, struct task *k, void *process)
{
	(void)t;
	if (k->process == process && k->state == TASK_RUNNING)
		k->poked = !ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
}

static void leave_seccomp(struct tracer *t, struct task *k, int64_t ret)
{
	if (ret < 0)
		return;
	control_judged(t, k);
	if (!adds_supervisor(k))
		return;
	k->process->supervised = true;
	tasks_each(t, supervise, k->process);
	task_note(t, k, NOTE_SUPERVISED, k->call.row);
}

static bool enter_ptrace(struct tracer *t, struct task *k)
{
	uint64_t request = k->call.arg[0];

	if (request == PTRACE_TRACEME || request == PTRACE_ATTACH ||
		request == PTRACE_SEIZE)
		task_note(t, k, NOTE_PTRACE, k->call.row);
	return false;
}

static bool enter_uring(struct tracer *t, struct task *k)
{
	bool leave = uring_enter(t, k);

	early_begins(t, k);
	return leave;
}

static bool enter_answered(struct tracer *t, struct task *k)
{
	(void)k;
	return t->sink != NULL;
}

/* What is answered is of interest only where we know of what has been asked for. */
static bool enter_getevents(struct tracer *t, struct task *k)
{
	aio_look(t, k);
	return t->awaited != NULL;
}

static void leave_getevents(struct tracer *t, struct task *k, int64_t ret)
{
	(void)ret;
	aio_look(t, k);
}

static bool enter_destroy(struct tracer *t, struct task *k)
{
	aio_destroys(t, k);
	return false;
}

/*
 * The kernel charges the reading of the program to the task: close the account before.
 * Where there is nothing to read, as in most folders of a PATH, there is no account
 * either.
 */
static bool enter_exec(struct tracer *t, struct task *k)
{
	bool at = !strcmp(syscalls[k->call.row].name, "execveat");

	if (!at && !k->execs && k->process->started && program_is_missing(k))
		return false;
	task_check(t, k);
	control_look(t, k);
	if (!k->process->started)
		task_begin(k);
	return true;
}

static void leave_exec(struct tracer *t, struct task *k, int64_t ret)
{
	(void)ret; /* an exec that has worked is told by its event */
	task_baseline(t, k);
}

static const struct control controls[] = {
	{ "clone", enter_clone, leave_clone },
	{ "clone3", enter_clone3, leave_clone },
	{ "seccomp", enter_seccomp, leave_seccomp },
	{ "prctl", enter_prctl, leave_prctl },
	{ "ptrace", enter_ptrace, NULL },
	{ "io_setup", enter_answered, aio_made },
	{ "io_submit", aio_submits, aio_submitted },
	{ "io_getevents", enter_getevents, leave_getevents },
	{ "io_pgetevents", enter_getevents, leave_getevents },
	{ "io_destroy", enter_destroy, NULL },
	{ "io_uring_setup", enter_answered, uring_made },
	{ "io_uring_enter", enter_uring, uring_entered },
	{ "io_uring_register", enter_answered, uring_registered },
	{ "execve", enter_exec, leave_exec },
	{ "execveat", enter_exec, leave_exec },
};

static const struct control *control_of(const struct task *k)
{
	const char *name = syscalls[k->call.row].name;

	for (unsigned i = 0; i < sizeof(controls) / sizeof(*controls); i++)
		if (!strcmp(controls[i].name, name))
			return &controls[i];
	return NULL;
}

bool control_enter(struct tracer *t, struct task *k)
{
	const struct control *c = control_of(k);
	bool leave = c && c->enter(t, k);

	if (!leave)
		k->call.row = -1;
	return leave;
}

void control_leave(struct tracer *t, struct task *k, int64_t ret)
{
	const struct control *c = control_of(k);

	if (c && c->leave)
		c->leave(t, k, ret);
}

/*
 * A tracer without privileges takes a program's set-id rights away by its mere presence.
 * Where no filter is installed, the task can be left alone before it runs the program.
 */
bool control_hands_over(struct tracer *t, struct task *k)
{
	const char *name = k->call.row < 0 ? "" : syscalls[k->call.row].name;
	bool at = !strcmp(name, "execveat");

	return !t->filter && geteuid() && (at || !strcmp(name, "execve")) &&
	       program_gains(k, at);
}
