/*
 * paths.c - which file a path in a record meant
 *
 * The hook keeps the path as the program gave it, and what statx(2) said of the file. The
 * rest is found out later, when the file may have another path, or none.
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

enum { DIR_TICKS = 1 << 28 /* about a tenth of a second: somebody else may rename */ };

static void as_stat(const struct statx *x, struct stat *st)
{
	*st = (struct stat){
		.st_mode = x->stx_mode,
		.st_ino = x->stx_ino,
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
	};
}

static struct statx as_statx(const struct fast_stat *s)
{
	return (struct statx){ .stx_mode = s->mode,
		.stx_ino = s->ino,
		.stx_size = s->size,
		.stx_rdev_major = s->rdev_major,
		.stx_rdev_minor = s->rdev_minor,
		.stx_dev_major = s->dev_major,
		.stx_dev_minor = s->dev_minor,
		.stx_mnt_id = s->mnt_id };
}

/* The name of the directory that a path starts from; 0: unknown. */
static uint32_t start_of(struct tracer *t, struct task *k, int dirfd)
{
	char path[PATH_MAX], at[48];
	struct process *p = k->process;

	if (dirfd != AT_FDCWD) {
		const struct fd_open *o = history_of(t, k, dirfd);
		return o ? names_file(t->names, o->file)->path : 0;
	}
	if (!p->cwd || p->apart) {
		snprintf(at, sizeof(at), "/proc/%d/cwd", k->tid);
		ssize_t n = readlink(at, path, sizeof(path));
		if (n > 0 && *path == '/')
			p->cwd = k->cwd = names_add(t->names, path, n);
		else if (p->apart)
			return k->cwd; /* it was killed meanwhile, with its group */
	}
	return p->cwd;
}

/* It has another working directory, or another root. */
void path_moved(struct task *k)
{
	k->cwd = k->process->cwd = 0;
	k->process->root_since = 0;
}

static bool alike(const char *of, const char *ours, pid_t pid)
{
	char at[48];
	struct stat a, b;

	snprintf(at, sizeof(at), "/proc/%d/%s", pid, of);
	return !stat(at, &a) && !stat(ours, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Whether its paths are not ours. By way of /proc each costs twice as much. */
static bool has_own_root(struct process *p)
{
	uint64_t now = fast_tsc();

	if (p->apart)
		return true;
	if (!p->root_since || now - p->root_since >= DIR_TICKS) {
		p->own_root = !alike("ns/mnt", "/proc/self/ns/mnt", p->pid) ||
			      !alike("root/", "/", p->pid);
		p->root_since = now;
	}
	return p->own_root;
}

/* Where we find what that path means to the task. false: it is too long. */
static bool place_of(struct task *k, const char *full, char *at, size_t size)
{
	int n = has_own_root(k->process)
			? snprintf(at, size, "/proc/%d/root%s", k->tid, full)
			: snprintf(at, size, "%s", full);

	return n < (int)size;
}

/* The real path of what is found at a path, if it is that inode. Bytes, or 0. */
static ssize_t real_path(
	struct task *k, const char *full, const struct stat *is, char *out)
{
	char at[PATH_MAX + 32];
	struct stat st;

	if (!place_of(k, full, at, sizeof(at)))
		return 0;
	int fd = open(at, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = 0;
	if (!is ||
		(!fstat(fd, &st) && st.st_ino == is->st_ino && st.st_dev == is->st_dev)) {
		snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
		n = readlink(at, out, PATH_MAX);
	}
	close(fd);
	return n > 0 && *out == '/' ? n : 0;
}

static int look_at(struct task *k, const char *full, struct stat *st)
{
	char at[PATH_MAX + 32];

	if (!place_of(k, full, at, sizeof(at)))
		return -ENAMETOOLONG;
	return lstat(at, st) < 0 ? -errno : 0;
}

static bool is_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path);

	return len >= sizeof(mark) && !strcmp(path + len - (sizeof(mark) - 1), mark);
}

/*
 * Directories that files were opened in: their real paths. Valid while no directory is
 * known to have another path. None is kept open, as umount(8) would find it busy.
 */
static pid_t seen_by(const struct task *k)
{
	return k->process->apart ? k->tid : k->process->pid;
}

static struct fast_dir *dir_put(struct tracer *t, struct task *k, uint32_t name)
{
	struct fast_dir *d = &t->fast->dir[name % FAST_DIRS];

	*d = (struct fast_dir){ .name = name,
		.epoch = t->fast->epoch,
		.pid = seen_by(k),
		.since = fast_tsc() };
	return d;
}

static struct fast_dir *dir_of(struct tracer *t, struct task *k, const char *full)
{
	char text[PATH_MAX], path[PATH_MAX];
	const char *base = strrchr(full, '/');
	size_t len = base == full ? 1 : (size_t)(base - full);

	if (len >= sizeof(text))
		return NULL;
	memcpy(text, full, len);
	text[len] = 0;
	uint32_t name = names_add(t->names, text, len);
	struct fast_dir *d = &t->fast->dir[name % FAST_DIRS];
	if (d->name == name && d->epoch == t->fast->epoch && d->pid == seen_by(k) &&
		fast_tsc() - d->since < DIR_TICKS)
		return d->real ? d : NULL;
	d = dir_put(t, k, name);
	ssize_t n = real_path(k, text, NULL, path);
	d->real = n > 0 ? names_add(t->names, path, n) : 0;
	return d->real ? d : NULL;
}

static ssize_t in_dir(const struct tracer *t, const struct fast_dir *d, const char *base,
	char *out, size_t size)
{
	const char *dir = names_get(t->names, d->real);
	int n = snprintf(out, size, "%s%s", dir[1] ? dir : "", base);

	return n < (int)size ? n : 0;
}

/* Not "..", ".", or what is the end of "a/". */
static bool ends_in_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return *base && strcmp(base, ".") && strcmp(base, "..");
}

