/*
 * links.c - symbolic links that were made
 *
 * What a record opened by way of a link was where that led to then. By the time that the
 * record is read the link may lead elsewhere, or be gone: so what is said by symlink(2)
 * is kept, in the order of records, by the link's real path.
 */
#include "../tracer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 }; /* links that are kept: then it begins anew */

/* Paths below a link mean something else now. */
static void forget_dirs(struct tracer *t, const char *link)
{
	size_t len = strlen(link);

	for (int i = 0; i < FAST_DIRS; i++) {
		struct fast_dir *d = &t->fast->dir[i];
		if (!d->name)
			continue;
		const char *name = names_get(t->names, d->name);
		if (!strncmp(name, link, len) && (!name[len] || name[len] == '/'))
			d->name = 0;
	}
}

/* What a link is in, up to the root: it is looked for there if that is renamed. */
static void put(struct fast *f, struct names *names, uint32_t link, uint64_t text)
{
	const char *path = names_get(names, link), *end = strrchr(path, '/');

	map_put(&f->links, link, 0, text);
	while (end && end > path) {
		uint32_t dir = names_add(names, path, end - path);
		if (!dir || map_get(&f->link_dirs, dir, 0) ||
			map_put(&f->link_dirs, dir, 0, 1) < 0)
			return;
		while (*--end != '/')
			;
	}
}

void links_fini(struct fast *f)
{
	map_fini(&f->links);
	map_fini(&f->link_dirs);
}

/* symlink(2) has made a link, to a text. Its path as it was given, and its real one. */
void links_put(struct tracer *t, uint32_t full, uint32_t link, const char *to)
{
	uint32_t text = *to ? names_add(t->names, to, strlen(to)) : 0;

	forget_dirs(t, names_get(t->names, full));
	if (link != full)
		forget_dirs(t, names_get(t->names, link));
	if (t->fast->links.n >= MOST)
		links_fini(t->fast);
	if (text)
		put(t->fast, t->names, link, text);
}

static uint32_t moved(
	struct names *names, uint32_t link, const char *from, const char *to)
{
	char path[2 * PATH_MAX];
	const char *text = names_get(names, link);
	size_t len = strlen(from);

	if (strncmp(text, from, len) || (text[len] && text[len] != '/'))
		return 0;
	int n = snprintf(path, sizeof(path), "%s%s", to, text + len);
	return n < (int)sizeof(path) ? names_add(names, path, n) : 0;
}

/* All that are below one of two paths. */
static void move_all(
	struct fast *f, struct names *names, uint32_t from, uint32_t to, bool exchange)
{
	struct map was = f->links;
	const char *a = names_get(names, from), *b = names_get(names, to);

	f->links = (struct map){ 0 };
	for (size_t i = 0; i < was.cap; i++) {
		const struct map_slot *s = &was.slot[i];
		if (!s->value)
			continue;
		uint32_t gone = moved(names, (uint32_t)s->a, b, a);
		uint32_t come = moved(names, (uint32_t)s->a, a, b);
		if (come || (gone && exchange))
			put(f, names, come ? come : gone, s->value);
		else if (!gone)
			put(f, names, (uint32_t)s->a, s->value);
	}
	map_fini(&was);
}

/*
 * A path has become another one, with all that is below it, or has gone (to: 0); both
 * may be exchanged. Real paths, by name.
 */
void links_renamed(struct tracer *t, uint32_t from, uint32_t to, bool exchange)
{
	struct fast *f = t->fast;
	uint64_t come = map_get(&f->links, from, 0);
	uint64_t gone = to && exchange ? map_get(&f->links, to, 0) : 0;

	if (!f->links.n || from == to)
		return;
	if (to && (map_get(&f->link_dirs, from, 0) ||
			  (exchange && map_get(&f->link_dirs, to, 0)))) {
		move_all(f, t->names, from, to, exchange);
		return;
	}
	map_del(&f->links, from, 0);
	if (to)
		map_del(&f->links, to, 0);
	if (to && come)
		put(f, t->names, to, come);
	if (gone)
		put(f, t->names, from, gone);
}

struct touched {
	const struct fast *fast;
	const char *link;
	bool any, comes; /* the link, or what it is in; what is there now came later */
};

/* Whether the last part of a path is one of the link's: its last, but of renamings. */
static bool is_part(const char *path, const char *link, bool last)
{
	const char *slash = strrchr(path, '/'), *part = slash ? slash + 1 : path;
	size_t len = strlen(part);

	if (last)
		link = strrchr(link, '/');
	for (; len && link; link = strchr(link, '/'))
		if (!strncmp(++link, part, len) && (!link[len] || link[len] == '/'))
			return true;
	return false;
}

static bool touches(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	struct touched *what = arg;
	char path[2][PATH_LEN + 1];
	unsigned n = rec_npaths(what->fast, r);
	bool links = rec_links(r);

	(void)k;
	(void)flight;
	rec_paths(r, n, path);
	for (unsigned i = links; i < n; i++) {
		if (!is_part(path[i], what->link, links || n == 1))
			continue;
		what->any = true;
		what->comes |= i == 1 || rec_exchanges(r);
	}
	return true;
}

/*
 * Where a link led to when the record at hand was written: bytes in out, which holds n of
 * what it says now (n <= 0: there is none). link: its real path. 0: it was none.
 */
ssize_t links_then(struct tracer *t, const char *link, char *out, ssize_t n, size_t size)
{
	struct touched what = { t->fast, link, false, false };
	bool any = t->fast->links.n;
	uint32_t name = any ? names_add(t->names, link, strlen(link)) : 0;
	uint32_t kept = name ? (uint32_t)map_get(&t->fast->links, name, 0) : 0;
	const char *then = kept ? names_get(t->names, kept) : "";

	if (n <= 0 && !kept)
		return 0;
	if (n > 0 && strlen(then) == (size_t)n && !memcmp(then, out, n))
		return n;
	records_touching(t->fast, link, touches, &what);
	if (!what.any) {
		if (kept)
			map_del(&t->fast->links, name, 0);
		return n > 0 ? n : 0; /* it was changed by others */
	}
	if (!kept)
		return what.comes ? 0 : n;
	n = (ssize_t)strlen(then);
	if ((size_t)n >= size)
		return 0;
	memcpy(out, then, n);
	return n;
}
