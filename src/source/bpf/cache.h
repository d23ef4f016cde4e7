/*
 * cache.h - what cache.c, cache_rows.c and fault.c share
 */
#ifndef IOPS_BPF_CACHE_H
#define IOPS_BPF_CACHE_H

#include "bpf.h"
#include "cache_records.h"

struct stream;

/* Of both layers; each has a stream if it is wanted. */
struct cache {
	uint16_t call[NCACHE_EVENTS];
	uint16_t fault[2];     /* minor, major */
	struct map files;      /* inode, generation and device -> file */
	unsigned page;         /* bytes */
	struct stream *rows;   /* NULL: not wanted */
	struct stream *faults; /* likewise */
};

/* The name of who did it: of a process that is gone by now, too. */
uint32_t cache_comm(struct bpf *b, const struct rec *r, const char comm[16], bool *known);

int cache_rows_open(struct bpf *b);
void cache_rows_put(struct bpf *b, const struct rec_cache *r, const struct op *op);
void cache_rows_fault(struct bpf *b, const struct rec_fault *r, const struct op *op);

#endif
