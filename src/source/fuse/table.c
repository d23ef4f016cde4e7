/*
 * table.c - what the kernel may ask for, by its numbers; and what of its offers is taken
 */
#include "fs.h"
#include "iops/op.h"

#include <errno.h>

enum { PAGE = 4096 };

/* What of the kernel's offers is taken. */
static int64_t do_init(struct req *r)
{
	const struct fuse_init_in *in = r->arg;
	struct fuse_init_out *o = r->out;
	uint32_t want = FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_ATOMIC_O_TRUNC |
			FUSE_BIG_WRITES | FUSE_DONT_MASK | FUSE_FLOCK_LOCKS |
			FUSE_HAS_IOCTL_DIR | FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS |
			FUSE_MAX_PAGES | FUSE_HANDLE_KILLPRIV_V2 | FUSE_SETXATTR_EXT |
			FUSE_INIT_EXT;
	uint32_t cached = FUSE_WRITEBACK_CACHE | FUSE_DO_READDIRPLUS |
			  FUSE_READDIRPLUS_AUTO | FUSE_POSIX_ACL | FUSE_CACHE_SYMLINKS;

	if (in->major != FUSE_KERNEL_VERSION || in->minor < 23)
		return -EPROTO;
	*o = (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION,
		.minor = in->minor < 39 ? in->minor : 39,
		.max_readahead = in->max_readahead,
		.flags = in->flags & (want | (r->fs->cached ? cached : 0)),
		.max_background = 64,
		.congestion_threshold = 48,
		.max_write = DATA_MAX,
		.max_pages = DATA_MAX / PAGE,
		.time_gran = 1 };
	if (in->flags & FUSE_INIT_EXT)
		o->flags2 = in->flags2 & WIRE_DIRECT_IO_ALLOW_MMAP;
	return sizeof(*o);
}

static int64_t do_destroy(struct req *r)
{
	(void)r;
	return 0;
}

/* clang-format off */
const struct request requests[WIRE_OPCODES] = {
	[FUSE_INIT] = { "init", NULL, do_init, OP_NOTE, false, false },
	[FUSE_DESTROY] = { "destroy", NULL, do_destroy, OP_NOTE, false, false },
	[FUSE_FORGET] = { "forget", NULL, do_forget, OP_NOTE, false, false },
	[FUSE_BATCH_FORGET] = { "forget", NULL, do_batch_forget, OP_NOTE, false, false },
	[FUSE_INTERRUPT] = { "interrupt", NULL, do_interrupt, OP_NOTE, false, false },
	[FUSE_LOOKUP] = { "lookup", "GETATTR", do_lookup, OP_META, true, true },
	[FUSE_GETATTR] = { "getattr", NULL, do_getattr, OP_META, false, false },
	[FUSE_SETATTR] = { "setattr", NULL, do_setattr, OP_META, false, true },
	[FUSE_READLINK] = { "readlink", NULL, do_readlink, OP_META, false, true },
	[FUSE_SYMLINK] = { "symlink", NULL, do_symlink, OP_META, true, true },
	[FUSE_MKNOD] = { "mknod", NULL, do_mknod, OP_META, true, true },
	[FUSE_MKDIR] = { "mkdir", NULL, do_mkdir, OP_META, true, true },
	[FUSE_UNLINK] = { "unlink", NULL, do_unlink, OP_META, true, true },
	[FUSE_RMDIR] = { "rmdir", NULL, do_rmdir, OP_META, true, true },
	[FUSE_RENAME] = { "rename", NULL, do_rename, OP_META, true, true },
	[FUSE_RENAME2] = { "rename", NULL, do_rename2, OP_META, true, true },
	[FUSE_LINK] = { "link", NULL, do_link, OP_META, true, true },
	[FUSE_OPEN] = { "open", NULL, do_open, OP_OPEN, false, true },
	[FUSE_CREATE] = { "create", NULL, do_create, OP_OPEN, true, true },
	[FUSE_TMPFILE] = { "tmpfile", NULL, do_tmpfile, OP_OPEN, false, true },
	[FUSE_READ] = { "read", NULL, do_read, OP_READ, false, false },
	[FUSE_WRITE] = { "write", NULL, do_write, OP_WRITE, false, false },
	[FUSE_STATFS] = { "statfs", NULL, do_statfs, OP_META, false, false },
	[FUSE_RELEASE] = { "release", NULL, do_release, OP_CLOSE, false, false },
	[FUSE_FSYNC] = { "fsync", NULL, do_fsync, OP_SYNC, false, false },
	[FUSE_SYNCFS] = { "syncfs", NULL, do_syncfs, OP_SYNC, false, false },
	[FUSE_SETXATTR] = { "setxattr", NULL, do_setxattr, OP_META, false, true },
	[FUSE_GETXATTR] = { "getxattr", NULL, do_getxattr, OP_META, false, true },
	[FUSE_LISTXATTR] = { "listxattr", NULL, do_listxattr, OP_META, false, true },
	[FUSE_REMOVEXATTR] = { "removexattr", NULL, do_removexattr, OP_META, false, true },
	[FUSE_FLUSH] = { "flush", NULL, do_flush, OP_META, false, false },
	[FUSE_OPENDIR] = { "opendir", NULL, do_opendir, OP_OPEN, false, true },
	[FUSE_READDIR] = { "readdir", NULL, do_readdir, OP_META, false, false },
	[FUSE_READDIRPLUS] = { "readdirplus", "READDIR", do_readdirplus, OP_META, false, true },
	[FUSE_RELEASEDIR] = { "releasedir", NULL, do_releasedir, OP_CLOSE, false, false },
	[FUSE_FSYNCDIR] = { "fsyncdir", NULL, do_fsync, OP_SYNC, false, false },
	[FUSE_GETLK] = { "getlk", NULL, do_getlk, OP_META, false, false },
	[FUSE_SETLK] = { "setlk", NULL, do_setlk, OP_META, false, false },
	[FUSE_SETLKW] = { "setlkw", NULL, do_setlk, OP_META, false, false },
	[FUSE_ACCESS] = { "access", NULL, do_access, OP_META, false, true },
	[FUSE_IOCTL] = { "ioctl", NULL, do_ioctl, OP_META, false, true },
	[FUSE_POLL] = { "poll", NULL, do_poll, OP_META, false, false },
	[FUSE_FALLOCATE] = { "fallocate", NULL, do_fallocate, OP_META, false, true },
	[FUSE_LSEEK] = { "lseek", NULL, do_lseek, OP_META, false, false },
	[FUSE_COPY_FILE_RANGE] = { "copy_file_range", NULL, do_copy_file_range, OP_READ, false, true },
	[WIRE_STATX] = { "statx", "GETATTR", do_statx, OP_META, false, false },
};
/* clang-format on */
