/*
 * fs_records.h - what the kernel side tells of calls for the stream fs: the call as it
 * was made, with all its arguments. Shared by both sides of the ring.
 */
#ifndef IOPS_BPF_FS_RECORDS_H
#define IOPS_BPF_FS_RECORDS_H

#include "records.h"

enum { REC_FS = 160, REC_FS_ARGS = 1024 };

/* How a call says which file it means. */
enum fs_form {
	FS_PLAIN,
	FS_OPEN,    /* the result is the descriptor of it */
	FS_EARLY,   /* the descriptor is gone when the call returns */
	FS_MMAP,    /* only of files */
	FS_MAPPED,  /* what is mapped at the first argument; only files */
	FS_MSYNC,   /* likewise; whatever it is */
	FS_CWD,     /* what has become the working directory */
	FS_ROOT,    /* ... the root */
	FS_EXEC,    /* the program that runs now */
	FS_SYMLINK, /* the first path is no path but a text */
};

/* Where the result says what the file is. */
enum fs_out { FS_OUT_NONE, FS_OUT_STAT, FS_OUT_STATX, FS_OUT_STAT64 };

/* What to tell of a call, by its number. Positions of arguments count from 1; 0: none. */
struct fs_shape {
	__u8 on, form;
	__u8 fd, path;     /* the file, or the path and the directory it is relative to */
	__u8 fd2, path2;   /* likewise the second one */
	__u8 at, at2;      /* pointers to 64 bits (32 where narrow) */
	__u8 vec;          /* an array of iovecs; the next one is its length */
	__u8 out, out_how; /* enum fs_out */
	__u8 narrow;
	__u16 row; /* of fs_calls[] */
	__u16 pad;
};

enum {
	FS_HAS_FILE = 1,   /* flags and position are those of an open file */
	FS_HAS_FILE2 = 2,  /* likewise position2 */
	FS_HAS_PATH = 4,   /* the first of the texts is a path (it may have no bytes) */
	FS_HAS_PATH2 = 8,  /* the second one */
	FS_HAS_INODE = 16, /* inode and dev are what the call said */
	FS_HAS_ARGS = 32, /* the first text is the command line, its words end with NUL */
};

/* head.file: the file, or with FS_HAS_PATH the directory that the path is relative to. */
struct rec_fs {
	struct rec head; /* row: of fs_calls[] */
	__u64 dur_ns;
	__s64 ret;
	__u64 arg[6];
	__u64 at[2]; /* after the call */
	__u64 want;  /* of vec */
	__s64 position, position2;
	__s64 size; /* of the file, after the call */
	__u64 cgroup;
	__u64 inode, dev; /* dev: as the call encodes it */
	__u32 file2, flags;
	__u32 ppid, uid, mount_ns;
	__u16 nr, has;
	__u32 len, len2; /* of the texts, each with its NUL */
	char comm[16];
	char text[];
};

#endif
