/*
 * caller.c - who asks, and the rights that they have
 *
 * A thread takes on the user, groups and capabilities of whoever it works for, so that
 * the source decides as if they had come themselves. These are a thread's own where the
 * system is asked directly: the C library would change all threads.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* What setfsuid(2) takes away, the right to fill up what is kept for root, and that to
 * see trusted attributes. */
static const uint64_t fs_caps =
	BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) |
	BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_LINUX_IMMUTABLE) | BIT(CAP_MKNOD) |
	BIT(CAP_MAC_OVERRIDE) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_SYS_ADMIN);

/* How long what /proc says of a process is believed where its rights do not count. */
#define BELIEVE_NS UINT64_C(100000000)

static void set_caps(uint64_t want)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return;
	uint64_t now = data[0].effective | (uint64_t)data[1].effective << 32;
	uint64_t all = data[0].permitted | (uint64_t)data[1].permitted << 32;
	uint64_t next = ((now & ~fs_caps) | (want & fs_caps)) & all;
	if (next == now)
		return;
	data[0].effective = (uint32_t)next;
	data[1].effective = (uint32_t)(next >> 32);
	syscall(SYS_capset, &head, data);
}

/* Of a thread, 0: this one. */
static uint64_t caps_of(int32_t tid, bool permitted)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, tid };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	uint64_t all = permitted ? data[0].permitted | (uint64_t)data[1].permitted << 32
				 : data[0].effective | (uint64_t)data[1].effective << 32;
	return all & fs_caps;
}

/* Where processes have the numbers that the kernel tells us. Ours is another /proc than
 * the one that is mounted where we began in a process namespace of our own. */
static int own_proc(void)
{
	char self[16] = "", *end;
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n > 0 && strtol(self, &end, 10) == getpid())
		return open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC), fd = -1;
	if (fs >= 0 && !syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fd;
}

void caller_init(struct fs *fs)
{
	fs->own_caps = caps_of(0, true);
	fs->proc = own_proc();
	if (readlink("/proc/self/ns/user", fs->user_ns, sizeof(fs->user_ns) - 1) < 0)
		*fs->user_ns = 0;
}

static void look_away(struct look *l)
{
	if (l->tid) {
		close(l->status);
		close(l->comm);
		close(l->ns);
	}
	l->tid = 0;
}

/* The files of a thread in /proc, kept open: they are of that one alone, and fail with
 * ESRCH once it has ended, whoever has its number then. NULL: there is none. */
static struct look *look_at(struct worker *w, int32_t tid)
{
	struct look *l = &w->looks[(unsigned)tid % w->fs->looks];
	char name[16];

