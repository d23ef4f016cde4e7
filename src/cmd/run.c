/*
 * run.c - iops run: a command and its whole process tree
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/front.h"

#include <string.h>

static int run(const struct options *o)
{
	struct out out, log;

	if (!o->argc) {
		diag_usage("run", "run: no command");
		return EXIT_USAGE;
	}
	if (o->story && strcmp(o->backend, "auto") && strcmp(o->backend, "bpf")) {
		diag_usage(
			"run", "run: --layers takes the bpf backend, not %s", o->backend);
		return EXIT_USAGE;
	}
	if (o->wait && !strcmp(o->backend, "proc")) {
		diag_usage("run", "run: --wait takes the ptrace or bpf backend: proc "
				  "cannot tell when "
				  "all have ended");
		return EXIT_USAGE;
	}
	if (out_clash(o->output, o->log, NULL))
		return EXIT_USAGE;
	if (out_open(&out, o->output) < 0 || out_open_log(&log, o->log) < 0)
		return 125;
	opts_terminal((struct options *)o, out.fd);
	return front_run(o, &out, &log, collect);
}

const struct command command_run = {
	.name = "run",
	.args = "[options] [--] COMMAND [ARG...]",
	.help = "run a command and report the I/O of its process tree\n"
		"\nThe report goes to standard error; the exit status is the command's.",
	.takes = "ofJHBSTCePYIbOldiNWFGEURLqv",
	.main = run,
};
