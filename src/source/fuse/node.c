/*
 * node.c - inodes of the source that the kernel knows, and their names
 *
 * An inode is held open by an O_PATH descriptor, so that its number is not given to
 * another one meanwhile. A name holds the directory that it stands in: paths can be told
 * as long as anything below is known.
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SLOTS = 1024 };

static size_t dent_slot(const struct fs *fs, const struct inode *parent, const char *name)
{
	uint64_t h = (uintptr_t)parent * UINT64_C(0x9e3779b97f4a7c15);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return (h >> 20 ^ h) & (fs->dent_slots - 1);
}

static struct inode *find_inode(const struct fs *fs, const struct stat *st)
{
	return (struct inode *)map_get(&fs->inodes, st->st_dev, st->st_ino);
}

static struct dent *find_dent(
	const struct fs *fs, const struct inode *p, const char *name)
{
	struct dent *d = fs->dents[dent_slot(fs, p, name)];

	while (d && (d->parent != p || strcmp(d->name, name)))
		d = d->next;
	return d;
}

/* Twice as many buckets; where there is no memory for them the old ones do. */
static void grow_dents(struct fs *fs)
{
	size_t old = fs->dent_slots;
	struct dent **was = fs->dents, **more = calloc(2 * old, sizeof(struct dent *));

	if (!more)
		return;
	fs->dents = more;
	fs->dent_slots = 2 * old;
	for (size_t s = 0; s < old; s++)
		for (struct dent *d = was[s], *next; d; d = next) {
			struct dent **to = &more[dent_slot(fs, d->parent, d->name)];
			next = d->next;
			d->next = *to;
			*to = d;
		}
	free(was);
}

static void hash_dent(struct fs *fs, struct dent *d)
{
	struct dent **to = &fs->dents[dent_slot(fs, d->parent, d->name)];

	d->next = *to;
	*to = d;
	if (++fs->ndents > fs->dent_slots)
		grow_dents(fs);
}

static void unhash_dent(struct fs *fs, struct dent *d)
{
	struct dent **at = &fs->dents[dent_slot(fs, d->parent, d->name)];

	while (*at && *at != d)
		at = &(*at)->next;
	if (*at) {
		*at = d->next;
		fs->ndents--;
	}
}

/* Unless another one has its number by now. */
static void forget_inode(struct fs *fs, const struct inode *i)
{
	if (map_get(&fs->inodes, i->dev, i->ino) == (uintptr_t)i)
		map_del(&fs->inodes, i->dev, i->ino);
}

static void inode_free(struct fs *fs, struct inode *i)
{
	owner_forget(i);
	if (i->fd >= 0) {
		close(i->fd);
		fs->inode_fds--;
	}
	free(i->handle);
	free(i);
}

static void inode_put(struct fs *fs, struct inode *i);

static void dent_put(struct fs *fs, struct dent *d)
{
	if (!d || --d->refs)
		return;
	inode_put(fs, d->parent);
	free(d->name);
	free(d);
}

/* It is no name of its inode any more; whoever holds it goes on with it. */
static void dent_drop(struct fs *fs, struct dent *d)
{
	struct inode *i = d->inode;

	if (!i)
		return;
	unhash_dent(fs, d);
	for (struct dent **at = &i->names; *at; at = &(*at)->peer)
		if (*at == d) {
			*at = d->peer;
			break;
		}
	d->inode = NULL;
	dent_put(fs, d);
}

static void inode_put(struct fs *fs, struct inode *i)
{
	if (--i->refs)
		return;
	forget_inode(fs, i);
	while (i->names)
		dent_drop(fs, i->names);
	dent_put(fs, i->dent);
	inode_free(fs, i);
}

