/*
 * parts.h - the snapshots that snapshot.c runs. Each begins what is due in a thread, and
 * writes what that has found: for budget_ns, or, if UINT64_MAX, until it has ended.
 */
#ifndef IOPS_SNAPSHOT_PARTS_H
#define IOPS_SNAPSHOT_PARTS_H

#include <stdint.h>

struct snapshot_args;
struct stream;

struct files;
int files_open(struct files **out, const struct snapshot_args *args);
int files_begin(struct files *f, uint64_t mono_ns);
int files_drain(struct files *f, uint64_t budget_ns);
void files_hurry(struct files *f);
void files_close(struct files *f); /* only when drained; NULL is nothing */

struct procs;
int procs_open(struct procs **out, const struct snapshot_args *args);
int procs_begin(struct procs *p, uint64_t mono_ns);
int procs_drain(struct procs *p, uint64_t budget_ns);
void procs_hurry(struct procs *p);
void procs_close(struct procs *p);

/* Write DIR/system_spec. Says what is wrong. */
int system_write(const struct snapshot_args *args);

/* A field of real time, as stream_time() writes them. */
void put_real_time(struct stream *t, int64_t sec, uint32_t nsec);

#endif
