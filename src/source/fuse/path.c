/*
 * path.c - paths below the mount point, by numbers
 *
 * A name remembers the number of its path. It is right until something is renamed.
 */
#include "fs.h"
#include "iops/names.h"

#include <stdio.h>
#include <string.h>

static uint32_t intern(struct fs *fs, const char *text, size_t len)
{
	pthread_mutex_lock(&fs->paths_lock);
	uint32_t id = names_add(fs->paths, text, len);
	pthread_mutex_unlock(&fs->paths_lock);
	return id;
}

void path_text(struct fs *fs, uint32_t path, char *buf, size_t size)
{
	pthread_mutex_lock(&fs->paths_lock);
	snprintf(buf, size, "%s", names_get(fs->paths, path));
	pthread_mutex_unlock(&fs->paths_lock);
}

/* From the end of the buffer backwards, under the lock of the tree. Where the path is
 * longer than that its beginning is missing. */
static char *build(struct req *r, const struct dent *d, char *end)
{
	char *at = end, *begin = r->w->path;

	for (; d; d = d->parent->dent) {
		size_t n = strlen(d->name);
		if ((size_t)(at - begin) < n + 1)
			break;
		at -= n;
		memcpy(at, d->name, n);
		*--at = '/';
	}
	return at;
}

static uint32_t path_of_dent(struct req *r, struct dent *d)
{
	static const char deleted[] = " (deleted)";
	uint64_t gen = r->fs->path_gen;

	if (!d)
		return intern(r->fs, "/", 1);
	if (atomic_load_explicit(&d->path_gen, memory_order_acquire) == gen)
		return d->path;
	/* What others find out meanwhile is of the same generation, or a later one. */
	pthread_mutex_lock(&r->fs->tree);
	char *end = r->w->path + sizeof(r->w->path) - sizeof(deleted),
	     *at = build(r, d, end);
	if (d->gone) {
		memcpy(end, deleted, sizeof(deleted) - 1);
		end += sizeof(deleted) - 1;
	}
	uint32_t path = intern(r->fs, at, end - at);
	d->path = path;
	atomic_store_explicit(&d->path_gen, r->fs->path_gen, memory_order_release);
	pthread_mutex_unlock(&r->fs->tree);
	return path;
}

uint32_t path_of_handle(struct req *r, const struct handle *h)
{
	return path_of_dent(r, h->dent);
}

uint32_t path_of(struct req *r, struct inode *i)
{
	if (i == r->fs->root)
		return intern(r->fs, "/", 1);
	/* The name may be another one, or gone, a moment later. */
	pthread_mutex_lock(&r->fs->tree);
	struct dent *d = i->dent;
	char *end = r->w->path + sizeof(r->w->path) - 16;
	if (d && d->path_gen == r->fs->path_gen) {
		uint32_t path = d->path;
		pthread_mutex_unlock(&r->fs->tree);
		return path;
	}
	char *at = build(r, d, end);
	if (d && d->gone)
		end += sprintf(end, " (deleted)");
	uint32_t path = intern(r->fs, at, end - at);
	if (d) {
		d->path = path;
		d->path_gen = r->fs->path_gen;
	}
	pthread_mutex_unlock(&r->fs->tree);
	return path;
}

uint32_t path_of_name(struct req *r, struct inode *dir, const char *name)
{
	pthread_mutex_lock(&r->fs->tree);
	struct dent *known = NULL;
	size_t n = strlen(name);
	char *end = r->w->path + sizeof(r->w->path) - 1, *at = end - n;
	memcpy(at, name, n);
	*--at = '/';
	known = dir->dent;
	at = build(r, known, at);
	pthread_mutex_unlock(&r->fs->tree);
	/* build() writes before what is there already. */
	return intern(r->fs, at, end - at);
}
