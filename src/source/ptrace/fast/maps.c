/*
 * maps.c - what is mapped where, of a task that stands still
 *
 * To read /proc/PID/maps takes the kernel longer than a stop, so it is kept while the
 * task stands and nothing is mapped. Where only one mapping is asked for Linux 6.11 can
 * be asked for that.
 */
#include "fast.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void maps_forget(struct maps *m)
{
	m->len = 0;
}

void maps_free(struct maps *m)
{
	free(m->text);
	m->text = NULL;
	m->len = m->cap = 0;
}

/* At least a page: the kernel makes up one at a time. */
static int more_room(struct maps *m)
{
	enum { FIRST = 16 * 1024, ROOM = 4096 };

	if (m->cap - m->len > ROOM)
		return 0;
	size_t cap = m->cap ? 2 * m->cap : FIRST;
	char *more = realloc(m->text, cap);
	if (!more)
		return -ENOMEM;
	m->text = more;
	m->cap = cap;
	return 0;
}

static int open_maps(pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A task that stands will be asked for several times: until maps_let(), which is to come
 * before it runs another program. */
void maps_hold(struct maps *m, pid_t tid)
{
	m->fd = open_maps(tid);
	m->held = m->fd < 0 ? 0 : tid;
}

void maps_let(struct maps *m)
{
	if (m->held)
		close(m->fd);
	m->held = 0;
}

static int take(const struct maps *m, pid_t tid)
{
	return m->held != tid ? open_maps(tid) : lseek(m->fd, 0, SEEK_SET) ? -EIO : m->fd;
}

static void give(const struct maps *m, int fd)
{
	if (!m->held || fd != m->fd)
		close(fd);
}

/* Read them, unless they are known. 0 or -errno. */
int maps_of(struct maps *m, pid_t tid)
{
	ssize_t n;
	int err;

	if (m->len && m->of == tid)
		return 0;
	m->len = 0;
	m->of = tid;
	int fd = take(m, tid);
	if (fd < 0)
		return fd;
	do {
		err = more_room(m);
		n = err ? 0 : read(fd, m->text + m->len, m->cap - m->len - 1);
		m->len += n > 0 ? n : 0;
	} while (n > 0);
	err = err ? err : n < 0 ? -errno : m->len ? 0 : -ESRCH;
	give(m, fd);
	if (err)
		m->len = 0;
	else
		m->text[m->len] = 0;
	return err;
}

static const char *hex(const char *p, uint64_t *out)
{
	for (*out = 0;; p++) {
		unsigned digit = *p >= '0' && *p <= '9'   ? *p - '0'
				 : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
							  : 16;
		if (digit == 16)
			return p;
		*out = *out << 4 | digit;
	}
}

static const char *skip(const char *p, char c)
{
	return *p == c ? p + 1 : p;
}

/*
 * The next one, in the order of addresses; at: 0 before the first. Its path is not
 * terminated. proc_pid_maps(5): "FROM-TO rwxp OFFSET MAJOR:MINOR INODE   PATH".
 */
bool maps_next(const struct maps *m, size_t *at, struct mapping *out)
{
	const char *p = m->text + *at, *end;
	uint64_t major, minor;

	if (*at >= m->len || !(end = memchr(p, '\n', m->len - *at)))
		return false;
	*at = end + 1 - m->text;
	p = skip(hex(p, &out->from), '-');
	p = skip(hex(p, &out->to), ' ');
	if (end - p < 5)
		return false;
	memcpy(out->mode, p, 4);
	p = skip(hex(p + 5, &out->offset), ' ');
	p = skip(hex(p, &major), ':');
	p = skip(hex(p, &minor), ' ');
	out->dev = major << 32 | minor;
	for (out->inode = 0; *p >= '0' && *p <= '9'; p++)
		out->inode = out->inode * 10 + (*p - '0');
	while (*p == ' ')
		p++;
	out->path = p;
	out->path_len = end - p;
	return true;
}

/* The mapping around an address, or the first one above, of those that have been read. 0
 * or -EFAULT. */
static int find_read(const struct maps *m, uint64_t at, struct mapping *out)
{
	size_t next = 0;

	while (maps_next(m, &next, out))
		if (at < out->to)
			return 0;
	return -EFAULT;
}

/* linux/fs.h: newer than the C library may be. */
struct query {
	uint64_t size, flags, at;
	uint64_t from, to, mode, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)
enum { QUERY_READ = 1, QUERY_WRITE = 2, QUERY_EXEC = 4, QUERY_SHARED = 8, OR_NEXT = 16 };

/* -ENOTTY: the kernel cannot be asked. */
static int ask(struct maps *m, int fd, uint64_t at, struct mapping *out)
{
	struct query q = { .size = sizeof(q),
		.flags = OR_NEXT,
		.at = at,
		.name_size = sizeof(m->name),
		.name = (uintptr_t)m->name };

	*m->name = 0;
	if (ioctl(fd, QUERY, &q) < 0)
		return errno == ENOENT ? -EFAULT : -ENOTTY;
	*out = (struct mapping){ .from = q.from,
		.to = q.to,
		.offset = q.offset,
		.dev = (uint64_t)q.major << 32 | q.minor,
		.inode = q.inode,
		.path = m->name,
		.path_len = strlen(m->name),
		.mode = { q.mode & QUERY_READ ? 'r' : '-',
			q.mode & QUERY_WRITE ? 'w' : '-', q.mode & QUERY_EXEC ? 'x' : '-',
			q.mode & QUERY_SHARED ? 's' : 'p' } };
	return 0;
}

/* The one around an address, or the first one above. 0, -EFAULT if there is none, or
 * another -errno. */
int maps_from(struct maps *m, pid_t tid, uint64_t at, struct mapping *out)
{
	if (m->len && m->of == tid)
		return find_read(m, at, out);
	int fd = take(m, tid);
	if (fd < 0)
		return fd;
	int err = ask(m, fd, at, out);
	give(m, fd);
	if (err != -ENOTTY)
		return err;
	err = maps_of(m, tid);
	return err ? err : find_read(m, at, out);
}

/* The one around an address. Likewise. */
int maps_at(struct maps *m, pid_t tid, uint64_t at, struct mapping *out)
{
	int err = maps_from(m, tid, at, out);

	return err ? err : at < out->from ? -EFAULT : 0;
}
