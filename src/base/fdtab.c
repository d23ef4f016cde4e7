/*
 * fdtab.c - descriptors to files, by asking /proc
 *
 * Two questions an operation: fdinfo, kept open, says position, flags, mount and inode;
 * readlink says the path at this moment. Only when one of them has changed since the
 * last time is the file looked up anew. A socket or a pipe without a name has no path
 * that could change: its inode is enough.
 */
#include "mounts.h"

#include "iops/fdtab.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	WARM = 3,       /* uses of a task before its /proc files are kept open */
	MAX_OPEN = 256, /* tasks that keep files open; with slots, five files each */
};

struct fd_slot {
	int fd, info; /* info: open /proc/TID/fdinfo/FD, or -1 */
	char number[12];
	uint64_t mount, inode;
	uint32_t file;
	uint8_t type;
	uint16_t len;
	char *path;
};

struct fdtab {
	struct names *names;
	struct fd_task head; /* most recently used first */
	unsigned nopen;
	struct mounts mounts;
};

struct fdinfo {
	int64_t pos;
	int flags;
	uint64_t mount, inode;
};

struct fdtab *fdtab_new(struct names *names)
{
	struct fdtab *t = calloc(1, sizeof(*t));

	if (t) {
		t->names = t->mounts.names = names;
		t->head.next = t->head.prev = &t->head;
	}
	return t;
}

void fdtab_free(struct fdtab *t)
{
	if (!t)
		return;
	while (t->head.next != &t->head)
		fdtab_forget(t, t->head.next);
	mounts_fini(&t->mounts);
	free(t);
}

static void close_slot(struct fd_slot *s)
{
	if (!s)
		return;
	if (s->info >= 0)
		close(s->info);
	free(s->path);
	free(s);
}

void fdtab_forget(struct fdtab *t, struct fd_task *task)
{
	for (int i = 0; i < FD_SLOTS; i++) {
		close_slot(task->slot[i]);
		task->slot[i] = NULL;
	}
	if (task->dir)
		close(task->dir - 1);
	task->dir = 0;
	task->uses = 0;
	if (task->next) {
		task->next->prev = task->prev;
		task->prev->next = task->next;
		task->next = task->prev = NULL;
		t->nopen--;
	}
}

/* Keep /proc/TID/fd open from now on, at the cost of the task that did so longest ago. */
static void warm(struct fdtab *t, struct fd_task *task)
{
	char path[32];

	if (t->nopen >= MAX_OPEN)
		fdtab_forget(t, t->head.prev);
	snprintf(path, sizeof(path), "/proc/%d/fd", task->tid);
	task->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) + 1;
	if (!task->dir)
		return;
	task->next = t->head.next;
	task->prev = &t->head;
	task->next->prev = task->prev->next = task;
	t->nopen++;
}

/* "/proc/TID/fd" and the like, as a directory descriptor and a path below it. */
static int link_at(struct fd_task *task, int fd, char path[48])
{
	if (task->dir) {
		snprintf(path, 48, "%d", fd);
		return task->dir - 1;
	}
	snprintf(path, 48, "/proc/%d/fd/%d", task->tid, fd);
	return AT_FDCWD;
}

static const char *number(const char *p, int base, uint64_t *out)
{
	*out = 0;
	while (*p == ' ' || *p == '\t')
		p++;
	for (; *p >= '0' && *p < '0' + base; p++)
		*out = *out * base + (*p - '0');
	return *p == '\n' ? p + 1 : p;
}

/* "pos:\t0\nflags:\t02\nmnt_id:\t9\nino:\t5\n...": proc(5); ino since Linux 5.14. */
static int parse_info(const char *p, struct fdinfo *in)
{
	uint64_t pos, flags;

	if (strncmp(p, "pos:", 4))
		return -EINVAL;
	p = number(p + 4, 10, &pos);
	if (strncmp(p, "flags:", 6))
		return -EINVAL;
	p = number(p + 6, 8, &flags);
	in->pos = (int64_t)pos;
	in->flags = (int)flags;
	in->mount = in->inode = 0;
	if (!strncmp(p, "mnt_id:", 7))
		p = number(p + 7, 10, &in->mount);
	if (!strncmp(p, "ino:", 4))
		number(p + 4, 10, &in->inode);
	return 0;
}

static int read_info(struct fd_task *task, int fd, int *keep, struct fdinfo *in)
{
	char path[48], buf[256];
	int info = *keep;

	if (info < 0) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", task->tid, fd);
		info = open(path, O_RDONLY | O_CLOEXEC);
		if (info < 0)
			return -errno;
	}
	ssize_t n = pread(info, buf, sizeof(buf) - 1, 0);
	int err = n <= 0 ? -EBADF : 0;
	if (task->dir)
		*keep = info;
	else
		close(info);
	if (err)
		return err;
	buf[n] = 0;
	return parse_info(buf, in);
}

