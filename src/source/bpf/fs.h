/*
 * fs.h - the streams of file operations: fs, a row a call, and io_uring, a row a request
 *
 *   fs_calls.c  which calls and what their arguments are     fs_words.c  their flags
 *   fs_rows.c   the rows of fs    fs_known.c  what paths and processes are known to be
 *   uring_rows.c  the rows of io_uring          fs_fields.c  what both have in common
 */
#ifndef IOPS_BPF_FS_H
#define IOPS_BPF_FS_H

#include "bpf.h"
#include "fs_records.h"

#include <stddef.h>

/* Words of numbers: bits that are joined by "|", or values of which one is meant. */
enum fs_vocabulary {
	WORDS_NONE,
	WORDS_OPEN,
	WORDS_FILE, /* of the open file, not of the call: O_RDWR */
	WORDS_MODE,
	WORDS_ACCESS,
	WORDS_AT,
	WORDS_PROT,
	WORDS_MAP,
	WORDS_MREMAP,
	WORDS_MSYNC,
	WORDS_MADVISE,
	WORDS_MEMFD,
	WORDS_FALLOCATE,
	WORDS_SPLICE,
	WORDS_RANGE,
	WORDS_CLOSE,
	WORDS_RENAME,
	WORDS_XATTR,
	WORDS_SEEK,
	WORDS_ADVICE,
	WORDS_FLOCK,
	WORDS_FCNTL,
	WORDS_RW,
	WORDS_SQE,
	NWORDS,
};

enum { WORDS_MAX = 512 };

/* The words of a number; bits that have no name are added in hexadecimal. */
const char *fs_words(enum fs_vocabulary which, uint64_t value, char out[WORDS_MAX]);

/* A call as an operation. Positions of arguments count from 1; 0: none. */
struct fs_call {
	const char *call, *op;
	const char *other; /* operation if a bit of the flags is set */
	uint32_t when;     /* that bit */
	int16_t nr[NABI];  /* where syscalls[] does not have it; else 0 */
	uint8_t form;      /* enum fs_form */
	uint8_t fd, path, fd2, path2;
	uint8_t at, at2; /* pointers to the offsets of fd and fd2 */
	uint8_t vec, out, out_how;
	uint8_t size, offset, flags;
	uint8_t words;      /* enum fs_vocabulary of flags */
	uint8_t more, bits; /* a second argument of flags and its vocabulary */
	uint32_t fixed;     /* flags that no argument says */
	bool data;          /* the result is bytes */
	bool moves;         /* ... by which the position of the file moves on */
	bool gone;          /* removes what the path names */
	bool makes;         /* what was there before it is another one */
	bool link;          /* a symbolic link at the end of the path is meant itself */
};

extern const struct fs_call fs_calls[];
unsigned fs_call_rows(void);

/* only: the calls that are wanted; programs that begin are in any case. NULL: all. */
void fs_shapes_fill(
	struct fs_shape table[SHAPES_ABIS][SHAPES_MAX], const struct syscall_set *only);

/* The arguments as a 64-bit program would have given them. */
void fs_args_widen(const struct rec_fs *r, uint64_t arg[6]);

/* What file a path leads to, as far as it is known without asking. */
struct fs_found {
	uint64_t inode; /* 0: unknown */
	uint32_t major, minor;
	uint32_t fs; /* name; 0 unknown */
	bool dir, since;
};

/* A process, as its rows show it. */
struct fs_process {
	pid_t pid, ppid;
	uint32_t args; /* names: its command line */
	uint32_t exe, uid;
	uint64_t cgroup;
	bool told; /* parent, user and cgroup are known */
};

struct fs_known {
	struct names *names;
	struct map paths;     /* name of the path: struct fs_found */
	struct map processes; /* id: struct fs_process */
	struct map kinds;     /* major and minor number: name of the file system */
	uint32_t mount_ns;    /* our own */
};

int fs_known_open(struct fs_known *k, struct names *names);
void fs_known_close(struct fs_known *k);

void fs_known_put(struct fs_known *k, uint32_t path, const struct fs_found *f);
bool fs_known_get(const struct fs_known *k, uint32_t path, struct fs_found *f);
void fs_known_remove(struct fs_known *k, uint32_t path);
void fs_known_rename(struct fs_known *k, uint32_t from, uint32_t to, bool dir);

/* The kind of file system that a device has; 0 unknown. */
void fs_known_learn(struct fs_known *k, const struct fs_found *f);
uint32_t fs_known_kind(const struct fs_known *k, const struct fs_found *f);

/* What the path of a call leads to now, where the process is. Whether there is anything;
 * since: it may have got there after the call. */
bool fs_known_ask(const struct fs_known *k, const struct rec_fs *r, const char *path,
	bool link, struct fs_found *f);

/* The process of a record, made if new; NULL: no memory. */
struct fs_process *fs_known_process(struct fs_known *k, const struct rec_fs *r);
struct fs_process *fs_known_of(struct fs_known *k, pid_t pid);
struct fs_process *fs_known_find(const struct fs_known *k, pid_t pid);
void fs_known_args(
	struct fs_known *k, struct fs_process *p, const char *text, size_t len);
void fs_known_fork(struct fs_known *k, pid_t pid, pid_t parent);
void fs_known_exit(struct fs_known *k, pid_t pid);

#endif
