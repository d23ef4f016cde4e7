/*
 * live.c - block devices as the kernel traces them now, through the readers of saved
 * traces
 */
#include "live.h"
#include "devices.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/launch.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/process.h"
#include "iops/run.h"
#include "iops/trace.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_MS = 25, BUF = 512 << 10 };

#define LOOK_NS UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int live_close(struct source *base)
{
	struct live *l = (struct live *)base;
	unsigned n = l->stream ? l->ncaptures * l->ncpus : 0;

	order_fini(&l->order);
	track_fini(&l->track);
	for (unsigned i = 0; i < n; i++) {
		input_close(l->stream[i].in);
		free(l->stream[i].rest);
	}
	free(l->stream);
	live_devices_close(l);
	whose_fini(&l->whose);
	free(l->buf);
	free(l);
	return 0;
}

/* Named as blktrace(8) would name the file: that says which CPU it is of. */
static int name_input(struct live *l, unsigned device, unsigned cpu)
{
	char name[120];

	snprintf(name, sizeof(name), "%s.blktrace.%u", l->capture[device].node, cpu);
	return input_growing(&l->stream[device * l->ncpus + cpu].in, name);
}

static int open_streams(struct live *l)
{
	unsigned n = l->ncaptures * l->ncpus;
	struct input **in = calloc(n, sizeof(struct input *));
	int err = 0;

	l->stream = calloc(n, sizeof(*l->stream));
	l->buf = malloc(BUF);
	if (!in || !l->stream || !l->buf)
		err = -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		err = name_input(l, i / l->ncpus, i % l->ncpus);
		in[i] = l->stream[i].in;
	}
	if (!err)
		err = order_init_live(&l->order, in, n);
	free(in);
	return err < 0 ? diag_err(err, "cannot trace block devices") : 0;
}

/* Times are since the session began, and completions will come. */
static void begin_track(struct live *l, const struct source_args *args)
{
	track_init(&l->track, args->names);
	l->track.node = devices_node;
	l->track.base = l->track.end = args->epoch_ns;
	l->track.begun = true;
	l->track.main = MAIN_COMPLETE;
}

static int live_open(struct source **out, const struct source_args *args)
{
	static const struct sink_ops ops = { .name = "whose", .put = live_put };
	char dir[120];
	int err = capture_debugfs(dir, sizeof(dir));

	if (err < 0) {
		diag("%s", capture_cannot(err));
		return err;
	}
	struct live *l = calloc(1, sizeof(*l));
	if (!l)
		return diag_err(ENOMEM, "cannot trace block devices");
	l->base.ops = &source_blktrace_live;
	l->sink.ops = &ops;
	l->launch = args->launch;
	l->names = args->names;
	l->trace = args->trace;
	l->epoch_ns = args->epoch_ns;
	l->ncpus = capture_cpus();
	/* A command says how long; what is its own cannot be told from what the kernel
	 * does for it. */
	l->whose = (struct whose){ .pids = args->launch ? NULL : args->pids,
		.npids = args->launch ? 0 : args->npids,
		.follow = args->follow };
	begin_track(l, args);
	err = live_devices_open(l, args);
	if (!err)
		err = live_check(l);
	if (!err)
		err = open_streams(l);
	if (!err && l->launch)
		err = launch_go(l->launch, LAUNCH_PLAIN);
	if (err < 0) {
		live_close(&l->base);
		return err;
	}
	*out = &l->base;
	return 0;
}

