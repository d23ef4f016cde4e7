/*
 * cache_pages.bpf.h - pages that come into the cache, are dirtied, written and leave
 */
#ifndef IOPS_CACHE_PAGES_BPF_H
#define IOPS_CACHE_PAGES_BPF_H

#include "cache.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Of struct folio, what inode.bpf.h does not need. */
struct folio___more {
	unsigned long index, _flags_1;
};

struct inode___more {
	unsigned int i_nlink;
};

struct bio_vec___cache {
	struct page *bv_page;
	unsigned int bv_len, bv_offset;
};

struct bvec_iter___cache {
	unsigned int bi_size;
};

struct bio___cache {
	u32 bi_opf;
	unsigned short bi_flags;
	struct bvec_iter___cache bi_iter;
	struct bio_vec___cache *bi_io_vec;
	struct bio___cache *bi_next;
};

struct request___cache {
	u32 cmd_flags;
	struct bio___cache *bio;
};

#pragma clang attribute pop

enum pageflags___names { PG_writeback = 1, PG_head = 6 };
enum { BIO_CLONED_BIT = 1 };

static __always_inline u64 folio_word(struct folio *folio, u32 offset)
{
	u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)folio + offset);
	return v;
}

/* They come first; since 6.18 they are a struct. */
static __always_inline u64 folio_flags(struct folio *folio)
{
	return folio_word(folio, 0);
}

/* Pages of a folio: the second page's flags hold the order. */
static __always_inline u64 folio_pages(struct folio *folio)
{
	if (!(folio_flags(folio) >> bpf_core_enum_value(enum pageflags___names, PG_head) &
		    1))
		return 1;
	return 1ull << (folio_word(folio,
				bpf_core_field_offset(struct folio___more, _flags_1)) &
			0x1f);
}

static __always_inline u64 folio_index(struct folio *folio)
{
	return folio_word(folio, bpf_core_field_offset(struct folio___more, index));
}

static __always_inline u64 mapping_of(struct folio *folio)
{
	return folio_word(folio, bpf_core_field_offset(struct folio, mapping));
}

/* What was added because it was missed, the part before it and that behind it. */
static __always_inline void add_missed(
	struct cache_task *ct, u64 mapping, u64 first, u64 n, u64 from, u64 to)
{
	u64 a = first > from ? first : from, m = within(first, n, from, to);

	if (!m) {
		run_add(ct, RUN(CACHE_READAHEAD, RUN_AHEAD), mapping, first, n);
		return;
	}
	if (a > first)
		run_add(ct, RUN(CACHE_READAHEAD, RUN_AHEAD), mapping, first, a - first);
	if (first + n > a + m)
		run_add(ct, RUN(CACHE_READAHEAD, RUN_AHEAD), mapping, a + m,
			first + n - a - m);
}

/* A read lacked these: what lies between them and those it lacked before, was there. */
static __always_inline void read_missed(
	struct cache_task *ct, u64 mapping, u64 first, u64 n)
{
	struct cache_read *r = &ct->read;

	if (first > r->cursor)
		run_add(ct, RUN(CACHE_HIT, RUN_HIT), mapping, r->cursor,
			first - r->cursor);
	else
		r->over += first + n < r->cursor ? n : r->cursor - first;
	if (first + n > r->cursor)
		r->cursor = first + n;
	run_add(ct, RUN(CACHE_MISS, RUN_MISS), mapping, first, n);
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_add, struct folio *folio)
{
	struct cache_task *ct = cache_of(bpf_get_current_task_btf());

	if (!ct)
		return 0;
	u64 mapping = mapping_of(folio), first = folio_index(folio),
	    n = folio_pages(folio);
	struct cache_fault *f = &ct->fault;
	struct cache_read *r = &ct->read;
	if (f->open && f->exact && f->mapping == mapping) {
		if (within(first, n, f->index, f->index))
			f->missed = 1;
		add_missed(ct, mapping, first, n, f->index, f->index);
	} else if (r->open && r->mapping == mapping) {
		u64 m = within(first, n, r->first, r->last),
		    a = first > r->first ? first : r->first;
		add_missed(ct, mapping, first, n, r->first, r->last);
		if (m)
			read_missed(ct, mapping, a, m);
	} else if (ct->ahead == mapping) {
		run_add(ct, RUN(CACHE_READAHEAD, RUN_AHEAD), mapping, first, n);
	} else {
		run_add(ct, RUN(CACHE_ADD, RUN_ADD), mapping, first, n);
	}
	return 0;
}

