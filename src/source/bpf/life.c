/*
 * life.c - tasks and processes as the kernel tells of them, and their accounts
 */
#include "bpf.h"
#include "iops/launch.h"
#include "iops/names.h"
#include "iops/process.h"

#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct process *ebpf_life_find(const struct bpf *b, pid_t pid)
{
	return (struct process *)map_get(&b->processes, pid, 0);
}

static struct process *process_new(struct bpf *b, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p || map_put(&b->processes, pid, 0, (uintptr_t)p) < 0) {
		free(p);
		b->error = b->error ? b->error : -12;
		return NULL;
	}
	p->pid = pid;
	b->living++;
	return p;
}

static void process_free(struct bpf *b, struct process *p)
{
	map_del(&b->processes, p->pid, 0);
	free(p);
	b->living--;
}

static uint32_t comm_of(struct bpf *b, const char comm[16])
{
	return names_add(b->names, comm, strnlen(comm, 16));
}

/* What /proc tells of a process that was there before us. */
static uint32_t read_comm(struct bpf *b, pid_t pid)
{
	char path[48], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, comm, sizeof(comm));
	if (fd >= 0)
		close(fd);
	return n > 1 ? names_add(b->names, comm, n - 1) : 0;
}

/* For sums that are told when the process is gone. */
static void remember(struct bpf *b, const struct process *p)
{
	if (b->aggregate && p->comm)
		map_put(&b->commands, p->pid, 0, p->comm);
}

static pid_t parent_of(pid_t pid)
{
	char path[48], buf[512], *p;
	pid_t parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = 0;
	if ((p = strrchr(buf, ')')))
		sscanf(p + 1, " %*c %d", &parent);
	return parent;
}

static struct op life_op(
	struct bpf *b, const struct process *p, pid_t tid, uint8_t kind, uint64_t at_ns)
{
	return (struct op){
		.kind = kind,
		.pid = p->pid,
		.tid = tid,
		.comm = p->comm,
		.fd = -1,
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME,
		.start_ns = ebpf_since(b, at_ns),
	};
}

void ebpf_life_meet(struct bpf *b, pid_t pid)
{
	struct process *p = ebpf_life_process(b, pid);

	if (p)
		p->comm = read_comm(b, pid);
}

void ebpf_life_begin(struct bpf *b, pid_t pid)
{
	struct process *p = ebpf_life_process(b, pid);
	struct fd_task task = { .tid = pid };

	if (!p || p->started)
		return;
	uint32_t comm = read_comm(b, pid);
	if (comm) /* else it has ended: what it was called before */
		p->comm = comm;
	remember(b, p);
	p->started = true;
	struct op op = life_op(b, p, pid, OP_EXEC, 0);
	op.file = fdtab_exe(b->fdtab, &task);
	op.ret = parent_of(pid);
	ebpf_put(b, &op);
}

struct process *ebpf_life_process(struct bpf *b, pid_t pid)
{
	struct process *p = ebpf_life_find(b, pid);

	return p ? p : process_new(b, pid);
}

struct process *ebpf_life_caller(struct bpf *b, const struct rec *r)
{
	struct process *p = ebpf_life_find(b, (pid_t)r->pid);

	if (!p && b->all) {
		ebpf_life_begin(b, (pid_t)r->pid);
		p = ebpf_life_find(b, (pid_t)r->pid);
	}
	return p && p->started ? p : NULL;
}

struct account *ebpf_life_account(struct bpf *b, pid_t tid)
{
	struct account *a = (struct account *)map_get(&b->accounts, tid, 0);

	if (!a && (a = calloc(1, sizeof(*a))) &&
		map_put(&b->accounts, tid, 0, (uintptr_t)a) < 0) {
		free(a);
		a = NULL;
	}
	return a;
}

/*
 * What the kernel has counted against what was counted here. weight: of a call that was
 * in flight when the task died, which may have been made or not.
 */
static void settle(struct account *a, const struct rec_life *r)
{
	int64_t calls = (int64_t)(r->calls - a->calls);
	int64_t bytes = (int64_t)(r->bytes - a->bytes);
	bool sure = calls >= 0 && (uint64_t)calls <= 2 * r->in_flight;

	if (!sure)
		a->off_calls += calls;
	if (!sure || (!calls && r->in_flight < 2))
		a->off_bytes += bytes;
	a->counted += a->calls;
	a->calls = a->bytes = 0;
}

static void on_fork(struct bpf *b, const struct rec_life *r)
{
	struct process *from = ebpf_life_find(b, (pid_t)r->other);
	bool thread = r->head.pid == r->other;
	struct process *p = thread ? from : ebpf_life_find(b, (pid_t)r->head.pid);

	if (p && !thread) { /* the id is used again and the end of the one before lost */
		process_free(b, p);
		p = NULL;
	}
	if (!p && !(p = ebpf_life_process(b, (pid_t)r->head.pid)))
		return;
	if (!thread) {
		p->started = b->all || (from && from->started);
		p->comm = from && from->comm ? from->comm : comm_of(b, r->comm);
		remember(b, p);
	}
	struct op op = life_op(b, p, (pid_t)r->head.tid, OP_FORK, r->head.at_ns);
	op.ret = r->other;
	if (p->started)
		ebpf_put(b, &op);
}

