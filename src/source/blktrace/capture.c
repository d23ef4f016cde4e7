/*
 * capture.c - tracing of one block device by the kernel: ioctls and files of debugfs
 */
#include "capture.h"
#include "devices.h"
#include "iops/diag.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/blktrace_api.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { SUBBUFS = 4, BUFFER = 2 << 20, BUFFER_MIN = 16 << 10, BUFFER_MAX = 1 << 30 };

static const char by_bpf[] = "'iops trace --layers block' sees it by eBPF";

unsigned capture_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned n = 0, from, to;
	char text[256], *p = text;

	if (!f || !fgets(text, sizeof(text), f))
		*text = 0;
	if (f)
		fclose(f);
	/* As "0-3,8-11". */
	for (; isdigit((unsigned char)*p); p += strcspn(p, ",\n"), p += *p == ',') {
		int got = sscanf(p, "%u-%u", &from, &to);
		to = got == 2 ? to : from;
		n = to + 1 > n ? to + 1 : n;
	}
	return n ? n : (unsigned)sysconf(_SC_NPROCESSORS_CONF);
}

static bool is_debugfs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == DEBUGFS_MAGIC;
}

/* Where it is mounted, if not at the usual place. */
static int mounted_at(char *path, size_t size)
{
	FILE *f = fopen("/proc/mounts", "re");
	char line[1024], at[512], type[64];
	int err = -ENOENT;

	while (f && err && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %511s %63s", at, type) == 2 &&
			!strcmp(type, "debugfs") && strlen(at) < size) {
			strcpy(path, at);
			err = 0;
		}
	if (f)
		fclose(f);
	return err;
}

int capture_debugfs(char *dir, size_t size)
{
	char root[100] = "/sys/kernel/debug";

	/* Who may not mount it is told what would help: both take root. */
	if (!is_debugfs(root) && mounted_at(root, sizeof(root)) < 0)
		return geteuid() ? -EACCES : -ENOENT;
	snprintf(dir, size, "%s/block", root);
	if (access(root, R_OK | X_OK) < 0)
		return -EACCES;
	return access(dir, R_OK | X_OK) < 0 ? -ENOSYS : 0;
}

const char *capture_cannot(int err)
{
	return err == -ENOENT   ? "debugfs is not mounted; mount -t debugfs none "
				  "/sys/kernel/debug"
	       : err == -EACCES ? "blktrace takes root; sudo iops ..."
				: "the kernel tells nothing of block devices in debugfs "
				  "(CONFIG_BLK_DEBUG_FS)";
}

static int say(const struct capture *c, bool loud, int err, const char *why)
{
	if (loud)
		diag("%s: %s", c->node, why);
	return err;
}

/*
 * Files of debugfs get new numbers each time: what the file of a claim tells is this
 * trace, and no later one of another program.
 */
static uint64_t number(const struct capture *c)
{
	char path[sizeof(c->dir) + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/dropped", c->dir);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

static void claim_path(const struct capture *c, char *path, size_t size)
{
	snprintf(path, size, "/run/iops-blktrace-%u:%u", c->dev >> 20, c->dev & 0xfffff);
}

static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* 0; -EBUSY: another iops has it. */
static int claim(struct capture *c)
{
	char path[64];

	claim_path(c, path, sizeof(path));
	for (;;) {
		c->claim = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (c->claim < 0)
			return 0;
		bool locked = !flock(c->claim, LOCK_EX | LOCK_NB);
		if (locked && is_same(c->claim, path))
			return 0;
		close(c->claim);
		c->claim = -1;
		if (!locked)
			return -EBUSY;
	}
}

/* While it is locked: who opened it meanwhile sees that it is gone. */
static void unclaim(struct capture *c)
{
	char path[64];
	struct stat st;

	claim_path(c, path, sizeof(path));
	if (c->claim < 0)
		return;
	/* One that says what was left over stays, as that does. */
	if (c->is_set_up || (!fstat(c->claim, &st) && !st.st_size))
		unlink(path);
	close(c->claim);
}

static bool is_left_over(const struct capture *c)
{
	char text[32] = "";
	uint64_t n = number(c);

	return c->claim >= 0 && n && pread(c->claim, text, sizeof(text) - 1, 0) > 0 &&
	       strtoull(text, NULL, 10) == n;
}

static void note(const struct capture *c)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number(c));

	/* Without it a left-over has to be freed by hand, as EBUSY says. */
	if (c->claim >= 0 && !ftruncate(c->claim, 0) && pwrite(c->claim, text, n, 0) != n)
		return;
}

int capture_open(struct capture *c, uint32_t dev, bool loud)
{
	char root[120];

	*c = (struct capture){ .dev = dev, .fd = -1, .claim = -1 };
	if (!devices_node(c->node, sizeof(c->node), dev)) {
		snprintf(c->node, sizeof(c->node), "block device %u:%u", dev >> 20,
			dev & 0xfffff);
		return say(c, loud, -ENODEV, "there is none here");
	}
	int err = capture_debugfs(root, sizeof(root));
	if (err < 0)
		return say(c, loud, err, capture_cannot(err));
	c->is_part = devices_is_part(dev);
	snprintf(c->dir, sizeof(c->dir), "%s/%.30s", root, devices_name(c->node));
	c->fd = open(c->node, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->fd < 0)
		return say(c, loud, -errno, strerror(errno));
	struct stat st;
	if (fstat(c->fd, &st) < 0 || !S_ISBLK(st.st_mode) ||
		devices_of(st.st_rdev) != dev)
		return say(c, loud, -ENODEV, "is not the node of that device");
	return 0;
}

