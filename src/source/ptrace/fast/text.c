/*
 * text.c - the code of a task that stands still: which file it is from
 *
 * A file is looked at once (elf.c); in each process the bytes to be changed are compared
 * with it.
 */
#include "../tracer.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JUMP = 5 };
enum { NOT_SERVED = 1, SERVED };

/* The mapping around an address, if it is code from a file that is not writable. */
static int find_mapping(struct texts *xs, pid_t tid, uint64_t at, struct mapping *m)
{
	int err = maps_at(&xs->maps, tid, at, m);

	if (err < 0)
		return err;
	return m->inode && m->mode[1] != 'w' && m->mode[2] == 'x' && m->mode[3] == 'p'
		       ? 0
		       : -EACCES;
}

static void text_free(struct text *x)
{
	while (x) {
		struct text *older = x->older;
		if (x->file) {
			munmap(x->file, x->size);
			close(x->fd);
		}
		elf_free(x->elf);
		free(x->call);
		free(x);
		x = older;
	}
}

void texts_fini(struct texts *xs)
{
	for (size_t i = 0; i < xs->files.cap; i++)
		if (xs->files.slot[i].value)
			text_free((struct text *)xs->files.slot[i].value);
	map_fini(&xs->files);
	map_fini(&xs->served);
	maps_let(&xs->maps);
	maps_free(&xs->maps);
	free(xs->decoder);
	xs->decoder = NULL;
}

static bool is_inode(const struct stat *st, uint64_t inode)
{
	return S_ISREG(st->st_mode) && st->st_size > 0 && st->st_ino == inode;
}

/* At the path, if it is that file. */
static int open_inode(const char *path, uint64_t inode, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -ENOEXEC;
	if (!fstat(fd, st) && is_inode(st, inode))
		return fd;
	close(fd);
	return -ENOEXEC;
}

/*
 * The file that is mapped there, or -ENOEXEC. Its path is as we would find it, but where
 * the task has mounts that we cannot reach: then it is as the task would.
 */
static int text_open(pid_t tid, const struct mapping *m, struct stat *st)
{
	char path[PATH_MAX + 48];

	if (m->path_len > PATH_MAX)
		return -ENOEXEC;
	int root = snprintf(path, sizeof(path), "/proc/%d/root", tid);
	snprintf(path + root, sizeof(path) - root, "%.*s", (int)m->path_len, m->path);
	int fd = open_inode(path, m->inode, st);
	return fd < 0 ? open_inode(path + root, m->inode, st) : fd;
}

