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

static void learn_system(struct mounts *m, const struct mount_line *l)
{
	static const char dash[] = " - ";
	const char *type = memmem(l->rest, l->end - l->rest, dash, sizeof(dash) - 1);

	if (!type)
		return;
	type += sizeof(dash) - 1;
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
	return m->mounted;
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
		m->spot[m->nspots++] =
			(struct mount_spot){ l.major, l.minor, point_of(m, &l) };
	}
}

static bool is_below(const char *path, size_t len, const char *point)
{
	size_t n = strlen(point);

	n -= n && point[n - 1] == '/';
	return n <= len && !memcmp(path, point, n) && (n == len || path[n] == '/');
}

/* Of some file system or, 0, of any: the last of the longest. */
static uint32_t longest(
	const struct mounts *m, const struct stat *is, const char *path, size_t len)
{
	uint32_t best = 0, only = 0;
	size_t most = 0;
	unsigned n = 0;

	for (size_t i = 0; i < m->nspots; i++) {
		const struct mount_spot *s = &m->spot[i];
		if (is &&
			(s->major != major(is->st_dev) || s->minor != minor(is->st_dev)))
			continue;
		const char *name = names_get(m->names, s->point);
		only = n++ ? 0 : s->point;
		if (!s->point || !is_below(path, len, name) || strlen(name) < most)
			continue;
		most = strlen(name);
		best = s->point;
	}
	return only ? only : best;
}

uint32_t mounts_above(
	struct mounts *m, const char *path, size_t len, const struct stat *is)
{
	const char *text = mounts_look(m);

	if (!m->nspots)
		list(m, text);
	uint32_t point = longest(m, is, path, len);
	/* A subvolume of btrfs has a number that no mount has. */
	return point || *path != '/' ? point : longest(m, NULL, path, len);
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
