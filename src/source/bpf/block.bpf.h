/*
 * block.bpf.h - requests to block devices, from the bio that was queued to its end
 *
 * What is known of a request is kept by the bio that it begins with: the bio is there
 * from the first event to the last one. Requests without a bio are kept by themselves.
 */
#ifndef IOPS_BLOCK_BPF_H
#define IOPS_BLOCK_BPF_H

#include "block_io.bpf.h"

/* An event on the way of a request. */
static __always_inline void tell_rq(
	u16 event, struct request *rq, struct block_io *io, u64 since, u64 now)
{
	struct rec_block *r;

	if (filter.min_ns || !(r = take(BPF_BLOCK, sizeof(*r))))
		return;
	fill_block(r, event, io, now);
	r->since_ns = since;
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	r->dev = disk_dev(rq->q->disk);
	r->flags = rq->cmd_flags;
	give_at(r, now);
}

static __always_inline void tell_bio(
	u16 event, struct bio *bio, struct block_io *io, u64 since, u64 now)
{
	struct rec_block *r;

	if (filter.min_ns || !(r = take(BPF_BLOCK, sizeof(*r))))
		return;
	fill_block(r, event, io, now);
	r->since_ns = since;
	r->sector = bio->bi_iter.bi_sector;
	r->bytes = bio->bi_iter.bi_size;
	r->dev = disk_dev(bio->bi_bdev->bd_disk);
	r->flags = bio->bi_opf;
	give_at(r, now);
}

static __always_inline void flush_begin(struct bio *bio, struct block_io *io)
{
	u32 dev = disk_dev(bio->bi_bdev->bd_disk);
	struct flushing fresh = { 1, io->pid, io->tid, io->file };
	struct flushing *f = bpf_map_lookup_elem(&block_flushing, &dev);

	if (f && f->n)
		__sync_fetch_and_add(&f->n, 1);
	else
		bpf_map_update_elem(&block_flushing, &dev, &fresh, BPF_ANY);
}

static __always_inline void flush_end(u32 dev)
{
	struct flushing *f = bpf_map_lookup_elem(&block_flushing, &dev);

	if (f && f->n)
		__sync_fetch_and_sub(&f->n, 1);
}

/*
 * A bio that was at the driver is used again, and nobody has told of its end: while
 * another tracer comes or goes, the kernel leaves out events for a moment.
 */
static __noinline void io_again(u64 key, struct block_io *io)
{
	struct block_io *was = bpf_map_lookup_elem(&block_ios, &key);

	if (was && was->issue_ns && !was->skip && !was->flush)
		lose(BPF_BLOCK);
	io_keep(key, io);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	bio = PLAIN(bio);
	struct inode *inode = cached_inode(bio);
	struct dirt who = {};
	struct block_io io = {};
	u64 key = (u64)bio;

	io.skip = !bio_owner(bio, inode, &who);
	if (io.skip) {
		if (whole())
			bpf_map_update_elem(&block_ios, &key, &io, BPF_ANY);
		return 0;
	}
	io.file = bio_file(bio, inode);
	if (filters() && !bio_passes(bio, io.file))
		return 0;
	io.queue_ns = bpf_ktime_get_ns();
	io.sector = bio->bi_iter.bi_sector;
	io.bytes = bio->bi_iter.bi_size;
	io.pid = who.pid;
	io.tid = who.tid;
	io.flush = !!(bio->bi_opf & flush_bits());
	if (io.flush)
		flush_begin(bio, &io);
	if (bpf_map_update_elem(&block_ios, &key, &io, BPF_NOEXIST))
		io_again(key, &io);

	struct rec_block_queue *r = take(BPF_BLOCK, sizeof(*r));
	if (!r)
		return 0;
	fill_block(&r->block, BLOCK_QUEUE, &io, io.queue_ns);
	r->block.head.abi = filter.min_ns != 0; /* only who it is */
	r->block.since_ns = 0;
	r->block.sector = io.sector;
	r->block.bytes = io.bytes;
	r->block.dev = disk_dev(bio->bi_bdev->bd_disk);
	r->block.flags = bio->bi_opf;
	r->ppid = who.ppid;
	r->pad = 0;
	__builtin_memcpy(r->comm, who.comm, sizeof(r->comm));
	give_at(r, io.queue_ns);
	return 0;
}

