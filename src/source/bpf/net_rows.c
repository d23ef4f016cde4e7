/*
 * net_rows.c - the network layer as rows of CSV streams: the columns of IO Tracer in
 * their order, ours after them
 */
#include "net.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char conn_columns[] =
	"timestamp,event_type,pid,tid,command,domain,sock_type,ipver,local_addr,"
	"remote_addr,sport,dport,fd,backlog,shutdown_how,latency_ns,return_value,mono_ns,"
	"protocol,call,errno,inode,holders";
static const char option_columns[] =
	"timestamp,event_type,pid,command,fd,level,option_name,optval,return_value,"
	"mono_ns,tid,errno,optlen,value_hex,latency_ns,inode";
static const char drop_columns[] =
	"timestamp,event_type,pid,command,proto,ipver,src_addr,dst_addr,sport,dport,"
	"skb_len,drop_reason,tcp_state,mono_ns,reason_name,inode";
static const char data_columns[] =
	"timestamp,pid,command,protocol,ip_version,source_addr,dest_addr,source_port,"
	"dest_port,size,direction,latency_ns,error_code,msg_flags,tid,fd,call,requested,"
	"return_value,inode,mono_ns";
static const char wait_columns[] =
	"timestamp,event_type,pid,tid,command,epoll_fd,target_fd,operation,event_mask,"
	"max_events,ready_count,timeout_ms,latency_ns,call,return_value,errno,mono_ns";
static const char state_columns[] =
	"timestamp,pid,command,protocol,ipver,local_addr,remote_addr,sport,dport,"
	"old_state,new_state,error,latency_ns,inode,mono_ns";

int net_rows_open(struct net *n, struct streams *to)
{
	const struct {
		struct stream **out;
		const char *name, *columns;
	} all[] = {
		{ &n->conn, "nw_conn", conn_columns },
		{ &n->option, "nw_sockopt", option_columns },
		{ &n->drop, "nw_drop", drop_columns },
		{ &n->data, "nw", data_columns },
		{ &n->wait, "nw_epoll", wait_columns },
		{ &n->state, "nw_tcp", state_columns },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !err; i++)
		err = streams_add(to, all[i].out, all[i].name, all[i].columns);
	return err;
}

static bool internet(unsigned family)
{
	return family == AF_INET || family == AF_INET6;
}

static void put_version(struct stream *t, unsigned family)
{
	if (internet(family))
		stream_u64(t, family == AF_INET ? 4 : 6);
	else
		stream_none(t);
}

static void put_errno(struct stream *t, int64_t ret)
{
	char buf[16];

	if (ret < 0)
		stream_word(t, errno_name((int)-ret, buf));
	else
		stream_none(t);
}

static void put_protocol(
	struct stream *t, unsigned family, unsigned type, unsigned protocol)
{
	char buf[16], upper[16] = "";
	const char *p = net_protocol(family, type, protocol, buf);

