/*
 * found.c - what is found at a path, and the path that it really has
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

void stat_of(const struct statx *x, struct stat *st)
{
	*st = (struct stat){
		.st_mode = x->stx_mode,
		.st_ino = x->stx_ino,
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
	};
}

/* Whether the last part of a path that was given is a part of a real one. */
static bool is_part(const char *given, size_t len, const char *path)
{
	while (len && given[len - 1] == '/')
		len--;
	size_t at = len;
	while (at && given[at - 1] != '/')
		at--;
	while (len > at && (path = strchr(path, '/'))) {
		path++;
		if (!strncmp(path, given + at, len - at) &&
			(!path[len - at] || path[len - at] == '/'))
			return true;
	}
	return false;
}

/* Whether a record that is still to come can have led to a path: false if so. */
static bool leads_elsewhere(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	const char *more = (const char *)r, *path = arg;
	uint64_t len[2];

	(void)k;
	(void)flight;
	if (!rec_renames(r))
		return true;
	memcpy(len, more + R_PATHS_LEN1, sizeof(len));
	if (len[0] > PATH_LEN || len[1] > PATH_LEN)
		return true;
	/* Both have come there, if they were exchanged. */
	return !is_part(more + R_PATHS + len[0] + 1, len[1], path) &&
	       !is_part(more + R_PATHS, len[0], path);
}

/* Whether what is yet to be read may have led to a path that /proc tells now. */
static bool is_to_come(struct tracer *t, const char *now)
{
	return !records_touching(t->fast, now, leads_elsewhere, (void *)now);
}

/* What is found at a path, and where that really is. Bytes, or 0. */
static ssize_t path_now(
	struct tracer *t, struct task *k, const char *full, struct stat *st, char *out)
{
	char self[32];
	ssize_t n = 0;
	int fd = root_open(t, k, full, 0);

	if (fd < 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!fstat(fd, st))
		n = readlink(self, out, PATH_MAX - 1);
	close(fd);
	if (n <= 0 || *out != '/')
		return 0;
	out[n] = 0;
	return n;
}

/* A path that links of /proc have led to ourselves, where the task would have found
 * itself. false: it is none. */
static bool to_itself(const struct task *k, const char *ours, char *out, size_t size)
{
	unsigned pid, tid, end = 0, end2 = 0;

	if (sscanf(ours, "/proc/%u%n/task/%u%n", &pid, &end, &tid, &end2) < 1 ||
		pid != (unsigned)getpid() || (ours[end] && ours[end] != '/'))
		return false;
	int n = snprintf(out, size, "/proc/%d", k->process->pid);
	if (end2)
		n += snprintf(out + n, size - n, "/task/%d", k->tid);
	snprintf(out + n, size - n, "%s", ours + (end2 ? end2 : end));
	return true;
}

/*
 * The real path of what is found at a path, if it is that inode. Bytes, or 0; also if it
 * has another path by the time that we ask for it.
 */
ssize_t found_path(struct tracer *t, struct task *k, const char *full,
	const struct stat *is, char *out)
{
	char again[PATH_MAX];
	struct stat st, now;
	ssize_t n = path_now(t, k, full, &st, out);

	if (n && strcmp(full, out) && to_itself(k, out, again, sizeof(again)))
		return found_path(t, k, again, is, out);
	if (!n || (is && (st.st_ino != is->st_ino || st.st_dev != is->st_dev)))
		return 0;
	if (!strcmp(full, out))
		return n;
	return path_now(t, k, full, &now, again) && now.st_ino == st.st_ino &&
			       now.st_dev == st.st_dev && !strcmp(out, again) &&
			       !is_to_come(t, out)
		       ? n
		       : 0;
}

bool is_deleted(const char *path)
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

/* The directory that a path is in, by its text. 0: none. */
static uint32_t parent_of(struct tracer *t, const char *path)
{
	const char *base = strrchr(path, '/');

	return base ? names_add(t->names, path, base == path ? 1 : base - path) : 0;
}

/* Where a path leads, if its last part is a link in that directory: a name. 0: it is
 * none, or one of /proc. */
static uint32_t link_target(
	struct tracer *t, struct task *k, const char *path, uint32_t dir)
{
	char to[PATH_MAX], link[2 * PATH_MAX];
	const char *in = names_get(t->names, dir);
	ssize_t n = root_link(t, k, path, to, sizeof(to) - 1);

