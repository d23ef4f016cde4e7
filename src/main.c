/*
 * iops - what programs really read and write
 *
 *   main.c          the verbs, and the exit status
 *   cmd/            a file a verb: run, attach, trace, mount, report, export, merge,
 *                   diff, tag (tag-by-pid), doctor, help
 *   opts.c          the table of options; opts_*: those of a verb, and times
 *   front.c         the shell's job: starts command and tracer, and ends as the command
 *                   did; relay.c: signals to and fro meanwhile; given.c: what the command
 *                   has from who starts us
 *   collect.c       the tracer process: wires a source to sinks, then reports
 *   session.c       the only loop
 *   replay.c        saved traces as one stream of operations; runs.c: what several share
 *   load.c          the sums of saved runs, of reports and of traces
 *   out.c           where a report goes
 *   source/         where operations come from: ptrace (arch/: what only its machine has;
 *                   fast/: the fast path, operations that do not stop), proc (counters),
 *                   system, bpf (*.bpf.h: what runs in the kernel; by layer), fuse (a
 *                   file system that passes on); of saved traces: log, strace, fs_usage,
 *                   fuse_trace, blktrace (and its tags; live, capture: the same from
 *                   the kernel)
 *   sink/           where they go: stats (rows: by key; bundle: what is alike), filter,
 *                   interval, log, fuse_trace
 *   export/         the same, in the forms of other tools
 *   layer/          sums of the layers below the calls; report/layer_*: how they look
 *   stream/         a folder of CSV files that rows go to, with its manifest
 *   snapshot/       rows of all files and processes, and what the machine is
 *   report/         what is shown of the sums: column -> lines -> table, json, csv,
 *                   histogram; diff; reread: a JSON report back to sums
 *   base/           what all of them stand on: names, map, hist, units, diag, syscalls,
 *                   async (requests of io_uring and AIO), fdtab and fdtrack (descriptors
 *                   to files), mounts, input, wire, text, anon, slurp (small files), late
 *                   (libraries), groups (of processes), process (who lives), cpu (where a
 *                   fork begins), beside (children that share memory), prefault (memory
 *                   asked for at once), fds
 *
 * An operation is a struct op (op.h): sources make them, sinks take them, nobody keeps
 * them. Arrows go one way, downwards: tests/arrows.sh proves it.
 */
#include "iops/cmd.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = { &command_run, &command_attach,
	&command_trace, &command_mount, &command_report, &command_export, &command_merge,
	&command_diff, &command_tag, &command_doctor, &command_help, NULL };

/*
 * Standard streams that are closed would be taken by the next file that is opened.
 * The placeholders close themselves at exec: the command finds them closed as they were.
 */
static void fill_streams(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd > STDERR_FILENO)
		close(fd);
}

/* What was written to it, however little, has to be there. */
static int check_stdout(int status)
{
	bool closed = fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC;

	if (status || (!closed && !fflush(stdout)))
		return status;
	diag_err(closed ? EBADF : errno, "standard output");
	return 1;
}

static int run_verb(const struct command *c, int argc, char **argv)
{
	struct options o;
	int err = opts_parse(&o, c, argc, argv);

	o.verbs = commands;
	int status = err < 0 ? EXIT_USAGE : err > 0 ? 0 : c->main(&o);

	opts_fini(&o);
	if (err > 0 || c == &command_help)
		return check_stdout(status);
	if (fflush(stdout) && !status) {
		diag_err(errno, "standard output");
		status = 1;
	}
	return status;
}

int main(int argc, char **argv)
{
	fill_streams();
	if (argc < 2) {
		diag_usage(NULL, "no verb");
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("iops %s\n", VERSION);
		return check_stdout(0);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_verb(&command_help, 1, argv);
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, argv[1]))
			return run_verb(*c, argc - 1, argv + 1);
	diag_usage(NULL, "no verb %s", argv[1]);
	return EXIT_USAGE;
}
