/*
 * net.bpf.h - calls on sockets, and those that wait for them
 */
#ifndef IOPS_NET_BPF_H
#define IOPS_NET_BPF_H

#include "net_out.bpf.h"

/* At most this long, by the argument that says so; it may be changed by the call. */
static __always_inline s64 net_timeout(const u64 arg[6], u8 how, u8 time, bool compat)
{
	u64 at = how == NET_POLL ? arg[2] : how == NET_SELECT ? arg[4] : arg[3];
	s64 unit = time == NET_TIME_VAL ? 1000 : 1;

	if (time == NET_TIME_NONE)
		return -2;
	if (time == NET_TIME_MS)
		return (s32)at < 0 ? -1 : (s64)(s32)at * 1000000;
	if (!at)
		return -1;
	if (compat && time != NET_TIME_SPEC64) {
		s32 t[2] = {};
		bpf_probe_read_user(t, sizeof(t), (void *)at);
		return (s64)t[0] * 1000000000 + t[1] * unit;
	}
	s64 t[2] = {};
	bpf_probe_read_user(t, sizeof(t), (void *)at);
	return t[0] * 1000000000 + t[1] * unit;
}

/* Remember what a descriptor is, before it is closed. False: no socket. */
static __always_inline bool net_closing(
	struct net_state *st, struct task_struct *task, s32 fd)
{
	struct file *file = file_of(task, fd);
	struct socket *socket = socket_of(file);

	if (!socket)
		return false;
	st->id = net_id(socket, file, 0);
	st->left = net_others(file);
	if (!st->left)
		net_gone(socket);
	return true;
}

static __always_inline bool net_is_socket(struct task_struct *task, s32 fd)
{
	return socket_of(file_of(task, fd)) != NULL;
}

/* Whether a call on a descriptor of any kind is one on a socket. */
static __always_inline bool net_concerns(
	u8 how, struct task_struct *task, const u64 arg[6])
{
	if (net_is_socket(task, (s32)arg[0]))
		return true;
	if (how == NET_SENDFILE)
		return net_is_socket(task, (s32)arg[1]);
	return how == NET_SPLICE && net_is_socket(task, (s32)arg[2]);
}

/* Of close_range(2) and the end of a process: one descriptor after the other. */
struct net_walk {
	u32 first, exits, told;
	s64 ret;
};

static long net_walk_step(u32 i, void *arg)
{
	struct net_walk *w = arg;
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_state *st = bpf_task_storage_get(&net_tasks, task, 0, 0);
	s32 fd = w->first + i;
	struct file *file = file_of(task, fd);
	struct socket *socket = socket_of(file);

	if (!st || !socket)
		return 0;
	u32 id = net_id(socket, file, 0);
	u64 key = (u64)BPF_CORE_READ(socket, sk);
	struct net_sock *e = bpf_map_lookup_elem(&net_socks, &key);
	s32 left = net_others(file);
	if (e) { /* descriptors before this one are still counted by the file */
		if (e->walk_ns != st->enter_ns)
			e->closing = 0;
		e->walk_ns = st->enter_ns;
		left -= e->closing++;
		if (left <= 0)
			e->stale = 1;
	}
	struct rec_net_call *r = call_rec(st, w->ret);
	if (!r)
		return 0;
	r->head.file = id;
	r->fd = fd;
	r->left = left;
	r->exits = w->exits;
	r->part = !w->exits && w->told++;
	give(r);
	return 0;
}

static __always_inline u32 net_max_fds(struct task_struct *task)
{
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	u32 n = fdt ? BPF_CORE_READ(fdt, max_fds) : 0;

	return n < 1 << 20 ? n : 1 << 20;
}

