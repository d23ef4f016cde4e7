/*
 * mount.c - the mount itself: what speaks against it, made, undone, and who is in its way
 *
 * libfuse mounts: it knows the helper program for those who are not root. A process that
 * waits for our end undoes the mount if we could not.
 */
#define FUSE_USE_VERSION 35
#include "fs.h"
#include "iops/diag.h"
#include "iops/late.h"
#include "iops/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUSE_MAGIC = 0x65735546, GONE_TRIES = 100, GONE_WAIT_US = 50000 };

#define FUNCTIONS(X)                                                                     \
	X(fuse_session_new)                                                              \
	X(fuse_session_mount)                                                            \
	X(fuse_session_fd)                                                               \
	X(fuse_set_log_func)
struct functions {
	FUNCTIONS(LATE_MEMBER)
};

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	bool empty = true;

	while (dir && empty && (d = readdir(dir)))
		empty = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..");
	if (dir)
		closedir(dir);
	return empty;
}

static bool is_inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strcmp(dir, "/") ||
	       (!strncmp(path, dir, n) && (!path[n] || path[n] == '/'));
}

/* Which folder it is, without links. 0 or -errno, said why. */
static int folder(const char *name, char real[PATH_MAX])
{
	struct stat st;

	if (stat(name, &st) < 0 && errno == ENOTCONN)
		return diag_err(errno,
			"%s: what served this mount has died; "
			"'fusermount3 -u %s' removes it",
			name, name);
	if (stat(name, &st) < 0)
		return diag_err(errno, "%s", name);
	if (!S_ISDIR(st.st_mode))
		return diag_err(ENOTDIR, "%s", name);
	return realpath(name, real) ? 0 : diag_err(errno, "%s", name);
}

static bool is_fuse(const char *path)
{
	char up[PATH_MAX];
	struct statfs fs;
	struct stat here, above;

	snprintf(up, sizeof(up), "%.*s/..", PATH_MAX - 4, path);
	return !statfs(path, &fs) && fs.f_type == FUSE_MAGIC && !stat(path, &here) &&
	       !stat(up, &above) && here.st_dev != above.st_dev;
}

static int check_device(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		int err = -errno;
		diag("/dev/fuse: %s; 'iops doctor' tells more", strerror(errno));
		return err;
	}
	close(fd);
	return 0;
}

int mount_check(const char *source, const char *point)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = folder(source, from);

	if (!err)
		err = folder(point, to);
	if (err)
		return err;
	if (is_fuse(to)) {
		diag("%s: a FUSE file system is mounted there; 'fusermount3 -u %s' ends "
		     "it",
			point, point);
		return -EBUSY;
	}
	if (is_inside(to, from) || is_inside(from, to)) {
		diag("%s: %s; mount on a folder beside it", point,
			!strcmp(from, to)     ? "is the source itself"
			: is_inside(to, from) ? "is inside the source"
					      : "the source is inside it");
		return -EINVAL;
	}
	if (!is_empty(to)) {
		diag("%s: is not empty, and the mount would hide what it holds; choose "
		     "an "
		     "empty folder",
			point);
		return -ENOTEMPTY;
	}
	return check_device();
}

static void keep_quiet(enum fuse_log_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
}

static int run_fusermount(const char *point, const char *flags)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDERR_FILENO);
		execlp("fusermount3", "fusermount3", flags, "--", point, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return status ? -EBUSY : 0;
}

int mount_close(struct fs *fs, bool lazy)
{
	if (fs->undone)
		return 0;
	int err = umount2(fs->point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) < 0
			  ? -errno
			  : 0;
	if (err == -EPERM)
		err = run_fusermount(fs->point, lazy ? "-uz" : "-u");
	if (!err)
		fs->undone = true;
	return err;
}

