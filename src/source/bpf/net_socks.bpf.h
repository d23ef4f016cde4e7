/*
 * net_socks.bpf.h - sockets: what they are, and whose. Each is told of once, under an
 * id, and again when its addresses have changed.
 */
#ifndef IOPS_NET_SOCKS_BPF_H
#define IOPS_NET_SOCKS_BPF_H

#include "calls.bpf.h"
#include "net_kernel.h"
#include "net_records.h"

enum {
	NET_INET = 2,
	NET_INET6 = 10,
	NET_UNIX = 1,
	NET_STREAM = 1,
	NET_TCP = 6,
	NET_UDP = 17,
	TCP_IS_ESTABLISHED = 1,
	TCP_IS_SYN_SENT = 2,
	TCP_IS_CLOSE = 7,
	S_IFMT_BITS = 0170000,
	S_IFSOCK_BITS = 0140000,
	ETH_IPV4 = 0x0800,
	ETH_IPV6 = 0x86dd,
	LOOPBACK_INDEX = 1,
	NET_SOCKS = 65536,
};

/* Ids given to sockets. The other side remembers NET_SOCKS of them. */
__u32 net_ids;

struct net_sock {
	u64 print; /* of its addresses */
	u64 syn_ns;
	u32 id, pid;
	u32 closing; /* descriptors of it that the walk of walk_ns has closed */
	u64 walk_ns;
	u8 stale, tcp, pad[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NET_SOCKS);
	__type(key, u64);
	__type(value, struct net_sock);
} net_socks SEC(".maps");

/* Sockets by their ports, for packets that have lost theirs. */
struct net_port {
	u64 net;
	u32 far; /* address of the other end, folded; 0 unconnected */
	u16 local, remote;
	u32 protocol, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NET_SOCKS);
	__type(key, struct net_port);
	__type(value, u64);
} net_ports SEC(".maps");

static __always_inline u16 swap16(u16 v)
{
	return __builtin_bswap16(v);
}

static __always_inline u32 fold(const struct net_end *e)
{
	u32 w[4];

	__builtin_memcpy(w, e->addr, sizeof(w));
	return w[0] ^ w[1] ^ w[2] ^ w[3];
}

/* Addresses and ports of a socket of the Internet. */
static __always_inline void net_ends(
	const struct sock *sk, u16 family, struct net_end *local, struct net_end *remote)
{
	const struct inet_sock *inet = (const void *)sk;

	__builtin_memset(local, 0, sizeof(*local));
	__builtin_memset(remote, 0, sizeof(*remote));
	if (family != NET_INET && family != NET_INET6)
		return;
	/* The number is gone once TCP has ended, the port in the header's order stays. */
	local->port = swap16(BPF_CORE_READ(inet, inet_sport));
	if (!local->port)
		local->port = BPF_CORE_READ(sk, __sk_common.skc_num);
	remote->port = swap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (family == NET_INET) {
		u32 v = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		__builtin_memcpy(local->addr, &v, sizeof(v));
		v = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(remote->addr, &v, sizeof(v));
		return;
	}
	u8 v6[16];
	BPF_CORE_READ_INTO(&v6, sk, __sk_common.skc_v6_rcv_saddr);
	__builtin_memcpy(local->addr, v6, sizeof(v6));
	BPF_CORE_READ_INTO(&v6, sk, __sk_common.skc_v6_daddr);
	__builtin_memcpy(remote->addr, v6, sizeof(v6));
}

/* What is different when the addresses are, most likely. */
static __always_inline u64 net_print(struct sock *sk, u16 family)
{
	if (family == NET_UNIX) {
		struct unix_sock *u = (void *)sk;
		return (u64)BPF_CORE_READ(u, addr) * 31 + (u64)BPF_CORE_READ(u, peer);
	}
	u64 far = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	u64 ports = (u64)BPF_CORE_READ(sk, __sk_common.skc_dport) << 16 |
		    BPF_CORE_READ(sk, __sk_common.skc_num);
	if (family == NET_INET6) {
		u32 v6[4];
		BPF_CORE_READ_INTO(&v6, sk, __sk_common.skc_v6_daddr);
		far = v6[0] ^ v6[1] ^ v6[2] ^ v6[3];
	}
	return far << 32 | ports;
}

/* The socket behind an open file, or NULL. */
static __always_inline struct socket *socket_of(struct file *file)
{
	if (!file)
		return NULL;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT_BITS) != S_IFSOCK_BITS)
		return NULL;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	/* A path's socket that was opened with O_PATH is none. */
	return socket && BPF_CORE_READ(socket, file) == file ? socket : NULL;
}

