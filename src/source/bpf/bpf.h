/*
 * bpf.h - what the parts of the eBPF source share
 *
 *   source.c  open, step, stop, close        load.c   programs into the kernel, the ring
 *   life.c    tasks, processes, accounts     files.c  names that the kernel sent
 *   calls.c   system calls as operations     uring.c  requests of io_uring
 *   block.c   requests to devices            block_rows.c  these as rows
 *   cache.c   page cache, page faults        cache_rows.c  these as rows
 *   perf.c    programs at page faults
 *   fs.h      and what it lists: rows of calls and requests in CSV streams
 *
 * A record of the ring goes to the part that its type says, which makes operations of it.
 */
#ifndef IOPS_BPF_H
#define IOPS_BPF_H

#include "iops/fdtab.h"
#include "iops/map.h"
#include "iops/op.h"
#include "iops/source.h"
#include "iops/syscalls.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "records.h"

struct fs_rows;
struct launch;
struct names;
struct net;
struct programs;
struct rec_fs;
struct ring_buffer;
struct sink;
struct streams;

/* A process that is followed. */
struct process {
	pid_t pid;
	uint32_t comm;
	bool started;    /* has run its program: what it does counts */
	bool gone;       /* had no thread left when it was looked at: ebpf_life_look() */
	uint64_t run_ns; /* when that program began */
};

/* What a thread's calls add up to, to be compared with the kernel's counters. */
struct account {
	uint64_t calls, bytes; /* since it was closed last */
	uint64_t counted;      /* calls in all */
	int64_t off_calls, off_bytes;
};

/* A file that the kernel named, by its id there. */
struct seen {
	uint32_t file; /* id in names */
	bool placed;   /* has positions */
	uint32_t fs;   /* name of the kind of file system */
};

struct bpf {
	struct source base;
	struct names *names;
	struct fdtab *fdtab;
	struct launch *launch;
	struct syscall_set want;
	uint64_t epoch_ns;
	bool countable, follow, wait, all, aggregate;
	const pid_t *pids;
	unsigned npids;
	uint32_t layers;         /* 1 << enum bpf_layer */
	struct streams *streams; /* rows go there too; NULL: nowhere */
	struct fs_rows *fs;      /* those of calls and requests */
	char missing[400];       /* tracepoints that this kernel does not have */

	struct programs *programs;
	struct ring_buffer *ring;
	uint64_t told[NBPF_LAYERS];   /* losses that were */
	uint64_t missed[NBPF_LAYERS]; /* runs of programs: ebpf_load_missed() */
	uint64_t looked_ns;           /* when that was called last */

	struct map processes, accounts; /* by id: struct process, struct account */
	struct map commands;            /* by id of the process: its latest name */
	struct seen *seen;
	uint32_t nseen;
	uint32_t uring_call[2][256]; /* of each opcode, and of AIO; names_call() */
	struct net *net;             /* of that layer; NULL: not wanted */

	struct block *block; /* of block.c; NULL: not traced */
	struct cache *cache; /* of cache.c; likewise */
	struct perf_links *perf;
	uint64_t swept_ns; /* when what the kernel side keeps back was asked for */

	struct sink *sink; /* of the step */
	int error;         /* of it */
	bool stopped, ended;
	uint64_t ended_ns;
	unsigned living; /* processes */
};

static inline uint64_t ebpf_since(const struct bpf *b, uint64_t at_ns)
{
	return at_ns > b->epoch_ns ? at_ns - b->epoch_ns : 0;
}

/* Hand on an operation; the first error is kept. */
void ebpf_put(struct bpf *b, const struct op *op);

/* Whether two makes of enum abi there are one: 1 is what 32-bit programs speak. */
enum abi ebpf_abi(unsigned abi);

