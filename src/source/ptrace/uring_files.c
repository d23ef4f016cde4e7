/*
 * uring_files.c - files that are registered with a ring, by their place; and descriptors
 */
#include "uring.h"

#include <fcntl.h>
#include <limits.h>
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

enum { SKIPPED = -2 /* flags of those that stay what they are */ };

/* What descriptors in memory stand for. Returns of how many. */
static unsigned read_files(struct tracer *t, struct task *k, uint64_t from, unsigned n,
	struct registered *out)
{
	struct fd_view v = { 0 };
	int32_t fd[FILES_STEP], known = -1;

	for (unsigned i = 0; i < n; i++) {
		unsigned j = i % FILES_STEP,
			 left = n - i < FILES_STEP ? n - i : FILES_STEP;
		if (!j && task_read(k, from + i * sizeof(*fd), fd, left * sizeof(*fd)) !=
				  (ssize_t)(left * sizeof(*fd)))
			return i;
		if (fd[j] >= 0 && fd[j] != known)
			fdtab_ask(t->fdtab, &k->fd, known = fd[j], &v);
		out[i] = fd[j] == IORING_REGISTER_FILES_SKIP
				 ? (struct registered){ 0, SKIPPED }
			 : fd[j] < 0 ? (struct registered){ 0 }
				     : (struct registered){ v.file, v.flags };
	}
	return n;
}

static void put(struct uring *r, uint32_t place, const struct registered *f)
{
	if (place < r->nfile && f->flags != SKIPPED)
		r->file[place] = *f;
}

static struct update *update_of(struct tracer *t, struct task *k, struct uring *r,
	uint64_t from, unsigned at, unsigned n)
{
	unsigned most = n < r->nfile ? n : r->nfile;
	struct update *u = malloc(sizeof(*u) + most * sizeof(*u->file));

	if (u)
		*u = (struct update){ .from = from, .at = at };
	if (u)
		u->n = read_files(t, k, from, most, u->file);
	return u;
}

void uring_put_files(struct tracer *t, struct task *k, struct uring *r, uint64_t from,
	unsigned at, unsigned n)
{
	struct update *u = update_of(t, k, r, from, at, n);

	for (unsigned i = 0; u && i < u->n; i++)
		put(r, at + i, &u->file[i]);
	free(u);
}

static struct update *take_update(struct uring *r, uint64_t number)
{
	struct update **at = &r->updates, *u;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	u = *at;
	if (u)
		*at = u->next;
	return u;
}

void uring_drop_update(struct uring *r, uint64_t number)
{
	free(take_update(r, number));
}

void uring_put_update(struct tracer *t, struct task *k, struct uring *r, uint64_t number,
	const struct io_uring_sqe *s)
{
	struct update *u = update_of(t, k, r, s->addr, (unsigned)s->off, s->len);

	if (!u)
		return;
	u->number = number;
	u->next = r->updates;
	r->updates = u;
}

static void update(struct tracer *t, struct uring *r, const struct request *q, int32_t n)
{
	struct update *u = take_update(r, q->at);
	struct task *k = task_find(t, q->op[0].tid);

	for (uint32_t i = 0; u && n > 0 && i < (uint32_t)n && i < u->n; i++) {
		uint32_t place = u->at + i;
		if (u->at == UINT32_MAX &&
			(!k || task_read(k, u->from + i * sizeof(place), &place,
				       sizeof(place)) != sizeof(place)))
			break;
		put(r, place, &u->file[i]);
	}
	free(u);
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

/* What a pipe says of itself; none of its ends has a name. */
static void renew_pipe(struct tracer *t, struct uring *r, const struct request *q)
{
	struct task *k = task_find(t, q->op[0].tid);
	int32_t at[2] = { q->direct, q->direct + 1 };
	bool told = q->direct < 0 || q->direct == INT_MAX;

	if (told &&
		(!k || q->silent || task_read(k, q->addr, at, sizeof(at)) != sizeof(at)))
		return;
	for (int i = 0; i < 2; i++) {
		if (q->direct < 0)
			uring_forget(t, k, at[i]);
		else
			uring_set_file(r, (uint32_t)at[i], 0, -1);
	}
}

static void send(
	const struct tracer *t, struct uring *r, const struct request *q, int32_t res)
{
	const struct registered none = { 0, -1 },
				*f = q->addr < r->nfile ? &r->file[q->addr] : &none;
	bool known = r->process && q->op[0].fd >= 0;
	struct uring *to = known ? uring_of(t, r->process, q->op[0].fd) : NULL;
	bool chosen = q->to == UINT32_MAX;

	if (to && q->to && !(chosen && q->silent))
		uring_set_file(to, chosen ? (uint32_t)res : q->to - 1, f->file, f->flags);
}

static bool has_place(const struct uring *r, const struct request *q)
{
	return q->direct >= 0 && (uint32_t)q->direct < r->nfile;
}

void uring_keep(const struct uring *r, struct request *q)
{
	if (has_place(r, q))
		q->was = r->file[q->direct];
}

void uring_put_back(struct uring *r, const struct request *q)
{
	if (has_place(r, q))
		r->file[q->direct] = q->was;
}

/* What is accepted has no name. Of one that is silent it is not known which place the
 * kernel has chosen; and it is answered only if it has failed. */
void uring_renew(struct tracer *t, struct uring *r, const struct request *q, int32_t res)
{
	bool chosen = q->direct == INT_MAX;

	if (q->opcode == IORING_OP_FILES_UPDATE)
		update(t, r, q, q->silent ? INT32_MAX : res);
	if (res < 0 && q->silent && !q->called_off)
		uring_put_back(r, q);
	if (res < 0)
		return;
	if (q->sends)
		send(t, r, q, res);
	else if (q->opcode == URING_PIPE)
		renew_pipe(t, r, q);
	else if (q->direct >= 0 && !(chosen && q->silent))
		uring_set_file(r, (uint32_t)(chosen ? res : q->direct),
			q->open != -1 ? q->op[0].file : 0, q->open);
}
