/*
 * net.c - sockets, their calls and what becomes of their packets, as operations
 */
#include "net.h"
#include "iops/names.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* As many as the programs remember; ids that are older are told again. */
enum { SOCKETS = 65536 };

enum { PEEK = 0x2, TRUNC = 0x20, ERRQUEUE = 0x2000 }; /* MSG_... */

int ebpf_net_open(struct bpf *b)
{
	struct net *n = calloc(1, sizeof(*n));

	if (!n || !(n->socket = calloc(SOCKETS, sizeof(*n->socket)))) {
		free(n);
		return -ENOMEM;
	}
	b->net = n;
	return b->streams ? net_rows_open(n, b->streams) : 0;
}

void ebpf_net_close(struct bpf *b)
{
	if (b->net)
		free(b->net->socket);
	free(b->net);
	b->net = NULL;
}

static void learn_reasons(struct net *n, const struct btf *btf)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	int id = btf__find_by_name_kind(btf, "skb_drop_reason", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		const char *name = btf__name_by_offset(btf, e->name_off);
		if (e->val < 0 || e->val >= NET_REASONS || !name)
			continue;
		if (!strncmp(name, prefix, sizeof(prefix) - 1))
			name += sizeof(prefix) - 1;
		snprintf(n->reason[e->val], sizeof(*n->reason), "%s", name);
	}
}

unsigned ebpf_net_learn(struct bpf *b, const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_kfree_skb", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	learn_reasons(b->net, btf);
	/* A pointer to a function, whose first argument is of no concern. */
	for (int i = 0; t && i < 2; i++)
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) ? btf_vlen(t) - 1 : 2;
}

static struct net_socket *socket_of(const struct bpf *b, uint32_t id)
{
	struct net_socket *s = &b->net->socket[id % SOCKETS];

	return id && s->id == id ? s : NULL;
}

/* The parts of a socket's name: who speaks what, from here to there. */
struct title {
	unsigned family, type, protocol;
	const char *local, *remote;
};

static uint32_t file_of(struct bpf *b, const struct title *t, uint64_t inode)
{
	char text[2 * NET_UNIX_LEN + 40], buf[16];
	struct file f = { .type = FILE_SOCKET, .inode = inode };
	const char *p = net_protocol(t->family, t->type, t->protocol, buf);
	int n = snprintf(text, sizeof(text), "%s%s%s%s%s", p, *t->local ? " " : "",
		t->local, *t->remote ? " -> " : "", t->remote);

	f.path = names_add(b->names, text, n);
	return names_add_file(b->names, &f);
}

/* The file of a socket, with another far end than its own if there is one. */
static uint32_t file_toward(struct bpf *b, const struct net_socket *s, const char *remote)
{
	char near[NET_END_LEN], far[NET_END_LEN];
	bool un = s->family == AF_UNIX;
	struct title t = { s->family, s->type, s->protocol,
		un ? names_get(b->names, s->path[0])
		   : net_end_text(s->family, &s->local, near),
		un ? names_get(b->names, s->path[1])
		   : net_end_text(s->family, &s->remote, far) };

	if (remote && *remote)
		t.remote = remote;
	return file_of(b, &t, s->inode);
}

static uint32_t path_of(struct bpf *b, const char *path, size_t len)
{
	char text[NET_UNIX_LEN];

	if (!len || len > NET_PATH_MAX)
		return 0;
	net_unix_text(path, len, text);
	return names_add(b->names, text, strlen(text));
}

static void take_sock(struct bpf *b, const struct rec_net_sock *r)
{
	struct net_socket *s = &b->net->socket[r->head.file % SOCKETS];
	struct process *p = ebpf_life_caller(b, &r->head);

	*s = (struct net_socket){
		.id = r->head.file,
		.pid = (pid_t)r->head.pid,
		.comm = p ? p->comm : 0,
		.inode = r->inode,
		.family = r->family,
		.type = r->type,
		.protocol = r->protocol,
		.local = r->local,
		.remote = r->remote,
	};
	if (r->family == AF_UNIX) {
		s->path[0] = path_of(b, r->path[0], r->nlocal);
		s->path[1] = path_of(b, r->path[1], r->nremote);
	}
	s->file = file_toward(b, s, NULL);
}

/*
 * Who it was, if what it does counts by now. late: told of after the process may have
 * ended, which is not to bring it back.
 */
