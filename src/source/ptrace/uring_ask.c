/*
 * uring_ask.c - what is asked for in a ring
 */
#include "asked.h"
#include "uring.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

/* How the entry of a request says how much, and of what. */
enum form {
	SAYS_FILE, /* a descriptor */
	SAYS_LENGTH,
	SAYS_VECTOR,
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
	[IORING_OP_READ_FIXED] = SAYS_LENGTH,
	[IORING_OP_WRITE_FIXED] = SAYS_LENGTH,
	[IORING_OP_READ] = SAYS_LENGTH,
	[IORING_OP_WRITE] = SAYS_LENGTH,
	[URING_READ_MULTISHOT] = SAYS_LENGTH,
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
	struct asked_last last;
};

static void put_registered(
	const struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	const struct uring *r = a->r;
	struct op *op = &q->op[0];
	uint32_t place = (uint32_t)s->fd;

	op->file = place < r->nfile ? r->file[place] : 0;
	if (!op->file)
		q->place = s->fd;
	uint8_t type = names_file(a->t->names, op->file)->type;
	if ((type == FILE_REGULAR || type == FILE_BLOCK) && s->off != UINT64_MAX)
		op->offset = (int64_t)s->off;
}

/* Of two at once that go by a position it is not known where the second begins. */
static void put_descriptor(
	struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	const struct fd_view *v = async_file(a->t, a->k, &a->last, s->fd);
	struct op *op = &q->op[0];

	op->fd = s->fd;
	op->file = v->file;
	bool appends = op->kind == OP_WRITE && v->flags != -1 && v->flags & O_APPEND;
	if (v->offset == OP_NO_OFFSET || appends)
		return;
	if (s->off != UINT64_MAX)
		op->offset = (int64_t)s->off;
	else if (!a->r->flying.positions)
		op->offset = v->offset;
	requests_position(&a->r->flying, q, s->off == UINT64_MAX);
}

static void put_file(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	if (s->flags & IOSQE_FIXED_FILE)
		put_registered(a, q, s);
	else if (s->fd >= 0)
		put_descriptor(a, q, s);
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
	if (q->two) {
		q->op[0].kind = OP_WRITE;
		put_file(a, q, s);
		q->op[1] = q->op[0];
		q->op[1].call |= OP_SECOND;
		q->op[0].kind = OP_READ;
		q->op[0].fd = -1;
		q->op[0].offset = OP_NO_OFFSET;
	}
	put_file(a, q, &from);
}

/* Where the new or the closed file is among the registered ones. */
static int32_t direct_of(const struct request *q, const struct io_uring_sqe *s)
{
	bool places = q->op[0].kind == OP_OPEN || q->op[0].kind == OP_CLOSE;

	if (!places || !s->file_index)
		return -1;
	return s->file_index == UINT32_MAX ? INT_MAX : (int32_t)s->file_index - 1;
}

static void put(struct asking *a, struct request *q, const struct io_uring_sqe *s)
{
	struct op *op = &q->op[0];

	q->direct = direct_of(q, s);
	switch (s->opcode < URING_LIMIT ? says[s->opcode] : SAYS_FILE) {
	case SAYS_VECTOR:
		op->want = asked_vec(a->k, s->addr, s->len);
		break;
	case SAYS_MESSAGE:
		op->want = asked_msg(a->k, s->addr);
		break;
	case SAYS_LENGTH:
		op->want = s->len;
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
	if (op->kind != OP_READ && op->kind != OP_WRITE)
		op->offset = OP_NO_OFFSET;
}

static void ask(struct asking *a, uint64_t at, const struct io_uring_sqe *s)
{
	struct uring *r = a->r;
	bool silent = s->flags & IOSQE_CQE_SKIP_SUCCESS;
	struct request *q = NULL;

	/* Of those that are not answered only the first are kept, for what may fail. */
	if (!silent || r->silent++ < SILENT_MAX)
		q = requests_add(&r->flying, s->user_data);
	if (!q) {
		async_lost(a->t, a->k->process, 1);
		return;
	}
	async_begin(a->t, a->k, q, ASYNC_URING, s->opcode, a->now);
	q->at = at;
	q->silent = silent;
	if (q->wanted)
		put(a, q, s);
	r->timeouts |= s->opcode == IORING_OP_TIMEOUT;
	if (s->opcode == IORING_OP_FILES_UPDATE)
		uring_put_files(a->t, a->k, r, s->addr, (unsigned)s->off, s->len);
}

/* How many requests the kernel has taken. Its own count has 32 bits. */
static uint64_t taken(const struct uring *r)
{
	uint32_t head = uring_word(r->view.sq, r->p.sq_off.head);

	return r->decoded + (uint64_t)(int64_t)(int32_t)(head - (uint32_t)r->decoded);
}

/* It has taken what came while a call was on its way to it. */
static void missed(struct tracer *t, struct uring *r, uint64_t head)
{
	if (head <= r->decoded)
		return;
	if (r->process)
		async_lost(t, r->process, head - r->decoded);
	r->decoded = head;
}

/* Entries, in order; false: no memory. */
static bool copy(
	const struct uring *r, uint64_t from, uint64_t end, struct io_uring_sqe **out)
{
	const struct io_uring_params *p = &r->p;
	unsigned wide = !!(p->flags & IORING_SETUP_SQE128);

	*out = calloc(end - from + 1, sizeof(**out));
	for (uint64_t at = from; *out && at < end; at++) {
		uint32_t i = (uint32_t)at & (p->sq_entries - 1);
		if (!(p->flags & SETUP_NO_SQARRAY))
			i = uring_word(
				r->view.sq, p->sq_off.array + i * (uint32_t)sizeof(i));
		if (i < p->sq_entries)
			(*out)[at - from] = r->view.entry[(size_t)i << wide];
		else
			(*out)[at - from].opcode = NO_OPCODE;
	}
	return *out;
}

/*
 * Those of other threads may be under way and not be taken yet. They are read anew: if
 * the kernel has left one behind, it may have been changed since.
 */
void uring_ask(struct tracer *t, struct task *k, struct uring *r, uint32_t most)
{
	struct asking a = { .t = t, .k = k, .r = r, .now = tracer_now(t) };
	struct io_uring_sqe *s;
	uint64_t head = taken(r);
	uint32_t ready = uring_word(r->view.sq, r->p.sq_off.tail) - (uint32_t)head;

	missed(t, r, head);
	uint64_t end = r->decoded + most, tail = head + ready;
	if (ready > r->p.sq_entries || !copy(r, head, end < tail ? end : tail, &s))
		return;
	uint64_t now = taken(r), from = now > r->decoded ? r->decoded : now;
	if (from < r->decoded)
		requests_undo(&r->flying, from, 0);
	for (uint64_t at = from; at < end && at < tail; at++) {
		r->decoded = at + 1;
		if (s[at - head].opcode != NO_OPCODE) /* the kernel drops it as well */
			ask(&a, at, &s[at - head]);
	}
	free(s);
}

/* What was not taken may never be. */
void uring_settle(struct tracer *t, struct uring *r)
{
	uint64_t head = taken(r);

	missed(t, r, head);
	if (head < r->decoded)
		requests_undo(&r->flying, head, 0);
	r->decoded = head;
}
