/*
 * source.c - the ptrace source as seen from outside: open, step, stop, close
 */
#include "tracer.h"
#include "iops/diag.h"
#include "iops/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is still running this long after the command has ended is a daemon. */
static const uint64_t GRACE_NS = 100 * 1000 * 1000;

/*
 * Without privileges a filter takes the rights of set-id programs away for good. Where
 * the command itself is one, it is better left alone: control_hands_over().
 */
static bool loses_rights(const char *command)
{
	char path[PATH_MAX], *dirs, *save = NULL;
	bool found = false;

	if (!geteuid() || !command)
		return false;
	if (strchr(command, '/'))
		return tracee_gains_rights(command);
	dirs = strdup(getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin");
	for (char *d = dirs ? strtok_r(dirs, ":", &save) : NULL; d;
		d = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", d, command);
		if (!access(path, X_OK)) {
			found = tracee_gains_rights(path);
			break;
		}
	}
	free(dirs);
	return found;
}

/* What the command inherits of signals is ours as well. */
static bool ignores(int sig)
{
	struct sigaction is;

	return !sigaction(sig, NULL, &is) && is.sa_handler == SIG_IGN;
}

static void begin_fast(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	fast_new(t, k);
}

/* It asks for some now and then, in the midst of what cannot be left half done. */
static bool has_few_descriptors(void)
{
	enum { ENOUGH = 64 };
	struct rlimit most;

	return !getrlimit(RLIMIT_NOFILE, &most) && most.rlim_cur < ENOUGH;
}

/* The fast path, or why not. What is traced already gets what it takes. */
static void patch(struct tracer *t, const struct source_args *args)
{
	const bool guarded = args->launch || launch_guard_byte(getpid()) >= 0;
	const char *why = !args->patch_after      ? "--no-patch"
			  : has_few_descriptors() ? "the limit of open files is too low"
			  : !guarded ? "the tracer got no process id that can guard it"
			  : !args->launch ? ""
			  : !args->filter ? "--no-filter"
			  : !t->filter    ? "a set-id program"
					  : "";

	t->dispatch = !args->launch || (t->filter && fast_may_dispatch(args->want) &&
					       !ignores(SIGSYS) && !ignores(SIGTRAP));
	snprintf(t->no_patch, sizeof(t->no_patch), "%s", why);
	int err = 0;
	/* Where it is foreseen that is asked there. */
	if (!*why && (t->foresight || !fast_ask(t->no_patch, sizeof(t->no_patch))))
		err = fast_open(t, args->patch_after);
	if (err < 0)
		snprintf(t->no_patch, sizeof(t->no_patch), "%s", strerror(-err));
	if (t->fast)
		fast_prove(t, t->no_patch, sizeof(t->no_patch));
	t->dispatch &= t->fast != NULL;
	if (t->fast)
		tasks_each(t, begin_fast, NULL);
}

static struct tracer *tracer_new(const struct source_args *args)
{
	struct tracer *t = calloc(1, sizeof(*t));
	cpu_set_t cpus;

	if (!t)
		return NULL;
	t->base.ops = &source_ptrace;
	t->names = args->names;
	t->fdtab = fdtab_new(args->names);
	t->launch = args->launch;
	t->foresight = args->foresight;
	t->want = *args->want;
	t->countable = syscall_set_countable(args->want);
	t->epoch_ns = args->epoch_ns;
	t->follow = args->follow;
	t->wait = args->wait;
	t->filter = args->filter && args->launch && !loses_rights(args->command);
	t->tail = &t->queue;
	t->may_spin = !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) > 1;
	t->options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
	if (t->filter)
		t->options |= PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
	for (int abi = 0; abi < NABI; abi++)
		syscall_index(abi, t->row[abi]);
	if (!t->fdtab) {
		free(t);
		return NULL;
	}
	return t;
}

static void tracer_free(struct tracer *t)
{
	place_free(t->place);
	control_free(t);
	tasks_free(t);
	fast_close(t);
	fdtab_free(t->fdtab);
	free(t);
}

/* SIGCHLD is asked which child it was: wait.c. */
static void prepare(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
}

/* Where there may be a fast path the command is on its way while that is found out. */
static int open_launch(struct tracer *t, const struct source_args *args)
{
	pid_t pid = t->launch->command;
	bool asks = t->filter && args->patch_after;
	int err = seize_child(t, pid, !t->filter);

	if (!err)
		err = launch_go(t->launch, asks        ? LAUNCH_ASK
					   : t->filter ? LAUNCH_FILTER
						       : LAUNCH_PLAIN);
	if (!err)
		patch(t, args);
	return err;
}