	snprintf(link, sizeof(link), "%s%s", strcmp(in, "/") ? in : "",
		strrchr(path, '/'));
	n = links_then(t, link, to, n, sizeof(to) - 1);
	if (n <= 0)
		return 0;
	to[n] = 0;
	if (!strncmp(to, "/proc/", 6))
		return 0;
	return path_from(t, k, *to == '/' ? root_of(t, k) : dir, to);
}

/* The same to where there is no link any more, by the text alone. */
static uint32_t by_text(struct tracer *t, struct task *k, uint32_t path)
{
	enum { LINKS = 16 };
	uint32_t name = 0;

	for (int i = 0; path && i < LINKS; i++) {
		const char *text = names_get(t->names, path);
		path = link_target(t, k, text, parent_of(t, text));
		if (path && strstr(names_get(t->names, path), ".."))
			return 0;
		name = path ? path : name;
	}
	return path ? 0 : name;
}

/* The real path of a directory, if it is known. As long as records are to come it may be
 * elsewhere by now: then what links say is true yet. */
static uint32_t real_dir(struct tracer *t, struct task *k, uint32_t dir)
{
	char path[PATH_MAX], whole[2 * PATH_MAX];
	uint32_t to = paths_later(t->fast) ? by_text(t, k, dir) : 0;
	uint32_t up = to ? parent_of(t, names_get(t->names, to)) : dir;
	ssize_t n = found_path(t, k, names_get(t->names, up), NULL, path);

	if (n <= 0 || (to && up == to))
		return to ? to : by_text(t, k, dir);
	if (!to)
		return names_add(t->names, path, n);
	n = snprintf(whole, sizeof(whole), "%.*s%s", n > 1 ? (int)n : 0, path,
		strrchr(names_get(t->names, to), '/'));
	return names_add(t->names, whole, n);
}

static struct fast_dir *dir_of(struct tracer *t, struct task *k, const char *full)
{
	uint32_t name = parent_of(t, full);
	struct fast_dir *d = &t->fast->dir[name % FAST_DIRS];

	if (d->name == name && d->epoch == t->fast->epoch && d->pid == seen_by(k) &&
		fast_tsc() - d->since < OTHERS_TICKS)
		return d->real ? d : NULL;
	uint32_t real = name ? real_dir(t, k, name) : 0;
	d = dir_put(t, k, name);
	d->real = real;
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
bool path_is_itself(const char *path, int flags)
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

	stat_of(x, &is);
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

/* What it leads to may be elsewhere by now: the text tells where it was. */
static const char *follow(struct tracer *t, struct task *k, const char *full)
{
	enum { LINKS = 16 };

	for (int i = 0; i < LINKS; i++) {
		const struct fast_dir *d = dir_of(t, k, full);
		uint32_t next = link_target(t, k, full, d ? d->real : parent_of(t, full));
		if (!next || !ends_in_name(names_get(t->names, next)))
			break;
		full = names_get(t->names, next);
	}
	return full;
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
	struct stat is, st;
	struct fd_view v = { .file = 0 };
	ssize_t n = 0;

	stat_of(x, &is);
	if (plain && paths_later(t->fast))
		full = follow(t, k, full);
	const char *base = strrchr(full, '/');
	struct fast_dir *d = plain ? dir_of(t, k, full) : NULL;
	bool there = d && !root_look(t, k, full, &st);
	if (there && st.st_ino == is.st_ino && st.st_dev == is.st_dev)
		n = in_dir(t, d, base, path, sizeof(path));
	if (!n && *full == '/' && (there || !d))
		n = found_path(t, k, full, &is, path);
	if (!n) {
		if (fd >= 0 && !closes_later(t->fast, k, fd))
			fdtab_ask(t->fdtab, &k->fd, fd, &v);
		const struct file *f = names_file(t->names, v.file);
		if (plain && paths_later(t->fast) &&
			comes_later(t, full, names_get(t->names, f->path)))
			v.file = 0;
		bool same = v.file && f->inode == x->stx_ino &&
			    f->major == x->stx_dev_major && f->minor == x->stx_dev_minor;
		if (same && !is_deleted(names_get(t->names, f->path)))
			return v.file;
		if (*full != '/')
			return same ? v.file : 0;
	}
	if (!n && there && S_ISLNK(st.st_mode)) { /* what it led to has just gone */
		full = follow(t, k, full);
		base = strrchr(full, '/');
		d = ends_in_name(full) ? dir_of(t, k, full) : NULL;
	}
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
	if (file)
		map_put(&t->fast->known, key, id, file);
	if (file && S_ISDIR(x->stx_mode) &&
		!is_deleted(names_get(t->names, names_file(t->names, file)->path)))
		dir_put(t, k, full)->real = names_file(t->names, file)->path;
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
