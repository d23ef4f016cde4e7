/*
 * live_put.c - operations of threads as those of their processes, and only what is wanted
 */
#include "iops/names.h"
#include "iops/op.h"
#include "iops/trace.h"
#include "live.h"

#include <stddef.h>
#include <string.h>

static struct live *live_of(struct sink *sink)
{
	return (struct live *)((char *)sink - offsetof(struct live, sink));
}

static bool fits(const struct live *l, const struct op *op)
{
	const struct trace_filter *f = l->trace ? &l->trace->filter : NULL;

	if (f && *f->comm &&
		strncmp(names_get(l->names, op->comm), f->comm, strlen(f->comm)) != 0)
		return false;
	return !f || op->want >= f->min_bytes;
}

int live_put(struct sink *sink, const struct op *given)
{
	struct live *l = live_of(sink);
	struct op op = *given;

	if (op.kind == OP_DEVICE)
		return sink_put(l->to, &op);
	struct whose_is whose = whose_get(&l->whose, op.tid);
	if (!whose.wanted) {
		/* It was gone before anybody could ask whose it is. */
		l->lost += !whose.known && op.layer == LAYER_MAIN;
		return 0;
	}
	op.pid = whose.pid;
	return fits(l, &op) ? sink_put(l->to, &op) : 0;
}