	for (unsigned i = 0; p[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)(p[i] >= 'a' && p[i] <= 'z' ? p[i] - 'a' + 'A' : p[i]);
	stream_word(t, upper);
}

static void put_inode(struct stream *t, const struct net_socket *s)
{
	if (s)
		stream_u64(t, s->inode);
	else
		stream_none(t);
}

/* Both ends of something. */
struct ends {
	unsigned family;
	struct net_end end[2]; /* local, remote; or from, to */
	const char *path[2];   /* of unix sockets; "" unnamed */
};

static struct ends ends_of(const struct bpf *b, const struct net_socket *s)
{
	if (!s)
		return (struct ends){ .path = { "", "" } };
	return (struct ends){ s->family, { s->local, s->remote },
		{ names_get(b->names, s->path[0]), names_get(b->names, s->path[1]) } };
}

/* An end is there when it has an address or a port: else it was not bound yet. */
static bool there(const struct ends *e, int i)
{
	static const uint8_t any[16];

	return internet(e->family) &&
	       (e->end[i].port || memcmp(e->end[i].addr, any, sizeof(any)) != 0);
}

static void put_addr(struct stream *t, const struct ends *e, int i)
{
	if (there(e, i))
		stream_addr(t, (int)e->family, e->end[i].addr);
	else if (e->family == AF_UNIX && *e->path[i])
		stream_path(t, e->path[i]);
	else
		stream_none(t);
}

static void put_port(struct stream *t, const struct ends *e, int i)
{
	if (there(e, i))
		stream_u64(t, e->end[i].port);
	else
		stream_none(t);
}

static void put_ends(struct stream *t, const struct ends *e)
{
	put_addr(t, e, 0);
	put_addr(t, e, 1);
	put_port(t, e, 0);
	put_port(t, e, 1);
}

void net_rows_data(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_data *r)
{
	struct stream *t = b->net->data;
	struct ends e = ends_of(b, s);
	char flags[300];

	/* A datagram says itself where it goes or comes from. */
	if (r->family) {
		e.family = r->family;
		e.end[1] = r->peer;
	}
	if (!r->sends) {
		struct ends turned = { e.family, { e.end[1], e.end[0] },
			{ e.path[1], e.path[0] } };
		e = turned;
	}
	stream_time(t, r->head.at_ns);
	stream_i64(t, w->pid);
	stream_word(t, names_get(b->names, w->comm));
	if (s)
		put_protocol(t, s->family, s->type, s->protocol);
	else
		stream_none(t);
	put_version(t, e.family);
	put_ends(t, &e);
	stream_i64(t, r->ret > 0 ? r->ret : 0);
	stream_word(t, r->sends ? "send" : "receive");
	stream_u64(t, r->dur_ns);
	put_errno(t, r->ret);
	net_flags(flags, sizeof(flags), r->flags);
	if (*flags)
		stream_word(t, flags);
	else
		stream_none(t);
	stream_i64(t, w->tid);
	stream_i64(t, r->fd);
	stream_word(t, net_calls[r->head.row].name);
	stream_u64(t, r->want);
	stream_i64(t, r->ret);
	put_inode(t, s);
	stream_u64(t, r->head.at_ns);
	stream_end(t);
}

static const char *conn_event(const struct net_call *c)
{
	switch (c->shape.how) {
	case NET_SOCKET:
	case NET_SOCKETPAIR:
		return "SOCKET_CREATE";
	case NET_ACCEPT:
		return "ACCEPT";
	case NET_ADDRESS:
		return strcmp(c->name, "bind") ? "CONNECT" : "BIND";
	case NET_LISTEN:
		return strcmp(c->name, "listen") ? "SHUTDOWN" : "LISTEN";
	default:
		return "CLOSE";
	}
}

/* What a program named, where the socket does not say it: bind and connect that fail. */
static void meant(
	struct ends *e, const struct rec_net_call *r, int i, char text[NET_UNIX_LEN])
{
	struct net_end end;
	unsigned family = net_sockaddr(r->addr, r->naddr, &end);

