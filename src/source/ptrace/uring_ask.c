/*
 * uring_ask.c - what is asked for in a ring
 */
#include "asked.h"
#include "uring.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>

/* How the entry of a request says how much, and of what. */
enum form {
	SAYS_FILE,   /* a descriptor */
	SAYS_RECORD, /* of a file, with RWF_... */
	SAYS_LENGTH,
	SAYS_VECTOR, /* as SAYS_RECORD */
	SAYS_MESSAGE,
	SAYS_TWO,
	SAYS_PATH,    /* relative to a descriptor */
	SAYS_LINK,    /* likewise, in the place of the offset */
	SAYS_NAME,    /* a path alone, in the third place */
	SAYS_ADDRESS, /* fallocate(2): the length, in the place of the address */
	SAYS_OFFSET,  /* ftruncate(2): likewise */
	SAYS_SOCKET,  /* no descriptor is in it: makes one */
};

static const uint8_t says[URING_LIMIT] = {
	[IORING_OP_READV] = SAYS_VECTOR,
	[IORING_OP_WRITEV] = SAYS_VECTOR,
	[URING_READV_FIXED] = SAYS_VECTOR,
	[URING_WRITEV_FIXED] = SAYS_VECTOR,
	[IORING_OP_READ_FIXED] = SAYS_RECORD,
	[IORING_OP_WRITE_FIXED] = SAYS_RECORD,
	[IORING_OP_READ] = SAYS_RECORD,
	[IORING_OP_WRITE] = SAYS_RECORD,
	[URING_READ_MULTISHOT] = SAYS_RECORD,
	[IORING_OP_SEND] = SAYS_LENGTH,
	[IORING_OP_RECV] = SAYS_LENGTH,
	[IORING_OP_SEND_ZC] = SAYS_LENGTH,
	[URING_RECV_ZC] = SAYS_LENGTH,
	[IORING_OP_SENDMSG] = SAYS_MESSAGE,
	[IORING_OP_RECVMSG] = SAYS_MESSAGE,
	[IORING_OP_SENDMSG_ZC] = SAYS_MESSAGE,
	[IORING_OP_SPLICE] = SAYS_TWO,
	[IORING_OP_TEE] = SAYS_TWO,
	[IORING_OP_FALLOCATE] = SAYS_ADDRESS,
	[URING_FTRUNCATE] = SAYS_OFFSET,
	[IORING_OP_OPENAT] = SAYS_PATH,
	[IORING_OP_OPENAT2] = SAYS_PATH,
	[IORING_OP_STATX] = SAYS_PATH,
	[IORING_OP_RENAMEAT] = SAYS_PATH,
	[IORING_OP_UNLINKAT] = SAYS_PATH,
	[IORING_OP_MKDIRAT] = SAYS_PATH,
	[IORING_OP_LINKAT] = SAYS_PATH,
	[IORING_OP_SYMLINKAT] = SAYS_LINK,
	[IORING_OP_SETXATTR] = SAYS_NAME,
	[IORING_OP_GETXATTR] = SAYS_NAME,
	[IORING_OP_SOCKET] = SAYS_SOCKET,
	[URING_PIPE] = SAYS_SOCKET,
};

/* Who asks, when, and of what last. */
struct asking {
	struct tracer *t;
	struct task *k;
	struct uring *r;
	uint64_t now;
	uint64_t first;       /* of the call */
	bool noted;           /* and not now: what is open is told by the records */
	bool looked, renewed; /* whether some under way register files */
	struct asked_last last;
};

/* The file that is in its place now, if one is known to be. */
static void settle_place(struct tracer *t, struct uring *r, struct request *q, int i)
{
	const uint8_t bit = (uint8_t)(1 << i);

	if (q->place[i] < 0 || !uring_find_file(t, r, q, i))
		return;
	q->place[i] = -1;
	if (!async_seeks(t, q->op[i].file))
		q->moves &= (uint8_t)~bit;
}

static void put_registered(
	const struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	q->place[0] = s->fd;
	q->off[0] = s->off;
	q->moves = s->off == UINT64_MAX;
	if (!q->renews)
		settle_place(a->t, a->r, q, 0);
}

