/*
 * fs_usage.c - text of macOS fs_usage(1), wide or narrow: system calls, page-ins and
 * physical transfers, told apart by name only
 */
#include "fs_usage.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open descriptors that are remembered, and days that a text may last. */
enum { FDS_MAX = 1 << 16, DAYS_MAX = 36500, PATH_LONG = 4096 };

#define DAY_NS INT64_C(86400000000000)

struct fs_usage {
	struct lines lines; /* first */
	struct map pid;     /* name of a command -> the number that stands for it */
	int32_t npid;
	struct map fd; /* (pid, descriptor) -> file */
	uint32_t socket;
	bool begun;
	int64_t first_ns, last_ns; /* time of day of the first line, of the last one */
	int days;                  /* midnights since then */
};

static int fs_usage_read(struct lines *l, char *line, size_t len, struct op *op);

static int fs_usage_open(struct source **out, const struct source_args *args)
{
	struct fs_usage *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	int err = lines_init(&s->lines, &source_fs_usage, args);
	if (err < 0) {
		free(s);
		return err;
	}
	s->lines.read = fs_usage_read;
	s->lines.why = "not a line of fs_usage";
	*out = &s->lines.text.base;
	return 0;
}

static bool is(const struct fs_word *w, const char *text)
{
	return strlen(text) == w->len && !memcmp(w->s, text, w->len);
}

static bool begins(const struct fs_word *w, const char *with)
{
	size_t n = strlen(with);

	return w->len >= n && !memcmp(w->s, with, n);
}

/* Where part, in small letters, is in the word, in any letters. NULL: nowhere. */
static const char *within(const struct fs_word *w, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= w->len; i++)
		if (!strncasecmp(w->s + i, part, n))
			return w->s + i;
	return NULL;
}

/* A "read" that is not of "thread" (bsdthread_create, psynch and its kin). */
static bool reads(const struct fs_word *call)
{
	const char *at = within(call, "read");

	return at && !(at - call->s >= 2 && !strncasecmp(at - 2, "th", 2));
}

/* Page-ins, page-outs and what went to a drive. -1: none of these. */
static int block_kind(const struct fs_word *call)
{
	static const struct {
		const char *begin;
		enum op_kind kind;
	} kinds[] = {
		{ "Rd", OP_READ },
		{ "Wr", OP_WRITE },
		{ "PgIn", OP_READ },
		{ "PgOut", OP_WRITE },
		{ "PAGE_IN", OP_READ },
		{ "PAGE_OUT", OP_WRITE },
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].begin);
		/* RdData, WrMeta, RdChunk: the third letter is a capital too. */
		if (begins(call, kinds[i].begin) &&
			(n > 2 || (call->len > 2 && call->s[2] >= 'A' &&
					  call->s[2] <= 'Z')))
			return kinds[i].kind;
	}
	return -1;
}

/* Calls that neither read nor write: what they are, without their variants' affixes. */
static enum op_kind meta_kind(struct fs_word call)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} kinds[] = {
		{ "open", OP_OPEN },
		{ "openat", OP_OPEN },
		{ "open_extended", OP_OPEN },
		{ "open_dprotected", OP_OPEN },
		{ "openat_dprotected", OP_OPEN },
		{ "openbyid", OP_OPEN },
		{ "creat", OP_OPEN },
		{ "shm_open", OP_OPEN },
		{ "dup", OP_OPEN },
		{ "dup2", OP_OPEN },
		{ "accept", OP_OPEN },
		{ "socket", OP_OPEN },
		{ "socketpair", OP_OPEN },
		{ "pipe", OP_OPEN },
		{ "kqueue", OP_OPEN },
		{ "close", OP_CLOSE },
		{ "fsync", OP_SYNC },
		{ "fdatasync", OP_SYNC },
		{ "sync", OP_SYNC },
		{ "msync", OP_SYNC },
		{ "aio_fsync", OP_SYNC },
		{ "sync_volume", OP_SYNC },
	};
	static const char *const ends[] = { "_nocancel", "_np" };

	if (begins(&call, "guarded_")) {
		call.s += 8;
		call.len -= 8;
	}
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]);
		if (call.len > n && !memcmp(call.s + call.len - n, ends[i], n))
			call.len -= n;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (is(&call, kinds[i].name))
			return kinds[i].kind;
	return OP_META;
}

