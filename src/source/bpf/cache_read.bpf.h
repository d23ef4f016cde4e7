/*
 * cache_read.bpf.h - what reads ask of the page cache, and what they find there
 */
#ifndef IOPS_CACHE_READ_BPF_H
#define IOPS_CACHE_READ_BPF_H

#include "cache.bpf.h"

/*
 * Where a call has read, if it is one that reads this mapping: from the first byte, ret
 * bytes. The position is that after the call.
 */
static __always_inline bool call_range(
	struct task_struct *task, u64 mapping, s64 ret, s64 *start)
{
	u64 arg[6];
	u32 nr;
	volatile const struct call_shape *s = call_of(task, arg, &nr);

	if (!s || s->fd < 0 || s->writes || s->form > F_TWO)
		return false;
	struct file *file = file_if(task, pick(arg, s->fd), mapping);
	if (!file || GET(file, f_flags) & O_DIRECT_BIT)
		return false;
	s64 at = -1;
	if (s->offset >= 0 && s->form == F_TWO) {
		u64 p = pick(arg, s->offset);
		if (p && bpf_probe_read_user(&at, sizeof(at), (void *)p) == 0)
			at -= ret;
		else if (p)
			return false;
	} else if (s->offset >= 0) {
		at = pick(arg, s->offset);
		if (is_compat(task))
			at = (u32)at | pick(arg, s->offset + 1) << 32;
	}
	*start = at == -1 ? GET(file, f_pos) - ret : at;
	return *start >= 0;
}

static __always_inline struct cache_again_key again_key(u64 mapping, u64 raw)
{
	return (struct cache_again_key){ mapping, raw, bpf_get_current_pid_tgid() >> 32,
		0 };
}

/* A read that is made again: what it missed before, it missed. */
static __noinline int read_again(struct cache_read *r)
{
	struct cache_again_key key = again_key(r->mapping, r->raw);
	struct cache_again *a = bpf_map_lookup_elem(&cache_again, &key);

	if (!a || a->first > r->first)
		return 0;
	r->cursor = a->cursor;
	r->over = a->over;
	bpf_map_delete_elem(&cache_again, &key);
	return 0;
}

/* A read is over: what it asked for and did not miss, it found. ret: of its call. */
__noinline int read_end(struct cache_task *ct, s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	s64 start;

	if (!ct)
		return 0;
	struct cache_read *r = &ct->read;
	u64 first = r->first, last = r->last;
	r->open = 0;
	if (!r->seen) {
		struct cache_again_key key = again_key(r->mapping, r->raw);
		struct cache_again again = { r->first, r->cursor, r->over };
		if (r->cursor > r->from &&
			!bpf_map_update_elem(&cache_again, &key, &again, BPF_ANY))
			ct->again = 1;
		return 0;
	}
	/* Only if it can be: another thread may have moved the position since. */
	if (ret > 0 && call_range(task, r->mapping, ret, &start)) {
		u64 a = (u64)start >> page_shift,
		    b = ((u64)start + ret - 1) >> page_shift;
		if (a <= r->first && b >= a && b <= r->raw) {
			first = a;
			last = b;
		}
	}
	/* Of what lies before the last missing page, the rest has been told of. */
	u64 n = last + 1 > r->cursor ? last + 1 - r->cursor : 0;
	n = n > r->over ? n - r->over : 0;
	if (r->cursor == r->from)
		return run_add(ct, RUN(CACHE_HIT, RUN_HIT), r->mapping, first,
			n + r->from - first);
	if (first < r->from)
		run_add(ct, RUN(CACHE_HIT, RUN_HIT), r->mapping, first, r->from - first);
	return run_add(ct, RUN(CACHE_HIT, RUN_HIT), r->mapping, r->cursor, n);
}

/*
 * Chunks of one sendfile(2) and the like are one read, although each is looked up anew.
 * Of other calls it is enough to know where they begin, and that only where pages are
 * missing.
 */
static __always_inline void read_whole(struct cache_read *r, bool missing)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 arg[6];
	s64 at;
	u32 nr;
	volatile const struct call_shape *s = call_of(task, arg, &nr);

	if (!s || (s->form != F_TWO && !missing) || !call_range(task, r->mapping, 0, &at))
		return;
	if ((u64)at >> page_shift > r->raw)
		return;
	r->first = (u64)at >> page_shift;
	u64 n = pick(arg, s->size), raw = (at + n - 1) >> page_shift;
	if (s->form != F_TWO || n > 1ull << 62 || raw < r->raw)
		return;
	r->raw = raw;
	r->last = raw;
	r->whole = 1;
}

static __always_inline void read_begin(
	struct cache_read *r, u64 mapping, u64 first, u64 last, u64 raw, bool missing)
{
	r->mapping = mapping;
	r->first = first;
	r->last = last;
	r->at = first;
	r->raw = raw;
	r->over = 0;
	r->seen = 0;
	r->tick = bpf_jiffies64();
	r->open = 1;
	r->whole = 0;
	read_whole(r, missing);
	r->from = r->cursor = r->first;
}

