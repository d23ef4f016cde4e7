/*
 * net.c - sockets and their packets, summed up
 */
#include "iops/layer_net.h"
#include "iops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an operation is, by its name. */
enum code {
	CODE_NEW,
	CODE_CALL, /* one of the others */
	CODE_SOCKET,
	CODE_CONNECT,
	CODE_ACCEPT,
	CODE_CLOSE,
	CODE_WAIT,
	CODE_EXIT,  /* a close without a call */
	CODE_EVENT, /* from here on: no call */
	CODE_ESTABLISHED,
	CODE_FAILED,
	CODE_ENDED,
	CODE_DROP,
	CODE_RETRANSMIT,
	CODE_RESET_SENT,
	CODE_RESET_RECEIVED,
	CODE_FULL,
};

static const struct {
	const char *name;
	enum code code;
} codes[] = {
	{ "socket", CODE_SOCKET },
	{ "socketpair", CODE_SOCKET },
	{ "connect", CODE_CONNECT },
	{ "accept", CODE_ACCEPT },
	{ "accept4", CODE_ACCEPT },
	{ "close", CODE_CLOSE },
	{ "close_range", CODE_CLOSE },
	{ "dup2", CODE_CLOSE },
	{ "dup3", CODE_CLOSE },
	{ "exit", CODE_EXIT },
	{ "epoll_wait", CODE_WAIT },
	{ "epoll_pwait", CODE_WAIT },
	{ "epoll_pwait2", CODE_WAIT },
	{ "poll", CODE_WAIT },
	{ "ppoll", CODE_WAIT },
	{ "select", CODE_WAIT },
	{ "pselect6", CODE_WAIT },
	{ "established", CODE_ESTABLISHED },
	{ "failed", CODE_FAILED },
	{ "ended", CODE_ENDED },
	{ "retransmit", CODE_RETRANSMIT },
	{ "reset_sent", CODE_RESET_SENT },
	{ "reset_received", CODE_RESET_RECEIVED },
	{ "receive_queue_full", CODE_FULL },
};

static enum code code_of(const char *call)
{
	const char *name = strncmp(call, "net:", 4) ? "" : call + 4;

	if (!strncmp(name, "drop:", 5))
		return CODE_DROP;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (!strcmp(codes[i].name, name))
			return codes[i].code;
	return CODE_CALL;
}

static enum code code(struct net_sums *s, const struct op *op)
{
	uint8_t *c = &s->code[op->call & OP_CALL];

	if (!*c)
		*c = code_of(names_call_name(s->names, op->call & OP_CALL));
	return *c;
}

static void *net_open(struct names *names)
{
	struct net_sums *s = calloc(1, sizeof(*s));

	if (s && !(s->code = calloc(OP_CALL + 1, sizeof(*s->code)))) {
		free(s);
		return NULL;
	}
	if (s)
		s->names = names;
	return s;
}

static void net_close(void *sums)
{
	struct net_sums *s = sums;

	for (size_t i = 0; i < s->nrow; i++) {
		if (s->row[i].sent)
			series_fini(s->row[i].sent);
		if (s->row[i].received)
			series_fini(s->row[i].received);
		free(s->row[i].sent);
		free(s->row[i].received);
	}
	for (size_t i = 0; i < s->nwait; i++)
		series_fini(&s->wait[i].series);
	map_fini(&s->rows);
	free(s->row);
	free(s->drop);
	free(s->wait);
	free(s->code);
	free(s);
}

static const char *path_of(const struct net_sums *s, uint32_t file)
{
	return names_get(s->names, names_file(s->names, file)->path);
}

/* A name with both ends says more than one with its own alone. */
static uint8_t rank_of(const char *path)
{
	return strstr(path, " -> ") ? 3 : strchr(path, ' ') ? 2 : 1;
}

/* Whether a protocol has connections. */
static bool connects(const char *path)
{
	static const char *const not [] = { "udp", "raw", "icmp", "unix-dgram", "netlink",
		"packet", "ip" };

	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		if (!strncmp(path, not [i], strlen(not [i])))
			return false;
	return *path;
}

