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
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Where in struct statx that lies which is kept, eight bytes each, as by the hook. */
static const uint8_t kept_from[] = { offsetof(struct statx, stx_gid),
	offsetof(struct statx, stx_ino), offsetof(struct statx, stx_size),
	offsetof(struct statx, stx_rdev_major), offsetof(struct statx, stx_dev_major),
	offsetof(struct statx, stx_mnt_id) };
_Static_assert(sizeof(kept_from) * 8 == sizeof(struct fast_stat), "all of it");

static struct statx as_statx(const struct fast_stat *s)
{
	struct statx x = { 0 };

	for (size_t i = 0; i < sizeof(kept_from); i++)
		memcpy((char *)&x + kept_from[i], (const char *)s + 8 * i, 8);
	return x;
}

/* What the program has asked itself. */
static struct statx from_own(const struct fast_stat *s)
{
	struct statx x = as_statx(s);
	dev_t dev, rdev;

	memcpy(&dev, &s->dev_major, sizeof(dev));
	memcpy(&rdev, &s->rdev_major, sizeof(rdev));
	x.stx_dev_major = major(dev);
	x.stx_dev_minor = minor(dev);
	x.stx_rdev_major = major(rdev);
	x.stx_rdev_minor = minor(rdev);
	x.stx_mnt_id = FDTAB_MOUNT_OF_PATH;
	return x;
}

static struct fast_stat as_kept(const struct statx *x)
{
	struct fast_stat s;

	for (size_t i = 0; i < sizeof(kept_from); i++)
		memcpy((char *)&s + 8 * i, (const char *)x + kept_from[i], 8);
	return s;
}

/* What a descriptor is now. */
static bool ask_descriptor(const struct task *k, int fd, struct statx *x)
{
	char at[48];

	snprintf(at, sizeof(at), "/proc/%d/fd/%d", k->tid, fd);
	return !statx(
		AT_FDCWD, at, AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, x);
}

/* A signal has stopped a task that stands still before it could ask what it has opened:
 * later there may be no such descriptor any more. Returns whether it is known. */
bool path_ask(const struct tracer *t, const struct task *k, struct fast_rec *r)
{
	uint8_t *more = (uint8_t *)r;
	uint32_t nr = rec_nr(r);
	uint8_t shape = nr < NSHAPES ? t->fast->shape[nr] : SHAPE_PASS;
	struct statx x;
	int64_t got;

	memcpy(&got, more + R_NEW_STATX, sizeof(got));
	if (!shape_opens(shape) || r->result < 0 || !got)
		return !got;
	if (!ask_descriptor(
		    k, (int)(shape == SHAPE_PAIR ? r->arg[2] : (uint64_t)r->result), &x))
		return false;
	got = 0;
	const struct fast_stat kept = as_kept(&x);
	memcpy(more + R_NEW_STAT, &kept, sizeof(kept));
	memcpy(more + R_NEW_STATX, &got, sizeof(got));
	return true;
}

/* Likewise, and where two are may not have been read. */
void path_made(const struct tracer *t, const struct task *k, struct fast_rec *r)
{
	bool pair = nr_shape(t->fast, rec_nr(r)) == SHAPE_PAIR && r->result >= 0;

	if (pair && task_read(k, r->arg[0], &r->arg[2], 8) != 8)
		r->arg[2] = UINT64_MAX;
	path_ask(t, k, r);
}

static void is_moving(struct tracer *t, struct task *k, void *arg)
{
	const struct fast_call *c = k->call.row < 0 ? NULL : t->fast->call[k->call.row];

	*(bool *)arg |= c && (c->role == ROLE_CWD || c->role == ROLE_ROOT ||
				     c->role == ROLE_OWN || c->role == ROLE_PATH);
}

/*
 * Whether the directory that a process is in has to be asked for again: who is not traced
 * may have renamed it. Not while anybody who is may have, or goes elsewhere.
 */
static bool cwd_is_old(struct tracer *t, struct fs_view *v)
{
	bool moving = false;

	if (fast_tsc() - v->asked < OTHERS_TICKS || paths_later(t->fast))
		return false;
	tasks_each(t, is_moving, &moving);
	if (moving)
		v->asked = fast_tsc();
	return !moving;
}

