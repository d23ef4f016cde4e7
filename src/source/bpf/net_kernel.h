/*
 * net_kernel.h - of the kernel's own types, the members of sockets and packets that our
 * programs look at: see kernel.h
 */
#ifndef IOPS_BPF_NET_KERNEL_H
#define IOPS_BPF_NET_KERNEL_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	s64 counter;
} atomic64_t;

struct in6_addr {
	u32 words[4]; /* not by this name: never touched */
};

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_err;
	u16 sk_protocol, sk_type;
	struct socket *sk_socket;
};

struct inet_sock {
	struct sock sk;
	__be32 inet_saddr;
	__be16 inet_sport;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	__be16 protocol;
	__u16 network_header;
	unsigned char *head;
};

/* Who else holds a file: 6.13 and later count from 0, those before from 1. */
typedef struct {
	atomic64_t refcnt;
} file_ref_t;

struct file___ref {
	file_ref_t f_ref;
};

struct file___count {
	atomic64_t f_count;
};

#pragma clang attribute pop

#endif