static __always_inline u8 unix_name(struct sock *sk, char path[NET_PATH_MAX])
{
	struct unix_sock *u = (void *)sk;
	struct unix_address *a = sk ? BPF_CORE_READ(u, addr) : NULL;

	__builtin_memset(path, 0, NET_PATH_MAX);
	if (!a)
		return 0;
	int n = BPF_CORE_READ(a, len) - 2;
	if (n <= 0)
		return 0;
	if (n > NET_PATH_MAX)
		n = NET_PATH_MAX;
	bpf_probe_read_kernel(path, NET_PATH_MAX,
		(void *)a + bpf_core_field_offset(struct unix_address, name) + 2);
	return n;
}

static __always_inline void port_put(struct sock *sk, u16 protocol,
	const struct net_end *local, const struct net_end *remote)
{
	struct net_port key = { (u64)BPF_CORE_READ(sk, __sk_common.skc_net.net),
		fold(remote), local->port, remote->port, protocol, 0 };
	u64 value = (u64)sk;

	if (!remote->port)
		key.far = 0;
	if (key.local)
		bpf_map_update_elem(&net_ports, &key, &value, BPF_ANY);
}

/* Tell of a socket, as it is now. */
static __noinline int net_tell(struct sock *sk, struct file *file, u32 id)
{
	struct rec_net_sock *r = take(BPF_NET, sizeof(*r));

	if (!r)
		return -1;
	head_fill(&r->head, REC_NET_SOCK);
	r->head.file = id;
	r->head.row = BPF_CORE_READ(sk, __sk_common.skc_state);
	r->inode = BPF_CORE_READ(file, f_inode, i_ino);
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->type = BPF_CORE_READ(sk, sk_type);
	r->protocol = BPF_CORE_READ(sk, sk_protocol);
	r->nlocal = r->nremote = 0;
	net_ends(sk, r->family, &r->local, &r->remote);
	if (r->family == NET_UNIX) {
		struct unix_sock *u = (void *)sk;
		r->nlocal = unix_name(sk, r->path[0]);
		r->nremote = unix_name(BPF_CORE_READ(u, peer), r->path[1]);
	}
	struct net_end local = r->local, remote = r->remote;
	u16 protocol = r->protocol, family = r->family;
	give(r);
	if (family == NET_INET || family == NET_INET6)
		port_put(sk, protocol, &local, &remote);
	return 0;
}

/* The id of a socket that a task uses; fresh: its addresses may have changed. */
static __noinline u32 net_id(struct socket *socket, struct file *file, u32 fresh)
{
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u64 key = (u64)sk;
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (!sk)
		return 0;
	struct net_sock *e = bpf_map_lookup_elem(&net_socks, &key);
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	u64 print = net_print(sk, family);
	bool known = e && !e->stale && e->id + NET_SOCKS / 2 > net_ids;
	/* TCP lets go of its addresses when it ends. */
	if (known && !fresh &&
		(e->print == print ||
			(e->tcp && BPF_CORE_READ(sk, __sk_common.skc_state) ==
					   TCP_IS_CLOSE))) {
		e->pid = pid;
		return e->id;
	}
	struct net_sock mine = { .print = print, .pid = pid };
	mine.tcp = family != NET_UNIX && BPF_CORE_READ(sk, sk_type) == NET_STREAM;
	mine.id = known ? e->id : __sync_fetch_and_add(&net_ids, 1) + 1;
	mine.syn_ns = e ? e->syn_ns : 0;
	if (net_tell(sk, file, mine.id))
		return 0;
	bpf_map_update_elem(&net_socks, &key, &mine, BPF_ANY);
	return mine.id;
}

/* Descriptors that hold a file beside the one at hand. */
static __always_inline s32 net_others(struct file *file)
{
	struct file___ref *ref = (void *)file;
	struct file___count *count = (void *)file;

	if (bpf_core_field_exists(ref->f_ref))
		return BPF_CORE_READ(ref, f_ref.refcnt.counter);
	return BPF_CORE_READ(count, f_count.counter) - 1;
}

/* It was closed for good: who comes at its place next is another one. */
static __always_inline void net_gone(struct socket *socket)
{
	u64 key = (u64)BPF_CORE_READ(socket, sk);
	struct net_sock *e = bpf_map_lookup_elem(&net_socks, &key);

	if (e)
		e->stale = 1;
}

#endif
