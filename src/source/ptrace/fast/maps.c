/*
 * maps.c - what is mapped where, of a task that stands still
 *
 * To read /proc/PID/maps takes the kernel longer than a stop, so it is kept until
 * something is mapped.
 */
#include "fast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void maps_forget(struct maps *m)
{
	m->len = 0;
}

void maps_free(struct maps *m)
{
	free(m->text);
	*m = (struct maps){ NULL, 0, 0, 0 };
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

/* Read them, unless they are known. 0 or -errno. */
int maps_of(struct maps *m, pid_t tid)
{
	char path[32];
	ssize_t n;
	int err;

	if (m->len && m->of == tid)
		return 0;
	m->len = 0;
	m->of = tid;
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		err = more_room(m);
		n = err ? 0 : read(fd, m->text + m->len, m->cap - m->len - 1);
		m->len += n > 0 ? n : 0;
	} while (n > 0);
	err = err ? err : n < 0 ? -errno : m->len ? 0 : -ESRCH;
	close(fd);
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
