/*
 * export.c - iops export: the operations of a saved trace, for other tools
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/export.h"
#include "iops/names.h"
#include "iops/out.h"
#include "iops/replay.h"
#include "iops/sink.h"

#include <signal.h>
#include <string.h>

static int run(const struct options *o, struct names *names, struct replay *r)
{
	struct export_args args = {
		.names = names,
		.output = o->output,
		.weight = (enum export_weight)o->weight,
		.started_ns = replay_about(r)->started_ns,
	};
	struct sink *sink;

	args.runs = replay_runs(r, &args.nruns);
	int err = o->exporter->open(&sink, &args);
	if (err < 0)
		return err;
	err = replay_run(r, sink);
	int late = sink_close(sink);
	return err ? err : late;
}

static int export(const struct options *o)
{
	struct replay *r = NULL;

	if (!o->exporter || !o->argc) {
		diag_usage("export", "export: no %s", o->argc ? "--to FORMAT" : "file");
		return EXIT_USAGE;
	}
	if (o->exporter->makes && (!o->output || !strcmp(o->output, "-"))) {
		diag_usage("export", "export: --to %s makes %s: name it by --output",
			o->exporter->name, o->exporter->makes);
		return EXIT_USAGE;
	}
	if (out_clash(o->output, NULL, o->argv))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	struct names *names = names_new();
	int err = names ? replay_open(&r, o, names) : -1;
	if (!err)
		err = run(o, names, r);
	bool damaged = r && replay_about(r)->damaged;
	replay_close(r);
	names_free(names);
	return err < 0 ? 1 : damaged ? EXIT_DAMAGED : 0;
}

const struct command command_export = {
	.name = "export",
	.args = "[options] --to FORMAT FILE...",
	.help = "the operations of a saved log or trace, for other tools\n"
		"\nFormats: csv, jsonl (a line an operation), chrome (ui.perfetto.dev), "
		"fio "
		"(a\nfolder to replay from), folded (flame graphs), sqlite, avro.",
	.takes = "oXKePYIMAZqv",
	.main = export,
};