/* The same without opening it. 0 or -ENOEXEC. */
static int text_stat(pid_t tid, const struct mapping *m, struct stat *st)
{
	char path[PATH_MAX + 48];

	if (m->path_len > PATH_MAX)
		return -ENOEXEC;
	snprintf(path, sizeof(path), "/proc/%d/root%.*s", tid, (int)m->path_len, m->path);
	if (!stat(path, st) && is_inode(st, m->inode))
		return 0;
	int fd = text_open(tid, m, st);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* "36 35 0:32 /root /mount options - fuse.name source": proc(5). 0: not that device. */
static int kind_of(const char *line, uint64_t dev)
{
	unsigned major, minor;
	const char *type = strstr(line, " - ");

	if (sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 || !type ||
		dev != ((uint64_t)major << 32 | minor))
		return 0;
	return strncmp(type + 3, "fuse", 4) ? NOT_SERVED : SERVED;
}

/*
 * Whether a process answers for the files of a device: it may be our tracee, stopped, and
 * then would never do so. Such file systems have no device of their own. One that the
 * task cannot see, like those below an overlay, is not what its paths lead to.
 */
static bool is_served(struct texts *xs, pid_t tid, uint64_t dev)
{
	char path[48], line[1024];

	if (xs->asked)
		return true;
	if (xs->stale)
		map_fini(&xs->served);
	xs->stale = false;
	int kind = dev >> 32 ? NOT_SERVED : (int)map_get(&xs->served, dev, 0);
	if (kind)
		return kind == SERVED;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", tid);
	FILE *mounts = fopen(path, "re");
	while (mounts && !kind && fgets(line, sizeof(line), mounts))
		kind = kind_of(line, dev);
	if (mounts)
		fclose(mounts);
	if (kind)
		map_put(&xs->served, dev, 0, kind);
	return kind == SERVED;
}

/* Whether the bytes up to another address are code of a file that nobody answers for. */
bool text_is_plain(struct texts *xs, pid_t tid, uint64_t at, uint64_t to)
{
	struct mapping m;

	return !find_mapping(xs, tid, at, &m) && to <= m.to && !is_served(xs, tid, m.dev);
}

bool text_is_same(const struct text *x, const struct stat *st)
{
	return x->size == (size_t)st->st_size &&
	       x->changed.tv_sec == st->st_ctim.tv_sec &&
	       x->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static const struct decoder *decoder_of(struct texts *xs)
{
	if (!xs->decoder && !xs->unarmed)
		xs->unarmed = !(xs->decoder = decoder_new());
	return xs->decoder;
}

static struct text *text_of(
	struct texts *xs, const struct mapping *m, const struct stat *st)
{
	struct text *was = (struct text *)map_get(&xs->files, m->dev, m->inode);

	if (was && text_is_same(was, st))
		return was;
	struct text *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	*x = (struct text){ .size = st->st_size, .changed = st->st_ctim };
	x->elf = elf_new(decoder_of(xs), NULL, x->size);
	if (!x->elf || map_put(&xs->files, m->dev, m->inode, (uintptr_t)x) < 0) {
		text_free(x);
		return NULL;
	}
	x->older = was;
	return x;
}

/* Is what runs there what the file says? */
static int compare(pid_t tid, uint64_t at, const struct plan *p)
{
	uint8_t now[16];
	ssize_t n = p->cave ? 2 : p->length;

	if (tracee_read(tid, at + p->patch, now, n) != n || memcmp(now, p->old, n))
		return -ESTALE;
	if (p->cave && (tracee_read(tid, at + p->cave, now, JUMP) != JUMP ||
			       memcmp(now, p->old + 2, JUMP)))
		return -ESTALE;
	return 0;
}

/* Whether a kept file is what it was, and what is mapped there. */
static bool is_there(const struct text *x, pid_t tid, uint64_t at, uint64_t call)
{
	enum { AROUND = 64 };
	uint8_t now[2 * AROUND];
	struct stat st;

	return call >= AROUND && call + AROUND <= x->size && !fstat(x->fd, &st) &&
	       text_is_same(x, &st) &&
	       tracee_read(tid, at - AROUND, now, sizeof(now)) == sizeof(now) &&
	       !memcmp(now, x->file + call - AROUND, sizeof(now));
}

/* The id of the mount of an open file or of a path; 0: not known. Linux 5.8. */
static uint64_t mount_of(int fd, const char *path)
{
	struct statx sx;

	return !statx(fd, path, AT_EMPTY_PATH, STATX_MNT_ID, &sx) &&
			       sx.stx_mask & STATX_MNT_ID
		       ? sx.stx_mnt_id
		       : 0;
}

/* Keep a file that lies on our own root: takes over both. */
static bool keep(struct texts *xs, struct text *x, int fd, void *file)
{
	enum { MANY = 16 };
	uint64_t mount = x->file || xs->nkept >= MANY ? 0 : mount_of(fd, "");

	if (!mount || mount != mount_of(AT_FDCWD, "/"))
		return false;
	xs->nkept++;
	x->file = file;
	x->fd = fd;
	return true;
}

int text_plan_with(struct text *x, uint8_t *file, uint64_t call, struct plan *out)
{
	elf_bytes(x->elf, file);
	int err = elf_plan(x->elf, call, out);
	elf_bytes(x->elf, NULL);
	return err;
}

/* The bytes of a file as long as it is what it was; fd: open. NULL: it is not. */
static uint8_t *load(const struct text *x, pid_t tid, const struct mapping *m, int *fd)
{
	struct stat st;

	*fd = text_open(tid, m, &st);
	if (*fd < 0)
		return NULL;
	void *file = !text_is_same(x, &st)
			     ? MAP_FAILED
			     : mmap(NULL, x->size, PROT_READ, MAP_PRIVATE, *fd, 0);
	if (file != MAP_FAILED)
		return file;
	close(*fd);
	*fd = -ESTALE;
	return NULL;
}

static void keep_or_leave(struct texts *xs, struct text *x, int fd, uint8_t *file)
{
	if (keep(xs, x, fd, file))
		return;
	close(fd);
	munmap(file, x->size);
}

/* A call that is asked for the first time. */
static int look_at_file(
	struct texts *xs, struct code *c, pid_t tid, uint64_t at, struct plan *out)
{
	struct text *x = c->text;
	uint64_t call = at - c->from + c->offset;
	struct mapping m;
	int fd;

	if (x->file && (c->sure || is_there(x, tid, at, call))) {
		c->sure = true;
		return text_plan_with(x, x->file, call, out);
	}
	int err = find_mapping(xs, tid, at, &m);
	uint8_t *file = err < 0 ? NULL : load(x, tid, &m, &fd);
	if (!file)
		return err < 0 ? err : fd;
	err = text_plan_with(x, file, call, out);
	keep_or_leave(xs, x, fd, file);
	return err;
}

static int plan_in(
	struct texts *xs, struct code *c, pid_t tid, uint64_t at, struct plan *out)
{
	uint64_t call = at - c->from + c->offset;

	return elf_knows(c->text->elf, call) ? elf_plan(c->text->elf, call, out)
					     : look_at_file(xs, c, tid, at, out);
}

static int plan_there(
	struct texts *xs, struct code *c, pid_t tid, uint64_t at, struct plan *out)
{
	int err = plan_in(xs, c, tid, at, out);

	return err < 0 ? err : compare(tid, at, out);
}

static int find_code(struct texts *xs, pid_t tid, uint64_t at, struct code *out)
{
	struct mapping m;
	struct stat st;
	int err = find_mapping(xs, tid, at, &m);
	if (!err && is_served(xs, tid, m.dev))
		err = -EACCES;
	if (!err)
		err = text_stat(tid, &m, &st);
	if (err < 0)
		return err;
	*out = (struct code){ m.from, m.to, m.offset, text_of(xs, &m, &st), false, 0 };
	return out->text ? 0 : -ENOMEM;
}

struct code *text_around(struct space *s, uint64_t at)
{
	for (unsigned i = 0; i < SPACE_CODES; i++)
		if (at >= s->code[i].from && at < s->code[i].to)
			return &s->code[i];
	return NULL;
}

/* Where nobody has looked yet. 0, or -errno. */
static int look_around(
	struct texts *xs, struct space *s, pid_t tid, uint64_t at, struct code **out)
{
	struct code c;
	int err = find_code(xs, tid, at, &c);

	if (err < 0)
		return err;
	*out = &s->code[s->ncodes++ % SPACE_CODES];
	**out = c;
	return 0;
}

/* Find out which file is mapped there. false: it is known already, or none. */
bool text_look(struct texts *xs, struct space *s, pid_t tid, uint64_t at)
{
	struct code *c;

	return !text_around(s, at) && !look_around(xs, s, tid, at, &c);
}

/* Before calls are looked for in a mapping: its file, if that can be kept. */
void text_keep(struct texts *xs, struct space *s, pid_t tid, uint64_t around)
{
	struct code *c = text_around(s, around);
	struct mapping m;
	int fd;

	if (c->text->file || find_mapping(xs, tid, around, &m) < 0)
		return;
	uint8_t *file = load(c->text, tid, &m, &fd);
	if (file)
		keep_or_leave(xs, c->text, fd, file);
}

bool text_is_call(pid_t tid, uint64_t at)
{
	uint8_t code[2];

	return tracee_read(tid, at, code, sizeof(code)) == sizeof(code) &&
	       !memcmp(code, "\x0f\x05", sizeof(code));
}

/* What was mapped there before most likely still is: the bytes are compared anyway. */
int text_plan(struct texts *xs, struct space *s, pid_t tid, uint64_t at, struct plan *out)
{
	for (unsigned i = 0; i < SPACE_CODES; i++)
		if (at >= s->code[i].from && at < s->code[i].to &&
			!plan_there(xs, &s->code[i], tid, at, out))
			return 0;
	struct code *c;
	int err = look_around(xs, s, tid, at, &c);
	return err < 0 ? err : plan_there(xs, c, tid, at, out);
}

/*
 * The same for several calls, where it was looked before; what is there in the memory of
 * the task is still to be compared. Those that cannot be patched get a length of 0.
 */
void text_plans(struct texts *xs, struct space *s, pid_t tid, const uint64_t *at,
	unsigned n, struct plan *out)
{
	for (unsigned i = 0; i < n; i++) {
		struct code *c = text_around(s, at[i]);
		if (!c || plan_in(xs, c, tid, at[i], &out[i]) < 0)
			out[i] = (struct plan){ .length = 0 };
	}
}