/* What open(2) does not follow a link to, or has made, is what the path says. A link is
 * followed where a slash comes after it. */
static bool is_itself(const char *path, int flags)
{
	return (flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL)) &&
	       ends_in_name(path);
}

/* The path that /proc would have shown, by that of its directory; 0: not for sure. */
static uint32_t by_dir(
	struct tracer *t, struct task *k, const char *full, const struct statx *x)
{
	char path[2 * PATH_MAX];
	const char *base = strrchr(full, '/');
	struct fast_dir *d = ends_in_name(full) ? dir_of(t, k, full) : NULL;
	struct stat is;
	ssize_t n = d ? in_dir(t, d, base, path, sizeof(path)) : 0;

	as_stat(x, &is);
	return n ? fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is) : 0;
}

/*
 * The path that /proc would have shown. The file is there still, and no link: then its
 * directory tells. It is another file by now, or there is another way to an open one,
 * like /dev/stdin: then the descriptor may tell. It is gone: its directory again.
 */
static uint32_t find_path(
	struct tracer *t, struct task *k, int fd, const char *full, const struct statx *x)
{
	char path[2 * PATH_MAX];
	const char *base = strrchr(full, '/');
	bool plain = *full == '/' && ends_in_name(full);
	struct fast_dir *d = plain ? dir_of(t, k, full) : NULL;
	struct stat is, st;
	struct fd_view v = { .file = 0 };
	ssize_t n = 0;

	as_stat(x, &is);
	bool there = d && !look_at(k, full, &st);
	if (there && st.st_ino == is.st_ino && st.st_dev == is.st_dev)
		n = in_dir(t, d, base, path, sizeof(path));
	if (!n && *full == '/' && (there || !d))
		n = real_path(k, full, &is, path);
	if (!n) {
		if (!history_ends_later(t, k, fd))
			fdtab_ask(t->fdtab, &k->fd, fd, &v);
		const struct file *f = names_file(t->names, v.file);
		bool same = v.file && f->inode == x->stx_ino &&
			    f->major == x->stx_dev_major && f->minor == x->stx_dev_minor;
		if (same && !is_deleted(names_get(t->names, f->path)))
			return v.file;
		if (*full != '/')
			return same ? v.file : 0;
	}
	if (!n && d)
		n = in_dir(t, d, base, path, sizeof(path));
	if (!n)
		n = snprintf(path, sizeof(path), "%s", full);
	return fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is);
}

/* What is meant by the target's own view of /proc is not what we would find there. */
static const char *own_proc(
	const struct task *k, const char *path, char *out, size_t size)
{
	static const char self[] = "/proc/self/", thread[] = "/proc/thread-self/";

	if (!strncmp(path, self, sizeof(self) - 1))
		snprintf(out, size, "/proc/%d/%s", k->process->pid,
			path + sizeof(self) - 1);
	else if (!strncmp(path, thread, sizeof(thread) - 1))
		snprintf(out, size, "/proc/%d/task/%d/%s", k->process->pid, k->tid,
			path + sizeof(thread) - 1);
	else
		return path;
	return out;
}

/* A path made whole. Text alone cannot take ".." off where links are. 0: unknown. */
static uint32_t whole_path(struct tracer *t, struct task *k, int dirfd, const char *path)
{
	char whole[2 * PATH_MAX], own[PATH_MAX + 64];

	path = own_proc(k, path, own, sizeof(own));
	uint32_t from = *path == '/' ? 0 : start_of(t, k, dirfd);

	if (*path != '/' && !from)
		return 0;
	if (!strstr(path, ".."))
		return fdtrack_path(t->fast->track, from, path, strlen(path));
	int n = snprintf(whole, sizeof(whole), "%s/%s",
		*path == '/' ? "" : names_get(t->names, from), path);
	return names_add(t->names, whole, n < (int)sizeof(whole) ? n : 0);
}

