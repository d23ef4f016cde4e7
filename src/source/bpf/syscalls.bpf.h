/*
 * syscalls.bpf.h - where every system call comes in and goes out
 */
#ifndef IOPS_SYSCALLS_BPF_H
#define IOPS_SYSCALLS_BPF_H

#include "aio.bpf.h"
#include "fs.bpf.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = traced(task);

	if (!st)
		return 0;
	st->pending = 0;
	if (st->waits) {
		ledger_begin(st, task);
		fs_first_exec(st, regs, nr);
		return 0;
	}
	if (st->fresh) {
		st->fresh = 0;
		account_begin(st, task);
		ledger_begin(st, task);
	}
	bool compat = is_compat(task);
	if ((u64)nr >= SHAPES_MAX - 32)
		return 0;
	u8 how = shapes[compat][nr & (SHAPES_MAX - 1)].how;
	if (how == HOW_NONE && !fs_shown(compat, nr))
		return 0;
	args_of(regs, compat, st->arg);
	st->nr = nr;
	st->abi = compat;
	st->pending = 1;
	if (filter.rows)
		fs_enter(st);
	if (how == HOW_EXEC) {
		account_end(st, task);
		account_begin(st, task);
		return 0;
	}
	if (how == HOW_SOCKETCALL)
		socketcall(st);
	files_begin(st, task, &shapes[compat][st->nr & (SHAPES_MAX - 1)]);
	if (how == HOW_SUBMIT && !compat)
		aio_submit(st->arg[1], st->arg[2]);
	st->enter_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (ret == 0 && is_rename(number_of(regs), is_compat(task)))
		__sync_fetch_and_add(&renames, 1);
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!st || !st->pending)
		return 0;
	u64 now = bpf_ktime_get_ns();
	st->pending = 0;
	u32 nr = st->nr & (SHAPES_MAX - 1), abi = st->abi & 1;
	volatile const struct call_shape *s = &shapes[abi][nr];
	if (filter.rows)
		fs_exit(st, ret, now);
	if (s->how ==
		HOW_EXEC) { /* what it read of the program is none of the program's */
		account_begin(st, task);
		return 0;
	}
	if (!s->how || s->how == HOW_SUBMIT)
		return 0;
	if (s->how == HOW_REAP) {
		if (!abi)
			aio_reap(ret, st->arg[3]);
		return 0;
	}
	u8 count = counted(st, task, s->weight, ret);
	if (!s->wanted && !count)
		return 0;
	if (s->form == F_TWO)
		out_two(st, task, s, ret, now, count);
	else if (s->path >= 0 && !(s->form == F_OPEN && ret >= 0))
		out_path(st, ret, now, abi, nr);
	else if (s->form == F_MMSG)
		out_mmsg(st, ret, now, abi, nr);
	else
		out_call(st, task, s, ret, now, count);
	return 0;
}

#endif
