/*
 * attach.c - iops attach: running processes, until they end, or Ctrl-C
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/front.h"

#include <stdlib.h>

static int attach(const struct options *o)
{
	struct out out, log;

	if (!o->argc) {
		diag_usage("attach", "attach: no process id");
		return EXIT_USAGE;
	}
	for (int i = 0; i < o->argc; i++) {
		char *end;
		long pid = strtol(o->argv[i], &end, 10);
		if (*end || pid <= 0 || pid > 1 << 22) {
			diag_usage(
				"attach", "attach: %s is not a process id", o->argv[i]);
			return EXIT_USAGE;
		}
	}
	if (out_clash(o->output, o->log, NULL))
		return EXIT_USAGE;
	if (out_open(&out, o->output) < 0 || out_open_log(&log, o->log) < 0)
		return 1;
	opts_terminal((struct options *)o, out.fd);
	return front_attach(o, &out, &log, collect);
}

const struct command command_attach = {
	.name = "attach",
	.args = "[options] PID...",
	.help = "report the I/O of running processes; they go on unharmed\n"
		"\nEnds with the processes, after --duration, or with Ctrl-C.",
	.takes = "ofJHBSTCePYIbldiNGEURLqv",
	.main = attach,
};
