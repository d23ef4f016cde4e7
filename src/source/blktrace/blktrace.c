/*
 * blktrace.c - files and pipes of blktrace(8), as the operations of op.h
 */
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "order.h"
#include "track.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 512, NS_PER_S = 1000000000 };

struct blktrace {
	struct source base; /* first */
	struct order order;
	struct track track;
	char stem[80];
	bool ended, damaged;
};

/* The name of the trace: "sda" of "dir/sda.blktrace.3". */
static void set_stem(struct blktrace *s, const char *name)
{
	const char *slash = strrchr(name, '/'), *end;

	name = slash ? slash + 1 : name;
	if (!(end = strstr(name, ".blktrace.")))
		return;
	snprintf(s->stem, sizeof(s->stem), "%.*s", (int)(end - name), name);
	s->track.stem = s->stem;
}

static int blktrace_open(struct source **out, const struct source_args *args)
{
	struct blktrace *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base.ops = &source_blktrace;
	int err = order_init(&s->order, args->inputs, args->ninputs);
	if (err < 0) {
		free(s);
		return err;
	}
	track_init(&s->track, args->names);
	set_stem(s, input_name(args->inputs[0]));
	*out = &s->base;
	return 0;
}

static int blktrace_probe(const char *head, size_t len)
{
	bool swapped;
	const uint8_t *at = (const uint8_t *)head;

	if (len < 4)
		return 0;
	return record_header(at, &swapped)         ? 100
	       : record_version(at, &swapped) >= 0 ? 90
						   : 0;
}

/* What the numbers of the records say is missing. */
static int put_lost(struct blktrace *s)
{
	struct op op = {
		.kind = OP_LOST, .dur_ns = OP_NO_TIME, .offset = OP_NO_OFFSET, .fd = -1
	};

	for (unsigned i = 0; i < s->order.nfeed; i++)
		op.ret += (int64_t)feed_lost(&s->order.feed[i]);
	return op.ret ? sink_put(s->track.to, &op) : 0;
}

static int end(struct blktrace *s)
{
	int err = track_end(&s->track);

	s->ended = true;
	for (unsigned i = 0; i < s->order.nfeed; i++)
		s->damaged |= feed_say(&s->order.feed[i]);
	if (s->order.late && s->order.nfeed == 1) {
		diag("%s: %llu records came too late to be put in order",
			input_name(s->order.feed[0].in),
			(unsigned long long)s->order.late);
		s->damaged = true;
	}
	if (s->track.many)
		diag("%s: more than %d devices; the rest counts as the last of them",
			input_name(s->order.feed[0].in), DEVS_MAX);
	if (s->track.crowd)
		diag("%s: more than %d processes; what the rest did counts as nobody's",
			input_name(s->order.feed[0].in), TASKS_MAX);
	return err ? err : put_lost(s);
}

static int blktrace_step(struct source *base, struct sink *to)
{
	struct blktrace *s = (struct blktrace *)base;
	struct blk_rec r;
	int got = 1;

	s->track.to = to;
	for (int i = 0; i < BATCH && got > 0 && !s->ended; i++) {
		if ((got = order_next(&s->order, &r)) > 0) {
			int err = track_take(&s->track, &r);
			record_fini(&r);
			got = err < 0 ? err : 1;
		} else if (!got) {
			got = end(s);
		}
	}
	return got < 0 ? got : !s->ended;
}

/*
 * Both clocks of the moment at which the first event happened. The times of a dump of
 * blkparse's begin at 0, but not those of its notes: nobody knows when that was.
 */
static void set_clocks(const struct blktrace *s, struct run *run)
{
	const struct feed *best = NULL;

	for (unsigned i = 0; i < s->order.nfeed; i++) {
		const struct feed *f = &s->order.feed[i];
		if (f->wall_ns && (!best || f->wall_at < best->wall_at))
			best = f;
	}
	uint64_t at = s->track.base;
	if (!best || !s->track.begun || at + NS_PER_S < best->wall_at)
		return;
	run->started_ns = best->wall_ns + (at - best->wall_at);
	run->epoch_ns = at;
}

static void blktrace_about(struct source *base, struct run *run)
{
	struct blktrace *s = (struct blktrace *)base;
	uint64_t ns = s->track.end - s->track.base;

	run->imported = true;
	run->machine_wide = true;
	run->damaged |= s->damaged;
	run->elapsed_ns = ns > INT64_MAX ? INT64_MAX : ns;
	set_clocks(s, run);
	snprintf(run->backend, sizeof(run->backend), "blktrace");
	snprintf(run->why, sizeof(run->why), "imported from records of blktrace");
	snprintf(run->title, sizeof(run->title), "%s",
		*s->stem ? s->stem : input_name(s->order.feed[0].in));
}

static int blktrace_close(struct source *base)
{
	struct blktrace *s = (struct blktrace *)base;

	order_fini(&s->order);
	track_fini(&s->track);
	free(s);
	return 0;
}

const struct source_ops source_blktrace = {
	.name = "blktrace",
	.help = "records of blktrace: files by CPU, a merged dump, a pipe",
	.probe = blktrace_probe,
	.open = blktrace_open,
	.step = blktrace_step,
	.about = blktrace_about,
	.close = blktrace_close,
};
