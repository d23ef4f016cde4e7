/*
 * block.c - requests to block devices that the kernel told of, as operations (op.h)
 */
#include "block.h"
#include "iops/names.h"
#include "iops/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *const event_name[NBLOCK_EVENTS] = {
	[BLOCK_QUEUE] = "queue",
	[BLOCK_GETRQ] = "getrq",
	[BLOCK_MERGE] = "merge",
	[BLOCK_INSERT] = "insert",
	[BLOCK_ISSUE] = "issue",
	[BLOCK_REQUEUE] = "requeue",
	[BLOCK_COMPLETE] = "complete",
	[BLOCK_SPLIT] = "split",
	[BLOCK_REMAP] = "remap",
};

int ebpf_block_open(struct bpf *b)
{
	static const char *const word[NWORDS] = { "", ":discard", ":passthrough" };
	struct block *k = b->block = calloc(1, sizeof(*k));
	char name[40];

	if (!k)
		return -ENOMEM;
	for (unsigned i = 0; i < NBLOCK_EVENTS; i++)
		for (unsigned w = 0; w < NWORDS && event_name[i]; w++) {
			int n = snprintf(
				name, sizeof(name), "block:%s%s", event_name[i], word[w]);
			k->call[i][w] = names_call(b->names, name, n);
		}
	k->q2c = names_call(b->names, "block:q2c", 9);
	return b->streams ? block_rows_open(b) : 0;
}

void ebpf_block_close(struct bpf *b)
{
	struct block *k = b->block;

	if (!k)
		return;
	for (size_t i = 0; i < k->submitters.cap; i++)
		free((void *)k->submitters.slot[i].value);
	for (size_t i = 0; i < k->devices.cap; i++)
		free((void *)k->devices.slot[i].value);
	map_fini(&k->submitters);
	map_fini(&k->devices);
	free(k);
	b->block = NULL;
}

void ebpf_block_lost(struct bpf *b, uint64_t events)
{
	if (b->block && b->block->rows)
		stream_lost(b->block->rows, events);
}

/* What is kept by an id, all zero if it is new; NULL: no memory. */
static void *kept(struct map *m, uint32_t id, size_t size)
{
	void *p = (void *)map_get(m, id, 0);

	if (!p && (p = calloc(1, size)) && map_put(m, id, 0, (uintptr_t)p) < 0) {
		free(p);
		p = NULL;
	}
	return p;
}

