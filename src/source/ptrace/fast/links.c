/*
 * links.c - links that were made
 *
 * What a record opened by way of a symbolic link was where that led to then. By the time
 * that the record is read the link may lead elsewhere, or be gone: so what is said by
 * symlink(2) is kept, in the order of records, by the link's real path. And which paths
 * were made the names of one file by link(2): rename(2) leaves those alone.
 */
#include "../tracer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	MOST = 4096, /* links that are kept: then it begins anew */
	MOVED = 64,  /* of those below a directory that is renamed: the rest is forgotten
		      */
};

/* A path: its name, and the mounts by which it is one. */
struct at {
	uint32_t name;
	uint64_t mounts;
};

struct link {
	uint64_t file; /* of a hard one: the same for all names of a file; else 0 */
	char to[];     /* what symlink(2) has said */
};

static struct link *get(const struct fast *f, struct at at)
{
	return (struct link *)map_get(&f->links, at.name, at.mounts);
}

static struct link *take(struct fast *f, struct at at)
{
	return (struct link *)map_del(&f->links, at.name, at.mounts);
}

/* A link leads elsewhere: nobody keeps by how many names there was a way past it. */
static void forget_dirs(struct fast *f)
{
	memset(f->dir, 0, sizeof(f->dir));
	map_fini(&f->followed);
}

void links_fini(struct fast *f)
{
	for (size_t i = 0; i < f->links.cap; i++)
		free((struct link *)f->links.slot[i].value);
	map_fini(&f->links);
	map_fini(&f->link_dirs);
}

/* What a link is in, up to the root: it is looked for there if that is renamed. */
static void note_dirs(struct fast *f, struct names *names, uint32_t link)
{
	const char *path = names_get(names, link), *end = strrchr(path, '/');

	while (end && end > path) {
		uint32_t dir = names_add(names, path, end - path);
		if (!dir || map_get(&f->link_dirs, dir, 0) ||
			map_put(&f->link_dirs, dir, 0, 1) < 0)
			return;
		while (*--end != '/')
			;
	}
}

/* x: ours from now on; NULL: there was no memory for it. */
static void put(struct fast *f, struct names *names, struct at at, struct link *x)
{
	free(take(f, at));
	if (x && map_put(&f->links, at.name, at.mounts, (uintptr_t)x) < 0)
		free(x);
	else if (x)
		note_dirs(f, names, at.name);
}

static struct link *new_link(uint64_t file, const char *to)
{
	size_t len = strlen(to) + 1;
	struct link *x = malloc(sizeof(*x) + len);

	if (x) {
		x->file = file;
		memcpy(x->to, to, len);
	}
	return x;
}

/* symlink(2) has made a link of that real path, to a text. */
void links_put(struct tracer *t, struct task *k, uint32_t real, const char *to)
{
	struct fast *f = t->fast;

	forget_dirs(f);
	if (f->links.n >= MOST)
		links_fini(f);
	put(f, t->names, (struct at){ real, mounts_of(t, k) },
		*to ? new_link(0, to) : NULL);
}

/* link(2) has given a file another name. Both are real paths. */
void links_shared(struct tracer *t, struct task *k, uint32_t old, uint32_t new)
{
	struct fast *f = t->fast;
	const struct at a = { old, mounts_of(t, k) }, b = { new, a.mounts };

	if (f->links.n + 1 >= MOST)
		links_fini(f);
	const struct link *was = get(f, a);
	if (was && !was->file) { /* of a symbolic one: another of those */
		put(f, t->names, b, new_link(0, was->to));
		return;
	}
	uint64_t file = was ? was->file : ++f->nshared;
	put(f, t->names, b, new_link(file, ""));
	if (!was)
		put(f, t->names, a, new_link(file, ""));
}

/* Whether two real paths are known to be, or not to be, names of one file. */
enum one links_one(struct tracer *t, struct task *k, uint32_t from, uint32_t to)
{
	uint64_t mounts = mounts_of(t, k);
	const struct link *a = get(t->fast, (struct at){ from, mounts });
	const struct link *b = get(t->fast, (struct at){ to, mounts });

	if (!a || !b || !a->file || !b->file)
		return ONE_UNKNOWN;
	return a->file == b->file ? ONE_SURELY : ONE_NOT;
}

/* Below a path: what is behind it; NULL: it is not. */
static const char *behind(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && path[len] == '/' ? path + len : NULL;
}

struct moving {
	struct names *names;
	const char *from, *to;
	bool exchange;
	unsigned n;
};

/* The name of a path by then; 0: it is not known any more. */
static uint32_t moved(struct moving *m, uint32_t link)
{
	char path[2 * PATH_MAX];
	const char *text = names_get(m->names, link);
	const char *come = behind(m->from, text), *gone = behind(m->to, text);

	if (!come && !gone)
		return link;
	if ((!come && !m->exchange) || ++m->n > MOVED)
		return 0;
	int n = snprintf(
		path, sizeof(path), "%s%s", come ? m->to : m->from, come ? come : gone);
	return n < (int)sizeof(path) ? names_add(m->names, path, n) : 0;
}

