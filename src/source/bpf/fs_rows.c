/*
 * fs_rows.c - the rows of the stream fs: calls, programs that begin, processes that end
 */
#include "fs.h"
#include "fs_rows.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* Those of IO Tracer in its order, then ours. */
static const char columns[] =
	"timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,"
	"device,flags,duration_ns,return_value,errno,mmap_prot,mmap_flags,address,"
	"cmdline,"
	"ppid,container_id,fs_type,mono_ns,"
	"call,fd,file_type,file_size,target,target_fd,target_offset,uid";

int ebpf_fs_open(struct bpf *b)
{
	struct fs_rows *f = calloc(1, sizeof(*f));
	int err = f ? fs_known_open(&f->known, b->names) : -ENOMEM;

	b->fs = f;
	if (!err && b->layers & 1 << BPF_CALLS)
		err = streams_add(b->streams, &f->fs, "fs", columns);
	if (!err && b->layers & 1 << BPF_URING)
		err = uring_rows_open(b, f);
	return err;
}

void ebpf_fs_close(struct bpf *b)
{
	if (b->fs) {
		fs_known_close(&b->fs->known);
		map_fini(&b->fs->rings);
	}
	free(b->fs);
}

void ebpf_fs_meet(struct bpf *b, pid_t pid)
{
	if (b->fs)
		fs_known_of(&b->fs->known, pid);
}

void ebpf_fs_lost(struct bpf *b, unsigned layer, uint64_t n)
{
	if (b->fs && b->fs->fs && layer == BPF_ROWS)
		stream_lost(b->fs->fs, n);
	if (b->fs && b->fs->uring && layer == BPF_URING)
		stream_lost(b->fs->uring, n);
}

/* A row while it is made. */
struct row {
	const struct rec_fs *r;
	const struct fs_call *call;
	uint64_t arg[6];
	struct seen file, second;
	bool ok, of_path; /* of_path: it is the path that is shown, not file */
	char path[EBPF_PATH_MAX], path2[EBPF_PATH_MAX];
	uint32_t id, id2; /* names of them */
	struct fs_found found;
	const char *op;
};

static uint64_t arg(const struct row *w, unsigned position)
{
	return position ? w->arg[position - 1] : 0;
}

/* A path from the directory that it begins at, which of an absolute one is the root. */
static uint32_t plain(struct bpf *b, uint32_t dir, const char *path, size_t len,
	char out[EBPF_PATH_MAX])
{
	uint32_t at = ebpf_files_get(b, dir).file;
	const char *from = names_get(b->names, names_file(b->names, at)->path);
	size_t n;

	if (*path == '/' && *from == '/' && from[1])
		while (len && *path == '/')
			path++, len--;
	n = ebpf_files_plain(b, at, path, len, out);
	if (!n)
		n = sprintf(out, "%.*s", (int)len, path);
	return names_add(b->names, out, n);
}

static void take_paths(struct bpf *b, struct row *w)
{
	const struct rec_fs *r = w->r;
	const char *second = r->text + r->len;

	/* Without a path the descriptor itself is meant: AT_EMPTY_PATH. */
	if (r->has & FS_HAS_PATH && (r->len > 1 || !w->ok)) {
		w->of_path = true;
		if (w->call->form == FS_SYMLINK)
			w->id = names_add(b->names,
				strncpy(w->path, r->text, REC_PATH_MAX), r->len - 1);
		else if (r->len > 1)
			w->id = plain(b, r->head.file, r->text, r->len - 1, w->path);
	}
	if (r->has & FS_HAS_PATH2 && r->len2)
		w->id2 = plain(b, r->file2, second, r->len2 - 1, w->path2);
}

/* Whether a link at the end of the path was meant itself. */
static bool of_link(const struct row *w)
{
	uint64_t at = w->call->words == WORDS_AT  ? arg(w, w->call->flags)
		      : w->call->bits == WORDS_AT ? arg(w, w->call->more)
						  : 0;

	return w->call->link || at & AT_SYMLINK_NOFOLLOW;
}

/* What lies at a path now, unless that may have come there since; then what was seen of
 * it last, if before is its path of then. */
