/*
 * uring_rows.c - requests of io_uring and of Linux AIO as rows: those of io_uring in the
 * stream of that name, those on files in the stream fs, like the calls that do the same
 */
#include "fs_rows.h"
#include "iops/async.h"
#include "iops/names.h"
#include "iops/stream.h"

#include <stdio.h>
#include <string.h>

static const char columns[] =
	"timestamp,event_type,pid,tid,command,ring,user_data,opcode,fd,length,offset,"
	"sqe_flags,result,errno,submit_ns,complete_ns,latency_ns,inode,filename,device,"
	"fs_type,cqe_flags,cmdline,ppid,container_id,mono_ns";

/* What is the work of a call, by number: IORING_OP_... data: the result is bytes. */
struct like {
	const char *op;
	bool data;
};

static const struct like uring_like[] = {
	[1] = { "read", true },
	[2] = { "write", true },
	[3] = { "fsync", false },
	[4] = { "read", true },
	[5] = { "write", true },
	[8] = { "sync_file_range", false },
	[17] = { "fallocate", false },
	[18] = { "open", false },
	[19] = { "close", false },
	[21] = { "getattr", false },
	[22] = { "read", true },
	[23] = { "write", true },
	[24] = { "fadvise", false },
	[25] = { "madvise", false },
	[28] = { "open", false },
	[30] = { "splice", true },
	[33] = { "tee", true },
	[35] = { "rename", false },
	[36] = { "unlink", false },
	[37] = { "mkdir", false },
	[38] = { "symlink", false },
	[39] = { "link", false },
	[41] = { "setxattr", false },
	[42] = { "setxattr", false },
	[43] = { "getxattr", true },
	[44] = { "getxattr", true },
	[49] = { "read", true },
	[55] = { "truncate", false },
	[60] = { "read", true },
	[61] = { "write", true },
};

/* IOCB_CMD_... */
static const struct like aio_like[] = {
	{ "read", true },
	{ "write", true },
	{ "fsync", false },
	{ "fdatasync", false },
	[7] = { "read", true },
	[8] = { "write", true },
};

static struct like like_of(const struct rec *r)
{
	bool aio = r->type == REC_AIO;
	size_t n = aio ? sizeof(aio_like) / sizeof(*aio_like)
		       : sizeof(uring_like) / sizeof(*uring_like);

	return r->row < n ? (aio ? aio_like : uring_like)[r->row] : (struct like){ 0 };
}

int uring_rows_open(struct bpf *b, struct fs_rows *f)
{
	return streams_add(b->streams, &f->uring, "io_uring", columns);
}

/* Rings are numbered as they are seen. */
static unsigned ring_of(struct fs_rows *f, uint64_t ring)
{
	uintptr_t n = map_get(&f->rings, ring, 0);

	if (!n && map_put(&f->rings, ring, 0, f->rings.n + 1) == 0)
		n = f->rings.n;
	return (unsigned)n;
}

static struct fs_found found_of(const struct bpf *b, const struct seen *s)
{
	const struct file *f = names_file(b->names, s->file);

	return (struct fs_found){
		.inode = f->inode,
		.major = f->major,
		.minor = f->minor,
		.fs = s->fs,
	};
}

static void put_offset(struct stream *t, const struct rec_uring *r, const struct seen *s)
{
	int64_t moved = !r->placed && r->res > 0 ? r->res : 0;

	if (like_of(&r->head).data && s->placed && r->position >= moved)
		stream_i64(t, r->position - moved);
	else
		stream_none(t);
}

static void put_errno(struct stream *t, int64_t ret)
{
	char buf[16];
	const char *err = fs_errno(ret, buf);

	if (err)
		stream_word(t, err);
	else
		stream_none(t);
}

static void put_fd(struct stream *t, const struct rec_uring *r)
{
	if (r->fd >= 0)
		stream_i64(t, r->fd);
	else
		stream_none(t);
}

