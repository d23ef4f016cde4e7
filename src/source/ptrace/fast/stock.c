/*
 * stock.c - what descriptors a task has before its first record
 */
#include "../tracer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The place of what nobody else has, and its end if it is to be appended to. */
static void settle_alone(
	struct tracer *t, struct task *k, int fd, const struct fd_view *v)
{
	history_seed(t, k, fd, v, v->offset, 0);
	struct fd_open *o = fdtrack_get(k->files, fd);
	if (!o || !o->seeks || v->flags == -1 || !(v->flags & O_APPEND))
		return;
	ends_settle(t, k, fd, ends_keep(t, o->file));
}

/* Nobody can move it, and it is not known by a name that may be another one by now. */
static bool is_plain(
	const struct tracer *t, const struct fd_open *o, const struct file *f)
{
	const bool unnamed = *names_get(t->names, f->path) != '/';

	return !o->seeks && !o->late.path &&
	       (f->type == FILE_CHAR || f->type == FILE_TTY ||
		       (unnamed && (f->type == FILE_PIPE || f->type == FILE_SOCKET)));
}

/* Whether a descriptor is for sure what it was, by its link below /proc/PID/fd. */
static bool is_still(
	const struct tracer *t, int dir, const char *link, const struct fd_open *o)
{
	const struct file *f = o->file ? names_file(t->names, o->file) : NULL;
	struct stat st;

	return f && is_plain(t, o, f) && !fstatat(dir, link, &st, 0) &&
	       st.st_ino == f->inode && major(st.st_dev) == f->major &&
	       minor(st.st_dev) == f->minor;
}

/* Those from one on up to below another one are no more what they were. */
static void close_known(struct tracer *t, struct task *k, int fd, int to)
{
	for (; fd < to; fd++)
		if (fdtrack_get(k->files, fd))
			fdtrack_close(t->fast->track, k->files, fd);
}

/* Numbers of descriptors, in their order. */
struct fds {
	int *fd;
	unsigned n, cap;
};

static bool add_fd(struct fds *all, int fd)
{
	if (all->n == all->cap) {
		unsigned cap = all->cap ? 2 * all->cap : 32;
		int *more = realloc(all->fd, cap * sizeof(*more));
		if (!more)
			return false;
		all->fd = more;
		all->cap = cap;
	}
	all->fd[all->n++] = fd;
	return true;
}

/* What procfs lists: to do so takes it longer than all else about them. */
static void list_fds(DIR *dir, struct fds *all)
{
	const struct dirent *d;

	while ((d = readdir(dir)))
		if (*d->d_name >= '0' && *d->d_name <= '9' &&
			!add_fd(all, atoi(d->d_name)))
			break;
}

/* Beyond an exec: what is not there any more, or not for sure. */
static void close_changed(
	struct tracer *t, struct task *k, int dir, const struct fds *all)
{
	char link[16];
	int next = 0;

	for (unsigned i = 0; i < all->n; i++) {
		const int fd = all->fd[i];
		const struct fd_open *o = fdtrack_get(k->files, fd);
		snprintf(link, sizeof(link), "%d", fd);
		close_known(t, k, next, o && !is_still(t, dir, link, o) ? fd + 1 : fd);
		next = fd + 1;
	}
	close_known(t, k, next, fdtrack_last(k->files) + 1);
}

static void take_fd(struct tracer *t, struct task *k, int fd)
{
	struct fd_view v;

	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	if (!v.file)
		return;
	/* Who has it too may have moved it, which is in a ring yet. */
	history_meet(t, k, fd, &v);
	struct fd_open *o = fdtrack_get(k->files, fd);
	if (o && o->refs == 1)
		settle_alone(t, k, fd, &v);
}

/*
 * Before the first record: what is open now. It may be closed by the time that its first
 * record is read.
 */
void history_take_stock(struct tracer *t, struct task *k)
{
	struct fds all = { .n = 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", k->tid);
	DIR *dir = opendir(path);
	if (dir)
		list_fds(dir, &all);
	if (k->files_kept)
		close_changed(t, k, dir ? dirfd(dir) : -1, &all);
	k->files_kept = false;
	for (unsigned i = 0; i < all.n; i++)
		if (!fdtrack_get(k->files, all.fd[i]))
			take_fd(t, k, all.fd[i]);
	if (dir)
		closedir(dir);
	free(all.fd);
}
