/*
 * file.c - what is open: its bytes
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <unistd.h>

int64_t file_opened(struct req *r, int fd, struct fuse_open_out *o)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h) {
		close(fd);
		return -ENOMEM;
	}
	h->fd = fd;
	pthread_mutex_init(&h->lock, NULL);
	node_hold(r->fs, h, r->inode);
	if (r->caller) {
		h->pid = r->caller->pid;
		h->uid = r->caller->uid;
		memcpy(h->comm, r->caller->comm, sizeof(h->comm));
	}
	r->handle = h;
	*o = (struct fuse_open_out){ .fh = (uintptr_t)h,
		.open_flags = r->fs->cached
				      ? FOPEN_KEEP_CACHE
				      : FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES };
	return sizeof(*o);
}

/* A file that nothing but appending is allowed to, chattr(1): without the cache. errno is
 * that of an open without O_APPEND. */
static int only_append(const char *link, int flags, bool *past)
{
	if (errno != EPERM || !(flags & O_APPEND))
		return -1;
	*past = true;
	return open(link, flags | O_CLOEXEC);
}

/* With the cache of the kernel before it, partial pages are read before they are written,
 * and where a file ends only the kernel knows. past: that cannot be had. */
static int reopen(struct req *r, const char *link, int flags, bool *past)
{
	int kept = flags;

	*past = false;
	if (r->fs->cached) {
		int both = (flags & ~(O_ACCMODE | O_APPEND | O_DIRECT)) | O_RDWR;
		if ((flags & O_ACCMODE) == O_WRONLY) {
			int fd = open(link, (flags & ~O_APPEND) | O_CLOEXEC);
			if (fd < 0)
				return only_append(link, kept, past);
			caller_become(r->w, NULL);
			int wide = open(link, (both & ~O_TRUNC) | O_CLOEXEC);
			if (wide < 0)
				return fd;
			close(fd);
			return wide;
		}
		flags &= ~(O_APPEND | O_DIRECT);
	}
	int fd = open(link, flags | O_CLOEXEC);
	return fd < 0 && flags != kept ? only_append(link, kept, past) : fd;
}

enum { FOR_EXEC = 0x20 /* include/linux/fs.h of the kernel: __FMODE_EXEC */ };

int64_t do_open(struct req *r)
{
	const struct fuse_open_in *in = r->arg;
	int flags = (int)in->flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL);
	char link[32];

	if (in->open_flags & FUSE_OPEN_KILL_SUIDGID)
		caller_without_fsetid(r->w);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	bool past;
	int fd = TIMED(r, reopen(r, link, flags | O_NOCTTY, &past));
	/* What may be executed need not be one's own to read. */
	if (fd < 0 && errno == EACCES && in->flags & FOR_EXEC &&
		!faccessat(AT_FDCWD, link, X_OK, AT_EACCESS)) {
		caller_become(r->w, NULL);
		fd = TIMED(r, reopen(r, link, flags | O_NOCTTY, &past));
	}
	if (fd < 0)
		return -errno;
	if (in->open_flags & FUSE_OPEN_KILL_SUIDGID)
		serve_stale(r);
	int64_t n = file_opened(r, fd, r->out);
	if (n > 0 && past)
		((struct fuse_open_out *)r->out)->open_flags = FOPEN_DIRECT_IO;
	return n;
}

static void closed(struct req *r, struct handle *h)
{
	close(h->fd);
	lock_closed(r->fs, h);
	node_release(r->fs, h);
	pthread_mutex_destroy(&h->lock);
	free(h->entries);
	free(h);
}

int64_t do_release(struct req *r)
{
	const struct fuse_release_in *in = r->arg;

	r->handle = handle_of(in->fh);
	r->path = path_of_handle(r, r->handle);
	r->start_ns = fuse_now();
	serve_record(r, 0);
	closed(r, r->handle);
	r->handle = NULL;
	serve_reply(r->w->fd, r->in->unique, 0, NULL);
	return NO_REPLY;
}

int64_t do_releasedir(struct req *r)
{
	return do_release(r);
}

int64_t do_read(struct req *r)
{
	const struct fuse_read_in *in = r->arg;
	size_t size = in->size < DATA_MAX ? in->size : DATA_MAX;

	r->handle = handle_of(in->fh);
	r->want = in->size;
	r->offset = (int64_t)in->offset;
	ssize_t n = TIMED(r, splice_read(r, size));
	return r->ret = n < 0 ? -errno : n;
}

/* fcntl(2) may have changed since it was opened where it writes to. With the cache of the
 * kernel that decides where. */
static void follow_append(const struct req *r, uint32_t flags)
{
	int fd = r->handle->fd, now = r->fs->cached ? -1 : fcntl(fd, F_GETFL);

	if (now != -1 && (now ^ (int)flags) & O_APPEND)
		fcntl(fd, F_SETFL, now ^ O_APPEND);
}

