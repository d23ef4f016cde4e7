/*
 * cache_records.h - what is told of the page cache and of page faults
 */
#ifndef IOPS_BPF_CACHE_RECORDS_H
#define IOPS_BPF_CACHE_RECORDS_H

#include "records.h"

/* What became of pages. The first ten have the numbers of the stream's words. */
enum cache_event {
	CACHE_HIT,  /* was there when it was read */
	CACHE_MISS, /* was not: came in by the reader, within what it asked for */
	CACHE_DIRTY,
	CACHE_WRITEBACK_START,
	CACHE_WRITEBACK_END,
	CACHE_EVICT,      /* left, for no reason of the following */
	CACHE_INVALIDATE, /* by posix_fadvise(2), or a direct write over it */
	CACHE_DROP,       /* its part of the file is no more */
	CACHE_READAHEAD,  /* came in, and nobody had asked for it yet */
	CACHE_RECLAIM,    /* left, as memory was short */
	CACHE_ADD,        /* came in to be written, or for the file system itself */
	CACHE_MAPPED_HIT, /* as HIT and MISS, of a page fault */
	CACHE_MAPPED_MISS,
	NCACHE_EVENTS,
};

/*
 * A run of pages of one file, by one thread. Several calls may be one record: pages is
 * how often one was, span how many different ones lie from first on.
 */
struct rec_cache {
	struct rec head; /* row: enum cache_event; at_ns: of the first of them */
	__u64 inode, size, first, pages, span;
	__u64 dur_ns;    /* WRITEBACK_END */
	__u32 dev, rdev; /* as in rec_file; rdev: the file is this device */
	__u16 cpu;
	__u8 alias; /* the name is not that of an open file, but any one */
	__u8 pad;
	__u32 generation; /* tells inodes of one number apart */
	char comm[16];
};

enum { FAULT_WRITE = 1, FAULT_MAJOR = 2, FAULT_TIMED = 4, FAULT_KNOWN = 8 };

/* A page fault that has been served, in memory that is mapped from a file. */
struct rec_fault {
	struct rec head; /* row: FAULT_... */
	__u64 inode, address, offset, dur_ns;
	__u32 dev, cpu;
	char comm[16];
};

#endif
