/*
 * attr.c - what is known of a file besides its bytes
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINK = 32 };

/* The name of what is open: a way to it for calls that take no O_PATH descriptor. */
static const char *self(int fd, char buf[LINK])
{
	snprintf(buf, LINK, "/proc/self/fd/%d", fd);
	return buf;
}

static int64_t attr_out(struct req *r, const struct stat *st)
{
	struct fuse_attr_out *o = r->out;

	*o = (struct fuse_attr_out){ .attr_valid = r->fs->valid_ns / 1000000000,
		.attr_valid_nsec = r->fs->valid_ns % 1000000000 };
	node_attr(r->fs, &o->attr, st);
	return sizeof(*o);
}

int64_t do_getattr(struct req *r)
{
	const struct fuse_getattr_in *in = r->arg;
	struct stat st;

	r->handle = in->getattr_flags & FUSE_GETATTR_FH ? handle_of(in->fh) : NULL;
	if (TIMED(r, fstatat(r->fd, "", &st, AT_EMPTY_PATH)) < 0)
		return -errno;
	return attr_out(r, &st);
}

static struct wire_time time_of(const struct statx_timestamp *t)
{
	return (struct wire_time){ t->tv_sec, t->tv_nsec, 0 };
}

int64_t do_statx(struct req *r)
{
	const struct wire_statx_in *in = r->arg;
	struct wire_statx_out *o = r->out;
	struct statx x;
	struct stat st;

	r->handle = in->getattr_flags & FUSE_GETATTR_FH ? handle_of(in->fh) : NULL;
	if (TIMED(r, statx(r->fd, "", AT_EMPTY_PATH | (int)in->sx_flags, in->sx_mask,
			     &x)) < 0 ||
		fstatat(r->fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	struct fuse_attr a;
	node_attr(r->fs, &a, &st);
	*o = (struct wire_statx_out){ .attr_valid = r->fs->valid_ns / 1000000000,
		.attr_valid_nsec = r->fs->valid_ns % 1000000000,
		.stat = { .mask = x.stx_mask & 0xfff,
			.blksize = x.stx_blksize,
			.attributes = x.stx_attributes,
			.attributes_mask = x.stx_attributes_mask,
			.nlink = x.stx_nlink,
			.uid = x.stx_uid,
			.gid = x.stx_gid,
			.mode = x.stx_mode,
			.ino = a.ino,
			.size = x.stx_size,
			.blocks = x.stx_blocks,
			.atime = time_of(&x.stx_atime),
			.btime = time_of(&x.stx_btime),
			.ctime = time_of(&x.stx_ctime),
			.mtime = time_of(&x.stx_mtime),
			.rdev_major = x.stx_rdev_major,
			.rdev_minor = x.stx_rdev_minor } };
	return sizeof(*o);
}

static int64_t set_owner(struct req *r, const struct fuse_setattr_in *in)
{
	uid_t uid = in->valid & FATTR_UID ? in->uid : (uid_t)-1;
	gid_t gid = in->valid & FATTR_GID ? in->gid : (gid_t)-1;

	return ERR(fchownat(r->fd, "", uid, gid, AT_EMPTY_PATH));
}

static int64_t set_size(struct req *r, const struct fuse_setattr_in *in)
{
	char link[LINK];

	r->want = in->size;
	if (in->valid & FATTR_KILL_SUIDGID)
		caller_without_fsetid(r->w);
	if (in->valid & FATTR_FH)
		return ERR(ftruncate(handle_of(in->fh)->fd, (off_t)in->size));
	return ERR(truncate(self(r->fd, link), (off_t)in->size));
}

static int64_t set_times(struct req *r, const struct fuse_setattr_in *in)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	char link[LINK];

	if (in->valid & FATTR_ATIME_NOW)
		t[0].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_ATIME)
		t[0] = (struct timespec){ (time_t)in->atime, in->atimensec };
	if (in->valid & FATTR_MTIME_NOW)
		t[1].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_MTIME)
		t[1] = (struct timespec){ (time_t)in->mtime, in->mtimensec };
	/* The kernel has decided, and says when it was that others wrote. */
	if (r->fs->cached)
		caller_become(r->w, NULL);
	if (in->valid & FATTR_FH)
		return ERR(futimens(handle_of(in->fh)->fd, t));
	return ERR(utimensat(AT_FDCWD, self(r->fd, link), t, 0));
}