static bool find_now(struct bpf *b, struct row *w, const char *path, uint32_t before)
{
	struct fs_known *k = &b->fs->known;
	struct fs_found now = { 0 };
	bool there = fs_known_ask(k, w->r, path, of_link(w), &now);

	if ((there && !now.since) || !fs_known_get(k, before, &w->found))
		w->found = there && !now.since ? now : (struct fs_found){ 0 };
	return there && now.dir;
}

static void find_renamed(struct bpf *b, struct row *w)
{
	struct fs_known *k = &b->fs->known;
	bool dir = find_now(b, w, w->path2, w->id);

	if (w->call->words == WORDS_RENAME && arg(w, w->call->flags) & 2) {
		fs_known_remove(k, w->id); /* exchanged */
		fs_known_remove(k, w->id2);
		w->found = (struct fs_found){ 0 };
		return;
	}
	fs_known_rename(k, w->id, w->id2, dir);
}

/* What a path that is not open is. */
static void find(struct bpf *b, struct row *w)
{
	struct fs_known *k = &b->fs->known;
	uint32_t id = w->id2 ? w->id2 : w->id;

	if (!w->ok || (!*w->path && !*w->path2))
		return;
	if (w->r->has & FS_HAS_INODE) {
		fs_known_put(k, w->id, &w->found);
	} else if (w->call->gone) {
		fs_known_get(k, w->id, &w->found);
		fs_known_remove(k, w->id);
	} else if (w->id2 && !strcmp(w->call->op, "rename")) {
		find_renamed(b, w);
	} else {
		if (w->call->makes)
			fs_known_remove(k, id);
		find_now(b, w, w->id2 ? w->path2 : w->path, w->call->makes ? 0 : w->id);
		if (w->found.inode)
			fs_known_put(k, id, &w->found);
	}
}

/* What an open file is, or what a call said that it is. */
static void look(struct bpf *b, struct row *w)
{
	const struct rec_fs *r = w->r;
	const struct file *f = names_file(b->names, w->file.file);

	if (r->has & FS_HAS_INODE) {
		bool x = w->call->out_how == FS_OUT_STATX;
		w->found.inode = r->inode;
		w->found.major = x ? r->dev >> 32 : major(r->dev);
		w->found.minor = x ? (uint32_t)r->dev : minor(r->dev);
	}
	if (w->of_path) {
		find(b, w);
		w->found.fs = fs_known_kind(&b->fs->known, &w->found);
		return;
	}
	if (!w->file.file)
		return;
	w->found.inode = f->inode;
	w->found.major = f->major;
	w->found.minor = f->minor;
	w->found.fs = w->file.fs;
	if (w->call->form != FS_OPEN && w->call->form != FS_CWD)
		return;
	fs_known_put(&b->fs->known, f->path, &w->found);
	fs_known_learn(&b->fs->known, &w->found);
}

/* Reads and writes past the page cache have names of their own. */
static const char *operation(struct bpf *b, const struct row *w)
{
	const struct fs_call *c = w->call;
	unsigned type = names_file(b->names, w->file.file)->type;

	if (c->other && arg(w, c->flags) & c->when)
		return c->other;
	if (!(w->r->has & FS_HAS_FILE && w->r->flags & O_DIRECT) ||
		(type != FILE_REGULAR && type != FILE_BLOCK))
		return c->op;
	return !strcmp(c->op, "read")    ? "dio_read"
	       : !strcmp(c->op, "write") ? "dio_write"
					 : c->op;
}

static void put_file(struct bpf *b, struct stream *t, const struct row *w)
{
	if (w->of_path && w->id2)
		stream_paths(t, w->path, w->path2);
	else if (w->of_path)
		stream_path(t, w->path);
	else
		fs_put_path(b, t, w->file.file);
}

static void put_size(struct stream *t, const struct row *w)
{
	if (w->call->vec)
		stream_u64(t, w->r->want);
	else if (w->call->size)
		stream_u64(t, arg(w, w->call->size));
	else
		stream_none(t);
}

/* position: after the call, which has moved it on. */
static void put_begun(
	struct stream *t, const struct row *w, const struct seen *s, int64_t position)
{
	int64_t moved = w->call->moves && w->r->ret > 0 ? w->r->ret : 0;

	if (!s->placed || position < moved)
		stream_none(t);
	else
		stream_i64(t, position - moved);
}

