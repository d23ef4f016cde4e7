/*
 * sink.h - where operations go: the statistics, a filter, a log.
 */
#ifndef IOPS_SINK_H
#define IOPS_SINK_H

#include <stdint.h>

struct op;
struct sink;

/* All return 0 or -errno. */
struct sink_ops {
	const char *name;

	/* Take one operation. It is borrowed: copy it to keep it. */
	int (*put)(struct sink *s, const struct op *op);

	/* Optional: time passed with or without operations. */
	int (*tick)(struct sink *s, uint64_t now_ns);

	/* Optional, every second: make safe what was taken so far. */
	int (*flush)(struct sink *s);

	/* Flush and free. Reports write errors that nothing earlier could. */
	int (*close)(struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
};

static inline int sink_put(struct sink *s, const struct op *op)
{
	return s->ops->put(s, op);
}

static inline int sink_tick(struct sink *s, uint64_t now_ns)
{
	return s->ops->tick ? s->ops->tick(s, now_ns) : 0;
}

static inline int sink_flush(struct sink *s)
{
	return s->ops->flush ? s->ops->flush(s) : 0;
}

static inline int sink_close(struct sink *s)
{
	return s ? s->ops->close(s) : 0;
}

#endif