	if (internet(family)) {
		if (!there(e, i) || i == 1)
			e->end[i] = end;
		e->family = family;
	} else if (family == AF_UNIX && r->naddr > 2 && e->path[i] && !*e->path[i]) {
		e->family = family;
		e->path[i] =
			net_unix_text((const char *)r->addr + 2, r->naddr - 2u, text);
	}
}

static void put_how(struct stream *t, const char *event, int how)
{
	static const char *const name[] = { "SHUT_RD", "SHUT_WR", "SHUT_RDWR" };

	if (*event != 'S' || event[1] != 'H')
		stream_none(t);
	else if (how >= 0 && how < 3)
		stream_word(t, name[how]);
	else
		stream_i64(t, how);
}

void net_rows_call(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_call *r)
{
	struct stream *t = b->net->conn;
	const struct net_call *c = &net_calls[r->head.row];
	const char *event = conn_event(c);
	struct ends e = ends_of(b, s);
	bool made = c->shape.how == NET_SOCKET || c->shape.how == NET_SOCKETPAIR;
	char buf[16], text[NET_UNIX_LEN];

	if (c->shape.how == NET_ADDRESS)
		meant(&e, r, *event == 'C', text);
	stream_time(t, r->head.at_ns);
	stream_word(t, event);
	stream_i64(t, w->pid);
	stream_i64(t, w->tid);
	stream_word(t, names_get(b->names, w->comm));
	if (s || made) {
		stream_word(t, net_family(made ? (unsigned)r->a : s->family, buf));
		stream_word(t, net_type(made ? (unsigned)r->b : s->type, buf));
	} else {
		stream_none(t);
		stream_none(t);
	}
	put_version(t, made && !s ? (unsigned)r->a : e.family);
	put_ends(t, &e);
	if (r->fd >= 0)
		stream_i64(t, r->fd);
	else
		stream_none(t);
	if (*event == 'L')
		stream_i64(t, r->a);
	else
		stream_none(t);
	put_how(t, event, r->a);
	if (r->exits)
		stream_none(t);
	else
		stream_u64(t, r->dur_ns);
	stream_i64(t, r->ret);
	stream_u64(t, r->head.at_ns);
	if (s)
		put_protocol(t, s->family, s->type, s->protocol);
	else
		stream_none(t);
	stream_word(t, c->name);
	put_errno(t, r->ret);
	put_inode(t, s);
	if (!strcmp(event, "CLOSE"))
		stream_i64(t, r->left > 0 ? r->left : 0);
	else
		stream_none(t);
	stream_end(t);
}

/* Times are in microseconds: 32-bit programs have them in two halves of 4 bytes. */
static int64_t time_of(const struct rec_net_option *r)
{
	int32_t half[2];
	int64_t whole[2];

	memcpy(whole, r->value, sizeof(whole));
	memcpy(half, r->value, sizeof(half));
	return r->nvalue == sizeof(half) ? half[0] * INT64_C(1000000) + half[1]
					 : whole[0] * 1000000 + whole[1];
}

static bool is_text(const struct rec_net_option *r)
{
	const char *name = net_option(r->level, 0, r->name);

	if (!name ||
		(strcmp(name, "TCP_CONGESTION") != 0 && strcmp(name, "TCP_ULP") != 0 &&
			strcmp(name, "SO_BINDTODEVICE") != 0))
		return false;
	for (int i = 0; i < r->nvalue && r->value[i]; i++)
		if (r->value[i] < ' ' || r->value[i] > '~')
			return false;
	return r->nvalue && r->nvalue < NET_VALUE_MAX && r->value[0];
}

static bool is_option(const struct rec_net_option *r, int a, int b)
{
	return r->level == SOL_SOCKET && (r->name == a || r->name == b);
}

/* A number where it is one: of the sizes that numbers have. */
static void put_value(struct stream *t, const struct rec_net_option *r)
{
	enum { RCVTIMEO_OLD = 20, SNDTIMEO_OLD, RCVTIMEO_NEW = 66, SNDTIMEO_NEW };
	bool timed = is_option(r, RCVTIMEO_OLD, SNDTIMEO_OLD) ||
		     is_option(r, RCVTIMEO_NEW, SNDTIMEO_NEW);
	char text[NET_VALUE_MAX + 1] = "";
	int64_t wide = 0;
	int32_t number[2];
	int16_t two;

	memcpy(&wide, r->value, sizeof(wide));
	memcpy(number, r->value, sizeof(number));
	memcpy(&two, r->value, sizeof(two));
	if (is_text(r)) {
		memcpy(text, r->value, r->nvalue);
		stream_word(t, text);
	} else if (timed && (r->nvalue == 8 || r->nvalue == 16)) {
		stream_i64(t, time_of(r));
	} else if (is_option(r, SO_LINGER, SO_LINGER) && r->nvalue == 8) {
		stream_i64(t, number[1]);
	} else if (r->nvalue == 1) {
		stream_u64(t, r->value[0]);
	} else if (r->nvalue == 2) {
		stream_i64(t, two);
	} else if (r->nvalue == sizeof(*number)) {
		stream_i64(t, number[0]);
	} else if (r->nvalue == sizeof(wide)) {
		stream_i64(t, wide);
	} else {
		stream_none(t);
	}
}

void net_rows_option(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_option *r)
{
	struct stream *t = b->net->option;
	unsigned family = s ? s->family : 0;
	const char *level = net_level(r->level, family);
	const char *name = net_option(r->level, family, r->name);
	char hex[2 * NET_VALUE_MAX + 1] = "";

	stream_time(t, r->head.at_ns);
	stream_word(t, r->sets ? "SET" : "GET");
	stream_i64(t, w->pid);
	stream_word(t, names_get(b->names, w->comm));
	stream_i64(t, r->fd);
	if (level)
		stream_word(t, level);
	else
		stream_i64(t, r->level);
	if (name)
		stream_word(t, name);
	else
		stream_i64(t, r->name);
	put_value(t, r);
	stream_i64(t, r->ret);
	stream_u64(t, r->head.at_ns);
	stream_i64(t, w->tid);
	put_errno(t, r->ret);
	stream_i64(t, r->len);
	for (int i = 0; i < r->nvalue && i < NET_VALUE_MAX; i++)
		sprintf(hex + 2 * i, "%02x", r->value[i]);
	if (*hex)
		stream_word(t, hex);
	else
		stream_none(t);
	stream_u64(t, r->dur_ns);
	put_inode(t, s);
	stream_end(t);
}

static const char *wait_event(unsigned how)
{
	switch (how) {
	case NET_EPOLL_CREATE:
		return "EPOLL_CREATE";
	case NET_EPOLL_CTL:
		return "EPOLL_CTL";
	case NET_EPOLL_WAIT:
		return "EPOLL_WAIT";
	default:
		return how == NET_POLL ? "POLL" : "SELECT";
	}
}

static void put_timeout(struct stream *t, int64_t ns)
{
	if (ns == -2)
		stream_none(t);
	else if (ns < 0)
		stream_i64(t, -1);
	else if (ns % 1000000)
		stream_real(t, (double)ns / 1e6, 6);
	else
		stream_i64(t, ns / 1000000);
}

void net_rows_wait(struct bpf *b, const struct net_who *w, const struct rec_net_wait *r)
{
	static const char *const op[] = { "", "EPOLL_CTL_ADD", "EPOLL_CTL_DEL",
		"EPOLL_CTL_MOD" };
	struct stream *t = b->net->wait;
	const struct net_call *c = &net_calls[r->head.row];
	unsigned how = c->shape.how;
	bool control = how == NET_EPOLL_CTL, epoll = how <= NET_EPOLL_WAIT;
	bool waits = how >= NET_EPOLL_WAIT;
	char mask[300];

	stream_time(t, r->head.at_ns);
	stream_word(t, wait_event(how));
	stream_i64(t, w->pid);
	stream_i64(t, w->tid);
	stream_word(t, names_get(b->names, w->comm));
	epoll && r->fd >= 0 ? stream_i64(t, r->fd) : stream_none(t);
	control ? stream_i64(t, r->target) : stream_none(t);
	if (control && r->op >= 1 && r->op <= 3)
		stream_word(t, op[r->op]);
	else if (control)
		stream_u64(t, r->op);
	else
		stream_none(t);
	net_epoll_events(mask, sizeof(mask), r->events);
	if (control && *mask)
		stream_word(t, mask);
	else
		stream_none(t);
	waits ? stream_u64(t, r->max) : stream_none(t);
	waits && r->ret >= 0 ? stream_i64(t, r->ret) : stream_none(t);
	put_timeout(t, r->timeout_ns);
	stream_u64(t, r->dur_ns);
	stream_word(t, c->name);
	stream_i64(t, r->ret);
	put_errno(t, r->ret);
	stream_u64(t, r->head.at_ns);
	stream_end(t);
}

static void put_who(struct stream *t, const struct bpf *b, const struct net_who *w)
{
	w->pid ? stream_i64(t, w->pid) : stream_none(t);
	w->comm ? stream_word(t, names_get(b->names, w->comm)) : stream_none(t);
}

static void put_state(struct stream *t, int state)
{
	if (state > 0 && *net_tcp_state((unsigned)state))
		stream_word(t, net_tcp_state((unsigned)state));
	else if (state > 0)
		stream_i64(t, state);
	else
		stream_none(t);
}

static void drop_row(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_event *r)
{
	struct stream *t = b->net->drop;
	struct ends e = { r->family, { r->local, r->remote }, { "", "" } };
	bool dropped = r->head.type == REC_NET_DROP;
	char buf[16];

	stream_time(t, r->head.at_ns);
	stream_word(t, dropped ? "PACKET_DROP" : "TCP_RETRANSMIT");
	put_who(t, b, w);
	put_protocol(t, r->family, 0, r->protocol);
	put_version(t, r->family);
	put_ends(t, &e);
	stream_u64(t, r->len);
	dropped ? stream_u64(t, r->reason) : stream_none(t);
	put_state(t, r->is);
	stream_u64(t, r->head.at_ns);
	dropped ? stream_word(t, net_reason(b->net, r->reason, buf)) : stream_none(t);
	put_inode(t, s);
	stream_end(t);
}

static void state_row(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_event *r)
{
	struct stream *t = b->net->state;
	struct ends e = { r->family, { r->local, r->remote }, { "", "" } };

	stream_time(t, r->head.at_ns);
	put_who(t, b, w);
	put_protocol(t, r->family, 0, r->protocol);
	put_version(t, r->family);
	put_ends(t, &e);
	put_state(t, r->was);
	put_state(t, r->is);
	put_errno(t, -(int64_t)r->err);
	r->dur_ns ? stream_u64(t, r->dur_ns) : stream_none(t);
	put_inode(t, s);
	stream_u64(t, r->head.at_ns);
	stream_end(t);
}

void net_rows_event(struct bpf *b, const struct net_who *w, const struct net_socket *s,
	const struct rec_net_event *r)
{
	if (r->head.type == REC_NET_STATE)
		state_row(b, w, s, r);
	else if (r->head.type == REC_NET_DROP || r->head.type == REC_NET_AGAIN)
		drop_row(b, w, s, r);
}
