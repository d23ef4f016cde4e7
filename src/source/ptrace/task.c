/*
 * task.c - tasks and processes: birth, exec, death, and the proof of their counts
 */
#include "tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t tracer_now(const struct tracer *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec - t->epoch_ns;
}

/* A sink that fails is remembered; the targets must be served all the same. */
void tracer_put(struct tracer *t, const struct op *op)
{
	int err = t->sink ? sink_put(t->sink, op) : 0;

	if (err < 0 && !t->error)
		t->error = err;
}

static struct op life(const struct tracer *t, const struct task *k, enum op_kind kind)
{
	return (struct op){
		.start_ns = tracer_now(t),
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.kind = kind,
		.pid = k->process->pid,
		.tid = k->tid,
		.comm = k->process->comm,
		.fd = -1,
	};
}

struct task *task_find(struct tracer *t, pid_t tid)
{
	return (struct task *)map_get(&t->tasks, tid, 0);
}

static struct process *process_of(struct tracer *t, pid_t pid)
{
	struct process *p = (struct process *)map_get(&t->processes, pid, 0);

	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	p->pid = pid;
	if (map_put(&t->processes, pid, 0, (uintptr_t)p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static void process_leave(struct tracer *t, struct process *p)
{
	if (--p->ntasks)
		return;
	map_del(&t->processes, p->pid, 0);
	free(p);
}

/* parent: whose child it is, as fast_birth() will tell; NULL: nobody knows. NULL: out of
 * memory. Such a task is passed through without being counted. */
struct task *task_new(struct tracer *t, pid_t tid, pid_t pid, const struct task *parent)
{
	struct task *k = calloc(1, sizeof(*k));
	struct process *p = k ? process_of(t, pid) : NULL;

	if (!p || map_put(&t->tasks, tid, 0, (uintptr_t)k) < 0) {
		if (p && !p->ntasks++)
			process_leave(t, p);
		free(k);
		return NULL;
	}
	k->tid = k->fd.tid = tid;
	k->process = p;
	k->call.row = -1;
	k->sysmode = !t->filter;
	k->filtered = t->filter && !t->dispatch;
	k->signals = p->signals;
	if (!parent)
		fast_new(t, k);
	p->newest = k;
	p->ntasks++;
	t->ntasks++;
	return k;
}

/*
 * What an argument of a call points to. Not where the program itself is still to bring
 * it, userfaultfd(2): we would wait for it, and it for us.
 */
ssize_t task_read(const struct task *k, uint64_t from, void *to, size_t len)
{
	if (k->process->brings && tracee_brings(k->tid, from, len))
		return -EFAULT;
	return tracee_read(k->tid, from, to, len);
}

/* Read page by page: the string may end just before memory that is not there. */
ssize_t task_string(const struct task *k, uint64_t from, char *to, size_t size)
{
	size_t got = 0;

	while (got < size - 1) {
		size_t want = 4096 - (from + got) % 4096;
		if (want > size - 1 - got)
			want = size - 1 - got;
		ssize_t n = task_read(k, from + got, to + got, want);
		if (n <= 0)
			return -EFAULT;
		char *end = memchr(to + got, 0, n);
		if (end)
			return end - to;
		got += n;
	}
	to[got] = 0;
	return got;
}

/* What a fork(2) leaves as it was. */
static void inherit(struct process *p, const struct process *from)
{
	memcpy(p->own, from->own, sizeof(p->own));
	p->guarded = from->guarded;
	memcpy(p->fault, from->fault, sizeof(p->fault));
}

/* As one that is born with CLONE_CLEAR_SIGHAND has it. */
static void forget_handlers(struct process *p)
{
	p->guarded = false;
	memset(p->own, 0, sizeof(p->own));
	memset(p->fault, 0, sizeof(p->fault));
}

void task_born(struct tracer *t, struct task *k, pid_t parent)
{
	struct process *from = (struct process *)map_get(&t->processes, parent, 0);
	struct op op = life(t, k, OP_FORK);

	if (k->process->ntasks == 1) {
		k->process->comm = from ? from->comm : tracee_comm(t->names, k->tid);
		k->process->started = from ? from->started : true;
		k->process->muted = from && (from->muted || !t->follow);
		k->process->supervised = from && from->supervised;
		k->process->brings = from && from->brings;
		if (from)
			inherit(k->process, from);
		struct signal_state is;
		if (k->process->guarded && !tracee_signal(k->tid, SIGSYS, &is) &&
			!is.caught)
			forget_handlers(k->process);
	}
	op.comm = k->process->comm;
	op.ret = parent;
	if (k->process->started)
		tracer_put(t, &op);
}

/* Forget a task that is no longer ours. */
void task_drop(struct tracer *t, struct task *k)
{
	queue_forget(t, k);
	fdtab_forget(t->fdtab, &k->fd);
	fast_forget(t, k);
	map_del(&t->tasks, k->tid, 0);
	k->process->unmet -= k->seized;
	if (k->process->newest == k)
		k->process->newest = NULL;
	process_leave(t, k->process);
	free(k);
	t->ntasks--;
}

/* fn may drop the task that it is given. */
void tasks_each(
	struct tracer *t, void (*fn)(struct tracer *, struct task *, void *), void *arg)
{
	size_t n = 0;
	struct task **all = calloc(t->ntasks + 1, sizeof(*all));

	for (size_t i = 0; all && i < t->tasks.cap; i++)
		if (t->tasks.slot[i].value)
			all[n++] = (struct task *)t->tasks.slot[i].value;
	for (size_t i = 0; i < n; i++)
		fn(t, all[i], arg);
	free(all);
}

/* space: whose memory it has to have; NULL: any. */
void task_interrupt(struct tracer *t, struct task *k, void *space)
{
	(void)t;
	if (k->state == TASK_RUNNING && (!space || k->space == space))
		k->poked = !ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
}

static void drop(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	task_drop(t, k);
}

void tasks_free(struct tracer *t)
{
	tasks_each(t, drop, NULL);
	map_fini(&t->tasks);
	map_fini(&t->processes);
}

/* An EINTR that turned out to be one. */
void task_flush(struct tracer *t, struct task *k)
{
	if (k->eintr)
		tracer_put(t, &k->held);
	k->eintr = false;
}

/* Whether its calls are counted: it has become the command, and is not a child of it that
 * is only served. */
static bool counts(const struct task *k)
{
	return k->process->started && !k->process->muted;
}

/* Its counters went with it. */
static void task_unchecked(struct tracer *t, struct task *k)
{
	struct op op = life(t, k, OP_VERIFY);

	k->process->gone.calls = -1;
	if (!t->countable || !counts(k))
		return;
	op.want = k->counted + k->mine.calls;
	op.fd = -1;
	tracer_put(t, &op);
}

/* How many of its calls went which way. */
void task_paths(struct tracer *t, struct task *k)
{
	struct op op = life(t, k, OP_FAST);

	op.ret = k->fast;
	op.want = k->slow;
	if (counts(k) && (k->fast || k->slow))
		tracer_put(t, &op);
	k->fast = k->slow = 0;
}

/* It has stopped for the first time, or never will. */
static void met(struct tracer *t, struct task *k)
{
	struct process *p = k->process;
	bool last = k->seized && !--p->unmet;

	k->seized = false;
	if (!last || t->launch)
		return;
	p->incomplete = t->incomplete = true;
	t->again_ns = 0;
}

void task_gone(struct tracer *t, struct task *k, int status)
{
	struct op op = life(t, k, OP_EXIT);

	task_flush(t, k);
	task_paths(t, k);
	if (!k->exiting)
		task_unchecked(t, k);
	op.ret = status;
	if (k->process->started)
		tracer_put(t, &op);
	if (t->launch && k->tid == t->launch->command) {
		t->ended = true;
		t->ended_ns = op.start_ns;
	}
	met(t, k);
	task_drop(t, k);
}

void task_baseline(struct tracer *t, struct task *k)
{
	k->mine = (struct counters){ 0 };
	k->signals = k->process->signals;
	if (t->countable && tracee_counters(k->process->pid, k->tid, &k->base) < 0)
		k->base.calls = -1; /* never to be settled */
}

static bool in_exec(const struct task *k)
{
	return k->call.row >= 0 && !strncmp(syscalls[k->call.row].name, "execve", 6);
}

/*
 * What the kernel has counted for the task against what was counted here: each call
 * adds its weight to syscr + syscw, and its weight times the result to rchar + wchar.
 * A call in flight at the task's death may have been made or not. An exec begins a new
 * account, as the kernel charges the reading of the program to the task; who dies in the
 * middle of it has made no other calls. Whether it dies: ends.
 */
static void settle(struct task *k, const struct counters *now, bool ends)
{
	int64_t calls = now->calls - k->base.calls - k->mine.calls;
	int64_t bytes = now->bytes - k->base.bytes - k->mine.bytes;
	int weight = k->call.row >= 0 ? syscalls[k->call.row].weight : 0;
	if (slot_in_flight(&k->slot))
		weight = 2;
	/*
	 * A call inside the hook that a signal wakes, which another thread then takes, is
	 * made again by the kernel, and counted, without our seeing it.
	 */
	int64_t again = k->slot.ctl ? k->process->signals - k->signals : 0;
	if (k->process->rang) /* for the work of a ring, as often as there is some */
		again = INT32_MAX;
	bool exec = ends && in_exec(k);
	bool sure = calls >= 0 && (exec || calls <= weight + k->unsure + again);
	if (!sure)
		k->off.calls += calls;
	if (!sure || (!weight && !exec))
		k->off.bytes += bytes;
	k->unsure = 0;
	k->base = *now;
	k->counted += k->mine.calls;
	k->mine = (struct counters){ 0 };
}

/* core(5): what the kernel writes there is on the account of the task that has crashed.
 */
static bool may_have_dumped(const struct task *k)
{
	unsigned long status = 0;

	if (ptrace(PTRACE_GETEVENTMSG, k->tid, 0, &status) < 0)
		return false;
	switch (status & 0x7f) {
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS:
		return true;
	}
	return false;
}

/* now: NULL: they cannot be read. */
static void check(struct tracer *t, struct task *k, const struct counters *now, bool ends)
{
	bool known = now && k->base.calls >= 0;

	if (!t->countable || !counts(k))
		return;
	if (known)
		settle(k, now, ends);
	if (!ends)
		return;
	struct op op = life(t, k, OP_VERIFY);
	op.ret = k->off.calls;
	op.offset = k->off.bytes;
	op.want = k->counted;
	op.fd = !known || (k->off.calls > 0 && may_have_dumped(k)) ? -1 : 0;
	tracer_put(t, &op);
}

static void ledger(struct tracer *t, struct task *k, const struct counters *now)
{
	struct op chars = life(t, k, OP_CHARS), ledger = life(t, k, OP_LEDGER);
	const struct ledger *before = &k->before;

	if (!counts(k) || !now)
		return;
	chars.ret = now->ledger.rchar - before->rchar;
	chars.want = now->ledger.wchar - before->wchar;
	tracer_put(t, &chars);
	ledger.ret = now->ledger.read - before->read;
	ledger.want = now->ledger.written - before->written;
	ledger.offset = now->ledger.cancelled - before->cancelled;
	if (ledger.ret || ledger.want || ledger.offset)
		tracer_put(t, &ledger);
}

/* What the kernel has counted by now. NULL: it does not say. */
static const struct counters *ask(const struct task *k, struct counters *now)
{
	return tracee_counters(k->process->pid, k->tid, now) < 0 ? NULL : now;
}

/* At exec the account is closed. */
void task_check(struct tracer *t, struct task *k)
{
	struct counters now;

	check(t, k, ask(k, &now), false);
}

/* What the kernel has on the account of the task: of all its life, its execs too. */
void task_ledger(struct tracer *t, struct task *k)
{
	struct counters now;

	ledger(t, k, ask(k, &now));
}

/* What the task has done so far is none of ours. */
void task_begin(struct task *k)
{
	struct counters now;

	if (tracee_counters(k->process->pid, k->tid, &now) == 0)
		k->before = now.ledger;
}

/* At the first stop of a task that was attached to: what came before is not ours. */
void task_found(struct tracer *t, struct task *k)
{
	if (!k->seized)
		return;
	task_baseline(t, k);
	task_begin(k);
	met(t, k);
}

static void add(struct counters *to, const struct counters *more, int sign)
{
	to->calls += sign * more->calls;
	to->bytes += sign * more->bytes;
	to->ledger.rchar += sign * more->ledger.rchar;
	to->ledger.wchar += sign * more->ledger.wchar;
	to->ledger.read += sign * more->ledger.read;
	to->ledger.written += sign * more->ledger.written;
	to->ledger.cancelled += sign * more->ledger.cancelled;
}

/*
 * The counters of a former leader that nobody can be asked for any more: those of the
 * process without those of all others. k: its record, whose id is another thread's now.
 * 0 or -errno.
 */
int task_last(const struct task *k, struct counters *last)
{
	const struct process *p = k->process;
	struct counters own;
	int err = p->gone.calls < 0 ? -ENODATA : tracee_counters_of_all(p->pid, last);

	if (!err)
		err = tracee_counters(p->pid, k->tid, &own);
	if (err < 0)
		return err;
	add(last, &own, -1);
	add(last, &p->gone, -1);
	return 0;
}

/* The last word on its counts. NULL: the kernel does not say. */
static void verdict(struct tracer *t, struct task *k, const struct counters *last)
{
	check(t, k, last, true);
	ledger(t, k, last);
}

void task_verdict(struct tracer *t, struct task *k)
{
	struct counters now;

	/* Of one that was never seen to stand it is not known what came before. */
	verdict(t, k, k->seized ? NULL : ask(k, &now));
}

/* last: as of verdict(). */
void task_ended(struct tracer *t, struct task *k, const struct counters *last)
{
	struct counters *gone = &k->process->gone;

	k->exiting = true;
	if (!last)
		gone->calls = -1;
	else if (gone->calls >= 0)
		add(gone, last, 1);
	verdict(t, k, last);
}

void task_exiting(struct tracer *t, struct task *k)
{
	struct counters now;

	task_found(t, k);
	task_ended(t, k, ask(k, &now));
}

void task_note(struct tracer *t, struct task *k, enum op_note note, uint16_t row)
{
	struct op op = life(t, k, OP_NOTE);

	if (k->process->noted & 1u << note || !k->process->started)
		return;
	k->process->noted |= 1u << note;
	op.ret = note;
	op.call = row;
	tracer_put(t, &op);
}

/* The former leader of its process has gone, and what runs a program has its id now. */
void task_inherits(struct tracer *t, struct task *k, struct task *caller)
{
	const struct task moved = *caller;

	task_flush(t, k);
	k->exiting = false;
	k->held = moved.held;
	k->eintr = moved.eintr;
	k->sysmode = moved.sysmode;
	k->bare = moved.bare;
	k->filtered = moved.filtered;
	k->sealed = moved.sealed;
	k->off = moved.off;
	k->base = moved.base;
	k->mine = moved.mine;
	k->call = moved.call;
	k->counted = moved.counted;
	k->fast += moved.fast;
	k->slow += moved.slow;
	k->unsure = moved.unsure;
	k->before = moved.before;
	caller->seized = k->seized; /* dropped, as the former leader is */
	k->seized = moved.seized;
	task_drop(t, caller);
}

struct heir {
	const struct task *of;
	struct task *found;
};

static void look_for_heir(struct tracer *t, struct task *k, void *arg)
{
	struct heir *h = arg;

	(void)t;
	if (k != h->of && k->process == h->of->process && k->state == TASK_RUNNING &&
		in_exec(k) && syscall(SYS_tgkill, k->process->pid, k->tid, 0) < 0 &&
		errno == ESRCH)
		h->found = k;
}

struct task *task_heir(struct tracer *t, const struct task *k)
{
	struct heir h = { .of = k };

	if (k->tid == k->process->pid && k->process->ntasks > 1)
		tasks_each(t, look_for_heir, &h);
	return h.found;
}

/*
 * At PTRACE_EVENT_EXEC the task has the process's own id, whichever thread it was: the
 * record of the former leader goes, that of the caller takes its place. ptrace(2).
 */
uint32_t task_exec(struct tracer *t, struct task *k, pid_t former)
{
	struct task *caller = former == k->tid ? NULL : task_find(t, former);
	struct process *p = k->process;

	if (caller)
		task_inherits(t, k, caller);
	fdtab_forget(t->fdtab, &k->fd);
	k->call.row = -1;
	k->execs = 0;
	k->hurried = false;
	k->rest.on = k->poked = k->exiting = k->distrusted = false;
	k->early = (struct early){ .on = false };
	k->again = (struct again){ .on = false };
	k->clone_flag = 0;
	k->stopped_before = true; /* the command has had no such stop at its birth */
	p->comm = tracee_comm(t->names, k->tid);
	p->started = true;

	struct op op = life(t, k, OP_EXEC);
	op.file = fdtab_exe(t->fdtab, &k->fd);
	tracer_put(t, &op);
	task_baseline(t, k);
	return op.file;
}
