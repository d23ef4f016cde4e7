/*
 * fsxname.h - fsx's operations on names, folders and attributes
 */
#ifndef FSXNAME_H
#define FSXNAME_H

#include "fsxcore.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

enum { PATH_SIZE = 300 };

static const char *dir_name(const struct worker *w, long d)
{
	static const char *const names[2][NDIRS] = { { "d0", "d1", "a folder" },
		{ "e0", "e1\n\xff", "e2" } };

	return names[w->moved[d]][d];
}

/* The last part of name i: some are long, some are no text. */
static void leaf(long i, char *out)
{
	static const char *const odd[] = { "plain", "two words", "-dash", "new\nline",
		"\x01\xfe\xff", "back\\slash", "\xc3\xa4\xe2\x82\xac", "\"quotes'" };
	int n = sprintf(out, "%s%ld", odd[i % 8], i);

	if (i % 7 == 6)
		memset(out + n, 'x', (size_t)(255 - n)), out[255] = 0;
}

static const char *path(const struct worker *w, long i, char out[PATH_SIZE])
{
	leaf(i, out + sprintf(out, "%s/", dir_name(w, i % NDIRS)));
	return out;
}

static struct handle *free_handle(struct file *f)
{
	for (int i = 0; i < NFDS; i++)
		if (f->h[i].fd < 0)
			return &f->h[i];
	return NULL;
}

/* Nothing holds it any more. */
static void maybe_gone(struct file *f)
{
	if (f->nlink)
		return;
	for (int i = 0; i < NFDS; i++)
		if (f->h[i].fd >= 0)
			return;
	if (f->map)
		munmap(f->map, MAX_SIZE);
	f->map = NULL;
	set_size(f, 0);
	f->mode = 0;
}

static struct file *unused(struct worker *w)
{
	for (int i = 0; i < NFILES; i++)
		if (!w->f[i].mode)
			return &w->f[i];
	return NULL;
}

static void begin_file(struct file *f, int fd, int flags)
{
	f->mode = 0640;
	f->nlink = 1;
	f->nxattr = -1;
	f->mtime = MTIME_NOW;
	f->dirty = 0;
	f->h[0] = (struct handle){ fd, flags, 0 };
}

static void op_create(struct worker *w)
{
	long i = below(w, NNAMES), temporary = below(w, 3) == 0;
	struct file *f = unused(w);
	char a[PATH_SIZE], fdname[64];

	path(w, i, a);
	if (w->name[i] >= 0) {
		will(w, "create name %ld that there is", i);
		outcome(w, "create", openat(w->top, a, O_CREAT | O_EXCL | O_RDWR, 0640),
			EEXIST);
		return;
	}
	if (!f)
		return;
	temporary = temporary && has(w, F_TMPFILE);
	will(w, "create file %ld as name %ld%s", f - w->f, i,
		temporary ? " by O_TMPFILE" : "");
	int fd = temporary ? openat(w->top, dir_name(w, i % NDIRS), O_TMPFILE | O_RDWR,
				     0640)
			   : openat(w->top, a, O_CREAT | O_EXCL | O_RDWR, 0640);
	if (fd < 0)
		wrong(w, "create fails");
	sprintf(fdname, "/proc/self/fd/%d", fd);
	if (temporary)
		outcome(w, "link of what has no name",
			linkat(AT_FDCWD, fdname, w->top, a, AT_SYMLINK_FOLLOW), 0);
	begin_file(f, fd, O_RDWR);
	w->name[i] = (int)(f - w->f);
}

static void op_open(struct worker *w)
{
	static const int flavours[] = { O_RDWR, O_RDWR, O_RDONLY, O_WRONLY,
		O_RDWR | O_APPEND, O_WRONLY | O_APPEND, O_RDWR | O_DIRECT,
		O_RDWR | O_DSYNC, O_RDWR | O_TRUNC, O_RDWR | O_CREAT };
	long i = below(w, NNAMES), k = below(w, 10);
	int flags = flavours[k];
	char a[PATH_SIZE];

	if (flags & O_DIRECT && !has(w, F_DIRECT))
		return;
	will(w, "open name %ld, flags %o", i, flags);
	if (w->name[i] < 0) {
		if (!(flags & O_CREAT))
			outcome(w, "open", openat(w->top, path(w, i, a), flags), ENOENT);
		return;
	}
	struct file *f = &w->f[w->name[i]];
	struct handle *h = free_handle(f);
	if (!h)
		return;
	h->fd = openat(w->top, path(w, i, a), flags, 0600);
	if (h->fd < 0)
		wrong(w, "open of file %d fails", w->name[i]);
	h->flags = flags & ~(O_CREAT | O_TRUNC);
	h->pos = 0;
	if (flags & O_TRUNC)
		set_size(f, 0), f->mtime = MTIME_ANY;
}

