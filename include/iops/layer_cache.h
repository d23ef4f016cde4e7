/*
 * layer_cache.h - what the page cache and page faults add up to, in pages; the
 * operations are in op.h.
 */
#ifndef IOPS_LAYER_CACHE_H
#define IOPS_LAYER_CACHE_H

#include "iops/hist.h"
#include "iops/layer.h"
#include "iops/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, text) */
#define CACHE_COUNTS(X)                                                                  \
	X(HITS, "hits")                                                                  \
	X(MISSES, "misses")                                                              \
	X(MAPPED_HITS, "mapped_hits") /* of the hits: by page faults */                  \
	X(MAPPED_MISSES, "mapped_misses")                                                \
	X(READAHEAD, "readahead")                                                        \
	X(ADDED, "added") /* to be written, or for the file system itself */             \
	X(DIRTIED, "dirtied")                                                            \
	X(WRITTEN, "written")                                                            \
	X(EVICTED, "evicted") /* all that left; of these: */                             \
	X(RECLAIMED, "reclaimed")                                                        \
	X(INVALIDATED, "invalidated")                                                    \
	X(DROPPED, "dropped")

enum cache_count {
#define X(name, text) CACHE_##name,
	CACHE_COUNTS(X)
#undef X
		NCACHE_COUNTS,
};

/* X(name, text) */
#define FAULT_COUNTS(X)                                                                  \
	X(MAJOR, "major")                                                                \
	X(MINOR, "minor")                                                                \
	X(READ, "read")                                                                  \
	X(WRITE, "write")

enum fault_count {
#define X(name, text) FAULTS_##name,
	FAULT_COUNTS(X)
#undef X
		NFAULT_COUNTS,
};

enum { PAGES_COUNTS = NCACHE_COUNTS };

/* Of one file or process. */
struct pages_row {
	uint32_t key, comm; /* file, or process id */
	uint64_t n[PAGES_COUNTS];
	uint64_t left; /* pages that were dirty at the end, if that was told */
};

struct pages_table {
	struct map places; /* key -> place, plus 1 */
	struct pages_row *row;
	size_t n;
};

/* Of either layer. */
struct pages_sums {
	struct names *names;
	uint64_t n[PAGES_COUNTS], bytes[PAGES_COUNTS];
	struct hist time[2]; /* cache: of writeback; fault: of minor and of major ones */
	struct pages_table file, process;
	bool left;      /* was told */
	uint16_t *code; /* what each call is: see cache.c; 0 not looked at yet */
};

extern const struct layer_sums layer_cache_sums, layer_fault_sums;

const char *cache_count_name(unsigned count);
const char *fault_count_name(unsigned count);

#endif