/* Our end is the end of the pipe. What is there then and does not answer was ours. */
static void watch(struct fs *fs, int pipe)
{
	struct statfs st;
	char byte;

	setsid();
	prctl(PR_SET_NAME, "fuse-unmount", 0, 0, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	if (chdir("/") < 0 || read(pipe, &byte, 1) == 1)
		_exit(0);
	for (int i = 0; i < GONE_TRIES; i++) {
		if (statfs(fs->point, &st) < 0 && errno == ENOTCONN) {
			mount_close(fs, true);
			_exit(0);
		}
		usleep(GONE_WAIT_US);
	}
	_exit(0);
}

/* A grandchild, so that nobody waits for it. It holds nothing of ours but the pipe. */
static int start_watch(struct fs *fs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		if (fork())
			_exit(0);
		dup2(ends[0], 0);
		close_range(3, ~0u, 0);
		watch(fs, 0);
	}
	close(ends[0]);
	fs->watch = ends[1];
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid < 0 ? -errno : 0;
}

void mount_unwatch(struct fs *fs)
{
	char byte = 0;

	if (fs->watch >= 0 && write(fs->watch, &byte, 1) == 1)
		close(fs->watch);
	fs->watch = -1;
}

/* "fsname=" takes commas and backslashes with a backslash before them. */
static void options(const struct fs *fs, char *buf, size_t size)
{
	size_t at = (size_t)snprintf(buf, size, "subtype=iops,%s%sfsname=",
		fs->root_rights ? "allow_other,dev,suid," : "",
		fs->cached || !fs->root_rights ? "default_permissions," : "");

	for (const char *p = fs->source; *p && at + 3 < size; p++) {
		if (*p == ',' || *p == '\\')
			buf[at++] = '\\';
		buf[at++] = *p;
	}
	buf[at] = 0;
}

int mount_open(struct fs *fs)
{
	static const char *const names[] = { FUNCTIONS(LATE_NAME) NULL };
	static const struct fuse_lowlevel_ops none;
	struct functions f;
	char opts[2 * PATH_MAX];
	char *argv[] = { "iops", "-o", opts, NULL };
	struct fuse_args args = { 3, argv, 0 };

	fs->watch = -1;
	int err = late_load(LATE_FUSE3, names, &f);
	if (err < 0)
		return err;
	options(fs, opts, sizeof(opts));
	f.fuse_set_log_func(keep_quiet);
	struct fuse_session *se = f.fuse_session_new(&args, &none, sizeof(none), NULL);
	if (!se)
		return diag_err(EINVAL, "%s: libfuse refuses", fs->point);
	errno = 0;
	if (f.fuse_session_mount(se, fs->point) < 0)
		return diag_err(errno ? errno : EPERM,
			"%s: cannot mount; 'iops doctor' tells more", fs->point);
	fs->fd = f.fuse_session_fd(se);
	fcntl(fs->fd, F_SETFD, FD_CLOEXEC);
	return start_watch(fs);
}

static bool points_into(const char *link, const char *point)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = 0;
	return is_inside(target, point);
}

/* Whether a process has something open there, works there or runs from there. */
static bool holds(int pid, const char *point)
{
	static const char *const links[] = { "cwd", "root", "exe" };
	char path[64];
	bool yes = false;

	for (unsigned i = 0; i < 3 && !yes; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, links[i]);
		yes = points_into(path, point);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = yes ? NULL : opendir(path);
	struct dirent *d;
	while (dir && !yes && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", pid, d->d_name);
		yes = points_into(path, point);
	}
	if (dir)
		closedir(dir);
	char line[PATH_MAX + 100];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = yes ? NULL : fopen(path, "re");
	while (f && !yes && fgets(line, sizeof(line), f)) {
		const char *name = strchr(line, '/');
		yes = name && is_inside(name, point);
	}
	if (f)
		fclose(f);
	return yes;
}

int mount_holders(const struct fs *fs, char *buf, size_t size)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	size_t at = 0;
	int n = 0;

	*buf = 0;
	while (dir && (d = readdir(dir))) {
		int pid = atoi(d->d_name);
		if (pid <= 0 || pid == getpid() || !holds(pid, fs->point))
			continue;
		char path[40], comm[32] = "?";
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		FILE *f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		if (f)
			fclose(f);
		n++;
		if (at < size - 1)
			at += (size_t)snprintf(buf + at, size - at, "%s%s (%d)",
				at ? ", " : "", comm, pid);
	}
	if (dir)
		closedir(dir);
	return n;
}
