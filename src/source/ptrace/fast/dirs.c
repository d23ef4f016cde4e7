/*
 * dirs.c - the real paths of directories, as they were when the record at hand was made
 *
 * While no record that is still to come changes a path, the kernel tells. Else a path is
 * walked along by its text: what links say is asked for one by one, and what is not there
 * any more was no link.
 */
#include "../tracer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WHOLE = 2 * PATH_MAX, LINKS = 40 };

/*
 * Directories that files were opened in. Valid while no directory is known to have
 * another path. None is kept open, as umount(8) would find it busy. Where tasks see what
 * we see, it is the same to all of them: 0.
 */
static pid_t seen_by(struct tracer *t, struct task *k)
{
	if (k->process->apart)
		return k->tid;
	return root_of(t, k) || mounts_of(t, k) ? k->process->pid : 0;
}

static pid_t own_id(const struct task *k)
{
	return k->process->apart ? k->tid : k->process->pid;
}

struct fast_dir *dirs_put(struct tracer *t, struct task *k, uint32_t name, uint32_t real)
{
	struct fast_dir *d = &t->fast->dir[name % FAST_DIRS];
	bool own = real && is_in_proc(names_get(t->names, real));
	uint32_t was = d->name != name ? 0 : d->real == real ? d->was : d->real;

	*d = (struct fast_dir){ .name = name,
		.real = real,
		.was = was,
		.epoch = t->fast->epoch,
		.pid = own ? own_id(k) : seen_by(t, k),
		.since = fast_tsc() };
	return d;
}

/* The directory that a path is in, by its text. 0: none. */
static uint32_t parent_of(struct tracer *t, const char *path)
{
	const char *base = strrchr(path, '/');

	return base ? names_add(t->names, path, base == path ? 1 : base - path) : 0;
}

/* Where the link of that real path led to then. Bytes, with a zero behind them; 0: it is
 * none; less: one of /proc. */
static ssize_t link_at(struct tracer *t, struct task *k, const char *real, char *to)
{
	ssize_t n = root_link(t, k, real, to, PATH_MAX - 1);

	n = links_then(t, k, real, to, n, PATH_MAX - 1);
	to[n > 0 ? n : 0] = 0;
	if (n <= 0)
		return 0;
	return is_in_proc(to) ? -1 : n;
}

/* What is not there what it is to us. */
static bool is_of_itself(const char *path)
{
	static const char *const of[] = { "/proc/self", "/proc/thread-self" };

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(of[i]);
		if (!strncmp(path, of[i], n) && (!path[n] || path[n] == '/'))
			return true;
	}
	return false;
}

/* A path that is being walked along: how far it has come, and what is left. */
struct walk {
	const char
		*root; /* where paths of the task's start, without a slash at the end */
	char out[WHOLE], rest[WHOLE];
	size_t n, floor; /* of out, and how much of it stays */
	bool itself;     /* it has come to what each process has there for itself */
};

/* Further by a part. false: it is too long. */
static bool down(struct walk *w, const char *part, size_t len)
{
	if (w->n + len + 2 > sizeof(w->out))
		return false;
	w->out[w->n++] = '/';
	memcpy(w->out + w->n, part, len);
	w->n += len;
	w->out[w->n] = 0;
	return true;
}

static void up(struct walk *w)
{
	while (w->n > w->floor && w->out[--w->n] != '/')
		;
	w->out[w->n] = 0;
}

/* What is left begins with where a link leads. */
static bool turn(struct walk *w, const char *to, const char *rest)
{
	char left[WHOLE];

	int n = snprintf(left, sizeof(left), "%s/%s", to, rest);
	if (n >= (int)sizeof(left))
		return false;
	memcpy(w->rest, left, (size_t)n + 1);
	if (*to == '/')
		w->n = w->floor = (size_t)snprintf(w->out, sizeof(w->out), "%s", w->root);
	else
		up(w);
	return true;
}