static void put_offset(struct stream *t, const struct row *w)
{
	const struct fs_call *c = w->call;
	const struct rec_fs *r = w->r;

	if (c->offset && !(c->data && arg(w, c->offset) == UINT64_MAX)) {
		/* pwrite(2) appends where the file is open for that. */
		if (c->data && *c->op == 'w' && r->flags & O_APPEND && r->ret > 0)
			stream_i64(t, r->size - r->ret);
		else
			stream_i64(t, (int64_t)arg(w, c->offset));
	} else if (c->at && c->data && arg(w, c->at)) {
		put_begun(t, w, &w->file, (int64_t)r->at[0]);
	} else if (c->moves && r->has & FS_HAS_FILE) {
		put_begun(t, w, &w->file, r->position);
	} else {
		stream_none(t);
	}
}

static void put_flags(struct stream *t, const struct row *w)
{
	const struct fs_call *c = w->call;
	char text[2 * WORDS_MAX], more[WORDS_MAX];
	uint64_t value = c->flags ? arg(w, c->flags) : c->fixed;

	if (c->words == WORDS_NONE ||
		(c->words == WORDS_FILE && !(w->r->has & FS_HAS_FILE))) {
		stream_none(t);
		return;
	}
	if (c->words == WORDS_FILE)
		value = w->r->flags;
	else if (c->words == WORDS_OPEN && c->at)
		value = w->r->at[0];
	else if (c->words != WORDS_MADVISE)
		value = (uint32_t)value;
	const char *words = fs_words(c->words, value, text);
	if (c->bits && (uint32_t)arg(w, c->more)) {
		if (words != text)
			strcpy(text, words);
		strcat(strcat(text, "|"),
			fs_words(c->bits, (uint32_t)arg(w, c->more), more));
		words = text;
	}
	stream_word(t, words);
}

static void put_memory(struct stream *t, const struct row *w)
{
	char text[WORDS_MAX];
	int form = w->call->form;

	if (form == FS_MMAP) {
		stream_word(t, fs_words(WORDS_PROT, (uint32_t)w->arg[2], text));
		stream_word(t, fs_words(WORDS_MAP, (uint32_t)w->arg[3], text));
		stream_hex(t, w->ok ? (uint64_t)w->r->ret : w->arg[0]);
		return;
	}
	stream_none(t);
	stream_none(t);
	if (form != FS_MAPPED && form != FS_MSYNC)
		stream_none(t);
	else if (w->call->words != WORDS_MREMAP)
		stream_hex(t, w->arg[0]);
	else {
		uint64_t to = w->ok ? (uint64_t)w->r->ret : w->arg[4];
		snprintf(text, sizeof(text),
			w->ok || w->arg[3] & 2 ? "%#llx -> %#llx" : "%#llx",
			(unsigned long long)w->arg[0], (unsigned long long)to);
		stream_word(t, text);
	}
}

/* Our own columns. */
static void put_ours(struct bpf *b, struct stream *t, const struct row *w)
{
	const struct fs_call *c = w->call;
	unsigned type = names_file(b->names, w->of_path ? 0 : w->file.file)->type;
	bool two = w->r->has & FS_HAS_FILE2;

	stream_word(t, c->call);
	if (c->form == FS_OPEN && w->ok)
		stream_i64(t, w->r->ret);
	else if (c->fd && c->form != FS_OPEN && !w->of_path)
		stream_i64(t, (int32_t)arg(w, c->fd));
	else
		stream_none(t);
	if (type != FILE_UNKNOWN)
		stream_word(t, file_type_name(type));
	else
		stream_none(t);
	bool early = c->form == FS_EARLY || c->form == FS_MAPPED || c->form == FS_MSYNC;
	if (w->file.placed && w->r->has & FS_HAS_FILE && !early)
		stream_i64(t, w->r->size);
	else
		stream_none(t);
	if (two)
		fs_put_path(b, t, w->second.file);
	else
		stream_none(t);
	if (c->fd2 && !c->path2)
		stream_i64(t, (int32_t)arg(w, c->fd2));
	else
		stream_none(t);
	if (two)
		put_begun(t, w, &w->second,
			c->at2 && arg(w, c->at2) ? (int64_t)w->r->at[1]
						 : w->r->position2);
	else
		stream_none(t);
	stream_u64(t, w->r->uid);
}

