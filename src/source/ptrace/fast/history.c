/*
 * history.c - which file a descriptor stood for when a record was made
 *
 * Records are read later than they are made. So closing, duplicating and opening are in
 * the rings too, and this keeps what they did, in the order of time. What is not known
 * is asked of /proc, as long as no record that is still to come says that it has changed.
 */
#include "../tracer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Paths of open files may be others now. What was resolved before is not used again. */
void new_epoch(struct fast *f)
{
	f->epoch++;
	if (f->known.n > 4096)
		map_fini(&f->known);
}

void history_begin(struct tracer *t, struct task *k, struct task *parent, bool shared)
{
	struct fdtrack *track = t->fast->track;

	if (k->files)
		fdtrack_end(track, k->files);
	k->files = !parent || !parent->files ? fdtrack_table(track)
		   : shared		     ? fdtrack_share(parent->files)
					     : fdtrack_copy(track, parent->files);
}

void history_end(struct tracer *t, struct task *k)
{
	if (k->files)
		fdtrack_end(t->fast->track, k->files);
	k->files = NULL;
}

/*
 * Another program runs: what was close-on-exec is not known for sure, so all is asked
 * anew. Positions that others share will move without our seeing whose they are.
 */
void history_exec(struct tracer *t, struct task *k)
{
	for (int fd = 0; k->files && fd < FDTRACK_MAX; fd++) {
		struct fd_open *o = fdtrack_get(k->files, fd);
		if (o && o->refs > 1 && o->seeks) {
			o->offset = OP_NO_OFFSET;
			o->loose = true;
		}
		if (!o && fd > fdtrack_last(k->files))
			break;
	}
	history_begin(t, k, NULL, false);
}


static bool seeks(struct tracer *t, uint32_t file)
{
	uint8_t type = names_file(t->names, file)->type;

	return type == FILE_REGULAR || type == FILE_BLOCK;
}

/* Closed at that time: not what was opened under that number since then. */
void history_closed(struct tracer *t, struct task *k, int fd, uint64_t when)
{
	const struct fd_open *o = fdtrack_get(k->files, fd);

	if (o && when > o->since)
		fdtrack_close(t->fast->track, k->files, fd);
}

/* Another descriptor of the same open file, to be found by asking the kernel. */
struct twin {
	struct tracer *t;
	struct task *k;
	int fd;
	uint32_t file;
	unsigned asked;
	struct fd_open *found;
};

static void is_twin(struct fd_open *o, void *arg)
{
	enum { FEW = 16 };
	struct twin *w = arg;

	if (w->found || o->file != w->file || !o->tid || w->asked >= FEW)
		return;
	w->asked++;
	if (syscall(SYS_kcmp, w->k->tid, o->tid, KCMP_FILE, w->fd, o->fd) == 0)
		w->found = o;
}

static struct fd_open *add_open(struct tracer *t, struct task *k, int fd,
	const struct fd_view *v, uint64_t since)
{
	struct fd_open new = { .file = v->file,
		.flags = v->flags,
		.seeks = seeks(t, v->file),
		.since = since,
		.tid = k->tid,
		.fd = fd };
	struct twin w = { t, k, fd, v->file, 0, NULL };

	fdtrack_close(t->fast->track, k->files, fd);
	if (new.seeks)
		fdtrack_each(t->fast->track, is_twin, &w);
	if (w.found) {
		w.found->refs++;
		fdtrack_give(k->files, fd, w.found);
	} else {
		fdtrack_open(t->fast->track, k->files, fd, &new);
	}
	return fdtrack_get(k->files, fd);
}

/* The truth about fd, from a task that stands still; after: its position from now on. */
void history_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	int64_t after, uint64_t since)
{
	struct fd_open *o = fdtrack_get(k->files, fd);

	if (!v->file)
		return;
	if (!o || o->file != v->file)
		o = add_open(t, k, fd, v, since);
	if (!o)
		return;
	o->offset = o->seeks ? after : OP_NO_OFFSET;
	o->epoch = t->fast->epoch;
	o->loose = false;
	o->flags = v->flags;
}

/* Whether a record that is still to come frees fd: asking would be too late. */
static bool ends_later(struct tracer *t, const struct task *k, int fd)
{
	struct fast *f = t->fast;

	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other->files != k->files)
			continue;
		uint64_t head = slot_head(&other->slot, &sane);
		for (uint64_t at = other->slot.tail; at < head;) {
			const struct fast_rec *r = slot_rec(&other->slot, at);
			if (r->nr == 3 /* close */ && (int)r->arg[0] == fd)
				return true;
			at += rec_size(f, r);
		}
	}
	return false;
}