/* As async_file(), of the time of a record. */
static const struct fd_view *file_then(struct asking *a, int fd)
{
	const struct fd_open *o = history_of(a->t, a->k, fd);

	a->last.view = (struct fd_view){ .file = o ? o->file : 0,
		.flags = o ? o->flags : -1,
		.offset = o && o->seeks ? 0 : OP_NO_OFFSET };
	return &a->last.view;
}

/* Of two at once that go by a position it is not known where the second begins. */
static void put_descriptor(
	struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	const struct fd_view *v =
		a->noted ? file_then(a, s->fd) : async_file(a->t, a->k, &a->last, s->fd);
	struct op *op = &q->op[0];

	op->fd = s->fd;
	op->file = v->file;
	q->appends = op->kind == OP_WRITE && write_appends(v->flags, q->rw);
	q->moves = v->offset != OP_NO_OFFSET && s->off == UINT64_MAX;
	if (v->offset == OP_NO_OFFSET || q->appends)
		return;
	if (!q->moves)
		op->offset = (int64_t)s->off;
	else if (!a->r->flying.positions && !a->r->positions)
		op->offset = v->offset;
}

static void put_file(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	struct io_uring_sqe at = *s;

	if (q->op[0].kind == OP_CLOSE && q->direct >= 0) {
		at.fd = q->direct;
		put_registered(a, q, &at);
	} else if (s->flags & IOSQE_FIXED_FILE) {
		put_registered(a, q, s);
	} else if (s->fd >= 0) {
		put_descriptor(a, q, s);
	}
}

static void put_path(const struct asking *a, struct request *q, int dirfd, uint64_t at)
{
	char path[PATH_MAX];

	if (at && task_string(a->k, at, path, sizeof(path)) >= 0 && *path)
		q->op[0].file = fdtab_path(a->t->fdtab, &a->k->fd, dirfd, path);
}

/* splice(2): its fd is the one that is written to. */
static void put_two(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	struct io_uring_sqe from = *s;

	q->op[0].want = s->len;
	from.fd = s->splice_fd_in;
	from.off = s->splice_off_in;
	from.flags = s->splice_flags & SPLICE_F_FD_IN_FIXED ? IOSQE_FIXED_FILE : 0;
	q->two = q->op[0].kind != OP_PEEK;
	struct request to = *q;
	if (q->two) {
		q->op[0].kind = OP_WRITE;
		put_file(a, q, s);
		q->op[1] = q->op[0];
		q->op[1].call |= OP_SECOND;
		q->place[1] = q->place[0];
		q->off[1] = q->off[0];
		q->place[0] = -1;
		q->op[0].kind = OP_READ;
		q->op[0].fd = -1;
		q->op[0].offset = OP_NO_OFFSET;
		to = *q;
		q->moves = 0;
	}
	put_file(a, q, &from);
	q->moves |= (uint8_t)(to.moves << 1);
	q->appends = to.appends;
}

/* Where the new or the closed file is among the registered ones. */
static int32_t direct_of(const struct request *q, const struct io_uring_sqe *s)
{
	bool places = q->op[0].kind == OP_OPEN || q->op[0].kind == OP_CLOSE;

	if (!places || !s->file_index)
		return -1;
	return s->file_index == UINT32_MAX ? INT_MAX : (int32_t)s->file_index - 1;
}

static bool is_transfer(const struct op *op)
{
	return op->kind == OP_READ || op->kind == OP_WRITE;
}

static void put(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	struct op *op = &q->op[0];

	switch (s->opcode < URING_LIMIT ? says[s->opcode] : SAYS_FILE) {
	case SAYS_VECTOR:
		q->rw = (uint32_t)s->rw_flags;
		op->want = a->noted ? s->addr : asked_vec(a->k, s->addr, s->len);
		break;
	case SAYS_MESSAGE:
		op->want = asked_msg(a->k, s->addr);
		if (s->opcode == IORING_OP_RECVMSG && s->ioprio & IORING_RECV_MULTISHOT)
			q->header = sizeof(struct io_uring_recvmsg_out) +
				    asked_msg_beside(a->k, s->addr);
		break;
	case SAYS_RECORD:
		q->rw = (uint32_t)s->rw_flags;
		op->want = s->len;
		break;
	case SAYS_LENGTH:
		op->want = op->kind == OP_WRITE && s->ioprio & SEND_PARTS
				   ? asked_vec(a->k, s->addr, s->len)
				   : s->len;
		break;
	case SAYS_ADDRESS:
		op->want = s->addr;
		break;
	case SAYS_OFFSET:
		op->want = s->off;
		break;
	case SAYS_PATH:
		put_path(a, q, s->fd, s->addr);
		return;
	case SAYS_LINK:
		put_path(a, q, s->fd, s->addr2);
		return;
	case SAYS_NAME:
		put_path(a, q, AT_FDCWD, s->addr3);
		return;
	case SAYS_TWO:
		put_two(a, q, s);
		return;
	case SAYS_SOCKET:
		return;
	}
	put_file(a, q, s);
	if (is_transfer(op))
		return;
	op->offset = OP_NO_OFFSET;
	q->moves = 0;
}

