/*
 * fs_usage.h - one line of macOS fs_usage(1) taken apart; what it means is in fs_usage.c.
 */
#ifndef IOPS_SOURCE_FS_USAGE_H
#define IOPS_SOURCE_FS_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the line, borrowed. Not given: len 0. */
struct fs_word {
	const char *s;
	size_t len;
};

struct fs_line {
	uint64_t day_ns; /* time of day when the call ended */
	unsigned digits; /* of its fraction of a second */
	uint64_t dur_ns; /* or OP_NO_TIME */
	int32_t fd, fd2; /* F=, and the second one of dup() and accept(); -1 none */
	int32_t dirfd;   /* if at: what the path is relative to */
	int64_t bytes;   /* B=, 0 if not readable; -1 not given */
	int64_t offset;  /* O=, or OP_NO_OFFSET */
	int err;         /* Darwin's errno; 0 none */
	uint64_t tid;    /* 0 unknown */
	bool at;
	bool disk;           /* D= was given: physical I/O */
	bool full_sync;      /* fcntl() that waits for the drive */
	struct fs_word call; /* at most FS_CALL_MAX long */
	struct fs_word device, path, comm;
};

enum { FS_CALL_MAX = 64 };

/* 0, or -EINVAL if it is no such line. The text ends with a NUL and without blanks. */
int fs_line_parse(struct fs_line *out, const char *text, size_t len);

/* The Linux errno of the same name as one of Darwin; EIO where there is none. */
int darwin_errno(int err);

#endif
