/*
 * net_records.h - what the programs of the network layer tell: shared by both sides of
 * the ring
 */
#ifndef IOPS_BPF_NET_RECORDS_H
#define IOPS_BPF_NET_RECORDS_H

#include "records.h"

enum {
	REC_NET_SOCK = REC_NET, /* a socket under a new id, or as it is by now */
	REC_NET_DATA,
	REC_NET_CALL,
	REC_NET_OPTION,
	REC_NET_WAIT,
	REC_NET_STATE,
	REC_NET_DROP,
	REC_NET_AGAIN, /* a segment was sent again */
	REC_NET_RESET,
	REC_NET_FULL, /* a datagram found no room */
};

/* How the programs look at a call. X(name) */
enum net_how {
	NET_NONE,
	NET_SEND, /* bytes by value, NET_RECV and so on likewise */
	NET_RECV,
	NET_SENDV,
	NET_RECVV,
	NET_SENDMSG,
	NET_RECVMSG,
	NET_SENDMMSG,
	NET_RECVMMSG,
	NET_SENDFILE, /* fd, from fd2 */
	NET_SPLICE,   /* from fd to fd2 */
	NET_SOCKET,
	NET_SOCKETPAIR,
	NET_ADDRESS, /* bind, connect */
	NET_ACCEPT,
	NET_LISTEN, /* what one number says: shutdown too */
	NET_CLOSE,
	NET_CLOSE_RANGE,
	NET_DUP2, /* closes what its second descriptor was */
	NET_SETOPT,
	NET_GETOPT,
	NET_EPOLL_CREATE,
	NET_EPOLL_CTL,
	NET_EPOLL_WAIT,
	NET_POLL,
	NET_SELECT,
	NET_OLD_SELECT, /* i386: all its arguments in memory */
	NET_SOCKETCALL,
};

/* How a call says how long it waits at most. */
enum net_time {
	NET_TIME_NONE,
	NET_TIME_MS,
	NET_TIME_SPEC,
	NET_TIME_VAL,
	NET_TIME_SPEC64
};

/* What to do with each call, by its number: filled in before loading. The last one of all
 * is what the end of a process does. */
struct net_shape {
	__u8 how;
	__u8 row;   /* of net_calls[] */
	__u8 check; /* only of concern if its descriptor is a socket */
	__u8 time;
	__s8 size, flags, addr; /* argument positions, or -1 */
	__u8 pad;
};

/* An end of a connection. Ports are in the machine's order; IPv4 takes four bytes. */
struct net_end {
	__u16 port, pad;
	__u8 addr[16];
};

/*
 * A socket; pid and tid are of who called. Names of unix sockets follow: as many bytes
 * as they have, of which the first is 0 where they are abstract.
 */
enum { NET_PATH_MAX = 108 };
struct rec_net_sock {
	struct rec head; /* file: its id; row: its state */
	__u64 inode;
	__u16 family, type, protocol;
	__u8 nlocal, nremote;
	struct net_end local, remote;
	char path[2][NET_PATH_MAX];
};

struct rec_net_data {
	struct rec head; /* row: of net_calls[] */
	__u64 dur_ns;
	__s64 ret;
	__u64 want;
	__s32 fd;
	__u32 flags;  /* MSG_... */
	__u8 sends;   /* else receives */
	__u8 part;    /* a further message of the call before */
	__u16 family; /* of peer; 0: none was named */
	struct net_end peer;
};

/* An address as the program has it in its memory. */
enum { NET_ADDR_MAX = 128 };
struct rec_net_call {
	struct rec head;
	__u64 dur_ns;
	__s64 ret;
	__s32 fd;
	__s32 a, b, c; /* domain, type, protocol; or backlog, how */
	__s32 left;    /* of a close: descriptors that still hold the socket */
	__u8 exits;    /* closed because the process ends */
	__u8 naddr, part, pad;
	__u8 addr[NET_ADDR_MAX];
};

enum { NET_VALUE_MAX = 32 };
struct rec_net_option {
	struct rec head;
	__u64 dur_ns;
	__s64 ret;
	__s32 fd;
	__s32 level, name, len;
	__u8 sets, nvalue, pad[6];
	__u8 value[NET_VALUE_MAX];
};

struct rec_net_wait {
	struct rec head;
	__u64 dur_ns;
	__s64 ret;
	__s64 timeout_ns; /* -1: for ever; -2: none was asked for */
	__s32 fd, target;
	__u32 op, events, max, pad;
};

/* What happened to a socket or packet by itself. head.file, head.pid: 0 unknown. */
struct rec_net_event {
	struct rec head;
	__u64 dur_ns;  /* STATE: from SYN_SENT to here; 0 unknown */
	__s32 was, is; /* TCP states; DROP: is, or 0 */
	__s32 err;
	__u32 len, reason;
	__u16 family, protocol;
	__u8 sent, pad[3];            /* RESET: by us */
	struct net_end local, remote; /* DROP: source, destination */
};

#endif
