/*
 * merge.c - iops merge: many runs summed
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/load.h"
#include "iops/names.h"
#include "iops/out.h"
#include "iops/stats.h"

#include <errno.h>
#include <signal.h>

static int merge(const struct options *o)
{
	struct load l = { 0 };
	struct out out;

	if (!o->argc) {
		diag_usage("merge", "merge: no file");
		return EXIT_USAGE;
	}
	if (out_clash(o->output, NULL, o->argv))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	if (out_open(&out, o->output ? o->output : "-") < 0)
		return 1;
	opts_terminal((struct options *)o, out.fd);
	struct names *names = names_new();
	int err = names ? load(&l, o, names, o->argv) : diag_err(ENOMEM, "merge");
	if (!err) {
		struct report_in in = { l.stats, names, &l.run, &o->view };
		err = out_report(&out, o->format, &in, false);
	}
	int late = out_close(&out);
	bool damaged = l.run.damaged;
	load_fini(&l);
	names_free(names);
	return err < 0 || late < 0 ? 1 : damaged ? EXIT_DAMAGED : 0;
}

const struct command command_merge = {
	.name = "merge",
	.args = "[options] FILE...",
	.help = "sum up many runs: JSON reports, logs and traces\n"
		"\nCounters, histograms and elapsed times add up, exactly.",
	.takes = "ofJHBSTCMURLqv",
	.main = merge,
};
