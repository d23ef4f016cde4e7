/*
 * procs.c - the stream process
 */
#include "parts.h"
#include "cpu.h"
#include "feed.h"
#include "procfs.h"
#include "iops/diag.h"
#include "iops/snapshot.h"
#include "iops/stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS                                                                          \
	"timestamp,pid,name,cmdline,vms_kb,rss_kb,creation_time,cpu_5s,cpu_2m,cpu_1h,"   \
	"status,mono_ns"
#define SECOND UINT64_C(1000000000)

enum { CMDLINE = 32 << 10 };

struct procs {
	struct feed *feed;
	struct stream *stream;
	uint64_t every_ns, due_ns; /* due_ns 0: at once */
	uint64_t shot_ns;          /* when the last snapshot began */
	uint64_t boot_ns; /* real time of the boot: one, so that a process has one */
	char *cmdline;

	/* of the worker while it works */
	bool rows; /* this pass is a snapshot, not only a sample */
	uint64_t tick_ns;
	struct cpu cpu;
};

/* Before its name and its command line. */
struct row {
	int pid;
	char state;
	uint64_t vms_kb, rss_kb;
	int64_t began_sec; /* real time */
	uint32_t began_nsec;
	double percent[CPU_WINDOWS];
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static int put_row(struct procs *p, struct feed *feed, int proc, struct procfs_stat *s,
	struct row *row)
{
	uint64_t began = p->boot_ns + s->start * p->tick_ns;

	if (procfs_memory(proc, s->pid, &row->vms_kb, &row->rss_kb) < 0 ||
		procfs_cmdline(proc, s->pid, p->cmdline, CMDLINE, s->name) < 0)
		return 0; /* it has ended meanwhile */
	row->pid = s->pid;
	row->state = s->state;
	row->began_sec = began / SECOND;
	row->began_nsec = began % SECOND;
	struct iovec part[] = { { row, sizeof(*row) }, { s->name, strlen(s->name) + 1 },
		{ p->cmdline, strlen(p->cmdline) + 1 } };
	return feed_put(feed, part, 3);
}

static int one(struct procs *p, struct feed *feed, int proc, int pid)
{
	struct procfs_stat s;
	struct row row = { 0 };

	if (procfs_stat(proc, pid, &s) < 0)
		return 0;
	cpu_reached(&p->cpu, now(CLOCK_BOOTTIME));
	int err = cpu_sample(&p->cpu, pid, s.start, s.used, row.percent);
	return err || !p->rows ? err : put_row(p, feed, proc, &s, &row);
}

static int work(void *ctx, struct feed *feed)
{
	struct procs *p = ctx;
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int err = 0;

	if (!dir)
		return diag_err(errno, "/proc");
	cpu_begin(&p->cpu, now(CLOCK_BOOTTIME));
	while (!err && !feed_hurried(feed) && (d = readdir(dir))) {
		int pid = atoi(d->d_name);
		if (pid > 0)
			err = one(p, feed, dirfd(dir), pid);
	}
	closedir(dir);
	if (!err)
		err = cpu_end(&p->cpu);
	return err < 0 && err != -ECANCELED ? diag_err(err, "snapshot of processes")
					    : err;
}

static int take(void *ctx, const void *record)
{
	struct procs *p = ctx;
	const struct row *row = record;
	const char *name = (const char *)(row + 1);
	struct stream *t = p->stream;

	stream_time(t, p->shot_ns);
	stream_u64(t, row->pid);
	stream_text(t, name);
	stream_text(t, name + strlen(name) + 1);
	stream_u64(t, row->vms_kb);
	stream_u64(t, row->rss_kb);
	put_real_time(t, row->began_sec, row->began_nsec);
	for (int i = 0; i < CPU_WINDOWS; i++) {
		if (row->percent[i] < 0)
			stream_none(t);
		else
			stream_real(t, row->percent[i], 2);
	}
	stream_word(t, procfs_state(row->state));
	stream_u64(t, p->shot_ns);
	return stream_end(t);
}

/* When the machine was started, in ns since 1970. Whoever is kept waiting between one
 * clock and the other asks again. */
static uint64_t booted(void)
{
	enum { TRIES = 20, SOON_NS = 50 * 1000 };
	uint64_t best = UINT64_MAX, at = 0;

	for (int i = 0; i < TRIES && best > SOON_NS; i++) {
		uint64_t before = now(CLOCK_REALTIME), since = now(CLOCK_BOOTTIME),
			 took = now(CLOCK_REALTIME) - before;
		if (took < best) {
			best = took;
			at = before + took / 2 - since;
		}
	}
	return at;
}

int procs_open(struct procs **out, const struct snapshot_args *args)
{
	static const struct feed_ops ops = { work, take };
	struct procs *p = calloc(1, sizeof(*p));
	int err = p ? feed_new(&p->feed, &ops, p) : -ENOMEM;

	if (!err) {
		p->every_ns =
			args->process_every_ns ? args->process_every_ns : 300 * SECOND;
		p->tick_ns = p->cpu.tick_ns = SECOND / sysconf(_SC_CLK_TCK);
		p->boot_ns = booted();
		p->cmdline = malloc(CMDLINE);
		err = p->cmdline ? 0 : -ENOMEM;
	}
	if (!err)
		err = streams_add(args->streams, &p->stream, "process", COLUMNS);
	if (err < 0) {
		procs_close(p);
		return err;
	}
	*out = p;
	return 0;
}

int procs_begin(struct procs *p, uint64_t mono_ns)
{
	if (feed_busy(p->feed) || feed_hurried(p->feed))
		return 0;
	p->rows = mono_ns >= p->due_ns;
	bool sample = cpu_due(&p->cpu, mono_ns, p->rows ? mono_ns : p->due_ns);
	if (p->rows) {
		p->shot_ns = mono_ns;
		p->due_ns = mono_ns + p->every_ns;
	}
	int err = p->rows || sample ? feed_start(p->feed) : 0;
	return err < 0 ? diag_err(err, "snapshot of processes") : 0;
}

int procs_drain(struct procs *p, uint64_t budget_ns)
{
	int err = feed_drain(p->feed, budget_ns);

	return err == -ECANCELED ? 0 : err;
}

void procs_hurry(struct procs *p)
{
	feed_hurry(p->feed);
}

void procs_close(struct procs *p)
{
	if (!p)
		return;
	feed_free(p->feed);
	cpu_fini(&p->cpu);
	free(p->cmdline);
	free(p);
}
