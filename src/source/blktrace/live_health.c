/*
 * live_health.c - whether the kernel lets us trace block devices: tried out on one
 */
#include "capture.h"
#include "devices.h"
#include "iops/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 64 };

/* Nothing is started: no event is traced. */
static int try_one(uint32_t dev)
{
	struct capture c;
	int err = capture_open(&c, dev, false);

	if (!err)
		err = capture_setup(&c, 1, false);
	capture_close(&c);
	return err;
}

/* The first device that is not busy; best one that nobody uses. */
static int try_any(void)
{
	uint32_t all[2 * DEVICES_MAX];
	unsigned n = devices_all(all, DEVICES_MAX, true);
	int err = -ENODEV;

	n += devices_all(all + n, DEVICES_MAX, false);
	for (unsigned i = 0; i < n; i++) {
		int one = try_one(all[i]);
		if (!one || one == -EPERM || one == -ENOSYS)
			return one;
		if (one == -EBUSY || err == -ENODEV)
			err = one;
	}
	return err;
}

static void set(struct source_health *row, const char *reason, const char *enable)
{
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
	snprintf(row->enable, sizeof(row->enable), "%s", enable);
}

unsigned blktrace_health(struct source_health *row)
{
	char dir[120];
	int err = capture_debugfs(dir, sizeof(dir));

	*row = (struct source_health){ .name = "blktrace", .status = "no" };
	if (err == -EACCES) {
		set(row, "it takes root", "sudo iops trace -b blktrace ...");
	} else if (err == -ENOENT) {
		set(row, "debugfs is not mounted",
			"mount -t debugfs none /sys/kernel/debug");
	} else if (err || (err = try_any()) == -ENOSYS) {
		set(row, "the kernel cannot trace block devices",
			"a kernel with CONFIG_BLK_DEV_IO_TRACE=y");
	} else if (!err) {
		row->status = "works";
		set(row, "requests to block devices, whoever made them", "");
	} else if (err == -EPERM) {
		set(row,
			"the kernel is locked down and lets nobody read what it traces "
			"(kernel_lockdown(7))",
			"a boot without lockdown; or iops trace --layers block, by eBPF");
	} else if (err == -EBUSY) {
		row->status = "limited";
		set(row, "another program traces every device", "");
	} else {
		set(row, strerror(-err), "");
	}
	return 1;
}