/* Which of its sides a record moves the position of this file by; 2: both or unclear. */
static int moves(struct tracer *t, const struct task *k, const struct fast_rec *r,
	const struct fd_open *o)
{
	int row = r->nr < NR_MAX ? t->row[ABI_X86_64][r->nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	if (!c || (c->role != ROLE_SEEK && c->role != ROLE_DATA))
		return 0;
	const struct syscall_desc *d = &syscalls[row];
	if (c->shape == SHAPE_TWO)
		return fdtrack_get(k->files, (int)r->arg[d->fd]) == o ||
				       fdtrack_get(k->files, (int)r->arg[d->fd2]) == o
			       ? 2
			       : 0;
	if (d->fd < 0 || fdtrack_get(k->files, (int)r->arg[d->fd]) != o)
		return 0;
	return c->role == ROLE_SEEK ? 2
				    : d->offset < 0 || (int64_t)r->arg[d->offset] == -1;
}

/*
 * What the calls that are still to come have moved the position by, this one included.
 * false: it cannot be told. mark: changes whenever the answer could.
 */
static bool moves_later(
	struct tracer *t, const struct fd_open *o, int64_t *by, uint64_t *mark)
{
	struct fast *f = t->fast;

	*by = 0;
	*mark = 0;
	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *k = f->ringed[i];
		bool sane;
		uint64_t head = slot_head(&k->slot, &sane);
		const struct fast_rec *r = slot_rec(&k->slot, head);
		*mark += head;
		if (r->state == REC_BEGUN && moves(t, k, r, o))
			return false;
		for (uint64_t at = k->slot.tail; at < head; at += rec_size(f, r)) {
			r = slot_rec(&k->slot, at);
			int how = moves(t, k, r, o);
			if (how > 1)
				return false;
			if (how && r->result > 0)
				*by += r->result;
		}
	}
	return true;
}

/* Where the position was before the record at hand; only if nothing moves meanwhile. */
static void settle(struct tracer *t, struct task *k, int fd, struct fd_open *o)
{
	int64_t by = 0, again = 0;
	uint64_t mark, mark2;
	struct fd_view v;

	if (o->pass == t->fast->pass || !moves_later(t, o, &by, &mark))
		return;
	o->pass = t->fast->pass;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	if (v.file == o->file && v.offset != OP_NO_OFFSET &&
		moves_later(t, o, &again, &mark2) && mark == mark2 && by == again &&
		v.offset >= by)
		o->offset = v.offset - by;
}

/* The same file under another name, or something else by now: then the old one stands. */
static void check_path(struct tracer *t, struct task *k, int fd, struct fd_open *o)
{
	struct fd_view v;

	o->epoch = t->fast->epoch;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	if (!v.file || v.file == o->file)
		return;
	const struct file *now = names_file(t->names, v.file),
			  *was = names_file(t->names, o->file);
	if (now->inode == was->inode && now->major == was->major &&
		now->minor == was->minor)
		o->file = v.file;
}

/* NULL: not known. */
struct fd_open *history_of(struct tracer *t, struct task *k, int fd)
{
	struct fd_open *o = fdtrack_get(k->files, fd);
	struct fd_view v;

	if (o && o->epoch == t->fast->epoch &&
		(o->offset != OP_NO_OFFSET || !o->seeks))
		return o;
	if (fd < 0 || ends_later(t, k, fd))
		return o;
	if (!o) {
		fdtab_ask(t->fdtab, &k->fd, fd, &v);
		o = v.file ? add_open(t, k, fd, &v, 0) : NULL;
		if (!o)
			return NULL;
		if (o->refs == 1) {
			o->epoch = t->fast->epoch;
			o->offset = OP_NO_OFFSET;
		}
	}
	if (o->epoch != t->fast->epoch)
		check_path(t, k, fd, o);
	if (o->seeks && o->offset == OP_NO_OFFSET)
		settle(t, k, fd, o);
	return o;
}

void history_moved(struct tracer *t, struct fd_open *o, int64_t by)
{
	(void)t;
	if (o->offset != OP_NO_OFFSET)
		o->offset += by;
	if (o->loose)
		o->offset = OP_NO_OFFSET;
}