/* Of the stream of io_uring. */
static void put_request(struct bpf *b, const struct rec_uring *r,
	const struct process *by, const struct fs_process *p)
{
	struct stream *t = b->fs->uring;
	struct seen s = ebpf_files_get(b, r->head.file);
	struct fs_found f = found_of(b, &s);
	char text[WORDS_MAX];

	stream_time(t, r->head.at_ns);
	stream_word(t, "COMPLETE");
	stream_u64(t, r->head.pid);
	stream_u64(t, r->head.tid);
	stream_word(t, names_get(b->names, by->comm));
	stream_u64(t, ring_of(b->fs, r->ring));
	stream_u64(t, r->user_data);
	stream_word(t, async_name(ASYNC_URING, r->head.row));
	put_fd(t, r);
	stream_u64(t, r->want);
	put_offset(t, r, &s);
	stream_word(t, fs_words(WORDS_SQE, r->sqe_flags & 0x7f, text));
	stream_i64(t, r->res);
	put_errno(t, r->res);
	stream_u64(t, r->head.at_ns);
	stream_u64(t, r->head.at_ns + r->dur_ns);
	stream_u64(t, r->dur_ns);
	if (f.inode)
		stream_u64(t, f.inode);
	else
		stream_none(t);
	fs_put_path(b, t, s.file);
	if (s.file)
		stream_device(t, f.major, f.minor);
	else
		stream_none(t);
	fs_put_name(b, t, f.fs);
	stream_hex(t, r->ring_flags);
	fs_put_who(b, t, p);
	stream_u64(t, r->head.at_ns);
	stream_end(t);
}

/* Of the stream of calls. */
static void put_call(struct bpf *b, const struct rec_uring *r, const struct process *by,
	const struct fs_process *p)
{
	struct stream *t = b->fs->fs;
	struct seen s = ebpf_files_get(b, r->head.file);
	struct fs_found f = found_of(b, &s);
	unsigned type = names_file(b->names, s.file)->type;
	struct like like = like_of(&r->head);
	bool aio = r->head.type == REC_AIO;
	char text[WORDS_MAX], name[40];

	stream_time(t, r->head.at_ns);
	stream_word(t, like.op);
	stream_u64(t, r->head.pid);
	stream_u64(t, r->head.tid);
	stream_word(t, names_get(b->names, by->comm));
	fs_put_path(b, t, s.file);
	if (like.data)
		stream_u64(t, r->want);
	else
		stream_none(t);
	put_offset(t, r, &s);
	if (like.data)
		stream_i64(t, r->res > 0 ? r->res : 0);
	else
		stream_none(t);
	fs_put_found(t, &f);
	if (aio)
		stream_none(t);
	else
		stream_word(t, fs_words(WORDS_SQE, r->sqe_flags & 0x7f, text));
	stream_u64(t, r->dur_ns);
	stream_i64(t, r->res);
	put_errno(t, r->res);
	for (int i = 0; i < 3; i++) /* mmap_prot, mmap_flags, address */
		stream_none(t);
	fs_put_who(b, t, p);
	fs_put_name(b, t, f.fs);
	stream_u64(t, r->head.at_ns);
	snprintf(name, sizeof(name), "%s:%s", aio ? "aio" : "io_uring",
		async_name(aio ? ASYNC_AIO : ASYNC_URING, r->head.row));
	stream_word(t, name);
	put_fd(t, r);
	if (type != FILE_UNKNOWN)
		stream_word(t, file_type_name(type));
	else
		stream_none(t);
	for (int i = 0; i < 4; i++) /* file_size, target, target_fd, target_offset */
		stream_none(t);
	if (p && p->told)
		stream_u64(t, p->uid);
	else
		stream_none(t);
	stream_end(t);
}

void ebpf_uring_row(struct bpf *b, const struct rec_uring *r)
{
	const struct process *by = b->fs ? ebpf_life_caller(b, &r->head) : NULL;

	if (!by)
		return;
	const struct fs_process *p = fs_known_of(&b->fs->known, (pid_t)r->head.pid);
	if (b->fs->uring && r->head.type == REC_URING)
		put_request(b, r, by, p);
	if (b->fs->fs && like_of(&r->head).op)
		put_call(b, r, by, p);
}
