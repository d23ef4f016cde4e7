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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* What setfsuid(2) takes away, and the right to fill up what is kept for root. */
static const uint64_t fs_caps =
	BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) |
	BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_LINUX_IMMUTABLE) | BIT(CAP_MKNOD) |
	BIT(CAP_MAC_OVERRIDE) | BIT(CAP_SYS_RESOURCE);

/* How long what /proc says of a process is believed. */
#define BELIEVE_NS UINT64_C(100000000)
#define FRESH_NS   UINT64_C(5000000)

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

uint64_t caller_own_caps(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return (data[0].permitted | (uint64_t)data[1].permitted << 32) & fs_caps;
}

static void read_groups(struct caller *c, const char *p)
{
	unsigned n = 0, cap = 0;
	char *end;

	free(c->groups);
	c->groups = NULL;
	for (;; p = end) {
		unsigned long id = strtoul(p, &end, 10);
		if (end == p)
			break;
		if (n == cap) {
			cap = cap ? 2 * cap : 16;
			gid_t *more = realloc(c->groups, cap * sizeof(*more));
			if (!more)
				break;
			c->groups = more;
		}
		c->groups[n++] = (gid_t)id;
	}
	c->ngroups = n;
}

static bool same_user_namespace(int32_t tid)
{
	char path[40], theirs[40], ours[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", tid);
	ssize_t n = readlink(path, theirs, sizeof(theirs));
	ssize_t m = readlink("/proc/self/ns/user", ours, sizeof(ours));
	return n > 0 && n == m && !memcmp(theirs, ours, n);
}

static const char *value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : "";
}

/* 0 or -errno: it may have ended. */
static int read_status(struct caller *c)
{
	char path[40], text[65536];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", c->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = 0;
	const char *name = value(text, "Name:\t");
	snprintf(c->comm, sizeof(c->comm), "%.*s", (int)strcspn(name, "\n"), name);
	c->pid = atoi(value(text, "\nTgid:\t"));
	read_groups(c, value(text, "\nGroups:\t"));
	c->caps = strtoull(value(text, "\nCapEff:\t"), NULL, 16) & fs_caps;
	if (c->uid && c->caps && !same_user_namespace(c->tid))
		c->caps = 0;
	return 0;
}

/* a becomes a copy of b, but for the room for its groups. */
static void copy(struct caller *a, const struct caller *b)
{
	gid_t *groups = a->groups;

	if (b->ngroups > a->ngroups || !groups) {
		free(groups);
		groups = calloc(b->ngroups + 1, sizeof(*groups));
	}
	*a = *b;
	a->groups = groups;
	if (groups && b->ngroups)
		memcpy(groups, b->groups, b->ngroups * sizeof(*groups));
	else
		a->ngroups = 0;
}

/* What another worker has read lately, or what /proc tells now. */
static void refresh(struct fs *fs, struct caller *c, uint64_t oldest)
{
	struct caller *all = &fs->callers[(unsigned)c->tid % CALLERS];

	pthread_mutex_lock(&fs->callers_lock);
	if (all->tid != c->tid || all->uid != c->uid || all->gid != c->gid ||
		all->read_ns < oldest) {
		all->tid = all->pid = c->tid;
		all->uid = c->uid;
		all->gid = c->gid;
		all->caps = c->uid ? 0 : fs_caps;
		all->ngroups = 0;
		*all->comm = 0;
		read_status(all);
		all->read_ns = fuse_now();
	}
	copy(c, all);
	pthread_mutex_unlock(&fs->callers_lock);
}

const struct caller *caller_of(
	struct worker *w, const struct fuse_in_header *in, bool fresh)
{
	struct caller *c = &w->callers[in->pid % CALLERS];
	bool same = c->read_ns && c->tid == (int32_t)in->pid && c->uid == in->uid &&
		    c->gid == in->gid;

	if (!in->pid)
		return NULL;
	uint64_t oldest = fuse_now() - (fresh ? FRESH_NS : BELIEVE_NS);
	if (same && c->read_ns >= oldest)
		return c;
	if (w->as == c)
		w->as_tid = 0; /* take its rights on again */
	c->tid = (int32_t)in->pid;
	c->uid = in->uid;
	c->gid = in->gid;
	refresh(w->fs, c, oldest);
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

void caller_fini(struct caller *callers)
{
	for (unsigned i = 0; i < CALLERS; i++)
		free(callers[i].groups);
}
