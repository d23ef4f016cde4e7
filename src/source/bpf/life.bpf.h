/*
 * life.bpf.h - the life of tasks, and the accounts that the kernel keeps of their calls
 */
#ifndef IOPS_LIFE_BPF_H
#define IOPS_LIFE_BPF_H

#include "common.bpf.h"

enum { SIGNAL_GROUP_EXIT_BIT = 4 };

/* The kernel's own account of a task: /proc/PID/task/TID/io. */
static __always_inline void account_read(
	struct task_struct *task, struct task_io_accounting *io)
{
	__builtin_memset(io, 0, sizeof(*io));
	if (bpf_core_field_exists(task->ioac.rchar))
		bpf_core_read(io, sizeof(*io), &task->ioac);
}

static __always_inline void ledger_begin(struct task_state *st, struct task_struct *task)
{
	struct task_io_accounting io;

	account_read(task, &io);
	st->before.rchar = io.rchar;
	st->before.wchar = io.wchar;
	st->before.read = io.read_bytes;
	st->before.written = io.write_bytes;
	st->before.cancelled = io.cancelled_write_bytes;
}

static __always_inline void ledger_end(
	struct rec_ledger *l, struct task_state *st, struct task_io_accounting *io)
{
	l->rchar = io->rchar - st->before.rchar;
	l->wchar = io->wchar - st->before.wchar;
	l->read = io->read_bytes - st->before.read;
	l->written = io->write_bytes - st->before.written;
	l->cancelled = io->cancelled_write_bytes - st->before.cancelled;
}

static __always_inline void account_begin(struct task_state *st, struct task_struct *task)
{
	struct task_io_accounting io;

	account_read(task, &io);
	st->base_calls = io.syscr + io.syscw;
	st->base_bytes = io.rchar + io.wchar;
	st->mine = 0;
}

static __always_inline struct rec_life *life(u8 type, struct task_struct *task)
{
	struct rec_life *r = take(BPF_LIFE, sizeof(*r));

	if (!r)
		return NULL;
	head_fill(&r->head, type);
	r->head.pid = BPF_CORE_READ(task, tgid);
	r->head.tid = BPF_CORE_READ(task, pid);
	r->other = 0;
	r->status = 0;
	r->calls = r->bytes = r->in_flight = 0;
	__builtin_memset(&r->ledger, 0, sizeof(r->ledger));
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	return r;
}

/* The account so far is closed: what the kernel counted, to be compared. */
static __always_inline void account_end(struct task_state *st, struct task_struct *task)
{
	struct rec_life *r = life(REC_CHECK, task);
	struct task_io_accounting io;

	if (!r)
		return;
	account_read(task, &io);
	r->calls = io.syscr + io.syscw - st->base_calls;
	r->bytes = io.rchar + io.wchar - st->base_bytes;
	give(r);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *mine = bpf_task_storage_get(&tasks, task, 0, 0), *st;
	u32 pid = BPF_CORE_READ(child, tgid), mypid = bpf_get_current_pid_tgid() >> 32;
	bool thread = pid == mypid;

	if (!mine || !mine->traced || (!filter.follow && !thread))
		return 0;
	st = bpf_task_storage_get(&tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) { /* all that it will do */
		lose(BPF_LIFE);
		return 0;
	}
	st->traced = 1;
	st->fresh = 0;
	account_begin(st, child);
	u8 one = 1;
	if (!thread && bpf_map_update_elem(&members, &pid, &one, BPF_ANY))
		lose(BPF_LIFE);
	struct rec_life *r = life(REC_FORK, child);
	if (r) {
		r->other = mypid;
		give(r);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, s32 old, struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = followed(task);

	if (!st)
		return 0;
	u32 file = name_file(BPF_CORE_READ(task, mm, exe_file));
	st->waits = 0;
	st->fresh = 0;
	account_begin(st, task);
	struct rec_life *r = life(REC_EXEC, task);
	if (r) {
		r->head.file = file;
		r->other = old;
		give(r);
	}
	return 0;
}

static __always_inline int exits(bool last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	bool ours = st && st->traced;

	/* The last one may be a thread of the kernel's, that served an io_uring. */
	if (!ours && !(last && member(pid)))
		return 0;
	if (last)
		bpf_map_delete_elem(&members, &pid);
	struct rec_life *r = life(REC_EXIT, task);
	if (!r)
		return 0;
	r->head.row = last ? ours ? EXIT_LAST : EXIT_LAST_OTHER : 0;
	r->status = BPF_CORE_READ(task, exit_code);
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT_BIT)
		r->status = BPF_CORE_READ(task, signal, group_exit_code);
	if (!ours) {
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
		return 0;
	}
	r->other = st->fresh;
	struct task_io_accounting io;
	account_read(task, &io);
	r->calls = io.syscr + io.syscw - st->base_calls;
	r->bytes = io.rchar + io.wchar - st->base_bytes;
	ledger_end(&r->ledger, st, &io);
	r->in_flight = st->pending;
	bpf_ringbuf_submit(r, last ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

/* Since 6.16 it is told whether it was the last one of its process. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_told, struct task_struct *p, bool group_dead)
{
	return exits(group_dead);
}

/* Before, two that end at once may both find that nobody is left. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return exits(BPF_CORE_READ(task, signal, live.counter) == 0);
}

/* Every task of the processes that are followed from the start. */
SEC("iter/task")
int on_each(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	u32 pid = GET(task, tgid);
	if (!bpf_map_lookup_elem(&members, &pid))
		return 0;
	struct task_state *st =
		bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st)
		lose(BPF_LIFE);
	if (st && !st->traced) {
		st->fresh = 1;
		st->traced = 1;
		st->waits = pid == filter.command;
	}
	return 0;
}

/* At our end: the accounts of those who go on. */
SEC("iter/task")
int on_last(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_io_accounting io;

	if (!task)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!st || !st->traced || st->fresh)
		return 0;
	struct rec_life *r = life(REC_LAST, task);
	if (!r)
		return 0;
	/* Only now: what was told before this record is in the kernel's account already.
	 */
	account_read(task, &io);
	r->calls = io.syscr + io.syscw - st->base_calls;
	r->bytes = io.rchar + io.wchar - st->base_bytes;
	ledger_end(&r->ledger, st, &io);
	st->done = 1;
	r->in_flight = 1 + st->pending;
	give(r);
	return 0;
}

/* Who sent the command a signal, for the front end, which may have got it too. */
SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	u64 kind = (u64)info;

	if (!filter.command || (u32)BPF_CORE_READ(task, tgid) != filter.command)
		return 0;
	struct rec_life *r = life(REC_SIGNAL, task);
	if (!r)
		return 0;
	r->other = sig;
	if (kind == 0) /* SEND_SIG_NOINFO */
		r->status = bpf_get_current_pid_tgid() >> 32;
	else if (kind != 1 && BPF_CORE_READ(info, si_code) <= 0) /* 1: SEND_SIG_PRIV */
		r->status = BPF_CORE_READ(info, _sifields._kill._pid);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