/* Until a buffer of the kernel's is full, but not for long. */
static void wait_for(struct live *l)
{
	struct pollfd *p = calloc(l->ncaptures * l->ncpus, sizeof(*p));
	unsigned n = 0;

	for (unsigned i = 0; i < l->ncaptures * l->ncpus && p; i++) {
		int fd = l->capture[i / l->ncpus].cpu[i % l->ncpus];
		if (fd >= 0)
			p[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	poll(p, n, POLL_MS);
	free(p);
}

/*
 * The kernel chooses the events of a partition by place, and takes all at sector 0 for
 * those that have none.
 */
static bool is_foreign(const struct live *l, const struct blk_rec *r)
{
	if (r->sector || !r->bytes || record_is_note(r))
		return false;
	for (unsigned i = 0; i < l->ncaptures; i++)
		if (l->capture[i].dev == r->dev)
			return l->capture[i].is_part;
	return false;
}

/* All records that are older than a moment, as operations. 0 or -errno. */
static int take(struct live *l, uint64_t until)
{
	struct blk_rec r;
	int got = order_until(&l->order, until);

	if (!got)
		got = 1;
	while (got > 0 && (got = order_next(&l->order, &r)) > 0) {
		int err = is_foreign(l, &r) ? 0 : track_take(&l->track, &r);
		record_fini(&r);
		got = err < 0 ? err : 1;
	}
	return got;
}

/*
 * Newer kernels leave a gap in the numbers of events where there was no room, all of
 * them count it: the larger one is told.
 */
static int put_lost(struct live *l, uint64_t now)
{
	struct op op = { .kind = OP_LOST,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.start_ns = now - l->epoch_ns };
	uint64_t gaps = 0, dropped = 0;

	for (unsigned i = 0; i < l->order.nfeed; i++)
		gaps += feed_lost(&l->order.feed[i]);
	for (unsigned i = 0; i < l->ncaptures; i++)
		dropped += capture_dropped(&l->capture[i]);
	uint64_t n = (gaps > dropped ? gaps : dropped) + l->lost;
	if (n <= l->told)
		return 0;
	op.ret = (int64_t)(n - l->told);
	l->told = n;
	return sink_put(l->to, &op);
}

/* CPUs come, and buffers run over. */
static int look(struct live *l, uint64_t now)
{
	int err = 0;

	if (now - l->looked_ns < LOOK_NS)
		return 0;
	l->looked_ns = now;
	for (unsigned i = 0; i < l->ncaptures && !err; i++)
		err = capture_look(&l->capture[i], true);
	return err ? err : put_lost(l, now);
}

static bool is_over(const struct live *l)
{
	const struct whose *w = &l->whose;
	bool alive = !w->npids;

	for (unsigned i = 0; i < w->npids && !alive; i++)
		alive = process_runs(w->pids[i]);
	return l->stopped || (l->launch ? launch_over(l->launch) : !alive);
}

static int finish(struct live *l)
{
	int err = 0;

	for (unsigned i = 0; i < l->ncaptures; i++) {
		capture_stop(&l->capture[i]);
		int one = capture_look(&l->capture[i], true);
		err = err ? err : one;
	}
	if (!err)
		err = live_read(l);
	if (!err)
		err = take(l, UINT64_MAX);
	if (!err)
		err = track_end(&l->track);
	for (unsigned i = 0; i < l->order.nfeed; i++)
		feed_say(&l->order.feed[i]);
	int lost = put_lost(l, now_ns());
	live_devices_free(l);
	l->ended = true;
	return err ? err : lost;
}

static int live_step(struct source *base, struct sink *to)
{
	struct live *l = (struct live *)base;

	l->to = to;
	l->track.to = &l->sink;
	if (l->ended)
		return 0;
	wait_for(l);
	if (is_over(l))
		return finish(l);
	uint64_t now = now_ns();
	int err = look(l, now);
	if (!err)
		err = live_read(l);
	if (!err)
		err = take(l, now);
	return err < 0 ? err : 1;
}

static void live_stop(struct source *base)
{
	((struct live *)base)->stopped = true;
}

static void live_about(struct source *base, struct run *run)
{
	const struct live *l = (struct live *)base;

	run->machine_wide = true;
	run->verifies = false;
	if (!run->command)
		snprintf(run->title, sizeof(run->title), "%s", l->title);
	snprintf(run->why, sizeof(run->why),
		"what the kernel's blktrace told of %s: requests of %s", l->title,
		l->whose.npids
			? "the processes themselves, not what others write for them"
			: "everybody");
}

const struct source_ops source_blktrace_live = {
	.name = "blktrace",
	.help = "requests to block devices, by the kernel's blktrace",
	.open = live_open,
	.step = live_step,
	.stop = live_stop,
	.about = live_about,
	.close = live_close,
};
