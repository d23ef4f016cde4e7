/*
 * uring.h - a ring of io_uring(7), shared by uring*.c
 */
#ifndef IOPS_PTRACE_URING_H
#define IOPS_PTRACE_URING_H

#include "async.h"

#include <linux/io_uring.h>

/* What headers of older kernels lack. */
enum {
	SETUP_NO_SQARRAY = 1 << 16,
	SETUP_NEWEST = 1 << 17,  /* IORING_SETUP_HYBRID_IOPOLL */
	SETUP_NO_MMAP = 1 << 14, /* the memory is the program's own */
	SETUP_FD_ONLY = 1 << 15, /* there is no descriptor */
	URING_READ_MULTISHOT = 49,
	URING_FTRUNCATE = 55,
	URING_READV_FIXED = 60,
	URING_WRITEV_FIXED = 61,
	URING_RECV_ZC = 58,
	URING_PIPE = 62,
	URING_LIMIT = 64,
	NO_OPCODE = 0xff,
	REGISTERED_RINGS = 16, /* IO_RINGFD_REG_MAX */
	PATIENCE = 2,          /* stops of a task, until it need not */
	AMONG_THREADS = 32, /* times that, where others may enter it at the same time */
	AHEAD = 64,         /* of what a call asks for, others may take the first */
	FILES_MAX = 1 << 20,
	SQ_MAX = 1 << 15, /* IORING_MAX_ENTRIES */
	CQ_MAX = 1 << 16,
	SILENT_MAX = 1 << 12,
	FILES_STEP = 256,
	LOST_MAX = 1 << 20,
	REGISTER_RESIZE = 33,     /* IORING_REGISTER_RESIZE_RINGS */
	ENTER_ABS_TIMER = 1 << 5, /* IORING_ENTER_ABS_TIMER */
	ENTER_ARG_REG = 1 << 6,   /* IORING_ENTER_EXT_ARG_REG */
	BY_REGISTERED = INT_MIN,  /* IORING_REGISTER_USE_REGISTERED_RING */
};

/* Those of the kernel that we see. */
struct view {
	uint8_t *sq, *cq;
	const struct io_uring_sqe *entry;
	size_t sq_size, cq_size, entry_size;
};

/* What a ring has ready, as it was seen last: once the kernel has taken it, it is asked
 * for. number: plus 1; 0: none. */
struct offer {
	uint64_t number;
	bool dropped; /* by the kernel as well */
	bool noted;   /* by the hook */
	struct request request;
};

/* What a request is to register, in order: from at on, or where there is room, which will
 * be said in the place of each. */
struct update {
	struct update *next;
	uint64_t number, from;
	uint32_t at, n;
	struct registered file[];
};

/* An answer that waits for those before it, or for its request to be known. */
struct late {
	uint64_t word, now;
	int32_t res;
	uint32_t flags;
	bool seen;
};

struct uring {
	struct uring *next;
	struct process *process; /* whose it is; NULL: closed */
	int fd;
	pid_t only;      /* the task that alone enters it; 0: none yet; -1: several do */
	unsigned inside; /* tasks in io_uring_enter(2) of it */
	unsigned submitting; /* ... that stop, and have some taken */
	bool ends;           /* with its process */
	struct io_uring_params p;
	struct view view;    /* sq: NULL: none any more */
	struct offer *offer; /* what may be asked for, by number, from decoded on */
	unsigned noffers, positions; /* positions: those that go by one */
	uint64_t decoded;            /* requests up to here are known */
	uint64_t head;               /* and these the kernel has taken */
	uint32_t answered;           /* likewise answers */
	uint32_t done;               /* and these have got to their requests */
	uint32_t told;               /* and these are in what the hook has told of */
	struct late *late;           /* answers by number, from there on */
	struct requests flying;
	uint64_t severed; /* a chain that has failed, of which more may be taken */
	bool silenced;    /* ... and is not answered */
	bool timeouts;    /* has been asked for some, which end each wait */
	bool hushed;      /* ... and are not answered */
	unsigned silent;  /* requests that are answered only if they fail, so far */
	struct registered *file;
	struct update *updates; /* asked for */
	unsigned nfile;
	/* fast/uring_hook.c: its parts in a mapping of ours there, and where it is said
	 * how many answers the hook has noted; stops: that cannot be. */
	bool stops;
	const struct space *space;
	uint64_t at[3], len[3];
	struct rings *rings;
	unsigned known;    /* which of its words, plus 1 */
	unsigned entrants; /* tasks that have entered it so */
	struct {
		pid_t tid;
		unsigned index;
	} registered[REGISTERED_RINGS]; /* itself, with these tasks; tid 0: not */
};

static inline uint32_t uring_word(const uint8_t *ring, uint32_t at)
{
	return __atomic_load_n((const uint32_t *)(ring + at), __ATOMIC_ACQUIRE);
}

/* uring_view.c. tid: who has made it. */
bool uring_show(struct uring *r, pid_t tid);
void uring_hide(struct uring *r);

static inline struct uring *uring_of(
	const struct tracer *t, const struct process *p, int fd)
{
	struct uring *r = t->awaited ? t->awaited->rings : NULL;

	while (r && (r->process != p || r->fd != fd))
		r = r->next;
	return r;
}

