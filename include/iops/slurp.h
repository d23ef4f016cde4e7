/*
 * slurp.h - small files of /proc and /sys
 */
#ifndef IOPS_SLURP_H
#define IOPS_SLURP_H

#include <sys/types.h>

/* The whole of a file, as far as it fits, and a 0 behind it. Its length, or -errno. */
ssize_t slurp(const char *path, char *buf, size_t size);

#endif
