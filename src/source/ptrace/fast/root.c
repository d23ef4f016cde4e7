/*
 * root.c - paths of tasks that have another root, or other mounts, than we
 *
 * Paths made whole are as the kernel tells them to us: below the root of the task, and
 * below a mount of its own that we do not have. Found they are from that root.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where its paths start: all threads have that in common, as a rule. */
struct fs_view *fs_of(struct task *k)
{
	return k->process->apart ? &k->fs : &k->process->fs;
}

/* It has another working directory, or another root. Should it be gone before that can
 * be asked for, the old root is as good a guess as any. */
void path_moved(struct task *k)
{
	struct fs_view *v = fs_of(k);

	v->cwd = 0;
	v->since = 0;
}

static void take_view(struct tracer *t, struct task *k, void *process)
{
	(void)t;
	if (k->process == process)
		k->fs = k->process->fs;
}

/* From now on each thread of its process has a view of its own. */
void path_part(struct tracer *t, struct task *k)
{
	if (!k->process->apart)
		tasks_each(t, take_view, k->process);
	k->process->apart = true;
}

/*
 * A file of its folder in /proc. A thread may be gone before what it did is read, or the
 * first one: then the other's, unless they are apart. Bytes, or less than 0.
 */
static ssize_t own_link(const struct task *k, const char *of, char *out)
{
	const pid_t pid[2] = { k->tid, k->process->pid };
	ssize_t n = -1;
	char at[48];

	for (int i = 0; i < 2 - k->process->apart && n < 0; i++) {
		snprintf(at, sizeof(at), "/proc/%d/%s", pid[i], of);
		n = readlink(at, out, PATH_MAX - 1);
	}
	out[n < 0 ? 0 : n] = 0;
	return n;
}

/* What such a link to a namespace says, as a number that is not 0. */
static uint64_t number_of(const char *link)
{
	unsigned long long number = 1;

	sscanf(link, "mnt:[%llu]", &number);
	return number;
}

/* Ours stay what they are. */
static uint64_t mounts_here(struct fast *f)
{
	char ours[64];

	if (!f->mounts) {
		ssize_t n = readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1);
		ours[n < 0 ? 0 : n] = 0;
		f->mounts = number_of(ours);
	}
	return f->mounts;
}

/* The number of its mounts: namespaces(7). 0: they are ours. */
static uint64_t own_mounts(struct fast *f, const struct task *k, uint64_t was)
{
	char theirs[PATH_MAX];

	if (own_link(k, "ns/mnt", theirs) < 0)
		return was;
	uint64_t number = number_of(theirs);
	return number == mounts_here(f) ? 0 : number;
}

/*
 * Whether its paths are not ours. By way of its root each costs more than twice as much.
 * A mount of ours at another place is one as well.
 */
static bool is_own(struct tracer *t, struct task *k)
{
	struct fs_view *v = fs_of(k);
	uint64_t now = fast_tsc();
	char path[PATH_MAX];

	/* Of two processes that have one, the other may have moved it. */
	if (v->since && now - v->since < OTHERS_TICKS && !k->process->apart)
		return v->own_root;
	v->since = now;
	v->mounts = own_mounts(t->fast, k, v->mounts);
	ssize_t n = own_link(k, "root", path);
	if (n > 0)
		v->root = n > 1 && *path == '/' ? names_add(t->names, path, n) : 0;
	v->own_root = v->mounts || v->root;
	return v->own_root;
}

/* Where its absolute paths start. 0: where ours do. */
uint32_t root_of(struct tracer *t, struct task *k)
{
	return is_own(t, k) ? fs_of(k)->root : 0;
}

/* By which mounts its paths are found. 0: ours. */
uint64_t mounts_of(struct tracer *t, struct task *k)
{
	return is_own(t, k) ? fs_of(k)->mounts : 0;
}

