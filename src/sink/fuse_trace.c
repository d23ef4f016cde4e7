/*
 * fuse_trace.c - operations of a mount as lines of a FUSE trace, as IOTraceCollector
 * writes them: time, call, keys; behind them who it was and what became of it
 */
#include "iops/mount.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/sinks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 1 << 16, STAMP = 32 };

#define SEC UINT64_C(1000000000)

struct fuse_trace_sink {
	struct sink sink;
	struct fuse_trace_args args;
	char *line;
	size_t cap;
	char *buf;
	size_t len;
	time_t second; /* that stamp is of */
	char stamp[STAMP];
};

static int flush(struct sink *sink)
{
	struct fuse_trace_sink *s = (struct fuse_trace_sink *)sink;
	int err = s->len ? s->args.write(s->args.arg, s->buf, s->len) : 0;

	s->len = 0;
	return err;
}

static const char *stamp(struct fuse_trace_sink *s, time_t second)
{
	struct tm tm;

	if (second != s->second || !*s->stamp) {
		localtime_r(&second, &tm);
		strftime(s->stamp, sizeof(s->stamp), "%Y%m%d-%H%M%S", &tm);
		s->second = second;
	}
	return s->stamp;
}

static int put(struct sink *sink, const struct op *op)
{
	struct fuse_trace_sink *s = (struct fuse_trace_sink *)sink;
	const struct mount_detail *d = s->args.detail;

	if (!d->text || op_kind_class(op->kind) == CLASS_NOTICE)
		return 0;
	size_t need = strlen(d->text) + 256;
	if (need > s->cap) {
		char *more = realloc(s->line, need * 2);
		if (!more)
			return -ENOMEM;
		s->line = more;
		s->cap = need * 2;
	}
	uint64_t at = s->args.run->started_ns + op->start_ns;
	int n = snprintf(s->line, s->cap,
		"%s.%06u: %s; pid=%d; uid=%u; result=%lld; errno=%d; "
		"duration_us=%llu.%03u\n",
		stamp(s, (time_t)(at / SEC)), (unsigned)(at % SEC / 1000), d->text,
		op->pid, d->uid, op->ret < 0 ? -1LL : (long long)op->ret,
		op->ret < 0 ? (int)-op->ret : 0, (unsigned long long)op->dur_ns / 1000,
		(unsigned)(op->dur_ns % 1000));
	int err = s->len + n > ROOM ? flush(sink) : 0;
	if (!err && n > ROOM)
		return s->args.write(s->args.arg, s->line, n);
	memcpy(s->buf + s->len, s->line, n);
	s->len += n;
	return !err && s->args.flush ? flush(sink) : err;
}

static int close_sink(struct sink *sink)
{
	struct fuse_trace_sink *s = (struct fuse_trace_sink *)sink;
	int err = flush(sink);

	free(s->line);
	free(s->buf);
	free(s);
	return err;
}

int fuse_trace_new(struct sink **out, const struct fuse_trace_args *args)
{
	static const struct sink_ops ops = {
		.name = "fuse-trace", .put = put, .flush = flush, .close = close_sink
	};
	struct fuse_trace_sink *s = calloc(1, sizeof(*s));

	if (!s || !(s->buf = malloc(ROOM))) {
		free(s);
		return -ENOMEM;
	}
	s->sink.ops = &ops;
	s->args = *args;
	*out = &s->sink;
	return 0;
}
