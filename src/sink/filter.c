/*
 * filter.c - let through what the report is to be about
 */
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/sinks.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>

struct filter_sink {
	struct sink sink;
	struct filter f;
	struct names *names;
	struct sink *to;
	unsigned classes; /* bits of those that are wanted as a whole */
	bool dropped;     /* the first side of a call that may have a second one */
};

/* Calls that are none of the system's are wanted by what they are. */
static bool wanted(const struct filter_sink *s, const struct op *op)
{
	unsigned call = op->call & OP_CALL;

	/* Which calls are wanted says nothing of what lies below them. */
	if (!s->f.want || op->layer == LAYER_BLOCK)
		return true;
	return call < syscall_rows() ? syscall_wanted(s->f.want, call)
				     : s->classes >> op_kind_class(op->kind) & 1;
}

static bool in_time(const struct filter_sink *s, const struct op *op)
{
	return op->start_ns >= s->f.from_ns && (!s->f.to_ns || op->start_ns < s->f.to_ns);
}

static bool matches(const struct filter_sink *s, const struct op *op)
{
	const struct file *file = names_file(s->names, op->file);
	bool pid = !s->f.npids;

	if (!in_time(s, op) || !wanted(s, op))
		return false;
	for (unsigned i = 0; i < s->f.npids && !pid; i++)
		pid = s->f.pids[i] == op->pid || s->f.pids[i] == op->tid;
	if (!pid || (s->f.types && !(s->f.types >> file->type & 1)))
		return false;
	bool path = !s->f.npaths;
	for (unsigned i = 0; i < s->f.npaths && !path; i++)
		path = !fnmatch(s->f.path[i], names_get(s->names, file->path), 0);
	return path;
}

static int filter_put(struct sink *sink, const struct op *op)
{
	struct filter_sink *s = (struct filter_sink *)sink;
	struct op alone = *op;

	if (op_kind_class(op->kind) == CLASS_NOTICE && op->kind != OP_SPAN)
		return sink_put(s->to, op);
	bool keep = matches(s, op);
	if (op->call & OP_SECOND && s->dropped)
		alone.call &= ~OP_SECOND; /* all that is left of the call */
	s->dropped = !keep;
	return keep ? sink_put(s->to, &alone) : 0;
}

/* The classes of which every call is wanted. */
static unsigned whole_classes(const struct syscall_set *want)
{
	unsigned missing = 0;

	for (unsigned i = 0; syscalls[i].name; i++)
		if (syscalls[i].form != FORM_CONTROL && !syscall_wanted(want, i))
			missing |= 1u << op_kind_class(syscalls[i].kind);
	return ~missing;
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
	if (f->want)
		s->classes = whole_classes(f->want);
	*out = &s->sink;
	return 0;
}