/* load.c. Say what is wrong; 0 or -errno. */
int ebpf_load_open(struct bpf *b, const struct source_args *args);
int ebpf_load_members(struct bpf *b, const pid_t *pid, unsigned n);
void ebpf_load_sums(struct bpf *b);
int ebpf_load_last(struct bpf *b); /* accounts of those who go on */
int ebpf_load_poll(struct bpf *b, int timeout_ms);
uint64_t ebpf_load_lost(const struct bpf *b, enum bpf_layer layer);
/* What sums of the kernel side wait for more: now. last: there is none. */
void ebpf_load_sweep(struct bpf *b, bool last);
void ebpf_load_missed(struct bpf *b);
void ebpf_load_detach(struct bpf *b);
void ebpf_load_close(struct bpf *b);
/* Load and let go all programs of b->layers: 0 or -errno, how many; b->missing is set. */
int ebpf_load_try(struct bpf *b, unsigned *programs);

/* One record. */
void ebpf_life_take(struct bpf *b, const struct rec_life *r);
void ebpf_files_take(struct bpf *b, const struct rec_file *r, size_t len);
void ebpf_calls_take(struct bpf *b, const struct rec *r, size_t len);
void ebpf_calls_sum(struct bpf *b, const struct sum_key *k, const struct sum_value *v);
void ebpf_block_take(struct bpf *b, const struct rec *r, size_t len);
void ebpf_cache_take(struct bpf *b, const struct rec *r, size_t len);
void ebpf_uring_take(struct bpf *b, const struct rec_uring *r);

/* block.c. 0 or -errno; b->streams, if there are any, get one. */
int ebpf_block_open(struct bpf *b);
void ebpf_block_close(struct bpf *b);
/* The node of a device: major << 20 | minor. */
uint32_t ebpf_block_node(struct bpf *b, uint32_t dev);

/* cache.c, likewise; it takes page faults, too. */
int ebpf_cache_open(struct bpf *b);
void ebpf_cache_close(struct bpf *b);
/* Rows of calls and of processes, if there are streams. */
int ebpf_fs_open(struct bpf *b);
void ebpf_fs_meet(struct bpf *b, pid_t pid); /* there before us: while it can be asked */
void ebpf_fs_close(struct bpf *b);
void ebpf_fs_take(struct bpf *b, const struct rec_fs *r, size_t len);
/* Of a layer (enum bpf_layer): what found no room in the ring. */
void ebpf_fs_lost(struct bpf *b, unsigned layer, uint64_t n);
void ebpf_fs_life(struct bpf *b, const struct rec_life *r);
void ebpf_uring_row(struct bpf *b, const struct rec_uring *r);
void ebpf_block_lost(struct bpf *b, uint64_t events);

/* The file of an id. */
struct seen ebpf_files_get(const struct bpf *b, uint32_t id);

/* The file that a path means, seen from a directory (names). */
uint32_t ebpf_files_join(
	struct bpf *b, pid_t tid, uint32_t dir, const char *path, size_t len);

/* Where that path leads, as text: absolute, without . and ..; its length or 0. */
enum { EBPF_PATH_MAX = 2 * REC_PATH_MAX + 2 };
size_t ebpf_files_plain(const struct bpf *b, uint32_t dir, const char *path, size_t len,
	char full[EBPF_PATH_MAX]);

/* The process of an id, made if it is new; NULL: no memory. */
struct process *ebpf_life_process(struct bpf *b, pid_t pid);
struct process *ebpf_life_find(const struct bpf *b, pid_t pid);
/* Who did it, if what it does counts by now; else NULL. */
struct process *ebpf_life_caller(struct bpf *b, const struct rec *r);
struct account *ebpf_life_account(struct bpf *b, pid_t tid);
void ebpf_life_meet(struct bpf *b, pid_t pid);  /* there before us, and can be asked */
void ebpf_life_begin(struct bpf *b, pid_t pid); /* ... and followed by now */
void ebpf_life_end(struct bpf *b);              /* who still runs */
void ebpf_life_look(struct bpf *b); /* who has ended without a word of the kernel */
void ebpf_life_free(struct bpf *b);

#endif
