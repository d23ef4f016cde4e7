/*
 * walk.c - depth first, by descriptors of directories, without recursion: a stack of
 * levels, of which those at the top keep their descriptors
 */
#include "walk_parts.h"
#include "pseudo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/openat2.h>

/* Levels whose directories stay open. */
enum { OPEN_LEVELS = 32 };

/* A directory that has been read and whose directories are entered one by one. */
struct level {
	uint32_t node;
	size_t at;       /* in the node's block */
	size_t path_len; /* of its own path */
	int fd;          /* -1: closed to save descriptors */
	dev_t dev;
	ino_t ino;
};

/* Names in a directory are looked up without an automount, and never through a link. */
static int open_dir(int at, const char *name)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	/* The scan leaves no trace where it may: that needs a directory of ours. */
	int fd = openat(at, name, FLAGS | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(at, name, FLAGS) : fd;
}

/* A descriptor of a directory that reads nothing and mounts nothing. */
static int open_start(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	int fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* EPERM: filters of older containers refuse calls that they do not know. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

/* Its files are no longer seen: put them as gone. The node stays, empty. */
static int vanish(struct walk *w, uint32_t node)
{
	int err = walk_forget(w, node);

	if (!err)
		tree_clear(&w->tree, node);
	return err;
}

/* What it means that a directory cannot be opened or read. */
static int unreadable(struct walk *w, uint32_t node, int err)
{
	if (err == ENOENT || err == ENOTDIR || err == ELOOP)
		return vanish(w, node);
	walk_count(w->counts->unreadable, WALK_REASONS, err);
	return 0;
}

static int push_level(struct walk *w, uint32_t node, int fd, const struct stat *st)
{
	if (w->depth == w->cap_level) {
		size_t cap = 2 * w->cap_level + 32;
		struct level *more = realloc(w->level, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		w->level = more;
		w->cap_level = cap;
	}
	if (w->depth >= OPEN_LEVELS) {
		struct level *old = &w->level[w->depth - OPEN_LEVELS];
		if (old->fd >= 0)
			close(old->fd);
		old->fd = -1;
	}
	w->level[w->depth++] = (struct level){ .node = node,
		.fd = fd,
		.path_len = w->path.len,
		.dev = st->st_dev,
		.ino = st->st_ino };
	return 0;
}

/* Take over the descriptor of a directory, the path of which is w->path. */
static int enter(struct walk *w, uint32_t node, int fd, bool mounts_only)
{
	struct stat st;

	if (w->out->stopped(w->out->ctx)) {
		close(fd);
		return -ECANCELED;
	}
	if (fstat(fd, &st) < 0) {
		int err = errno;
		close(fd);
		return unreadable(w, node, err);
	}
	if (map_get(&w->seen, st.st_dev, st.st_ino)) {
		close(fd);
		w->counts->twice++;
		return vanish(w, node);
	}

	w->list.dev = st.st_dev;
	int err = map_put(&w->seen, st.st_dev, st.st_ino, 1);
	if (!err)
		err = walk_list(w, node, fd, mounts_only);
	if (!err)
		err = push_level(w, node, fd, &st);
	if (err)
		close(fd);
	w->counts->directories += !err;
	/* Positive: an errno of the directory itself. */
	return err > 0 ? unreadable(w, node, err) : err;
}

/* Open the directory of a level again, from the root downwards. -1: it is not there. */
static int reopen(const struct walk *w, const struct level *l)
{
	const struct level *root = &w->level[0];
	char *path = strndup(w->path.text, l->path_len), *save = NULL;
	struct stat st;

	if (!path)
		return -1;
	char cut = path[root->path_len];
	path[root->path_len] = 0;
	int fd = open_start(path);
	path[root->path_len] = cut;
	for (char *name = strtok_r(path + root->path_len, "/", &save); name && fd >= 0;
		name = strtok_r(NULL, "/", &save)) {
		int next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	free(path);
	if (fd >= 0 &&
		(fstat(fd, &st) < 0 || st.st_dev != l->dev || st.st_ino != l->ino)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Leave the level at the top. The one below may need its descriptor again: ".." is the
 * shortest way, but leads elsewhere if the directory has been moved. */
static void leave(struct walk *w)
{
	struct level *top = &w->level[--w->depth], *below = top - 1;
	struct stat st;

	if (w->depth && below->fd < 0) {
		int fd = top->fd < 0 ? -1 : openat(top->fd, "..", O_PATH | O_CLOEXEC);
		if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != below->dev ||
				       st.st_ino != below->ino)) {
			close(fd);
			fd = -1;
		}
		below->fd = fd < 0 ? reopen(w, below) : fd;
	}
	if (top->fd >= 0)
		close(top->fd);
	if (w->depth)
		path_cut(&w->path, below->path_len);
}

/* The next directory below the level at the top, or back to where it came from. */
static int step(struct walk *w)
{
	struct level *top = &w->level[w->depth - 1];
	struct tree_entry e;

	do {
		if (!tree_next(&w->tree, top->node, &top->at, &e)) {
			leave(w);
			return 0;
		}
	} while (e.kind != TREE_DIR);

	/* Where the way back was lost, what lies there counts as unchanged. */
	int fd = top->fd < 0 ? (errno = ESTALE, -1) : open_dir(top->fd, e.name);
	int reason = errno, err = path_push(&w->path, e.name, e.len);
	size_t depth = w->depth;
	if (!err)
		err = fd < 0 ? unreadable(w, e.value, reason)
			     : enter(w, e.value, fd, false);
	else if (fd >= 0)
		close(fd);
	if (w->depth == depth)
		path_cut(&w->path, w->level[depth - 1].path_len);
	return err;
}

/* A root or a mount, unless nothing in its file system is real. */
static int begin(struct walk *w, struct start s)
{
	struct statfs fs;
	int at = open_start(s.path);
	int err = at < 0 || fstatfs(at, &fs) < 0 ? errno : 0;
	const struct pseudo *p = err ? NULL : pseudo_find(fs.f_type);

	w->path.len = 0;
	int fail = path_push(&w->path, s.path, strlen(s.path));
	if (p && !fail)
		walk_count(w->counts->pseudo, WALK_REASONS * 4, p->magic);
	if (fail) {
		err = 0;
	} else if (p && !p->mounts) {
		fail = vanish(w, s.node);
	} else if (!err) {
		int fd = open_dir(at, ".");
		err = fd < 0 ? errno : 0;
		if (fd >= 0)
			fail = enter(w, s.node, fd, p);
	}
	if (at >= 0)
		close(at);
	return err ? unreadable(w, s.node, err) : fail;
}

int walk_scan(struct walk *w, const struct walk_out *out, struct walk_counts *counts)
{
	int err = 0;

	*counts = (struct walk_counts){ 0 };
	w->out = out;
	w->counts = counts;
	/* Mounts come after all else, so that a file has the path of its own file system
	 * where another mount shows it, too. More of them may turn up while this runs. */
	for (size_t i = 0; i < w->nstart && !err; i++) {
		err = begin(w, w->start[i]);
		while (w->depth && !err)
			err = step(w);
	}

	while (w->depth)
		leave(w);
	while (w->nstart > w->nroots)
		free(w->start[--w->nstart].path);
	map_fini(&w->seen);
	walk_list_done(w);
	return err;
}

int walk_new(struct walk **out, const char *const *roots, size_t nroots)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	for (size_t i = 0; i < nroots && !err; i++) {
		uint32_t node = tree_add(&w->tree);
		err = node ? walk_defer(w, roots[i], node) : -ENOMEM;
	}
	if (err < 0) {
		walk_free(w);
		return err;
	}
	w->nroots = w->nstart;
	*out = w;
	return 0;
}

uint64_t walk_bytes(const struct walk *w)
{
	return w->tree.bytes + (uint64_t)w->tree.cap * sizeof(*w->tree.node);
}

void walk_free(struct walk *w)
{
	if (!w)
		return;
	while (w->nstart)
		free(w->start[--w->nstart].path);
	free(w->start);
	free(w->level);
	free(w->path.text);
	walk_list_done(w);
	map_fini(&w->seen);
	tree_fini(&w->tree);
	free(w);
}
