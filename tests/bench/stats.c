/*
 * stats.c - what the statistics cost an operation: source_null into stats
 */
#include "iops/names.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int drop(struct sink *s, const struct op *op)
{
	(void)s;
	(void)op;
	return 0;
}

static double run(struct names *names, struct sink *to, uint64_t count)
{
	struct source_args args = { .names = names, .count = count };
	struct source *s;
	double begin = now_ns();

	if (source_null.open(&s, &args) < 0)
		exit(1);
	while (source_null.step(s, to) > 0)
		;
	source_null.close(s);
	return (now_ns() - begin) / (double)count;
}

int main(void)
{
	static const struct sink_ops ops = { .name = "drop", .put = drop };
	struct sink none = { &ops };
	struct names *names = names_new();
	struct stats *stats = stats_new(names, 0);
	uint64_t count = 5000000;

	if (!stats)
		return 1;
	run(names, stats_sink(stats), 10000);
	double made = run(names, &none, count), summed = run(names, stats_sink(stats), count);
	printf("statistics: %.1f ns an operation (%.1f to make it up and sum it, %.1f to make it up)\n",
		summed - made, summed, made);
	stats_free(stats);
	names_free(names);
	return summed - made > 60;
}
