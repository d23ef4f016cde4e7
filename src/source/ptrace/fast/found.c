/*
 * found.c - which file was opened by a path
 *
 * Asked later than the program did, when there may be something else, or nothing: so it
 * is compared with what statx(2) has said to the hook.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What open(2) does not follow a link to, or has made, is what the path says. A link is
 * followed where a slash comes after it. */
bool path_is_itself(const char *path, int flags)
{
	return (flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL)) &&
	       ends_in_name(path);
}

/* Whether that file is there, in a directory by its real path: then bytes of its own. */
static ssize_t is_below(struct tracer *t, struct task *k, uint32_t dir, const char *base,
	const struct stat *is, char path[2 * PATH_MAX])
{
	ssize_t n = dir ? in_path(t, dir, base, path, (size_t)2 * PATH_MAX) : 0;
	struct stat st;

	return n && !root_look(t, k, path, &st) && st.st_ino == is->st_ino &&
			       st.st_dev == is->st_dev
		       ? n
		       : 0;
}

/*
 * The directory that a file was opened in. Where a link leads to it, somebody that we do
 * not see may have made that lead elsewhere since we looked: then the file is not there.
 */
static struct fast_dir *dir_with(
	struct tracer *t, struct task *k, const char *full, const struct stat *is)
{
	char path[2 * PATH_MAX];
	struct fast_dir *d = dir_of(t, k, full);

	if (!d || d->real == d->name ||
		is_below(t, k, d->real, strrchr(full, '/'), is, path))
		return d;
	d->since -= OTHERS_TICKS;
	return dir_of(t, k, full);
}

/* Likewise, once the link leads elsewhere: by where it led before. Bytes, or 0. */
static ssize_t by_link_before(struct tracer *t, struct task *k, const struct fast_dir *d,
	const char *base, const struct stat *is, char path[2 * PATH_MAX])
{
	if (d->real == d->name || !d->was || is_below(t, k, d->real, base, is, path))
		return 0;
	return is_below(t, k, d->was, base, is, path);
}

/* The path that /proc would have shown, by that of its directory; 0: not for sure. */
static uint32_t by_dir(
	struct tracer *t, struct task *k, const char *full, const struct statx *x)
{
	char path[2 * PATH_MAX];
	const char *base = strrchr(full, '/');
	struct stat is;

	stat_of(x, &is);
	struct fast_dir *d = ends_in_name(full) ? dir_with(t, k, full, &is) : NULL;
	ssize_t n = d ? in_dir(t, d, base, path, sizeof(path)) : 0;
	return n ? fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is) : 0;
}

/* The real path of what has, or had, that path, whatever it is. All are names. */
uint32_t found_real(struct tracer *t, struct task *k, uint32_t full)
{
	char path[2 * PATH_MAX];
	const char *text = names_get(t->names, full), *base = strrchr(text, '/');
	struct fast_dir *d = base && ends_in_name(text) ? dir_of(t, k, text) : NULL;
	ssize_t n = d ? in_dir(t, d, base, path, sizeof(path)) : 0;
	uint32_t real = n ? names_add(t->names, path, n) : 0;

	return real ? real : full;
}

/*
 * A path that /proc tells now, of a file that was opened by another: is it by a record
 * still to come? Else by a link that is gone.
 */
static bool comes_later(struct tracer *t, const char *opened, const char *now)
{
	const char *a = strrchr(opened, '/'), *b = strrchr(now, '/');

	return !a || !b || !strcmp(a, b) || is_to_come(t, now);
}

/* What has a path now. */
struct spot {
	const char *full; /* the path, by links that records to come may change */
	struct fast_dir *dir;
	bool there, same; /* something is; it is the file that was opened */
	struct stat st;
};

static struct spot look_at(struct tracer *t, struct task *k, const char *full, bool plain,
	const struct stat *is)
{
	struct spot s = { .full = full };

	s.dir = plain ? dir_of(t, k, full) : NULL;
	s.there = s.dir && !root_look(t, k, full, &s.st);
	s.same = s.there && s.st.st_ino == is->st_ino && s.st.st_dev == is->st_dev;
	return s;
}

/*
 * Likewise behind links, as it was when the record was made. Whoever has changed it while
 * we looked has begun a record of that before.
 */
static struct spot find_spot(struct tracer *t, struct task *k, const char *full,
	bool plain, const struct stat *is)
{
	bool later = plain && paths_later(t->fast);
	struct spot s = look_at(t, k, later ? dirs_follow(t, k, full) : full, plain, is);

	if (s.same || later || !plain)
		return s;
	bool link = s.there && S_ISLNK(s.st.st_mode);
	if (!link && !paths_later(t->fast))
		return s;
	const struct spot end = look_at(t, k, dirs_follow(t, k, full), plain, is);
	return end.same || paths_later(t->fast) ? end : s;
}

/*
 * The path that /proc would have shown. The file is there still, and no link: then its
 * directory tells. It is another file by now, or there is another way to an open one,
 * like /dev/stdin: then the descriptor may tell. It is gone: its directory again. So if
 * it is to be renamed by a record yet to come: what /proc says now comes later.
 */
