/*
 * entry.c - names: looked up, made, moved and removed
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int64_t do_lookup(struct req *r)
{
	r->name = r->arg;
	int err = node_lookup(r, r->name, r->out);
	return err < 0 ? err : (int64_t)sizeof(struct fuse_entry_out);
}

int64_t do_forget(struct req *r)
{
	const struct fuse_forget_in *in = r->arg;

	node_forget(r->fs, r->in->nodeid, in->nlookup);
	return NO_REPLY;
}

int64_t do_batch_forget(struct req *r)
{
	const struct fuse_batch_forget_in *in = r->arg;
	const struct fuse_forget_one *one = (const void *)(in + 1);

	for (uint32_t i = 0; i < in->count; i++)
		node_forget(r->fs, one[i].nodeid, one[i].nlookup);
	return NO_REPLY;
}

/* What was made has to be known to the kernel, or the call did not happen. */
static int64_t made(struct req *r, int failed)
{
	int err = failed < 0 ? -errno : node_lookup(r, r->name, r->out);

	return err < 0 ? err : (int64_t)sizeof(struct fuse_entry_out);
}

static dev_t device(uint32_t rdev)
{
	return makedev(rdev >> 8 & 0xfff, (rdev & 0xff) | (rdev >> 12 & 0xfff00));
}

int64_t do_mknod(struct req *r)
{
	const struct fuse_mknod_in *in = r->arg;

	r->name = (const char *)(in + 1);
	r->type = file_type_by_mode(in->mode, device(in->rdev));
	caller_umask(r->w, in->umask);
	return made(r, TIMED(r, mknodat(r->fd, r->name, in->mode, device(in->rdev))));
}

int64_t do_mkdir(struct req *r)
{
	const struct fuse_mkdir_in *in = r->arg;

	r->name = (const char *)(in + 1);
	r->type = FILE_DIR;
	caller_umask(r->w, in->umask);
	return made(r, TIMED(r, mkdirat(r->fd, r->name, in->mode)));
}

int64_t do_symlink(struct req *r)
{
	r->name = r->arg;
	return made(
		r, TIMED(r, symlinkat(r->name + strlen(r->name) + 1, r->fd, r->name)));
}

static int64_t removed(struct req *r, int flags)
{
	r->name = r->arg;
	if (TIMED(r, unlinkat(r->fd, r->name, flags)) < 0)
		return -errno;
	node_removed(r, r->name);
	return 0;
}

int64_t do_unlink(struct req *r)
{
	return removed(r, 0);
}

int64_t do_rmdir(struct req *r)
{
	r->type = FILE_DIR;
	return removed(r, AT_REMOVEDIR);
}

static int64_t moved(struct req *r, uint64_t newdir, uint32_t flags, const char *names)
{
	struct move m = { .from = r->inode,
		.to = inode_of(r->fs, newdir),
		.old = names,
		.new = names + strlen(names) + 1,
		.exchange = flags &RENAME_EXCHANGE };

	r->name = m.old;
	r->path = path_of_name(r, m.from, m.old);
	r->path2 = path_of_name(r, m.to, m.new);
	int to = m.to == m.from ? r->fd : node_borrow(r, m.to);
	if (to < 0)
		return to;
	int64_t err = ERR(TIMED(r, renameat2(r->fd, m.old, to, m.new, flags)));
	if (to != r->fd)
		node_give_back(m.to, to);
	if (err < 0)
		return err;
	node_moved(r->fs, &m);
	return 0;
}

int64_t do_rename(struct req *r)
{
	const struct fuse_rename_in *in = r->arg;

	return moved(r, in->newdir, 0, (const char *)(in + 1));
}

int64_t do_rename2(struct req *r)
{
	const struct fuse_rename2_in *in = r->arg;

	return moved(r, in->newdir, in->flags, (const char *)(in + 1));
}

int64_t do_link(struct req *r)
{
	const struct fuse_link_in *in = r->arg;
	struct inode *old = inode_of(r->fs, in->oldnodeid);
	char link[32];

	r->name = (const char *)(in + 1);
	r->type = old->type;
	r->path2 = path_of(r, old);
	int fd = node_borrow(r, old);
	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int failed = TIMED(r, linkat(AT_FDCWD, link, r->fd, r->name, AT_SYMLINK_FOLLOW));
	int err = errno;
	node_give_back(old, fd);
	errno = err;
	return made(r, failed);
}

/* Answer with an entry and what is open of it. */
static int64_t created(struct req *r, int fd, const char *name)
{
	struct fuse_entry_out *e = r->out;
	struct inode *dir = r->inode;
	int64_t err = node_enter(r, name, fd, e);

	if (err < 0) {
		close(fd);
		return err;
	}
	r->inode = inode_of(r->fs, e->nodeid);
	err = file_opened(r, fd, (struct fuse_open_out *)(e + 1));
	r->inode = dir;
	if (err < 0)
		node_forget(r->fs, e->nodeid, 1);
	return err < 0 ? err : err + (int64_t)sizeof(*e);
}

int64_t do_create(struct req *r)
{
	const struct fuse_create_in *in = r->arg;
	int flags = (int)in->flags;

	r->name = (const char *)(in + 1);
	r->type = FILE_REGULAR;
	caller_umask(r->w, in->umask);
	if (r->fs->cached)
		flags = (flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR
							: flags;
	if (r->fs->cached)
		flags &= ~(O_APPEND | O_DIRECT);
	flags |= O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = TIMED(r, openat(r->fd, r->name, flags, in->mode));
	return fd < 0 ? -errno : created(r, fd, r->name);
}

int64_t do_tmpfile(struct req *r)
{
	const struct fuse_create_in *in = r->arg;
	int flags = (int)in->flags & ~(O_CREAT | O_EXCL);

	r->type = FILE_REGULAR;
	caller_umask(r->w, in->umask);
	/* Whether it may get a name is the kernel's to know: it was told of O_EXCL. */
	int fd = TIMED(r, openat(r->fd, ".", flags | O_TMPFILE | O_CLOEXEC, in->mode));
	return fd < 0 ? -errno : created(r, fd, NULL);
}
