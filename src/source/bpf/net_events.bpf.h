/*
 * net_events.bpf.h - what happens to sockets and packets by themselves, most of it where
 * no process runs: whose it was is known by the socket
 */
#ifndef IOPS_NET_EVENTS_BPF_H
#define IOPS_NET_EVENTS_BPF_H

#include "net.bpf.h"

/* How many arguments kfree_skb has: it was given a reason, and then the receiver. */
const volatile __u32 net_drop_args = 2;

static __always_inline struct net_sock *net_known(const struct sock *sk)
{
	u64 key = (u64)sk;

	return sk ? bpf_map_lookup_elem(&net_socks, &key) : NULL;
}

static __always_inline struct rec_net_event *event_rec(u8 type, struct net_sock *e)
{
	struct rec_net_event *r = take(BPF_NET, sizeof(*r));

	if (!r)
		return NULL;
	__builtin_memset(r, 0, sizeof(*r));
	r->head.type = type;
	r->head.at_ns = bpf_ktime_get_ns();
	if (e) {
		r->head.file = e->id;
		r->head.pid = r->head.tid = e->pid;
	}
	return r;
}

static __always_inline void event_sock(struct rec_net_event *r, const struct sock *sk)
{
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->protocol = BPF_CORE_READ(sk, sk_protocol);
	net_ends(sk, r->family, &r->local, &r->remote);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(net_set_state, const struct sock *sk, int was, int is)
{
	sk = PLAIN(sk);
	struct net_sock *e = net_known(sk);
	u64 now = bpf_ktime_get_ns();

	if (!e)
		return 0;
	if (is == TCP_IS_SYN_SENT)
		e->syn_ns = now;
	struct rec_net_event *r = event_rec(REC_NET_STATE, e);
	if (!r)
		return 0;
	event_sock(r, sk);
	r->was = was;
	r->is = is;
	if (was == TCP_IS_SYN_SENT) {
		r->dur_ns = e->syn_ns ? now - e->syn_ns : 0;
		r->err = BPF_CORE_READ(sk, sk_err);
	}
	give(r);
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(net_destroy_sock, struct sock *sk)
{
	sk = PLAIN(sk);
	u64 key = (u64)sk;

	bpf_map_delete_elem(&net_socks, &key);
	return 0;
}

static __always_inline void simple(u8 type, const struct sock *sk, u32 sent, s32 err)
{
	struct net_sock *e = net_known(sk);

	if (!e)
		return;
	struct rec_net_event *r = event_rec(type, e);
	if (!r)
		return;
	event_sock(r, sk);
	r->is = BPF_CORE_READ(sk, __sk_common.skc_state);
	r->sent = sent;
	r->err = err;
	give(r);
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(net_send_reset, const struct sock *sk)
{
	sk = PLAIN(sk);
	simple(REC_NET_RESET, sk, 1, 0);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(net_receive_reset, const struct sock *sk)
{
	sk = PLAIN(sk);
	simple(REC_NET_RESET, sk, 0, 0);
	return 0;
}

SEC("tp_btf/udp_fail_queue_rcv_skb")
int BPF_PROG(net_udp_full, int rc, const struct sock *sk)
{
	sk = PLAIN(sk);
	simple(REC_NET_FULL, sk, 0, rc);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(net_retransmit, const struct sock *sk, const struct sk_buff *skb)
{
	sk = PLAIN(sk);
	skb = PLAIN(skb);
	struct net_sock *e = net_known(sk);

	if (!e && !filter.all)
		return 0;
	struct rec_net_event *r = event_rec(REC_NET_AGAIN, e);
	if (!r)
		return 0;
	event_sock(r, sk);
	r->is = BPF_CORE_READ(sk, __sk_common.skc_state);
	r->len = BPF_CORE_READ(skb, len);
	give(r);
	return 0;
}

/* What the header of a packet says. */
struct net_head {
	u16 family;
	u8 protocol;
	struct net_end from, to;
};

static __always_inline void net_head_of(const struct sk_buff *skb, struct net_head *h)
{
	u16 kind = swap16(BPF_CORE_READ(skb, protocol)), port[2] = {};
	unsigned char *at = BPF_CORE_READ(skb, head);
	u16 where = BPF_CORE_READ(skb, network_header);
	u8 ip[40] = {};
	u32 len = 40;

	if (where == 0xffff || (kind != ETH_IPV4 && kind != ETH_IPV6))
		return;
	at += where;
	bpf_probe_read_kernel(ip, kind == ETH_IPV4 ? 20 : 40, at);
	if (kind == ETH_IPV4) {
		if (ip[0] >> 4 != 4)
			return;
		h->family = NET_INET;
		h->protocol = ip[9];
		__builtin_memcpy(h->from.addr, ip + 12, 4);
		__builtin_memcpy(h->to.addr, ip + 16, 4);
		len = (ip[0] & 15) * 4;
	} else {
		if (ip[0] >> 4 != 6)
			return;
		h->family = NET_INET6;
		h->protocol = ip[6]; /* extension headers are not gone through */
		__builtin_memcpy(h->from.addr, ip + 8, 16);
		__builtin_memcpy(h->to.addr, ip + 24, 16);
	}
	if (h->protocol != NET_TCP && h->protocol != NET_UDP)
		return;
	bpf_probe_read_kernel(port, sizeof(port), at + len);
	h->from.port = swap16(port[0]);
	h->to.port = swap16(port[1]);
}

static __always_inline struct sock *net_by_port(
	u64 net, const struct net_head *h, bool ours)
{
	const struct net_end *near = ours ? &h->from : &h->to,
			     *far = ours ? &h->to : &h->from;
	struct net_port key = { net, fold(far), near->port, far->port, h->protocol, 0 };
	u64 *at = bpf_map_lookup_elem(&net_ports, &key);

	if (!at) {
		key.far = 0;
		key.remote = 0;
		at = bpf_map_lookup_elem(&net_ports, &key);
	}
	return at ? (struct sock *)*at : NULL;
}

/* The call that this interrupts has sent it, from a port that it was given just now. */
static __always_inline struct net_sock *net_sending(const struct net_head *h)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_state *st = bpf_task_storage_get(&net_tasks, task, 0, 0);
	struct net_end local, remote;

	if (!st || !st->pending)
		return NULL;
	struct socket *socket = socket_of(file_of(task, (s32)st->arg[0]));
	if (!socket)
		return NULL;
	struct sock *sk = BPF_CORE_READ(socket, sk);
	net_ends(sk, BPF_CORE_READ(sk, __sk_common.skc_family), &local, &remote);
	return local.port == h->from.port ? net_known(sk) : NULL;
}

/*
 * Whose packet it was: of the socket that sent or would have received it; else by its
 * ports. On the loopback device the sender is one of ours too: it comes first, as a
 * packet that nobody waited for has no other.
 */
static __always_inline struct net_sock *net_owner(
	const struct sk_buff *skb, const struct sock *to, const struct net_head *h)
{
	struct net_sock *e = net_known(to);

	if (!e)
		e = net_known(BPF_CORE_READ(skb, sk));
	if (e || !h->family || !h->to.port)
		return e;
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	if (!dev)
		return NULL;
	u64 net = (u64)BPF_CORE_READ(dev, nd_net.net);
	if (BPF_CORE_READ(dev, ifindex) == LOOPBACK_INDEX) {
		e = net_known(net_by_port(net, h, true));
		if (!e)
			e = net_sending(h);
	}
	return e ? e : net_known(net_by_port(net, h, false));
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(net_kfree_skb, const struct sk_buff *skb, void *location)
{
	skb = PLAIN(skb);
	const struct sock *to = NULL;
	struct net_head h = {};
	u32 reason = 2; /* not specified */

	if (net_drop_args >= 3)
		reason = ctx[2];
	if (net_drop_args >= 4)
		to = (void *)ctx[3];
	/* Not dropped yet, consumed. */
	if (reason < 2)
		return 0;
	net_head_of(skb, &h);
	/* Without reason and header: queues that are emptied, netlink, the insides of
	 * unix sockets. */
	if (!h.family)
		return 0;
	struct net_sock *e = net_owner(skb, to, &h);
	if (!e && !filter.all)
		return 0;
	struct rec_net_event *r = event_rec(REC_NET_DROP, e);
	if (!r)
		return 0;
	r->family = h.family;
	r->protocol = h.protocol;
	r->local = h.from;
	r->remote = h.to;
	r->len = BPF_CORE_READ(skb, len);
	r->reason = reason;
	if (!to)
		to = BPF_CORE_READ(skb, sk);
	r->is = to && h.protocol == NET_TCP ? BPF_CORE_READ(to, __sk_common.skc_state)
					    : 0;
	give(r);
	return 0;
}

#endif
