/*
 * none.c - in place of the file system, where it was built without libfuse3
 */
#include "iops/diag.h"
#include "iops/mount.h"
#include "iops/source.h"

#include <errno.h>
#include <stdio.h>

static const char why[] = "this iops was built without it: libfuse3 was missing";

int mount_check(const char *source, const char *point)
{
	(void)source;
	diag("%s: cannot mount; %s", point, why);
	return -ENOSYS;
}

static int none_open(struct source **out, const struct source_args *args)
{
	(void)out;
	(void)args;
	return -ENOSYS;
}

const struct source_ops source_fuse = {
	.name = "fuse",
	.help = "not built in",
	.open = none_open,
};

unsigned fuse_health(struct source_health *row)
{
	*row = (struct source_health){ .name = "mount", .status = "no" };
	snprintf(row->reason, sizeof(row->reason), "%s", why);
	snprintf(row->enable, sizeof(row->enable), "make deps && make");
	return 1;
}
