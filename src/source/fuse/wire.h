/*
 * wire.h - what the kernel asks of a file system, fuse(4): the part that linux/fuse.h of
 * older systems lacks
 */
#ifndef IOPS_FUSE_WIRE_H
#define IOPS_FUSE_WIRE_H

#include <linux/fuse.h>

enum { WIRE_STATX = 52, WIRE_OPCODES = 53 };

/* Flags of INIT from bit 32 on stand in flags2. */
#define WIRE_DIRECT_IO_ALLOW_MMAP (1u << (36 - 32))

struct wire_statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};

struct wire_time {
	int64_t sec;
	uint32_t nsec;
	int32_t reserved;
};

struct wire_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct wire_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare2[14];
};

struct wire_statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	struct wire_statx stat;
};

_Static_assert(sizeof(struct wire_statx_out) == 32 + 256, "as in the kernel");

#endif
