/*
 * blklines.c - the events of a block trace as the lines of another tool
 */
#include "iops/blklines.h"
#include "iops/blktrace.h"
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/opts.h"
#include "iops/out.h"
#include "iops/replay.h"
#include "iops/source.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether all of them are records of blktrace. */
static bool recognised(const struct replay_inputs *inputs)
{
	bool any = false;

	for (unsigned i = 0; i < inputs->n; i++) {
		const char *head;
		ssize_t len = input_head(inputs->in[i], &head);
		any |= len > 0 && source_blktrace.probe(head, len);
	}
	if (!any)
		diag("--format blkparse: only of block traces");
	return any;
}

static int print(struct out *out, const struct replay_inputs *inputs)
{
	int fd = dup(out->fd), err = fd < 0 ? -errno : 0;
	FILE *f = err ? NULL : fdopen(fd, "w");

	if (!f) {
		if (fd >= 0)
			close(fd);
		return diag_err(err ? err : -ENOMEM, "%s", out->name);
	}
	int got = blktrace_print(f, inputs->in, inputs->n);
	bool bad = ferror(f);
	errno = 0;
	if (fclose(f) || bad)
		err = diag_err(errno ? errno : EIO, "cannot write %s", out->name);
	return err ? err : got;
}

int blklines(const struct options *o)
{
	struct replay_inputs inputs;
	struct out out;

	if (out_open(&out, o->output ? o->output : "-") < 0)
		return 1;
	int err = replay_files(&inputs, o, o->argv, o->argc);
	if (!err && !recognised(&inputs))
		err = -EINVAL;
	if (!err)
		err = out_rows(&out);
	if (!err)
		err = print(&out, &inputs);
	while (inputs.n)
		input_close(inputs.in[--inputs.n]);
	if (inputs.in)
		free(inputs.in);
	int late = out_close(&out);
	return err < 0 || late < 0 ? 1 : err || inputs.missing ? EXIT_DAMAGED : 0;
}
