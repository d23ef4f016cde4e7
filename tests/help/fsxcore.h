/*
 * fsxcore.h - what fsx's parts share: the model of a worker's files and names, its random
 * numbers, its digest, and the log of what it did last
 */
#ifndef FSXCORE_H
#define FSXCORE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_SIZE = 256 << 10,
	BLOCK = 4096,
	NFILES = 6,
	NNAMES = 24,
	NDIRS = 3,
	NFDS = 4,
	NLOG = 100,
	MAX_WORKERS = 64,
	MAX_XATTR = 200,
	NSTABLE = 30
};
enum { MTIME_ANY, MTIME_SET, MTIME_NOW };

/* What not every file system has; F_DIRTY: SEEK_DATA finds what is not yet written back,
   which that of FUSE does not. The order is that of feature_names. */
enum {
	F_DIRECT = 1,
	F_MMAP = 2,
	F_FALLOC = 4,
	F_PUNCH = 8,
	F_ZERO = 16,
	F_COLLAPSE = 32,
	F_INSERT = 64,
	F_COPY = 128,
	F_SEEK = 256,
	F_EXCHANGE = 512,
	F_NOREPLACE = 1024,
	F_TMPFILE = 2048,
	F_XATTR = 4096,
	F_UTIMENS = 8192,
	F_DIRTY = 16384,
	F_LOCKS = 32768,
	NFEATURES = 16
};
static const char *const feature_names[NFEATURES] = { "direct", "mmap", "falloc", "punch",
	"zero", "collapse", "insert", "copy", "seek", "exchange", "noreplace", "tmpfile",
	"xattr", "utimens", "dirtyseek", "lock" };

struct handle {
	int fd, flags;
	long pos;
};
struct file {
	unsigned char *data; /* MAX_SIZE, zeros from size on */
	long size;
	int nlink, mode, mtime, nxattr;
	int dirty; /* by a mapping: the time of that may come later */
	time_t mtime_sec;
	struct handle h[NFDS];
	unsigned char *map; /* of the whole MAX_SIZE, or NULL */
	unsigned char xattr[MAX_XATTR];
};
/* What all workers count together, in memory that processes share. */
struct shared {
	atomic_long entries, counter[3], records, ops;
	atomic_uint failed;
	uint64_t digest[MAX_WORKERS];
};
struct options {
	const char *dir;
	long ops, rounds, seconds, workers, features;
	uint64_t seed;
	int threads, verbose;
};
struct worker {
	const struct options *o;
	struct shared *shared;
	uint64_t random, digest;
	long id, nop;
	int top, common; /* descriptors of its own folder, and of everyone's */
	struct file f[NFILES];
	int name[NNAMES]; /* file of this name, or -1 */
	int moved[NDIRS]; /* whether the folder has its other name */
	int sub[NDIRS], nlinkto[NDIRS];
	int stable[NSTABLE]; /* which of its two names each has */
	char linkto[NDIRS][64];
	unsigned char *buf, *buf2; /* aligned, MAX_SIZE */
	char log[NLOG][160];
	time_t begin;
};

static inline uint64_t rnd(struct worker *w)
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static inline long below(struct worker *w, long n)
{
	return (long)(rnd(w) % (uint64_t)n);
}

static inline void digest(struct worker *w, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		w->digest = (w->digest ^ s[i]) * 0x100000001b3;
}

static inline void digest_long(struct worker *w, long v)
{
	digest(w, &v, sizeof(v));
}

/* Remember what is about to be done. */
__attribute__((format(printf, 2, 3))) static inline void will(
	struct worker *w, const char *fmt, ...)
{
	char *line = w->log[w->nop % NLOG];
	size_t n = (size_t)snprintf(line, sizeof(w->log[0]), "%ld.%ld ", w->id, w->nop);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(w->log[0]) - n, fmt, ap);
	va_end(ap);
	if (w->o->verbose)
		fprintf(stderr, "%s\n", line);
}

/* The end: what is wrong, and what was done before. */
__attribute__((format(printf, 2, 3), noreturn)) static inline void wrong(
	struct worker *w, const char *fmt, ...)
{
	char what[300];
	int err = errno;
	va_list ap;

	if (atomic_exchange(&w->shared->failed, 1))
		for (;;) /* another one tells its tale, then ends this thread */
			w->o->threads ? (void)pause() : _exit(1);
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	for (long i = w->nop > NLOG - 1 ? w->nop - NLOG + 1 : 0; i < w->nop; i++)
		if (w->log[i % NLOG][0])
			fprintf(stderr, "  %s\n", w->log[i % NLOG]);
	fprintf(stderr,
		"fsx: seed %llu, worker %ld, operation %ld: %s\nfsx: in: %s (errno %s)\n",
		(unsigned long long)w->o->seed, w->id, w->nop, what,
		w->log[w->nop % NLOG], strerrorname_np(err) ? strerrorname_np(err) : "0");
	_exit(1);
}

static inline void expect(struct worker *w, const char *what, long got, long want)
{
	digest_long(w, got);
	if (got != want)
		wrong(w, "%s: %ld, not %ld", what, got, want);
}

/* A call that must have failed with want, or be done when that is 0. */
static inline void outcome(struct worker *w, const char *what, long rc, int want)
{
	int got = rc < 0 ? errno : 0;

	digest_long(w, got);
	if (got != want)
		wrong(w, "%s: %s, not %s", what, got ? strerrorname_np(got) : "done",
			want ? strerrorname_np(want) : "done");
}

static inline void same(
	struct worker *w, const unsigned char *got, const unsigned char *want, long n)
{
	if (!memcmp(got, want, (size_t)n)) {
		digest(w, got, (size_t)(n > 64 ? 64 : n));
		return;
	}
	long i = 0, last = n - 1;
	while (got[i] == want[i])
		i++;
	while (got[last] == want[last])
		last--;
	wrong(w, "data differs in bytes %ld to %ld of %ld: %02x, not %02x", i, last, n,
		got[i], want[i]);
}

static inline void fill(struct worker *w, unsigned char *p, long n)
{
	for (long i = 0; i < n; i += 8) {
		uint64_t v = rnd(w);

		memcpy(p + i, &v, (size_t)(n - i < 8 ? n - i : 8));
	}
}

/* A place and a length, often small, often at the edge of a block, at most limit. */
static inline void place(struct worker *w, long limit, long *off, long *len)
{
	static const long scale[] = { 1, 100, BLOCK, 4 * BLOCK, MAX_SIZE };
	long edge = below(w, 4);

	*len = 1 + below(w, scale[below(w, 5)]);
	*off = below(w, limit);
	if (edge == 0)
		*off -= *off % BLOCK;
	if (edge == 1)
		*len = (*len + BLOCK - 1) / BLOCK * BLOCK;
	if (*len > limit - *off)
		*len = limit - *off;
}

static inline int has(const struct worker *w, long feature)
{
	return (w->o->features & feature) != 0;
}

static inline void set_size(struct file *f, long size)
{
	if (size < f->size)
		memset(f->data + size, 0, (size_t)(f->size - size));
	f->size = size;
}

#endif