/*
 * All calls with "read" or "write" in their name move data, in that direction: so does
 * readlink. But a call of Carbon ("PBReadFork") is no system call: it stands around the
 * calls that it made.
 */
static void set_kind(struct op *op, const struct fs_line *l)
{
	const struct fs_word *call = &l->call;
	int block = block_kind(call);
	bool carbon = begins(call, "PB") && call->len > 2 && call->s[2] >= 'A' &&
		      call->s[2] <= 'Z';

	op->layer = block >= 0 ? LAYER_BLOCK : LAYER_MAIN;
	if (block >= 0)
		op->kind = block;
	else if (carbon)
		op->kind = OP_META;
	else if (reads(call))
		op->kind = OP_READ;
	else if (within(call, "write"))
		op->kind = OP_WRITE;
	else
		op->kind = l->full_sync ? OP_SYNC : meta_kind(*call);
}

/* Nanoseconds since the first line; the text has no date, so midnights are counted. */
static uint64_t since_first(struct fs_usage *s, int64_t day_ns)
{
	if (!s->begun)
		s->first_ns = s->last_ns = day_ns;
	s->begun = true;
	/* Lines may be a little out of order, at midnight too. */
	if (day_ns < s->last_ns - DAY_NS / 2 && s->days < DAYS_MAX)
		s->days++;
	else if (day_ns > s->last_ns + DAY_NS / 2 && s->days > 0)
		s->days--;
	s->last_ns = day_ns;
	int64_t ns = s->days * DAY_NS + day_ns - s->first_ns;
	return ns > 0 ? ns : 0;
}

/* What is printed is the time at the end of the call. */
static void set_time(struct fs_usage *s, struct op *op, const struct fs_line *l)
{
	uint64_t end = since_first(s, l->day_ns);

	op->dur_ns = l->dur_ns;
	op->start_ns = l->dur_ns == OP_NO_TIME ? end
		       : end > l->dur_ns       ? end - l->dur_ns
					       : 0;
	if (end > s->lines.text.end_ns)
		s->lines.text.end_ns = end;
}

/* No number of the process is told: its name stands for it. */
static int set_process(struct fs_usage *s, struct op *op, const struct fs_line *l)
{
	op->comm = names_add(s->lines.text.names, l->comm.s, l->comm.len);
	if (op->comm) {
		op->pid = map_get(&s->pid, op->comm, 0);
		if (!op->pid && map_put(&s->pid, op->comm, 0, s->npid + 1) < 0)
			return -ENOMEM;
		if (!op->pid)
			op->pid = ++s->npid;
	}
	op->tid = l->tid ? (int32_t)(l->tid & INT32_MAX) : op->pid;
	return 0;
}

static void set_result(struct op *op, const struct fs_line *l)
{
	enum op_class class = op_kind_class(op->kind);
	bool data = class == CLASS_READ || class == CLASS_WRITE;

	op->fd = l->fd;
	op->offset = OP_NO_OFFSET;
	op->want = l->bytes > 0 ? l->bytes : 0;
	if (data) {
		op->ret = op->want;
		op->offset = l->offset;
	} else if (op->kind == OP_OPEN) {
		op->ret = l->fd2 >= 0 ? l->fd2 : l->fd >= 0 ? l->fd : 0;
	}
	if (within(&l->call, "truncate") && l->offset >= 0)
		op->want = l->offset;
	if (l->err)
		op->ret = -darwin_errno(l->err);
}

static unsigned path_type(const struct fs_word *path, unsigned kind)
{
	if (begins(path, "/dev/disk") || begins(path, "/dev/rdisk"))
		return FILE_BLOCK;
	if (begins(path, "/dev/tty"))
		return FILE_TTY;
	if (begins(path, "/dev/"))
		return FILE_CHAR;
	return kind == OP_READ || kind == OP_WRITE || kind == OP_OPEN ? FILE_REGULAR
								      : FILE_UNKNOWN;
}

/* The file of "[5]/name": below the directory that is open as 5, where that is known. */
static uint32_t file_at(struct fs_usage *s, const struct op *op, const struct fs_line *l)
{
	unsigned type = path_type(&l->path, op->kind);
	uint32_t dir = *l->path.s != '/' && l->dirfd >= 0 && op->pid
			       ? map_get(&s->fd, op->pid, l->dirfd)
			       : 0;
	struct names *names = s->lines.text.names;
	char full[PATH_LONG];
	int n = dir ? snprintf(full, sizeof(full), "%s/%.*s",
			      names_get(names, names_file(names, dir)->path),
			      (int)(l->path.len < PATH_LONG ? l->path.len : PATH_LONG),
			      l->path.s)
		    : 0;

	if (n > 0 && n < PATH_LONG)
		return lines_file(&s->lines, full, n, type);
	return lines_file(&s->lines, l->path.s, l->path.len, type);
}

