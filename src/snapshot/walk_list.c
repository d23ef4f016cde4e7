/*
 * walk_list.c - one directory: its names, what has become of those of the last time, what
 * is new; in the order of inodes, which is that of a disk
 */
#include "walk_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BUFFER = 64 << 10 };

struct entry {
	size_t name;  /* in names */
	uint32_t len; /* of it */
	uint8_t type; /* DT_* */
	uint8_t kind, old_kind;
	uint64_t inode, value, old;
};

/* linux_dirent64 of getdents64(2) */
struct dirent_head {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static int add_entry(
	struct listing *l, const char *name, size_t len, const struct entry *like)
{
	if (l->names_cap - l->names_len < len + 1) {
		size_t cap = 2 * l->names_cap + len + BUFFER;
		char *more = realloc(l->names, cap);
		if (!more)
			return -ENOMEM;
		l->names = more;
		l->names_cap = cap;
	}
	if (l->n == l->cap) {
		size_t cap = 2 * l->cap + 256;
		struct entry *more = realloc(l->entry, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->entry = more;
		l->cap = cap;
	}

	struct entry *e = &l->entry[l->n++];
	*e = *like;
	e->name = l->names_len;
	e->len = len;
	memcpy(l->names + l->names_len, name, len + 1);
	l->names_len += len + 1;
	return 0;
}

/* 0, -ENOMEM, or a positive errno if not one name could be read. */
static int read_names(struct listing *l, int fd)
{
	l->n = l->names_len = 0;
	l->err = 0;
	if (!l->buffer && !(l->buffer = malloc(BUFFER)))
		return -ENOMEM;

	for (;;) {
		long got = syscall(SYS_getdents64, fd, l->buffer, BUFFER);
		if (got < 0)
			l->err = errno;
		if (got <= 0)
			return l->n ? 0 : l->err;
		for (char *p = l->buffer, *end = p + got; p < end;) {
			const struct dirent_head *d = (const void *)p;
			p += d->size;
			if (!strcmp(d->name, ".") || !strcmp(d->name, ".."))
				continue;
			struct entry e = { .inode = d->inode, .type = d->type };
			if (add_entry(l, d->name, strlen(d->name), &e) < 0)
				return -ENOMEM;
		}
	}
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct entry *x = a, *y = b;

	return strcmp((char *)names + x->name, (char *)names + y->name);
}

static int by_inode(const void *a, const void *b, void *entries)
{
	const struct entry *e = entries;
	uint64_t x = e[*(const uint32_t *)a].inode, y = e[*(const uint32_t *)b].inode;

	return (x > y) - (x < y);
}

/* A directory that changes while it is read may tell a name twice. */
static void sort_names(struct listing *l)
{
	size_t n = 0;

	qsort_r(l->entry, l->n, sizeof(*l->entry), by_name, l->names);
	for (size_t i = 0; i < l->n; i++)
		if (!n || by_name(&l->entry[n - 1], &l->entry[i], l->names))
			l->entry[n++] = l->entry[i];
	l->n = n;
}

/* What was seen under that name the last time is there no more. */
static int forget(
	struct walk *w, enum tree_kind kind, uint64_t value, const char *name, size_t len)
{
	if (kind == TREE_FILE)
		return walk_put_gone(w, name, len);
	if (kind == TREE_NONE)
		return 0;