int node_init(struct fs *fs, int fd)
{
	struct stat st;

	pthread_mutex_init(&fs->tree, NULL);
	pthread_mutex_init(&fs->paths_lock, NULL);
	fs->dent_slots = SLOTS;
	fs->dents = calloc(SLOTS, sizeof(struct dent *));
	fs->root = calloc(1, sizeof(*fs->root));
	fs->paths = names_new();
	fs->path_gen = 1;
	if (!fs->dents || !fs->root || !fs->paths)
		return -ENOMEM;
	if (fstat(fd, &st) < 0)
		return -errno;
	*fs->root = (struct inode){ .dev = st.st_dev,
		.ino = st.st_ino,
		.fd = fd,
		.type = FILE_DIR,
		.nlookup = 1,
		.refs = 2 };
	fs->inode_fds = 1;
	if (map_put(&fs->inodes, st.st_dev, st.st_ino, (uintptr_t)fs->root) < 0)
		return -ENOMEM;
	fs->mount_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

void node_fini(struct fs *fs)
{
	for (size_t s = 0; fs->dents && s < fs->dent_slots; s++)
		for (struct dent *d = fs->dents[s], *next; d; d = next) {
			next = d->next;
			if (d->inode->dent == d)
				d->inode->dent = NULL;
			free(d->name);
			free(d);
		}
	for (size_t s = 0; s < fs->inodes.cap; s++) {
		struct inode *i = (struct inode *)fs->inodes.slot[s].value;
		if (i && i->dent) {
			free(i->dent->name);
			free(i->dent);
		}
		if (i)
			inode_free(fs, i);
	}
	map_fini(&fs->inodes);
	free(fs->dents);
	names_free(fs->paths);
	if (fs->mount_fd > 0)
		close(fs->mount_fd);
}

/* Numbers are of one device for whoever uses the mount: those of others are marked. */
static uint64_t number(const struct fs *fs, const struct stat *st)
{
	uint64_t other =
		st->st_dev == fs->root->dev
			? 0
			: (major(st->st_dev) * 4099 + minor(st->st_dev)) % 0x7fff + 1;

	return st->st_ino ^ other << 48;
}

void node_attr(const struct fs *fs, struct fuse_attr *a, const struct stat *st)
{
	*a = (struct fuse_attr){ .ino = number(fs, st),
		.size = st->st_size,
		.blocks = st->st_blocks,
		.atime = st->st_atim.tv_sec,
		.mtime = st->st_mtim.tv_sec,
		.ctime = st->st_ctim.tv_sec,
		.atimensec = st->st_atim.tv_nsec,
		.mtimensec = st->st_mtim.tv_nsec,
		.ctimensec = st->st_ctim.tv_nsec,
		.mode = st->st_mode,
		.nlink = st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.rdev = minor(st->st_rdev) % 256 | major(st->st_rdev) << 8 |
			(minor(st->st_rdev) & ~255u) << 12,
		.blksize = st->st_blksize };
}

static struct dent *dent_new(struct fs *fs, struct inode *parent, const char *name)
{
	struct dent *d = calloc(1, sizeof(*d));

	if (!d || !(d->name = strdup(name))) {
		free(d);
		return NULL;
	}
	d->parent = parent;
	parent->refs++;
	d->refs = 1;
	hash_dent(fs, d);
	return d;
}

/* The name is that of the inode now. Without memory for it the path stays the old one. */
static void set_name(
	struct fs *fs, struct inode *parent, const char *name, struct inode *i)
{
	struct dent *d = find_dent(fs, parent, name);

	if (i == fs->root)
		return;
	if (d && d->inode != i) {
		dent_drop(fs, d);
		d = NULL;
	}
	if (!d) {
		d = dent_new(fs, parent, name);
		if (!d)
			return;
		d->inode = i;
		d->peer = i->names;
		i->names = d;
	}
	if (i->dent != d) {
		d->refs++;
		dent_put(fs, i->dent);
		i->dent = d;
	}
}

/* Count a lookup of an inode, under the lock. */
static void enter(
	struct req *r, const char *name, struct inode *i, struct fuse_entry_out *e)
{
	if (!i->nlookup++)
		i->refs++;
	if (name)
		set_name(r->fs, r->inode, name, i);
	e->nodeid = i == r->fs->root ? FUSE_ROOT_ID : (uintptr_t)i;
	e->generation = i->generation;
}

static void fill(struct req *r, const struct stat *st, struct fuse_entry_out *e)
{
	const struct fs *fs = r->fs;

	*e = (struct fuse_entry_out){ .entry_valid = fs->valid_ns / 1000000000,
		.entry_valid_nsec = fs->valid_ns % 1000000000,
		.attr_valid = fs->valid_ns / 1000000000,
		.attr_valid_nsec = fs->valid_ns % 1000000000 };
	node_attr(fs, &e->attr, st);
	r->type = file_type_by_mode(st->st_mode, st->st_rdev);
}

static struct file_handle *handle_by(int fd)
{
	struct file_handle *h = malloc(sizeof(*h) + MAX_HANDLE_SZ);
	int mount;

	if (!h)
		return NULL;
	h->handle_bytes = MAX_HANDLE_SZ;
	if (!name_to_handle_at(fd, "", h, &mount, AT_EMPTY_PATH))
		return h;
	free(h);
	return NULL;
}

/* An inode that nothing holds may be another one by now, of the same number. */
static bool is_same(const struct inode *i, int fd)
{
	if (i->fd >= 0)
		return true;
	struct file_handle *h = handle_by(fd);
	bool same = h && h->handle_bytes == i->handle->handle_bytes &&
		    h->handle_type == i->handle->handle_type &&
		    !memcmp(h->f_handle, i->handle->f_handle, h->handle_bytes);
	free(h);
	return same;
}

/* Under the lock. fd is the new inode's, or closed. */
static struct inode *inode_new(struct fs *fs, const struct stat *st, int fd)
{
	struct inode *i = calloc(1, sizeof(*i));

	if (!i) {
		close(fd);
		return NULL;
	}
	*i = (struct inode){ .dev = st->st_dev,
		.ino = st->st_ino,
		.fd = fd,
		.type = file_type_by_mode(st->st_mode, st->st_rdev),
		.generation = ++fs->generation };
	if (fs->inode_fds >= fs->max_inode_fds && st->st_dev == fs->root->dev &&
		fs->mount_fd >= 0 && (i->handle = handle_by(fd))) {
		close(fd);
		i->fd = -1;
	} else {
		fs->inode_fds++;
	}
	if (map_put(&fs->inodes, i->dev, i->ino, (uintptr_t)i) < 0) {
		inode_free(fs, i);
		return NULL;
	}
	return i;
}

/* fd is the new inode's, or closed. */
static int add_inode(struct req *r, const char *name, int fd, struct fuse_entry_out *e)
{
	struct fs *fs = r->fs;
	struct stat st;

	if (fstat(fd, &st) < 0) {
		int err = -errno;
		close(fd);
		return err;
	}
	fill(r, &st, e);
	pthread_mutex_lock(&fs->tree);
	struct inode *i = find_inode(fs, &st);
	if (i && !is_same(i, fd)) {
		forget_inode(fs, i);
		i = NULL;
	}
	if (i)
		close(fd);
	else
		i = inode_new(fs, &st, fd);
	if (i)
		enter(r, name, i, e);
	pthread_mutex_unlock(&fs->tree);
	return i ? 0 : -ENOMEM;
}

int node_borrow(struct req *r, struct inode *i)
{
	if (i->fd >= 0)
		return i->fd;
	const struct caller *as = r->w->as;
	caller_become(r->w, NULL);
	int fd = open_by_handle_at(r->fs->mount_fd, i->handle, O_PATH | O_CLOEXEC);
	int err = errno;
	if (as)
		caller_become(r->w, as);
	return fd < 0 ? -err : fd;
}

void node_give_back(const struct inode *i, int fd)
{
	if (i->fd < 0)
		close(fd);
}

int node_lookup(struct req *r, const char *name, struct fuse_entry_out *e)
{
	struct fs *fs = r->fs;
	struct stat st;

	if (fstatat(r->fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return -errno;
	pthread_mutex_lock(&fs->tree);
	struct inode *i = find_inode(fs, &st);
	if (i && i->fd < 0)
		i = NULL; /* it has to be looked at */
	if (i) {
		fill(r, &st, e);
		enter(r, name, i, e);
	}
	pthread_mutex_unlock(&fs->tree);
	if (i)
		return 0;
	int fd = openat(r->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : add_inode(r, name, fd, e);
}

int node_enter(struct req *r, const char *name, int fd, struct fuse_entry_out *e)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	fd = open(link, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : add_inode(r, name, fd, e);
}

void node_forget(struct fs *fs, uint64_t nodeid, uint64_t n)
{
	struct inode *i = inode_of(fs, nodeid);

	if (i == fs->root)
		return;
	pthread_mutex_lock(&fs->tree);
	i->nlookup -= n < i->nlookup ? n : i->nlookup;
	if (!i->nlookup)
		inode_put(fs, i);
	pthread_mutex_unlock(&fs->tree);
}

void node_hold(struct fs *fs, struct handle *h, struct inode *i)
{
	pthread_mutex_lock(&fs->tree);
	i->refs++;
	h->inode = i;
	h->dent = i->dent;
	if (h->dent)
		h->dent->refs++;
	pthread_mutex_unlock(&fs->tree);
}

void node_release(struct fs *fs, struct handle *h)
{
	pthread_mutex_lock(&fs->tree);
	dent_put(fs, h->dent);
	inode_put(fs, h->inode);
	pthread_mutex_unlock(&fs->tree);
}

void node_removed(struct req *r, const char *name)
{
	pthread_mutex_lock(&r->fs->tree);
	struct dent *d = find_dent(r->fs, r->inode, name);
	if (d) {
		d->gone = true;
		d->path_gen = 0;
		dent_drop(r->fs, d);
	}
	pthread_mutex_unlock(&r->fs->tree);
}

/* Two names change places; what they hold stays as it is. */
static void exchange(struct dent *a, struct dent *b)
{
	struct inode *parent = a->parent;
	char *name = a->name;

	a->parent = b->parent;
	a->name = b->name;
	b->parent = parent;
	b->name = name;
}

void node_moved(struct fs *fs, const struct move *m)
{
	char *name = m->exchange ? NULL : strdup(m->new);

	pthread_mutex_lock(&fs->tree);
	struct dent *a = find_dent(fs, m->from, m->old),
		    *b = find_dent(fs, m->to, m->new);
	if (a && b && a->inode == b->inode) {
		free(name); /* rename(2): two names of one file stay as they are */
	} else if (m->exchange) {
		if (a)
			unhash_dent(fs, a);
		if (b)
			unhash_dent(fs, b);
		if (a && b)
			exchange(a, b);
		if (a)
			hash_dent(fs, a);
		if (b)
			hash_dent(fs, b);
	} else {
		if (b) {
			b->gone = true;
			dent_drop(fs, b);
		}
		if (a && name) {
			unhash_dent(fs, a);
			m->to->refs++;
			inode_put(fs, a->parent);
			a->parent = m->to;
			free(a->name);
			a->name = name;
			hash_dent(fs, a);
		} else {
			free(name);
		}
	}
	fs->path_gen++;
	pthread_mutex_unlock(&fs->tree);
}
