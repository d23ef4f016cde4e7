/*
 * net_out.bpf.h - what is told of a call on a socket when it returns
 */
#ifndef IOPS_NET_OUT_BPF_H
#define IOPS_NET_OUT_BPF_H

#include "net_socks.bpf.h"

const volatile struct net_shape net_shapes[SHAPES_ABIS][SHAPES_MAX] = {};

/* A task in a call on a socket. */
struct net_state {
	u64 enter_ns, exit_ns;
	u64 arg[6];
	s64 timeout_ns;
	u32 nr;
	u8 abi, pending;
	u16 pad;
	u32 id; /* of what is about to be closed, and who else holds it */
	s32 left;
	u32 part; /* messages of a call that were told */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_state);
} net_tasks SEC(".maps");

static __always_inline u64 net_arg(const struct net_state *st, s8 i)
{
	return i < 0 ? 0 : st->arg[(i & 7) < 6 ? i & 7 : 5];
}

static __always_inline volatile const struct net_shape *net_shape_of(
	const struct net_state *st)
{
	return &net_shapes[st->abi & 1][st->nr & (SHAPES_MAX - 1)];
}

static __always_inline struct rec_net_call *call_rec(struct net_state *st, s64 ret)
{
	struct rec_net_call *r = take(BPF_NET, sizeof(*r));

	if (!r)
		return NULL;
	head_fill(&r->head, REC_NET_CALL);
	r->head.abi = st->abi;
	r->head.row = net_shape_of(st)->row;
	r->dur_ns = st->exit_ns - st->enter_ns;
	r->head.at_ns = st->enter_ns;
	r->ret = ret;
	r->fd = (s32)st->arg[0];
	r->a = r->b = r->c = 0;
	r->left = 0;
	r->exits = r->naddr = r->part = r->pad = 0;
	return r;
}

/* The address that a program names, as it stands in its memory. */
static __always_inline void user_addr(struct rec_net_call *r, u64 at, u32 len)
{
	if (!at || !len)
		return;
	if (len > NET_ADDR_MAX)
		len = NET_ADDR_MAX;
	if (bpf_probe_read_user(r->addr, NET_ADDR_MAX, (void *)at) < 0 &&
		bpf_probe_read_user(r->addr, 16, (void *)at) < 0)
		return;
	r->naddr = len;
}

static __noinline u32 net_fd_id(u64 fd, u32 fresh)
{
	struct file *file = file_of(bpf_get_current_task_btf(), (s32)fd);
	struct socket *socket = socket_of(file);

	return socket ? net_id(socket, file, fresh) : 0;
}

/* The bytes that one call moved. */
static __always_inline struct rec_net_data *data_rec(
	struct net_state *st, u32 id, s64 ret, bool sends)
{
	struct rec_net_data *r = take(BPF_NET, sizeof(*r));

	if (!r)
		return NULL;
	head_fill(&r->head, REC_NET_DATA);
	r->head.abi = st->abi;
	r->head.row = net_shape_of(st)->row;
	r->head.file = id;
	r->dur_ns = st->exit_ns - st->enter_ns;
	r->head.at_ns = st->enter_ns;
	r->ret = ret;
	r->want = 0;
	r->fd = (s32)st->arg[0];
	r->flags = 0;
	r->sends = sends;
	r->part = 0;
	r->family = 0;
	return r;
}

/* Who a datagram is for or from, where it says so. */
static __always_inline void peer_of(struct rec_net_data *r, u64 at)
{
	struct {
		u16 family, port;
		u8 addr[24];
	} a = {};

	if (!at || bpf_probe_read_user(&a, 16, (void *)at) < 0)
		return;
	if (a.family == NET_INET6)
		bpf_probe_read_user(&a, 28, (void *)at);
	else if (a.family != NET_INET)
		return;
	__builtin_memset(&r->peer, 0, sizeof(r->peer));
	r->peer.port = swap16(a.port);
	/* IPv6 has its flow label before the address. */
	if (a.family == NET_INET)
		__builtin_memcpy(r->peer.addr, a.addr, 4);
	else
		__builtin_memcpy(r->peer.addr, a.addr + 4, 16);
	r->family = a.family;
}

struct net_msg {
	u64 name, iov, n;
};

