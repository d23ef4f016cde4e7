/*
 * uring_files.c - files that are registered with a ring, by their place; and descriptors
 */
#include "uring.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

bool uring_room(struct uring *r, unsigned n)
{
	struct registered *file =
		n > FILES_MAX ? NULL : realloc(r->file, (n + 1) * sizeof(*file));

	if (!file)
		return false;
	memset(file, 0, n * sizeof(*file));
	r->file = file;
	r->nfile = n;
	return true;
}

void uring_put_files(struct tracer *t, struct task *k, struct uring *r, uint64_t from,
	unsigned at, unsigned n)
{
	struct fd_view v = { 0 };
	int32_t fd[FILES_STEP], known = -1;

	for (unsigned i = 0; i < n && at + i < r->nfile; i++) {
		unsigned j = i % FILES_STEP,
			 left = n - i < FILES_STEP ? n - i : FILES_STEP;
		if (!j && task_read(k, from + i * sizeof(*fd), fd, left * sizeof(*fd)) !=
				  (ssize_t)(left * sizeof(*fd)))
			return;
		if (fd[j] == IORING_REGISTER_FILES_SKIP)
			continue;
		if (fd[j] >= 0 && fd[j] != known)
			fdtab_ask(t->fdtab, &k->fd, known = fd[j], &v);
		r->file[at + i] = fd[j] < 0 ? (struct registered){ 0 }
					    : (struct registered){ v.file, v.flags };
	}
}

/* The files that a request registers, makes or gives up by its place. */
void uring_set_file(struct uring *r, uint32_t place, uint32_t file, int flags)
{
	if (place < r->nfile)
		r->file[place] = (struct registered){ file, flags };
}

/* Before an open it was not there, perhaps. */
static uint32_t look_again(struct tracer *t, pid_t tid, uint32_t file)
{
	struct task *k = file ? task_find(t, tid) : NULL;
	const struct file *f = names_file(t->names, file);
	const char *path = names_get(t->names, f->path);

	if (!k || f->inode || *path != '/')
		return file;
	return fdtab_path(t->fdtab, &k->fd, AT_FDCWD, path);
}

static bool is_same(const struct tracer *t, uint32_t a, uint32_t b)
{
	const struct file f = *names_file(t->names, a), *g = names_file(t->names, b);

	return f.inode == g->inode && f.major == g->major && f.minor == g->minor;
}

/* Its descriptor has the name without links, if it still stands for the same file. */
void uring_made_file(struct tracer *t, struct request *q, int32_t res)
{
	struct task *k = task_find(t, q->op[0].tid);
	struct op *op = &q->op[0];
	struct fd_view v;

	if (res < 0 || !op->file || q->open == -1)
		return;
	op->file = look_again(t, op->tid, op->file);
	if (q->direct >= 0 || !k)
		return;
	fdtab_ask(t->fdtab, &k->fd, res, &v);
	if (v.file && is_same(t, v.file, op->file))
		op->file = v.file;
}

bool uring_find_file(struct tracer *t, struct uring *r, struct request *q, int i)
{
	bool any = q->place[i] >= 0 && (uint32_t)q->place[i] < r->nfile;
	struct registered *f = any ? &r->file[q->place[i]] : NULL;
	struct op *op = &q->op[i];

	if (!f || !f->file)
		return false;
	op->file = f->file = look_again(t, op->tid, f->file);
	if (!async_seeks(t, op->file))
		return true;
	bool writes = op->kind == OP_WRITE;
	q->appends |= writes && write_appends(f->flags, q->rw);
	bool unsure = writes && (q->appends || f->flags == -1);
	if ((writes || op->kind == OP_READ) && q->off[i] != UINT64_MAX && !unsure)
		op->offset = (int64_t)q->off[i];
	return true;
}

/* A descriptor is not what it was, by a request: what comes next is asked. */
void uring_forget(struct tracer *t, struct task *k, int fd)
{
	if (t->fast && k && k->files && fd >= 0)
		history_closed(t, k, fd, fast_tsc());
}