/* The name of the directory that a path starts from; 0: unknown. */
uint32_t path_start(struct tracer *t, struct task *k, int dirfd)
{
	char path[PATH_MAX], at[48];
	struct fs_view *v = fs_of(k);
	bool apart = k->process->apart;

	if (dirfd != AT_FDCWD) {
		const struct fd_open *o = history_of(t, k, dirfd);
		return o ? names_file(t->names, o->file)->path : 0;
	}
	/* Until it is seen, chdir(2) is not. */
	bool seen = task_is_seen(t, k);
	bool known = v->cwd && seen && !apart;
	if (known && !cwd_is_old(t, v))
		return v->cwd;
	snprintf(at, sizeof(at), "/proc/%d/cwd", k->tid);
	ssize_t n = readlink(at, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	uint32_t cwd = n > 0 && *path == '/' ? names_add(t->names, path, n)
		       : apart ? v->cwd /* it was killed meanwhile, with its group */
			       : 0;
	/* Where it is to be renamed to, as records say that are still to come. */
	if (apart && v->cwd && cwd != v->cwd && n > 0 && is_to_come(t, path))
		return v->cwd;
	v->asked = fast_tsc();
	if (known && (!cwd || paths_later(t->fast)))
		return v->cwd;
	if (seen || apart)
		v->cwd = cwd;
	return cwd;
}

/* Without slashes and dots that say nothing: what follows looks at the text. */
static const char *tidy(const char *path, char *out, size_t size)
{
	const char *p = path;
	size_t n = 0;

	while (*p && !(*p == '/' && (p[1] == '/' || (p[1] == '.' && p[2] == '/'))))
		p++;
	if (*path != '/' || !*p)
		return path;
	for (p = path; *p && n + 1 < size;) {
		if (*p == '/' && p[1] == '/')
			p++;
		else if (*p == '/' && p[1] == '.' && p[2] == '/')
			p += 2;
		else
			out[n++] = *p++;
	}
	out[n] = 0;
	return *p ? path : out;
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

/*
 * By those links of /proc that lead to what a task has, a path starts elsewhere: what is
 * behind them, from dirfd.
 */
static const char *past_links(const char *path, int *dirfd)
{
	static const char *const self[] = { "/proc/self/", "/proc/thread-self/" };
	unsigned fd, end;

	for (int i = 0; i < 2; i++) {
		const char *rest = path + strlen(self[i]);
		if (strncmp(path, self[i], strlen(self[i])))
			continue;
		if (!strncmp(rest, "root/", 5))
			return rest + 4;
		end = 0;
		if (!strncmp(rest, "cwd/", 4)) {
			*dirfd = AT_FDCWD;
			end = 3;
		} else if (sscanf(rest, "fd/%u%n", &fd, &end) == 1 && rest[end] == '/') {
			*dirfd = (int)fd;
		} else {
			continue;
		}
		rest += end;
		return rest + strspn(rest, "/");
	}
	return path;
}

/* A path made whole. 0: unknown. */
uint32_t path_whole(struct tracer *t, struct task *k, int dirfd, const char *path)
{
	char text[PATH_MAX], own[PATH_MAX + 64];

	path = tidy(path, text, sizeof(text));
	path = own_proc(k, past_links(path, &dirfd), own, sizeof(own));
	uint32_t from = *path == '/' ? root_of(t, k) : path_start(t, k, dirfd);

	return *path != '/' && !from ? 0 : path_from(t, k, from, path);
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
	char text[PATH_MAX];
	int fd = own_descriptor(k, tidy(path, text, sizeof(text)));
	const struct fd_open *o = fd < 0 ? NULL : history_of(t, k, fd);

	if (!o)
		return 0;
	const struct file *f = names_file(t->names, o->file);
	return f->inode == x->stx_ino && f->major == x->stx_dev_major &&
			       f->minor == x->stx_dev_minor
		       ? o->file
		       : 0;
}

/* open(2), O_TMPFILE: the path is that of a directory, which a link may have led to that
 * is gone by now. The name is the kernel's own. */
static uint32_t unnamed_file(
	struct tracer *t, struct task *k, const char *dir, const struct statx *x)
{
	char path[2 * PATH_MAX];
	struct stat is;
	const char *end = dirs_follow(t, k, dir);
	ssize_t n = found_path(t, k, end, NULL, path);

	if (n <= 0)
		n = snprintf(path, PATH_MAX, "%s", end);
	n += snprintf(path + n, sizeof(path) - n, "/#%llu (deleted)",
		(unsigned long long)x->stx_ino);
	stat_of(x, &is);
	return fdtab_file(t->fdtab, &k->fd, path, n, x->stx_mnt_id, &is);
}

/*
 * A directory was opened, most likely to be listed and closed: nobody may ever ask for
 * its path. It is found out at the end of the pass, if it is still open.
 */
static void put_off(struct fast *f, const struct task *k, int fd, struct fd_open *o,
	uint32_t full, bool itself, const struct statx *x)
{
	o->late = (struct fd_late){ .path = full,
		.major = x->stx_dev_major,
		.minor = x->stx_dev_minor,
		.inode = x->stx_ino,
		.mount = x->stx_mnt_id,
		.itself = itself };
	if (f->nlate < FAST_LATE) {
		f->late[f->nlate].tid = k->tid;
		f->late[f->nlate].fd = fd;
	}
	f->nlate++;
	f->lates = true;
}

/* The path of a record as text: PATH_LEN bytes and one. */
static void path_of(const struct fast_rec *r, char *out)
{
	const uint8_t *more = (const uint8_t *)r;
	uint64_t len;

	memcpy(&len, more + R_NEW_LEN, sizeof(len));
	len = len <= PATH_LEN ? len : PATH_LEN;
	memcpy(out, more + R_NEW_PATH, len);
	out[len] = 0;
}

static void name_file(struct tracer *t, struct task *k, const struct fast_rec *r, bool at,
	const struct statx *x, struct fd_open *new)
{
	char path[PATH_LEN + 1];
	int fd = (int)r->result;

	path_of(r, path);
	int flags = new->flags;
	bool told = *path && (x->stx_mode & S_IFMT) != S_IFLNK;
	new->file = told ? reopened(t, k, path, x) : 0;
	if (new->file)
		return;
	uint32_t full = told ? path_whole(t, k, at ? (int)r->arg[0] : AT_FDCWD, path) : 0;
	if (!full)
		new->file = found_file(t, k, fd, 0, false, x);
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		new->file = unnamed_file(t, k, names_get(t->names, full), x);
	else if (S_ISDIR(x->stx_mode))
		put_off(t->fast, k, fd, new, full, path_is_itself(path, flags), x);
	else
		new->file = found_file(t, k, fd, full, path_is_itself(path, flags), x);
}

/* By its path alone. false: there is nothing. */
static bool look(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c, struct statx *x)
{
	char path[PATH_LEN + 1];

	path_of(r, path);
	bool at = c->shape == SHAPE_OPEN1;
	bool named = shape_names(c->shape) && *path &&
		     (call_open_flags(r->arg, c->name) & O_TMPFILE) != O_TMPFILE;
	uint32_t full =
		named ? path_whole(t, k, at ? (int)r->arg[0] : AT_FDCWD, path) : 0;
	int fd = full ? root_open(t, k, names_get(t->names, full), 0) : -1;
	bool is = fd >= 0 && !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
				     STATX_BASIC_STATS | STATX_MNT_ID, x);
	if (fd >= 0)
		close(fd);
	return is;
}

/* What has not been asked in time, but is still there or has been closed since; false:
 * that cannot be told. */
static bool ask_late(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c, struct statx *x)
{
	const int fd = (int)r->result;
	bool is = !closes_later(t->fast, k, fd) && ask_descriptor(k, fd, x);

	return closes_by_now(t->fast, k, fd) ? look(t, k, r, c, x) : is;
}

/* What has no path, by the name that /proc shows of it. 0: that is not known. */
static uint32_t pathless_file(struct tracer *t, struct task *k, const struct statx *x)
{
	const unsigned type = x->stx_mode & S_IFMT;
	const char *kind = type == S_IFSOCK ? "socket" : type == S_IFIFO ? "pipe" : NULL;
	struct stat is;
	char name[48];

	if (!kind)
		return 0;
	stat_of(x, &is);
	int n = snprintf(
		name, sizeof(name), "%s:[%llu]", kind, (unsigned long long)x->stx_ino);
	/* On a mount of the kernel's own. */
	return fdtab_file(t->fdtab, &k->fd, name, n, 0, &is);
}

/* A call has made a descriptor: what is it? */
void path_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	const uint8_t *more = (const uint8_t *)r;
	struct fd_open new = { .flags = O_RDWR, .offset = OP_NO_OFFSET };
	struct fast_stat kept;
	int64_t got;

	history_closed(t, k, (int)r->result, r->t1);
	memcpy(&got, more + R_NEW_STATX, sizeof(got));
	memcpy(&kept, more + R_NEW_STAT, sizeof(kept));
	struct statx x = got == STAT_OWN ? from_own(&kept) : as_statx(&kept);
	got = got == STAT_OWN ? 0 : got;
	if (got && c->cuts && call_open_flags(r->arg, c->name) & O_TRUNC)
		ends_forget_all(t->fast);
	/* Else to be asked when it is used, if it is there still. */
	if (got && !ask_late(t, k, r, c, &x))
		return;
	if (!shape_names(c->shape)) {
		new.file = pathless_file(t, k, &x);
	} else {
		new.flags = call_open_flags(r->arg, c->name);
		name_file(t, k, r, c->shape == SHAPE_OPEN1, &x, &new);
	}
	if (!new.file && !new.late.path)
		return;
	new.seeks = new.file &&history_seeks(t, new.file);
	new.offset = new.seeks ? 0 : OP_NO_OFFSET;
	new.epoch = t->fast->epoch;
	new.since = r->t1;
	new.tid = k->tid;
	new.fd = (int)r->result;
	fdtrack_open(t->fast->track, k->files, (int)r->result, &new);
	if (!new.seeks || got)
		return;
	ends_opened(t, k, r, &new, (int64_t)x.stx_size);
}

/*
 * Two of them, of one file. A number that the kernel has just given was free before: what
 * was not has been written there by another thread since, and is asked when it is used.
 */
void path_paired(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	union {
		struct fast_rec rec;
		uint8_t all[R_NEW_PATH + 1];
	} one;
	const uint64_t fds = r->arg[2];

	memcpy(&one, r, sizeof(one));
	memset(one.all + R_NEW_LEN, 0, sizeof(uint64_t)); /* they have no path */
	one.all[R_NEW_PATH] = 0;
	for (int i = 0; i < 2; i++) {
		const int fd = (int)(fds >> 32 * i);
		one.rec.result = fd;
		if (fdtrack_get(k->files, fd) && !closes_before(t->fast, k, fd, r->t1))
			fdtrack_close(t->fast->track, k->files, fd);
		else
			path_opened(t, k, &one.rec, c);
	}
}
