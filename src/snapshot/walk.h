/*
 * walk.h - all files below some directories, and later what has changed of them.
 */
#ifndef IOPS_SNAPSHOT_WALK_H
#define IOPS_SNAPSHOT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk;

struct walk_time {
	int64_t sec; /* since 1970 */
	uint32_t nsec;
};

/* A file as it is now; where it is gone, nothing else is known. */
struct walk_file {
	bool gone, born; /* born: btime is known */
	uint16_t mode;   /* with its type: S_IFREG or S_IFLNK */
	uint32_t uid, gid, nlink, major, minor;
	uint64_t size, inode;
	struct walk_time btime, mtime, atime;
};

struct walk_out {
	/* 0, or an error that ends the walk. */
	int (*put)(void *ctx, const struct walk_file *file, const char *path, size_t len);
	bool (*stopped)(void *ctx);
	void *ctx;
};

enum { WALK_REASONS = 8 };

/* Of something that was left out: an errno, or a magic number; and how often. */
struct walk_reason {
	uint32_t what;
	uint64_t n;
};

struct walk_counts {
	uint64_t directories, files, rows, gone; /* rows: with those that are gone */
	uint64_t twice; /* directories that were seen under another path before */
	struct walk_reason unreadable[WALK_REASONS]; /* directories; errno */
	struct walk_reason failed[WALK_REASONS];     /* files; errno */
	struct walk_reason pseudo[WALK_REASONS * 4]; /* mounts; magic */
};

/* Roots are absolute, without symbolic links. 0 or -errno. */
int walk_new(struct walk **out, const char *const *roots, size_t nroots);

/*
 * Put the files that are new, that are gone, or whose size, mtime, ctime or btime differ
 * from the last time. What cannot be read now counts as unchanged. After an error the
 * walk is of no more use. 0 or -errno; -ECANCELED if stopped.
 */
int walk_scan(struct walk *w, const struct walk_out *out, struct walk_counts *counts);

/* Bytes that the walk keeps between two scans. */
uint64_t walk_bytes(const struct walk *w);

void walk_free(struct walk *w);

#endif
