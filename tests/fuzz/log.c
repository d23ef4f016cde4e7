/*
 * log.c - fuzz the reader of the operation log, before its CRC and behind it, up to the
 * report
 *
 * The first byte chooses what the others are, since no mutation finds a right CRC: 1 is
 * the payload of a run, 2 that of operations; anything else is a log.
 */
#include "../../src/source/log/block.h"
#include "fuzz.h"
#include "iops/log.h"
#include "iops/report.h"
#include "iops/stats.h"
#include "iops/wire.h"

#include <stdlib.h>

enum { ENTRY_RUN = 1, ENTRY_OPS = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct rig {
	struct sink sink; /* checks, and hands on */
	struct names *names;
	struct stats *stats;
};

/* Any number may be in a log; what it stands for has to be there. */
static int rig_put(struct sink *sink, const struct op *op)
{
	struct rig *r = (struct rig *)sink;

	FUZZ_CHECK(op->kind < OP_NKINDS && op->layer < NLAYERS);
	FUZZ_CHECK(*names_call_name(r->names, op->call & OP_CALL));
	FUZZ_CHECK(names_file(r->names, op->file)->type < NFILE_TYPES);
	FUZZ_CHECK(!op->comm || *names_get(r->names, op->comm));
	return sink_put(stats_sink(r->stats), op);
}

static void rig_init(struct rig *r)
{
	static const struct sink_ops ops = { .name = "rig", .put = rig_put };

	*r = (struct rig){ .sink = { &ops }, .names = names_new() };
	FUZZ_CHECK(r->names);
	r->stats = stats_new(r->names, (1u << NDIMS) - 1);
	FUZZ_CHECK(r->stats);
}

static void rig_fini(struct rig *r)
{
	stats_free(r->stats);
	names_free(r->names);
}

static void show(const struct rig *r, const struct run *run)
{
	static const struct report *const all[] = { &report_json, &report_table,
		&report_csv };
	struct view view = { .histogram = true, .width = 80 };
	struct report_in in = { r->stats, r->names, run, &view };

	view.by[view.nby++] = DIM_FILE;
	view.by[view.nby++] = DIM_CALL;
	view.by[view.nby++] = DIM_ERROR;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char *text = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&text, &n);
		FUZZ_CHECK(f && all[i]->render(f, &in) == 0);
		fclose(f);
		free(text);
	}
}

static void fuzz_file(struct rig *r, const uint8_t *bytes, size_t len)
{
	struct input *in;
	struct source *source;
	struct run run = { 0 };
	uint64_t steps = 0;

	FUZZ_CHECK(input_memory(&in, bytes, len) == 0);
	struct source_args args = { .names = r->names, .inputs = &in, .ninputs = 1 };
	if (!source_log.open(&source, &args)) {
		while (source->ops->step(source, &r->sink) > 0)
			FUZZ_CHECK(steps++ <= len);
		source->ops->about(source, &run);
		show(r, &run);
		source->ops->close(source);
	}
	input_close(in);
}

static void fuzz_run(struct rig *r, struct wire_in in)
{
	struct log_run strings = { 0 };
	struct run run;

	if (!log_get_run(&in, &run, &strings)) {
		FUZZ_CHECK(memchr(run.id, 0, sizeof(run.id)));
		FUZZ_CHECK(memchr(run.host, 0, sizeof(run.host)));
		FUZZ_CHECK(memchr(run.why, 0, sizeof(run.why)));
		FUZZ_CHECK(!run.npids || run.pids);
		show(r, &run);
	}
	log_run_fini(&strings);
}

static void fuzz_ops(struct rig *r, struct wire_in in)
{
	static const struct run run = { .elapsed_ns = 1 };
	struct block b = { 0 };
	struct op op;

	if (!block_open(&b, in, r->names))
		while (block_next(&b, &op) > 0)
			FUZZ_CHECK(rig_put(&r->sink, &op) == 0);
	block_fini(&b);
	show(r, &run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct rig r;

	fuzz_quiet();
	rig_init(&r);
	if (len && *bytes == ENTRY_RUN)
		fuzz_run(&r, (struct wire_in){ bytes + 1, bytes + len, false });
	else if (len && *bytes == ENTRY_OPS)
		fuzz_ops(&r, (struct wire_in){ bytes + 1, bytes + len, false });
	else
		fuzz_file(&r, bytes, len);
	rig_fini(&r);
	return 0;
}
