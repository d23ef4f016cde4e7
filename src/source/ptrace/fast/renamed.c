/*
 * renamed.c - what is open has another path, or none; links are made
 *
 * In the order of records, so that what was written before is under the old path, though
 * /proc may know a later one by now.
 */
#include "../tracer.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* A real path, by name and as text. */
struct end {
	uint32_t name;
	const char *text;
	size_t len;
};

struct renaming {
	struct names *names;
	struct end from, to; /* to: name 0 if it has none any more */
	struct stat there;   /* what is at the new path now; inode 0: nothing */
	bool dir;            /* it may be one: all below it moves as well */
	uint64_t at;         /* when it was done, at the latest */
	bool exchange;       /* what was there comes to where this one was */
	bool moves;          /* it is one, or something below it is known */
	bool late;           /* the one at hand is known since after that */
	uint64_t question;   /* by which open files with several descriptors are known */
};

static struct end end_of(const struct names *names, uint32_t name)
{
	const char *text = names_get(names, name);

	return (struct end){ name, text, strlen(text) };
}

/* What is behind a path in another one that is the same, or below it; NULL: it is not. */
static const char *below(const struct end *e, const char *path)
{
	if (strncmp(e->text, path, e->len) || (path[e->len] && path[e->len] != '/'))
		return NULL;
	return path + e->len;
}

/* It is what has just come there: its name was asked for too late. Else its inode is
 * another one's by now. */
static bool has_come(const struct renaming *r, const struct file *f)
{
	return r->late && f->inode == r->there.st_ino &&
	       f->major == major(r->there.st_dev) && f->minor == minor(r->there.st_dev);
}

