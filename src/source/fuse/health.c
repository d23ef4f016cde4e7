/*
 * health.c - whether iops mount works here
 */
#include "iops/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool in_path(const char *program)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), *save,
	     *dir;
	bool found = false;

	for (dir = path ? strtok_r(path, ":", &save) : NULL; dir && !found;
		dir = strtok_r(NULL, ":", &save)) {
		char name[4096];
		snprintf(name, sizeof(name), "%s/%s", dir, program);
		found = !access(name, X_OK);
	}
	free(path);
	return found;
}

unsigned fuse_health(struct source_health *row)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), err = errno;
	bool helper = in_path("fusermount3");
	const char *why, *cure = "", *status = "no";

	if (fd < 0 && err == ENOENT) {
		why = "/dev/fuse is missing: no fuse in the kernel, or a container "
		      "without it";
		cure = "modprobe fuse, or run the container with --device /dev/fuse";
	} else if (fd < 0) {
		why = "/dev/fuse may not be opened";
		cure = "run the container with --device /dev/fuse --cap-add SYS_ADMIN";
	} else if (geteuid() && !helper) {
		why = "only root can mount without fusermount3";
		cure = "apt install fuse3, or sudo iops mount ...";
	} else if (geteuid()) {
		status = "limited";
		why = "for yourself: other users, root too, see nothing of it";
		cure = "sudo iops mount ...";
	} else {
		status = "works";
		why = "every operation below a folder, by a file system that passes it "
		      "on";
	}
	if (fd >= 0)
		close(fd);
	*row = (struct source_health){ .name = "mount", .status = status };
	snprintf(row->reason, sizeof(row->reason), "%s", why);
	snprintf(row->enable, sizeof(row->enable), "%s", cure);
	return 1;
}
