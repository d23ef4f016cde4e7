/*
 * cache.c - what the kernel told of the page cache and of page faults, as operations
 */
#include "cache.h"
#include "iops/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How each event is called, and what it counts as. */
static const struct {
	const char *name;
	uint8_t kind;
} events[NCACHE_EVENTS] = {
	[CACHE_HIT] = { "cache:hit", OP_READ },
	[CACHE_MISS] = { "cache:miss", OP_READ },
	[CACHE_DIRTY] = { "cache:dirty", OP_WRITE },
	[CACHE_WRITEBACK_END] = { "cache:writeback", OP_WRITE },
	[CACHE_EVICT] = { "cache:evict", OP_META },
	[CACHE_INVALIDATE] = { "cache:invalidate", OP_META },
	[CACHE_DROP] = { "cache:drop", OP_META },
	[CACHE_READAHEAD] = { "cache:readahead", OP_READ },
	[CACHE_RECLAIM] = { "cache:reclaim", OP_META },
	[CACHE_ADD] = { "cache:add", OP_META },
	[CACHE_MAPPED_HIT] = { "cache:mapped_hit", OP_READ },
	[CACHE_MAPPED_MISS] = { "cache:mapped_miss", OP_READ },
};

int ebpf_cache_open(struct bpf *b)
{
	struct cache *c = b->cache = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->page = (unsigned)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < NCACHE_EVENTS; i++)
		if (events[i].name)
			c->call[i] = names_call(
				b->names, events[i].name, strlen(events[i].name));
	c->fault[0] = names_call(b->names, "fault:minor", 11);
	c->fault[1] = names_call(b->names, "fault:major", 11);
	return b->streams ? cache_rows_open(b) : 0;
}

void ebpf_cache_close(struct bpf *b)
{
	if (b->cache)
		map_fini(&b->cache->files);
	free(b->cache);
	b->cache = NULL;
}

/*
 * The file of a record. Where only the inode was at hand, its name may be another one of
 * its links, or that below another mount than the one that programs use, or there is
 * none any more: then it is as it was named before.
 */
static uint32_t file_of(struct bpf *b, const struct rec_cache *r)
{
	uint64_t key = (uint64_t)r->generation << 32 | r->dev;
	uint32_t seen = ebpf_files_get(b, r->head.file).file;
	uint32_t known = map_get(&b->cache->files, r->inode, key);
	struct file f = {
		.major = r->dev >> 20,
		.minor = r->dev & 0xfffff,
		.inode = r->inode,
		.type = FILE_REGULAR,
	};

	if (known && (r->rdev || r->alias || !seen))
		return known;
	if (r->rdev)
		seen = ebpf_block_node(b, r->rdev);
	if (!seen)
		return names_add_file(b->names, &f);
	if (seen != known)
		map_put(&b->cache->files, r->inode, key, seen);
	return seen;
}

uint32_t cache_comm(struct bpf *b, const struct rec *r, const char comm[16], bool *known)
{
	struct process *p = ebpf_life_find(b, (pid_t)r->pid);

	*known = !p || p->started;
	return p && p->comm ? p->comm : names_add(b->names, comm, strnlen(comm, 16));
}

static void take_cache(struct bpf *b, const struct rec_cache *r)
{
	struct cache *c = b->cache;
	bool known;
	struct op op = {
		.layer = LAYER_CACHE,
		.kind = events[r->head.row].kind,
		.call = c->call[r->head.row] | OP_SUM,
		.pid = (pid_t)r->head.pid,
		.tid = (pid_t)r->head.tid,
		.comm = cache_comm(b, &r->head, r->comm, &known),
		.fd = -1,
		.file = file_of(b, r),
		.ret = (int64_t)(r->pages * c->page),
		.want = r->pages,
		.offset = (int64_t)(r->first * c->page),
		.start_ns = ebpf_since(b, r->head.at_ns),
		.dur_ns = r->dur_ns ? r->dur_ns : OP_NO_TIME,
	};

	if (!known)
		return;
	if (events[r->head.row].name)
		ebpf_put(b, &op);
	if (c->rows)
		cache_rows_put(b, r, &op);
}

static void take_fault(struct bpf *b, const struct rec_fault *r)
{
	struct cache *c = b->cache;
	bool known;
	struct op op = {
		.layer = LAYER_FAULT,
		.kind = r->head.row & FAULT_WRITE ? OP_WRITE : OP_READ,
		.call = c->fault[!!(r->head.row & FAULT_MAJOR)],
		.pid = (pid_t)r->head.pid,
		.tid = (pid_t)r->head.tid,
		.comm = cache_comm(b, &r->head, r->comm, &known),
		.fd = -1,
		.file = ebpf_files_get(b, r->head.file).file,
		.ret = c->page,
		.want = c->page,
		.offset = (int64_t)(r->offset & ~(uint64_t)(c->page - 1)),
		.start_ns = ebpf_since(b, r->head.at_ns),
		.dur_ns = r->head.row & FAULT_TIMED ? r->dur_ns : OP_NO_TIME,
	};

	if (!known)
		return;
	ebpf_put(b, &op);
	if (c->faults)
		cache_rows_fault(b, r, &op);
}

void ebpf_cache_take(struct bpf *b, const struct rec *r, size_t len)
{
	if (!b->cache)
		return;
	if (r->type == REC_CACHE && len >= sizeof(struct rec_cache) &&
		r->row < NCACHE_EVENTS)
		take_cache(b, (const struct rec_cache *)r);
	else if (r->type == REC_FAULT && len >= sizeof(struct rec_fault))
		take_fault(b, (const struct rec_fault *)r);
}