static int64_t set(struct req *r, const struct fuse_setattr_in *in)
{
	char link[LINK];
	int64_t err = 0;

	if (in->valid & FATTR_MODE)
		err = ERR(fchmodat(AT_FDCWD, self(r->fd, link), in->mode & 07777, 0));
	if (!err && in->valid & (FATTR_UID | FATTR_GID))
		err = set_owner(r, in);
	if (!err && in->valid & FATTR_SIZE)
		err = set_size(r, in);
	if (!err && in->valid & (FATTR_ATIME | FATTR_MTIME))
		err = set_times(r, in);
	return err;
}

int64_t do_setattr(struct req *r)
{
	const struct fuse_setattr_in *in = r->arg;
	struct stat st;

	r->handle = in->valid & FATTR_FH ? handle_of(in->fh) : NULL;
	r->call = in->valid & FATTR_SIZE                    ? "truncate"
		  : in->valid & FATTR_MODE                  ? "chmod"
		  : in->valid & (FATTR_UID | FATTR_GID)     ? "chown"
		  : in->valid & (FATTR_ATIME | FATTR_MTIME) ? "utimens"
							    : "setattr";
	int64_t err = TIMED(r, set(r, in));
	if (err < 0)
		return err;
	if (fstatat(r->fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	return attr_out(r, &st);
}

int64_t do_readlink(struct req *r)
{
	ssize_t n = TIMED(r, readlinkat(r->fd, "", r->out, 4096));

	return n < 0 ? -errno : n;
}

int64_t do_access(struct req *r)
{
	const struct fuse_access_in *in = r->arg;
	char link[LINK];

	return ERR(TIMED(
		r, faccessat(AT_FDCWD, self(r->fd, link), (int)in->mask, AT_EACCESS)));
}

int64_t do_statfs(struct req *r)
{
	struct fuse_statfs_out *o = r->out;
	struct statfs s;

	if (TIMED(r, fstatfs(r->fd, &s)) < 0)
		return -errno;
	*o = (struct fuse_statfs_out){ .st = { .blocks = s.f_blocks,
					       .bfree = s.f_bfree,
					       .bavail = s.f_bavail,
					       .files = s.f_files,
					       .ffree = s.f_ffree,
					       .bsize = (uint32_t)s.f_bsize,
					       .namelen = (uint32_t)s.f_namelen,
					       .frsize = (uint32_t)s.f_frsize } };
	return sizeof(*o);
}

/* The answer to those who ask for no bytes is how many there are. */
static int64_t sized(struct req *r, uint32_t asked, ssize_t n)
{
	if (n < 0)
		return -errno;
	if (asked)
		return n;
	*(struct fuse_getxattr_out *)r->out = (struct fuse_getxattr_out){ .size = n };
	return sizeof(struct fuse_getxattr_out);
}

int64_t do_getxattr(struct req *r)
{
	const struct fuse_getxattr_in *in = r->arg;
	char link[LINK];

	return sized(r, in->size,
		TIMED(r, getxattr(self(r->fd, link), (const char *)(in + 1), r->out,
				 in->size)));
}

int64_t do_listxattr(struct req *r)
{
	const struct fuse_getxattr_in *in = r->arg;
	char link[LINK];

	return sized(
		r, in->size, TIMED(r, listxattr(self(r->fd, link), r->out, in->size)));
}

int64_t do_setxattr(struct req *r)
{
	const struct fuse_setxattr_in *in = r->arg;
	const char *name = (const char *)(in + 1);
	char link[LINK];

	r->want = in->size;
	if (in->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID)
		caller_without_fsetid(r->w);
	return ERR(TIMED(r, setxattr(self(r->fd, link), name, name + strlen(name) + 1,
				    in->size, (int)in->flags)));
}

int64_t do_removexattr(struct req *r)
{
	char link[LINK];

	return ERR(TIMED(r, removexattr(self(r->fd, link), r->arg)));
}
