/*
 * cache.bpf.h - pages of the page cache: found or missing when they are read, read
 * ahead, dirtied, written back, gone
 *
 * What is asked for is known from mm_filemap_get_pages, which comes after the lookup,
 * once for each batch of the same read: with the index that it has reached, and always
 * the same last one. The pages that a read lacked were added before that, by the same
 * thread; page_cache_sync_ra and _async_ra come first and say what the read still wants.
 * Of what is added, that is missed, the rest is read ahead. A batch whose last page is
 * still on its way from the disk is cut short without a word, so the whole of a read is
 * taken from the system call when it is over.
 */
#ifndef IOPS_CACHE_BPF_H
#define IOPS_CACHE_BPF_H

#include "cache_records.h"
#include "calls.bpf.h"
#include "inode.bpf.h"

enum {
	PF_WORKER = 0x10, /* PF_IO_WORKER */
	PF_KTHREAD_BIT = 0x00200000,
	PF_KERNEL = PF_KTHREAD_BIT | PF_WORKER,
	PF_RECLAIMS = 0x800 | 0x20000, /* PF_MEMALLOC, PF_KSWAPD */
	MODE_FMT = 0170000,
	MODE_BLK = 0060000,
	FADVISE_NR = 221, /* x86_64; others below */
	FADVISE_NR_COMPAT = 250,
	FADVISE_NR_ARM = 223,
	URING_ENTER_NR = 426, /* everywhere */
#if defined(__TARGET_ARCH_x86)
	O_DIRECT_BIT = 040000,
#else
	O_DIRECT_BIT = 0200000,
#endif
	CACHE_KEPT = 25, /* ticks that a run waits for more of it: 25 to 250 ms */
};

const volatile __u32 page_shift = 12;
/* Nothing will come after this: set before the last look. */
__u32 cache_last;

/* A run of pages that may still grow. */
struct cache_run {
	u64 mapping, inode, size, first, next, pages, at_ns, tick;
	u32 dev, rdev, file, generation;
	u8 event, alias;
};

enum { RUN_HIT, RUN_MISS, RUN_DIRTY, RUN_GONE, RUN_AHEAD, RUN_ADD, RUN_MAPPED, NRUNS };

/* A read that is under way, in pages. */
struct cache_read {
	u64 mapping, first, last; /* of what it wants */
	u64 at, raw;              /* where it is; last, also beyond the file's end */
	/* Up to cursor, from where it began, all has been told of, and too many hits by
	 * over. */
	u64 from, cursor, over;
	u64 tick;
	u8 open, seen, whole; /* whole: first to last are the call's, not a lookup's */
};

/* A page fault that is under way. */
struct cache_fault {
	u64 mapping, index, from, to; /* from, to: pages that were there and mapped */
	u64 address, at_ns;
	u8 open, exact, missed, timed, write, known;
};

struct cache_task {
	u32 busy; /* its runs are being looked at */
	u8 dying; /* runs are not kept */
	u8 again; /* has reads in cache_again */
	struct cache_read read;
	struct cache_fault fault;
	u64 ahead; /* mapping that is being read ahead */
	struct {
		u64 mapping, inode;
		u32 generation, id, renames;
		u8 alias;
	} name; /* the last one that was looked for */
	struct cache_run run[NRUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cache_task);
} cache_tasks SEC(".maps");

/* Who made the pages of a mapping dirty: their writeback is on its account. */
struct cache_owner {
	u64 inode;
	u32 generation, pid, tid, file;
	u8 alias;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct cache_owner);
} cache_owners SEC(".maps");

/* Writes of pages that are on their way to the disk, by bio. None goes before its end for
 * lack of room: one that finds none is told as lost. */
struct cache_write {
	struct rec_cache rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct cache_write);
} cache_writes SEC(".maps");

/*
 * Reads of io_uring that would have had to wait: pages were added, nothing was found yet.
 * They are made again, by the same task or a worker of its process.
 */
struct cache_again_key {
	u64 mapping, raw;
	u32 pid, pad;
};

