/*
 * stats.c - what the statistics cost an operation, what writing the log does, and how
 * fast a log is read and summed: source_null into each of them
 */
#include "iops/input.h"
#include "iops/log.h"
#include "iops/names.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

/* Write a log of so many operations; seconds per operation. */
static double write_log(struct names *names, int fd, uint64_t count)
{
	struct run about = { .id = "bench", .backend = "null" };
	struct log_args args = { names, &about, "bench", fd };
	struct sink *log;

	if (log_new(&log, &args) < 0)
		exit(1);
	double took = run(names, log, count);
	if (sink_close(log) < 0)
		exit(1);
	return took;
}

static double read_log(const char *path, uint64_t count)
{
	struct names *names = names_new();
	struct stats *stats = stats_new(names, 0);
	struct input *in;
	struct source *s;
	double begin = now_ns();

	if (input_open(&in, path) < 0)
		exit(1);
	struct source_args args = { .names = names, .inputs = &in, .ninputs = 1 };
	if (source_log.open(&s, &args) < 0)
		exit(1);
	while (s->ops->step(s, stats_sink(stats)) > 0)
		;
	s->ops->close(s);
	input_close(in);
	double took = (now_ns() - begin) / (double)count;
	stats_free(stats);
	names_free(names);
	return took;
}

int main(void)
{
	static const struct sink_ops ops = { .name = "drop", .put = drop };
	char path[] = "/tmp/iops-bench-XXXXXX";
	struct sink none = { &ops };
	struct names *names = names_new();
	struct stats *stats = stats_new(names, 0);
	uint64_t count = 5000000;
	int fd = mkstemp(path);

	if (!stats || fd < 0)
		return 1;
	run(names, stats_sink(stats), 10000);
	double made = run(names, &none, count), summed = run(names, stats_sink(stats), count);
	printf("statistics: %.1f ns an operation (%.1f to make it up and sum it, %.1f to make it up)\n",
		summed - made, summed, made);
	double logged = write_log(names, fd, count);
	double bytes = (double)lseek(fd, 0, SEEK_END) / (double)count;
	printf("log: %.1f ns an operation, %.1f bytes of random sizes and files\n", logged - made, bytes);
	double reread = read_log(path, count);
	printf("log, read and summed: %.1f ns an operation, %.1f million a second\n", reread, 1e3 / reread);
	unlink(path);
	stats_free(stats);
	names_free(names);
	return summed - made > 60 || logged - made > 100 || reread > 100;
}