static int setup(struct capture *c, uint64_t buffer)
{
	struct blk_user_trace_setup s = { .act_mask = UINT16_MAX, .buf_nr = SUBBUFS };

	buffer = !buffer               ? BUFFER
		 : buffer < BUFFER_MIN ? BUFFER_MIN
		 : buffer > BUFFER_MAX ? BUFFER_MAX
				       : buffer;
	s.buf_size = (buffer / SUBBUFS + 4095) & ~4095u;
	if (ioctl(c->fd, BLKTRACESETUP, &s) < 0)
		return -errno;
	s.name[sizeof(s.name) - 1] = 0;
	char *slash = strrchr(c->dir, '/');
	snprintf(slash + 1, sizeof(c->dir) - (slash + 1 - c->dir), "%s", s.name);
	c->is_set_up = true;
	return 0;
}

static void free_device(const struct capture *c)
{
	ioctl(c->fd, BLKTRACESTOP);
	ioctl(c->fd, BLKTRACETEARDOWN);
}

static int busy(const struct capture *c, bool loud)
{
	char why[300];

	snprintf(why, sizeof(why),
		"another program traces it already; end that one, or free what it left "
		"behind: blktrace -k -d %s",
		c->node);
	return say(c, loud, -EBUSY, why);
}

int capture_setup(struct capture *c, uint64_t buffer, bool loud)
{
	char why[200];

	if (claim(c) < 0)
		return say(c, loud, -EBUSY, "another iops traces it; end that one first");
	int err = setup(c, buffer);
	if (err == -EBUSY && is_left_over(c)) {
		free_device(c);
		err = setup(c, buffer);
	}
	if (err == -EBUSY)
		return busy(c, loud);
	if (err == -ENOTTY || err == -EOPNOTSUPP) {
		snprintf(why, sizeof(why),
			"the kernel cannot trace it (CONFIG_BLK_DEV_IO_TRACE); %s",
			by_bpf);
		return say(c, loud, -ENOSYS, why);
	}
	if (err < 0) {
		snprintf(
			why, sizeof(why), "tracing cannot be set up: %s", strerror(-err));
		return say(c, loud, err, why);
	}
	note(c);
	c->ncpus = capture_cpus();
	c->cpu = malloc(c->ncpus * sizeof(*c->cpu));
	if (!c->cpu)
		return say(c, loud, -ENOMEM, strerror(ENOMEM));
	for (unsigned i = 0; i < c->ncpus; i++)
		c->cpu[i] = -1;
	return capture_look(c, loud);
}

static int look(struct capture *c, unsigned cpu, bool loud)
{
	char path[sizeof(c->dir) + 32];

	snprintf(path, sizeof(path), "%s/trace%u", c->dir, cpu);
	c->cpu[cpu] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->cpu[cpu] >= 0 || errno == ENOENT)
		return 0;
	int err = -errno;
	if (loud && err == -EPERM)
		diag("%s: the kernel is locked down and lets nobody read it "
		     "(kernel_lockdown(7)); %s",
			path, by_bpf);
	else if (loud)
		diag("%s: %s", path, strerror(-err));
	return err;
}

int capture_look(struct capture *c, bool loud)
{
	unsigned there = 0;
	int err = 0;

	for (unsigned i = 0; i < c->ncpus && !err; i++) {
		if (c->cpu[i] < 0)
			err = look(c, i, loud);
		there += c->cpu[i] >= 0;
	}
	if (!err && !there)
		return say(c, loud, -ENOENT, "debugfs has no trace of it");
	return err;
}

int capture_start(struct capture *c)
{
	if (ioctl(c->fd, BLKTRACESTART) < 0)
		return say(c, true, -errno, "tracing cannot be started");
	c->runs = true;
	return 0;
}

ssize_t capture_read(const struct capture *c, unsigned cpu, void *buf, size_t size)
{
	ssize_t n = 0;

	if (cpu >= c->ncpus || c->cpu[cpu] < 0)
		return 0;
	while ((n = read(c->cpu[cpu], buf, size)) < 0 && errno == EINTR)
		;
	return n >= 0 ? n : errno == EAGAIN ? 0 : -errno;
}

void capture_stop(struct capture *c)
{
	if (c->runs)
		ioctl(c->fd, BLKTRACESTOP);
	c->runs = false;
}

uint64_t capture_dropped(const struct capture *c)
{
	char path[sizeof(c->dir) + 16];
	unsigned long long n = 0;

	snprintf(path, sizeof(path), "%s/dropped", c->dir);
	FILE *f = c->is_set_up ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

void capture_close(struct capture *c)
{
	for (unsigned i = 0; i < c->ncpus && c->cpu; i++)
		if (c->cpu[i] >= 0)
			close(c->cpu[i]);
	free(c->cpu);
	if (c->is_set_up)
		free_device(c);
	unclaim(c);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct capture){ .fd = -1, .claim = -1 };
}