struct cache_again {
	u64 first, cursor, over;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct cache_again_key);
	__type(value, struct cache_again);
} cache_again SEC(".maps");

static __always_inline struct cache_task *cache_of(struct task_struct *task)
{
	struct cache_task *ct = bpf_task_storage_get(&cache_tasks, task, 0, 0);

	if (ct)
		return passes(task) ? ct : NULL;
	if (!traced(task))
		return NULL;
	return bpf_task_storage_get(
		&cache_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline bool cache_passes(u32 file, u32 dev)
{
	if (file == OUTSIDE || (filter.under_set && !file))
		return false;
	return !filter.dev_set || dev == filter.dev;
}

static __always_inline void comm_of(char comm[16], struct task_struct *task)
{
	bpf_probe_read_kernel(
		comm, 16, (void *)task + bpf_core_field_offset(struct task_struct, comm));
}

static __always_inline void cache_fill(
	struct rec_cache *out, struct cache_run *r, struct task_struct *task)
{
	out->head.type = REC_CACHE;
	out->head.abi = 0;
	out->head.row = r->event;
	out->head.pid = GET(task, tgid);
	out->head.tid = GET(task, pid);
	out->head.file = r->file;
	out->head.at_ns = r->at_ns;
	out->inode = r->inode;
	out->size = r->size;
	out->first = r->first;
	out->pages = r->pages;
	out->span = r->next - r->first;
	out->dur_ns = 0;
	out->dev = r->dev;
	out->rdev = r->rdev;
	out->cpu = bpf_get_smp_processor_id();
	out->alias = r->alias;
	out->pad = 0;
	out->generation = r->generation;
	comm_of(out->comm, task);
}

/* The functions that are not static are verified once, not wherever they are called. */
static __noinline int run_send(struct cache_run *r, struct task_struct *task)
{
	if (!r->pages)
		return 0;
	if (cache_passes(r->file, r->dev)) {
		struct rec_cache *out = take(BPF_CACHE, sizeof(*out));
		if (out) {
			cache_fill(out, r, task);
			give(out);
		}
	}
	r->pages = 0;
	return 0;
}

static __always_inline bool runs_lock(struct cache_task *ct)
{
	return __sync_val_compare_and_swap(&ct->busy, 0, 1) == 0;
}

static __always_inline void runs_unlock(struct cache_task *ct)
{
	__sync_lock_test_and_set(&ct->busy, 0);
}

static __always_inline struct inode *host_of(u64 mapping)
{
	struct address_space *m = (void *)mapping;

	return GET(m, host);
}

static __always_inline u32 dev_of(struct inode *inode)
{
	struct super_block *sb = GET(inode, i_sb);

	return GET(sb, s_dev);
}

/* The device that an inode is, or 0. */
static __always_inline u32 rdev_of(struct inode *inode)
{
	return (GET(inode, i_mode) & MODE_FMT) == MODE_BLK ? GET(inode, i_rdev) : 0;
}

/* The open file that a call is about, if it is the one of that mapping. */
static __always_inline struct file *file_if(struct task_struct *task, s32 fd, u64 mapping)
{
	struct file *file = file_of(task, fd);

	return file && (u64)GET(file, f_mapping) == mapping ? file : NULL;
}

/* The call that a task is in, or NULL; arguments go to arg. */
static __always_inline volatile const struct call_shape *call_of(
	struct task_struct *task, u64 arg[6], u32 *number)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (GET(task, flags) & PF_KERNEL)
		return NULL;
	u32 nr = number_of(regs);
	bool compat = is_compat(task);
	*number = nr;
	if (nr >= SHAPES_MAX - 32)
		return NULL;
	args_of(regs, compat, arg);
	return &shapes[compat][nr & (SHAPES_MAX - 1)];
}

static __always_inline u64 pick(u64 arg[6], s8 i)
{
	switch (i) {
	case 0:
		return arg[0];
	case 1:
		return arg[1];
	case 2:
		return arg[2];
	case 3:
		return arg[3];
	case 4:
		return arg[4];
	}
	return arg[5];
}

/* Whether the name that was looked for last is that of a mapping: another file may lie
 * where it lay, with its number, but not of the same generation. */
static __always_inline bool is_named(
	struct cache_task *ct, u64 mapping, struct inode *inode)
{
	return ct->name.mapping == mapping && ct->name.inode == GET(inode, i_ino) &&
	       ct->name.generation == GET(inode, i_generation) && ct->name.id &&
	       ct->name.renames == renames;
}

static __always_inline void name_set(
	struct cache_task *ct, u64 mapping, struct inode *inode, struct file *file)
{
	ct->name.mapping = mapping;
	ct->name.inode = GET(inode, i_ino);
	ct->name.generation = GET(inode, i_generation);
	ct->name.renames = renames;
	ct->name.alias = !file;
	ct->name.id = file ? name_file(file) : name_inode(inode);
}

/* The id of a mapping's file: of the open one that the call is about, or of its inode. */
__noinline int name_mapping(struct cache_task *ct, u64 mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = host_of(mapping);
	volatile const struct call_shape *s;
	struct file *file = NULL;
	u64 arg[6];
	u32 nr;

	if (!ct)
		return 0;
	if (is_named(ct, mapping, inode))
		return ct->name.id;
	s = call_of(task, arg, &nr);
	if (s && s->fd >= 0)
		file = file_if(task, pick(arg, s->fd), mapping);
	if (s && !file && s->fd2 >= 0)
		file = file_if(task, pick(arg, s->fd2), mapping);
	name_set(ct, mapping, inode, file);
	return ct->name.id;
}

static __always_inline void run_begin(struct cache_task *ct, struct cache_run *r,
	u8 event, struct inode *inode, u64 mapping)
{
	r->event = event;
	r->mapping = mapping;
	r->inode = GET(inode, i_ino);
	r->size = GET(inode, i_size);
	r->dev = dev_of(inode);
	r->rdev = rdev_of(inode);
	r->generation = GET(inode, i_generation);
	r->file = name_mapping(ct, mapping);
	r->alias = ct->name.alias;
	r->at_ns = bpf_ktime_get_ns();
}

static __always_inline bool is_of(struct cache_run *r, u64 mapping, struct inode *inode)
{
	return r->mapping == mapping && r->inode == GET(inode, i_ino) &&
	       r->generation == GET(inode, i_generation);
}

/* These pages: part of the run that they continue, or the beginning of a new one. */
__noinline int run_add(
	struct cache_task *ct, u32 event_slot, u64 mapping, u64 first, u64 span)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = host_of(mapping);
	u32 slot = event_slot & 0xff, event = event_slot >> 8;
	u64 tick;

	if (!ct || slot >= NRUNS || !span)
		return 0;
	struct cache_run *r = &ct->run[slot];
	if (ct->dying || !runs_lock(ct)) {
		struct cache_run alone = {
			.first = first, .next = first + span, .pages = span
		};
		run_begin(ct, &alone, event, inode, mapping);
		return run_send(&alone, task);
	}
	tick = bpf_jiffies64();
	if (r->pages && r->event == event && is_of(r, mapping, inode) &&
		first <= r->next && first + 1 >= r->next && first >= r->first &&
		tick - r->tick < CACHE_KEPT) {
		r->pages += span;
		if (first + span > r->next)
			r->next = first + span;
	} else {
		run_send(r, task);
		run_begin(ct, r, event, inode, mapping);
		r->tick = tick;
		r->first = first;
		r->next = first + span;
		r->pages = span;
	}
	runs_unlock(ct);
	return 0;
}

#define RUN(event, slot) ((u32)(event) << 8 | (slot))

/* How many of the pages [first, first + n) lie in [from, to]. */
static __always_inline u64 within(u64 first, u64 n, u64 from, u64 to)
{
	u64 a = first > from ? first : from, b = first + n < to + 1 ? first + n : to + 1;

	return a < b ? b - a : 0;
}
#include "cache_read.bpf.h"
#include "cache_pages.bpf.h"

#endif
