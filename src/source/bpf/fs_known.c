/*
 * fs_known.c - what is known of paths that nobody has open, and of processes
 *
 * The kernel says exactly what an open file is. Of a path that is only named in a call
 * (unlink, access, ...) it does not: it is what was seen under that path last, or what
 * lies there now.
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_SHOWN = 512, PATHS_KEPT = 1 << 18, TICK_NS = 10 * 1000 * 1000 };

static void map_empty(struct map *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free((void *)m->slot[i].value);
	map_fini(m);
	memset(m, 0, sizeof(*m));
}

int fs_known_open(struct fs_known *k, struct names *names)
{
	struct stat st;

	*k = (struct fs_known){ .names = names };
	if (!stat("/proc/self/ns/mnt", &st))
		k->mount_ns = (uint32_t)st.st_ino;
	return 0;
}

void fs_known_close(struct fs_known *k)
{
	map_empty(&k->paths);
	map_empty(&k->processes);
	map_fini(&k->kinds);
}

void fs_known_put(struct fs_known *k, uint32_t path, const struct fs_found *f)
{
	struct fs_found *old = (struct fs_found *)map_get(&k->paths, path, 0);

	if (old) {
		*old = *f;
		return;
	}
	if (k->paths.n >= PATHS_KEPT)
		map_empty(&k->paths);
	if (path && (old = malloc(sizeof(*old)))) {
		*old = *f;
		if (map_put(&k->paths, path, 0, (uintptr_t)old) < 0)
			free(old);
	}
}

bool fs_known_get(const struct fs_known *k, uint32_t path, struct fs_found *f)
{
	const struct fs_found *known = (struct fs_found *)map_get(&k->paths, path, 0);

	if (known)
		*f = *known;
	return known;
}

void fs_known_remove(struct fs_known *k, uint32_t path)
{
	free((void *)map_del(&k->paths, path, 0));
}

void fs_known_rename(struct fs_known *k, uint32_t from, uint32_t to, bool dir)
{
	struct fs_found f;
	bool known = fs_known_get(k, from, &f);

	fs_known_remove(k, from);
	fs_known_remove(k, to);
	if (dir) /* everything below has another path now */
		map_empty(&k->paths);
	if (known)
		fs_known_put(k, to, &f);
}

void fs_known_learn(struct fs_known *k, const struct fs_found *f)
{
	if (f->fs && fs_known_kind(k, f) != f->fs)
		map_put(&k->kinds, f->major, f->minor, f->fs);
}

uint32_t fs_known_kind(const struct fs_known *k, const struct fs_found *f)
{
	return f->inode ? (uint32_t)map_get(&k->kinds, f->major, f->minor) : 0;
}

/* How long after the end of a call something happened to a file; < 0: before it. */
static int64_t after(const struct statx_timestamp *t, const struct rec_fs *r)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	int64_t ago = (real.tv_sec - t->tv_sec) * INT64_C(1000000000) + real.tv_nsec -
		      t->tv_nsec;
	int64_t call = mono.tv_sec * INT64_C(1000000000) + mono.tv_nsec -
		       (int64_t)(r->head.at_ns + r->dur_ns);
	return call - ago;
}

/* Whether what lies there now did when the call ended: it was made by it, or has not
 * been changed since, as it would be by a rename. Clocks of files tick. */
static bool was_there(const struct statx *st, const struct rec_fs *r, bool made)
{
	int64_t born = after(&st->stx_btime, r);

	if (!made || !(st->stx_mask & STATX_BTIME))
		return after(&st->stx_ctime, r) <= 0;
	return born <= 0 && born >= -(int64_t)r->dur_ns - TICK_NS;
}

bool fs_known_ask(const struct fs_known *k, const struct rec_fs *r, const char *path,
	bool link, struct fs_found *f)
{
	char there[REC_PATH_MAX + 40] = "";
	struct statx st;

	/* Of a process that sees other mounts than we do. */
	if (r->mount_ns != k->mount_ns)
		snprintf(there, sizeof(there), "/proc/%u/root", r->head.pid);
	size_t n = strlen(there);
	if (strlen(path) >= sizeof(there) - n)
		return false;
	strcpy(there + n, path);
	if (statx(AT_FDCWD, there, link ? AT_SYMLINK_NOFOLLOW : 0,
		    STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return false;
	*f = (struct fs_found){ .inode = st.stx_ino,
		.major = st.stx_dev_major,
		.minor = st.stx_dev_minor,
		.dir = S_ISDIR(st.stx_mode),
		.since = !was_there(&st, r, fs_calls[r->head.row].makes) };
	return true;
}

struct fs_process *fs_known_find(const struct fs_known *k, pid_t pid)
{
	return (struct fs_process *)map_get(&k->processes, pid, 0);
}

static struct fs_process *process_new(struct fs_known *k, pid_t pid)
{
	struct fs_process *p = calloc(1, sizeof(*p));

	if (!p || map_put(&k->processes, pid, 0, (uintptr_t)p) < 0) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	return p;
}

/* Words that end with NUL, as a line; long ones end with dots. */
void fs_known_args(struct fs_known *k, struct fs_process *p, const char *text, size_t len)
{
	char line[ARGS_SHOWN + 4];
	bool cut = len > ARGS_SHOWN + 1;

	while (len && !text[len - 1])
		len--;
	if (len > ARGS_SHOWN)
		len = ARGS_SHOWN;
	for (size_t i = 0; i < len; i++)
		line[i] = text[i] ? text[i] : ' ';
	if (cut)
		memcpy(line + len, "...", 3);
	p->args = names_add(k->names, line, len + (cut ? 3 : 0));
}

/* Of a process that was there before us. */
static void read_args(struct fs_known *k, struct fs_process *p)
{
	char path[48], text[REC_FS_ARGS];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", p->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	if (n > 0)
		fs_known_args(k, p, text, n);
}

struct fs_process *fs_known_of(struct fs_known *k, pid_t pid)
{
	struct fs_process *p = fs_known_find(k, pid);

	if (!p && (p = process_new(k, pid)))
		read_args(k, p);
	return p;
}

struct fs_process *fs_known_process(struct fs_known *k, const struct rec_fs *r)
{
	struct fs_process *p = fs_known_of(k, (pid_t)r->head.pid);

	if (!p)
		return NULL;
	p->told = true;
	p->ppid = (pid_t)r->ppid;
	p->uid = r->uid;
	p->cgroup = r->cgroup;
	return p;
}

void fs_known_fork(struct fs_known *k, pid_t pid, pid_t parent)
{
	const struct fs_process *from = fs_known_of(k, parent);
	struct fs_process *p;

	fs_known_exit(k, pid);
	if (!from || !(p = process_new(k, pid)))
		return;
	*p = *from;
	p->pid = pid;
	p->ppid = parent;
}

void fs_known_exit(struct fs_known *k, pid_t pid)
{
	free((void *)map_del(&k->processes, pid, 0));
}
