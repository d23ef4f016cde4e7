/*
 * records.h - what the programs in the kernel tell: shared by both sides of the ring
 *
 * Every record begins with a struct rec; what follows is by its type. Sizes are what is
 * there, so that a record without its text is short.
 */
#ifndef IOPS_BPF_RECORDS_H
#define IOPS_BPF_RECORDS_H

/* Layers, as bits of what is traced; each counts its own losses. */
enum bpf_layer {
	BPF_CALLS,
	BPF_URING,
	BPF_BLOCK,
	BPF_CACHE,
	BPF_NET,
	BPF_FAULT,
	BPF_ROWS, /* of the stream fs */
	BPF_LIFE, /* of tasks and the names of files: what all others need */
	NBPF_LAYERS,
};

enum rec_type {
	REC_NONE,
	REC_FORK,
	REC_EXEC,
	REC_EXIT,
	REC_CHECK,
	REC_FILE,
	REC_CALL,
	REC_TWO,
	REC_PATH,
	REC_MMSG,
	REC_LAST,   /* the account of a task that runs on */
	REC_SIGNAL, /* other: its number; status: who sent it */
	REC_URING,
	REC_AIO, /* a struct rec_uring too; row is its IOCB_CMD_... */
	/* Of the other layers: block.bpf.h and the like say what follows. */
	REC_BLOCK = 32,
	REC_CACHE = 64,
	REC_NET = 96,
	REC_FAULT = 128,
};

struct rec {
	__u8 type; /* enum rec_type */
	__u8 abi;  /* enum abi, of calls */
	__u16 row; /* of syscalls[]; or what the type says */
	__u32 pid, tid;
	__u32 file;  /* the id that a REC_FILE before it gave; 0 unknown */
	__u64 at_ns; /* CLOCK_MONOTONIC; of calls when they began */
};

/* A call and what it did. */
struct rec_call {
	struct rec head;
	__u64 dur_ns;
	__s64 ret;
	__u64 want;     /* bytes asked for */
	__s64 position; /* of the file after the call; what a placed one names */
	__s32 fd;
	__u8 counted; /* by how much syscr + syscw went up */
	__u8 placed;  /* position is an argument, not the file's own */
	__u16 flags;  /* REC_F_... */
};

enum {
	REC_F_APPEND = 1, /* the file is open with O_APPEND */
	REC_F_PEEK = 2,   /* MSG_PEEK */
	REC_F_RDONLY = 4, /* O_RDONLY: tells which end vmsplice(2) was given */
	REC_F_STREAM = 8, /* no position */
};

/* A call with two sides. */
struct rec_two {
	struct rec_call one;
	__u32 file2;
	__s32 fd2;
	__s64 position2;
	__u8 placed2, stream2, pad[6];
};

/* A call by path: file is the directory that it is relative to; then the path. */
enum { REC_PATH_MAX = 4096 };
struct rec_path {
	struct rec_call call;
	char path[];
};

/* Messages: asked[i] and got[i], as many as there were, up to this. */
enum { REC_MMSG_MAX = 1024 /* UIO_MAXIOV: more are not sent */ };
struct rec_mmsg {
	struct rec_call call;
	__u32 n, pad;
	struct {
		__u32 asked, got;
	} msg[REC_MMSG_MAX];
};

/* The name of a file: components from the file up to the root, each ending with NUL.
 * A component "/" alone is a mount point's end: nothing is missing, it only marks it. */
enum { REC_FILE_MAX = 4096 };
struct rec_file {
	struct rec head; /* file: its id */
	__u64 inode;
	__s64 size;
	__u32 dev, rdev; /* as the kernel has them: major << 20 | minor */
	__u32 magic;     /* of the file system */
	__u32 mode;
	__s32 mount; /* id */
	__u16 gone;  /* unlinked */
	__u16 len;   /* of name */
	char fs[16]; /* name of the kind of file system */
	char name[];
};

/* row of a REC_EXIT: its process ends with it; and it was not followed itself. */
enum { EXIT_LAST = 1, EXIT_LAST_OTHER = 2 };

/* The life of a task. EXEC, FORK: file is the program. */
struct rec_life {
	struct rec head;
	__u32 other;  /* FORK: the parent's process; EXEC: the task id that it had before
		       */
	__s32 status; /* EXIT: wait status; row: it was the last of its process */
	__u64 calls, bytes; /* CHECK, EXIT: since the account began, by the kernel */
	struct rec_ledger {
		__u64 rchar, wchar;
		__u64 read, written, cancelled; /* from and to storage */
	} ledger;        /* EXIT, LAST: since the task began, or was met */
	__u64 in_flight; /* calls that may have been counted or not */
	char comm[16];
};