static void on_exec(struct bpf *b, const struct rec_life *r)
{
	struct process *p = ebpf_life_process(b, (pid_t)r->head.pid);
	struct account *old;

	if (!p)
		return;
	p->comm = comm_of(b, r->comm);
	remember(b, p);
	p->started = true;
	p->run_ns = r->head.at_ns;
	/* Whichever thread it was, from now on it has the process's own id. execve(2) */
	if (r->other && r->other != r->head.tid &&
		(old = (struct account *)map_del(&b->accounts, r->other, 0))) {
		free((void *)map_del(&b->accounts, r->head.tid, 0));
		map_put(&b->accounts, r->head.tid, 0, (uintptr_t)old);
	}
	struct op op = life_op(b, p, p->pid, OP_EXEC, r->head.at_ns);
	op.file = ebpf_files_get(b, r->head.file).file;
	ebpf_put(b, &op);
}

static void put_ledger(struct bpf *b, struct process *p, const struct rec_life *r)
{
	const struct rec_ledger *l = &r->ledger;
	struct op op = life_op(b, p, (pid_t)r->head.tid, OP_CHARS, r->head.at_ns);

	op.ret = (int64_t)l->rchar;
	op.want = l->wchar;
	ebpf_put(b, &op);
	op.kind = OP_LEDGER;
	op.ret = (int64_t)l->read;
	op.want = l->written;
	op.offset = (int64_t)l->cancelled;
	if (op.ret || op.want || op.offset)
		ebpf_put(b, &op);
}

static void verdict(struct bpf *b, struct process *p, const struct rec_life *r)
{
	struct account *a = ebpf_life_account(b, (pid_t)r->head.tid);
	struct op op = life_op(b, p, (pid_t)r->head.tid, OP_VERIFY, r->head.at_ns);

	if (!a)
		return;
	bool fresh = r->other;
	if (!fresh)
		settle(a, r);
	op.ret = a->off_calls;
	op.offset = a->off_bytes;
	op.want = a->counted;
	op.fd = fresh ? -1 : 0;
	if (b->countable)
		ebpf_put(b, &op);
	if (!fresh)
		put_ledger(b, p, r);
	map_del(&b->accounts, r->head.tid, 0);
	free(a);
}

static void on_exit_of(struct bpf *b, const struct rec_life *r)
{
	struct process *p = ebpf_life_find(b, (pid_t)r->head.pid);

	if (!p)
		return;
	if (p->started) {
		struct op op = life_op(b, p, (pid_t)r->head.tid, OP_EXIT, r->head.at_ns);
		op.ret = r->status;
		if (r->head.row == EXIT_LAST_OTHER)
			op.tid = op.pid;
		else
			verdict(b, p, r);
		/* The process ends with its last thread, whichever that is. */
		if (r->head.row == EXIT_LAST && r->head.tid != r->head.pid) {
			ebpf_put(b, &op);
			op.tid = op.pid;
		}
		if (r->head.row || r->head.tid != r->head.pid)
			ebpf_put(b, &op);
	}
	if (!r->head.row)
		return;
	if (b->launch && p->pid == b->launch->command) {
		b->ended = true;
		b->ended_ns = r->head.at_ns;
	}
	process_free(b, p);
}

/* The command got a signal, and perhaps goes on. */
static void on_signal(struct bpf *b, const struct rec_life *r)
{
	struct launch *l = b->launch;
	uint32_t sig = r->other;

	if (!l || sig >= NSIG)
		return;
	if (sig == SIGCONT && l->stopped)
		kill(l->front, SIGCONT);
	l->delivered[sig].from = r->status;
	l->delivered[sig].at_ns = r->head.at_ns;
	l->delivered[sig].n++;
}

void ebpf_life_take(struct bpf *b, const struct rec_life *r)
{
	struct account *a;
	struct process *p;

	switch (r->head.type) {
	case REC_FORK:
		on_fork(b, r);
		break;
	case REC_EXEC:
		on_exec(b, r);
		break;
	case REC_EXIT:
		on_exit_of(b, r);
		break;
	case REC_LAST:
		if ((p = ebpf_life_find(b, (pid_t)r->head.pid)) && p->started)
			verdict(b, p, r);
		break;
	case REC_SIGNAL:
		on_signal(b, r);
		break;
	case REC_CHECK:
		if ((a = ebpf_life_account(b, (pid_t)r->head.tid)))
			settle(a, r);
		break;
	}
}

/*
 * One that ended before it was followed, or whose end found no room in the ring: of how
 * it ended nothing is said. At the second look: what the kernel told until the first has
 * been taken by then.
 */
void ebpf_life_look(struct bpf *b)
{
	for (size_t i = 0; i < b->processes.cap; i++) {
		struct process *p = (struct process *)b->processes.slot[i].value;
		if (!p || process_runs(p->pid))
			continue;
		if (p->gone)
			process_free(b, p);
		else
			p->gone = true;
	}
}

void ebpf_life_end(struct bpf *b)
{
	for (size_t i = 0; i < b->processes.cap; i++) {
		struct process *p = (struct process *)b->processes.slot[i].value;
		if (!p || !p->started)
			continue;
		struct op op = life_op(b, p, p->pid, OP_NOTE, b->ended_ns);
		op.ret = NOTE_RUNNING;
		ebpf_put(b, &op);
	}
}

void ebpf_life_free(struct bpf *b)
{
	for (size_t i = 0; i < b->processes.cap; i++)
		free((void *)b->processes.slot[i].value);
	for (size_t i = 0; i < b->accounts.cap; i++)
		free((void *)b->accounts.slot[i].value);
	map_fini(&b->processes);
	map_fini(&b->accounts);
	map_fini(&b->commands);
}
