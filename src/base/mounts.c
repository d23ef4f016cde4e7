/*
 * mounts.c - what is mounted where
 */
#include "mounts.h"

#include "iops/names.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
	uint64_t id, parent, major, minor;
	const char *rest, *end;
};

/* The first line of a text, and what comes behind it. NULL: there is none. */
static const char *next_line(const char *text, struct mount_line *l)
{
	char *p;

	if (!text || !(l->end = strchr(text, '\n')))
		return NULL;
	l->id = strtoull(text, &p, 10);
	l->parent = strtoull(p, &p, 10);
	l->major = strtoull(p, &p, 10);
	l->minor = strtoull(p + (*p == ':'), &p, 10);
	l->rest = p;
	return l->end + 1;
}

/* Ends with a blank or the line. NULL: there is none. */
static const char *type_of(const struct mount_line *l)
{
	static const char dash[] = " - ";
	const char *type = memmem(l->rest, l->end - l->rest, dash, sizeof(dash) - 1);

	return type ? type + sizeof(dash) - 1 : NULL;
}

static void learn_system(struct mounts *m, const struct mount_line *l)
{
	const char *type = type_of(l);

	if (!type)
		return;
	uint32_t name = names_add(m->names, type, strcspn(type, " \n"));
	if (name)
		map_put(&m->systems, l->major, l->minor, name);
}

/* The name of its mount point: the second field of what is left. 0: it has none. */
static uint32_t point_of(struct mounts *m, const struct mount_line *l)
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
	return names_add(m->names, point, unescape(point));
}