static int row_new(struct net_sums *s, const struct op *op, uint64_t key)
{
	if (s->nrow == s->caprow) {
		size_t cap = s->caprow ? 2 * s->caprow : 16;
		struct net_row *more = realloc(s->row, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->row = more;
		s->caprow = cap;
	}
	if (map_put(&s->rows, key, (uint32_t)op->pid, s->nrow + 1) < 0)
		return -ENOMEM;
	s->row[s->nrow++] = (struct net_row){ .pid = op->pid,
		.opened_ns = OP_NO_TIME,
		.closed_ns = OP_NO_TIME,
		.connect_ns = OP_NO_TIME };
	return 0;
}

/*
 * The row of a socket and process. It is told by its inode, as its name changes while it
 * is bound and connected.
 */
static struct net_row *row_of(struct net_sums *s, const struct op *op)
{
	const struct file *f = names_file(s->names, op->file);
	uint64_t key = f->inode ? f->inode : UINT64_C(1) << 63 | op->file;
	size_t at = map_get(&s->rows, key, (uint32_t)op->pid);

	if (!at) {
		if (row_new(s, op, key) < 0)
			return NULL;
		at = s->nrow;
	}
	struct net_row *r = &s->row[at - 1];
	if (op->comm)
		r->comm = op->comm;
	if (r->file != op->file) {
		uint8_t rank = rank_of(path_of(s, op->file));
		if (rank >= r->rank) {
			r->file = op->file;
			r->rank = rank;
		}
	}
	return r;
}

static void opened(struct net_sums *s, struct net_row *r, uint64_t took_ns)
{
	r->pending = r->early = false;
	if (r->connected)
		return;
	r->connected = true;
	r->connect_ns = took_ns;
	s->connections.opened++;
}

static void failed(struct net_sums *s, struct net_row *r)
{
	r->pending = r->early = false;
	r->failed++;
	s->connections.failed++;
}

/* The last descriptor is closed, or TCP has ended, or both. */
static void closed(struct net_sums *s, struct net_row *r)
{
	s->connections.closed += r->connected;
	r->connected = r->pending = r->early = false;
}

/*
 * connect(2). What it returns too early (EINPROGRESS, signals) TCP tells of by itself,
 * before that call has returned even; else the result of the call is what counts.
 */
static void put_connect(struct net_sums *s, struct net_row *r, const struct op *op)
{
	if (!connects(path_of(s, op->file)))
		return;
	if (op->ret >= 0) {
		opened(s, r, op->dur_ns);
	} else if (op->ret == -EINPROGRESS || op->ret == -EINTR || op->ret == -EALREADY ||
		   op_interrupted(op->ret)) {
		if (r->early)
			failed(s, r);
		else
			r->pending = !r->connected;
	} else if (op->ret != -EISCONN && op->ret != -EAGAIN && op->ret != -EBADF) {
		if (!r->pending || r->early)
			failed(s, r);
		r->pending = false;
	}
}

static int put_data(struct net_row *r, const struct op *op)
{
	struct series **to = op->kind == OP_WRITE  ? &r->sent
			     : op->kind == OP_READ ? &r->received
						   : NULL;

	if (!to)
		return 0;
	return series_of(to) ? series_add(*to, op) : -ENOMEM;
}

static int put_wait(struct net_sums *s, const struct op *op)
{
	struct net_wait *w = s->wait;
	size_t i = 0;

	while (i < s->nwait && w[i].call != (op->call & OP_CALL))
		i++;
	if (i == s->nwait) {
		if (!(w = realloc(s->wait, (i + 1) * sizeof(*w))))
			return -ENOMEM;
		s->wait = w;
		w[i] = (struct net_wait){ .call = op->call & OP_CALL };
		s->nwait++;
	}
	w[i].ready += op->ret > 0 ? (uint64_t)op->ret : 0;
	w[i].empty += !op->ret;
	return series_add(&w[i].series, op);
}

static void packet(struct net_packets *p, const struct op *op)
{
	p->count++;
	p->bytes += op->ret > 0 ? (uint64_t)op->ret : 0;
}

static int put_drop(struct net_sums *s, struct net_row *r, const struct op *op)
{
	struct net_drop *d = s->drop;
	size_t i = 0;

	while (i < s->ndrop && d[i].call != (op->call & OP_CALL))
		i++;
	if (i == s->ndrop) {
		if (!(d = realloc(s->drop, (i + 1) * sizeof(*d))))
			return -ENOMEM;
		s->drop = d;
		d[i] = (struct net_drop){ .call = op->call & OP_CALL };
		s->ndrop++;
	}
	packet(&d[i].packets, op);
	packet(&s->dropped, op);
	packet(&r->drops, op);
	return 0;
}

/* What happens by itself. */
static int put_event(
	struct net_sums *s, struct net_row *r, const struct op *op, enum code c)
{
	switch (c) {
	case CODE_ESTABLISHED:
		opened(s, r, op->dur_ns);
		break;
	case CODE_FAILED:
		if (r->pending)
			failed(s, r);
		else
			r->early = true;
		break;
	case CODE_ENDED:
		closed(s, r);
		break;
	case CODE_DROP:
		return put_drop(s, r, op);
	case CODE_RETRANSMIT:
		packet(&s->retransmits, op);
		packet(&r->retransmits, op);
		break;
	case CODE_RESET_SENT:
	case CODE_RESET_RECEIVED:
		s->resets_sent += c == CODE_RESET_SENT;
		s->resets_received += c == CODE_RESET_RECEIVED;
		r->resets++;
		break;
	default:
		s->queue_full++;
	}
	return 0;
}

static void put_life(
	struct net_sums *s, struct net_row *r, const struct op *op, enum code c)
{
	if (c == CODE_CONNECT) {
		put_connect(s, r, op);
	} else if (c == CODE_CLOSE || c == CODE_EXIT) {
		r->closed_ns = op->start_ns;
		if (!op->want)
			closed(s, r);
	} else if (op->ret >= 0) {
		r->opened_ns = op->start_ns;
		if (c == CODE_ACCEPT && !r->connected) {
			r->connected = true;
			s->connections.accepted++;
		}
	}
}

static int net_put(void *sums, const struct op *op)
{
	struct net_sums *s = sums;
	enum code c = code(s, op);
	bool of_socket = op->file && names_file(s->names, op->file)->type == FILE_SOCKET;
	struct net_row *r = of_socket ? row_of(s, op) : NULL;
	int err = 0;

	if (of_socket && !r)
		return -ENOMEM;
	if (c > CODE_EVENT)
		return r ? put_event(s, r, op, c) : 0;
	if (c == CODE_WAIT)
		err = put_wait(s, op);
	else if (r && c == CODE_CALL)
		err = put_data(r, op);
	else if (r)
		put_life(s, r, op, c);
	/* One call that makes or closes several sockets is one. */
	bool again = op->call & OP_PART && op_kind_class(op->kind) == CLASS_META;
	return err < 0 ? err : c != CODE_EXIT && !again;
}

const struct layer_sums layer_net_sums = { net_open, net_put, net_close };