static void op_close(struct worker *w)
{
	struct file *f = &w->f[below(w, NFILES)];
	struct handle *h = &f->h[below(w, NFDS)];

	if (h->fd < 0)
		return;
	will(w, "close file %ld flags %o", f - w->f, h->flags);
	outcome(w, "close", close(h->fd), 0);
	h->fd = -1;
	maybe_gone(f);
}

static void unlinked(struct worker *w, long i)
{
	struct file *f = &w->f[w->name[i]];

	w->name[i] = -1;
	f->nlink--;
	maybe_gone(f);
}

static void op_unlink(struct worker *w)
{
	long i = below(w, NNAMES);
	char a[PATH_SIZE];

	will(w, "unlink name %ld of file %d", i, w->name[i]);
	outcome(w, "unlink", unlinkat(w->top, path(w, i, a), 0),
		w->name[i] < 0 ? ENOENT : 0);
	if (w->name[i] >= 0)
		unlinked(w, i);
}

static void op_link(struct worker *w)
{
	long i = below(w, NNAMES), k = below(w, NNAMES);
	char a[PATH_SIZE], b[PATH_SIZE];

	if (w->name[i] < 0)
		return;
	will(w, "link name %ld of file %d to %ld", i, w->name[i], k);
	outcome(w, "link", linkat(w->top, path(w, i, a), w->top, path(w, k, b), 0),
		w->name[k] < 0 ? 0 : EEXIST);
	if (w->name[k] < 0)
		w->name[k] = w->name[i], w->f[w->name[i]].nlink++;
}

static int rename_outcome(int from, int to, unsigned int flags)
{
	if (from < 0)
		return ENOENT;
	if (flags == RENAME_NOREPLACE && to >= 0)
		return EEXIST;
	return flags == RENAME_EXCHANGE && to < 0 ? ENOENT : 0;
}

static void op_rename(struct worker *w)
{
	long i = below(w, NNAMES), k = below(w, NNAMES), how = below(w, 4);
	unsigned int flags = how == 0 ? RENAME_NOREPLACE : how == 1 ? RENAME_EXCHANGE : 0;
	int from = w->name[i], to = w->name[k], want = rename_outcome(from, to, flags);
	char a[PATH_SIZE], b[PATH_SIZE];

	if (flags && !has(w, how == 0 ? F_NOREPLACE : F_EXCHANGE))
		return;
	will(w, "rename name %ld of file %d to %ld of %d, flags %u", i, from, k, to,
		flags);
	outcome(w, "rename",
		renameat2(w->top, path(w, i, a), w->top, path(w, k, b), flags), want);
	if (want || from == to)
		return;
	if (flags == RENAME_EXCHANGE) {
		w->name[i] = to;
		w->name[k] = from;
		return;
	}
	if (to >= 0)
		unlinked(w, k);
	w->name[k] = from;
	w->name[i] = -1;
}

static void check_time(struct worker *w, const struct file *f, const struct stat *st)
{
	if (f->mtime == MTIME_SET && st->st_mtime != f->mtime_sec)
		wrong(w, "mtime %ld, set to %ld", (long)st->st_mtime, (long)f->mtime_sec);
	if (f->mtime == MTIME_NOW &&
		(st->st_mtime < w->begin || st->st_mtime > time(NULL) + 1))
		wrong(w, "mtime %ld of a file written since %ld", (long)st->st_mtime,
			(long)w->begin);
}

/* By name, and by a descriptor when there is one: both see the same. */
static void op_stat(struct worker *w)
{
	long i = below(w, NNAMES);
	struct stat st, by_fd;
	char a[PATH_SIZE];

	will(w, "stat name %ld of file %d", i, w->name[i]);
	int rc = fstatat(w->top, path(w, i, a), &st, AT_SYMLINK_NOFOLLOW);
	outcome(w, "stat", rc, w->name[i] < 0 ? ENOENT : 0);
	if (w->name[i] < 0)
		return;
	struct file *f = &w->f[w->name[i]];
	expect(w, "size", st.st_size, f->size);
	expect(w, "links", (long)st.st_nlink, f->nlink);
	expect(w, "mode", st.st_mode, S_IFREG | f->mode);
	check_time(w, f, &st);
	for (int k = 0; k < NFDS; k++) {
		if (f->h[k].fd < 0)
			continue;
		outcome(w, "fstat", fstat(f->h[k].fd, &by_fd), 0);
		if (by_fd.st_ino != st.st_ino || by_fd.st_dev != st.st_dev)
			wrong(w, "inode %lu by descriptor, %lu by name", by_fd.st_ino,
				st.st_ino);
		expect(w, "size by descriptor", by_fd.st_size, f->size);
		expect(w, "links by descriptor", (long)by_fd.st_nlink, f->nlink);
	}
}