/* O_...; -1: not known, or no open. */
static int open_flags(const struct asking *a, const struct io_uring_sqe *s)
{
	uint64_t flags = s->open_flags;

	if (s->opcode == IORING_OP_OPENAT)
		return (int)flags;
	/* struct open_how begins with them */
	if (s->opcode != IORING_OP_OPENAT2 ||
		task_read(a->k, s->addr2, &flags, sizeof(flags)) != sizeof(flags))
		return -1;
	return (int)flags;
}

/* What else it changes; opens are asked as they may cut a file. */
static uint8_t changes(const struct request *q, const struct io_uring_sqe *s)
{
	switch (s->opcode) {
	case IORING_OP_FALLOCATE:
	case URING_FTRUNCATE:
		return CHANGES_END;
	case IORING_OP_RENAMEAT:
	case IORING_OP_UNLINKAT:
	case IORING_OP_LINKAT:
	case IORING_OP_SYMLINKAT:
		return CHANGES_NAMES;
	case IORING_OP_OPENAT2:
	case IORING_OP_OPENAT: /* -1 has them all */
		return q->open & O_TRUNC ? CHANGES_ANY_END : 0;
	default:
		return 0;
	}
}

static struct offer *offer_of(const struct uring *r, uint64_t number)
{
	return &r->offer[number & (r->noffers - 1)];
}

/* What comes behind it, in that order, is about files that it may have registered. */
static int renews(const struct request *q)
{
	bool registers = q->direct >= 0 || q->opcode == IORING_OP_FILES_UPDATE;

	return !registers ? RENEWS_NOTHING : q->silent ? RENEWS_TAKEN : RENEWS_ANSWERED;
}

/* Whether some are under way that will be answered by then. */
static bool is_renewed(struct asking *a)
{
	const struct requests *all = &a->r->flying;

	for (unsigned i = 0; !a->looked && i < all->cap; i++)
		a->renewed |= all->all[i].used && renews(&all->all[i]) == RENEWS_ANSWERED;
	a->looked = true;
	return a->renewed;
}

/*
 * A chain ends with its call. What updates files does so at once, before the kernel takes
 * the next one; and what is to wait for all before it, and so all behind that, finds what
 * they have made.
 */
static void follow(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	const struct request *before = &offer_of(a->r, q->at - 1)->request;
	bool same = q->at > a->first && before->chain && before->at == q->at - 1;
	bool follows = same && before->links;
	int by = same ? renews(before) : RENEWS_NOTHING;

	q->chain = follows ? before->chain : q->at + 1;
	q->updated =
		same && (before->updated || before->opcode == IORING_OP_FILES_UPDATE);
	q->behind = same && (before->behind || by);
	q->drained = s->flags & IOSQE_IO_DRAIN || (same && before->drained);
	if (follows || q->updated)
		q->renews = by > (int)before->renews ? by : (int)before->renews;
	if (q->drained && s->flags & IOSQE_FIXED_FILE && (q->behind || is_renewed(a)))
		q->renews = RENEWS_ANSWERED;
}

/* IORING_MSG_SEND_FD, in its own ring from the place addr to the place to. */
static void ask_send(struct request *q, const struct io_uring_sqe *s)
{
	enum { SEND_FD = 1 };

	q->sends = s->opcode == IORING_OP_MSG_RING && s->addr == SEND_FD;
	if (!q->sends)
		return;
	q->op[0].fd = s->flags & IOSQE_FIXED_FILE ? -1 : s->fd;
	q->addr = s->addr3;
	q->to = s->file_index;
}

