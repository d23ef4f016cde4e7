/*
 * block_io.bpf.h - what is remembered of requests on their way, and whose they are
 */
#ifndef IOPS_BLOCK_IO_BPF_H
#define IOPS_BLOCK_IO_BPF_H

#include "inode.bpf.h"

enum {
	OP_BITS = 0xff, /* of cmd_flags */
	BLK_READ = 0,
	BLK_WRITE = 1,
	BLK_FLUSH = 2,
	BLK_DRV_IN = 34,
	BLK_DRV_OUT = 35,
	TASK_KTHREAD = 0x00200000,
	CHAIN_MAX = 1024, /* bios of a request */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
	int major, first_minor;
};

struct block_device {
	u32 bd_dev;
	struct gendisk *bd_disk;
};

struct request_queue {
	struct gendisk *disk;
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size, bi_idx;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	u32 bi_opf;
	unsigned short bi_flags;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	void *end_io;
};

struct kiocb___file {
	struct file *ki_filp;
};

struct iomap_dio {
	struct kiocb___file *iocb;
};

#pragma clang attribute pop

enum bio_flag { BIO_PAGE_PINNED };
enum req_flag_bits { __REQ_FUA = 17, __REQ_PREFLUSH = 18 };

/* A bio, or a request that has none, on its way. */
struct block_io {
	u64 queue_ns, get_ns, insert_ns, issue_ns;
	u64 sector, done; /* where it was queued to; bytes of partial completions */
	u32 bytes, pid, tid, file, id;
	u8 skip, flush, merged, wide;
};

/* None goes before its end for lack of room: one that finds none is told as lost. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct block_io);
} block_ios SEC(".maps");

/* Who wrote into the cache of an inode last: what others write back of it is theirs. */
struct dirt_key {
	u64 inode, dev;
};

struct dirt {
	u32 pid, tid, ppid, pad;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct dirt_key);
	__type(value, struct dirt);
} block_dirt SEC(".maps");

/* Flushes of a device that are asked for: one request may serve several of them. */
struct flushing {
	u32 n, pid, tid, file;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct flushing);
} block_flushing SEC(".maps");

__u32 block_ids;

/* Nothing is left out, so that what is not known yet has begun before us. */
static __always_inline bool whole(void)
{
	return filter.all && !filter.uid_set && !filter.cgroup && !filter.comm_len &&
	       !filter.dev_set && !filter.min_bytes && !filter.under_set;
}

static __always_inline u32 disk_dev(struct gendisk *disk)
{
	return disk ? (u32)GET(disk, major) << 20 | (u32)GET(disk, first_minor) : 0;
}

static __always_inline u32 bio_dev(struct bio *bio)
{
	struct block_device *bdev = GET(bio, bi_bdev);

	return bdev ? disk_dev(GET(bdev, bd_disk)) : 0;
}

static __always_inline u32 flush_bits(void)
{
	return 1u << bpf_core_enum_value(enum req_flag_bits, __REQ_FUA) |
	       1u << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);
}

static __always_inline bool is_data(u32 flags)
{
	return (flags & OP_BITS) <= BLK_WRITE;
}

static __always_inline struct block_io *io_find(void *key)
{
	u64 k = (u64)key;

	return bpf_map_lookup_elem(&block_ios, &k);
}

/* Its end cannot be told if it cannot be remembered. */
static __always_inline void io_keep(u64 key, struct block_io *io)
{
	if (bpf_map_update_elem(&block_ios, &key, io, BPF_ANY) && !io->skip)
		lose(BPF_BLOCK);
}

static __always_inline void io_forget(void *key)
{
	u64 k = (u64)key;

	bpf_map_delete_elem(&block_ios, &k);
}

static __always_inline void fill_block(
	struct rec_block *r, u16 event, struct block_io *io, u64 now)
{
	r->head.type = REC_BLOCK;
	r->head.abi = 0;
	r->head.row = event;
	r->head.pid = io->pid;
	r->head.tid = io->tid;
	r->head.file = io->file;
	r->head.at_ns = now;
	r->id = io->id;
}

/* The reader looks often enough by itself; asking how much there is costs. */
static __always_inline void give_at(void *r, u64 now)
{
	bpf_ringbuf_submit(r, now >> 6 & 15 ? BPF_RB_NO_WAKEUP : wake());
}

/*
 * The file of direct I/O, whose pages are the program's own: iomap keeps the kiocb with
 * the bio. That this is one is sure when its file is on the device.
 */
static __always_inline struct file *direct_file(struct bio *bio)
{
	struct iomap_dio *dio = bio->bi_private;

	if (!bpf_core_field_exists(dio->iocb))
		return NULL;
	struct file *file = BPF_CORE_READ(dio, iocb, ki_filp);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	return inode && BPF_CORE_READ(inode, i_sb, s_bdev) == bio->bi_bdev ? file : NULL;
}

/* The inode behind a bio of cached pages, or NULL. */
static __always_inline struct inode *cached_inode(struct bio *bio)
{
	struct bio_vec *vec = bio->bi_io_vec;

	if (!vec || !bio->bi_iter.bi_size || !is_data(bio->bi_opf))
		return NULL;
	if (bpf_core_enum_value_exists(enum bio_flag, BIO_PAGE_PINNED) &&
		bio->bi_flags >> bpf_core_enum_value(enum bio_flag, BIO_PAGE_PINNED) & 1)
		return NULL;
	struct page *page = BPF_CORE_READ(vec + (bio->bi_iter.bi_idx & 255), bv_page);
	return page ? inode_of_page(page) : NULL;
}

static __always_inline u32 bio_file(struct bio *bio, struct inode *inode)
{
	if (inode)
		return name_inode(inode);
	struct file *file = is_data(bio->bi_opf) ? direct_file(bio) : NULL;
	return file ? name_file(file) : 0;
}

static __always_inline struct dirt *dirt_of(struct inode *inode)
{
	struct dirt_key key = { BPF_CORE_READ(inode, i_ino),
		BPF_CORE_READ(inode, i_sb, s_dev) };

	return bpf_map_lookup_elem(&block_dirt, &key);
}

/* Whether what this task does is on the account of one that is traced. */
static __always_inline bool is_ours(struct task_struct *task)
{
	return traced(task) ||
	       (!filter.all && member(task->tgid)); /* threads of io_uring */
}

/* Whose a bio is that the running task queues. false: none of ours. */
static __always_inline bool bio_owner(
	struct bio *bio, struct inode *inode, struct dirt *who)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->tgid;
	bool mine = is_ours(task);

	if (inode && bio->bi_opf & 1 && (!mine || task->flags & TASK_KTHREAD)) {
		struct dirt *d = dirt_of(inode);
		if (d) {
			*who = *d;
			return d->pid != filter.self;
		}
	}
	who->pid = pid;
	who->tid = task->pid;
	who->ppid = task->real_parent->tgid;
	bpf_probe_read_kernel(who->comm, sizeof(who->comm), task->comm);
	return mine;
}

static __always_inline bool bio_passes(struct bio *bio, u32 file)
{
	if (filter.dev_set && bio->bi_bdev->bd_dev != filter.dev &&
		bio_dev(bio) != filter.dev)
		return false;
	if (filter.under_set && (!file || file == OUTSIDE))
		return false;
	return bio->bi_iter.bi_size >= filter.min_bytes;
}

#endif
