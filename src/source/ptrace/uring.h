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
	FILES_MAX = 1 << 20,
	SQ_MAX = 1 << 15, /* IORING_MAX_ENTRIES */
	CQ_MAX = 1 << 16,
	SILENT_MAX = 1 << 12,
	FILES_STEP = 256,
	LOST_MAX = 1 << 20,
	REGISTER_RESIZE = 33,     /* IORING_REGISTER_RESIZE_RINGS */
	ENTER_ABS_TIMER = 1 << 5, /* IORING_ENTER_ABS_TIMER */
	BY_REGISTERED = INT_MIN,  /* IORING_REGISTER_USE_REGISTERED_RING */
};

/* Those of the kernel that we see. */
struct view {
	uint8_t *sq, *cq;
	const struct io_uring_sqe *entry;
	size_t sq_size, cq_size, entry_size;
};

struct uring {
	struct uring *next;
	struct process *process; /* whose it is; NULL: closed */
	int fd;
	unsigned inside; /* tasks in io_uring_enter(2) of it */
	struct io_uring_params p;
	struct view view;  /* sq: NULL: none any more */
	uint64_t decoded;  /* requests up to here are known */
	uint32_t answered; /* likewise answers */
	struct requests flying;
	bool timeouts;   /* has been asked for some, which end each wait */
	unsigned silent; /* requests that are answered only if they fail, so far */
	uint32_t *file;  /* registered: ids in names */
	unsigned nfile;
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

/* uring_files.c: what is registered. set: a request has made or given up one. */
bool uring_room(struct uring *r, unsigned n);
void uring_set_file(struct uring *r, uint32_t place, uint32_t file);
void uring_put_files(struct tracer *t, struct task *k, struct uring *r, uint64_t from,
	unsigned at, unsigned n);

/* uring_ask.c: the requests that the kernel is about to take, no more than most; those
 * that it has not taken after all. */
void uring_ask(struct tracer *t, struct task *k, struct uring *r, uint32_t most);
void uring_settle(struct tracer *t, struct uring *r);

#endif