/* Whether a lookup goes on with the read that is under way. */
static __always_inline bool continues(struct cache_read *r, u64 index, u64 raw)
{
	if (r->whole)
		return index >= r->first && raw <= r->raw;
	return raw == r->raw && index > r->at;
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(cache_get_pages, struct address_space *mapping, unsigned long index,
	unsigned long raw)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = cache_of(task);

	if (!ct)
		return 0;
	struct inode *inode = GET(mapping, host);
	u64 end = ((u64)GET(inode, i_size) + (1 << page_shift) - 1) >> page_shift;
	if (index >= end) /* was cut meanwhile */
		return 0;
	u64 last = raw < end ? raw : end - 1;
	struct cache_read *r = &ct->read;
	if (r->open && r->mapping == (u64)mapping) {
		if (!r->seen && !r->whole) { /* told of by readahead */
			r->seen = 1;
			r->at = index;
			r->last = last;
			r->raw = raw;
			return 0;
		}
		if (continues(r, index, raw)) {
			r->at = index;
			r->seen = 1;
			return 0;
		}
	}
	if (r->open)
		read_end(ct, 0);
	read_begin(r, (u64)mapping, index, last, raw, false);
	if (ct->again || GET(task, flags) & PF_WORKER)
		read_again(r);
	r->seen = 1;
	return 0;
}

/* Whether readahead in a device's own cache is for a read of the device. */
static __always_inline bool reads_device(struct task_struct *task, u64 mapping)
{
	u64 arg[6];
	u32 nr;
	volatile const struct call_shape *s = call_of(task, arg, &nr);

	if (!s || nr == URING_ENTER_NR)
		return true;
	return s->fd >= 0 && s->form <= F_TWO && file_if(task, pick(arg, s->fd), mapping);
}

static __always_inline int ahead_for(struct inode *inode, u64 index, u64 count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = cache_of(task);
	u64 mapping = (u64)GET(inode, i_mapping), raw = index + count - 1;

	if (!ct || !count || (ct->fault.open && ct->fault.mapping == mapping))
		return 0;
	struct cache_read *r = &ct->read;
	if (r->open && r->mapping == mapping &&
		(continues(r, index, raw) || (raw == r->raw && index == r->at)))
		return 0;
	if (rdev_of(inode) && !reads_device(task, mapping))
		return 0;
	if (r->open)
		read_end(ct, 0);
	read_begin(r, mapping, index, raw, raw, true);
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(cache_sync_ra, struct inode *inode, unsigned long index, void *ra,
	unsigned long count)
{
	return ahead_for(inode, index, count);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(cache_async_ra, struct inode *inode, unsigned long index, void *ra,
	unsigned long count)
{
	return ahead_for(inode, index, count);
}

/* What is added from here on is read ahead, unless it was asked for. */
static __always_inline int ahead_begin(struct inode *inode)
{
	struct cache_task *ct = cache_of(bpf_get_current_task_btf());

	if (ct)
		ct->ahead = (u64)GET(inode, i_mapping);
	return 0;
}

SEC("tp_btf/page_cache_ra_unbounded")
int BPF_PROG(cache_ra_unbounded, struct inode *inode)
{
	return ahead_begin(inode);
}

SEC("tp_btf/page_cache_ra_order")
int BPF_PROG(cache_ra_order, struct inode *inode)
{
	return ahead_begin(inode);
}

/*
 * Page faults. mm_filemap_fault names the page that is wanted; where it and its
 * neighbours were there, only mm_filemap_map_pages is heard, with all of them. A fault
 * that had to wait is tried again. What it was in the end, mapped_done() is told.
 */
__noinline int mapped_end(struct cache_task *ct)
{
	if (!ct)
		return 0;
	struct cache_fault *f = &ct->fault;

	f->open = 0;
	u32 event = f->missed ? CACHE_MAPPED_MISS : CACHE_MAPPED_HIT;
	return run_add(
		ct, RUN(event, RUN_MAPPED), f->mapping, f->exact ? f->index : f->from, 1);
}

static __always_inline void mapped_begin(struct cache_task *ct, u64 mapping)
{
	if (ct->fault.open)
		mapped_end(ct);
	ct->fault.open = 1;
	ct->fault.mapping = mapping;
	ct->fault.exact = 0;
	ct->fault.missed = 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(cache_fault, struct address_space *mapping, unsigned long index)
{
	struct cache_task *ct = cache_of(bpf_get_current_task_btf());

	if (!ct)
		return 0;
	struct cache_fault *f = &ct->fault;
	if (!f->open || f->mapping != (u64)mapping || (f->exact && f->index != index))
		mapped_begin(ct, (u64)mapping);
	f->exact = 1;
	f->index = index;
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(cache_map_pages, struct address_space *mapping, unsigned long from,
	unsigned long to)
{
	struct cache_task *ct = cache_of(bpf_get_current_task_btf());

	if (!ct)
		return 0;
	struct cache_fault *f = &ct->fault;
	if (!f->open || f->mapping != (u64)mapping ||
		(f->exact ? f->index < from || f->index > to : f->from != from))
		mapped_begin(ct, (u64)mapping);
	f->from = from;
	f->to = to;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(cache_sys_exit, struct pt_regs *regs, long ret)
{
	struct cache_task *ct =
		bpf_task_storage_get(&cache_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!ct)
		return 0;
	ct->ahead = 0;
	if (ct->fault.open)
		mapped_end(ct);
	if (ct->read.open)
		read_end(ct, ret);
	return 0;
}

#endif