/* All that a text says of a mount id. 0: nothing. */
static uint32_t learn_mount(struct mounts *m, const char *text, uint64_t id)
{
	struct mount_line l;
	uint32_t name = 0;

	while (!name && (text = next_line(text, &l)))
		if (l.id == id && (name = point_of(m, &l))) {
			learn_system(m, &l);
			map_put(&m->points, id, 0, name);
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

void mounts_changed(struct mounts *m)
{
	map_fini(&m->points);
	map_fini(&m->systems);
	m->fresh = false;
}

void mounts_fini(struct mounts *m)
{
	mounts_changed(m);
	free(m->spot);
	free(m->mounted);
	if (m->mountinfo)
		fclose(m->mountinfo);
}

/*
 * Read again only once that has changed, which poll(2) says of the file. Ids are the same
 * everywhere: mount namespaces(7) have no ids of their own.
 */
const char *mounts_look(struct mounts *m)
{
	if (!m->mountinfo)
		m->mountinfo = fopen("/proc/self/mountinfo", "re");
	if (!m->mountinfo)
		return NULL;
	struct pollfd changed = { .fd = fileno(m->mountinfo), .events = POLLPRI };
	if (poll(&changed, 1, 0) || !m->mounted) {
		mounts_changed(m);
		free(m->mounted);
		m->mounted = read_mounts(m->mountinfo);
		m->nspots = 0;
	}
	m->fresh = true;
	return m->mounted;
}

void mounts_later(struct mounts *m)
{
	m->fresh = false;
}

uint32_t mounts_point(struct mounts *m, pid_t tid, uint64_t id)
{
	uint32_t name = id ? map_get(&m->points, id, 0) : 0;
	char path[48];

	if (!name && id)
		name = learn_mount(m, mounts_look(m), id);
	if (name || !id)
		return name;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", tid);
	FILE *f = fopen(path, "re");
	char *text = f ? read_mounts(f) : NULL;
	name = learn_mount(m, text, id);
	free(text);
	if (f)
		fclose(f);
	return name;
}

/* Of a subvolume, or of what an overlay shows. */
static bool is_odd(const struct mount_line *l)
{
	static const char *const odd[] = { "btrfs ", "overlay " };
	const char *type = type_of(l);

	for (size_t i = 0; type && i < sizeof(odd) / sizeof(*odd); i++)
		if (!strncmp(type, odd[i], strlen(odd[i])))
			return true;
	return false;
}

/* All that is mounted, in the order of the text. Without memory: what there is room for.
 */
static void list(struct mounts *m, const char *text)
{
	struct mount_line l;
	size_t cap = 0;

	free(m->spot);
	m->spot = NULL;
	while ((text = next_line(text, &l))) {
		if (m->nspots == cap) {
			cap = cap ? 2 * cap : 32;
			struct mount_spot *more =
				realloc(m->spot, cap * sizeof(struct mount_spot));
			if (!more)
				return;
			m->spot = more;
		}
		m->spot[m->nspots++] = (struct mount_spot){ l.id, l.parent, l.major,
			l.minor, point_of(m, &l), is_odd(&l), 0 };
	}
}

static bool is_below(const char *path, size_t len, const char *point)
{
	size_t n = strlen(point);

	n -= n && point[n - 1] == '/';
	return n <= len && !memcmp(path, point, n) && (n == len || path[n] == '/');
}

static bool covers(
	const struct mounts *m, const struct mount_spot *by, const struct mount_spot *s)
{
	const char *point = names_get(m->names, s->point);

	return by->point &&
	       is_below(point, strlen(point), names_get(m->names, by->point));
}

/* What is mounted on the same one as something further down the same path came later,
 * else that would be mounted on it. */
static bool is_buried(const struct mounts *m, struct mount_spot *s)
{
	struct mount_spot *parent = NULL;

	if (s->buried)
		return s->buried > 0;
	s->buried = -1;
	for (size_t i = 0; i < m->nspots; i++) {
		struct mount_spot *by = &m->spot[i];
		if (by->id == s->parent && by != s)
			parent = by;
		else if (by != s && by->parent == s->parent && covers(m, by, s))
			s->buried = 1;
	}
	if (s->buried < 0 && parent && is_buried(m, parent))
		s->buried = 1;
	return s->buried > 0;
}

/* Whether no path leads there: another one is mounted over it, or over what it is on. */
static bool is_hidden(const struct mounts *m, struct mount_spot *s)
{
	for (size_t i = 0; i < m->nspots; i++)
		if (m->spot[i].parent == s->id && m->spot[i].point == s->point &&
			&m->spot[i] != s)
			return true;
	return is_buried(m, s);
}

static bool is_of(const struct mount_spot *s, const struct stat *is)
{
	return s->major == major(is->st_dev) && s->minor == minor(is->st_dev);
}

/* The longest that a path is below; is: of that file system, or NULL: of any. */
static const struct mount_spot *longest(
	struct mounts *m, const struct stat *is, const char *path, size_t len)
{
	const struct mount_spot *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < m->nspots; i++) {
		struct mount_spot *s = &m->spot[i];
		const char *point = names_get(m->names, s->point);
		size_t n = strlen(point);
		if (!s->point || (is && !is_of(s, is)) || !is_below(path, len, point) ||
			(best && n < most) || is_hidden(m, s))
			continue;
		most = n;
		best = s;
	}
	return best;
}

/* memfd_create(2), by way of a link below /proc. */
static bool is_unmounted(const char *path, size_t len)
{
	static const char memfd[] = "/memfd:";

	return len >= sizeof(memfd) - 1 && !memcmp(path, memfd, sizeof(memfd) - 1);
}

uint32_t mounts_above(
	struct mounts *m, const char *path, size_t len, const struct stat *is)
{
	const struct mount_spot *only = NULL, *best;
	const char *text = m->fresh ? m->mounted : mounts_look(m);
	unsigned n = 0;

	if (!m->nspots)
		list(m, text);
	for (size_t i = 0; i < m->nspots; i++)
		if (is_of(&m->spot[i], is) && !n++)
			only = &m->spot[i];
	if (n == 1)
		return only->point;
	best = longest(m, n ? is : NULL, path, len);
	return best && (n || (best->odd && !is_unmounted(path, len))) ? best->point : 0;
}

uint32_t mounts_system(struct mounts *m, const struct stat *st)
{
	const uint64_t most = major(st->st_dev), least = minor(st->st_dev);
	uint32_t name = map_get(&m->systems, most, least);
	struct mount_line l;

	for (const char *text = m->mounted; !name && (text = next_line(text, &l));)
		if (l.major == most && l.minor == least) {
			learn_system(m, &l);
			name = map_get(&m->systems, most, least);
		}
	return name;
}