static uint32_t find_path(
	struct tracer *t, struct task *k, int fd, const char *full, const struct statx *x)
{
	char path[2 * PATH_MAX];
	bool plain = *full == '/' && ends_in_name(full);
	struct fd_view v = { .file = 0 };
	struct stat is;
	ssize_t n = 0;

	stat_of(x, &is);
	const struct spot s = find_spot(t, k, full, plain, &is);
	full = s.full;
	const char *base = strrchr(full, '/');
	struct fast_dir *d = s.same ? dir_with(t, k, full, &is) : s.dir;
	if (s.same && d)
		n = in_dir(t, d, base, path, sizeof(path));
	if (!n && *full == '/' && (s.there || !d))
		n = found_path(t, k, full, &is, path);
	if (!n) {
		bool open = fd >= 0 && !closes_later(t->fast, k, fd);
		if (open) {
			fdtab_ask(t->fdtab, &k->fd, fd, &v);
			open = !closes_by_now(t->fast, k, fd);
		}
		const struct file *f = names_file(t->names, v.file);
		if (plain && paths_later(t->fast) &&
			comes_later(t, full, names_get(t->names, f->path)))
			v.file = 0;
		bool same = v.file && f->inode == x->stx_ino &&
			    f->major == x->stx_dev_major && f->minor == x->stx_dev_minor;
		if (same && !is_deleted(names_get(t->names, f->path)))
			return v.file;
		if (*full != '/') /* without a path, unless it can be asked later */
			return same ? v.file
			       : open || !is.st_ino
				       ? 0
				       : fdtab_file(t->fdtab, &k->fd, "", 0, 0, &is);
	}
	if (!n && s.there && S_ISLNK(s.st.st_mode)) { /* what it led to has just gone */
		full = dirs_follow(t, k, full);
		base = strrchr(full, '/');
		d = ends_in_name(full) ? dir_of(t, k, full) : NULL;
	}
	if (!n && d && (d = dir_with(t, k, full, &is)))
		n = by_link_before(t, k, d, base, &is, path);
	if (!n && d)
		n = in_dir(t, d, base, path, sizeof(path));
	if (!n)
		n = snprintf(path, sizeof(path), "%s", full);
	return fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is);
}

/* full: name of a path made whole; 0: not known. fd: -1 if nobody is known to have it. */
uint32_t found_file(struct tracer *t, struct task *k, int fd, uint32_t full, bool itself,
	const struct statx *x)
{
	uint64_t key = (uint64_t)full << 32 | t->fast->epoch,
		 id = x->stx_ino * 31 + x->stx_dev_minor * 7 + x->stx_dev_major +
		      x->stx_mnt_id * 1000003;
	uint32_t file = full ? map_get(&t->fast->known, key, id) : 0;

	if (!full)
		return find_path(t, k, fd, "", x);
	if (file)
		return file;
	const char *text = names_get(t->names, full);
	file = itself ? by_dir(t, k, text, x) : 0;
	if (!file)
		file = find_path(t, k, fd, text, x);
	uint32_t name = names_file(t->names, file)->path;
	const char *real = names_get(t->names, name);
	if (file && !is_in_proc(real))
		map_put(&t->fast->known, key, id, file);
	if (file && S_ISDIR(x->stx_mode) && !is_deleted(real))
		dirs_put(t, k, full, name);
	return file;
}

/* Somebody asks: false if it cannot be told any more. */
bool found_late(struct tracer *t, struct task *k, int fd, struct fd_open *o)
{
	const struct fd_late l = o->late;
	const struct statx x = { .stx_mode = S_IFDIR,
		.stx_ino = l.inode,
		.stx_dev_major = l.major,
		.stx_dev_minor = l.minor,
		.stx_mnt_id = l.mount };

	o->late.path = 0;
	o->file = found_file(t, k, fd, l.path, l.itself, &x);
	o->epoch = t->fast->epoch;
	return o->file != 0;
}

struct late {
	struct tracer *t;
	struct task *k;
};

static void find_late(struct fd_open *o, void *arg)
{
	const struct late *l = arg;

	if (!o->late.path)
		return;
	struct task *k = task_find(l->t, o->tid);
	bool has = k && k->files && fdtrack_get(k->files, o->fd) == o;
	found_late(l->t, has ? k : l->k, has ? o->fd : -1, o);
}

/* Before paths come to mean something else. */
void found_all(struct tracer *t, struct task *k)
{
	struct late l = { t, k };

	if (t->fast->lates)
		fdtrack_each(t->fast->track, find_late, &l);
	t->fast->lates = false;
	t->fast->nlate = 0;
}

/* At the end of a pass: of what is still open. */
void found_soon(struct tracer *t)
{
	struct fast *f = t->fast;

	if (!f->nlate)
		return;
	if (f->nlate > FAST_LATE) {
		struct task *k = task_find(t, f->late[0].tid);
		if (k)
			found_all(t, k);
	}
	for (unsigned i = 0; i < f->nlate && i < FAST_LATE; i++) {
		struct task *k = task_find(t, f->late[i].tid);
		struct fd_open *o =
			k && k->files ? fdtrack_get(k->files, f->late[i].fd) : NULL;
		if (o && o->late.path && !found_late(t, k, f->late[i].fd, o))
			fdtrack_close(f->track, k->files, f->late[i].fd);
	}
	f->nlate = 0;
}
