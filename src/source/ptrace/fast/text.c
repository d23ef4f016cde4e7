/*
 * text.c - the code of a task that stands still: which file it is from
 *
 * A file is looked at once (elf.c); in each process the bytes to be changed are compared
 * with it.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { JUMP = 5 };
enum { MUCH = 16 << 20 }; /* of code */
enum { NOT_SERVED = 1, SERVED };

/*
 * A file. It is mapped while it is looked at, and kept only where nothing can be
 * unmounted: else it would be busy.
 */
struct text {
	struct text_call {
		uint32_t at;      /* in the file */
		int16_t nr;       /* -1: any, or not plain */
		bool asked, slow; /* ... whether it takes long to be planned */
	} * call;
	unsigned ncalls;
	uint32_t met[TEXT_MET]; /* in the file: what processes call from */
	unsigned nmet;
	bool searched;
	size_t size;
	struct timespec changed;
	struct elf *elf;
	uint8_t *file; /* what is kept of it, or NULL; then also: */
	int fd;
	struct text *older; /* what it was before it changed */
};

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
	maps_free(&xs->maps);
	free(xs->decoder);
	xs->decoder = NULL;
}

/* At the path, if it is that file. */
static int open_inode(const char *path, uint64_t inode, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -ENOEXEC;
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_size > 0 &&
		st->st_ino == inode)
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

static bool is_same(const struct text *x, const struct stat *st)
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

	if (was && is_same(was, st))
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
	       is_same(x, &st) &&
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

static int plan_with(struct text *x, uint8_t *file, uint64_t call, struct plan *out)
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
	void *file = !is_same(x, &st)
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
		return plan_with(x, x->file, call, out);
	}
	int err = find_mapping(xs, tid, at, &m);
	uint8_t *file = err < 0 ? NULL : load(x, tid, &m, &fd);
	if (!file)
		return err < 0 ? err : fd;
	err = plan_with(x, file, call, out);
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
	int fd = err < 0 ? err : text_open(tid, &m, &st);

	if (fd < 0)
		return fd;
	close(fd);
	*out = (struct code){ m.from, m.to, m.offset, text_of(xs, &m, &st), false };
	return out->text ? 0 : -ENOMEM;
}

static struct code *code_around(struct space *s, uint64_t at)
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

	return !code_around(s, at) && !look_around(xs, s, tid, at, &c);
}

/* Before calls are looked for in a mapping: its file, if that can be kept. */
static void keep_around(struct texts *xs, struct space *s, pid_t tid, uint64_t around)
{
	struct code *c = code_around(s, around);
	struct mapping m;
	int fd;

	if (c->text->file || find_mapping(xs, tid, around, &m) < 0)
		return;
	uint8_t *file = load(c->text, tid, &m, &fd);
	if (file)
		keep_or_leave(xs, c->text, fd, file);
}

/* mov $nr, %eax or %rax, of which the last of the opcode is there, in so many bytes. */
static bool is_move(const uint8_t *p, size_t before)
{
	return p[0] == 0xb8 ||
	       (p[0] == 0xc0 && before >= 2 && p[-1] == 0xc7 && p[-2] == 0x48);
}

/* By one of these, perhaps with others before the syscall, or xor %eax, %eax. -1: by
 * neither. */
static int plain_number(const uint8_t *call, size_t before)
{
	enum { MOV = 5, FAR = 28 };

	if (before >= 2 && call[-2] == 0x31 && call[-1] == 0xc0)
		return 0;
	for (size_t back = MOV; back < FAR && back <= before; back++) {
		const uint8_t *p = call - back;
		if (is_move(p, before - back) && !p[3] && !p[4] &&
			(p[1] | p[2] << 8) < NSHAPES)
			return p[1] | p[2] << 8;
	}
	return -1;
}

static void add_call(struct text *x, size_t at)
{
	int nr = plain_number(x->file + at, at);

	if (!(x->ncalls & (x->ncalls - 1))) {
		unsigned cap = x->ncalls ? 2 * x->ncalls : 1;
		struct text_call *more = realloc(x->call, cap * sizeof(*more));
		if (!more)
			return;
		x->call = more;
	}
	x->call[x->ncalls++] =
		(struct text_call){ .at = (uint32_t)at, .nr = (int16_t)nr };
}

typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t words __attribute__((vector_size(16)));

/* Not 0 in any of sixteen bytes: a call begins there. */
static inline bytes calls_at(const uint8_t *p)
{
	return (bytes)((*(const bytes *)p == 0x0f) & (*(const bytes *)(p + 1) == 0x05));
}

/* A part of the file, 64 bytes at a time: they are what they are whatever they mean. */
static void search(struct text *x, size_t from, size_t to)
{
	enum { STEP = 64 };

	x->ncalls = 0;
	for (size_t at = from; at + STEP < to; at += STEP) {
		const uint8_t *p = x->file + at;
		words any = (words)(calls_at(p) | calls_at(p + 16) | calls_at(p + 32) |
				    calls_at(p + 48));
		if (!(any[0] | any[1]))
			continue;
		for (unsigned i = 0; i < STEP; i++)
			if (p[i] == 0x0f && p[i + 1] == 0x05)
				add_call(x, at + i);
	}
}