static bool receives(const struct io_uring_sqe *s)
{
	return s->opcode == IORING_OP_RECV || s->opcode == IORING_OP_RECVMSG;
}

static bool is_whole(const struct io_uring_sqe *s)
{
	switch (s->opcode < URING_LIMIT ? says[s->opcode] : SAYS_FILE) {
	case SAYS_VECTOR:
	case SAYS_RECORD:
	case SAYS_TWO:
		return s->opcode != URING_READ_MULTISHOT;
	case SAYS_LENGTH:
	case SAYS_MESSAGE:
		return s->msg_flags & MSG_WAITALL && !(s->ioprio & IORING_RECV_MULTISHOT);
	default:
		return false;
	}
}

static void ask(struct asking *a, struct request *q, uint64_t number,
	const struct io_uring_sqe *s)
{
	*q = (struct request){ .key = s->user_data,
		.at = number,
		.silent = s->flags & IOSQE_CQE_SKIP_SUCCESS,
		.links = s->flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK),
		.severs = s->flags & IOSQE_IO_LINK && !(s->flags & IOSQE_IO_HARDLINK),
		.whole = is_whole(s),
		.opcode = s->opcode,
		.place = { -1, -1 },
		.open = open_flags(a, s),
		.result = OP_NO_OFFSET };
	follow(a, q, s);
	async_begin(a->t, a->k, q, ASYNC_URING, s->opcode, a->now);
	if (receives(s) && s->msg_flags & MSG_PEEK) {
		q->op[0].kind = OP_PEEK;
		q->op[0].call = (uint16_t)async_peek(a->t->names, ASYNC_URING, s->opcode);
	}
	q->cut = receives(s) && s->msg_flags & MSG_TRUNC;
	q->direct = direct_of(q, s);
	if (q->op[0].kind == OP_CLOSE)
		q->op[0].fd = q->direct < 0 ? s->fd : -1;
	q->addr = s->addr;
	ask_send(q, s);
	q->changes = a->t->fast ? changes(q, s) : 0;
	bool opens = q->direct >= 0 && q->op[0].kind == OP_OPEN;
	if (q->wanted || q->changes || opens || (a->t->fast && is_transfer(&q->op[0])))
		put(a, q, s);
	if (!a->noted)
		flight_asked(a->t, a->k, q);
	a->r->timeouts |= s->opcode == IORING_OP_TIMEOUT;
	a->r->hushed |= s->opcode == IORING_OP_TIMEOUT && q->silent;
	if (s->opcode == IORING_OP_FILES_UPDATE)
		uring_put_update(a->t, a->k, a->r, number, s);
}

static void offer(struct asking *a, uint64_t number, const struct io_uring_sqe *s)
{
	struct uring *r = a->r;
	struct offer *o = offer_of(r, number);

	if (number < r->decoded || number - r->decoded >= r->noffers)
		return;
	if (o->number > r->decoded)
		r->positions -= o->request.moves != 0;
	*o = (struct offer){
		.number = number + 1, .noted = a->noted, .dropped = s->opcode == NO_OPCODE
	};
	uring_drop_update(r, number);
	if (!o->dropped)
		ask(a, &o->request, number, s);
	r->positions += o->request.moves != 0;
}

void uring_offer(struct tracer *t, struct task *k, struct uring *r, int64_t first,
	unsigned i, const struct io_uring_sqe *s, uint64_t now)
{
	struct asking a = { .t = t,
		.k = k,
		.r = r,
		.now = now,
		.first = first > 0 ? (uint64_t)first : 0,
		.noted = true };

	if (first + i >= 0)
		offer(&a, (uint64_t)(first + i), s);
}

/* The kernel's own count has 32 bits. */
uint64_t uring_head(const struct uring *r)
{
	uint32_t head = uring_word(r->view.sq, r->p.sq_off.head);
	int32_t ahead = (int32_t)(head - (uint32_t)r->decoded);

	return r->decoded + (ahead > 0 ? (uint64_t)ahead : 0);
}

