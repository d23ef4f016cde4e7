/*
 * rings.h - rings of records without anybody who is traced: what the drain makes of them
 */
#ifndef RINGS_H
#define RINGS_H

#include "../../src/source/ptrace/tracer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RIG_TASKS = 4, RIG_OPS = 8192 };

/* Tasks of one process that share descriptors, unless their table is made another one. */
struct rig {
	struct sink sink;
	struct tracer t;
	struct process process;
	struct task task[RIG_TASKS];
	unsigned ntasks;
	void (*check)(const struct rig *, const struct op *);
	struct op op[RIG_OPS]; /* the first that came out */
	unsigned nops, nlost;
};

static int rig_put(struct sink *sink, const struct op *op)
{
	struct rig *r = (struct rig *)sink;

	if (r->check)
		r->check(r, op);
	if (op->kind == OP_LOST)
		r->nlost++;
	else if (r->nops++ < RIG_OPS)
		r->op[r->nops - 1] = *op;
	return 0;
}

/* pid: whom /proc is asked about. want: as --trace has it. NULL: no memory. */
static inline struct rig *rig_new(unsigned ntasks, pid_t pid, const char *want)
{
	static const struct sink_ops ops = { .name = "rig", .put = rig_put };
	struct rig *r = calloc(1, sizeof(*r));
	static struct fast_clock begun; /* long enough ago for some records */
	const char *bad;

	if (!r)
		return NULL;
	if (!begun.tsc0) {
		fast_clock_start(&begun);
		usleep(2000);
	}
	r->sink.ops = &ops;
	r->t.sink = &r->sink;
	r->t.names = names_new();
	r->t.fdtab = fdtab_new(r->t.names);
	r->t.countable = true;
	r->t.epoch_ns = begun.ns0;
	for (int abi = 0; abi < NABI; abi++)
		syscall_index(abi, r->t.row[abi]);
	int fd = (int)syscall(SYS_memfd_create, "rings", 2 /* MFD_ALLOW_SEALING */);
	if (syscall_set_parse(&r->t.want, want, &bad) < 0 ||
		fast_open(&r->t, 1) < 0 || fd < 0)
		abort();
	r->t.fast->clock = begun;
	r->process = (struct process){ .pid = pid, .ntasks = ntasks, .started = true };
	struct rings *rings = rings_new(&r->t.fast->dead, fd, RIG_TASKS * SLOT_SIZE);
	close(fd);
	r->ntasks = ntasks;
	for (unsigned i = 0; i < ntasks; i++) {
		struct task *k = &r->task[i];
		k->tid = k->fd.tid = pid + (pid != getpid() ? (pid_t)i : 0);
		k->process = &r->process;
		k->call.row = -1;
		k->space = i ? r->task[0].space : space_new();
		k->space->refs += i > 0;
		k->space->rings = rings;
		history_begin(&r->t, k, i ? &r->task[0] : NULL, true);
		if (slot_take(r->t.fast, k, 0) < 0)
			abort();
	}
	return r;
}

static inline void rig_free(struct rig *r)
{
	for (unsigned i = 0; i < r->ntasks; i++) {
		fdtab_forget(r->t.fdtab, &r->task[i].fd);
		fast_forget(&r->t, &r->task[i]);
	}
	fast_close(&r->t);
	fdtab_free(r->t.fdtab);
	names_free(r->t.names);
	free(r);
}

/* Where the task's next record goes, and that it is there now. */
static inline struct fast_rec *rig_next(struct rig *r, unsigned i)
{
	const struct slot *s = &r->task[i].slot;

	return (struct fast_rec *)(s->ring + s->ctl->head % s->size);
}

/* A moment since the beginning. */
static inline uint64_t rig_at(const struct rig *r, unsigned n)
{
	return r->t.fast->clock.tsc0 + n * 1000;
}

/* Fill in the next record of a ring; rig_done() makes it one. */
static inline struct fast_rec *rig_begin(
	struct rig *r, unsigned i, long nr, unsigned when, int64_t result)
{
	struct fast_rec *rec = rig_next(r, i);

	memset(rec, 0, R_TWO_SIZE);
	rec->nr = (uint32_t)nr;
	rec->state = REC_ENDED;
	rec->t0 = rig_at(r, when);
	rec->t1 = rig_at(r, when) + 500;
	rec->result = result;
	return rec;
}

static inline void rig_done(struct rig *r, unsigned i, const struct fast_rec *rec)
{
	struct slot *s = &r->task[i].slot;

	s->ctl->head += rec_size(r->t.fast, rec);
	rig_next(r, i)->state = REC_NONE;
}

#endif