int64_t do_write(struct req *r)
{
	const struct fuse_write_in *in = r->arg;
	struct fuse_write_out *o = r->out;

	r->handle = handle_of(in->fh);
	r->want = in->size;
	r->offset = (int64_t)in->offset;
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		caller_without_fsetid(r->w);
	follow_append(r, in->flags);
	ssize_t n = TIMED(r, pwrite(r->handle->fd, in + 1, in->size, (off_t)in->offset));
	r->ret = n < 0 ? -errno : n;
	*o = (struct fuse_write_out){ .size = n };
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		serve_stale(r);
	return n < 0 ? r->ret : (int64_t)sizeof(*o);
}

int64_t do_flush(struct req *r)
{
	const struct fuse_flush_in *in = r->arg;

	r->handle = handle_of(in->fh);
	lock_release(r, in->lock_owner);
	int fd = dup(r->handle->fd);
	/* Some file systems tell only now that bytes were lost. */
	return fd < 0 ? -errno : ERR(TIMED(r, close(fd)));
}

int64_t do_fsync(struct req *r)
{
	const struct fuse_fsync_in *in = r->arg;

	r->handle = handle_of(in->fh);
	int fd = r->handle->fd;
	return in->fsync_flags & FUSE_FSYNC_FDATASYNC ? ERR(TIMED(r, fdatasync(fd)))
						      : ERR(TIMED(r, fsync(fd)));
}

int64_t do_syncfs(struct req *r)
{
	int fd = openat(r->fs->root->fd, ".", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int64_t err = ERR(TIMED(r, syncfs(fd)));
	close(fd);
	return err;
}

int64_t do_fallocate(struct req *r)
{
	const struct fuse_fallocate_in *in = r->arg;

	r->handle = handle_of(in->fh);
	r->want = in->length;
	r->offset = (int64_t)in->offset;
	return ERR(TIMED(r, fallocate(r->handle->fd, (int)in->mode, (off_t)in->offset,
				    (off_t)in->length)));
}

int64_t do_lseek(struct req *r)
{
	const struct fuse_lseek_in *in = r->arg;
	struct fuse_lseek_out *o = r->out;

	/* What waits in the kernel's cache is not in the source yet: all of it is data.
	 */
	if (r->fs->cached)
		return -ENOSYS;
	r->handle = handle_of(in->fh);
	r->offset = (int64_t)in->offset;
	off_t at = TIMED(r, lseek(r->handle->fd, (off_t)in->offset, (int)in->whence));
	if (at < 0)
		return -errno;
	o->offset = (uint64_t)at;
	return sizeof(*o);
}

int64_t do_copy_file_range(struct req *r)
{
	const struct fuse_copy_file_range_in *in = r->arg;
	struct fuse_write_out *o = r->out;
	off_t from = (off_t)in->off_in, to = (off_t)in->off_out;
	struct handle *target = handle_of(in->fh_out);

	r->handle = handle_of(in->fh_in);
	r->want = in->len;
	r->offset = from;
	r->second = true;
	r->type2 = FILE_REGULAR;
	r->path2 = path_of_handle(r, target);
	size_t len = in->len < 1 << 30 ? in->len : 1 << 30; /* the answer has 32 bits */
	ssize_t n = TIMED(r, copy_file_range(r->handle->fd, &from, target->fd, &to, len,
				     (unsigned)in->flags));
	r->ret = n < 0 ? -errno : n;
	*o = (struct fuse_write_out){ .size = n };
	return n < 0 ? r->ret : (int64_t)sizeof(*o);
}

/* Those whose argument is what their number says, and that mean a file. */
static bool known_ioctl(uint32_t cmd)
{
	switch (cmd) {
	case FS_IOC_GETFLAGS:
	case FS_IOC_SETFLAGS:
	case FS_IOC_GETVERSION:
	case FS_IOC_SETVERSION:
	case FS_IOC_FSGETXATTR:
	case FS_IOC_FSSETXATTR:
	case FS_IOC_GETFSLABEL:
		return true;
	}
	return false;
}

int64_t do_ioctl(struct req *r)
{
	const struct fuse_ioctl_in *in = r->arg;
	struct fuse_ioctl_out *o = r->out;
	char *data = (char *)(o + 1);

	r->handle = handle_of(in->fh);
	r->want = in->in_size;
	if (!known_ioctl(in->cmd) || in->in_size > 4096 || in->out_size > 4096)
		return -ENOTTY;
	memset(o, 0, sizeof(*o) + 4096);
	memcpy(data, in + 1, in->in_size);
	int result = TIMED(r, ioctl(r->handle->fd, in->cmd, data));
	if (result < 0)
		return -errno;
	o->result = result;
	return (int64_t)(sizeof(*o) + in->out_size);
}

int64_t do_poll(struct req *r)
{
	const struct fuse_poll_in *in = r->arg;
	struct fuse_poll_out *o = r->out;

	r->handle = handle_of(in->fh);
	struct pollfd p = { .fd = r->handle->fd, .events = (short)in->events };
	if (TIMED(r, poll(&p, 1, 0)) < 0)
		return -errno;
	*o = (struct fuse_poll_out){ .revents = (uint32_t)p.revents };
	return sizeof(*o);
}