	size_t before = w->path.len;
	int err = path_push(&w->path, name, len);
	if (err < 0)
		return err;
	err = walk_forget(w, value);
	path_cut(&w->path, before);
	if (!err)
		tree_del(&w->tree, value);
	return err;
}

/*
 * Find the old entries of the names; both are in order. What has no name any more is
 * gone; if not all names could be read, it stays.
 */
static int match(struct walk *w, uint32_t node)
{
	struct listing *l = &w->list;
	struct tree_entry old;
	size_t at = 0, i = 0, n = l->n;
	int err = 0;

	while (!err && tree_next(&w->tree, node, &at, &old)) {
		int cmp = -1;
		while (i < n && (cmp = strcmp(l->names + l->entry[i].name, old.name)) < 0)
			i++;
		struct entry was = { .old_kind = old.kind, .old = old.value };
		if (i < n && cmp == 0) {
			l->entry[i].old_kind = old.kind;
			l->entry[i++].old = old.value;
		} else if (!l->err) {
			err = forget(w, old.kind, old.value, old.name, old.len);
		} else {
			err = add_entry(l, old.name, old.len, &was);
		}
	}
	if (!err && l->n > n)
		sort_names(l);
	return err;
}

/* Files that differ in any one of these never have the same: each step is one to one. */
static uint64_t fingerprint(const struct statx *x)
{
	const uint64_t part[] = { x->stx_size, x->stx_mtime.tv_sec, x->stx_mtime.tv_nsec,
		x->stx_ctime.tv_sec, x->stx_ctime.tv_nsec, x->stx_btime.tv_sec,
		x->stx_btime.tv_nsec };
	uint64_t h = S_ISLNK(x->stx_mode);

	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

static struct walk_time time_of(const struct statx_timestamp *t)
{
	return (struct walk_time){ t->tv_sec, t->tv_nsec };
}

static int put_file(struct walk *w, const struct entry *e, const struct statx *x)
{
	/* A file system made by a tool that knew no time of birth has zeros. */
	bool born = x->stx_mask & STATX_BTIME &&
		    (x->stx_btime.tv_sec || x->stx_btime.tv_nsec);
	struct walk_file f = {
		.born = born,
		.mode = x->stx_mode,
		.uid = x->stx_uid,
		.gid = x->stx_gid,
		.nlink = x->stx_nlink,
		.major = x->stx_dev_major,
		.minor = x->stx_dev_minor,
		.size = x->stx_size,
		.inode = x->stx_ino,
		.btime = time_of(&x->stx_btime),
		.mtime = time_of(&x->stx_mtime),
		.atime = time_of(&x->stx_atime),
	};

	return walk_put(w, &f, w->list.names + e->name, e->len);
}

static bool is_dir(enum tree_kind kind)
{
	return kind == TREE_DIR || kind == TREE_MOUNT;
}

/* A directory is entered with its own file system, one that is mounted later. */
static enum tree_kind dir_kind(
	const struct listing *l, const struct statx *x, bool mounts_only)
{
	bool mounted = makedev(x->stx_dev_major, x->stx_dev_minor) != l->dev;

	/* Linux 5.8; btrfs has other devices that are not mounts. */
	if (x->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		mounted = x->stx_attributes & STATX_ATTR_MOUNT_ROOT;
	if (mounted)
		return TREE_MOUNT;
	return mounts_only || x->stx_attributes & STATX_ATTR_AUTOMOUNT ? TREE_NONE
								       : TREE_DIR;
}

/* What a name stands for now: e->kind, and the value of a file. */
static void look(
	struct walk *w, int fd, struct entry *e, struct statx *x, bool mounts_only)
{
	/* Only where it is sure that there is nothing to see. */
	if (e->type == DT_FIFO || e->type == DT_SOCK || e->type == DT_CHR ||
		e->type == DT_BLK)
		return;
	if (statx(fd, w->list.names + e->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    STATX_BASIC_STATS | STATX_BTIME, x) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return;
		walk_count(w->counts->failed, WALK_REASONS, errno);
		e->kind = e->old_kind;
		e->value = e->old;
	} else if (S_ISDIR(x->stx_mode)) {
		e->kind = dir_kind(&w->list, x, mounts_only);
	} else if ((S_ISREG(x->stx_mode) || S_ISLNK(x->stx_mode)) && !mounts_only) {
		e->kind = TREE_FILE;
		e->value = fingerprint(x);
	}
}

static int settle(struct walk *w, int fd, struct entry *e, bool mounts_only)
{
	struct statx x = { 0 };
	bool stays;
	int err = 0;

	look(w, fd, e, &x, mounts_only);
	stays = is_dir(e->kind) ? is_dir(e->old_kind) : e->kind == e->old_kind;
	if (!stays)
		err = forget(w, e->old_kind, e->old, w->list.names + e->name, e->len);
	if (err < 0)
		return err;
	if (is_dir(e->kind)) {
		e->value = stays ? e->old : tree_add(&w->tree);
		return e->value ? 0 : -ENOMEM;
	}
	if (e->kind == TREE_FILE && (!stays || e->value != e->old))
		return put_file(w, e, &x);
	return 0;
}

static int settle_all(struct walk *w, int fd, bool mounts_only)
{
	struct listing *l = &w->list;
	int err = 0;

	if (l->order_cap < l->n) {
		uint32_t *more = realloc(l->order, l->cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->order = more;
		l->order_cap = l->cap;
	}
	for (size_t i = 0; i < l->n; i++)
		l->order[i] = i;
	qsort_r(l->order, l->n, sizeof(*l->order), by_inode, l->entry);
	for (size_t i = 0; i < l->n && !err; i++)
		err = w->out->stopped(w->out->ctx)
			      ? -ECANCELED
			      : settle(w, fd, &l->entry[l->order[i]], mounts_only);
	return err;
}

static int defer(struct walk *w, const struct tree_entry *e)
{
	size_t before = w->path.len;
	int err = path_push(&w->path, e->name, e->len);

	if (!err) {
		err = walk_defer(w, w->path.text, e->value);
		path_cut(&w->path, before);
	}
	return err;
}

/* Keep what is there now. */
static int keep(struct walk *w, uint32_t node)
{
	struct listing *l = &w->list;
	int err = 0;

	for (size_t i = 0; i < l->n && !err; i++) {
		const struct entry *e = &l->entry[i];
		struct tree_entry now = { e->kind, e->value, l->names + e->name, e->len };
		if (e->kind != TREE_NONE)
			err = tree_put(&l->block, &now);
		if (e->kind == TREE_MOUNT && !err)
			err = defer(w, &now);
		w->counts->files += e->kind == TREE_FILE;
	}
	return err ? err : tree_set(&w->tree, node, &l->block);
}

int walk_list(struct walk *w, uint32_t node, int fd, bool mounts_only)
{
	int err = read_names(&w->list, fd);

	if (err)
		return err;
	if (w->list.err)
		walk_count(w->counts->unreadable, WALK_REASONS, w->list.err);
	sort_names(&w->list);
	err = match(w, node);
	if (!err)
		err = settle_all(w, fd, mounts_only);
	return err ? err : keep(w, node);
}

void walk_list_done(struct walk *w)
{
	struct listing *l = &w->list;

	free(l->names);
	free(l->entry);
	free(l->order);
	free(l->block.data);
	free(l->buffer);
	*l = (struct listing){ 0 };
}
