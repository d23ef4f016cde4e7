/*
 * fs_rows.h - what the rows of calls and those of io_uring's requests share
 */
#ifndef IOPS_BPF_FS_ROWS_H
#define IOPS_BPF_FS_ROWS_H

#include "fs.h"

struct stream;

struct fs_rows {
	struct stream *fs, *uring; /* NULL where not wanted */
	struct fs_known known;
	struct map rings; /* of io_uring: their numbers */
};

int uring_rows_open(struct bpf *b, struct fs_rows *f);

/* The name of a result that is an error, or NULL. */
const char *fs_errno(int64_t ret, char buf[16]);

/* Fields of rows: path; a word of names; inode and device; command line, parent and
 * cgroup. */
void fs_put_path(struct bpf *b, struct stream *t, uint32_t file);
void fs_put_name(struct bpf *b, struct stream *t, uint32_t name);
void fs_put_found(struct stream *t, const struct fs_found *f);
void fs_put_who(struct bpf *b, struct stream *t, const struct fs_process *p);

#endif