static uint32_t joined(struct renaming *r, const char *a, const char *b)
{
	char path[2 * PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", a, b);

	return names_add(r->names, path, n < (int)sizeof(path) ? n : 0);
}

/* The path that comes of one: its name; the same if it stays; 0: no memory. */
static uint32_t moved(struct renaming *r, uint32_t path, const struct file *f)
{
	const char *text = names_get(r->names, path), *rest = NULL;
	bool two = r->to.name;

	if (path == r->from.name || (r->dir && two))
		rest = below(&r->from, text);
	if (rest) {
		r->moves |= *rest || (f && f->type == FILE_DIR);
		return two ? joined(r, r->to.text, rest) : joined(r, text, " (deleted)");
	}
	if (two && (path == r->to.name || (r->dir && r->exchange)))
		rest = below(&r->to, text);
	if (!rest || (!r->exchange && (!f || has_come(r, f))))
		return path;
	r->moves |= *rest || (f && f->type == FILE_DIR);
	return r->exchange ? joined(r, r->from.text, rest)
			   : joined(r, text, " (deleted)");
}

static void rename_open(struct fd_open *o, void *arg)
{
	struct renaming *r = arg;
	struct file f = *names_file(r->names, o->file);
	bool again = o->asked == r->question;

	r->late = o->since > r->at;
	uint32_t path = o->file && !again ? moved(r, f.path, &f) : 0;

	o->asked = r->question;
	if (!path || path == f.path)
		return;
	f.path = path;
	uint32_t file = names_add_file(r->names, &f);
	o->file = file ? file : o->file;
}

static void rename_cwds(struct tracer *t, struct renaming *r)
{
	for (size_t i = 0; i < t->processes.cap; i++) {
		struct process *p = (struct process *)t->processes.slot[i].value;
		if (p && p->fs.cwd)
			p->fs.cwd = moved(r, p->fs.cwd, NULL);
	}
}

/* Paths below it mean something else now. */
static void forget_dirs(struct fast *f, struct renaming *r)
{
	for (int i = 0; i < FAST_DIRS; i++) {
		struct fast_dir *d = &f->dir[i];
		if (!d->name)
			continue;
		const char *name = names_get(r->names, d->name);
		const char *real = names_get(r->names, d->real);
		if (!below(&r->from, name) && !below(&r->from, real) &&
			!below(&r->to, name) && !below(&r->to, real))
			continue;
		d->name = 0;
		r->moves = true;
	}
}

/* Two names of one file: rename(2) leaves both. What is there now tells if it has been so
 * since before, or nobody is known to have made a link there again. */
static bool are_one(struct tracer *t, struct task *k, const struct renaming *r)
{
	enum one one = links_one(t, k, r->from.name, r->to.name);
	struct stat st;

	if (one != ONE_UNKNOWN)
		return one == ONE_SURELY;
	return r->there.st_ino && r->there.st_nlink > 1 && !S_ISDIR(r->there.st_mode) &&
	       !root_look(t, k, r->from.text, &st) && st.st_ino == r->there.st_ino &&
	       st.st_dev == r->there.st_dev &&
	       (links_older(t, &st) || is_there_since(t, r->from.text, r->at));
}

struct how {
	bool exchange;    /* of renameat2(2) */
	uint64_t at;      /* when it was done, at the latest */
	unsigned counted; /* 1: by a record, which paths_later() counts as well */
};

/* A path made whole to another one; to: 0 if it was removed. */
static void rename_all(struct tracer *t, struct task *k, uint32_t from, uint32_t to,
	const struct how *how)
{
	struct renaming r = { .names = t->names,
		.from = end_of(t->names, found_real(t, k, from)),
		.to = end_of(t->names, to ? found_real(t, k, to) : 0),
		.at = how->at,
		.exchange = how->exchange,
		.question = ++t->fast->questions };

	if (to && root_look(t, k, names_get(t->names, to), &r.there) < 0)
		r.there.st_ino = 0;
	if (to && are_one(t, k, &r))
		return;
	/* It may be elsewhere by now, or something else may be there. */
	bool early = paths_later(t->fast) > how->counted || !r.there.st_ino;
	r.dir = to && (early || S_ISDIR(r.there.st_mode) || S_ISLNK(r.there.st_mode) ||
			      how->exchange);
	fdtrack_each(t->fast->track, rename_open, &r);
	links_renamed(t, k, r.from.name, r.to.name, how->exchange);
	if (!r.dir)
		return;
	rename_cwds(t, &r);
	forget_dirs(t->fast, &r);
	if (r.moves || !early)
		new_epoch(t->fast);
}

/* Paths as they were given, from directories; text[1]: NULL if it was removed. */
static void rename_paths(struct tracer *t, struct task *k, const int dirfd[2],
	const char *const text[2], const struct how *how)
{
	bool known = *text[0] && (!text[1] || *text[1]);
	uint32_t from = known ? path_whole(t, k, dirfd[0], text[0]) : 0;
	uint32_t to = known && text[1] ? path_whole(t, k, dirfd[1], text[1]) : 0;

	found_all(t, k);
	map_fini(&t->fast->known);
	if (from && (to || !text[1]))
		rename_all(t, k, from, to, how);
	else
		new_epoch(t->fast);
}

/* A record of rename(2) or unlink(2). */
void path_renamed(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	char path[2][PATH_LEN + 1];
	bool two = c->shape >= SHAPE_PATHS01;
	bool at = c->shape == SHAPE_PATH1 || c->shape == SHAPE_PATHS13;
	const int dirfd[2] = { at ? (int)r->arg[0] : AT_FDCWD,
		at ? (int)r->arg[2] : AT_FDCWD };

	rec_paths(r, two + 1, path);
	const char *const text[2] = { path[0], two ? path[1] : NULL };
	const struct how how = { rec_exchanges(r), r->t1, 1 };
	rename_paths(t, k, dirfd, text, &how);
}

/* The same of a call that has stopped. */
void path_renamed_stopped(struct tracer *t, struct task *k, const struct fast_call *c)
{
	const uint64_t *arg = k->call.arg;
	char path[2][PATH_LEN + 1];
	bool two = !strncmp(c->name, "rename", 6);
	bool at = strstr(c->name, "at");
	const int dirfd[2] = { at ? (int)arg[0] : AT_FDCWD, at ? (int)arg[2] : AT_FDCWD };
	const uint64_t from[2] = { arg[at], arg[at ? 3 : 1] };

	for (int i = 0; i <= two; i++)
		if (task_string(k, from[i], path[i], sizeof(path[i])) < 0)
			*path[i] = 0;
	const char *const text[2] = { path[0], two ? path[1] : NULL };
	const struct how how = {
		!strcmp(c->name, "renameat2") && arg[4] & RENAME_EXCHANGE, fast_tsc(), 0
	};
	rename_paths(t, k, dirfd, text, &how);
}

static uint32_t real_of(struct tracer *t, struct task *k, int dirfd, const char *path)
{
	uint32_t full = *path ? path_whole(t, k, dirfd, path) : 0;

	return full ? found_real(t, k, full) : 0;
}

/* Where in the arguments of a call that makes a link the paths are, and the directories
 * that they start from; -1: there is none. */
struct places {
	const char *name;
	int8_t dir[2], path[2];
	bool hard;
};

static const struct places *places_of(const struct fast_call *c)
{
	static const struct places all[] = {
		{ "symlink", { -1, -1 }, { 0, 1 }, false },
		{ "symlinkat", { -1, 1 }, { 0, 2 }, false },
		{ "link", { -1, -1 }, { 0, 1 }, true },
		{ "linkat", { 0, 2 }, { 1, 3 }, true },
	};
	unsigned i = 0;

	while (i < sizeof(all) / sizeof(*all) - 1 && strcmp(all[i].name, c->name))
		i++;
	return &all[i];
}

static void linked(struct tracer *t, struct task *k, const struct places *p,
	const uint64_t *arg, const char *from, const char *path)
{
	const int dir[2] = { p->dir[0] < 0 ? AT_FDCWD : (int)arg[p->dir[0]],
		p->dir[1] < 0 ? AT_FDCWD : (int)arg[p->dir[1]] };
	uint32_t new = real_of(t, k, dir[1], path);
	uint32_t old = new && p->hard ? real_of(t, k, dir[0], from) : 0;

	if (old)
		links_shared(t, k, old, new);
	else if (new && !p->hard)
		links_put(t, k, new, from);
}

/* A record of symlink(2) or link(2). */
void path_linked(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c)
{
	char path[2][PATH_LEN + 1];

	rec_paths(r, 2, path);
	linked(t, k, places_of(c), r->arg, path[0], path[1]);
}

/* The same of a call that has stopped. */
void path_linked_stopped(struct tracer *t, struct task *k, const struct fast_call *c)
{
	const struct places *p = places_of(c);
	const uint64_t *arg = k->call.arg;
	char path[2][PATH_LEN + 1];

	for (int i = 0; i < 2; i++)
		if (task_string(k, arg[p->path[i]], path[i], sizeof(path[i])) < 0)
			return;
	linked(t, k, p, arg, path[0], path[1]);
}

static void is_moved(struct tracer *t, struct task *k, void *arg)
{
	(void)t;
	(void)arg;
	path_moved(k);
}

/* Names have changed, and which of them nobody can say: all is asked. */
void paths_unsure(struct tracer *t)
{
	tasks_each(t, is_moved, NULL);
	links_fini(t->fast);
	map_fini(&t->fast->known);
	epoch_unsure(t->fast);
}
