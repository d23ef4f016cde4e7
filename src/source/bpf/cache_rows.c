/*
 * cache_rows.c - the page cache and page faults as rows of the streams "cache" and
 * "pagefault"
 */
#include "cache.h"
#include "iops/names.h"
#include "iops/stream.h"

static const char cache_columns[] =
	"timestamp,pid,command,event_type,inode,page_index,size_pages,cpu_id,device_id,"
	"count,mono_ns,tid,filename,bytes,span_pages,duration_ns,source";

static const char fault_columns[] =
	"timestamp,pid,tid,command,fault_type,severity,inode,offset,address,dev_id,"
	"filename,duration_ns,cpu_id,mono_ns";

/* What it is called there; of what is not among the seed's words, ADD. */
static const char *const words[NCACHE_EVENTS] = {
	[CACHE_HIT] = "HIT",
	[CACHE_MISS] = "MISS",
	[CACHE_DIRTY] = "DIRTY",
	[CACHE_WRITEBACK_START] = "WRITEBACK_START",
	[CACHE_WRITEBACK_END] = "WRITEBACK_END",
	[CACHE_EVICT] = "EVICT",
	[CACHE_INVALIDATE] = "INVALIDATE",
	[CACHE_DROP] = "DROP",
	[CACHE_READAHEAD] = "READAHEAD",
	[CACHE_RECLAIM] = "RECLAIM",
	[CACHE_ADD] = "ADD",
	[CACHE_MAPPED_HIT] = "HIT",
	[CACHE_MAPPED_MISS] = "MISS",
};

int cache_rows_open(struct bpf *b)
{
	int err = 0;

	if (b->layers & 1 << BPF_CACHE)
		err = streams_add(b->streams, &b->cache->rows, "cache", cache_columns);
	if (!err && b->layers & 1 << BPF_FAULT)
		err = streams_add(
			b->streams, &b->cache->faults, "pagefault", fault_columns);
	return err;
}

static void end(struct bpf *b, struct stream *s)
{
	int err = stream_end(s);

	if (err < 0 && !b->error)
		b->error = err;
}

static void put_path(struct bpf *b, struct stream *s, uint32_t file)
{
	const char *path = names_get(b->names, names_file(b->names, file)->path);

	if (*path)
		stream_path(s, path);
	else
		stream_none(s);
}

static void put_time(struct stream *s, uint64_t ns)
{
	if (ns == OP_NO_TIME)
		stream_none(s);
	else
		stream_u64(s, ns);
}

/* How pages were asked for. */
static const char *source_of(unsigned event)
{
	switch (event) {
	case CACHE_HIT:
	case CACHE_MISS:
		return "read";
	case CACHE_MAPPED_HIT:
	case CACHE_MAPPED_MISS:
		return "fault";
	}
	return NULL;
}

void cache_rows_put(struct bpf *b, const struct rec_cache *r, const struct op *op)
{
	struct stream *s = b->cache->rows;
	const char *source = source_of(r->head.row);

	stream_time(s, r->head.at_ns);
	stream_i64(s, op->pid);
	stream_word(s, names_get(b->names, op->comm));
	stream_word(s, words[r->head.row]);
	stream_u64(s, r->inode);
	stream_u64(s, r->first);
	stream_u64(s, r->size / b->cache->page);
	stream_u64(s, r->cpu);
	stream_u64(s, r->dev);
	stream_u64(s, r->pages);
	stream_u64(s, r->head.at_ns);
	stream_i64(s, op->tid);
	put_path(b, s, op->file);
	stream_u64(s, (uint64_t)op->ret);
	stream_u64(s, r->span);
	put_time(s, op->dur_ns);
	if (source)
		stream_word(s, source);
	else
		stream_none(s);
	end(b, s);
}

void cache_rows_fault(struct bpf *b, const struct rec_fault *r, const struct op *op)
{
	struct stream *s = b->cache->faults;

	stream_time(s, r->head.at_ns);
	stream_i64(s, op->pid);
	stream_i64(s, op->tid);
	stream_word(s, names_get(b->names, op->comm));
	if (r->head.row & FAULT_KNOWN)
		stream_word(s, r->head.row & FAULT_WRITE ? "WRITE" : "READ");
	else
		stream_none(s);
	stream_word(s, r->head.row & FAULT_MAJOR ? "MAJOR" : "MINOR");
	stream_u64(s, r->inode);
	stream_u64(s, r->offset);
	stream_hex(s, r->address);
	stream_u64(s, r->dev);
	put_path(b, s, op->file);
	put_time(s, op->dur_ns);
	stream_u64(s, r->cpu);
	stream_u64(s, r->head.at_ns);
	end(b, s);
}
