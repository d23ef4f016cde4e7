/*
 * cut.c - calls that stop and may set the size of a file that somebody appends to
 */
#include "../tracer.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Whether the path of a call may be that of a file whose size is of interest. */
static bool is_special(struct tracer *t, struct task *k, const struct syscall_desc *d)
{
	char path[PATH_MAX];
	int dirfd = d->fd < 0 ? AT_FDCWD : (int)k->call.arg[d->fd];

	if (task_string(k, k->call.arg[d->path], path, sizeof(path)) < 0)
		return false;
	uint32_t file = fdtab_path(t->fdtab, &k->fd, dirfd, path);
	uint8_t type = names_file(t->names, file)->type;
	return type != FILE_REGULAR && type != FILE_UNKNOWN;
}

static bool is_cut(struct tracer *t, struct task *k, const struct fast_call *c)
{
	const struct syscall_desc *d = &syscalls[k->call.row];
	bool plain = c->role == ROLE_OPEN && strcmp(c->name, "openat2");

	if (!t->fast->ends.n || !c->cuts ||
		(plain && !(call_open_flags(k->call.arg, c->name) & O_TRUNC)))
		return false;
	return d->path < 0 || !is_special(t, k, d);
}

/*
 * At the stop before a call that may set the size of a file, which matters to somebody:
 * its exit is to be seen.
 */
static bool mark(struct tracer *t, struct task *k)
{
	if (!k->call.cuts)
		t->fast->cutting++;
	return k->call.cuts = true;
}

bool cut_begin(struct tracer *t, struct task *k, const struct fast_call *c)
{
	return is_cut(t, k, c) && mark(t, k);
}

/* The same for a write that nobody counts, to a file that somebody may append to. */
bool cut_unseen(struct tracer *t, struct task *k)
{
	return t->fast->ends.n && mark(t, k);
}

/* Positions of a task, and ends that it appends to, but for those of too many. */
static void look_around(struct tracer *t, struct task *k)
{
	enum { FEW = 64 };
	int last = fdtrack_last(k->files);

	for (int fd = 0; fd <= last && fd < FEW; fd++) {
		const struct fd_open *o = fdtrack_get(k->files, fd);
		if (!o || !o->seeks)
			continue;
		if (o->offset == OP_NO_OFFSET)
			history_of(t, k, fd);
		if (o->flags != -1 && o->flags & O_APPEND)
			ends_settle(t, k, fd, ends_find(t, o->file));
	}
}

/*
 * Behind such a call, whatever its result: fallocate(2) may fail half-way. Others may
 * have appended since, which cannot be told from what they appended before: what is read
 * from here on has no place, until all is known again.
 */
void cut_end(struct tracer *t, struct task *k, const struct fast_call *c, int64_t ret)
{
	int fd = c->role == ROLE_OPEN ? (int)ret : (int)k->call.arg[0];
	bool known = c->role == ROLE_OPEN || c->role == ROLE_SIZE || c->role == ROLE_GROW;
	struct file_end *e = NULL;
	struct fd_view v;

	if (!k->call.cuts)
		return;
	if (c->role == ROLE_ENTER) {
		/* flight.c: who has appended meanwhile loses the end */
		drain_task(t, k);
		ends_leave(t, k);
		look_around(t, k);
		return;
	}
	ends_leave(t, k);
	if (known && fd >= 0) {
		fdtab_ask(t->fdtab, &k->fd, fd, &v);
		e = v.file ? ends_find(t, v.file) : NULL;
		known = v.file;
	}
	if (known)
		ends_forget(e);
	else
		ends_forget_all(t->fast);
	drain_task(t, k);
	ends_settle(t, k, fd, e);
}