static uint32_t find_file(
	struct fs_usage *s, const struct op *op, const struct fs_line *l)
{
	if (l->path.len && l->at)
		return file_at(s, op, l);
	if (l->path.len)
		return lines_file(
			&s->lines, l->path.s, l->path.len, path_type(&l->path, op->kind));
	if (l->device.len && !is(&l->device, "/dev/NOTFOUND"))
		return lines_file(&s->lines, l->device.s, l->device.len, FILE_BLOCK);
	return l->fd >= 0 && op->pid ? map_get(&s->fd, op->pid, l->fd) : 0;
}

static uint32_t a_socket(struct fs_usage *s)
{
	if (!s->socket)
		s->socket = lines_file(&s->lines, "socket", 6, FILE_SOCKET);
	return s->socket;
}

/* Remember what a new descriptor stands for: most lines tell no more than its number. */
static int set_fds(struct fs_usage *s, struct op *op, const struct fs_line *l)
{
	int32_t fd = l->fd2 >= 0 ? l->fd2 : l->fd;

	if (fd < 0 || !op->pid || l->err)
		return 0;
	if (op->kind == OP_CLOSE)
		map_del(&s->fd, op->pid, fd);
	if (op->kind != OP_OPEN)
		return 0;
	if (!op->file && (begins(&l->call, "socket") || begins(&l->call, "accept")))
		op->file = a_socket(s);
	if (!op->file ||
		(l->fd2 < 0 && (begins(&l->call, "dup") || begins(&l->call, "pipe"))))
		map_del(&s->fd, op->pid, fd);
	else if (s->fd.n < FDS_MAX || map_get(&s->fd, op->pid, fd))
		return map_put(&s->fd, op->pid, fd, op->file);
	return 0;
}

static int fs_usage_read(struct lines *lines, char *line, size_t len, struct op *op)
{
	struct fs_usage *s = (struct fs_usage *)lines;
	struct fs_line l;
	int err = fs_line_parse(&l, line, len);

	if (err < 0)
		return err;
	op->call = names_call(s->lines.text.names, l.call.s, l.call.len);
	set_kind(op, &l);
	set_time(s, op, &l);
	if ((err = set_process(s, op, &l)) < 0)
		return err;
	set_result(op, &l);
	op->file = find_file(s, op, &l);
	err = set_fds(s, op, &l);
	return err < 0 ? err : 1;
}

/*
 * strace -t has one blank between time and call, and "(" behind that. Of lines that have
 * no field one cannot be sure.
 */
static int like_fs_usage(const char *text, size_t len)
{
	char copy[512];
	struct fs_line l;
	size_t n = len < sizeof(copy) ? len : sizeof(copy) - 1;

	memcpy(copy, text, n);
	copy[n] = 0;
	if (fs_line_parse(&l, copy, n) < 0 || l.call.s - copy < 10)
		return 0;
	bool sure = l.fd >= 0 || l.bytes >= 0 || l.dur_ns != OP_NO_TIME || l.disk ||
		    l.err || block_kind(&l.call) >= 0;
	return sure ? 95 : reads(&l.call) || within(&l.call, "write") ? 80 : 40;
}

static int fs_usage_probe(const char *head, size_t len)
{
	return lines_probe(head, len, like_fs_usage);
}

static int fs_usage_step(struct source *base, struct sink *to)
{
	return lines_step((struct lines *)base, to);
}

static void fs_usage_about(struct source *base, struct run *run)
{
	text_about((struct text *)base, run, "imported from fs_usage text");
}

static int fs_usage_close(struct source *base)
{
	struct fs_usage *s = (struct fs_usage *)base;

	map_fini(&s->pid);
	map_fini(&s->fd);
	free(s);
	return 0;
}

const struct source_ops source_fs_usage = {
	.name = "fs_usage",
	.help = "text of macOS fs_usage",
	.probe = fs_usage_probe,
	.open = fs_usage_open,
	.step = fs_usage_step,
	.about = fs_usage_about,
	.close = fs_usage_close,
};
