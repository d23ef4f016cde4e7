/*
 * story.h - what became of a program's I/O, from the call to the device
 */
#ifndef IOPS_REPORT_STORY_H
#define IOPS_REPORT_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_in;

/* One direction. Bytes, but for what says otherwise. */
struct flow {
	uint64_t asked, calls, call_ns; /* by calls, what they got */
	uint64_t hit, missed,
		ahead; /* reads: found in the cache, not found, read ahead */
	uint64_t mapped_hit, mapped_missed; /* of these: by mappings */
	uint64_t dirtied, dropped, left; /* writes: made dirty; thrown away; dirty yet */
	uint64_t device, requests, device_ns;
};

/* Of one file, under its newest path; or of all. */
struct story_row {
	uint32_t file; /* names */
	struct flow side[2];
	uint64_t syncs, sync_ns;     /* calls */
	uint64_t flushes, flush_ns;  /* of the device's own cache */
	uint64_t faults, all_faults; /* major ones, and all */
};

struct story {
	struct story_row total, *row; /* largest first */
	size_t n, cap;
	uint64_t page;     /* bytes */
	uint64_t fault_ns; /* of major ones */
};

/* Whether all layers were traced that it takes. */
bool story_there(const struct report_in *in);

/* 0 or -ENOMEM; story_fini() in any case. */
int story_of(struct story *s, const struct report_in *in);
void story_fini(struct story *s);

/* The JSON object; a table of its own. 0 or -errno. */
int story_json(FILE *out, const struct report_in *in);
int story_table(FILE *out, const struct report_in *in);

#endif