static void op_truncate_path(struct worker *w)
{
	long i = below(w, NNAMES), size = below(w, MAX_SIZE);
	char a[PATH_SIZE], full[PATH_SIZE + 40];

	sprintf(full, "/proc/self/fd/%d/%s", w->top, path(w, i, a));
	will(w, "truncate name %ld of file %d to %ld", i, w->name[i], size);
	outcome(w, "truncate", truncate(full, size), w->name[i] < 0 ? ENOENT : 0);
	if (w->name[i] < 0)
		return;
	set_size(&w->f[w->name[i]], size);
	w->f[w->name[i]].mtime = MTIME_ANY;
}

static void op_chmod(struct worker *w)
{
	long i = below(w, NNAMES), mode = 0600 | below(w, 0200);
	char a[PATH_SIZE];

	will(w, "chmod name %ld of file %d to %lo", i, w->name[i], mode);
	outcome(w, "chmod", fchmodat(w->top, path(w, i, a), (mode_t)mode, 0),
		w->name[i] < 0 ? ENOENT : 0);
	if (w->name[i] >= 0)
		w->f[w->name[i]].mode = (int)mode;
}

static void op_utimens(struct worker *w)
{
	struct file *f = &w->f[below(w, NFILES)];
	struct handle *h = &f->h[below(w, NFDS)];
	struct timespec t[2] = { { 1, 0 }, { 1000000000 + below(w, 500000000), 0 } };

	if (h->fd < 0 || !has(w, F_UTIMENS))
		return;
	will(w, "utimens file %ld to %ld", f - w->f, (long)t[1].tv_sec);
	if (f->dirty)
		outcome(w, "fsync", fsync(h->fd), 0), f->dirty = 0;
	outcome(w, "utimens", futimens(h->fd, t), 0);
	f->mtime = MTIME_SET;
	f->mtime_sec = t[1].tv_sec;
}

static void op_xattr(struct worker *w)
{
	struct file *f = &w->f[below(w, NFILES)];
	struct handle *h = &f->h[below(w, NFDS)];
	long what = below(w, 3), n = 1 + below(w, MAX_XATTR - 1);
	unsigned char got[MAX_XATTR], list[64];

	if (h->fd < 0 || !has(w, F_XATTR))
		return;
	will(w, "xattr of file %ld, %s, %ld", f - w->f,
		what == 0   ? "set"
		: what == 1 ? "remove"
			    : "list",
		n);
	if (what == 0) {
		fill(w, f->xattr, n);
		outcome(w, "setxattr",
			fsetxattr(h->fd, "user.iops", f->xattr, (size_t)n, 0), 0);
		f->nxattr = (int)n;
	} else if (what == 1) {
		outcome(w, "removexattr", fremovexattr(h->fd, "user.iops"),
			f->nxattr < 0 ? ENODATA : 0);
		f->nxattr = -1;
	}
	expect(w, "listxattr", flistxattr(h->fd, (char *)list, sizeof(list)),
		f->nxattr < 0 ? 0 : (long)sizeof("user.iops"));
	expect(w, "getxattr", fgetxattr(h->fd, "user.iops", got, sizeof(got)), f->nxattr);
	if (f->nxattr > 0)
		same(w, got, f->xattr, f->nxattr);
}

static void op_symlink(struct worker *w)
{
	long d = below(w, NDIRS), what = below(w, 3), n = 1 + below(w, 60);
	char a[PATH_SIZE], target[64], got[100];

	sprintf(a, "%s/link", dir_name(w, d));
	will(w, "symlink %ld: %ld", d, what);
	for (long i = 0; i < n; i++)
		target[i] = (char)('a' + below(w, 26));
	target[n] = 0;
	if (what == 0) {
		outcome(w, "symlink", symlinkat(target, w->top, a),
			w->linkto[d][0] ? EEXIST : 0);
		if (!w->linkto[d][0])
			strcpy(w->linkto[d], target);
	} else if (what == 1) {
		outcome(w, "unlink", unlinkat(w->top, a, 0),
			w->linkto[d][0] ? 0 : ENOENT);
		w->linkto[d][0] = 0;
	}
	ssize_t len = readlinkat(w->top, a, got, sizeof(got));
	expect(w, "readlink", len, w->linkto[d][0] ? (long)strlen(w->linkto[d]) : -1);
	if (len > 0)
		same(w, (unsigned char *)got, (unsigned char *)w->linkto[d], len);
}

