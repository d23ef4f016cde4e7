/*
 * null.c - operations made of nothing, to measure and test what stands behind a source
 */
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILES = 64, BATCH = 1024 };

struct null_source {
	struct source base;
	uint64_t left, state;
	uint32_t file[FILES], comm;
	int call[2];
};

static int null_open(struct source **out, const struct source_args *args)
{
	struct null_source *s = calloc(1, sizeof(*s));
	char path[32];

	if (!s)
		return -ENOMEM;
	s->base.ops = &source_null;
	s->left = args->count;
	s->state = 88172645463325252u;
	s->call[0] = syscall_by_name("read");
	s->call[1] = syscall_by_name("write");
	s->comm = names_add(args->names, "null", 4);
	for (unsigned i = 0; i < FILES; i++) {
		struct file f = {
			.type = FILE_REGULAR, .inode = i + 1, .major = 8, .minor = 1
		};
		f.path = names_add(
			args->names, path, snprintf(path, sizeof(path), "/null/%u", i));
		s->file[i] = names_add_file(args->names, &f);
	}
	*out = &s->base;
	return 0;
}

/* xorshift64: sizes, files and times that a cache cannot guess. */
static uint64_t next(struct null_source *s)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	return s->state ^= s->state << 17;
}

static int null_step(struct source *base, struct sink *to)
{
	struct null_source *s = (struct null_source *)base;
	int err = 0;

	for (unsigned i = 0; i < BATCH && s->left && !err; i++, s->left--) {
		uint64_t r = next(s);
		struct op op = {
			.start_ns = s->left,
			.dur_ns = 1000 + (r & 0x3fff),
			.want = 4096,
			.ret = 4096 - (int64_t)(r >> 14 & 0xfff),
			.offset = (int64_t)(r >> 26 & 0xffffff),
			.file = s->file[r >> 58],
			.comm = s->comm,
			.pid = 1 + (int)(r >> 50 & 3),
			.fd = 3,
			.kind = r >> 57 & 1 ? OP_WRITE : OP_READ,
			.call = s->call[r >> 57 & 1],
		};
		op.tid = op.pid;
		err = sink_put(to, &op);
	}
	return err < 0 ? err : s->left > 0;
}

static int null_close(struct source *base)
{
	free(base);
	return 0;
}

const struct source_ops source_null = {
	.name = "null",
	.help = "made-up operations, for tests",
	.open = null_open,
	.step = null_step,
	.close = null_close,
};