void fdtab_unmounted(struct fdtab *t)
{
	mounts_changed(&t->mounts);
}

void fdtab_foresee(struct fdtab *t)
{
	mounts_look(&t->mounts);
}

void fdtab_later(struct fdtab *t)
{
	mounts_later(&t->mounts);
}

static uint8_t type_of(const struct stat *st, const char *path)
{
	enum file_type type = file_type_by_mode(st->st_mode, st->st_rdev);

	return type == FILE_UNKNOWN && !strncmp(path, "anon_inode:", 11) ? FILE_ANON
									 : type;
}

/*
 * Without the kernel's word for a file of proc(5), where nobody deletes: it says that of
 * the directory of a process that has ended, and of a file of /proc/PID/net as soon as
 * anybody has looked for the same name again, as we do (proc_net_d_revalidate).
 */
static size_t kept(const char *path, size_t len, const char *fs)
{
	return strcmp(fs, "proc") ? len : text_named(path, len);
}

static uint32_t add_file(struct fdtab *t, const char *path, size_t len, uint32_t mount,
	const struct stat *st)
{
	uint32_t fs = mounts_system(&t->mounts, st);
	struct file f = {
		.path = names_add(
			t->names, path, kept(path, len, names_get(t->names, fs))),
		.mount = mount,
		.major = major(st->st_dev),
		.minor = minor(st->st_dev),
		.inode = st->st_ino,
		.fs = fs,
		.type = type_of(st, path),
	};

	/* A memfd or a deleted anonymous file is still a file; an eventfd is not. */
	return names_add_file(t->names, &f);
}

/* By its path, its mount and, where they are known, its inode. */
static void name_file(
	struct fdtab *t, struct fd_task *task, struct fd_slot *s, const struct stat *st)
{
	/* Pipes, sockets and the like are on mounts of the kernel's own. */
	uint32_t mount = 0;

	s->inode = s->inode ? s->inode : st->st_ino;
	s->type = type_of(st, s->path);
	if (*s->path == '/') {
		mounts_look(&t->mounts); /* it may be another one under the same id */
		mount = mounts_point(&t->mounts, task->tid, s->mount);
	}
	s->file = add_file(t, s->path, s->len, mount, st);
}

static void find_file(
	struct fdtab *t, struct fd_task *task, struct fd_slot *s, const struct fdinfo *in)
{
	char at[48];
	struct stat st;
	int dir = link_at(task, s->fd, at);

	s->mount = in->mount;
	s->inode = in->inode;
	s->file = 0;
	s->type = FILE_UNKNOWN;
	if (fstatat(dir, at, &st, 0) == 0)
		name_file(t, task, s, &st);
}

/* The slot that remembers fd, or one to use for it. NULL: out of memory. */
static struct fd_slot *slot_of(struct fd_task *task, int fd)
{
	struct fd_slot **s = &task->slot[fd % FD_SLOTS];

	if (*s && (*s)->fd == fd)
		return *s;
	close_slot(*s);
	*s = malloc(sizeof(**s));
	if (*s) {
		**s = (struct fd_slot){ .fd = fd, .info = -1 };
		snprintf((*s)->number, sizeof((*s)->number), "%d", fd);
	}
	return *s;
}

/* Whether what was found is not what has that name: it was two files, one after the
 * other. A name that leads nowhere from here tells nothing. */
static bool is_mixed(const struct fdtab *t, const struct fd_slot *s)
{
	struct stat st;

	if (!s->file || *s->path != '/' || lstat(s->path, &st) < 0)
		return false;
	const struct file *f = names_file(t->names, s->file);
	return f->inode != st.st_ino || f->major != major(st.st_dev) ||
	       f->minor != minor(st.st_dev);
}

/* false: no memory. */
static bool set_path(struct fd_slot *s, const char *path, size_t n)
{
	char *copy = realloc(s->path, n + 1);

	if (!copy) {
		s->file = 0;
		return false;
	}
	s->path = memcpy(copy, path, n);
	s->path[n] = 0;
	s->len = n;
	return true;
}

/* Of what is held here, name and number are of one file. */
static void hold(struct fdtab *t, struct fd_task *task, struct fd_slot *s)
{
	char at[48], path[PATH_MAX];
	struct statx more = { 0 };
	struct stat st;
	int dir = link_at(task, s->fd, at);
	int fd = openat(dir, at, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	s->file = 0;
	s->inode = 0;
	snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(at, path, sizeof(path));
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &more) &&
		more.stx_mask & STATX_MNT_ID)
		s->mount = (uint32_t)more.stx_mnt_id;
	if (n >= 0 && !fstat(fd, &st) && set_path(s, path, n))
		name_file(t, task, s, &st);
	close(fd);
}