/* Another one writes, who is not traced: from now on what is dirty is theirs. */
static __always_inline void disown(struct task_struct *task, u64 mapping)
{
	if (!mapping || !bpf_map_lookup_elem(&cache_owners, &mapping))
		return;
	/* The kernel's own threads only put off what others have written. */
	if (GET(task, flags) & PF_KTHREAD_BIT)
		return;
	if (filter.all || !member(bpf_get_current_pid_tgid() >> 32))
		bpf_map_delete_elem(&cache_owners, &mapping);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = cache_of(task);
	u64 key = mapping_of(folio);

	if (!ct)
		disown(task, key);
	if (!ct || !key)
		return 0;
	struct inode *inode = host_of(key);
	run_add(ct, RUN(CACHE_DIRTY, RUN_DIRTY), key, folio_index(folio),
		folio_pages(folio));
	struct cache_owner o = {
		.inode = GET(inode, i_ino),
		.generation = GET(inode, i_generation),
		.pid = bpf_get_current_pid_tgid() >> 32,
		.tid = (u32)bpf_get_current_pid_tgid(),
	}, *old = bpf_map_lookup_elem(&cache_owners, &key);
	if (old && old->inode == o.inode && old->generation == o.generation &&
		old->tid == o.tid && old->pid == o.pid)
		return 0;
	o.file = name_mapping(ct, key);
	o.alias = ct->name.alias;
	comm_of(o.comm, task);
	bpf_map_update_elem(&cache_owners, &key, &o, BPF_ANY);
	return 0;
}

static __always_inline bool is_fadvise(u32 nr, bool compat)
{
#if defined(__TARGET_ARCH_x86)
	return nr == (compat ? FADVISE_NR_COMPAT : FADVISE_NR);
#else
	return nr == FADVISE_NR_ARM;
#endif
}

static __always_inline u32 why_gone(
	struct task_struct *task, struct inode *inode, u64 mapping, u64 index)
{
	u64 size = GET(inode, i_size), arg[6];
	u32 nr;

	if (GET(task, flags) & PF_RECLAIMS)
		return CACHE_RECLAIM;
	if (index << page_shift >= size || !GET((struct inode___more *)inode, i_nlink))
		return CACHE_DROP;
	volatile const struct call_shape *s = call_of(task, arg, &nr);
	if (!s)
		return CACHE_EVICT;
	if (is_fadvise(nr, is_compat(task)))
		return CACHE_INVALIDATE;
	if (s->writes && s->fd >= 0 && file_if(task, pick(arg, s->fd), mapping))
		return CACHE_INVALIDATE;
	return CACHE_EVICT;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_delete, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = cache_of(task);

	if (!ct)
		return 0;
	u64 mapping = mapping_of(folio), index = folio_index(folio);
	u32 why = why_gone(task, host_of(mapping), mapping, index);
	run_add(ct, RUN(why, RUN_GONE), mapping, index, folio_pages(folio));
	return 0;
}

/* Where the first page of a bio lies in its file, if it is being written back. */
static __always_inline struct inode *written(struct bio___cache *bio, u64 *index)
{
	struct bio_vec___cache *v = BPF_CORE_READ(bio, bi_io_vec);
	struct page *page = BPF_CORE_READ(v, bv_page);

	if (!page)
		return NULL;
	u64 head = BPF_CORE_READ(page, compound_head);
	struct folio *folio = head & 1 ? (void *)(head - 1) : (void *)page;
	if (!(folio_flags(folio) >>
			    bpf_core_enum_value(enum pageflags___names, PG_writeback) &
		    1))
		return NULL;
	*index = folio_index(folio) +
		 ((u64)page - (u64)folio) / bpf_core_type_size(struct page) +
		 (BPF_CORE_READ(v, bv_offset) >> page_shift);
	return inode_of(BPF_CORE_READ(folio, mapping));
}