/* What goes on without calls that we could see: io_uring(7), io_setup(2). */
static void note_async(struct tracer *t, struct task *k)
{
	unsigned what = process_async(k->process->pid);

	if (what & PROCESS_URING)
		uring_unread(t, k);
	if (what & PROCESS_AIO)
		task_note(t, k, NOTE_AIO, 0);
}

/* The processes that were attached to, now that somebody listens. */
static void tell_found(struct tracer *t)
{
	for (; t->nfound; t->nfound--) {
		const struct op *op = &t->found[t->nfound - 1];
		struct process *p = (struct process *)map_get(&t->processes, op->pid, 0);
		tracer_put(t, op);
		if (p && p->newest)
			note_async(t, p->newest);
	}
}

static int ptrace_open(struct source **out, const struct source_args *args)
{
	struct tracer *t = tracer_new(args);
	int err = -ENOMEM;

	if (!t)
		return err;
	prepare();
	t->place = place_new();
	if (t->launch) {
		err = open_launch(t, args);
	} else {
		patch(t, args);
		t->found = calloc(args->npids, sizeof(*t->found));
		for (unsigned i = 0; t->found && i < args->npids; i++) {
			int one = seize_process(t, args->pids[i]);
			if (one < 0)
				seize_failed(args->pids[i], one);
			err = t->nfound ? 0 : one;
		}
		for (unsigned i = 0; t->nfound && i < args->npids; i++)
			if (!map_get(&t->processes, args->pids[i], 0))
				args->pids[i] = 0;
	}
	if (err < 0) {
		free(t->found);
		tracer_free(t);
		return err;
	}
	*out = &t->base;
	return 0;
}

static void still_running(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	task_note(t, k, NOTE_RUNNING, 0);
	if (!k->exiting)
		task_ledger(t, k);
}

/* The command has ended: is there anything left that is worth waiting for? */
static bool over(struct tracer *t)
{
	if (t->ended && t->wait && t->launch && t->launch->enough) {
		t->wait = false; /* from now on as if it had not been asked for */
		t->ended_ns = tracer_now(t);
	}
	bool ended = t->ended && !t->wait;

	if (part_gives_up(t))
		return true;
	if (!t->halted &&
		!(ended && (!t->ntasks || tracer_now(t) - t->ended_ns >= GRACE_NS)))
		return false;
	tasks_each(t, still_running, NULL);
	return true;
}

static int ptrace_step(struct source *base, struct sink *to)
{
	struct tracer *t = (struct tracer *)base;
	struct task *k;

	t->sink = to;
	tell_found(t);
	int got = wait_next(t, &k);
	part_tick(t);
	if (got == -EINTR) {
		stops_tick(t, true);
		seize_late(t);
		return over(t) ? 0 : 1;
	}
	if (!got && t->launch && !t->ended && !t->launch->ended) {
		/* The command was left alone: its end is for the front end to tell. */
		struct timespec nap = { 0, 10 * 1000 * 1000 };
		nanosleep(&nap, NULL);
		return t->halted ? 0 : 1;
	}
	if (got <= 0)
		return got;
	int err = stops_dispatch(t, k);
	stops_tick(t, false);
	seize_late(t);
	return err < 0 ? err : over(t) ? 0 : 1;
}

static void ptrace_stop(struct source *base)
{
	struct tracer *t = (struct tracer *)base;

	if (t->filter)
		t->halted = true;
	else
		stops_detach_all(t);
}

static int ptrace_close(struct source *base)
{
	struct tracer *t = (struct tracer *)base;
	struct task *k;
	int got;

	/* The filter stays in the tasks for life: they must be served to their end. */
	t->sink = NULL;
	ptrace_stop(base);
	while (t->ntasks && !part_gives_up(t) &&
		((got = wait_next(t, &k)) > 0 || got == -EINTR)) {
		if (got > 0)
			stops_dispatch(t, k);
		stops_tick(t, got < 0);
		part_tick(t);
	}
	free(t->found);
	tracer_free(t);
	return 0;
}

static void ptrace_about(struct source *base, struct run *run)
{
	const struct tracer *t = (struct tracer *)base;

	run->patches = t->fast && (t->launch || t->dispatch);
	snprintf(run->no_patch, sizeof(run->no_patch), "%s", t->no_patch);
}

const struct source_ops source_ptrace = {
	.name = "ptrace",
	.help = "every call of the processes, by ptrace; no privileges needed",
	.open = ptrace_open,
	.step = ptrace_step,
	.stop = ptrace_stop,
	.about = ptrace_about,
	.close = ptrace_close,
};