static int is_empty(const struct worker *w, long d)
{
	for (long i = d; i < NNAMES; i += NDIRS)
		if (w->name[i] >= 0)
			return 0;
	return !w->sub[d] && !w->linkto[d][0];
}

static void op_folder(struct worker *w)
{
	long d = below(w, NDIRS), what = below(w, 4);
	char a[PATH_SIZE];
	const char *from = dir_name(w, d);

	sprintf(a, "%s/sub", from);
	will(w, "folder %ld: %ld", d, what);
	if (what == 0) {
		w->moved[d] ^= 1;
		outcome(w, "rename of a folder",
			renameat(w->top, from, w->top, dir_name(w, d)), 0);
	} else if (what == 1) {
		outcome(w, "rmdir", unlinkat(w->top, from, AT_REMOVEDIR),
			is_empty(w, d) ? 0 : ENOTEMPTY);
		if (is_empty(w, d))
			outcome(w, "mkdir", mkdirat(w->top, from, 0755), 0);
	} else if (what == 2) {
		outcome(w, "mkdir", mkdirat(w->top, a, 0700), w->sub[d] ? EEXIST : 0);
		w->sub[d] = 1;
	} else {
		outcome(w, "rmdir", unlinkat(w->top, a, AT_REMOVEDIR),
			w->sub[d] ? 0 : ENOENT);
		w->sub[d] = 0;
	}
	struct stat st;
	outcome(w, "stat", fstatat(w->top, dir_name(w, d), &st, 0), 0);
	digest_long(w, (long)st.st_nlink);
}

/* Each entry by way of a buffer of this size. */
static void scan(struct worker *w, int fd, size_t size,
	void (*each)(struct worker *, const struct dirent64 *, void *), void *arg)
{
	char buf[4096] __attribute__((aligned(8)));
	long n;

	while ((n = syscall(SYS_getdents64, fd, buf, size)) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *e = (struct dirent64 *)(buf + at);

			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				each(w, e, arg);
			at += e->d_reclen;
		}
	if (n < 0)
		wrong(w, "getdents64 fails");
}

struct seen {
	long dir, n, names[NNAMES];
	int fd, sub, link;
};

static void see(struct worker *w, const struct dirent64 *e, void *arg)
{
	struct seen *s = arg;
	struct stat st;
	char name[PATH_SIZE];
	int type = DT_REG;

	if (!strcmp(e->d_name, "sub"))
		s->sub++, type = DT_DIR;
	else if (!strcmp(e->d_name, "link"))
		s->link++, type = DT_LNK;
	else
		for (long i = s->dir; i < NNAMES; i += NDIRS)
			if (leaf(i, name), !strcmp(e->d_name, name))
				s->names[i]++;
	s->n++;
	if (e->d_type != type && e->d_type != DT_UNKNOWN)
		wrong(w, "type %d of entry %s", e->d_type, e->d_name);
	if (fstatat(s->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->d_ino)
		wrong(w, "entry %s has inode %lu, stat says %lu", e->d_name, e->d_ino,
			st.st_ino);
}

static void op_list(struct worker *w)
{
	long d = below(w, NDIRS), size = 300 + below(w, 3796), want = 0;
	struct seen s = { .dir = d };

	will(w, "list folder %ld by %ld", d, size);
	s.fd = openat(w->top, dir_name(w, d), O_RDONLY | O_DIRECTORY);
	if (s.fd < 0)
		wrong(w, "open of a folder fails");
	scan(w, s.fd, (size_t)size, see, &s);
	close(s.fd);
	for (long i = d; i < NNAMES; i += NDIRS) {
		expect(w, "entries of a name", s.names[i], w->name[i] >= 0);
		want += w->name[i] >= 0;
	}
	expect(w, "sub-folders", s.sub, w->sub[d]);
	expect(w, "links", s.link, w->linkto[d][0] != 0);
	expect(w, "entries", s.n, want + w->sub[d] + (w->linkto[d][0] != 0));
}

#endif
