/*
 * rings.h - rings of records without anybody who is traced: what the drain makes of them
 */
#ifndef RINGS_H
#define RINGS_H

#include "../../src/source/ptrace/aio.h"
#include "../../src/source/ptrace/uring.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
	uint64_t lost; /* how many they say */
};

static int rig_put(struct sink *sink, const struct op *op)
{
	struct rig *r = (struct rig *)sink;

	if (r->check)
		r->check(r, op);
	if (op->kind == OP_LOST) {
		r->nlost++;
		r->lost += (uint64_t)op->ret;
	} else if (r->nops++ < RIG_OPS) {
		r->op[r->nops - 1] = *op;
	}
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
	if (syscall_set_parse(&r->t.want, want, &bad) < 0 || fast_open(&r->t, 1) < 0 ||
		fd < 0)
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

/* A ring of io_uring that the first task has made: memory that the kernel would share. */
static inline struct uring *rig_uring(struct rig *r, int fd)
{
	enum { ENTRIES = 8, PAGE = 4096 };
	struct awaited *a = awaited_of(&r->t);
	struct uring *u = calloc(1, sizeof(*u));
	uint8_t *at = mmap(NULL, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!a || !u || at == MAP_FAILED)
		abort();
	u->process = &r->process;
	u->fd = fd;
	u->entrants = 2; /* which may have more to tell */
	u->noffers = 2 * ENTRIES;
	u->offer = calloc(u->noffers, sizeof(*u->offer));
	u->late = calloc(4 * ENTRIES, sizeof(*u->late));
	if (!u->offer || !u->late)
		abort();
	u->p = (struct io_uring_params){ .sq_entries = ENTRIES,
		.cq_entries = 2 * ENTRIES,
		.features = IORING_FEAT_SINGLE_MMAP,
		.sq_off = { .head = 0, .tail = 64, .ring_entries = 128, .array = 1024 },
		.cq_off = {
			.head = 192, .tail = 256, .ring_entries = 320, .cqes = 512 } };
	u->view = (struct view){ .sq = at,
		.cq = at,
		.entry = (void *)(at + PAGE),
		.sq_size = PAGE,
		.cq_size = PAGE,
		.entry_size = PAGE };
	u->next = a->rings;
	a->rings = u;
	r->t.told = uring_told;
	return u;
}

/* A context of Linux AIO whose calls go through the hook. */
static inline struct aio *rig_aio(struct rig *r, uint64_t id)
{
	struct awaited *w = awaited_of(&r->t);
	struct aio *a = calloc(1, sizeof(*a));

	if (!w || !a)
		abort();
	a->process = &r->process;
	a->id = id;
	a->nr = 64;
	a->rings = rings_get(r->task[0].space->rings);
	a->key = id ^ context_salt(r->process.pid);
	if (!context_take(a->rings, a->key, 0, 0, &a->turn))
		abort();
	a->next = w->contexts;
	w->contexts = a;
	r->t.aio_told = aio_told;
	return a;
}

static inline void rig_free(struct rig *r)
{
	control_free(&r->t);
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

/* A regular file. */
static inline void rig_opened(struct rig *rig, unsigned i, unsigned when, unsigned until,
	int fd, const char *path)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_openat, when, fd);
	uint8_t *more = (uint8_t *)rec;
	struct fast_stat x = { .mode = S_IFREG | 0644, .ino = 7000 + when };
	uint64_t len = strlen(path), got = 0;

	rec->t1 = rig_at(rig, until);
	rec->arg[0] = (uint64_t)AT_FDCWD;
	rec->arg[2] = O_RDWR;
	memcpy(more + R_NEW_LEN, &len, sizeof(len));
	memcpy(more + R_NEW_STATX, &got, sizeof(got));
	memcpy(more + R_NEW_STAT, &x, sizeof(x));
	memcpy(more + R_NEW_PATH, path, len + 1);
	rig_done(rig, i, rec);
}

/* Whether the drain sees that a task has lied, says so once, and stops each of its calls
 * from then on. */
static inline bool rig_is_distrusted(struct rig *r, unsigned i)
{
	const struct slot *s = &r->task[i].slot;

	for (int time = 0; time < 2; time++) {
		drain_all(&r->t);
		if (!r->task[i].distrusted || s->ctl->limit || r->nlost != 1)
			return false;
	}
	return true;
}

#endif