/*
 * Of two places close to each other that make the same call the C library uses the first
 * without threads only. Both may want the same padding.
 */
static bool is_for_one_thread(const struct text *x, unsigned i)
{
	enum { CLOSE = 128 };
	const struct text_call *c = &x->call[i];

	return i + 1 < x->ncalls && c->nr >= 0 && c->nr != SYS_futex &&
	       c[1].nr == c->nr && c[1].at - c->at < CLOSE;
}

static bool is_quick(struct text *x, struct text_call *c)
{
	if (!c->asked) {
		elf_bytes(x->elf, x->file);
		c->slow = !elf_knows(x->elf, c->at) && !elf_is_quick(x->elf, c->at);
		elf_bytes(x->elf, NULL);
	}
	c->asked = true;
	return !c->slow;
}

/*
 * Addresses of calls whose number is, or may be, one of those wanted by threads, in the
 * mapping around an address and up to max of them, if its file can be kept. Some may be
 * no calls: a plan tells. Not those that take long to be planned: most of them are rare.
 */
unsigned text_calls(struct texts *xs, struct space *s, pid_t tid, uint64_t around,
	const bool wanted[NSHAPES], uint64_t *out, unsigned max)
{
	const struct code *c = code_around(s, around);
	unsigned n = 0;

	if (!c)
		return 0;
	keep_around(xs, s, tid, around);
	struct text *x = c->text;
	struct stat st;
	if (!x->file || fstat(x->fd, &st) < 0 || !is_same(x, &st))
		return 0;
	const uint64_t len = c->to - c->from;
	if (!x->searched && len <= MUCH && c->offset < x->size)
		search(x, c->offset,
			len < x->size - c->offset ? c->offset + len : x->size);
	x->searched = true;
	for (unsigned i = 0; i < x->ncalls && n < max; i++)
		if ((x->call[i].nr < 0 || wanted[x->call[i].nr]) &&
			!is_for_one_thread(x, i) && x->call[i].at >= c->offset &&
			x->call[i].at - c->offset < c->to - c->from &&
			is_quick(x, &x->call[i]))
			out[n++] = c->from + (x->call[i].at - c->offset);
	return n;
}

/* call: where in the file. */
static void meet(struct text *x, uint64_t call)
{
	for (unsigned i = 0; i < x->nmet; i++)
		if (x->met[i] == call)
			return;
	if (x->nmet < TEXT_MET && call <= UINT32_MAX)
		x->met[x->nmet++] = (uint32_t)call;
}

/* A process has made a call there, of those that can go through the hook. */
void text_met(struct space *s, uint64_t at)
{
	const struct code *c = code_around(s, at);

	if (c)
		meet(c->text, at - c->from + c->offset);
}

bool text_is_call(pid_t tid, uint64_t at)
{
	uint8_t code[2];

	return tracee_read(tid, at, code, sizeof(code)) == sizeof(code) &&
	       !memcmp(code, "\x0f\x05", sizeof(code));
}

/* Whether others have, from code that is mapped there. */
bool text_is_met(const struct texts *xs, const struct mapping *m)
{
	const struct text *x =
		m->mode[2] == 'x' && m->inode
			? (const struct text *)map_get(&xs->files, m->dev, m->inode)
			: NULL;

	return x && x->nmet;
}

/* Addresses of calls in the mapping around an address that others have met. */
unsigned text_met_before(struct space *s, uint64_t around, uint64_t out[TEXT_MET])
{
	const struct code *c = code_around(s, around);
	unsigned n = 0;

	for (unsigned i = 0; c && i < c->text->nmet; i++)
		if (c->text->met[i] >= c->offset &&
			c->text->met[i] - c->offset < c->to - c->from)
			out[n++] = c->from + (c->text->met[i] - c->offset);
	return n;
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
		struct code *c = code_around(s, at[i]);
		if (!c || plan_in(xs, c, tid, at[i], &out[i]) < 0)
			out[i] = (struct plan){ .length = 0 };
	}
}

/*
 * Before there is a task: what any will call from a file that we have mapped as well, by
 * what stands around an address of ours. here: our own memory. wanted: NULL for whatever
 * is called there.
 */
void text_foresee(struct texts *xs, struct space *here, uint64_t around, uint64_t before,
	uint64_t behind, const bool wanted[NSHAPES])
{
	struct plan p;

	if (text_look(xs, here, getpid(), around))
		keep_around(xs, here, getpid(), around);
	const struct code *c = code_around(here, around);
	struct text *x = c ? c->text : NULL;
	if (!x || !x->file || x->searched)
		return;
	const uint64_t size = c->to - c->from, at = around - c->from;
	uint64_t from = c->offset + (at < before ? 0 : at - before),
		 to = c->offset + (size - at < behind ? size : at + behind);
	if (to > x->size)
		return;
	search(x, from, to);
	for (unsigned i = 0; i < x->ncalls; i++)
		if ((!wanted || (x->call[i].nr >= 0 && wanted[x->call[i].nr])) &&
			!plan_with(x, x->file, x->call[i].at, &p))
			meet(x, x->call[i].at);
}
