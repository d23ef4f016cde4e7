/*
 * filter.c - let through what the report is to be about
 */
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/sinks.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>

struct filter_sink {
	struct sink sink;
	struct filter f;
	struct names *names;
	struct sink *to;
	bool dropped; /* the first side of a call that may have a second one */
};

static bool matches(const struct filter_sink *s, const struct op *op)
{
	const struct file *file = names_file(s->names, op->file);
	bool pid = !s->f.npids;

	for (unsigned i = 0; i < s->f.npids && !pid; i++)
		pid = s->f.pids[i] == op->pid || s->f.pids[i] == op->tid;
	if (!pid || (s->f.types && !(s->f.types >> file->type & 1)))
		return false;
	return !s->f.path || !fnmatch(s->f.path, names_get(s->names, file->path), 0);
}

static int filter_put(struct sink *sink, const struct op *op)
{
	struct filter_sink *s = (struct filter_sink *)sink;
	struct op alone = *op;

	if (op_kind_class(op->kind) == CLASS_NOTICE)
		return sink_put(s->to, op);
	bool keep = matches(s, op);
	if (op->call & OP_SECOND && s->dropped)
		alone.call &= ~OP_SECOND; /* all that is left of the call */
	s->dropped = !keep;
	return keep ? sink_put(s->to, &alone) : 0;
}

static int filter_close(struct sink *sink)
{
	free(sink);
	return 0;
}

int filter_new(
	struct sink **out, const struct filter *f, struct names *names, struct sink *to)
{
	static const struct sink_ops ops = {
		.name = "filter", .put = filter_put, .close = filter_close
	};
	struct filter_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct filter_sink){ .sink = { &ops }, .f = *f, .names = names, .to = to };
	*out = &s->sink;
	return 0;
}
