/*
 * fdtrack.c - descriptors to files, from the history of their processes
 */
#include "iops/fdtrack.h"
#include "iops/names.h"
#include "iops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct fd_slot {
	struct fd_open *open;
	bool cloexec;
	uint64_t since; /* the number was given, if later than what is open was opened */
};

struct fd_table {
	unsigned refs; /* processes that share it */
	int n;
	struct fd_slot *slot;
	struct fd_table *next, *prev;
};

struct fdtrack {
	struct names *names;
	struct fd_table head; /* of all tables */
	char *path;
	size_t cap;
};

struct fdtrack *fdtrack_new(struct names *names)
{
	struct fdtrack *t = calloc(1, sizeof(*t));

	if (t) {
		t->names = names;
		t->head.next = t->head.prev = &t->head;
	}
	return t;
}

static void let_go(struct fd_slot *s)
{
	if (s->open && !--s->open->refs)
		free(s->open);
	*s = (struct fd_slot){ 0 };
}

static void table_free(struct fd_table *table)
{
	for (int fd = 0; fd < table->n; fd++)
		let_go(&table->slot[fd]);
	table->next->prev = table->prev;
	table->prev->next = table->next;
	free(table->slot);
	free(table);
}

void fdtrack_free(struct fdtrack *t)
{
	if (!t)
		return;
	while (t->head.next != &t->head)
		table_free(t->head.next);
	free(t->path);
	free(t);
}

struct fd_table *fdtrack_table(struct fdtrack *t)
{
	struct fd_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->refs = 1;
	table->next = t->head.next;
	table->prev = &t->head;
	table->next->prev = table->prev->next = table;
	return table;
}

static int reach(struct fd_table *table, int fd)
{
	if (fd < 0 || fd >= FDTRACK_MAX)
		return -EBADF;
	if (fd < table->n)
		return 0;
	int n = table->n ? 2 * table->n : 16;
	while (n <= fd)
		n *= 2;
	struct fd_slot *more = realloc(table->slot, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + table->n, 0, (n - table->n) * sizeof(*more));
	table->slot = more;
	table->n = n;
	return 0;
}

struct fd_table *fdtrack_copy(struct fdtrack *t, const struct fd_table *of)
{
	struct fd_table *table = fdtrack_table(t);
	int used = of->n;

	while (used && !of->slot[used - 1].open)
		used--;
	if (!table || !used)
		return table;
	if (reach(table, used - 1) < 0) {
		table_free(table);
		return NULL;
	}
	for (int fd = 0; fd < used; fd++) {
		table->slot[fd] = of->slot[fd];
		if (of->slot[fd].open)
			of->slot[fd].open->refs++;
	}
	return table;
}

struct fd_table *fdtrack_share(struct fd_table *of)
{
	of->refs++;
	return of;
}

bool fdtrack_is_shared(const struct fd_table *table)
{
	return table->refs > 1;
}

void fdtrack_end(struct fdtrack *t, struct fd_table *table)
{
	(void)t;
	if (table && !--table->refs)
		table_free(table);
}

int fdtrack_open(
	struct fdtrack *t, struct fd_table *table, int fd, const struct fd_open *what)
{
	int err = reach(table, fd);

	(void)t;
	if (err < 0)
		return err == -EBADF ? 0 : err;
	struct fd_open *open = malloc(sizeof(*open));
	if (!open)
		return -ENOMEM;
	*open = *what;
	open->refs = 1;
	let_go(&table->slot[fd]);
	table->slot[fd] = (struct fd_slot){ .open = open,
		.cloexec = what->flags != -1 && what->flags & O_CLOEXEC };
	return 0;
}

int fdtrack_dup(struct fdtrack *t, struct fd_table *table, int from, int to, bool cloexec)
{
	struct fd_open *open = fdtrack_get(table, from);

	if (from == to)
		return 0;
	if (!open) {
		fdtrack_close(t, table, to);
		return 0;
	}
	int err = reach(table, to);
	if (err < 0)
		return err == -EBADF ? 0 : err;
	open->refs++;
	let_go(&table->slot[to]);
	table->slot[to] = (struct fd_slot){ .open = open, .cloexec = cloexec };
	return 0;
}

void fdtrack_since(struct fd_table *table, int fd, uint64_t when)
{
	if (fd >= 0 && fd < table->n && table->slot[fd].open)
		table->slot[fd].since = when;
}

void fdtrack_close_old(struct fdtrack *t, struct fd_table *table, int fd, uint64_t when)
{
	const struct fd_open *o = fdtrack_get(table, fd);

	if (o && when > o->since && when > table->slot[fd].since)
		fdtrack_close(t, table, fd);
}

void fdtrack_close(struct fdtrack *t, struct fd_table *table, int fd)
{
	(void)t;
	if (fd >= 0 && fd < table->n)
		let_go(&table->slot[fd]);
}

void fdtrack_close_range(
	struct fdtrack *t, struct fd_table *table, unsigned from, unsigned to)
{
	for (unsigned fd = from; fd < (unsigned)table->n && fd <= to; fd++)
		fdtrack_close(t, table, (int)fd);
}