static bool writes_to(struct tracer *t, const struct task *k, const struct fast_rec *r,
	const struct fd_open *o, bool append)
{
	int row = r->nr < NR_MAX ? t->row[ABI_X86_64][r->nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	if (!c || c->role != ROLE_DATA || syscalls[row].fd < 0)
		return false;
	const struct fd_open *other =
		fdtrack_get(k->files, (int)r->arg[syscalls[row].fd]);
	return other && (append ? other->file == o->file && syscalls[row].kind == OP_WRITE
				: other == o);
}

/*
 * Whether another task's call overlaps this one, so that nobody can say which of them
 * found the position, or the end of the file, first.
 */
bool history_contested(struct tracer *t, struct task *k, const struct fast_rec *r,
	struct fd_open *o, bool append)
{
	struct fast *f = t->fast;
	uint64_t busy = append ? map_get(&f->busy, o->file, 0) : o->busy;
	bool is = busy > r->t0 && o->user != k->tid;

	for (unsigned i = 0; !is && f->nringed > 1 && i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other == k)
			continue;
		uint64_t head = slot_head(&other->slot, &sane), at = other->slot.tail;
		const struct fast_rec *q = slot_rec(&other->slot, at);
		for (; !is && at < head && q->t0 < r->t1; at += rec_size(f, q),
			q = slot_rec(&other->slot, at))
			is = writes_to(t, other, q, o, append);
		if (at == head && q->state == REC_BEGUN && q->t0 < r->t1)
			is |= writes_to(t, other, q, o, append);
	}
	if (r->t1 > busy) {
		o->busy = r->t1;
		if (append)
			map_put(&f->busy, o->file, 0, r->t1);
	}
	o->user = k->tid;
	return is;
}

/* Sizes are kept of files that somebody appends to; plus 1, so that 0 is unknown. */
int64_t history_end_of(struct tracer *t, const struct fd_open *o)
{
	return (int64_t)map_get(&t->fast->ends, o->file, 0) - 1;
}

void history_wrote(struct tracer *t, const struct fd_open *o, int64_t end)
{
	if (t->fast->ends.n && map_get(&t->fast->ends, o->file, 0))
		if (end > history_end_of(t, o))
			map_put(&t->fast->ends, o->file, 0, end + 1);
}

static void as_stat(const struct statx *x, struct stat *st)
{
	*st = (struct stat){
		.st_mode = x->stx_mode,
		.st_ino = x->stx_ino,
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
	};
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
	if (!p->cwd) {
		snprintf(at, sizeof(at), "/proc/%d/cwd", k->tid);
		ssize_t n = readlink(at, path, sizeof(path));
		if (n > 0 && *path == '/')
			p->cwd = names_add(t->names, path, n);
	}
	return p->cwd;
}

/* The real path of what is found at a path, if it is that inode. Bytes, or 0. */
static ssize_t real_path(struct task *k, const char *full, const struct stat *is, char *out)
{
	char at[PATH_MAX + 32];
	struct stat st;

	if (snprintf(at, sizeof(at), "/proc/%d/root%s", k->tid, full) >= (int)sizeof(at))
		return 0;
	int fd = open(at, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = 0;
	if (!is || (!fstat(fd, &st) && st.st_ino == is->st_ino &&
			   st.st_dev == is->st_dev)) {
		snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
		n = readlink(at, out, PATH_MAX);
	}
	close(fd);
	return n > 0 && *out == '/' ? n : 0;
}

static bool is_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path);

	return len >= sizeof(mark) && !strcmp(path + len - (sizeof(mark) - 1), mark);
}

/*
 * The path that /proc would have shown. The file is there still: then it says so itself.
 * It is gone: then its directory does, and the last part is as it was given.
 */
static uint32_t find_path(struct tracer *t, struct task *k, int fd, const char *full,
	const struct statx *x)
{
	char path[2 * PATH_MAX], dir[PATH_MAX];
	struct stat is;
	struct fd_view v;

	as_stat(x, &is);
	ssize_t n = *full == '/' ? real_path(k, full, &is, path) : 0;
	if (!n) {
		/* Another file by now, or another way to an open one, like /dev/stdin. */
		v.file = 0;
		if (!ends_later(t, k, fd))
			fdtab_ask(t->fdtab, &k->fd, fd, &v);
		const struct file *f = names_file(t->names, v.file);
		bool same = v.file && f->inode == x->stx_ino &&
			    f->major == x->stx_dev_major && f->minor == x->stx_dev_minor;
		if (same && !is_deleted(names_get(t->names, f->path)))
			return v.file;
		if (*full != '/')
			return same ? v.file : 0;
	}
	const char *base = strrchr(full, '/');
	if (!n && base > full && base - full < PATH_MAX) {
		memcpy(dir, full, base - full);
		dir[base - full] = 0;
		n = real_path(k, dir, NULL, path);
		size_t len = strlen(base);
		if (n && n + len < sizeof(path)) {
			memcpy(path + n, base, len);
			n += len;
		}
	}
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

static uint32_t named_file(struct tracer *t, struct task *k, const struct fast_rec *r,
	bool at, const struct statx *x)
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
	uint32_t full = whole_path(t, k, at ? (int)r->arg[0] : AT_FDCWD, path);
	if (!full)
		return find_path(t, k, (int)r->result, "", x);
	uint64_t key = (uint64_t)full << 32 | t->fast->epoch,
		 id = x->stx_ino * 31 + x->stx_dev_minor * 7 + x->stx_dev_major +
		      x->stx_mnt_id * 1000003;
	uint32_t file = map_get(&t->fast->known, key, id);
	if (!file) {
		file = find_path(t, k, (int)r->result, names_get(t->names, full), x);
		if (file)
			map_put(&t->fast->known, key, id, file);
	}
	return file;
}

