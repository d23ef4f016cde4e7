/*
 * trace.c - iops trace: below the system calls
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/front.h"
#include "iops/op.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint32_t usual =
	1u << LAYER_MAIN | 1u << LAYER_CACHE | 1u << LAYER_BLOCK | TRACE_URING;

/* A folder, unless the name is one of a report: x.json, x.csv, or a format was given. */
static bool is_folder(const struct options *o)
{
	const char *name = o->output, *dot = name ? strrchr(name, '.') : NULL;
	struct stat st;

	if (!name || !strcmp(name, "-"))
		return false;
	if (!stat(name, &st))
		return S_ISDIR(st.st_mode);
	return name[strlen(name) - 1] == '/' ||
	       (!o->format_given && !(dot && !strchr(dot, '/')));
}

/* What records of blktrace do not tell. */
static const char *not_told(const struct options *o)
{
	const struct trace_options *t = &o->trace;
	const struct trace_filter *f = &t->filter;

	return t->layers & ~(1u << LAYER_BLOCK) ? "--layers: it sees block alone"
	       : f->by_uid                      ? "--uid"
	       : f->cgroup                      ? "--cgroup"
	       : f->under                       ? "--under"
	       : f->min_ns                      ? "--min-latency"
	       : t->aggregate                   ? "--aggregate"
	       : is_folder(o)                   ? "--output: no folder of rows"
						: NULL;
}

/* eBPF unless blktrace is asked for. 0, or -EINVAL, said why. */
static int choose(struct options *o)
{
	const char *not = NULL;

	if (!strcmp(o->backend, "blktrace")) {
		if (!(not = not_told(o))) {
			o->trace.layers = 1u << LAYER_BLOCK;
			return 0;
		}
		return diag_usage("trace",
			"trace: blktrace cannot do %s; leave out --backend for eBPF",
			not );
	}
	if (o->backend_given && strcmp(o->backend, "bpf") && strcmp(o->backend, "auto"))
		return opts_wrong(
			"trace", "backend", o->backend, "bpf and blktrace are known");
	if (o->trace.ndevices > 1)
		return diag_usage("trace",
			"trace: eBPF takes one --device, --backend blktrace many");
	o->backend = "bpf";
	if (!o->trace.layers)
		o->trace.layers = usual;
	return 0;
}

static int trace(const struct options *given)
{
	struct options o = *given;
	char word[TRACE_LIST][12], *words[TRACE_LIST + 1] = { 0 };
	struct out out, log;

	if (choose(&o) < 0)
		return EXIT_USAGE;
	if (o.argc && o.trace.npids) {
		diag_usage("trace", "trace: either a command or --process, not both");
		return EXIT_USAGE;
	}
	for (unsigned i = 0; i < o.trace.npids; i++) {
		snprintf(word[i], sizeof(word[i]), "%d", o.trace.pid[i]);
		words[i] = word[i];
	}
	if (is_folder(&o)) {
		o.trace.dir = o.output;
		o.output = NULL;
	}
	if (!o.trace.dir && (o.trace.snapshots || o.trace.anonymous)) {
		diag_usage("trace", "trace: --snapshot and --anonymize are for a folder: "
				    "--output DIR");
		return EXIT_USAGE;
	}
	if (out_clash(o.output, o.log, NULL))
		return EXIT_USAGE;
	if (out_open(&out, o.output) < 0 || out_open_log(&log, o.log) < 0)
		return o.argc ? 125 : 1;
	opts_terminal(&o, out.fd);
	if (o.argc)
		return front_run(&o, &out, &log, collect);
	o.argv = words;
	o.argc = (int)o.trace.npids;
	return front_attach(&o, &out, &log, collect);
}

const struct command command_trace = {
	.name = "trace",
	.args = "[options] [-- COMMAND [ARG...]]",
	.help = "what lies below the calls: page cache, disks, network, by eBPF\n"
		"\nOf a command, of processes (-p) or of the whole machine. It takes "
		"root,\n"
		"or CAP_BPF and CAP_PERFMON. With -b blktrace, disks alone, by the "
		"kernel's\n"
		"blktrace: that takes root. Ends with the command or the processes, "
		"after\n"
		"--duration, or with Ctrl-C.",
	.takes = "ofJHBSTCePYIlbdiNWURLqvypcujDmt1znrakxQsw",
	.main = trace,
};