static bool walk_on(struct tracer *t, struct task *k, struct walk *w)
{
	char to[PATH_MAX];
	size_t len;
	int links = 0;

	for (const char *at = w->rest;; at += len) {
		at += strspn(at, "/");
		len = strcspn(at, "/");
		if (!len)
			return true;
		if (len == 1 && *at == '.')
			continue;
		if (len == 2 && !strncmp(at, "..", 2)) {
			up(w);
			continue;
		}
		ssize_t n = down(w, at, len) ? link_at(t, k, w->out, to) : -1;
		w->itself |= is_of_itself(w->out) || (n && is_of_itself(to));
		if (n < 0 || links == LINKS || w->itself)
			return false;
		if (!n)
			continue;
		map_put(&t->fast->followed, names_add(t->names, w->out, w->n), 0, 1);
		if (!turn(w, to, at + len))
			return false;
		links++;
		at = w->rest;
		len = 0;
	}
}

/* The real path of a whole one, by its text. 0: that does not tell, nor, if it leads to
 * what a process has for itself, does the kernel tell us. */
static uint32_t walk(struct tracer *t, struct task *k, const char *path, bool *itself)
{
	uint32_t root = root_of(t, k);
	struct walk w = { .root = root ? names_get(t->names, root) : "" };
	size_t len = strlen(w.root);

	if (*path != '/' || strlen(path) >= sizeof(w.rest) || len >= sizeof(w.out) ||
		is_in_proc(path))
		return 0;
	if (!strncmp(path, w.root, len) && (!path[len] || path[len] == '/')) {
		memcpy(w.out, w.root, len + 1);
		w.n = w.floor = len;
	}
	memcpy(w.rest, path + w.n, strlen(path + w.n) + 1);
	if (!walk_on(t, k, &w)) {
		*itself = w.itself;
		return 0;
	}
	return w.n ? names_add(t->names, w.out, w.n) : names_add(t->names, "/", 1);
}

/* The end of the last ".." among the parts of a path; NULL: there is none. */
static const char *behind_up(const char *path)
{
	const char *end = NULL;

	for (size_t len; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 2 && !strncmp(path, "..", 2))
			end = path + 2;
	}
	return end;
}

/* What was found out about a directory, if it is still to be believed. */
static struct fast_dir *dir_known(struct tracer *t, struct task *k, uint32_t name)
{
	struct fast_dir *d = &t->fast->dir[name % FAST_DIRS];

	return d->name == name && d->epoch == t->fast->epoch &&
			       (d->pid == own_id(k) || d->pid == seen_by(t, k)) &&
			       fast_tsc() - d->since < OTHERS_TICKS
		       ? d
		       : NULL;
}

/* The real path of one that is no link, in one that no link leads to. 0: not for sure. */
static uint32_t below_known(struct tracer *t, struct task *k, const char *text)
{
	char path[WHOLE];
	struct stat is;
	bool named = *text == '/' && ends_in_name(text);
	struct fast_dir *up = named ? dir_known(t, k, parent_of(t, text)) : NULL;

	if (!up || up->real != up->name || root_look(t, k, text, &is) < 0 ||
		!S_ISDIR(is.st_mode))
		return 0;
	ssize_t n = in_dir(t, up, strrchr(text, '/'), path, sizeof(path));
	return n ? names_add(t->names, path, n) : 0;
}

/* The real path of a directory, if it is known. */
static uint32_t real_dir(struct tracer *t, struct task *k, uint32_t dir)
{
	char path[PATH_MAX];
	const char *text = names_get(t->names, dir);
	bool now = !paths_later(t->fast) && !behind_up(text);
	uint32_t below = now ? below_known(t, k, text) : 0;

	if (below)
		return below;
	ssize_t n = now ? found_path(t, k, text, NULL, path) : 0;
	uint32_t real = n > 0 ? names_add(t->names, path, n) : 0;

	if (real && real == dir)
		return real;
	bool itself = false;
	uint32_t walked = walk(t, k, text, &itself); /* by which links, too */
	if (itself)
		return 0;
	if (real || walked)
		return real ? real : walked;
	n = now ? 0 : found_path(t, k, text, NULL, path);
	return n > 0 ? names_add(t->names, path, n) : 0;
}