SEC("tp_btf/block_getrq")
int BPF_PROG(block_getrq, struct bio *bio)
{
	bio = PLAIN(bio);
	struct block_io *io = io_find(bio);
	u64 now = bpf_ktime_get_ns();

	if (!io || io->skip)
		return 0;
	io->get_ns = now;
	tell_bio(BLOCK_GETRQ, bio, io, io->queue_ns, now);
	return 0;
}

static __always_inline void merge(struct bio *bio)
{
	struct block_io *io = io_find(bio);

	if (!io || io->skip)
		return;
	io->merged = 1;
	tell_bio(BLOCK_MERGE, bio, io, io->queue_ns, bpf_ktime_get_ns());
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(block_bio_backmerge, struct bio *bio)
{
	bio = PLAIN(bio);
	merge(bio);
	return 0;
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(block_bio_frontmerge, struct bio *bio)
{
	bio = PLAIN(bio);
	merge(bio);
	return 0;
}

/* A bio that went to the front of a request takes over what was known of that. */
static __always_inline void take_over(struct bio *bio, struct block_io *io)
{
	for (int i = 0; i < 16 && bio; i++) {
		struct block_io *from;
		bio = bio->bi_next;
		if (bio && (from = io_find(bio)) && from->get_ns) {
			io->get_ns = from->get_ns;
			io->insert_ns = from->insert_ns;
			return;
		}
	}
}

/* What is known of a request; NULL: it is of no concern. */
static __always_inline struct block_io *rq_find(struct request *rq)
{
	struct bio *bio = rq->bio;
	struct block_io *io = io_find(bio ? (void *)bio : (void *)rq);

	if (!io || io->skip)
		return NULL;
	if (bio && io->merged && !io->get_ns)
		take_over(bio, io);
	return io;
}

/* One that no bio has announced: a flush, a command to the driver, or from before us. */
static __noinline struct block_io *rq_new(struct request *rq)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_io io = {};
	u64 key = rq->bio ? (u64)rq->bio : (u64)rq;
	u32 op = rq->cmd_flags & OP_BITS, dev = disk_dev(rq->q->disk);

	if (op == BLK_FLUSH) {
		struct flushing *f = bpf_map_lookup_elem(&block_flushing, &dev);
		if (f && f->n) {
			io.pid = f->pid;
			io.tid = f->tid;
			io.file = f->file;
		}
	} else if (op == BLK_DRV_IN || op == BLK_DRV_OUT) {
		if (traced(task) && !(task->flags & TASK_KTHREAD)) {
			io.pid = task->tgid;
			io.tid = task->pid;
		}
	}
	if (!io.pid && !whole())
		return NULL;
	io.sector = rq->__sector;
	io.bytes = rq->__data_len;
	io_keep(key, &io);
	return bpf_map_lookup_elem(&block_ios, &key);
}

static __always_inline struct block_io *rq_get(struct request *rq)
{
	void *key = rq->bio ? (void *)rq->bio : (void *)rq;
	struct block_io *io = io_find(key);

	return io ? rq_find(rq) : rq_new(rq);
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *rq)
{
	rq = PLAIN(rq);
	struct block_io *io = rq_find(rq);

	if (io)
		tell_rq(BLOCK_MERGE, rq, io, io->queue_ns, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	rq = PLAIN(rq);
	struct block_io *io = rq_get(rq);
	u64 now = bpf_ktime_get_ns();

	if (!io)
		return 0;
	io->insert_ns = now;
	tell_rq(BLOCK_INSERT, rq, io, io->get_ns, now);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	rq = PLAIN(rq);
	struct block_io *io = rq_get(rq);
	u64 now = bpf_ktime_get_ns();

	if (!io)
		return 0;
	if (!io->id)
		io->id = __sync_fetch_and_add(&block_ids, 1) + 1;
	io->issue_ns = now;
	tell_rq(BLOCK_ISSUE, rq, io, io->insert_ns, now);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(block_rq_requeue, struct request *rq)
{
	rq = PLAIN(rq);
	struct block_io *io = rq_find(rq);

	if (!io)
		return 0;
	tell_rq(BLOCK_REQUEUE, rq, io, io->issue_ns, bpf_ktime_get_ns());
	io->insert_ns = 0;
	io->issue_ns = 0;
	return 0;
}

/* The end of what is known of a bio. */
static __always_inline void bio_done(void *bio, struct block_io *io, u32 dev)
{
	if (io->flush)
		flush_end(dev);
	io_forget(bio);
}

/* Bios of a request that end with these bytes of it; then the first that does not. */
struct chain {
	u64 bio, now;
	u32 bytes, dev;
};

/* Each but the first one, of which the request's own event tells. */
static long bios_step(u32 i, void *arg)
{
	struct chain *c = arg;
	struct bio *bio = (void *)c->bio;
	struct rec_block *r;

	if (!bio)
		return 1;
	u32 size = BPF_CORE_READ(bio, bi_iter.bi_size);
	if (!size || size > c->bytes)
		return 1;
	c->bytes -= size;
	c->bio = (u64)BPF_CORE_READ(bio, bi_next);
	struct block_io *io = io_find(bio);
	if (!io)
		return 0;
	if (!io->skip && !filter.min_ns && (r = take(BPF_BLOCK, sizeof(*r)))) {
		fill_block(r, BLOCK_DONE, io, c->now);
		r->since_ns = io->queue_ns;
		r->sector = BPF_CORE_READ(bio, bi_iter.bi_sector);
		r->bytes = size;
		r->dev = c->dev;
		r->flags = BPF_CORE_READ(bio, bi_opf);
		give_at(r, c->now);
	}
	bio_done(bio, io, c->dev);
	return 0;
}

static __always_inline u64 bios_done(struct bio *bio, u32 bytes, u32 dev, u64 now)
{
	u32 size = bio->bi_iter.bi_size;
	struct block_io *io;

	if (size > bytes)
		return (u64)bio;
	struct chain c = { (u64)bio->bi_next, now, bytes - size, dev };
	if ((io = io_find(bio)))
		bio_done(bio, io, dev);
	if (c.bio)
		bpf_loop(CHAIN_MAX, bios_step, &c, 0);
	return c.bio;
}

static __always_inline void tell_done(struct block_io *io, u32 dev, u32 flags, u32 bytes,
	u32 failed, u8 status, u64 now)
{
	struct rec_block_done *r;

	if (now - io->issue_ns < filter.min_ns || !(r = take(BPF_BLOCK, sizeof(*r))))
		return;
	u64 from = io->insert_ns ? io->insert_ns : io->get_ns;
	fill_block(&r->block, BLOCK_COMPLETE, io, now);
	r->block.since_ns = io->issue_ns;
	r->block.sector = io->sector;
	r->block.bytes = bytes;
	r->block.dev = dev;
	r->block.flags = flags;
	r->queue_ns = io->queue_ns;
	r->timed = from && io->issue_ns >= from;
	r->wait_ns = r->timed ? io->issue_ns - from : 0;
	r->failed = failed;
	r->cpu = bpf_get_smp_processor_id();
	r->status = status;
	give_at(r, now);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq, u8 status, unsigned int bytes)
{
	rq = PLAIN(rq);
	struct bio *bio = rq->bio;
	u32 flags = rq->cmd_flags, left = rq->__data_len, dev = disk_dev(rq->q->disk);
	u64 now = bpf_ktime_get_ns();
	struct block_io *io = io_find(bio ? (void *)bio : (void *)rq);

	if (!io && whole() && (bytes || !is_data(flags)))
		io = rq_new(rq);
	if (!io)
		return 0;
	/* The end of a sequence of flushes, in which a bio without data waited. */
	bool end = is_data(flags) && !bytes && !left && bio;
	/* Of such a sequence: its end, later, is the end of its bios. */
	bool sequence = !end && rq->end_io && flags & flush_bits() && is_data(flags);

	if (bytes < left && !status) {
		struct block_io rest = *io;
		u64 key = bio ? bios_done(bio, bytes, dev, now) : 0;
		rest.done += bytes;
		if (key)
			io_keep(key, &rest);
		return 0;
	}
	if (!io->skip && (!end || io->bytes == 0)) {
		io->sector = is_data(flags) ? rq->__sector - (io->done >> 9) : io->sector;
		if (end)
			tell_bio(BLOCK_DONE, bio, io, io->queue_ns, now);
		else
			tell_done(io, dev, flags, io->done + (status ? 0 : bytes),
				status ? bytes : 0, status, now);
	}
	if (!bio)
		io_forget(rq);
	else if (!sequence)
		bios_done(bio, bytes, dev, now);
	return 0;
}

/* Of devices without requests, and of bios that failed before they got one. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(block_bio_complete, struct request_queue *q, struct bio *bio)
{
	bio = PLAIN(bio);
	struct block_io *io = io_find(bio);
	u8 status = bio->bi_status;

	if (!io)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (!io->skip)
		tell_done(io, disk_dev(bio->bi_bdev->bd_disk), bio->bi_opf,
			status ? 0 : io->bytes, status ? io->bytes : 0, status, now);
	bio_done(bio, io, disk_dev(bio->bi_bdev->bd_disk));
	return 0;
}

/* bio: the front, as a new one; what it was cut off goes on as it was. */
SEC("tp_btf/block_split")
int BPF_PROG(block_split, struct bio *bio, unsigned int sector)
{
	bio = PLAIN(bio);
	struct block_io *from = io_find(bio->bi_private);
	u64 key = (u64)bio;

	if (!from)
		return 0;
	struct block_io io = *from;
	io.flush = 0;
	io.bytes = bio->bi_iter.bi_size;
	io_keep(key, &io);
	if (!io.skip)
		tell_bio(BLOCK_SPLIT, bio, &io, io.queue_ns, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_bio_remap")
int BPF_PROG(block_bio_remap, struct bio *bio, u32 dev, u64 sector)
{
	bio = PLAIN(bio);
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_io io = { .pid = task->tgid, .tid = task->pid };

	if (traced(task) && (!filters() || bio_passes(bio, 0)))
		tell_bio(BLOCK_REMAP, bio, &io, sector, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(block_dirty, struct folio *folio, struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool self = (u32)task->tgid == filter.self;
	struct inode *inode = mapping ? mapping->host : NULL;

	/* The kernel's own threads only put off what others have written. */
	if (!inode || (!self && task->flags & TASK_KTHREAD))
		return 0;
	struct dirt *was = dirt_of(inode);
	if (was && was->tid == (u32)task->pid)
		return 0;
	struct dirt_key key = { BPF_CORE_READ(inode, i_ino),
		BPF_CORE_READ(inode, i_sb, s_dev) };
	if (!self && !is_ours(task)) { /* from now on it is theirs */
		if (was)
			bpf_map_delete_elem(&block_dirt, &key);
		return 0;
	}
	struct dirt who = { task->tgid, task->pid, task->real_parent->tgid };
	bpf_probe_read_kernel(who.comm, sizeof(who.comm), task->comm);
	bpf_map_update_elem(&block_dirt, &key, &who, BPF_ANY);
	return 0;
}

#endif