/* The descriptor that a path like /dev/fd/3 means to the task itself, or -1. */
static int own_descriptor(const struct task *k, const char *path)
{
	static const char *const std[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	unsigned pid, fd, end = 0;

	if (strncmp(path, "/dev/", 5) && strncmp(path, "/proc/", 6))
		return -1;
	for (int i = 0; i < 3; i++)
		if (!strcmp(path, std[i]))
			return i;
	if (sscanf(path, "/proc/%u/fd/%u%n", &pid, &fd, &end) == 2 && !path[end] &&
		pid == (unsigned)k->process->pid)
		return (int)fd;
	if ((sscanf(path, "/dev/fd/%u%n", &fd, &end) == 1 ||
		    sscanf(path, "/proc/self/fd/%u%n", &fd, &end) == 1 ||
		    sscanf(path, "/proc/thread-self/fd/%u%n", &fd, &end) == 1) &&
		!path[end])
		return (int)fd;
	return -1;
}

/* What is opened once more by way of its descriptor; 0: nothing of the kind. */
static uint32_t reopened(
	struct tracer *t, struct task *k, const char *path, const struct statx *x)
{
	int fd = own_descriptor(k, path);
	const struct fd_open *o = fd < 0 ? NULL : history_of(t, k, fd);

	if (!o)
		return 0;
	const struct file *f = names_file(t->names, o->file);
	return f->inode == x->stx_ino && f->major == x->stx_dev_major &&
			       f->minor == x->stx_dev_minor
		       ? o->file
		       : 0;
}

/* open(2), O_TMPFILE: the path is that of a directory. The name is the kernel's own. */
static uint32_t unnamed_file(
	struct tracer *t, struct task *k, const char *dir, const struct statx *x)
{
	char path[2 * PATH_MAX];
	struct stat is;
	ssize_t n = real_path(k, dir, NULL, path);

	if (n <= 0)
		n = snprintf(path, PATH_MAX, "%s", dir);
	n += snprintf(path + n, sizeof(path) - n, "/#%llu (deleted)",
		(unsigned long long)x->stx_ino);
	as_stat(x, &is);
	return fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is);
}

static uint32_t named_file(struct tracer *t, struct task *k, const struct fast_rec *r,
	bool at, int flags, const struct statx *x)
{
	const uint8_t *more = (const uint8_t *)r;
	char path[PATH_LEN + 1];
	uint64_t len;

	memcpy(&len, more + R_NEW_LEN, sizeof(len));
	len = len <= PATH_LEN ? len : PATH_LEN;
	memcpy(path, more + R_NEW_PATH, len);
	path[len] = 0;
	if (!len || (x->stx_mode & S_IFMT) == S_IFLNK)
		return find_path(t, k, (int)r->result, "", x);
	uint32_t again = reopened(t, k, path, x);
	if (again)
		return again;
	uint32_t full = whole_path(t, k, at ? (int)r->arg[0] : AT_FDCWD, path);
	if (!full)
		return find_path(t, k, (int)r->result, "", x);
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return unnamed_file(t, k, names_get(t->names, full), x);
	uint64_t key = (uint64_t)full << 32 | t->fast->epoch,
		 id = x->stx_ino * 31 + x->stx_dev_minor * 7 + x->stx_dev_major +
		      x->stx_mnt_id * 1000003;
	uint32_t file = map_get(&t->fast->known, key, id);
	if (!file) {
		const char *text = names_get(t->names, full);
		file = is_itself(path, flags) ? by_dir(t, k, text, x) : 0;
		if (!file)
			file = find_path(t, k, (int)r->result, text, x);
		if (file)
			map_put(&t->fast->known, key, id, file);
		if (file && S_ISDIR(x->stx_mode) &&
			!is_deleted(
				names_get(t->names, names_file(t->names, file)->path)))
			dir_put(t, k, full)->real = names_file(t->names, file)->path;
	}
	return file;
}

