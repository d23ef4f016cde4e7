/*
 * reports.h - one run's sums, filled by hand, and what a report shows of them.
 */
#ifndef REPORTS_H
#define REPORTS_H

#include "iops/names.h"
#include "iops/op.h"
#include "iops/report.h"
#include "iops/sink.h"
#include "iops/stats.h"
#include "iops/syscalls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(*(a)))
#define ALL_DIMS  ((1u << NDIMS) - 1)
#define TEST(f)   cmocka_unit_test_setup_teardown(f, start, stop)

static struct names *names;
static struct stats *stats;
static struct run run;
static struct view view;
static struct report_in in;
static char *text; /* what was rendered last */
static size_t len;
static char *command[] = { "cat", "a b", NULL };

static inline int start(void **state)
{
	(void)state;
	names = names_new();
	stats = stats_new(names, ALL_DIMS);
	run = (struct run){ .id = "0-1",
		.host = "here",
		.kernel = "6.1",
		.backend = "null",
		.command = command,
		.complete = true,
		.verifies = true,
		.started_ns = 1000000000u,
		.elapsed_ns = 2000000000u };
	view = (struct view){ .width = 80, .text = TEXT_UTF8 };
	in = (struct report_in){ stats, names, &run, &view };
	return 0;
}

static inline int stop(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	stats_free(stats);
	names_free(names);
	return 0;
}

static inline uint32_t name(const char *s)
{
	return names_add(names, s, strlen(s));
}

static inline uint32_t add_file(const char *path, int type)
{
	struct file f = { .path = name(path),
		.type = type,
		.inode = 77,
		.major = 8,
		.minor = 1,
		.mount = name("/") };

	return names_add_file(names, &f);
}

static inline void put(struct op op)
{
	if (!op.pid)
		op.pid = 100;
	if (!op.tid)
		op.tid = op.pid;
	if (!op.comm)
		op.comm = name("cat");
	assert_int_equal(sink_put(stats_sink(stats), &op), 0);
}

static inline void put_rw(unsigned kind, uint32_t file, int64_t ret)
{
	put((struct op){ .kind = kind,
		.file = file,
		.ret = ret,
		.want = 4096,
		.dur_ns = 5,
		.offset = OP_NO_OFFSET,
		.call = syscall_by_name(kind == OP_READ ? "read" : "write") });
}

static inline const char *render(const struct report *r)
{
	free(text);
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(r->render(out, &in), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static inline void by(enum dim dim)
{
	view.by[0] = dim;
	view.nby = 1;
}

#endif
