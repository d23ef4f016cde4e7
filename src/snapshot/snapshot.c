/*
 * snapshot.c - the snapshots together
 */
#include "iops/snapshot.h"
#include "parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* In one call. */
#define BUDGET_NS (20 * UINT64_C(1000000))

struct snapshots {
	struct files *files; /* NULL: not wanted */
	struct procs *procs;
	bool begun;
};

static int begin(struct snapshots *s, uint64_t mono_ns)
{
	/* Processes are few and quick: they come first. */
	int procs = s->procs ? procs_begin(s->procs, mono_ns) : 0;
	int files = s->files ? files_begin(s->files, mono_ns) : 0;

	s->begun = true;
	return procs ? procs : files;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int drain(struct snapshots *s, uint64_t budget_ns)
{
	uint64_t from = now_ns();
	int procs = s->procs ? procs_drain(s->procs, budget_ns) : 0;
	uint64_t took = budget_ns == UINT64_MAX ? 0 : now_ns() - from;
	uint64_t left = took < budget_ns ? budget_ns - took : 0;
	int files = s->files ? files_drain(s->files, left) : 0;

	return procs ? procs : files;
}

int snapshots_tick(struct snapshots *s, uint64_t mono_ns)
{
	int err = begin(s, mono_ns), late = drain(s, BUDGET_NS);

	return err ? err : late;
}

void snapshots_hurry(struct snapshots *s)
{
	if (s->files)
		files_hurry(s->files);
	if (s->procs)
		procs_hurry(s->procs);
}

static void end(struct snapshots *s)
{
	procs_close(s->procs);
	files_close(s->files);
	free(s);
}

int snapshots_close(struct snapshots *s)
{
	int err = 0;

	if (!s)
		return 0;
	if (!s->begun)
		err = begin(s, now_ns());
	int late = drain(s, UINT64_MAX);
	end(s);
	return err ? err : late;
}

int snapshots_open(struct snapshots **out, const struct snapshot_args *args)
{
	struct snapshots *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	if (!err && args->what & SNAPSHOT_SYSTEM)
		err = system_write(args);
	if (!err && args->what & SNAPSHOT_PROCESS)
		err = procs_open(&s->procs, args);
	if (!err && args->what & SNAPSHOT_FS)
		err = files_open(&s->files, args);
	if (err < 0) {
		if (s)
			end(s);
		return err;
	}
	*out = s;
	return 0;
}