static bool who_of(struct bpf *b, const struct rec *r, const struct net_socket *s,
	bool late, struct net_who *w)
{
	struct process *p =
		late ? ebpf_life_find(b, (pid_t)r->pid) : ebpf_life_caller(b, r);

	*w = (struct net_who){ (pid_t)r->pid, (pid_t)r->tid, 0 };
	if (p && p->started) {
		w->comm = p->comm;
		return true;
	}
	if (p || !late)
		return false;
	if (s && s->comm)
		w->comm = s->comm;
	return b->all || w->comm;
}

/* Number of "net:NAME". */
static uint16_t call_of(struct bpf *b, unsigned row)
{
	char name[40];

	if (!b->net->call[row]) {
		int n = snprintf(name, sizeof(name), "net:%s", net_calls[row].name);
		b->net->call[row] = names_call(b->names, name, n) + 1;
	}
	return b->net->call[row] - 1;
}

static struct op op_of(struct bpf *b, const struct rec *r, const struct net_who *w)
{
	return (struct op){
		.start_ns = ebpf_since(b, r->at_ns),
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME,
		.comm = w->comm,
		.pid = w->pid,
		.tid = w->tid,
		.fd = -1,
		.layer = LAYER_NET,
		.kind = OP_META,
	};
}

static void take_data(struct bpf *b, const struct rec_net_data *r)
{
	const struct net_socket *s = socket_of(b, r->head.file);
	struct net_who w;

	if (!who_of(b, &r->head, s, false, &w))
		return;
	struct op op = op_of(b, &r->head, &w);
	op.dur_ns = r->dur_ns;
	op.ret = r->ret;
	op.want = r->want;
	op.file = s ? s->file : 0;
	op.fd = r->fd;
	op.kind = r->sends ? OP_WRITE : OP_READ;
	if (!r->sends && r->flags & PEEK)
		op.kind = OP_PEEK;
	else if (!r->sends && r->flags & ERRQUEUE) /* of what was sent, come back */
		op.kind = OP_META;
	/* The size of a datagram that was cut short is not what was moved. */
	if (!r->sends && r->flags & TRUNC && r->ret > 0 && (uint64_t)r->ret > r->want)
		op.ret = (int64_t)r->want;
	op.call = call_of(b, r->head.row) | (r->part ? OP_PART : 0);
	ebpf_put(b, &op);
	if (b->net->data)
		net_rows_data(b, &w, s, r);
}

/* Where a connection did not come about, its name says where it was to go. */
static uint32_t file_meant(
	struct bpf *b, const struct net_socket *s, const struct rec_net_call *r)
{
	char text[NET_UNIX_LEN];
	struct net_end e;
	unsigned family = net_sockaddr(r->addr, r->naddr, &e);

	if (family == AF_UNIX && r->naddr > 2)
		net_unix_text((const char *)r->addr + 2, r->naddr - 2u, text);
	else
		net_end_text(family, &e, text);
	return file_toward(b, s, text);
}

static void take_call(struct bpf *b, const struct rec_net_call *r)
{
	const struct net_socket *s = socket_of(b, r->head.file);
	const struct net_call *c = &net_calls[r->head.row];
	struct net_who w;

	if (!who_of(b, &r->head, s, r->exits, &w))
		return;
	struct op op = op_of(b, &r->head, &w);
	if (!r->exits)
		op.dur_ns = r->dur_ns;
	op.ret = r->ret;
	op.file = s ? s->file : 0;
	op.fd = r->fd;
	op.call = call_of(b, r->head.row) | (r->part ? OP_PART : 0);
	switch (c->shape.how) {
	case NET_SOCKET:
	case NET_SOCKETPAIR:
	case NET_ACCEPT:
		op.kind = OP_OPEN;
		break;
	case NET_CLOSE:
	case NET_CLOSE_RANGE:
	case NET_DUP2:
	case NET_NONE:
		op.kind = OP_CLOSE;
		op.want = r->left > 0 ? r->left : 0;
		break;
	case NET_ADDRESS:
		if (r->ret < 0 && r->ret != -EISCONN && s && !strcmp(c->name, "connect"))
			op.file = file_meant(b, s, r);
	}
	ebpf_put(b, &op);
	if (b->net->conn)
		net_rows_call(b, &w, s, r);
}

static void take_option(struct bpf *b, const struct rec_net_option *r)
{
	const struct net_socket *s = socket_of(b, r->head.file);
	struct net_who w;

	if (!who_of(b, &r->head, s, false, &w))
		return;
	struct op op = op_of(b, &r->head, &w);
	op.dur_ns = r->dur_ns;
	op.ret = r->ret;
	op.file = s ? s->file : 0;
	op.fd = r->fd;
	op.call = call_of(b, r->head.row);
	ebpf_put(b, &op);
	if (b->net->option)
		net_rows_option(b, &w, s, r);
}