static int flags_of(const struct fast_rec *r, const char *name)
{
	if (!strcmp(name, "creat"))
		return O_WRONLY | O_CREAT | O_TRUNC;
	if (!strcmp(name, "open"))
		return (int)r->arg[1];
	return (int)r->arg[2];
}

/* A call has made a descriptor: what is it? */
void history_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	const uint8_t *more = (const uint8_t *)r;
	struct fd_open new = { .flags = O_RDWR, .offset = OP_NO_OFFSET };
	struct statx x;
	int64_t got;
	char name[48];

	history_closed(t, k, (int)r->result, r->t1);
	memcpy(&got, more + R_NEW_STATX, sizeof(got));
	if (got)
		return; /* to be asked when it is used */
	memcpy(&x, more + R_NEW_STAT, sizeof(x));
	if (c->shape == SHAPE_NEWFD) {
		struct stat is;
		as_stat(&x, &is);
		int n = snprintf(name, sizeof(name), "socket:[%llu]",
			(unsigned long long)x.stx_ino);
		if ((x.stx_mode & S_IFMT) == S_IFSOCK)
			new.file = fdtab_file(
				t->fdtab, &k->fd, name, n, x.stx_mnt_id, &is);
	} else {
		new.file = named_file(t, k, r, c->shape == SHAPE_OPEN1, &x);
		new.flags = flags_of(r, c->name);
	}
	if (!new.file)
		return;
	new.seeks = seeks(t, new.file);
	new.offset = new.seeks ? 0 : OP_NO_OFFSET;
	new.epoch = t->fast->epoch;
	new.since = r->t1;
	new.tid = k->tid;
	new.fd = (int)r->result;
	fdtrack_open(t->fast->track, k->files, (int)r->result, &new);
	if (new.seeks && (new.flags & O_APPEND || map_get(&t->fast->ends, new.file, 0)))
		map_put(&t->fast->ends, new.file, 0, x.stx_size + 1);
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
		int n = snprintf(path, sizeof(path), "%s (deleted)",
			names_get(r->names, f.path));
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
	char at[PATH_MAX + 32];
	struct stat st;

	return snprintf(at, sizeof(at), "/proc/%d/root%s", k->tid,
		       names_get(t->names, name)) < (int)sizeof(at) &&
	       !lstat(at, &st) && S_ISDIR(st.st_mode);
}

/*
 * A record of rename(2) or unlink(2). In the order of records, so that what is written
 * before is under the old path, though /proc may know a later one by now.
 */
void history_renamed(struct tracer *t, struct task *k, const struct fast_rec *r,
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

/* The same at a stop: those of the task itself can be asked. */
void history_look(struct tracer *t, struct task *k)
{
	enum { FEW = 64 };
	int last = fdtrack_last(k->files);

	for (int fd = 0; fd <= last && fd < FEW; fd++) {
		struct fd_open *o = fdtrack_get(k->files, fd);
		if (o && o->seeks)
			check_path(t, k, fd, o);
	}
}

/*
 * Before the first record: what is open now. It may be closed by the time that its first
 * record is read.
 */
void history_take_stock(struct tracer *t, struct task *k)
{
	enum { FEW = 64 };
	char path[32];
	struct dirent *d;
	struct fd_view v;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", k->tid);
	DIR *dir = opendir(path);
	while (dir && n < FEW && (d = readdir(dir))) {
		int fd = atoi(d->d_name);
		if (*d->d_name < '0' || *d->d_name > '9' || fdtrack_get(k->files, fd))
			continue;
		fdtab_ask(t->fdtab, &k->fd, fd, &v);
		history_seed(t, k, fd, &v, v.offset, 0);
		n++;
	}
	if (dir)
		closedir(dir);
}