static void put_row(struct bpf *b, const struct row *w, const struct fs_process *p)
{
	struct stream *t = b->fs->fs;
	const struct rec_fs *r = w->r;
	const char *err;
	char buf[16], comm[17] = "";

	stream_time(t, r->head.at_ns);
	stream_word(t, w->op);
	stream_u64(t, r->head.pid);
	stream_u64(t, r->head.tid);
	stream_word(t, strncpy(comm, r->comm, 16));
	put_file(b, t, w);
	put_size(t, w);
	put_offset(t, w);
	if (w->call->data)
		stream_i64(t, w->ok ? r->ret : 0);
	else
		stream_none(t);
	fs_put_found(t, &w->found);
	put_flags(t, w);
	stream_u64(t, r->dur_ns);
	stream_i64(t, r->ret);
	if ((err = fs_errno(r->ret, buf)))
		stream_word(t, err);
	else
		stream_none(t);
	put_memory(t, w);
	fs_put_who(b, t, p);
	fs_put_name(b, t, w->found.fs);
	stream_u64(t, r->head.at_ns);
	put_ours(b, t, w);
	stream_end(t);
}

void ebpf_fs_take(struct bpf *b, const struct rec_fs *r, size_t len)
{
	struct row w = { .r = r };

	if (!b->fs || !b->fs->fs || len < sizeof(*r) || r->head.row >= fs_call_rows() ||
		len - sizeof(*r) < (size_t)r->len + r->len2)
		return;
	if (!ebpf_life_caller(b, &r->head))
		return;
	struct fs_process *p = fs_known_process(&b->fs->known, r);
	w.call = &fs_calls[r->head.row];
	w.ok = r->ret >= 0 || r->ret < -4095;
	fs_args_widen(r, w.arg);
	w.file = ebpf_files_get(b, r->head.file);
	w.second = ebpf_files_get(b, r->file2);
	if (p && r->has & FS_HAS_ARGS) {
		fs_known_args(&b->fs->known, p, r->text, r->len);
		p->exe = w.file.file;
	}
	take_paths(b, &w);
	look(b, &w);
	w.op = operation(b, &w);
	put_row(b, &w, p);
}

/* The end of a process. */
static void put_exit(struct bpf *b, const struct rec_life *r, const struct fs_process *p)
{
	struct stream *t = b->fs->fs;
	const struct file *exe = names_file(b->names, p ? p->exe : 0);
	struct fs_found f = {
		.inode = exe->inode, .major = exe->major, .minor = exe->minor
	};
	char buf[16], comm[17] = "";

	stream_time(t, r->head.at_ns);
	stream_word(t, "process_exit");
	stream_u64(t, r->head.pid);
	stream_u64(t, r->head.tid);
	stream_word(t, strncpy(comm, r->comm, 16));
	fs_put_path(b, t, p ? p->exe : 0);
	for (int i = 0; i < 3; i++) /* size, offset, bytes_completed */
		stream_none(t);
	fs_put_found(t, &f);
	if (WIFSIGNALED(r->status))
		stream_word(t, signal_name(WTERMSIG(r->status), buf));
	else
		stream_none(t);
	stream_none(t); /* duration */
	if (WIFEXITED(r->status))
		stream_i64(t, WEXITSTATUS(r->status));
	else
		stream_none(t);
	for (int i = 0; i < 4; i++) /* errno, mmap_prot, mmap_flags, address */
		stream_none(t);
	fs_put_who(b, t, p);
	stream_none(t);
	stream_u64(t, r->head.at_ns);
	for (int i = 0; i < 7; i++)
		stream_none(t);
	if (p && p->told)
		stream_u64(t, p->uid);
	else
		stream_none(t);
	stream_end(t);
}

void ebpf_fs_life(struct bpf *b, const struct rec_life *r)
{
	struct fs_rows *f = b->fs;

	if (!f)
		return;
	if (r->head.type == REC_FORK && r->head.pid != r->other)
		fs_known_fork(&f->known, (pid_t)r->head.pid, (pid_t)r->other);
	if (r->head.type != REC_EXIT || !r->head.row)
		return;
	const struct fs_process *p = fs_known_find(&f->known, (pid_t)r->head.pid);
	const struct process *started = ebpf_life_find(b, (pid_t)r->head.pid);
	if (f->fs && (b->all || (started && started->started)))
		put_exit(b, r, p);
	fs_known_exit(&f->known, (pid_t)r->head.pid);
}
