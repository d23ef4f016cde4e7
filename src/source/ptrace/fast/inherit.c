/*
 * inherit.c - descriptors that a task has from others, who go on with theirs
 */
#include "../tracer.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Another task that has the same there. */
struct holder {
	const struct task *than, *found;
	const struct fd_open *o;
	int fd;
	bool others; /* there are some that may have had it */
};

static void is_holder(struct tracer *t, struct task *k, void *arg)
{
	struct holder *h = arg;

	(void)t;
	if (!h->found && k != h->than && history_holds(k, h->fd, h->o))
		h->found = k;
}

/* Whether those whose table was copied may have opened the same file anew since: what
 * there is a position of would be another one. */
static bool is_anew(struct tracer *t, struct holder *h)
{
	if (!h->o->seeks)
		return false;
	if (h->found && !history_holds(h->found, h->fd, h->o))
		h->found = NULL;
	if (!h->found)
		tasks_each(t, is_holder, h);
	if (!h->found)
		return h->others;
	return syscall(SYS_kcmp, h->than->tid, h->found->tid, KCMP_FILE, h->fd, h->fd) >
		       0 ||
	       closes_by_now(t->fast, h->found, h->fd);
}

/* Whether it is another file by now. */
static bool is_other(
	const struct tracer *t, const struct task *k, int fd, const struct fd_open *o)
{
	const struct file *f = names_file(t->names, o->file);
	bool late = o->late.path;
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", k->tid, fd);
	return stat(path, &st) < 0 || st.st_ino != (late ? o->late.inode : f->inode) ||
	       major(st.st_dev) != (late ? o->late.major : f->major) ||
	       minor(st.st_dev) != (late ? o->late.minor : f->minor);
}

/*
 * A copy of a table that others go on with, of a task that stands still: what they have
 * made of it since is not in the copy.
 */
void history_compare(struct tracer *t, struct task *k, bool others)
{
	int last = k->files ? fdtrack_last(k->files) : -1;
	struct holder h = { .than = k, .others = others };

	for (int fd = 0; fd <= last; fd++) {
		const struct fd_open *o = fdtrack_get(k->files, fd);
		if (!o)
			continue;
		h.o = o;
		h.fd = fd;
		bool other = is_other(t, k, fd, o), anew = !other && is_anew(t, &h);
		const struct fd_open doubtful = { .file = o->file,
			.flags = o->flags,
			.offset = OP_NO_OFFSET,
			.seeks = true,
			.loose = true,
			.doubtful = true,
			.epoch = o->epoch,
			.tid = k->tid,
			.fd = fd };
		bool named = !o->late.path;
		if (anew || other)
			fdtrack_close(t->fast->track, k->files, fd);
		if (anew && named) /* others may move it, by a history of their own */
			fdtrack_open(t->fast->track, k->files, fd, &doubtful);
	}
}

/* It has a table of its own from now on, and stands still. */
void history_part(struct tracer *t, struct task *k)
{
	history_begin(t, k, k, false);
	history_compare(t, k, k->process->ntasks > 1);
}
