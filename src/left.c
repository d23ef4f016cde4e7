/*
 * left.c - what a traced program leaves behind in the page cache
 */
#include "iops/left.h"
#include "iops/layer_cache.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/stats.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { CALL_CACHESTAT = 451 /* cachestat(2), since Linux 6.5; the same everywhere */ };

struct range {
	uint64_t off, len; /* 0, 0: all of it */
};

struct state {
	uint64_t cached, dirty, writeback, evicted, recently;
};

/* Pages that are dirty or on their way, of a file that still has its name; or -1. */
static int64_t ask(const struct names *names, uint32_t id)
{
	const struct file *f = names_file(names, id);
	const char *path = names_get(names, f->path);
	struct range all = { 0 };
	struct state s = { 0 };
	struct stat st;
	int64_t n = -1;

	if (*path != '/' || f->type != FILE_REGULAR)
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_ino == f->inode && major(st.st_dev) == f->major &&
		minor(st.st_dev) == f->minor && !syscall(CALL_CACHESTAT, fd, &all, &s, 0))
		n = (int64_t)(s.dirty + s.writeback);
	close(fd);
	return n;
}

/* Where the kernel does not say. A page may have been written in part. */
static uint64_t guess(const struct pages_row *r)
{
	uint64_t gone = r->n[CACHE_WRITTEN] + r->n[CACHE_DROPPED];

	return r->n[CACHE_DIRTIED] > gone ? r->n[CACHE_DIRTIED] - gone : 0;
}

int left_put(const struct stats *stats, struct sink *to, uint64_t now_ns)
{
	const struct pages_sums *c = stats_layer_sums(stats, LAYER_CACHE);
	struct names *names = stats_names(stats);
	size_t n = c ? c->file.n : 0;
	int err = 0;

	/* The sums grow by what is put, which moves the rows. */
	for (size_t i = 0; i < n && !err; i++) {
		const struct pages_row r = c->file.row[i];
		if (!r.n[CACHE_DIRTIED])
			continue;
		int64_t left = ask(names, r.key);
		if (left < 0)
			left = (int64_t)guess(&r);
		if ((uint64_t)left > r.n[CACHE_DIRTIED]) /* by others */
			left = (int64_t)r.n[CACHE_DIRTIED];
		struct op op = {
			.layer = LAYER_CACHE,
			.kind = OP_META,
			.call = names_call(names, "cache:left", 10) | OP_SUM,
			.file = r.key,
			.fd = -1,
			.offset = OP_NO_OFFSET,
			.dur_ns = OP_NO_TIME,
			.start_ns = now_ns,
			.want = (uint64_t)left,
			.ret = left * sysconf(_SC_PAGESIZE),
		};
		err = sink_put(to, &op);
	}
	return err;
}