/* Two processes may have one: then each asks whenever it needs it. */
void path_inherit(struct tracer *t, struct task *parent, struct task *child, bool plain)
{
	if (plain) /* then it has the root and the mounts of its parent */
		root_of(t, parent);
	child->fs = *fs_of(parent);
	if (child->process == parent->process)
		return;
	if (!plain)
		child->fs.since = 0;
	if (parent->process->apart)
		child->fs.cwd = 0;
	child->process->fs = child->fs;
	if (!syscall(SYS_kcmp, parent->tid, child->tid, KCMP_FS, 0, 0)) {
		path_part(t, parent);
		path_part(t, child);
	}
}

/* A path that is below its root, from there; NULL: it is not. */
static const char *inside(struct tracer *t, const struct fs_view *v, const char *full)
{
	const char *root = v->root ? names_get(t->names, v->root) : "";
	size_t len = strlen(root);

	if (strncmp(full, root, len) || (full[len] && full[len] != '/'))
		return NULL;
	return full[len] ? full + len : "/";
}

static int open_root(struct tracer *t, struct task *k)
{
	const struct fs_view *v = fs_of(k);
	const pid_t pid[2] = { k->tid, k->process->pid };
	enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };
	char at[48];
	int fd = v->mounts || !v->root ? -1 : open(names_get(t->names, v->root), FLAGS);

	for (int i = 0; i < 2 - k->process->apart && fd < 0; i++) {
		snprintf(at, sizeof(at), "/proc/%d/root", pid[i]);
		fd = open(at, FLAGS);
	}
	return fd < 0 ? -errno : fd;
}

/* The root of a task, until root_give(); or -errno. */
int root_take(struct tracer *t, struct task *k)
{
	enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };

	if (is_own(t, k))
		return open_root(t, k);
	if (!t->fast->slash)
		t->fast->slash = open("/", FLAGS);
	if (t->fast->slash < 0)
		t->fast->slash = 0;
	return t->fast->slash ? t->fast->slash : open_root(t, k);
}

void root_give(const struct tracer *t, int root)
{
	if (root >= 0 && root != t->fast->slash)
		close(root);
}

/*
 * What a path means to the task, as a descriptor that is good for asking about it (flags:
 * those of open(2), but O_PATH). -errno.
 */
int root_open(struct tracer *t, struct task *k, const char *full, int flags)
{
	bool own = is_own(t, k);
	const struct fs_view *v = fs_of(k);
	const char *in = own ? inside(t, v, full) : full;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT };

	if (!own || (!in && !v->mounts)) {
		int fd = open(full, (int)how.flags);
		return fd < 0 ? -errno : fd;
	}
	if (!in)
		return -ENOENT;
	int root = open_root(t, k);
	if (root < 0)
		return root;
	int fd = (int)syscall(SYS_openat2, root, in, &how, sizeof(how)), err = errno;
	/* Linux 5.6. Without, links that begin at the root lead astray. */
	if (fd < 0 && (err == ENOSYS || err == EPERM)) {
		fd = openat(root, in[1] ? in + 1 : ".", (int)how.flags);
		err = errno;
	}
	close(root);
	return fd < 0 ? -err : fd;
}

/* lstat(2). 0, or -errno. */
int root_look(struct tracer *t, struct task *k, const char *full, struct stat *st)
{
	if (!is_own(t, k))
		return lstat(full, st) < 0 ? -errno : 0;
	int fd = root_open(t, k, full, O_NOFOLLOW);
	int err = fd < 0 ? fd : fstat(fd, st) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

/* readlink(2): bytes, or less than 0. */
ssize_t root_link(
	struct tracer *t, struct task *k, const char *full, char *out, size_t size)
{
	if (!is_own(t, k))
		return readlink(full, out, size);
	int fd = root_open(t, k, full, O_NOFOLLOW);
	ssize_t n = fd < 0 ? fd : readlinkat(fd, "", out, size);
	if (fd >= 0)
		close(fd);
	return n;
}

/* A path from somewhere; from: a name, 0: from the root. */
uint32_t path_below(struct tracer *t, uint32_t from, const char *path)
{
	while (from && *path == '/')
		path++;
	return fdtrack_path(t->fast->track, from, path, strlen(path));
}
