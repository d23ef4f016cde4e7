/*
 * readers.c - the sources that read saved traces
 */
#include "iops/source.h"

#include <stddef.h>

const struct source_ops *const source_readers[] = { &source_log, &source_strace,
	&source_fs_usage, &source_fuse_trace, &source_blktrace, NULL };