/* All that are below one of two paths. */
static void move_all(struct fast *f, struct moving *m)
{
	struct map was = f->links;

	f->links = (struct map){ 0 };
	for (size_t i = 0; i < was.cap; i++) {
		const struct map_slot *s = &was.slot[i];
		if (!s->value)
			continue;
		const struct at at = { moved(m, (uint32_t)s->a), s->b };
		if (at.name)
			put(f, m->names, at, (struct link *)s->value);
		else
			free((struct link *)s->value);
	}
	map_fini(&was);
}

/*
 * A path has become another one, with all that is below it, or has gone (to: 0); both
 * may be exchanged. Real paths, by name.
 */
void links_renamed(
	struct tracer *t, struct task *k, uint32_t from, uint32_t to, bool exchange)
{
	struct fast *f = t->fast;
	const struct at a = { from, mounts_of(t, k) }, b = { to, a.mounts };
	bool passed = map_get(&f->followed, from, 0) || map_get(&f->followed, to, 0);

	if (from == to || (!f->links.n && !passed))
		return;
	struct link *come = take(f, a), *gone = to ? take(f, b) : NULL;
	if (passed || (come && !come->file) || (gone && !gone->file))
		forget_dirs(f);
	if (to && come)
		put(f, t->names, b, come);
	else
		free(come);
	if (exchange && gone)
		put(f, t->names, a, gone);
	else
		free(gone);
	struct moving m = { t->names, names_get(t->names, from), names_get(t->names, to),
		exchange, 0 };
	if (to && (map_get(&f->link_dirs, from, 0) ||
			  (exchange && map_get(&f->link_dirs, to, 0))))
		move_all(f, &m);
}

/* Whether an inode has been as it is since before the record at hand. */
bool links_older(const struct tracer *t, const struct stat *st)
{
	enum { TICK = 11000000 }; /* the kernel's time of change may lag behind: ns */
	const struct fast *f = t->fast;
	struct timespec now;
	double ago = (double)(int64_t)(fast_tsc() - f->when) * f->clock.ns_per_tick;
	double run = (double)tracer_now(t);

	if (f->clock.ns_per_tick <= 0 || ago > run)
		ago = run; /* it was since we began, at any rate */
	clock_gettime(CLOCK_REALTIME, &now);
	double since = (double)(now.tv_sec - st->st_ctim.tv_sec) * 1e9 +
		       (double)(now.tv_nsec - st->st_ctim.tv_nsec);
	return since > ago + TICK;
}

struct touched {
	const struct fast *fast;
	const char *link, *last; /* its last part, from the slash on */
	bool any;                /* the link is touched, or what it is in; */
	bool comes;              /* what is there now came later, */
	bool above;              /* or what it is in did */
};

/* Whether the last part of a path is one of those between two slashes, or behind one. */
static bool is_part(const char *path, const char *from, const char *end)
{
	const char *slash = strrchr(path, '/'), *part = slash ? slash + 1 : path;
	size_t len = strlen(part);

	for (; len && from && from < end; from = strchr(from, '/'))
		if (!strncmp(++from, part, len) && (!from[len] || from[len] == '/'))
			return true;
	return false;
}

static bool touches(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	struct touched *what = arg;
	char path[2][PATH_LEN + 1];
	unsigned n = rec_npaths(what->fast, r);
	bool renames = rec_renames(r);

	(void)k;
	(void)flight;
	rec_paths(r, n, path);
	for (unsigned i = n == 2 && !renames; i < n; i++) {
		bool above = renames && is_part(path[i], what->link, what->last);
		if (!above && !is_part(path[i], what->last, what->last + 1))
			continue;
		what->any = true;
		what->above |= above;
		what->comes |= i == 1 || rec_exchanges(r);
	}
	return true;
}

/*
 * Where a link led to when the record at hand was written: bytes in out, which holds n of
 * what it says now (n <= 0: there is none). link: its real path. 0: it was none.
 */
ssize_t links_then(struct tracer *t, struct task *k, const char *link, char *out,
	ssize_t n, size_t size)
{
	struct touched what = {
		.fast = t->fast, .link = link, .last = strrchr(link, '/')
	};
	bool any = t->fast->links.n;
	struct stat st;
	struct at at = { any ? names_add(t->names, link, strlen(link)) : 0,
		any ? mounts_of(t, k) : 0 };
	const struct link *kept = at.name ? get(t->fast, at) : NULL;

	if (kept && kept->file)
		kept = NULL;
	if (n <= 0 && !kept)
		return 0;
	size_t len = kept ? strlen(kept->to) : 0;
	if (kept && n > 0 && len == (size_t)n && !memcmp(kept->to, out, len))
		return n;
	records_touching(t->fast, link, touches, &what);
	if (!what.any) { /* it was changed by others */
		if (kept)
			free(take(t->fast, at));
		return n > 0 ? n : 0;
	}
	if (!kept)
		return what.comes && (what.above || root_look(t, k, link, &st) < 0 ||
					     !links_older(t, &st))
			       ? 0
			       : n;
	if (len >= size)
		return 0;
	memcpy(out, kept->to, len);
	return (ssize_t)len;
}
