/*
 * pseudo.h - file systems without files of their own.
 */
#ifndef IOPS_SNAPSHOT_PSEUDO_H
#define IOPS_SNAPSHOT_PSEUDO_H

#include <stdbool.h>
#include <stdint.h>

struct pseudo {
	uint32_t magic; /* statfs(2) f_type */
	const char *name;
	bool mounts; /* what is mounted in it may be real */
};

/* NULL: a real file system. */
const struct pseudo *pseudo_find(uint32_t magic);

#endif
