/*
 * source.c - the eBPF source as seen from outside: open, step, stop, close
 */
#include "bpf.h"
#include "iops/launch.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/stream.h"
#include "iops/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is still running this long after the command has ended is a daemon. */
static const uint64_t GRACE_NS = 100 * 1000 * 1000;
static const uint64_t SWEEP_NS = 500 * 1000 * 1000;
enum { POLL_MS = 20 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int ebpf_close(struct source *base)
{
	struct bpf *b = (struct bpf *)base;

	ebpf_load_close(b);
	ebpf_life_free(b);
	ebpf_fs_close(b);
	fdtab_free(b->fdtab);
	ebpf_block_close(b);
	ebpf_cache_close(b);
	free(b->seen);
	free(b);
	return 0;
}

/* Which programs the layers of the report need. */
static uint32_t layers_of(const struct trace_options *t)
{
	uint32_t bits = 1 << BPF_LIFE, layers = t ? t->layers : 1u << LAYER_MAIN;

	if (layers & 1 << LAYER_MAIN)
		bits |= 1 << BPF_CALLS;
	if (!t || layers & TRACE_URING)
		bits |= 1 << BPF_URING;
	if (layers & 1 << LAYER_BLOCK)
		bits |= 1 << BPF_BLOCK;
	if (layers & 1 << LAYER_CACHE)
		bits |= 1 << BPF_CACHE;
	if (layers & 1 << LAYER_NET)
		bits |= 1 << BPF_NET;
	if (layers & 1 << LAYER_FAULT)
		bits |= 1 << BPF_FAULT;
	return bits;
}

/* Not all calls are told then: there is nothing to compare with. */
static bool keeps_back(const struct trace_options *t)
{
	return t && (trace_filters(&t->filter) || !(t->layers & 1u << LAYER_MAIN));
}

static struct bpf *bpf_new(const struct source_args *args)
{
	struct bpf *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->base.ops = &source_bpf;
	b->names = args->names;
	b->launch = args->launch;
	b->want = *args->want;
	b->epoch_ns = args->epoch_ns;
	b->aggregate = args->trace && args->trace->aggregate;
	b->countable = syscall_set_countable(args->want) && !b->aggregate &&
		       !keeps_back(args->trace);
	b->follow = args->follow;
	b->wait = args->wait;
	b->pids = args->pids;
	b->npids = args->npids;
	b->layers = layers_of(args->trace);
	b->streams = args->streams;
	b->all = !args->launch && !args->npids;
	b->fdtab = fdtab_new(args->names);
	if (!b->fdtab) {
		free(b);
		return NULL;
	}
	return b;
}

static int ebpf_open(struct source **out, const struct source_args *args)
{
	struct bpf *b = bpf_new(args);
	int err = b ? 0 : -ENOMEM;

	if (!err && b->layers & 1 << BPF_BLOCK)
		err = ebpf_block_open(b);
	if (!err && b->layers & (1 << BPF_CACHE | 1 << BPF_FAULT))
		err = ebpf_cache_open(b);
	if (!err && b->streams)
		err = ebpf_fs_open(b);
	if (!err)
		err = ebpf_load_open(b, args);
	if (!err && b->launch) {
		ebpf_life_process(b, b->launch->command);
		err = ebpf_load_members(b, &b->launch->command, 1);
	} else if (!err) {
		for (unsigned i = 0; i < b->npids; i++) {
			ebpf_life_meet(b, b->pids[i]);
			ebpf_fs_meet(b, b->pids[i]);
		}
		err = ebpf_load_members(b, b->pids, b->npids);
	}
	if (!err && b->launch)
		err = launch_go(b->launch, LAUNCH_PLAIN);
	if (err < 0) {
		if (b)
			ebpf_close(&b->base);
		return err;
	}
	*out = &b->base;
	return 0;
}

/* What found no room in the ring since the last look. */
static void tell_lost(struct bpf *b, bool last)
{
	uint64_t now = now_ns();

	if (last || now - b->looked_ns > 1000000000) {
		b->looked_ns = now;
		ebpf_load_missed(b);
	}
	for (unsigned i = 0; i < NBPF_LAYERS; i++) {
		uint64_t n = ebpf_load_lost(b, i) - b->told[i];
		struct op op = { .kind = OP_LOST,
			.ret = (int64_t)n,
			.fd = -1,
			.offset = OP_NO_OFFSET,
			.dur_ns = OP_NO_TIME,
			.start_ns = ebpf_since(b, now) };
		if (!n)
			continue;
		b->told[i] += n;
		ebpf_fs_lost(b, i, n);
		if (i == BPF_ROWS) /* the calls themselves are not lost with them */
			continue;
		ebpf_put(b, &op);
		if (i == BPF_BLOCK)
			ebpf_block_lost(b, n);
	}
}

static void sweep(struct bpf *b)
{
	uint64_t now = now_ns();

	if (now - b->swept_ns < SWEEP_NS)
		return;
	b->swept_ns = now;
	ebpf_load_sweep(b, false);
	if (b->launch ? b->ended : !b->all) /* their ends are waited for */
		ebpf_life_look(b);
}

/* For the manifest: what was lost of each layer, told apart from what was not there. */
static void note_lost(struct bpf *b)
{
	static const char *const name[NBPF_LAYERS] = { "fs", "uring", "block", "cache",
		"net", "fault", "rows of fs", "names and processes" };
	char text[400] = "{", *p = text + 1;

	for (unsigned i = 0; i < NBPF_LAYERS; i++)
		p += sprintf(p, "%s\"%s\": %llu", i ? ", " : "", name[i],
			(unsigned long long)b->told[i]);
	strcpy(p, "}");
	if (b->streams)
		streams_note(b->streams, "lost_events", text);
}

static bool over(struct bpf *b)
{
	uint64_t now = now_ns();

	if (b->launch && !b->ended && b->launch->ended) {
		b->ended =
			true; /* the front end knows, the kernel's word is lost or late */
		b->ended_ns = now;
	}
	if (b->ended && b->wait && b->launch && b->launch->enough) {
		b->wait = false; /* from now on as if it had not been asked for */
		b->ended_ns = now;
	}
	if (b->stopped)
		return true;
	if (b->launch)
		return b->ended &&
		       (!b->living || (!b->wait && now - b->ended_ns >= GRACE_NS));
	return !b->all && !b->living;
}

static int ebpf_step(struct source *base, struct sink *to)
{
	struct bpf *b = (struct bpf *)base;

	b->sink = to;
	for (; b->npids; b->npids--)
		ebpf_life_begin(b, b->pids[b->npids - 1]);
	sweep(b);
	int n = ebpf_load_poll(b, POLL_MS);
	tell_lost(b, false);
	if (n < 0 || b->error)
		return b->error ? b->error : n;
	if (!over(b))
		return 1;
	if (b->living)
		ebpf_load_last(b);
	ebpf_load_sweep(b, true);
	ebpf_load_detach(b);
	while ((n = ebpf_load_poll(b, 0)) > 0)
		;
	ebpf_load_sums(b);
	tell_lost(b, true);
	note_lost(b);
	if (b->launch)
		ebpf_life_end(b);
	return b->error ? b->error : n < 0 ? n : 0;
}

static void ebpf_stop(struct source *base)
{
	((struct bpf *)base)->stopped = true;
}

static void ebpf_about(struct source *base, struct run *run)
{
	run->verifies = ((struct bpf *)base)->countable;
}

const struct source_ops source_bpf = {
	.name = "bpf",
	.help = "every call of the processes, by eBPF; they are never stopped",
	.open = ebpf_open,
	.step = ebpf_step,
	.stop = ebpf_stop,
	.about = ebpf_about,
	.close = ebpf_close,
};
