/*
 * folder.h - where iops trace leaves its rows and snapshots: trace -o DIR.
 */
#ifndef IOPS_FOLDER_H
#define IOPS_FOLDER_H

#include <stdint.h>

struct folder;
struct sink;
struct streams;
struct trace_options;

/* Make it, as t says. started_ns: real time of epoch_ns. Says what is wrong; 0 or -errno.
 */
int folder_new(struct folder **out, const struct trace_options *t, uint64_t started_ns,
	uint64_t epoch_ns);

/* Where rows go; NULL-safe. */
struct streams *folder_streams(const struct folder *f);

/* Keeps it flushed; its close() is that of the folder. */
struct sink *folder_sink(struct folder *f);

#endif