/* Of those that are not answered only the first are kept, for what may fail. */
static void take(struct tracer *t, struct uring *r, struct offer *o)
{
	struct request *q = &o->request;
	struct task *k = task_find(t, q->op[0].tid);

	o->number = 0;
	r->positions -= q->moves != 0;
	if (o->dropped)
		return;
	if (uring_severed(r, q)) {
		uring_drop_update(r, q->at);
		return;
	}
	if (k)
		*(o->noted ? &k->fast : &k->slow) += q->wanted;
	if (q->op[0].kind == OP_CLOSE && q->direct < 0)
		uring_forget(t, k, q->op[0].fd);
	if (q->renews == RENEWS_TAKEN)
		for (int i = 0; i <= q->two; i++)
			settle_place(t, r, q, i);
	/* Where it fails, so does what is linked to it. */
	if (q->silent) {
		uring_keep(r, q);
		uring_renew(t, r, q, 0);
	}
	bool full = q->silent && r->silent++ >= SILENT_MAX;
	struct request *put = full ? NULL : requests_put(&r->flying, q);
	flight_begins(t, put ? put : q);
	if (put)
		return;
	flight_ends(t, q);
	if (r->process)
		async_lost(t, r->process, 1);
}

/* As far as they are known. */
static void take_known(struct tracer *t, struct uring *r)
{
	while (r->decoded < r->head) {
		struct offer *o = offer_of(r, r->decoded);
		if (o->number != r->decoded + 1)
			break;
		r->decoded++;
		take(t, r, o);
	}
}

void uring_give_up(struct tracer *t, struct uring *r)
{
	uint64_t lost = 0;

	for (take_known(t, r); r->decoded < r->head; take_known(t, r)) {
		uint64_t most =
			r->head - r->decoded > r->noffers ? r->head - r->decoded : 1;
		lost += most;
		r->decoded += most;
	}
	if (r->process)
		async_lost(t, r->process, lost < LOST_MAX ? lost : LOST_MAX);
}

/* Where all calls stop, what is not known came while one was on its way to the kernel.
 * Else a task may be yet to tell of it. */
void uring_taken(struct tracer *t, struct uring *r, uint64_t head)
{
	if (head > r->head)
		r->head = head;
	take_known(t, r);
	if (!r->entrants)
		uring_give_up(t, r);
}

/*
 * The kernel says how many it has taken once it is through with all of a call, but what
 * is answered it has taken, and all before that.
 */
bool uring_proves(struct tracer *t, struct uring *r, uint64_t word)
{
	for (uint64_t at = r->decoded; at - r->decoded < r->noffers; at++) {
		const struct offer *o = offer_of(r, at);
		if (o->number != at + 1)
			return false;
		if (o->dropped || o->request.key != word)
			continue;
		uring_taken(t, r, at + 1);
		return true;
	}
	return false;
}

/* false: the kernel drops it as well. */
static bool entry_at(const struct uring *r, uint64_t number, struct io_uring_sqe *out)
{
	const struct io_uring_params *p = &r->p;
	unsigned wide = !!(p->flags & IORING_SETUP_SQE128);
	uint32_t i = (uint32_t)number & (p->sq_entries - 1);

	if (!(p->flags & SETUP_NO_SQARRAY))
		i = uring_word(r->view.sq, p->sq_off.array + i * (uint32_t)sizeof(i));
	if (i < p->sq_entries)
		*out = r->view.entry[(size_t)i << wide];
	return i < p->sq_entries;
}

/*
 * Those of other threads may be under way and not be taken yet. They are read anew: if
 * the kernel has left one behind, it may have been changed since.
 */
void uring_ask(struct tracer *t, struct task *k, struct uring *r, uint32_t most)
{
	uint64_t head = uring_head(r);
	struct asking a = { .t = t, .k = k, .r = r, .now = tracer_now(t), .first = head };
	uint32_t ready = uring_word(r->view.sq, r->p.sq_off.tail) - (uint32_t)head;

	uring_taken(t, r, head);
	if (ready > r->p.sq_entries)
		return;
	uint64_t end = head + (ready < (uint64_t)most + AHEAD ? ready : most + AHEAD);
	for (uint64_t at = head; at < end; at++) {
		struct io_uring_sqe s = { .opcode = NO_OPCODE };
		entry_at(r, at, &s);
		offer(&a, at, &s);
	}
}
