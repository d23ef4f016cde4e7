/*
 * net.h - what the parts of the network layer share
 *
 *   net.c       records as operations       net_rows.c     as rows of CSV streams
 *   net_calls.c which calls, by number      net_text.c     addresses and constants
 *   net_options.c socket options
 */
#ifndef IOPS_BPF_NET_H
#define IOPS_BPF_NET_H

#include "bpf.h"
#include "net_records.h"

#include <stddef.h>

struct btf;
struct stream;

/* Calls of the layer. */
struct net_call {
	const char *name;
	int16_t nr[NABI];
	struct net_shape shape;
};

/* Ends with a NULL name. Sockets that a process leaves open are closed by "exit". */
extern const struct net_call net_calls[];
enum { NET_CALLS_MAX = 64, NET_REASONS = 256 };

/* A socket as it was told last. */
struct net_socket {
	uint32_t id, file, comm;
	pid_t pid; /* who told of it */
	uint64_t inode;
	uint16_t family, type, protocol;
	struct net_end local, remote;
	uint32_t path[2]; /* names of unix sockets: local, remote */
};

/* Who did it. */
struct net_who {
	pid_t pid, tid;
	uint32_t comm;
};

struct net {
	struct net_socket *socket;    /* by the id's last bits */
	uint16_t call[NET_CALLS_MAX]; /* names_call(), plus 1 */
	char reason[NET_REASONS][40]; /* why packets are dropped */
	struct stream *conn, *option, *drop, *data, *wait, *state;
};

/* For load.c. Made ready, told how the kernel is (the arguments of kfree_skb), and
 * which calls are its own. */
int ebpf_net_open(struct bpf *b);
unsigned ebpf_net_learn(struct bpf *b, const struct btf *btf);
void ebpf_net_shapes(struct net_shape table[SHAPES_ABIS][SHAPES_MAX]);
void ebpf_net_take(struct bpf *b, const struct rec *r, size_t len);
void ebpf_net_close(struct bpf *b);

/* "tcp" and the like; unix sockets are "unix", or "unix-dgram" without connections. */
const char *net_protocol(unsigned family, unsigned type, unsigned protocol, char buf[16]);

/* "127.0.0.1:80", "[::1]:80"; "" where there is neither address nor port. */
enum { NET_END_LEN = 64 };
char *net_end_text(unsigned family, const struct net_end *e, char buf[NET_END_LEN]);

/* A name of a unix socket as text: "@x" where it is abstract. buf: 4 bytes each. */
enum { NET_UNIX_LEN = 4 * NET_PATH_MAX + 1 };
char *net_unix_text(const char *name, size_t len, char buf[NET_UNIX_LEN]);

/* An address of a program's memory: its family, or 0 if it is none that has an end. */
unsigned net_sockaddr(const void *addr, size_t len, struct net_end *out);

/* Names of constants, or a number (in buf). Flags are joined with "|". */
const char *net_family(unsigned family, char buf[16]);
const char *net_type(unsigned type, char buf[16]);
const char *net_tcp_state(unsigned state); /* "" if there is none of that number */
void net_flags(char *buf, size_t size, uint32_t flags);        /* MSG_... */
void net_epoll_events(char *buf, size_t size, uint32_t flags); /* EPOLL... */

/* net_options.c. Of a level of setsockopt(2); NULL: not known. */
const char *net_level(int level, unsigned family);
const char *net_option(int level, unsigned family, int name);

/* Rows. s may be NULL: the socket is not known. */
int net_rows_open(struct net *n, struct streams *to);
void net_rows_data(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_data *r);
void net_rows_call(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_call *r);
void net_rows_option(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_option *r);
void net_rows_wait(struct bpf *b, const struct net_who *w, const struct rec_net_wait *r);
void net_rows_event(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_event *r);

/* The name of a reason, or its number in buf. */
const char *net_reason(const struct net *n, unsigned reason, char buf[16]);

#endif