/* struct msghdr: name, namelen, iov, iovlen; sizes by the ABI. */
static __always_inline void msg_of(u64 at, u32 narrow, struct net_msg *m)
{
	u64 v[4] = {};
	u32 w[4] = {};

	if (narrow) {
		bpf_probe_read_user(w, sizeof(w), (void *)at);
		m->name = w[1] ? w[0] : 0;
		m->iov = w[2];
		m->n = w[3];
		return;
	}
	bpf_probe_read_user(v, sizeof(v), (void *)at);
	m->name = (u32)v[1] ? v[0] : 0;
	m->iov = v[2];
	m->n = v[3];
}

static __noinline int out_data(struct net_state *st, s64 ret, u32 how)
{
	volatile const struct net_shape *s;
	struct net_msg m = {};
	u64 want = 0;

	if (!st)
		return 0;
	s = net_shape_of(st);
	u32 id = net_fd_id(st->arg[0], 0);
	if (how == NET_SENDV || how == NET_RECVV) {
		want = vec_sum(st->arg[1], st->arg[2], st->abi);
	} else if (how == NET_SENDMSG || how == NET_RECVMSG) {
		msg_of(st->arg[1], st->abi, &m);
		want = vec_sum(m.iov, m.n, st->abi);
	} else {
		want = net_arg(st, s->size);
		m.name = net_arg(st, s->addr);
	}
	struct rec_net_data *r = data_rec(st, id, ret, how & 1);
	if (!r)
		return 0;
	r->want = want;
	r->flags = net_arg(st, s->flags);
	peer_of(r, ret < 0 && !(how & 1) ? 0 : m.name);
	give(r);
	return 0;
}

/* One of several messages. */
static long net_mmsg_step(u32 i, void *arg)
{
	struct net_state *st =
		bpf_task_storage_get(&net_tasks, bpf_get_current_task_btf(), 0, 0);
	struct net_msg m = {};
	u32 got = 0;

	if (!st)
		return 1;
	volatile const struct net_shape *s = net_shape_of(st);
	u64 at = st->arg[1] + i * (st->abi ? 32 : 64);
	msg_of(at, st->abi, &m);
	bpf_probe_read_user(&got, sizeof(got), (void *)(at + (st->abi ? 28 : 56)));
	u64 want = vec_sum(m.iov, m.n, st->abi);
	struct rec_net_data *r = data_rec(st, st->id, got, s->how & 1);
	if (!r)
		return 0;
	r->want = want;
	r->flags = net_arg(st, s->flags);
	r->part = i != 0;
	peer_of(r, m.name);
	give(r);
	return 0;
}

static __noinline int out_mmsg_net(struct net_state *st, s64 ret, u32 how)
{
	if (!st)
		return 0;
	st->id = net_fd_id(st->arg[0], 0);
	if (ret > 0) {
		bpf_loop(ret, net_mmsg_step, NULL, 0);
		return 0;
	}
	struct rec_net_data *r = data_rec(st, st->id, ret, how & 1);
	if (!r)
		return 0;
	r->flags = net_arg(st, net_shape_of(st)->flags);
	give(r);
	return 0;
}

/* One side of sendfile(2) or splice(2), if it is a socket. */
static __always_inline bool out_side(
	struct net_state *st, s64 ret, u64 fd, u32 sends, u32 part)
{
	u32 id = net_fd_id(fd, 0);

	if (!id)
		return false;
	struct rec_net_data *r = data_rec(st, id, ret, sends);
	if (!r)
		return false;
	r->want = net_arg(st, net_shape_of(st)->size);
	r->fd = (s32)fd;
	r->part = part;
	give(r);
	return true;
}

static __noinline int out_sides(struct net_state *st, s64 ret, u32 how)
{
	if (!st)
		return 0;
	bool file = how == NET_SENDFILE;
	bool first = out_side(st, ret, st->arg[file ? 1 : 0], 0, 0);
	out_side(st, ret, st->arg[file ? 0 : 2], 1, first);
	return 0;
}

