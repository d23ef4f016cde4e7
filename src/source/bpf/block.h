/*
 * block.h - what block.c and block_rows.c share
 */
#ifndef IOPS_BPF_BLOCK_H
#define IOPS_BPF_BLOCK_H

#include "bpf.h"

struct stream;

/* linux/blk_types.h */
enum {
	REQ_READ = 0,
	REQ_WRITE = 1,
	REQ_FLUSH = 2,
	REQ_DISCARD = 3,
	REQ_SECURE_ERASE = 5,
	REQ_ZONE_APPEND = 7,
	REQ_WRITE_ZEROES = 9,
	REQ_OP_BITS = 0xff,
	REQ_PREFLUSH_BIT = 1 << 18,
};

/* Who queued requests, by the id of the thread. */
struct submitter {
	pid_t pid, ppid;
	uint32_t comm;
};

struct device {
	uint32_t dev;  /* major << 20 | minor */
	uint32_t file; /* its node */
};

/* Names of one event: of data and flushes, of discards, of what else there is. */
enum block_words { WORD_PLAIN, WORD_DISCARD, WORD_PASSTHROUGH, NWORDS };

struct block {
	uint16_t call[NBLOCK_EVENTS][NWORDS];
	uint16_t q2c;
	struct map submitters, devices; /* by tid, by dev */
	struct stream *rows;            /* NULL: not wanted */
};

int block_rows_open(struct bpf *b);
void block_rows_put(
	struct bpf *b, const struct rec_block_done *r, const struct op *op, pid_t ppid);

#endif