/* Whose write it is: of the task at it, or of who made the pages dirty. */
static __always_inline bool write_owner(struct rec_cache *w, u64 mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_owner *o = bpf_map_lookup_elem(&cache_owners, &mapping);
	struct cache_task *ct = NULL;

	if (o && o->inode == w->inode && o->generation == w->generation &&
		(GET(task, flags) & PF_KERNEL || !cache_of(task))) {
		w->head.pid = o->pid;
		w->head.tid = o->tid;
		w->head.file = o->file;
		w->alias = o->alias;
		__builtin_memcpy(w->comm, o->comm, sizeof(w->comm));
		return true;
	}
	ct = cache_of(task);
	if (!ct)
		return false;
	w->head.pid = bpf_get_current_pid_tgid() >> 32;
	w->head.tid = (u32)bpf_get_current_pid_tgid();
	w->head.file = name_mapping(ct, mapping);
	w->alias = ct->name.alias;
	comm_of(w->comm, task);
	return true;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(cache_bio_queue, struct bio___cache *bio)
{
	u64 key = (u64)bio, index;
	struct cache_write w = {};

	if ((GET(bio, bi_opf) & 0xff) != 1 || GET(bio, bi_flags) >> BIO_CLONED_BIT & 1)
		return 0;
	struct inode *inode = written(bio, &index);
	if (!inode)
		return 0;
	w.rec.inode = GET(inode, i_ino);
	w.rec.generation = GET(inode, i_generation);
	if (!write_owner(&w.rec, (u64)BPF_CORE_READ(inode, i_mapping)))
		return 0;
	w.rec.dev = dev_of(inode);
	if (!cache_passes(w.rec.head.file, w.rec.dev))
		return 0;
	w.rec.head.type = REC_CACHE;
	w.rec.head.row = CACHE_WRITEBACK_START;
	w.rec.head.at_ns = bpf_ktime_get_ns();
	w.rec.size = GET(inode, i_size);
	w.rec.rdev = rdev_of(inode);
	w.rec.first = index;
	w.rec.pages = w.rec.span =
		((u64)GET(bio, bi_iter.bi_size) + (1 << page_shift) - 1) >> page_shift;
	w.rec.cpu = bpf_get_smp_processor_id();
	send(BPF_CACHE, &w.rec, sizeof(w.rec));
	w.rec.head.row = CACHE_WRITEBACK_END;
	if (bpf_map_update_elem(&cache_writes, &key, &w, BPF_ANY))
		lose(BPF_CACHE);
	return 0;
}

static __always_inline void write_end(u64 bio, u64 now)
{
	struct cache_write *w = bpf_map_lookup_elem(&cache_writes, &bio);

	if (!w)
		return;
	w->rec.dur_ns = now - w->rec.head.at_ns;
	w->rec.cpu = bpf_get_smp_processor_id();
	send(BPF_CACHE, &w->rec, sizeof(w->rec));
	bpf_map_delete_elem(&cache_writes, &bio);
}

/* Of devices that take bios as they are. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(cache_bio_complete, void *queue, struct bio___cache *bio)
{
	write_end((u64)bio, bpf_ktime_get_ns());
	return 0;
}

struct bio_chain {
	struct bio___cache *bio;
	u64 bytes, now;
};

static long chain_step(u32 i, struct bio_chain *c)
{
	struct bio___cache *bio = c->bio;
	u64 n = bio ? BPF_CORE_READ(bio, bi_iter.bi_size) : 0;

	if (!bio || n > c->bytes)
		return 1;
	write_end((u64)bio, c->now);
	c->bytes -= n;
	c->bio = BPF_CORE_READ(bio, bi_next);
	return 0;
}

/* Of the others: all bios of a request that are over with these bytes. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(cache_rq_complete, struct request___cache *rq, int error, unsigned int bytes)
{
	struct bio_chain c = { .bytes = bytes };

	if ((GET(rq, cmd_flags) & 0xff) != 1)
		return 0;
	c.bio = BPF_CORE_READ(rq, bio);
	c.now = bpf_ktime_get_ns();
	bpf_loop(256, chain_step, &c, 0);
	return 0;
}

static __always_inline void runs_flush(struct cache_task *ct, struct task_struct *task)
{
	if (!runs_lock(ct))
		return;
	for (int i = 0; i < NRUNS; i++)
		run_send(&ct->run[i], task);
	runs_unlock(ct);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(cache_exit, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = bpf_task_storage_get(&cache_tasks, task, 0, 0);

	if (!ct)
		return 0;
	if (ct->fault.open)
		mapped_end(ct);
	if (ct->read.open)
		read_end(ct, 0);
	runs_flush(ct, task);
	ct->dying = 1;
	return 0;
}

/* A thread of the kernel makes no calls that would end its reads: when it is at rest. */
static __always_inline void read_end_of(struct cache_task *ct, struct task_struct *task)
{
	struct cache_read *r = &ct->read;
	u64 end = r->last + 1;

	if (!r->open || !r->seen || !(GET(task, flags) & PF_KERNEL) ||
		end <= r->cursor + r->over ||
		(!cache_last && bpf_jiffies64() - r->tick < CACHE_KEPT))
		return;
	struct cache_run run = {
		.first = r->cursor,
		.next = end,
		.pages = end - r->cursor - r->over,
	};
	r->open = 0;
	run_begin(ct, &run, CACHE_HIT, host_of(r->mapping), r->mapping);
	run_send(&run, task);
}

/* Now and then, and at the end: what waits for more. */
SEC("iter/task")
int cache_each(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	struct cache_task *ct = bpf_task_storage_get(&cache_tasks, task, 0, 0);
	if (!ct)
		return 0;
	read_end_of(ct, task);
	runs_flush(ct, task);
	return 0;
}

#endif