static void take_wait(struct bpf *b, const struct rec_net_wait *r)
{
	const struct net_socket *s = socket_of(b, r->head.file);
	struct net_who w;

	if (!who_of(b, &r->head, s, false, &w))
		return;
	struct op op = op_of(b, &r->head, &w);
	op.dur_ns = r->dur_ns;
	op.ret = r->ret;
	op.want = r->max;
	op.file = s ? s->file : 0;
	op.fd = r->fd;
	op.call = call_of(b, r->head.row);
	if (net_calls[r->head.row].shape.how == NET_EPOLL_CREATE)
		op.kind = OP_OPEN;
	ebpf_put(b, &op);
	if (b->net->wait)
		net_rows_wait(b, &w, r);
}

enum { ESTABLISHED = 1, SYN_SENT = 2, LISTEN = 10, CLOSE = 7 };

/* What the change of a state means: the name of an operation, or NULL. */
static const char *meaning(const struct rec_net_event *r)
{
	if (r->is == ESTABLISHED)
		return "net:established";
	if (r->is == CLOSE && r->was == SYN_SENT)
		return "net:failed";
	return r->is == CLOSE && r->was != LISTEN ? "net:ended" : NULL;
}

static const char *event_name(
	const struct bpf *b, const struct rec_net_event *r, char text[80])
{
	char buf[16];

	switch (r->head.type) {
	case REC_NET_STATE:
		return meaning(r);
	case REC_NET_DROP:
		snprintf(text, 80, "net:drop:%s", net_reason(b->net, r->reason, buf));
		return text;
	case REC_NET_AGAIN:
		return "net:retransmit";
	case REC_NET_RESET:
		return r->sent ? "net:reset_sent" : "net:reset_received";
	default:
		return "net:receive_queue_full";
	}
}

/* Of a packet that no socket of ours had: its own name. */
static uint32_t file_packet(struct bpf *b, const struct rec_net_event *r)
{
	char near[NET_END_LEN], far[NET_END_LEN];
	struct title t = { r->family, SOCK_DGRAM, r->protocol,
		net_end_text(r->family, &r->local, near),
		net_end_text(r->family, &r->remote, far) };

	return file_of(b, &t, 0);
}

static void take_event(struct bpf *b, const struct rec_net_event *r)
{
	const struct net_socket *s = socket_of(b, r->head.file);
	struct net_who w;
	char text[80];

	if (!who_of(b, &r->head, s, true, &w))
		return;
	const char *name = event_name(b, r, text);
	struct op op = op_of(b, &r->head, &w);
	if (r->dur_ns)
		op.dur_ns = r->dur_ns;
	op.ret = r->err ? -(int64_t)abs(r->err) : r->len;
	if (r->head.type == REC_NET_STATE && s && s->remote.port != r->remote.port) {
		/* While connect(2) goes on: the socket is told of only after it. */
		struct net_socket now = *s;
		now.local = r->local;
		now.remote = r->remote;
		op.file = file_toward(b, &now, NULL);
	} else {
		op.file = s ? s->file : file_packet(b, r);
	}
	if (name) {
		op.call = names_call(b->names, name, strlen(name));
		ebpf_put(b, &op);
	}
	if (b->net->drop)
		net_rows_event(b, &w, s, r);
}

void ebpf_net_take(struct bpf *b, const struct rec *r, size_t len)
{
	bool called = r->type == REC_NET_DATA || r->type == REC_NET_CALL ||
		      r->type == REC_NET_OPTION || r->type == REC_NET_WAIT;

	if (!b->net || (called && r->row >= NET_CALLS_MAX))
		return;
	switch (r->type) {
	case REC_NET_SOCK:
		if (len >= sizeof(struct rec_net_sock))
			take_sock(b, (const struct rec_net_sock *)r);
		break;
	case REC_NET_DATA:
		if (len >= sizeof(struct rec_net_data))
			take_data(b, (const struct rec_net_data *)r);
		break;
	case REC_NET_CALL:
		if (len >= sizeof(struct rec_net_call))
			take_call(b, (const struct rec_net_call *)r);
		break;
	case REC_NET_OPTION:
		if (len >= sizeof(struct rec_net_option))
			take_option(b, (const struct rec_net_option *)r);
		break;
	case REC_NET_WAIT:
		if (len >= sizeof(struct rec_net_wait))
			take_wait(b, (const struct rec_net_wait *)r);
		break;
	default:
		if (len >= sizeof(struct rec_net_event))
			take_event(b, (const struct rec_net_event *)r);
	}
}