/* A call has made a descriptor: what is it? */
void path_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	const uint8_t *more = (const uint8_t *)r;
	struct fd_open new = { .flags = O_RDWR, .offset = OP_NO_OFFSET };
	struct fast_stat kept;
	int64_t got;
	char name[48];

	history_closed(t, k, (int)r->result, r->t1);
	memcpy(&got, more + R_NEW_STATX, sizeof(got));
	if (got) { /* to be asked when it is used */
		if (c->cuts && call_open_flags(r->arg, c->name) & O_TRUNC)
			ends_forget_all(t->fast);
		return;
	}
	memcpy(&kept, more + R_NEW_STAT, sizeof(kept));
	struct statx x = as_statx(&kept);
	if (c->shape == SHAPE_NEWFD) {
		struct stat is;
		as_stat(&x, &is);
		int n = snprintf(name, sizeof(name), "socket:[%llu]",
			(unsigned long long)x.stx_ino);
		if ((x.stx_mode & S_IFMT) == S_IFSOCK)
			new.file =
				fdtab_file(t->fdtab, &k->fd, name, n, x.stx_mnt_id, &is);
	} else {
		new.flags = call_open_flags(r->arg, c->name);
		new.file = named_file(t, k, r, c->shape == SHAPE_OPEN1, new.flags, &x);
	}
	if (!new.file)
		return;
	new.seeks = history_seeks(t, new.file);
	new.offset = new.seeks ? 0 : OP_NO_OFFSET;
	new.epoch = t->fast->epoch;
	new.since = r->t1;
	new.tid = k->tid;
	new.fd = (int)r->result;
	fdtrack_open(t->fast->track, k->files, (int)r->result, &new);
	if (!new.seeks)
		return;
	ends_opened(t, k, r, &new, (int64_t)x.stx_size);
}

/* From one path to another; 0: it has none any more. */
struct renaming {
	struct names *names;
	uint32_t from, to;
	bool found, alike; /* one of that path; one whose last part is the same */
};

static void rename_open(struct fd_open *o, void *arg)
{
	struct renaming *r = arg;
	char path[PATH_MAX + 16];
	struct file f = *names_file(r->names, o->file);

	if (f.path != r->from) {
		const char *was = strrchr(names_get(r->names, f.path), '/');
		const char *is = strrchr(names_get(r->names, r->from), '/');
		r->alike |= was && is && !strcmp(was, is);
		return;
	}
	r->found = true;
	if (!r->to) {
		int n = snprintf(
			path, sizeof(path), "%s (deleted)", names_get(r->names, f.path));
		f.path = names_add(r->names, path, n < (int)sizeof(path) ? n : 0);
	} else {
		f.path = r->to;
	}
	uint32_t file = f.path ? names_add_file(r->names, &f) : 0;
	o->file = file ? file : o->file;
}

/* The same path with its directory as it really is; 0: it is that already. */
static uint32_t by_real_dir(struct tracer *t, struct task *k, uint32_t name)
{
	char dir[PATH_MAX], path[2 * PATH_MAX];
	const char *full = names_get(t->names, name), *base = strrchr(full, '/');

	if (!base || base == full || base - full >= PATH_MAX)
		return 0;
	memcpy(dir, full, base - full);
	dir[base - full] = 0;
	ssize_t n = real_path(k, dir, NULL, path);
	if (n <= 0 || n + strlen(base) >= sizeof(path))
		return 0;
	strcpy(path + n, base);
	uint32_t real = names_add(t->names, path, n + strlen(base));
	return real == name ? 0 : real;
}

/* What is open under a path has another one, or none. */
static bool rename_all(struct tracer *t, struct task *k, uint32_t from, uint32_t to)
{
	struct renaming r = { .names = t->names, .from = from, .to = to };

	if (!from)
		return false;
	fdtrack_each(t->fast->track, rename_open, &r);
	if (!r.found && r.alike && (r.from = by_real_dir(t, k, from)))
		fdtrack_each(t->fast->track, rename_open, &r);
	return r.found;
}

static bool is_dir(struct tracer *t, struct task *k, uint32_t name)
{
	struct stat st;

	return !look_at(k, names_get(t->names, name), &st) && S_ISDIR(st.st_mode);
}

/*
 * A record of rename(2) or unlink(2). In the order of records, so that what is written
 * before is under the old path, though /proc may know a later one by now.
 */
void path_renamed(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	const uint8_t *more = (const uint8_t *)r;
	char path[2][PATH_LEN + 1];
	uint64_t len[2];
	bool two = c->shape >= SHAPE_PATHS01;
	bool at = c->shape == SHAPE_PATH1 || c->shape == SHAPE_PATHS13;

	memcpy(len, more + R_PATHS_LEN1, sizeof(len));
	for (int i = 0; i <= two; i++) {
		len[i] = len[i] <= PATH_LEN ? len[i] : PATH_LEN;
		memcpy(path[i], more + R_PATHS + (i ? len[0] + 1 : 0), len[i]);
		path[i][len[i]] = 0;
		if (!len[i]) {
			new_epoch(t->fast);
			return;
		}
	}
	uint32_t from = whole_path(t, k, at ? (int)r->arg[0] : AT_FDCWD, path[0]);
	uint32_t to = two ? whole_path(t, k, at ? (int)r->arg[2] : AT_FDCWD, path[1]) : 0;
	map_fini(&t->fast->known);
	if (to)
		rename_all(t, k, to, 0);
	if (!from || (two && !to) ||
		(!rename_all(t, k, from, to) && to && is_dir(t, k, to)))
		new_epoch(t->fast);
}