/* The node of a device, as sysfs names it: "mapper!x" is /dev/mapper/x. */
uint32_t ebpf_block_node(struct bpf *b, uint32_t dev)
{
	struct fd_task task = { .tid = getpid() };
	char at[64], link[PATH_MAX], path[PATH_MAX + 8];
	struct stat st = { .st_mode = S_IFBLK,
		.st_rdev = makedev(dev >> 20, dev & 0xfffff) };

	snprintf(at, sizeof(at), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	ssize_t len = readlink(at, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = 0;
	const char *name = strrchr(link, '/');
	int n = name ? snprintf(path, sizeof(path), "/dev/%s", name + 1)
		     : snprintf(path, sizeof(path), "/dev/block/%u:%u", dev >> 20,
			       dev & 0xfffff);
	for (char *c = path; *c; c++)
		if (*c == '!')
			*c = '/';
	uint32_t file = fdtab_path(b->fdtab, &task, AT_FDCWD, path);
	return file ? file : fdtab_file(b->fdtab, &task, path, n, 0, &st);
}

/* A device is named before the first operation on it. */
static struct device *device_of(struct bpf *b, uint32_t dev)
{
	struct device *d = kept(&b->block->devices, dev, sizeof(*d));

	if (!d || d->file)
		return d;
	d->dev = dev;
	d->file = ebpf_block_node(b, dev);
	struct op op = {
		.kind = OP_DEVICE,
		.layer = LAYER_BLOCK,
		.fd = (int32_t)dev,
		.file = d->file,
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME,
	};
	if (d->file)
		ebpf_put(b, &op);
	return d;
}

static enum op_kind kind_of(uint32_t flags, uint32_t bytes)
{
	switch (flags & REQ_OP_BITS) {
	case REQ_READ:
		return OP_READ;
	case REQ_WRITE:
		return !bytes && flags & REQ_PREFLUSH_BIT ? OP_SYNC : OP_WRITE;
	case REQ_FLUSH:
		return OP_SYNC;
	case REQ_ZONE_APPEND:
	case REQ_WRITE_ZEROES:
		return OP_WRITE;
	default:
		return OP_META;
	}
}

static enum block_words word_of(uint32_t flags, enum op_kind kind)
{
	uint32_t op = flags & REQ_OP_BITS;

	if (kind != OP_META)
		return WORD_PLAIN;
	return op == REQ_DISCARD || op == REQ_SECURE_ERASE ? WORD_DISCARD
							   : WORD_PASSTHROUGH;
}

/* blk_status_t: linux/blk_types.h; what the kernel itself makes of it. */
static int errno_of(uint8_t status)
{
	static const uint8_t err[] = { 0, EOPNOTSUPP, ETIMEDOUT, ENOSPC, ENOLINK,
		EREMOTEIO, EBADE, ENODATA, EILSEQ, ENOMEM, EIO, EREMCHG, EAGAIN, EBUSY,
		ETOOMANYREFS, EOVERFLOW, ENODEV, ETIME, EIO, EINVAL };

	return status < sizeof(err) ? err[status] : EIO;
}

/* The operation of an event; its time is since from_ns, if that is known. */
static struct op op_of(struct bpf *b, const struct rec_block *r, uint64_t from_ns)
{
	const struct submitter *who =
		(const struct submitter *)map_get(&b->block->submitters, r->head.tid, 0);
	const struct device *d = device_of(b, r->dev);
	enum op_kind kind = kind_of(r->flags, r->bytes);
	uint64_t at = r->head.at_ns;
	struct op op = {
		.start_ns = ebpf_since(b, from_ns ? from_ns : at),
		.dur_ns = from_ns ? (at > from_ns ? at - from_ns : 0) : OP_NO_TIME,
		.ret = r->bytes,
		.want = r->bytes,
		.offset = r->sector > INT64_MAX >> 9 ? OP_NO_OFFSET
						     : (int64_t)r->sector << 9,
		.file = ebpf_files_get(b, r->head.file).file,
		.comm = who ? who->comm : 0,
		.pid = (pid_t)r->head.pid,
		.tid = (pid_t)r->head.tid,
		.fd = (int32_t)r->dev,
		.kind = kind,
		.layer = LAYER_BLOCK,
		.call = b->block->call[r->head.row][word_of(r->flags, kind)],
	};

	if (!op.file && d)
		op.file = d->file;
	return op;
}

static void learn(struct bpf *b, const struct rec_block_queue *r)
{
	struct submitter *who =
		kept(&b->block->submitters, r->block.head.tid, sizeof(*who));

	if (!who)
		return;
	who->pid = (pid_t)r->block.head.pid;
	who->ppid = (pid_t)r->ppid;
	who->comm = names_add(b->names, r->comm, strnlen(r->comm, sizeof(r->comm)));
}

static void put_span(struct bpf *b, const struct op *of, uint64_t from_ns, uint64_t at_ns)
{
	struct op op = *of;

	if (!from_ns)
		return;
	op.kind = OP_SPAN;
	op.call = b->block->q2c;
	op.start_ns = ebpf_since(b, from_ns);
	op.dur_ns = at_ns > from_ns ? at_ns - from_ns : 0;
	ebpf_put(b, &op);
}

static void take_done(struct bpf *b, const struct rec_block_done *r)
{
	const struct rec_block *k = &r->block;
	struct op op = op_of(b, k, k->since_ns);
	const struct submitter *who =
		(const struct submitter *)map_get(&b->block->submitters, k->head.tid, 0);

	if (r->status) {
		if (op.ret) { /* what was moved before it failed */
			struct op part = op;
			part.call |= OP_PART;
			part.dur_ns = OP_NO_TIME;
			part.start_ns = ebpf_since(b, k->head.at_ns);
			ebpf_put(b, &part);
		}
		op.offset += op.offset == OP_NO_OFFSET ? 0 : op.ret;
		op.want = r->failed;
		op.ret = -errno_of(r->status);
	}
	ebpf_put(b, &op);
	put_span(b, &op, r->queue_ns, k->head.at_ns);
	if (b->block->rows)
		block_rows_put(b, r, &op, who ? who->ppid : 0);
}

void ebpf_block_take(struct bpf *b, const struct rec *head, size_t len)
{
	const struct rec_block *r = (const struct rec_block *)head;

	if (!b->block || len < sizeof(*r) || head->row >= NBLOCK_EVENTS)
		return;
	if (head->row == BLOCK_QUEUE && len >= sizeof(struct rec_block_queue))
		learn(b, (const struct rec_block_queue *)head);
	if (head->row == BLOCK_QUEUE && head->abi)
		return;
	if (head->row == BLOCK_COMPLETE) {
		if (len >= sizeof(struct rec_block_done))
			take_done(b, (const struct rec_block_done *)head);
		return;
	}
	bool timed = head->row != BLOCK_SPLIT && head->row != BLOCK_REMAP;
	struct op op = op_of(b, r, timed ? r->since_ns : 0);
	if (head->row == BLOCK_REMAP)
		op.want = r->since_ns << 9;
	if (head->row == BLOCK_DONE)
		put_span(b, &op, r->since_ns, head->at_ns);
	else
		ebpf_put(b, &op);
}