	if (l->tid == tid)
		return l;
	look_away(l);
	snprintf(name, sizeof(name), "%d", tid);
	int dir = openat(w->fs->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	*l = (struct look){ tid, openat(dir, "status", O_RDONLY | O_CLOEXEC),
		openat(dir, "comm", O_RDONLY | O_CLOEXEC),
		openat(dir, "ns/user", O_PATH | O_NOFOLLOW | O_CLOEXEC) };
	close(dir);
	if (l->status >= 0 && l->comm >= 0)
		return l;
	look_away(l);
	return NULL;
}

/* With the cache of the kernel it has decided itself, and may ask for something in the
 * midst of an exec, until whose end this does not answer. */
static bool same_user_namespace(const struct fs *fs, const struct look *l)
{
	char theirs[sizeof(fs->user_ns)] = "";

	return fs->cached || (readlinkat(l->ns, "", theirs, sizeof(theirs) - 1) > 0 &&
				     !strcmp(theirs, fs->user_ns));
}

static bool read_comm(const struct look *l, struct caller *c)
{
	char text[sizeof(c->comm) + 1];
	ssize_t n = pread(l->comm, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = 0;
	snprintf(c->comm, sizeof(c->comm), "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

static const char *value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : "";
}

static void read_groups(struct caller *c, const char *p)
{
	unsigned cap = 0;
	char *end;

	for (;; p = end) {
		unsigned long id = strtoul(p, &end, 10);
		if (end == p)
			break;
		if (c->ngroups == cap) {
			cap = cap ? 2 * cap : 16;
			gid_t *more = realloc(c->groups, cap * sizeof(*more));
			if (!more)
				break;
			c->groups = more;
		}
		c->groups[c->ngroups++] = (gid_t)id;
	}
}

/* By which it acts, but in access(2): the last of four. */
static uid_t fs_uid(const char *text)
{
	unsigned long id = 0;
	char *at = (char *)value(text, "\nUid:\t");

	for (int i = 0; i < 4; i++)
		id = strtoul(at, &at, 10);
	return (uid_t)id;
}

/* false: it has ended. */
static bool read_status(
	const struct fs *fs, const struct look *l, struct caller *c, bool rights)
{
	char text[65536];
	ssize_t n = pread(l->status, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = 0;
	c->pid = atoi(value(text, "\nTgid:\t"));
	read_groups(c, value(text, "\nGroups:\t"));
	c->caps = strtoull(value(text, "\nCapEff:\t"), NULL, 16) & fs_caps;
	c->permitted = strtoull(value(text, "\nCapPrm:\t"), NULL, 16) & fs_caps;
	/* access(2) asks as the real user, whose rights these are then. */
	if (fs_uid(text) != c->uid)
		c->caps = c->uid ? 0 : c->permitted;
	/* What one may in a user namespace of its own is nothing here. A process in the
	 * midst of an exec, which keeps us from asking, closes files, but needs no
	 * rights. */
	if (rights && (c->caps || c->permitted) && !same_user_namespace(fs, l))
		c->caps = c->permitted = 0;
	return read_comm(l, c);
}

/* Whether it still may do anything, as when it was read: then its groups do not matter,
 * and what does is told faster than all the status. */
static bool is_mighty(const struct fs *fs, const struct caller *c, const struct look *l)
{
	return c->read_ns && !c->uid && !c->gid && c->caps == fs->own_caps &&
	       caps_of(c->tid, false) == c->caps && same_user_namespace(fs, l);
}

static bool same_rights(const struct caller *a, const struct caller *b)
{
	return a->tid == b->tid && a->uid == b->uid && a->gid == b->gid &&
	       a->caps == b->caps && a->ngroups == b->ngroups &&
	       (!a->ngroups ||
		       !memcmp(a->groups, b->groups, a->ngroups * sizeof(*a->groups)));
}

/* Who cannot be seen, as in another process namespace, or has ended, has no more rights
 * than its user and group. */
static void read_all(struct worker *w, struct caller *c, bool rights)
{
	struct caller now = {
		.tid = c->tid, .pid = c->tid, .uid = c->uid, .gid = c->gid
	};

	/* A second time: another thread may have the number by now. */
	for (int i = 0; i < 2 && c->tid; i++) {
		struct look *l = look_at(w, c->tid);
		if (!l || read_status(w->fs, l, &now, rights))
			break;
		look_away(l);
		now.caps = now.permitted = now.ngroups = 0;
	}
	now.read_ns = fuse_now();
	if (w->as == c && !same_rights(&now, c))
		w->as_tid = -1; /* take its rights on again */
	free(c->groups);
	*c = now;
}

/* Requests that are nobody's have no number and are the kernel's own. Where rights count
 * and the kernel has not decided, it may also be root from a process namespace that we do
 * not see, who need not have all of root's rights. */
static bool is_nobody(const struct fs *fs, const struct fuse_in_header *in, bool rights)
{
	return !in->pid && !in->uid && !in->gid && (fs->cached || !rights);
}

const struct caller *caller_of(
	struct worker *w, const struct fuse_in_header *in, bool rights)
{
	struct caller *c = &w->callers[in->pid % CALLERS];
	bool same = c->read_ns && c->tid == (int32_t)in->pid && c->uid == in->uid &&
		    c->gid == in->gid;

	rights = rights && w->fs->root_rights;
	if (is_nobody(w->fs, in, rights))
		return NULL;
	/* A program may be another one since. */
	struct look *l = same && c->tid ? look_at(w, c->tid) : NULL;
	if (l && read_comm(l, c) &&
		(rights ? is_mighty(w->fs, c, l) : c->read_ns >= fuse_now() - BELIEVE_NS))
		return c;
	if (!same) {
		if (w->as == c)
			w->as_tid = -1;
		c->tid = (int32_t)in->pid;
		c->uid = in->uid;
		c->gid = in->gid;
	}
	read_all(w, c, rights);
	return c;
}

static void own_rights(struct worker *w)
{
	setfsuid(0);
	setfsgid(0);
	syscall(SYS_setgroups, 0, NULL);
	set_caps(fs_caps);
	w->as = NULL;
	w->as_tid = 0;
	w->as_uid = w->as_gid = 0;
}

void caller_begin(struct worker *w)
{
	if (w->fs->root_rights)
		own_rights(w);
}

void caller_become(struct worker *w, const struct caller *c)
{
	if (!w->fs->root_rights)
		return;
	/* Whoever may do anything may do what the thread itself may do. */
	if (!c || (!c->uid && !c->gid && c->caps == w->fs->own_caps)) {
		if (w->as || w->as_tid)
			own_rights(w);
		return;
	}
	if (w->as == c && w->as_tid == c->tid && w->as_uid == c->uid &&
		w->as_gid == c->gid)
		return;
	if (w->as_uid != c->uid)
		setfsuid(c->uid);
	if (w->as_gid != c->gid)
		setfsgid(c->gid);
	syscall(SYS_setgroups, c->ngroups, c->groups);
	set_caps(c->caps);
	w->as = (struct caller *)c;
	w->as_tid = c->tid;
	w->as_uid = c->uid;
	w->as_gid = c->gid;
}

void caller_without_fsetid(struct worker *w)
{
	if (w->fs->root_rights) {
		set_caps((w->as ? w->as->caps : fs_caps) & ~BIT(CAP_FSETID));
		w->as_tid = -1; /* to be set again by whoever comes next */
	}
}

void caller_umask(struct worker *w, mode_t mask)
{
	if (w->umask != mask)
		umask(mask);
	w->umask = mask;
}

void caller_fini(struct worker *w)
{
	for (unsigned i = 0; i < CALLERS; i++)
		free(w->callers[i].groups);
	for (unsigned i = 0; i < LOOKS; i++)
		look_away(&w->looks[i]);
}