void fdtrack_set_cloexec(struct fd_table *table, int fd, bool on)
{
	if (fd >= 0 && fd < table->n)
		table->slot[fd].cloexec = on;
}

void fdtrack_cloexec_range(struct fd_table *table, unsigned from, unsigned to)
{
	for (unsigned fd = from; fd < (unsigned)table->n && fd <= to; fd++)
		table->slot[fd].cloexec = true;
}

int fdtrack_replay(
	struct fd_table *to, const struct fd_table *base, const struct fd_table *changed)
{
	int n = base->n > changed->n ? base->n : changed->n;

	for (int fd = 0; fd < n; fd++) {
		struct fd_slot is =
			fd < changed->n ? changed->slot[fd] : (struct fd_slot){ 0 };
		if (is.open == fdtrack_get(base, fd))
			continue;
		int err = is.open ? reach(to, fd) : 0;
		if (err < 0)
			return err;
		if (is.open)
			is.open->refs++;
		if (fd < to->n) {
			let_go(&to->slot[fd]);
			to->slot[fd] = is;
		}
	}
	return 0;
}

struct fd_open *fdtrack_hold(const struct fd_table *table, int fd)
{
	struct fd_open *open = fdtrack_get(table, fd);

	if (open)
		open->refs++;
	return open;
}

void fdtrack_drop(struct fd_open *open)
{
	let_go(&(struct fd_slot){ .open = open });
}

int fdtrack_give(struct fd_table *table, int fd, struct fd_open *open)
{
	int err = reach(table, fd);

	if (err < 0) {
		fdtrack_drop(open);
		return err == -EBADF ? 0 : err;
	}
	let_go(&table->slot[fd]);
	table->slot[fd].open = open;
	return 0;
}

struct fd_table *fdtrack_exec(struct fdtrack *t, struct fd_table *table)
{
	if (table->refs > 1) {
		struct fd_table *own = fdtrack_copy(t, table);
		if (!own)
			return NULL;
		table->refs--;
		table = own;
	}
	for (int fd = 0; fd < table->n; fd++)
		if (table->slot[fd].cloexec)
			let_go(&table->slot[fd]);
	return table;
}

struct fd_open *fdtrack_get(const struct fd_table *table, int fd)
{
	return fd >= 0 && fd < table->n ? table->slot[fd].open : NULL;
}

void fdtrack_each(struct fdtrack *t, void (*fn)(struct fd_open *, void *), void *arg)
{
	for (struct fd_table *table = t->head.next; table != &t->head;
		table = table->next)
		for (int fd = 0; fd < table->n; fd++)
			if (table->slot[fd].open)
				fn(table->slot[fd].open, arg);
}

int fdtrack_last(const struct fd_table *table)
{
	return table->n - 1;
}

/* Put one part behind the path at hand; ".." takes the last one off. */
static size_t add_part(char *out, size_t n, const char *part, size_t len)
{
	bool up = len == 2 && part[0] == '.' && part[1] == '.';

	if (!len || (len == 1 && *part == '.'))
		return n;
	if (up && n &&
		!(n >= 2 && out[n - 1] == '.' && out[n - 2] == '.' &&
			(n == 2 || out[n - 3] == '/'))) {
		while (n && out[n - 1] != '/')
			n--;
		return n > 1 ? n - 1 : n;
	}
	if (n && out[n - 1] != '/')
		out[n++] = '/';
	memcpy(out + n, part, len);
	return n + len;
}

static size_t add_parts(char *out, size_t n, const char *path, size_t len)
{
	const char *end = path + len;

	while (path < end) {
		const char *slash = memchr(path, '/', end - path);
		size_t part = slash ? (size_t)(slash - path) : (size_t)(end - path);
		n = add_part(out, n, path, part);
		path += part + 1;
	}
	return n;
}

/* Nothing in it to be made plain: the common case. */
static bool is_plain(const char *path, size_t len)
{
	return *path == '/' && len > 1 && path[len - 1] != '/' &&
	       !memmem(path, len, "//", 2) && !memmem(path, len, "/.", 2);
}

uint32_t fdtrack_path(struct fdtrack *t, uint32_t dir, const char *path, size_t len)
{
	const char *base = names_get(t->names, dir);
	size_t before = len && *path == '/' ? 0 : strlen(base), n = 0;

	if (len && is_plain(path, len))
		return names_add(t->names, path, len);
	if (before + len + 2 > t->cap) {
		char *more = realloc(t->path, 2 * (before + len + 2));
		if (!more)
			return 0;
		t->path = more;
		t->cap = 2 * (before + len + 2);
	}
	if (before ? *base == '/' : len && *path == '/')
		t->path[n++] = '/';
	n = add_parts(t->path, n, base, before);
	n = add_parts(t->path, n, path, len);
	return n ? names_add(t->names, t->path, n) : names_add(t->names, ".", 1);
}