/* By its place among those that are registered with a task. */
static inline struct uring *uring_registered_as(
	const struct tracer *t, pid_t tid, unsigned index)
{
	struct uring *r = t->awaited ? t->awaited->rings : NULL;

	for (; r; r = r->next)
		for (unsigned i = 0; i < REGISTERED_RINGS; i++)
			if (r->registered[i].tid == tid &&
				r->registered[i].index == index)
				return r;
	return NULL;
}

/* Whether some that are under way go by a position, and move it. */
static inline bool uring_moves(const struct tracer *t)
{
	const struct uring *r = t->awaited ? t->awaited->rings : NULL;

	while (r && !r->positions && !r->flying.positions)
		r = r->next;
	return r;
}

/* That which a call enters, but for aliases. */
static inline struct uring *uring_of_call(
	const struct tracer *t, const struct task *k, uint64_t fd, uint64_t flags)
{
	return flags & IORING_ENTER_REGISTERED_RING
		       ? uring_registered_as(t, k->tid, (unsigned)fd)
		       : uring_of(t, k->process, (int)fd);
}

/* Whether a task enters it through the hook. */
static inline bool uring_is_entered(const struct uring *r, const struct task *k)
{
	return r->known && k->slot.ctl && k->process == r->process &&
	       k->slot.ctl->uring.fd >= 0 &&
	       k->slot.ctl->uring.known ==
		       SLOTS_AT + KNOWN_OFFSET + 4 * (uint64_t)(r->known - 1);
}

/*
 * Of answers that the program has read, so many last ones are surely still there: the
 * kernel writes over those, and its tail tells so behind a batch. Where no other task can
 * be in the ring there are none but those of its own threads, which come one by one; else
 * it is taken that a batch is not more than half of the ring.
 */
static inline uint32_t uring_safe(const struct uring *r, bool alone)
{
	return alone ? r->p.cq_entries - 1 : r->p.cq_entries / 2;
}

/* uring_seen.c: what has been answered since the last look. k: whose stop this is, if
 * anybody's. */
void uring_answered(struct tracer *t, const struct task *k, struct uring *r);

/* uring_answer.c: an answer with its number, if it is new. lose: those before a number
 * that have not been seen will not be. progress: more of the requests are known. */
void uring_answer(struct tracer *t, struct uring *r, const struct io_uring_cqe *c,
	uint32_t number, uint64_t now);
void uring_lose(struct tracer *t, struct uring *r, uint32_t number);
void uring_progress(struct tracer *t, struct uring *r);

/* uring_chain.c: one has moved so much, or failed: what is linked to it is not made. Is
 * silent about the rest of a chain: that one is taken that will not be answered. late: to
 * one that is silent and has not failed: it is short.
 */
void uring_sever(struct tracer *t, struct uring *r, const struct request *q, int32_t res);
bool uring_severed(const struct uring *r, struct request *q);
struct request *uring_short(const struct uring *r, uint64_t word, int32_t res);

/* fast/uring_told.c: what a task has noted in the call of it that it is in, or has told
 * of one. */
void uring_flight(struct tracer *t, struct uring *r, struct task *k);
bool uring_told(struct tracer *t, struct task *k, const struct fast_rec *rec);

/* fast/uring_hook.c: how many answers are known, to the hook; it is not needed there any
 * more. */
void uring_tell(const struct uring *r);
void uring_unhook(struct uring *r);
void uring_keeps(struct tracer *t, const struct task *k, struct uring *r);

/* uring_files.c: what is registered. set: a place has another one, or none. find: the one
 * that op[i] of a request is about, if it is known by now. made: what an open of that
 * result is of, which may have made it. put_update, drop_update: a request is to register
 * some, is another one by now. renew: what one has registered or given up, by its result;
 * one that is silent is taken to succeed, keep, put_back: but may not.
 */
void uring_forget(struct tracer *t, struct task *k, int fd);
bool uring_room(struct uring *r, unsigned n);
void uring_set_file(struct uring *r, uint32_t place, uint32_t file, int flags);
void uring_put_update(struct tracer *t, struct task *k, struct uring *r, uint64_t number,
	const struct io_uring_sqe *s);
void uring_keep(const struct uring *r, struct request *q);
void uring_put_back(struct uring *r, const struct request *q);
void uring_renew(struct tracer *t, struct uring *r, const struct request *q, int32_t res);
void uring_drop_update(struct uring *r, uint64_t number);
bool uring_find_file(struct tracer *t, struct uring *r, struct request *q, int i);
void uring_made_file(struct tracer *t, struct request *q, int32_t res);
void uring_put_files(struct tracer *t, struct task *k, struct uring *r, uint64_t from,
	unsigned at, unsigned n);

/* uring_ask.c: what is ready when a task enters it to have so many taken; or an entry
 * that the hook has noted then. taken: the kernel has, up to a number, or as the ring
 * says; give_up: what has not been seen of that is lost. head: how far the kernel is. */
void uring_ask(struct tracer *t, struct task *k, struct uring *r, uint32_t most);
void uring_offer(struct tracer *t, struct task *k, struct uring *r, int64_t first,
	unsigned i, const struct io_uring_sqe *s, uint64_t now);
uint64_t uring_head(const struct uring *r);
void uring_taken(struct tracer *t, struct uring *r, uint64_t head);
void uring_give_up(struct tracer *t, struct uring *r);
bool uring_proves(struct tracer *t, struct uring *r, uint64_t word);

#endif
