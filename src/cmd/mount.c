/*
 * mount.c - iops mount: a pass-through file system that shows all I/O below it
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/front.h"
#include "iops/mount.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level && remove(path) < 0 ? -diag_err(errno, "%s", path) : 0;
}

/* What stands on other file systems below it stays. */
static int empty(const char *source)
{
	int err = nftw(source, remove_one, 64, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	return err < 0 ? diag_err(errno, "%s", source) : -err;
}

static int mount_verb(const struct options *given)
{
	struct options o = *given;
	struct mount_detail detail = { 0 };
	struct out out, log;

	if (o.argc < 2) {
		diag_usage("mount", "mount: a source and a mount point");
		return EXIT_USAGE;
	}
	o.mount.source = o.argv[0];
	o.mount.point = o.argv[1];
	o.argv += 2;
	o.argc -= 2;
	if (o.argc && !strcmp(o.argv[0], "--")) {
		o.argv++;
		o.argc--;
	}
	o.mount.command = o.argc ? o.argv[0] : NULL;
	o.mount.detail = o.mount.trace ? &detail : NULL;
	if (o.argc && o.mount.daemon) {
		diag_usage("mount", "mount: either a command or --daemon, not both");
		return EXIT_USAGE;
	}
	if (out_clash(o.output, o.log, NULL) ||
		mount_check(o.mount.source, o.mount.point) < 0)
		return EXIT_USAGE;
	if (o.mount.clear && empty(o.mount.source) < 0)
		return o.argc ? 125 : 1;
	o.backend = "fuse";
	if (out_open(&out, o.output) < 0 || out_open_log(&log, o.log) < 0)
		return o.argc ? 125 : 1;
	opts_terminal(&o, out.fd);
	return o.argc ? front_run(&o, &out, &log, collect)
		      : front_attach(&o, &out, &log, collect);
}

const struct command command_mount = {
	.name = "mount",
	.args = "[options] SOURCE MOUNTPOINT [-- COMMAND [ARG...]]",
	.help = "show all I/O below a folder, by a file system that passes it on\n"
		"\nWhat is done below MOUNTPOINT is done in SOURCE, and reported. Ends "
		"with "
		"the\n"
		"command, which runs in MOUNTPOINT; or with fusermount3 -u, after "
		"--duration, or\n"
		"with Ctrl-C.",
	.takes = "ofJHBSTCePYIldiURLqv23456",
	.main = mount_verb,
};