static __noinline int out_life(struct net_state *st, s64 ret, u32 how)
{
	u64 fd = st ? st->arg[0] : 0, addr = 0;
	u32 id, len = 0;

	if (!st)
		return 0;
	if (how == NET_SOCKET || how == NET_ACCEPT) {
		if (ret >= 0)
			fd = ret;
		id = how == NET_SOCKET && ret < 0 ? 0 : net_fd_id(fd, ret >= 0);
	} else if (how == NET_CLOSE || how == NET_DUP2) {
		id = st->id;
		if (how == NET_DUP2)
			fd = st->arg[1];
	} else {
		/* Where a connection failed, its addresses are gone. */
		id = net_fd_id(fd, ret >= 0 || ret == -115 /* EINPROGRESS */);
	}
	if (how == NET_ADDRESS) {
		addr = st->arg[1];
		len = st->arg[2];
	}
	struct rec_net_call *r = call_rec(st, ret);
	if (!r)
		return 0;
	r->head.file = id;
	r->fd = (s32)fd;
	r->left = how == NET_CLOSE || how == NET_DUP2 ? st->left : 0;
	if (how == NET_SOCKET) {
		r->a = st->arg[0];
		r->b = st->arg[1];
		r->c = st->arg[2];
	} else if (how == NET_LISTEN) {
		r->a = st->arg[1];
	}
	user_addr(r, addr, len);
	give(r);
	return 0;
}

static __noinline int out_pair(struct net_state *st, s64 ret)
{
	s32 fd[2] = { -1, -1 };

	if (!st)
		return 0;
	if (ret >= 0)
		bpf_probe_read_user(fd, sizeof(fd), (void *)st->arg[3]);
	for (int i = 0; i < 2; i++) {
		u32 id = ret >= 0 ? net_fd_id(fd[i], 1) : 0;
		struct rec_net_call *r = call_rec(st, ret);
		if (!r)
			continue;
		r->head.file = id;
		r->fd = fd[i];
		r->a = st->arg[0];
		r->b = st->arg[1];
		r->c = st->arg[2];
		r->part = i;
		give(r);
		if (ret < 0)
			break;
	}
	return 0;
}

static __noinline int out_option(struct net_state *st, s64 ret, u32 how)
{
	s32 len = 0;

	if (!st)
		return 0;
	u32 id = net_fd_id(st->arg[0], 0);
	struct rec_net_option *r = take(BPF_NET, sizeof(*r));
	if (!r)
		return 0;
	head_fill(&r->head, REC_NET_OPTION);
	r->head.abi = st->abi;
	r->head.row = net_shape_of(st)->row;
	r->head.file = id;
	r->dur_ns = st->exit_ns - st->enter_ns;
	r->head.at_ns = st->enter_ns;
	r->ret = ret;
	r->fd = (s32)st->arg[0];
	r->level = (s32)st->arg[1];
	r->name = (s32)st->arg[2];
	r->sets = how == NET_SETOPT;
	if (r->sets)
		len = (s32)st->arg[4];
	else
		bpf_probe_read_user(&len, sizeof(len), (void *)st->arg[4]);
	r->len = len;
	u32 n = len < 0 || (!r->sets && ret < 0) ? 0 : len;
	if (n > NET_VALUE_MAX)
		n = NET_VALUE_MAX;
	__builtin_memset(r->value, 0, sizeof(r->value));
	/* What the size forbids to be zero the verifier wants said. */
	if (n > 0 && n <= NET_VALUE_MAX &&
		bpf_probe_read_user(r->value, n, (void *)st->arg[3]) < 0)
		n = 0;
	r->nvalue = n;
	give(r);
	return 0;
}

static __noinline int out_wait(struct net_state *st, s64 ret, u32 how)
{
	u32 events = 0, id = 0;

	if (!st)
		return 0;
	if (how == NET_EPOLL_CTL) {
		id = net_fd_id(st->arg[2], 0);
		if (st->arg[3])
			bpf_probe_read_user(&events, sizeof(events), (void *)st->arg[3]);
	}
	struct rec_net_wait *r = take(BPF_NET, sizeof(*r));
	if (!r)
		return 0;
	head_fill(&r->head, REC_NET_WAIT);
	r->head.abi = st->abi;
	r->head.row = net_shape_of(st)->row;
	r->head.file = id;
	r->dur_ns = st->exit_ns - st->enter_ns;
	r->head.at_ns = st->enter_ns;
	r->ret = ret;
	r->timeout_ns = st->timeout_ns;
	r->fd = how == NET_EPOLL_CREATE ? (s32)ret : (s32)st->arg[0];
	r->target = how == NET_EPOLL_CTL ? (s32)st->arg[2] : -1;
	r->op = st->arg[1];
	r->events = events;
	r->max = how == NET_EPOLL_WAIT ? st->arg[2]
		 : how == NET_POLL     ? st->arg[1]
				       : st->arg[0];
	r->pad = 0;
	give(r);
	return 0;
}

#endif
