/*
 * async.c - requests that are answered later, as operations
 */
#include "async.h"

#include <stdlib.h>

struct awaited *awaited_of(struct tracer *t)
{
	if (!t->awaited)
		t->awaited = calloc(1, sizeof(*t->awaited));
	return t->awaited;
}

bool async_counts(const struct tracer *t, const struct task *k)
{
	return t->sink && k->process->started && !k->process->muted;
}

void async_begin(struct tracer *t, const struct task *k, struct request *r,
	enum async which, unsigned number, uint64_t now)
{
	uint16_t *call = &t->awaited->call[which][number & 255];

	uint8_t *wanted = &t->awaited->wanted[which][number & 255];

	if (!*call)
		*call = (uint16_t)async_call(t->names, which, number);
	if (!*wanted)
		*wanted = 1 + async_wanted(&t->want, which, number);
	r->wanted = *wanted == 2;
	r->op[0] = (struct op){
		.start_ns = now,
		.kind = async_kind(which, number),
		.call = *call,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.pid = k->process->pid,
		.tid = k->tid,
		.comm = k->process->comm,
	};
}

const struct fd_view *async_file(
	struct tracer *t, struct task *k, struct asked_last *last, int fd)
{
	if (!last->is || last->fd != fd)
		fdtab_ask(t->fdtab, &k->fd, fd, &last->view);
	last->is = true;
	last->fd = fd;
	return &last->view;
}

void async_end(struct tracer *t, struct request *r, int64_t res, uint64_t now)
{
	for (int i = 0; i <= r->two && r->wanted; i++) {
		struct op op = r->op[i];
		op.dur_ns = now > op.start_ns ? now - op.start_ns : 0;
		op.ret = res;
		tracer_put(t, &op);
	}
	/* The next answer to the same request is to be waited for from now on. */
	r->op[0].start_ns = r->op[1].start_ns = now;
}

void async_lost(struct tracer *t, const struct process *p, uint64_t n)
{
	struct op op = { .kind = OP_LOST,
		.ret = (int64_t)n,
		.start_ns = tracer_now(t),
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.pid = p->pid,
		.tid = p->pid,
		.comm = p->comm,
		.fd = -1 };

	if (n)
		tracer_put(t, &op);
}

bool async_seeks(const struct tracer *t, uint32_t file)
{
	uint8_t type = names_file(t->names, file)->type;

	return type == FILE_REGULAR || type == FILE_BLOCK;
}

/* What waits for others, on a socket or a pipe, is given up with its ring. The rest is
 * done, and nobody is told. */
static bool goes_on(const struct tracer *t, const struct request *r, bool ends)
{
	return r->silent || (!ends && async_seeks(t, r->op[0].file));
}

void async_lose(
	struct tracer *t, const struct process *p, const struct requests *q, bool ends)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < q->cap; i++)
		n += q->all[i].used && q->all[i].wanted && goes_on(t, &q->all[i], ends);
	async_lost(t, p, n);
}
