/*
 * fdtab.c - descriptors to files, by asking /proc
 *
 * Two questions an operation: fdinfo, kept open, says position, flags, mount and inode;
 * readlink says the path at this moment. Only when one of them has changed since the
 * last time is the file looked up anew. A socket or a pipe without a name has no path
 * that could change: its inode is enough.
 */
#include "iops/fdtab.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
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
	struct map points;  /* mount id -> name of the mount point */
	struct map systems; /* (major, minor) -> name of the type */
	FILE *mountinfo;    /* our own, kept open; or NULL */
	char *mounted;      /* what it said last */
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
		t->names = names;
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
	map_fini(&t->points);
	map_fini(&t->systems);
	free(t->mounted);
	if (t->mountinfo)
		fclose(t->mountinfo);
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

/* Blanks and the like are octal there: "\040". Cuts the field off; returns its length. */
static size_t unescape(char *field)
{
	char *to = field;

	for (char *p = field; *p && *p != ' ' && *p != '\n'; to++) {
		bool octal = *p == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] && p[3];
		*to = octal ? (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'))
			    : *p;
		p += octal ? 4 : 1;
	}
	*to = 0;
	return to - field;
}

/* "36 35 98:0 /root /point options - type source ...\n": a line of mountinfo, proc(5). */
struct mount_line {
	uint64_t id, major, minor;
	const char *rest, *end;
};

/* The first line of a text, and what comes behind it. NULL: there is none. */
static const char *next_line(const char *text, struct mount_line *l)
{
	char *p;

	if (!text || !(l->end = strchr(text, '\n')))
		return NULL;
	l->id = strtoull(text, &p, 10);
	strtoull(p, &p, 10);
	l->major = strtoull(p, &p, 10);
	l->minor = strtoull(p + (*p == ':'), &p, 10);
	l->rest = p;
	return l->end + 1;
}

static void learn_system(struct fdtab *t, const struct mount_line *l)
{
	static const char dash[] = " - ";
	const char *type = memmem(l->rest, l->end - l->rest, dash, sizeof(dash) - 1);

	if (!type)
		return;
	type += sizeof(dash) - 1;
	uint32_t name = names_add(t->names, type, strcspn(type, " \n"));
	if (name)
		map_put(&t->systems, l->major, l->minor, name);
}

/* The name of its mount point: the second field of what is left. 0: it has none. */
static uint32_t point_of(struct fdtab *t, const struct mount_line *l)
{
	char point[PATH_MAX];
	const char *from = l->rest + (*l->rest == ' ');

	from += strcspn(from, " \n");
	from += *from == ' ';
	size_t len = strcspn(from, " \n");
	if (!len || len >= sizeof(point))
		return 0;
	memcpy(point, from, len);
	point[len] = 0;
	return names_add(t->names, point, unescape(point));
}

/* All that a text says of a mount id. 0: nothing. */
static uint32_t learn_mount(struct fdtab *t, const char *text, uint64_t id)
{
	struct mount_line l;
	uint32_t name = 0;

	while (!name && (text = next_line(text, &l)))
		if (l.id == id && (name = point_of(t, &l))) {
			learn_system(t, &l);
			map_put(&t->points, id, 0, name);
		}
	return name;
}

/* A mountinfo from its beginning, to be freed. NULL: it cannot be read. */
static char *read_mounts(FILE *f)
{
	char *text = NULL;
	size_t size = 0;

	rewind(f);
	if (getdelim(&text, &size, 0, f) < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

void fdtab_unmounted(struct fdtab *t)
{
	map_fini(&t->points);
	map_fini(&t->systems);
}

/*
 * What is mounted where we are: read again only once that has changed, which poll(2) says
 * of the file. Ids are the same everywhere: mount namespaces(7) have no ids of their own.
 */
static const char *our_mounts(struct fdtab *t)
{
	if (!t->mountinfo)
		t->mountinfo = fopen("/proc/self/mountinfo", "re");
	if (!t->mountinfo)
		return NULL;
	struct pollfd changed = { .fd = fileno(t->mountinfo), .events = POLLPRI };
	if (poll(&changed, 1, 0) || !t->mounted) {
		fdtab_unmounted(t);
		free(t->mounted);
		t->mounted = read_mounts(t->mountinfo);
	}
	return t->mounted;
}

/* The mount point of a mount id: if we have no such mount, by the task's own mountinfo.
 */
static uint32_t mount_point(struct fdtab *t, pid_t tid, uint64_t id)
{
	uint32_t name = id ? map_get(&t->points, id, 0) : 0;
	char path[48];

	if (!name && id)
		name = learn_mount(t, our_mounts(t), id);
	if (name || !id)
		return name;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", tid);
	FILE *f = fopen(path, "re");
	char *text = f ? read_mounts(f) : NULL;
	name = learn_mount(t, text, id);
	free(text);
	if (f)
		fclose(f);
	return name;
}

static uint32_t system_of(struct fdtab *t, const struct stat *st)
{
	const uint64_t most = major(st->st_dev), least = minor(st->st_dev);
	uint32_t name = map_get(&t->systems, most, least);
	struct mount_line l;

	for (const char *text = t->mounted; !name && (text = next_line(text, &l));)
		if (l.major == most && l.minor == least) {
			learn_system(t, &l);
			name = map_get(&t->systems, most, least);
		}
	return name;
}

void fdtab_foresee(struct fdtab *t)
{
	our_mounts(t);
}

static uint8_t type_of(const struct stat *st, const char *path)
{
	enum file_type type = file_type_by_mode(st->st_mode, st->st_rdev);

	return type == FILE_UNKNOWN && !strncmp(path, "anon_inode:", 11) ? FILE_ANON
									 : type;
}

static uint32_t add_file(struct fdtab *t, const char *path, size_t len, uint32_t mount,
	const struct stat *st)
{
	struct file f = {
		.path = names_add(t->names, path, len),
		.mount = mount,
		.major = major(st->st_dev),
		.minor = minor(st->st_dev),
		.inode = st->st_ino,
		.fs = system_of(t, st),
		.type = type_of(st, path),
	};

	/* A memfd or a deleted anonymous file is still a file; an eventfd is not. */
	return names_add_file(t->names, &f);
}

static void find_file(struct fdtab *t, struct fd_task *task, int fd, struct fd_slot *s,
	const struct fdinfo *in)
{
	char at[48];
	struct stat st;
	int dir = link_at(task, fd, at);

	s->mount = in->mount;
	s->inode = in->inode;
	s->file = 0;
	s->type = FILE_UNKNOWN;
	if (fstatat(dir, at, &st, 0) < 0)
		return;
	s->inode = in->inode ? in->inode : st.st_ino;
	s->type = type_of(&st, s->path);
	/* Pipes, sockets and the like are on mounts of the kernel's own. */
	uint32_t mount = 0;
	if (*s->path == '/') {
		our_mounts(t); /* it may be another one under the same id */
		mount = mount_point(t, task->tid, in->mount);
	}
	s->file = add_file(t, s->path, s->len, mount, &st);
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
	char *copy = realloc(s->path, n + 1);
	if (!copy) {
		s->file = 0;
		return;
	}
	s->path = memcpy(copy, path, n);
	s->path[n] = 0;
	s->len = n;
	find_file(t, task, s->fd, s, in);
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
	return add_file(
		t, full, strlen(full), mount_point(t, task->tid, sx.stx_mnt_id), &st);
}

uint32_t fdtab_file(struct fdtab *t, struct fd_task *task, const char *path, size_t len,
	uint64_t mount, const struct stat *is)
{
	return add_file(t, path, len, mount_point(t, task->tid, mount), is);
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