static __noinline int net_walk(struct net_state *st, u64 first, u64 last, u32 exits)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_walk w = { .first = first, .exits = exits };
	u64 end = net_max_fds(task);

	if (!st)
		return 0;
	if (last + 1 < end)
		end = last + 1;
	if (first < end)
		bpf_loop(end - first, net_walk_step, &w, 0);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(net_sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = is_compat(task);
	u64 arg[6];

	if ((u64)nr >= SHAPES_MAX - 32)
		return 0;
	u8 how = net_shapes[compat][nr & (SHAPES_MAX - 1)].how;
	if (how == NET_NONE || !traced(task))
		return 0;
	args_of(regs, compat, arg);
	if (how == NET_SOCKETCALL) {
		u32 word[6] = {};
		nr = SHAPES_MAX - 32 + ((u32)arg[0] & 31);
		bpf_probe_read_user(word, sizeof(word), (void *)arg[1]);
		for (int i = 0; i < 6; i++)
			arg[i] = word[i];
	} else if (how == NET_OLD_SELECT) {
		u32 word[5] = {};
		bpf_probe_read_user(word, sizeof(word), (void *)arg[0]);
		for (int i = 0; i < 5; i++)
			arg[i] = word[i];
	}
	volatile const struct net_shape *s = &net_shapes[compat][nr & (SHAPES_MAX - 1)];
	how = s->how;
	if (how == NET_NONE || (s->check && !net_concerns(how, task, arg)))
		return 0;
	struct net_state *st =
		bpf_task_storage_get(&net_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st)
		return 0;
	__builtin_memcpy(st->arg, arg, sizeof(arg));
	st->nr = nr;
	st->abi = compat;
	st->id = 0;
	st->timeout_ns = net_timeout(
		arg, how == NET_OLD_SELECT ? NET_SELECT : how, s->time, compat);
	st->pending = 1;
	st->enter_ns = st->exit_ns = bpf_ktime_get_ns();
	if (how == NET_CLOSE)
		st->pending = net_closing(st, task, (s32)arg[0]);
	else if (how == NET_DUP2)
		st->pending = arg[0] != arg[1] && net_closing(st, task, (s32)arg[1]);
	else if (how == NET_CLOSE_RANGE && !(arg[2] & 4)) /* CLOSE_RANGE_CLOEXEC */
		net_walk(st, (u32)arg[0], (u32)arg[1], 0);
	return 0;
}

/* Size and latency are of what moves data or waits; life is told in any case. */
static __always_inline bool net_passes(const struct net_state *st, u8 how, s64 ret)
{
	bool moves = how <= NET_SPLICE, waits = how >= NET_EPOLL_WAIT;

	if (moves && filter.min_bytes && how != NET_SENDMMSG && how != NET_RECVMMSG &&
		(ret < 0 || (u64)ret < filter.min_bytes))
		return false;
	return !filter.min_ns || !(moves || waits) ||
	       st->exit_ns - st->enter_ns >= filter.min_ns;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(net_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 nr = number_of(regs);

	if (nr >= SHAPES_MAX - 32 ||
		net_shapes[is_compat(task)][nr & (SHAPES_MAX - 1)].how == NET_NONE)
		return 0;
	struct net_state *st = bpf_task_storage_get(&net_tasks, task, 0, 0);
	if (!st || !st->pending)
		return 0;
	st->pending = 0;
	st->exit_ns = bpf_ktime_get_ns();
	u8 how = net_shape_of(st)->how;
	if (!net_passes(st, how, ret))
		return 0;
	if (how >= NET_SEND && how <= NET_RECVMSG)
		out_data(st, ret, how);
	else if (how == NET_SENDMMSG || how == NET_RECVMMSG)
		out_mmsg_net(st, ret, how);
	else if (how == NET_SENDFILE || how == NET_SPLICE)
		out_sides(st, ret, how);
	else if (how == NET_SOCKETPAIR)
		out_pair(st, ret);
	else if (how == NET_SETOPT || how == NET_GETOPT)
		out_option(st, ret, how);
	else if (how >= NET_EPOLL_CREATE)
		out_wait(st, ret, how);
	else if (how == NET_DUP2 ? ret >= 0 : how != NET_CLOSE_RANGE)
		out_life(st, ret, how);
	return 0;
}

/* What a process has open when it ends is closed without a call. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(net_process_exit, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!traced(task) || BPF_CORE_READ(task, signal, live.counter))
		return 0;
	struct net_state *st =
		bpf_task_storage_get(&net_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st)
		return 0;
	st->enter_ns = st->exit_ns = bpf_ktime_get_ns();
	st->nr = SHAPES_MAX - 1;
	st->abi = 0;
	net_walk(st, 0, -1UL - 1, 1);
	return 0;
}

#endif
