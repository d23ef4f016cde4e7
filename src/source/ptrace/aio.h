/*
 * aio.h - a context of Linux AIO, shared by aio*.c
 */
#ifndef IOPS_PTRACE_AIO_H
#define IOPS_PTRACE_AIO_H

#include "async.h"

/* An answer whose request is not known: its task may be yet to tell of it. */
struct aio_late {
	uint64_t iocb, now;
	int64_t result;
};

/* Answers that were noted at a time, in turn. */
struct aio_noted {
	struct aio_noted *next;
	uint16_t turn;
	uint32_t n;
	uint64_t now;
	struct told_event event[];
};

struct aio {
	struct aio *next;
	const struct process *process;
	uint64_t id; /* where its ring is */
	uint32_t answered, nr;
	uint64_t asked;
	struct requests flying;
	uint16_t turn;           /* next */
	struct aio_noted *noted; /* those whose turn has not come, in their order */
	unsigned nnoted;
	struct aio_late *late;
	unsigned nlate;
	struct rings *rings; /* where the hook is told of it, by the key; NULL: nowhere */
	uint64_t key;
};

static inline struct aio *aio_find(
	const struct tracer *t, const struct process *p, uint64_t id)
{
	for (struct aio *a = t->awaited ? t->awaited->contexts : NULL; a; a = a->next)
		if (a->process == p && a->id == id)
			return a;
	return NULL;
}

/* aio_answer.c: requests are answered: in turn; all that are known of; or one perhaps,
 * that is asked for now. What was about to be asked for in the hook, and has not been, is
 * not; nor is what a call has not taken, as its result says. */
void aio_in_turn(struct tracer *t, struct aio *a, uint16_t turn,
	const struct told_event *e, uint32_t n, uint64_t now);
void aio_all(struct tracer *t, struct aio *a);
void aio_meet(struct tracer *t, struct aio *a, struct request *q);
void aio_not_begun(struct tracer *t, struct task *k);
unsigned aio_refused(
	struct tracer *t, struct task *k, struct aio *a, int64_t ret, uint64_t now);

/* fast/aio_told.c: what the hook has kept. */
bool aio_told(struct tracer *t, struct task *k, const struct fast_rec *rec, bool begun);

#endif
