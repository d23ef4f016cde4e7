/*
 * async.h - what is asked of the kernel without a call for each, shared by uring.c, aio.c
 */
#ifndef IOPS_PTRACE_ASYNC_H
#define IOPS_PTRACE_ASYNC_H

#include "iops/async.h"
#include "tracer.h"

enum { REQUESTS_MAX = 1 << 20 };

/* Many requests in a row are about one descriptor: it is asked for once. All zero is
 * empty. */
struct asked_last {
	bool is;
	int fd;
	struct fd_view view;
};

/* Asked for, and not answered yet. The first four members are requests.c's own. */
struct request {
	uint64_t key; /* what the answer will bear: user_data, the iocb's address */
	unsigned next, last; /* of the same key, plus 1; last: of the oldest of them */
	bool used;
	uint64_t at;     /* its place among those that were asked for */
	bool wanted;     /* by -e */
	bool silent;     /* is answered only if it fails */
	uint8_t moves;   /* bit i: op[i] goes by the position of its descriptor */
	uint8_t changes; /* CHANGES_, besides what a write does */
	uint8_t opcode;  /* IORING_OP_... */
	uint64_t
		chain; /* of the first of those that are linked to it, its place plus 1 */
	bool links;    /* the next one to it */
	bool severs;   /* ... which is not made if it fails */
	bool whole;    /* it fails if it moves less than it was to */
	bool called_off; /* one before it has failed, and it is answered for that */
	/* It follows on some that may change what is registered: on which that will not
	 * be answered, so that what they make is known once they are taken, or on others.
	 */
	enum { RENEWS_NOTHING, RENEWS_TAKEN, RENEWS_ANSWERED } renews;
	bool updated; /* ... in its call, though they are not linked to it */
	bool behind;  /* ... or if it has to wait for them */
	bool drained; /* as it has for all before it */
	bool sends;   /* a registered file, to another ring: op[0].fd */
	uint32_t to;  /* its place there, plus 1 */
	struct registered {
		uint32_t file; /* in names */
		int flags;     /* how it is open, -1: not known */
	} was;          /* what was in its place, if it is silent: it may be called off */
	int32_t direct; /* fills this place among the registered files; -1: none */
	int32_t place[2]; /* op[i] is about the file that will be there; -1: of none */
	uint64_t off[2];  /* ... and begins there; UINT64_MAX: at the position */
	uint32_t rw;      /* RWF_... of a read or a write */
	int open;         /* O_... of an open; -1: not known */
	bool appends;     /* at the end of its file, wherever that is */
	uint64_t addr;    /* where a pipe is said to be */
	bool cut;         /* what did not fit into it is said to be moved as well */
	uint64_t header;  /* so much of what is said to be moved is none of it */
	int64_t result;   /* of its answer; OP_NO_OFFSET: there is none */
	bool two;
	bool cuts;      /* may set the size of any file, as long as it is under way */
	bool renames;   /* likewise names; not if nobody would say when it has */
	uint64_t since; /* it is under way */
	struct file_end *end[2]; /* of what op[i] may make longer; NULL: of none */
	struct op op[2];
};

enum {
	CHANGES_END = 1,     /* the size of its file */
	CHANGES_ANY_END = 2, /* that of a file that is not known */
	CHANGES_NAMES = 4,
};

/* Of one ring or context. All zero is empty. */
struct requests {
	struct request *all;
	unsigned cap, n, positions; /* positions: those that go by one */
	unsigned unused;   /* unused: the first of those, plus 1, by their next */
	struct map oldest; /* of each key, plus 1 */
};

/* requests.c. add, put (one that is complete): NULL where there are too many, or no
 * memory. find: the oldest of a key. undo: those from that place on, of one task or (0)
 * of all, are not asked for after all; how many of them were wanted. refuse: the one at
 * that place has failed with err by then.
 */
struct request *requests_add(struct requests *q, uint64_t key);
struct request *requests_put(struct requests *q, const struct request *what);
struct request *requests_find(const struct requests *q, uint64_t key);
void requests_done(struct tracer *t, struct requests *q, struct request *r);

/* Whether an answer at that time to the one may be one to the next of its key, which is
 * another. */
bool requests_confused(const struct requests *q, const struct request *r, uint64_t now);
unsigned requests_undo(struct tracer *t, struct requests *q, uint64_t from, pid_t tid);
bool requests_refuse(struct tracer *t, struct requests *q, uint64_t at, pid_t tid,
	int64_t err, uint64_t now);
void requests_fini(struct tracer *t, struct requests *q);

/* What a tracer knows. Made when a program asks for the first ring or context. */
struct awaited {
	struct uring *rings;
	struct aio *contexts;
	uint16_t call[NASYNC][256];
	uint8_t wanted[NASYNC][256]; /* 0: to be asked; 1: no, 2: yes */
};

/* Not so what no read or write returns: read(2) and errno(3) name the limits. The target
 * can write to where it is told. */
static inline bool request_may_return(const struct request *q, int64_t result)
{
	bool moves = q->op[0].kind == OP_READ || q->op[0].kind == OP_WRITE;

	return !moves || (result >= -4095 && result <= 0x7ffff000);
}

struct awaited *awaited_of(struct tracer *t); /* NULL: no memory */
bool async_counts(const struct tracer *t, const struct task *k);

/* A request of a task, as far as its number tells. Its file is to be added. */
void async_begin(struct tracer *t, const struct task *k, struct request *r,
	enum async which, unsigned number, uint64_t now);
const struct fd_view *async_file(
	struct tracer *t, struct task *k, struct asked_last *last, int fd);

/* Whether its file has offsets. */
bool async_seeks(const struct tracer *t, uint32_t file);

/* It is answered: an operation. */
void async_end(struct tracer *t, struct request *r, int64_t res, uint64_t now);

/* fast/flight.c: a task stands before the call that has it taken; it is under way; it is
 * answered, or will not be (t: NULL where nothing is kept). */
void flight_asked(struct tracer *t, struct task *k, struct request *q);
void flight_begins(struct tracer *t, struct request *q);
void flight_ends(struct tracer *t, struct request *q);

/* Nothing will be seen of these any more. ends: their process does, and with it what is
 * under way. */
void async_lost(struct tracer *t, const struct process *p, uint64_t n);
void async_lose(
	struct tracer *t, const struct process *p, const struct requests *q, bool ends);

#endif
