/*
 * report.c - iops report: the report of a saved log or of another tool's trace
 */
#include "iops/blklines.h"
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/log.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/out.h"
#include "iops/replay.h"
#include "iops/session.h"
#include "iops/sinks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GAP = 1000000 /* intervals without an operation */ };

struct work {
	const struct options *o;
	struct out out, log;
	struct names *names;
	struct stats *stats;
	struct replay *replay;
	struct session session; /* for its fan of sinks */
	struct sink pace;       /* goes before the fan: a tick at each interval */
	struct sink *rows;
	uint64_t due_ns, end_ns; /* of the next row; of the latest operation */
};

static int write_row(void *arg, const char *text, size_t len)
{
	struct work *w = arg;

	return out_write(&w->out, text, len);
}

/* Time is what the operations say. */
static int pace_put(struct sink *sink, const struct op *op)
{
	struct work *w = (struct work *)((char *)sink - offsetof(struct work, pace));
	uint64_t end = op->start_ns + (op->dur_ns == OP_NO_TIME ? 0 : op->dur_ns);
	uint64_t every = w->o->interval_ns;
	int err = 0;

	if (op_kind_class(op->kind) == CLASS_NOTICE)
		return sink_put(&w->session.fan, op);
	w->end_ns = end > w->end_ns ? end : w->end_ns;
	/* A time beyond all sense, as of a damaged text, is no reason for endless rows.
	 */
	if (end > w->due_ns && (end - w->due_ns) / every > MAX_GAP)
		w->due_ns = end - end % every;
	for (; !err && end >= w->due_ns && w->due_ns <= UINT64_MAX - every;
		w->due_ns += every)
		err = sink_tick(w->rows, w->due_ns);
	return err ? err : sink_put(&w->session.fan, op);
}

static int add_rows(struct work *w)
{
	struct session *s = &w->session;
	struct interval_args rows = {
		.format = w->o->format == &report_json  ? INTERVAL_JSON
			  : w->o->format == &report_csv ? INTERVAL_CSV
							: INTERVAL_TABLE,
		.units = w->o->view.units,
		.write = write_row,
		.arg = w,
	};
	int err = interval_new(&w->rows, &rows);

	if (!err)
		s->sink[s->nsinks++] = w->rows;
	w->due_ns = w->o->interval_ns;
	return err ? err : out_rows(&w->out);
}

/* Where the last row ends: with the run, where that is told by the clock of its
 * operations; an operation may have begun before the run, and end behind it. */
static uint64_t rows_end(const struct work *w)
{
	const uint64_t run =
		w->o->to.set || w->o->from.set ? 0 : replay_about(w->replay)->elapsed_ns;

	return run > w->end_ns ? run : w->end_ns;
}

static int run(struct work *w)
{
	static const struct sink_ops pace = { .name = "pace", .put = pace_put };
	struct session *s = &w->session;
	struct log_args log = { w->names, replay_about(w->replay), w->log.name,
		w->log.fd };
	int err = 0, late = 0;

	s->sink[s->nsinks++] = stats_sink(w->stats);
	/* Of a block trace, the table shows no rows of requests. */
	if (w->o->format == &report_table && !log.run->layers &&
		!strcmp(log.run->backend, "blktrace"))
		stats_own_only(w->stats, LAYER_BLOCK);
	w->pace.ops = &pace;
	if (w->o->interval_ns)
		err = add_rows(w);
	if (!err && log.fd >= 0)
		err = log_new(&s->sink[s->nsinks], &log);
	s->nsinks += !err && log.fd >= 0;
	struct sink *fan = session_fan(s);
	if (!err)
		err = replay_run(w->replay, w->rows          ? &w->pace
					    : s->nsinks == 1 ? s->sink[0]
							     : fan);
	if (!err && w->rows)
		err = sink_tick(w->rows, rows_end(w));
	for (unsigned i = 1; i < s->nsinks; i++) {
		int one = sink_close(s->sink[i]);
		late = late ? late : one;
	}
	return err ? err : late;
}

static int show(struct work *w)
{
	struct run run = *replay_about(w->replay);
	struct report_in in = { w->stats, w->names, &run, &w->o->view };

	run.complete &= totals_whole(stats_totals(w->stats));
	if (w->o->interval_ns && w->o->format == &report_csv)
		return 0;
	return out_report(&w->out, w->o->format, &in,
		w->o->interval_ns && w->o->format != &report_table);
}

static int report(const struct options *o)
{
	struct work w = { .o = o };

	if (!o->argc) {
		diag_usage("report", "report: no file");
		return EXIT_USAGE;
	}
	const char *output = o->output ? o->output : "-";
	if (out_clash(output, o->log, o->argv))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	if (o->blkparse)
		return blklines(o);
	w.log.fd = -1;
	if (out_open(&w.out, output) < 0)
		return 1;
	opts_terminal((struct options *)o, w.out.fd);
	w.names = names_new();
	w.stats = w.names ? stats_new(w.names, o->dims) : NULL;
	if (w.stats)
		stats_set_groups(w.stats, &o->groups);
	int err =
		w.stats ? replay_open(&w.replay, o, w.names) : diag_err(ENOMEM, "report");
	/* What is there is emptied only when there is something to be put in its place.
	 */
	if (!err)
		err = out_open_log(&w.log, o->log);
	if (!err) {
		err = run(&w);
		if (err < 0)
			diag("the report covers what was read before");
		int wrote = show(&w);
		err = err ? err : wrote;
	}
	int late = out_close(&w.out), late_log = out_close(&w.log);
	bool damaged = w.replay && replay_about(w.replay)->damaged;
	replay_close(w.replay);
	stats_free(w.stats);
	names_free(w.names);
	return err < 0 || late < 0 || late_log < 0 ? 1 : damaged ? EXIT_DAMAGED : 0;
}

const struct command command_report = {
	.name = "report",
	.args = "[options] FILE...",
	.help = "report a saved log, or the trace of another tool\n"
		"\nFILE is a log of iops, text of strace, fs_usage or a FUSE trace, or a "
		"block\n"
		"trace of blktrace: X, X.blktrace.0 or a folder for the files of all "
		"CPUs, a\n"
		"dump of blkparse, a pipe; - is standard input. --format blkparse prints "
		"the\n"
		"events of a block trace. Exit status 3: part of it could not be read.",
	.takes = "ofJHBSTCegPYIMAZilURLqv",
	.main = report,
};
