/*
 * block_rows.c - requests that have ended, as rows of the stream "block"
 */
#include "block.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char columns[] =
	"timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,"
	"ppid,queue_latency_ms,command_flags,operation_code,request_id,mono_ns,"
	"filename,inode,bytes_completed,errno,total_latency_ms,disk";

/* linux/blk_types.h: operations by number, and how traces call them. */
static const struct {
	uint8_t nr;
	const char *name, *code;
} operations[] = {
	{ 0, "read", "REQ_OP_READ" },
	{ 1, "write", "REQ_OP_WRITE" },
	{ 2, "flush", "REQ_OP_FLUSH" },
	{ 3, "discard", "REQ_OP_DISCARD" },
	{ 5, "secure_erase", "REQ_OP_SECURE_ERASE" },
	{ 7, "zone_append", "REQ_OP_ZONE_APPEND" },
	{ 9, "write_zeroes", "REQ_OP_WRITE_ZEROES" },
	{ 11, "zone_open", "REQ_OP_ZONE_OPEN" },
	{ 13, "zone_close", "REQ_OP_ZONE_CLOSE" },
	{ 15, "zone_finish", "REQ_OP_ZONE_FINISH" },
	{ 17, "zone_reset", "REQ_OP_ZONE_RESET" },
	{ 19, "zone_reset_all", "REQ_OP_ZONE_RESET_ALL" },
	{ 34, "passthrough", "REQ_OP_DRV_IN" },
	{ 35, "passthrough", "REQ_OP_DRV_OUT" },
};

/* Bits of a request; word: what the letters of traces stand for. */
static const struct {
	uint8_t bit;
	const char *name, *word;
} bits[] = {
	{ 8, "REQ_FAILFAST_DEV", NULL },
	{ 9, "REQ_FAILFAST_TRANSPORT", NULL },
	{ 10, "REQ_FAILFAST_DRIVER", NULL },
	{ 11, "REQ_SYNC", "sync" },
	{ 12, "REQ_META", "meta" },
	{ 13, "REQ_PRIO", "prio" },
	{ 14, "REQ_NOMERGE", NULL },
	{ 15, "REQ_IDLE", NULL },
	{ 16, "REQ_INTEGRITY", NULL },
	{ 17, "REQ_FUA", "fua" },
	{ 18, "REQ_PREFLUSH", "preflush" },
	{ 19, "REQ_RAHEAD", "ahead" },
	{ 20, "REQ_BACKGROUND", NULL },
	{ 21, "REQ_NOWAIT", NULL },
};

int block_rows_open(struct bpf *b)
{
	return streams_add(b->streams, &b->block->rows, "block", columns);
}

static void put_bits(struct stream *s, uint32_t flags, bool words)
{
	char text[256] = "";
	size_t at = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		const char *name = words ? bits[i].word : bits[i].name;
		if (flags >> bits[i].bit & 1 && name && at < sizeof(text))
			at += snprintf(text + at, sizeof(text) - at, "%s%s",
				at ? "|" : "", name);
	}
	stream_word(s, text);
}

static void put_ms(struct stream *s, bool known, uint64_t ns)
{
	if (known)
		stream_real(s, (double)ns / 1e6, 6);
	else
		stream_none(s);
}

static void put_operation(struct stream *s, uint32_t flags, bool code)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (operations[i].nr == (flags & REQ_OP_BITS)) {
			stream_word(s, code ? operations[i].code : operations[i].name);
			return;
		}
	stream_word(s, "none");
}

static void put_ours(struct bpf *b, const struct rec_block_done *r, const struct op *op)
{
	const struct device *d =
		(const struct device *)map_get(&b->block->devices, r->block.dev, 0);
	const struct file *f = names_file(b->names, op->file);
	struct stream *s = b->block->rows;
	uint64_t end = r->block.head.at_ns;
	char name[16];

	stream_path(s, names_get(b->names, f->path));
	if (f->inode)
		stream_u64(s, f->inode);
	else
		stream_none(s);
	stream_u64(s, r->block.bytes);
	if (op->ret < 0)
		stream_word(s, errno_name((int)-op->ret, name));
	else
		stream_none(s);
	put_ms(s, r->queue_ns, end - r->queue_ns);
	const char *node =
		d ? names_get(b->names, names_file(b->names, d->file)->path) : "";
	stream_word(s, strncmp(node, "/dev/", 5) ? node : node + 5);
}

void block_rows_put(
	struct bpf *b, const struct rec_block_done *r, const struct op *op, pid_t ppid)
{
	const struct rec_block *k = &r->block;
	struct stream *s = b->block->rows;

	stream_time(s, k->head.at_ns);
	put_operation(s, k->flags, false);
	if (k->head.pid) {
		stream_i64(s, op->pid);
		stream_i64(s, op->tid);
	} else {
		stream_none(s);
		stream_none(s);
	}
	stream_word(s, names_get(b->names, op->comm));
	if (k->sector == UINT64_MAX)
		stream_none(s);
	else
		stream_u64(s, k->sector);
	stream_u64(s, (uint64_t)k->bytes + r->failed);
	put_ms(s, k->since_ns, k->head.at_ns - k->since_ns);
	stream_device(s, k->dev >> 20, k->dev & 0xfffff);
	put_bits(s, k->flags, true);
	stream_u64(s, r->cpu);
	if (ppid)
		stream_i64(s, ppid);
	else
		stream_none(s);
	put_ms(s, r->timed, r->wait_ns);
	put_bits(s, k->flags, false);
	put_operation(s, k->flags, true);
	if (k->id)
		stream_u64(s, k->id);
	else
		stream_none(s);
	stream_u64(s, k->head.at_ns);
	put_ours(b, r, op);
	int err = stream_end(s);
	if (err < 0 && !b->error)
		b->error = err;
}
