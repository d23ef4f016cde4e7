/*
 * folder.c - the folder of iops trace: its streams, and the snapshots beside them
 *
 * A sink that takes no operations: rows are written where there is more to tell than an
 * operation holds. It only keeps them flushed, and ends them.
 */
#include "iops/folder.h"
#include "iops/anon.h"
#include "iops/sink.h"
#include "iops/snapshot.h"
#include "iops/stream.h"
#include "iops/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct folder {
	struct sink sink;
	struct anon *anon;
	struct streams *streams;
	struct snapshots *snapshots;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int folder_put(struct sink *s, const struct op *op)
{
	(void)s;
	(void)op;
	return 0;
}

static int folder_flush(struct sink *s)
{
	struct folder *f = (struct folder *)s;
	uint64_t now = now_ns();
	int err = f->snapshots ? snapshots_tick(f->snapshots, now) : 0;
	int late = streams_flush(f->streams, now);

	/* A full disk is told once and counted row by row: the trace goes on. */
	(void)err;
	(void)late;
	return 0;
}

static int folder_close(struct sink *s)
{
	struct folder *f = (struct folder *)s;
	int err = f->snapshots ? snapshots_close(f->snapshots) : 0;
	int late = f->streams ? streams_close(f->streams) : 0;

	anon_free(f->anon);
	free(f);
	return err ? err : late;
}

static const struct sink_ops folder_ops = {
	.name = "folder",
	.put = folder_put,
	.flush = folder_flush,
	.close = folder_close,
};

struct streams *folder_streams(const struct folder *f)
{
	return f ? f->streams : NULL;
}

struct sink *folder_sink(struct folder *f)
{
	return &f->sink;
}

int folder_new(struct folder **out, const struct trace_options *t, uint64_t started_ns,
	uint64_t epoch_ns)
{
	struct folder *f = calloc(1, sizeof(*f));
	int err = f ? 0 : -ENOMEM;

	if (!err) {
		f->sink.ops = &folder_ops;
		err = t->anonymous ? anon_new(&f->anon, t->key_file) : 0;
	}
	if (!err)
		err = streams_open(&f->streams, &(struct streams_args){
							.dir = t->dir,
							.plain = t->plain,
							.rotate_bytes = t->rotate_bytes,
							.rotate_ns = t->rotate_ns,
							.started_ns = started_ns,
							.epoch_ns = epoch_ns,
							.anon = f->anon,
						});
	if (!err && t->snapshots)
		err = snapshots_open(&f->snapshots, &(struct snapshot_args){
							    .what = t->snapshots,
							    .streams = f->streams,
							    .dir = t->dir,
							    .anon = f->anon,
							    .roots = t->root,
							    .nroots = t->nroots,
						    });
	if (err < 0) {
		if (f)
			folder_close(&f->sink);
		return err;
	}
	*out = f;
	return 0;
}