/* An io_uring request; row is its opcode. */
struct rec_uring {
	struct rec head; /* at_ns: submitted */
	__u64 dur_ns, user_data, want, ring;
	__s64 position;
	__s32 res, fd;
	__u32 ring_flags, sqe_flags;
	__u8 placed, more, opened, pad[5];
};

/* What became of a request to a block device; head: who queued it, for which file. */
enum block_event {
	BLOCK_QUEUE,    /* a bio came: struct rec_block_queue */
	BLOCK_GETRQ,    /* it got a request; since: it was queued */
	BLOCK_MERGE,    /* it became part of one; since: it was queued */
	BLOCK_INSERT,   /* the request went to the scheduler; since: it was got */
	BLOCK_ISSUE,    /* to the driver; since: it was inserted */
	BLOCK_REQUEUE,  /* back from it; since: it was issued */
	BLOCK_COMPLETE, /* ended: struct rec_block_done; since: it was issued */
	BLOCK_SPLIT,    /* a bio's front became a bio of its own; since: it was queued */
	BLOCK_REMAP,    /* it goes elsewhere; since: no time, the sector that it had */
	BLOCK_DONE,     /* a further bio of the request; since: it was queued */
	NBLOCK_EVENTS,
};

struct rec_block {
	struct rec head; /* row: enum block_event */
	__u64 since_ns;  /* 0 unknown */
	__u64 sector;    /* ~0 none */
	__u32 bytes;
	__u32 dev;   /* the whole disk: major << 20 | minor */
	__u32 flags; /* the kernel's: the operation in the low byte, and REQ_ bits */
	__u32 id;    /* of the request, since it was issued first; 0 none */
};

struct rec_block_queue {
	struct rec_block block;
	__u32 ppid, pad;
	char comm[16];
};

struct rec_block_done {
	struct rec_block block;
	__u64 queue_ns; /* when its first bio was queued; 0 unknown */
	__u64 wait_ns;  /* from insertion, or from getting it, to its issue */
	__u32 failed;   /* bytes that did not get there */
	__u16 cpu;
	__u8 status; /* blk_status_t of the kernel, if bytes failed or there were none */
	__u8 timed;  /* wait_ns is known */
};

/* What to do with each call, by its number: filled in before loading. */
struct call_shape {
	__u8 how;    /* enum call_how; 0: it is of no concern */
	__u8 weight; /* what it adds to syscr + syscw */
	__s8 fd, size, offset, fd2, offset2, path, flags;
	__u8 form; /* enum syscall_form */
	__u16 row;
	__u8 wanted; /* it is to be told; else only counted */
	__u8 writes; /* to the file: where it appends, at its end */
	__u8 wide;   /* i386 passes its size in two registers, the last ones */
	__u8 pad;
};

enum call_how { HOW_NONE, HOW_CALL, HOW_EXEC, HOW_SOCKETCALL, HOW_SUBMIT, HOW_REAP };

enum { SHAPES_MAX = 512, SHAPES_ABIS = 2 };

/* What the kernel side is to keep: constants from loading on. */
struct bpf_filter {
	__u32 all;     /* the whole machine, not only what is followed */
	__u32 self;    /* our own process: never */
	__u32 front;   /* nor the one that started it */
	__u32 command; /* whose signals are told; 0: nobody's */
	__u32 follow;  /* children too */
	__u32 layers;  /* 1 << enum bpf_layer */
	__u32 rows;    /* of the stream fs are wanted */
	__u32 uid, uid_set;
	__u32 dev, dev_set; /* major << 20 | minor */
	__u32 under_set, under_dev;
	__u64 under_ino; /* of a directory that files have to be below */
	__u64 cgroup;    /* id; 0: any */
	__u64 min_bytes, min_ns;
	__u32 aggregate; /* calls are summed up here, not told one by one */
	__u32 wake;      /* bytes in the ring at which the reader is woken */
	__u32 comm_len;
	char comm[16];
};

/* Calls that are alike, summed up in the kernel: of one octave of size and of time. */
struct sum_key {
	__u32 pid, file;
	__s32 fd;
	__u16 row;
	__u8 size, time, rdonly, pad[3];
};

struct sum_value {
	__u64 calls, bytes, ns, first_ns;
};

#endif