static struct fast_dir *dir_named(struct tracer *t, struct task *k, uint32_t name)
{
	struct fast_dir *d = dir_known(t, k, name);

	if (d)
		return d->real ? d : NULL;
	d = dirs_put(t, k, name, name ? real_dir(t, k, name) : 0);
	return d->real ? d : NULL;
}

/* The directory that a whole path is in. NULL: it is not known. */
struct fast_dir *dir_of(struct tracer *t, struct task *k, const char *full)
{
	return dir_named(t, k, parent_of(t, full));
}

ssize_t in_dir(const struct tracer *t, const struct fast_dir *d, const char *base,
	char *out, size_t size)
{
	return in_path(t, d->real, base, out, size);
}

ssize_t in_path(
	const struct tracer *t, uint32_t real, const char *base, char *out, size_t size)
{
	const char *dir = names_get(t->names, real);
	int n = snprintf(out, size, "%s%s", dir[1] ? dir : "", base);

	return n < (int)size ? n : 0;
}

/*
 * Upwards, from where a path starts: that is no link, so its text tells, whatever it is
 * renamed to later, and even if it is deleted. From its root a task comes no higher.
 */
static uint32_t climb(struct tracer *t, struct task *k, uint32_t from, const char **path)
{
	uint32_t root = root_of(t, k);

	while (!strncmp(*path, "..", 2) && (!(*path)[2] || (*path)[2] == '/')) {
		const char *text = names_get(t->names, from);
		const char *last = strrchr(text, '/');
		if (*text != '/')
			break;
		if (from != root)
			from = names_add(t->names, text, last > text ? last - text : 1);
		for (*path += 2; **path == '/';)
			++*path;
	}
	return from;
}

/* A path from there, by name; 0: the root. Text alone cannot take ".." off where links
 * are. 0: unknown. */
uint32_t path_from(struct tracer *t, struct task *k, uint32_t from, const char *path)
{
	char whole[WHOLE];

	while (from && *path == '/')
		path++;
	if (from)
		from = climb(t, k, from, &path);
	const char *end = behind_up(path);
	if (!end)
		return path_below(t, from, path);
	int n = snprintf(whole, sizeof(whole), "%s/%s",
		from ? names_get(t->names, from) : "", path);
	if (n >= (int)sizeof(whole))
		return 0;
	uint32_t name = names_add(t->names, whole, (size_t)n - strlen(end));
	const struct fast_dir *d = *whole == '/' ? dir_named(t, k, name) : NULL;
	if (!d)
		return names_add(t->names, whole, n);
	end += strspn(end, "/");
	return *end ? path_below(t, d->real, end) : d->real;
}

/* Where a whole path leads, if its last part is a link: a name. 0: it is none, or one of
 * /proc. */
static uint32_t link_target(struct tracer *t, struct task *k, const char *path)
{
	char to[PATH_MAX], real[WHOLE];
	const char *base = strrchr(path, '/');
	const struct fast_dir *d = base ? dir_of(t, k, path) : NULL;
	uint32_t dir = d ? d->real : parent_of(t, path);
	const char *in = names_get(t->names, dir);

	if (!base)
		return 0;
	snprintf(real, sizeof(real), "%s%s", strcmp(in, "/") ? in : "", base);
	if (link_at(t, k, real, to) <= 0)
		return 0;
	return path_from(t, k, *to == '/' ? root_of(t, k) : dir, to);
}

/* Not "..", ".", or what is the end of "a/". */
bool ends_in_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return *base && strcmp(base, ".") && strcmp(base, "..");
}

/* What it leads to may be elsewhere by now: the text tells where it was. */
const char *dirs_follow(struct tracer *t, struct task *k, const char *full)
{
	for (int i = 0; i < LINKS; i++) {
		uint32_t next = link_target(t, k, full);
		if (!next || !ends_in_name(names_get(t->names, next)))
			break;
		full = names_get(t->names, next);
	}
	return full;
}
