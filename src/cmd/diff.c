/*
 * diff.c - iops diff: two runs compared
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/load.h"
#include "iops/names.h"
#include "iops/out.h"
#include "iops/stats.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int show(const struct options *o, struct out *out, const struct diff_in *in)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (f) {
		err = (o->format == &report_json ? diff_json : diff_table)(f, in);
		if (fclose(f) && !err)
			err = -ENOMEM;
	}
	if (err < 0)
		diag_err(err, "cannot make the report");
	else
		err = out_replace(out, text, len);
	free(text);
	return err;
}

static int compare(const struct options *o, struct out *out, struct load l[2])
{
	struct names *names = names_new();
	int err = names ? 0 : diag_err(ENOMEM, "diff");

	for (int i = 0; i < 2 && !err; i++)
		err = load(&l[i], o, names, (char *const[]){ o->argv[i], NULL });
	if (!err) {
		struct report_in a = { l[0].stats, names, &l[0].run, &o->view },
				 b = { l[1].stats, names, &l[1].run, &o->view };
		struct diff_in in = { &a, &b, { o->argv[0], o->argv[1] } };
		err = show(o, out, &in);
	}
	bool damaged = l[0].run.damaged || l[1].run.damaged;
	load_fini(&l[0]);
	load_fini(&l[1]);
	names_free(names);
	return err < 0 ? err : damaged;
}

static int diff(const struct options *o)
{
	struct load l[2] = { { 0 }, { 0 } };
	struct out out;

	if (o->argc != 2) {
		diag_usage("diff", "diff: two files are compared, not %d", o->argc);
		return EXIT_USAGE;
	}
	if (o->format == &report_csv) {
		diag_usage("diff", "diff: table and json are known");
		return EXIT_USAGE;
	}
	if (out_clash(o->output, NULL, o->argv))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	if (out_open(&out, o->output ? o->output : "-") < 0)
		return 1;
	opts_terminal((struct options *)o, out.fd);
	int err = compare(o, &out, l);
	int late = out_close(&out);
	return err < 0 || late < 0 ? 1 : err ? EXIT_DAMAGED : 0;
}

const struct command command_diff = {
	.name = "diff",
	.args = "[options] A B",
	.help = "what changed from one run to another: JSON reports, logs or traces",
	.takes = "ofJTPYeMURLq",
	.main = diff,
};