/* Others may share its descriptors, and put another file there in between. */
static void refresh(
	struct fdtab *t, struct fd_task *task, struct fd_slot *s, const struct fdinfo *in)
{
	char at[48], path[PATH_MAX];
	bool known =
		s->file && s->mount == in->mount && s->inode == in->inode && in->inode;

	if (known && (s->type == FILE_PIPE || s->type == FILE_SOCKET) && *s->path != '/')
		return;
	int dir = task->dir ? task->dir - 1 : link_at(task, s->fd, at);
	ssize_t n = readlinkat(dir, task->dir ? s->number : at, path, sizeof(path));
	if (n < 0)
		n = 0;
	if (known && n == s->len && !memcmp(path, s->path, n))
		return;
	if (!set_path(s, path, n))
		return;
	find_file(t, task, s, in);
	if (is_mixed(t, s))
		hold(t, task, s);
}

void fdtab_ask(struct fdtab *t, struct fd_task *task, int fd, struct fd_view *out)
{
	struct fdinfo in = { 0 };

	*out = (struct fd_view){ .offset = OP_NO_OFFSET, .flags = -1 };
	if (fd < 0)
		return;
	if (!task->dir && ++task->uses >= WARM)
		warm(t, task);

	struct fd_slot *s = slot_of(task, fd);
	if (!s || read_info(task, fd, &s->info, &in) < 0)
		return;
	refresh(t, task, s, &in);
	out->file = s->file;
	out->flags = in.flags;
	if (s->type == FILE_REGULAR || s->type == FILE_BLOCK)
		out->offset = in.pos;
}

int64_t fdtab_position(struct fdtab *t, struct fd_task *task, int fd)
{
	struct fd_view v;

	fdtab_ask(t, task, fd, &v);
	return v.offset;
}

int64_t fdtab_size(struct fdtab *t, struct fd_task *task, int fd)
{
	char at[48];
	struct stat st;
	int dir = link_at(task, fd, at);

	(void)t;
	return fstatat(dir, at, &st, 0) < 0 || !S_ISREG(st.st_mode) ? OP_NO_OFFSET
								    : st.st_size;
}

/* Append b to a, resolving ".", ".." and double slashes by text alone. */
static void join(char *a, size_t size, const char *b)
{
	size_t len = strlen(a);

	while (*b) {
		size_t n = strcspn(b, "/");
		if (n == 2 && !strncmp(b, "..", 2)) {
			while (len && a[--len] != '/')
				;
		} else if (n && !(n == 1 && *b == '.') && len + n + 2 < size) {
			a[len++] = '/';
			memcpy(a + len, b, n);
			len += n;
		}
		b += n + (b[n] == '/');
	}
	if (!len)
		a[len++] = '/';
	a[len] = 0;
}

uint32_t fdtab_path(struct fdtab *t, struct fd_task *task, int dirfd, const char *path)
{
	char at[48], full[2 * PATH_MAX] = "", seen[2 * PATH_MAX + 32];
	struct stat st = { 0 };
	ssize_t n = 0;

	if (*path != '/') {
		if (dirfd == AT_FDCWD)
			snprintf(at, sizeof(at), "/proc/%d/cwd", task->tid);
		else
			snprintf(at, sizeof(at), "/proc/%d/fd/%d", task->tid, dirfd);
		n = readlink(at, full, PATH_MAX);
		if (n <= 0 || *full != '/')
			return 0;
		full[n == 1 ? 0 : n] = 0;
	}
	join(full, sizeof(full), path);
	snprintf(seen, sizeof(seen), "/proc/%d/root%s", task->tid, full);
	struct statx sx = { 0 };
	if (stat(seen, &st) < 0)
		st = (struct stat){ 0 };
	else if (statx(AT_FDCWD, seen, 0, STATX_MNT_ID, &sx) < 0 ||
		 !(sx.stx_mask & STATX_MNT_ID))
		sx.stx_mnt_id = 0;
	return add_file(t, full, strlen(full),
		mounts_point(&t->mounts, task->tid, sx.stx_mnt_id), &st);
}

uint32_t fdtab_file(struct fdtab *t, struct fd_task *task, const char *path, size_t len,
	uint64_t mount, const struct stat *is)
{
	uint32_t point = mount == FDTAB_MOUNT_OF_PATH
				 ? mounts_above(&t->mounts, path, len, is)
				 : mounts_point(&t->mounts, task->tid, mount);

	return add_file(t, path, len, point, is);
}

uint32_t fdtab_exe(struct fdtab *t, struct fd_task *task)
{
	char at[48], path[PATH_MAX];
	struct stat st;

	snprintf(at, sizeof(at), "/proc/%d/exe", task->tid);
	ssize_t n = readlink(at, path, sizeof(path) - 1);
	if (n <= 0 || stat(at, &st) < 0)
		return 0;
	path[n] = 0;
	return add_file(t, path, n, 0, &st);
}
