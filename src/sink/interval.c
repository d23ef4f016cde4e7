/*
 * interval.c - a row of what happened since the last tick
 */
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/sinks.h"
#include "iops/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	uint64_t operations, bytes, errors;
};

struct interval {
	struct sink sink;
	struct interval_args args;
	struct sums sum[NCLASS];
	uint64_t from_ns, calls;
	unsigned rows;
};

enum { HEADER_EVERY = 24 };

static int interval_put(struct sink *sink, const struct op *op)
{
	struct interval *s = (struct interval *)sink;
	unsigned class = op_kind_class(op->kind);

	if (class == CLASS_NOTICE || op->layer != LAYER_MAIN)
		return 0;
	if (op->ret < 0) {
		s->sum[class].errors += op->ret != -EAGAIN && !op_interrupted(op->ret);
		return 0;
	}
	uint64_t n = op->call & OP_SUM ? op->want : 1;
	s->sum[class].operations += n;
	if (class == CLASS_READ || class == CLASS_WRITE) {
		s->sum[class].bytes += op->ret;
		s->calls += op->call & OP_SECOND ? 0 : n;
	}
	return 0;
}

static int row_table(struct interval *s, char *buf, size_t size, double from, double to)
{
	const struct sums *r = &s->sum[CLASS_READ], *w = &s->sum[CLASS_WRITE];
	char a[UNITS_LEN], b[UNITS_LEN], c[UNITS_LEN], d[UNITS_LEN], e[UNITS_LEN],
		f[UNITS_LEN];
	enum units u = s->args.units;
	double span = to > from ? to - from : 1e-9;
	int n = 0;

	if (s->rows % HEADER_EVERY == 0)
		n = snprintf(buf, size, "%8s  %9s %10s  %9s %10s  %7s  %9s %11s\n",
			"time", "reads", "bytes", "writes", "bytes", "sync", "IOPS",
			"throughput");
	return n + snprintf(buf + n, size - n,
			   "%6.2f s  %9s %10s  %9s %10s  %7s  %9s %11s\n", to,
			   units_count(a, r->operations, u), units_bytes(b, r->bytes, u),
			   units_count(c, w->operations, u), units_bytes(d, w->bytes, u),
			   units_count(e, s->sum[CLASS_SYNC].operations, u),
			   units_count(f, (uint64_t)((double)s->calls / span + 0.5), u),
			   units_rate((char[UNITS_LEN]){ 0 },
				   (double)(r->bytes + w->bytes) / span, u));
}

static int row_values(
	struct interval *s, char *buf, size_t size, uint64_t from, uint64_t to)
{
	bool json = s->args.format == INTERVAL_JSON;
	int n = 0;

	if (json)
		n = snprintf(buf, size,
			"{\"schema\": \"iops.interval/1\", \"from_ns\": %" PRIu64
			", \"to_ns\": %" PRIu64,
			from, to);
	else if (!s->rows)
		n = snprintf(buf, size,
			"from_ns,to_ns,read_operations,read_bytes,read_errors,write_"
			"operations,"
			"write_bytes,write_errors,sync_operations,meta_operations\r\n");
	if (!json)
		n += snprintf(buf + n, size - n, "%" PRIu64 ",%" PRIu64, from, to);
	for (unsigned c = 0; c < CLASS_PEEK; c++) {
		const struct sums *x = &s->sum[c];
		if (json)
			n += snprintf(buf + n, size - n,
				", \"%s\": {\"operations\": %" PRIu64
				", \"bytes\": %" PRIu64 ", \"errors\": %" PRIu64 "}",
				op_class_name(c), x->operations, x->bytes, x->errors);
		else if (c <= CLASS_WRITE)
			n += snprintf(buf + n, size - n,
				",%" PRIu64 ",%" PRIu64 ",%" PRIu64, x->operations,
				x->bytes, x->errors);
		else
			n += snprintf(buf + n, size - n, ",%" PRIu64, x->operations);
	}
	return n + snprintf(buf + n, size - n, json ? "}\n" : "\r\n");
}

static int interval_tick(struct sink *sink, uint64_t now_ns)
{
	struct interval *s = (struct interval *)sink;
	char buf[1024];
	int n = s->args.format == INTERVAL_TABLE
			? row_table(s, buf, sizeof(buf), (double)s->from_ns / 1e9,
				  (double)now_ns / 1e9)
			: row_values(s, buf, sizeof(buf), s->from_ns, now_ns);

	s->rows++;
	s->from_ns = now_ns;
	s->calls = 0;
	memset(s->sum, 0, sizeof(s->sum));
	return s->args.write(s->args.arg, buf, n);
}

static int interval_close(struct sink *sink)
{
	free(sink);
	return 0;
}

int interval_new(struct sink **out, const struct interval_args *args)
{
	static const struct sink_ops ops = {
		.name = "interval",
		.put = interval_put,
		.tick = interval_tick,
		.close = interval_close,
	};
	struct interval *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct interval){ .sink = { &ops }, .args = *args };
	*out = &s->sink;
	return 0;
}
