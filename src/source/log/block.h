/*
 * block.h - a block of the operation log in memory, decoded one operation at a time.
 */
#ifndef IOPS_SOURCE_LOG_BLOCK_H
#define IOPS_SOURCE_LOG_BLOCK_H

#include "iops/op.h"
#include "iops/wire.h"

#include <stdbool.h>

struct names;

struct block_context {
	struct op op; /* what its operations share */
	uint64_t want, next;
};

struct block {
	struct wire_in ids, flags, times, values; /* columns that are left */
	uint32_t *string, *file;                  /* ids in names, by place; 0 is none */
	struct block_context *context;
	size_t nstring, nfile, ncontext; /* told of in this block */
	size_t seen;                     /* contexts that operations have come to */
	size_t capstring, capfile, capcontext;
	uint64_t left;                     /* records */
	uint64_t start_ns, dur_ns, end_ns; /* of the operation before */
};

/* Read names and contexts of a payload, borrowed. 0, -EINVAL or -ENOMEM. */
int block_open(struct block *b, struct wire_in payload, struct names *names);

/* The next operation. 1; 0 at the end; -EINVAL. */
int block_next(struct block *b, struct op *op);

void block_fini(struct block *b);

#endif
