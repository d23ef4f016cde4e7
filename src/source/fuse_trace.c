/*
 * fuse_trace.c - text of IOTraceCollector, a FUSE file system that logs what is asked of
 * it: "YYYYMMDD-HHMMSS.MICROSECONDS: CALL: key=value; key=value"
 *
 * The microseconds are a number and not a fraction: ".42" is 42 of them. Values are not
 * quoted, so keys are sought from the right end: a path may hold "; " and "=". Only a
 * path that ends like one of our own keys ("x; pid=5"), in a request of nothing but a
 * path, is misread.
 */
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/op.h"
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAMP = 15, MINUTE = 13, ERRNO_MAX = 4095, CALL_LONG = 32 };

#define SEC          UINT64_C(1000000000)
#define DURATION_MAX UINT64_C(100000000000000) /* us: three years */

struct fuse_trace {
	struct lines lines; /* first */
	uint64_t first_ns;  /* since 1970, of the first line; 0 before that */
	char minute[MINUTE];
	time_t minute_began; /* the time of that minute: most lines are of the last one */
};

static int fuse_trace_read(struct lines *l, char *line, size_t len, struct op *op);

static int fuse_trace_open(struct source **out, const struct source_args *args)
{
	struct fuse_trace *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	int err = lines_init(&s->lines, &source_fuse_trace, args);
	if (err < 0) {
		free(s);
		return err;
	}
	s->lines.read = fuse_trace_read;
	s->lines.why = "not a line of a FUSE trace";
	*out = &s->lines.text.base;
	return 0;
}

/* What is asked for: the first key is the file, the others in their order. */
struct request {
	const char *name, *call;
	uint8_t kind, type;
	const char *first, *key[3];
};

static const struct request requests[] = {
	{ "READ", "read", OP_READ, FILE_REGULAR, "path", { "length", "offset" } },
	{ "WRITE", "write", OP_WRITE, FILE_REGULAR, "path", { "offset", "length_buf" } },
	{ "GETATTR", "getattr", OP_META, FILE_UNKNOWN, "path", { NULL } },
	{ "OPEN", "open", OP_OPEN, FILE_REGULAR, "path", { "flags" } },
	{ "RELEASE", "release", OP_CLOSE, FILE_REGULAR, "path", { NULL } },
	{ "FLUSH", "flush", OP_META, FILE_REGULAR, "path", { NULL } },
	{ "CREATE", "create", OP_OPEN, FILE_REGULAR, "path", { "mode", "fi" } },
	{ "FSYNC", "fsync", OP_SYNC, FILE_REGULAR, "path", { NULL } },
	{ "ACCESS", "access", OP_META, FILE_UNKNOWN, "path", { "mode" } },
	{ "CHMOD", "chmod", OP_META, FILE_UNKNOWN, "path", { "mode" } },
	{ "CHOWN", "chown", OP_META, FILE_UNKNOWN, "path", { "uid", "gid" } },
	{ "LINK", "link", OP_META, FILE_UNKNOWN, "target", { "name" } },
	{ "MKDIR", "mkdir", OP_META, FILE_DIR, "path", { "mode" } },
	{ "MKNOD", "mknod", OP_META, FILE_UNKNOWN, "path", { "mode", "dev" } },
	{ "READDIR", "readdir", OP_META, FILE_DIR, "path", { NULL } },
	{ "READLINK", "readlink", OP_META, FILE_UNKNOWN, "path", { NULL } },
	{ "RENAME", "rename", OP_META, FILE_UNKNOWN, "old", { "new" } },
	{ "RMDIR", "rmdir", OP_META, FILE_DIR, "path", { NULL } },
	{ "STATFS", "statfs", OP_META, FILE_UNKNOWN, "path", { NULL } },
	{ "SYMLINK", "symlink", OP_META, FILE_UNKNOWN, "name", { "target" } },
	{ "TRUNC", "truncate", OP_META, FILE_REGULAR, "path", { "length" } },
	{ "TRUNCATE", "truncate", OP_META, FILE_REGULAR, "path", { "length" } },
	{ "UNLINK", "unlink", OP_META, FILE_UNKNOWN, "path", { NULL } },
	{ "UTIMES", "utimens", OP_META, FILE_UNKNOWN, "path", { "times" } },
	{ "UTIMENS", "utimens", OP_META, FILE_UNKNOWN, "path", { "times" } },
};

/* Any other name: what newer versions may add. Its keys are not known. */
static const struct request request_other = { NULL, NULL, OP_META, FILE_UNKNOWN, "path",
	{ NULL } };

/* The rest of a line while it is read from both ends. */
struct rest {
	char *s;
	size_t len;
};

static bool digits(const char *s, size_t n, unsigned *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*out = *out * 10 + (s[i] - '0');
	}
	return true;
}

/* "YYYYMMDD-HHMMSS", so that nanoseconds between two of them fit in an int64_t. */
static bool broken_time(const char *s, struct tm *tm)
{
	unsigned year, mon, day, hour, min, sec;

	if (!digits(s, 4, &year) || !digits(s + 4, 2, &mon) || !digits(s + 6, 2, &day) ||
		s[8] != '-' || !digits(s + 9, 2, &hour) || !digits(s + 11, 2, &min) ||
		!digits(s + 13, 2, &sec))
		return false;
	*tm = (struct tm){ .tm_year = (int)year - 1900,
		.tm_mon = (int)mon - 1,
		.tm_mday = day,
		.tm_hour = hour,
		.tm_min = min,
		.tm_sec = sec,
		.tm_isdst = -1 };
	return year >= 1970 && year <= 2200 && mon - 1 < 12 && day - 1 < 31 &&
	       hour < 24 && min < 60 && sec <= 60;
}

/* ".42" after the seconds: up to six digits, a number of microseconds. */
static bool microseconds(const char **p, uint64_t *us)
{
	const char *from = *p + 1;

	*us = 0;
	if (**p != '.')
		return true;
	*p = from;
	return text_number(p, us) && *p - from <= 6;
}

/* The time that a line begins with, since 1970, as the local clock of this machine. */
static bool stamp(struct fuse_trace *s, const char **p, size_t len, uint64_t *ns)
{
	struct tm tm;
	uint64_t us;
	const char *at = *p;

	if (len < STAMP || !broken_time(at, &tm))
		return false;
	int sec = tm.tm_sec;
	if (!s->first_ns || memcmp(s->minute, at, MINUTE)) {
		tm.tm_sec = 0;
		s->minute_began = mktime(&tm);
		memcpy(s->minute, at, MINUTE);
	}
	*p = at + STAMP;
	if (s->minute_began <= 0 || !microseconds(p, &us))
		return false;
	*ns = (s->minute_began + sec) * SEC + us * 1000;
	return true;
}

/* The name of the call, padded on its left, between ": " and ": ". */
static bool call_name(const char **p, const char **name, size_t *len)
{
	const char *s = *p;

	if (s[0] != ':' || s[1] != ' ')
		return false;
	for (s += 2; *s == ' '; s++)
		;
	*name = s;
	while ((*s >= 'A' && *s <= 'Z') || *s == '_')
		s++;
	*len = s - *name;
	if (!*len || *len > CALL_LONG || s[0] != ':' || s[1] != ' ')
		return false;
	*p = s + 2;
	return true;
}

static const struct request *request_of(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (strlen(requests[i].name) == len &&
			!memcmp(requests[i].name, name, len))
			return &requests[i];
	return &request_other;
}

/* The last "; " of the rest, and what is behind it. NULL: there is none. */
static char *last_piece(const struct rest *r)
{
	char *semicolon = memrchr(r->s, ';', r->len);

	while (semicolon && semicolon[1] != ' ')
		semicolon = memrchr(r->s, ';', semicolon - r->s);
	return semicolon ? semicolon + 2 : NULL;
}

/* The value if the piece is of that key, as "key=value"; "times" has a colon instead. */
static const char *value_of(const char *piece, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(piece, key, n) ||
		(piece[n] != '=' && (piece[n] != ':' || strcmp(key, "times"))))
		return NULL;
	return piece + n + 1;
}

static void cut(struct rest *r, char *piece)
{
	piece[-2] = 0;
	r->len = piece - 2 - r->s;
}

static bool integer(const char *s, int64_t *out)
{
	uint64_t n;
	bool minus = *s == '-';

	s += minus;
	if (!text_number(&s, &n) || *s || n > INT64_MAX)
		return false;
	*out = minus ? -(int64_t)n : (int64_t)n;
	return true;
}

/* Keys that follow those of the request in texts of our own, any of them or none. */
enum { PID = 1, UID = 2, RESULT = 4, ERRNO = 8, DURATION = 16 };

struct outcome {
	unsigned seen;
	int64_t result, err, pid, uid;
	uint64_t dur_ns;
};

/* "2", "-2" or "ENOENT" */
static bool error_number(const char *s, int64_t *out)
{
	char buf[16];

	if (integer(s, out)) {
		*out = *out < 0 ? -*out : *out;
		return *out <= ERRNO_MAX;
	}
	for (int e = 1; e < 134; e++) {
		if (!strcmp(s, errno_name(e, buf))) {
			*out = e;
			return true;
		}
	}
	return false;
}

static bool duration(const char *s, uint64_t *ns)
{
	uint64_t us, part;

	if (!text_number(&s, &us) || us > DURATION_MAX)
		return false;
	*ns = us * 1000;
	if (*s == '.') {
		s++;
		part = text_fraction_ns(&s); /* of a microsecond, here */
		*ns += part / 1000000;
	}
	return !*s;
}

/* Which of them a piece is, 0 if none. */
static unsigned outcome_of(const char *piece, struct outcome *o)
{
	const char *v;

	if ((v = value_of(piece, "duration_us")))
		return duration(v, &o->dur_ns) ? DURATION : 0;
	if ((v = value_of(piece, "errno")))
		return error_number(v, &o->err) ? ERRNO : 0;
	if ((v = value_of(piece, "result")))
		return integer(v, &o->result) && o->result >= -ERRNO_MAX ? RESULT : 0;
	if ((v = value_of(piece, "uid")))
		return integer(v, &o->uid) ? UID : 0;
	if ((v = value_of(piece, "pid")))
		return integer(v, &o->pid) && o->pid >= 0 && o->pid <= INT32_MAX ? PID
										 : 0;
	return 0;
}

static void take_outcome(struct rest *r, struct outcome *o)
{
	char *piece;

	while ((piece = last_piece(r))) {
		struct outcome next = *o;
		unsigned key = outcome_of(piece, &next);
		if (!key || o->seen & key)
			return;
		*o = next;
		o->seen |= key;
		cut(r, piece);
	}
}

/* A path may hold "; ": the last piece that is of a key begins its value. */
static char *piece_of(const struct rest *r, const char *key)
{
	struct rest front = *r;
	bool path = !strcmp(key, "new") || !strcmp(key, "name") || !strcmp(key, "target");
	char *piece = last_piece(&front);

	while (path && piece && !value_of(piece, key)) {
		front.len = piece - 2 - front.s;
		piece = last_piece(&front);
	}
	return piece;
}

/* The keys of the request, from the last to the second; numbers to where they belong. */
static bool take_keys(struct rest *r, const struct request *req, struct op *op)
{
	for (int i = 2; i >= 0; i--) {
		const char *key = req->key[i], *v;
		int64_t n;
		if (!key)
			continue;
		char *piece = piece_of(r, key);
		if (!piece || !(v = value_of(piece, key)))
			return false;
		if (!strncmp(key, "length", 6)) {
			if (!integer(v, &n) || n < 0)
				return false;
			op->want = n;
		} else if (!strcmp(key, "offset")) {
			if (!integer(v, &n))
				return false;
			op->offset = n >= 0 ? n : OP_NO_OFFSET;
		}
		cut(r, piece);
	}
	return true;
}

/* Of a call that is not known: whatever has the form of "; key=value". */
static void take_any(struct rest *r)
{
	char *piece;

	while ((piece = last_piece(r))) {
		size_t n = strspn(piece, "abcdefghijklmnopqrstuvwxyz_");
		if (!n || piece[n] != '=')
			return;
		cut(r, piece);
	}
}

/* The path of "path=...", with a slash before it in any case. NULL: there is none. */
static const char *take_path(struct rest *r, const char *key)
{
	const char *v = value_of(r->s, key);

	if (!v)
		return NULL;
	if (*v != '/')
		r->s[--v - r->s] = '/';
	r->len -= v - r->s;
	return v;
}

static void set_call(struct fuse_trace *s, struct op *op, const struct request *req,
	const struct rest *name)
{
	char lower[CALL_LONG];

	for (size_t i = 0; i < name->len; i++)
		lower[i] = name->s[i] | (name->s[i] == '_' ? 0 : 0x20);
	op->call = req->call
			   ? names_call(s->lines.text.names, req->call, strlen(req->call))
			   : names_call(s->lines.text.names, lower, name->len);
	op->kind = req->kind;
}

static void set_outcome(struct op *op, const struct outcome *o)
{
	bool data = op->kind == OP_READ || op->kind == OP_WRITE;

	op->pid = op->tid = o->pid;
	op->dur_ns = o->seen & DURATION ? o->dur_ns : OP_NO_TIME;
	op->ret = o->seen & RESULT ? o->result : data ? (int64_t)op->want : 0;
	if (o->err)
		op->ret = -o->err;
}

/* The clock of the day may be set back: no operation is before the first one. */
static void set_time(struct fuse_trace *s, struct op *op, uint64_t ns)
{
	if (!s->first_ns)
		s->first_ns = ns;
	op->start_ns = ns > s->first_ns ? ns - s->first_ns : 0;
	uint64_t end = op->start_ns + (op->dur_ns == OP_NO_TIME ? 0 : op->dur_ns);
	if (end > s->lines.text.end_ns)
		s->lines.text.end_ns = end;
}

static int fuse_trace_read(struct lines *lines, char *line, size_t len, struct op *op)
{
	struct fuse_trace *s = (struct fuse_trace *)lines;
	struct outcome o = { 0 };
	const char *p = line, *name;
	uint64_t ns;
	size_t n;

	if (!stamp(s, &p, len, &ns) || !call_name(&p, &name, &n))
		return -EINVAL;
	const struct request *req = request_of(name, n);
	struct rest rest = { line + (p - line), len - (p - line) };
	struct rest called = { line + (name - line), n };
	op->offset = OP_NO_OFFSET;
	op->fd = -1;
	take_outcome(&rest, &o);
	if (!take_keys(&rest, req, op))
		return -EINVAL;
	if (!req->call)
		take_any(&rest);
	const char *path = take_path(&rest, req->first);
	if (!path)
		return -EINVAL;
	op->file = lines_file(lines, path, rest.len, req->type);
	set_call(s, op, req, &called);
	set_outcome(op, &o);
	set_time(s, op, ns);
	return 1;
}

static int like_fuse_trace(const char *text, size_t len)
{
	const char *p, *name;
	struct tm tm;
	char copy[128];
	size_t n = len < sizeof(copy) ? len : sizeof(copy) - 1;
	uint64_t us;

	memcpy(copy, text, n);
	copy[n] = 0;
	p = copy + STAMP;
	return n > STAMP && broken_time(copy, &tm) && microseconds(&p, &us) &&
			       call_name(&p, &name, &n)
		       ? 98
		       : 0;
}

static int fuse_trace_probe(const char *head, size_t len)
{
	return lines_probe(head, len, like_fuse_trace);
}

static int fuse_trace_step(struct source *base, struct sink *to)
{
	return lines_step((struct lines *)base, to);
}

static void fuse_trace_about(struct source *base, struct run *run)
{
	struct fuse_trace *s = (struct fuse_trace *)base;

	text_about(&s->lines.text, run,
		"imported fuse-trace text: bytes are those asked for");
	run->started_ns = s->first_ns;
}

static int fuse_trace_close(struct source *base)
{
	struct fuse_trace *s = (struct fuse_trace *)base;

	free(s);
	return 0;
}

const struct source_ops source_fuse_trace = {
	.name = "fuse-trace",
	.help = "text of IOTraceCollector, a tracing FUSE file system",
	.probe = fuse_trace_probe,
	.open = fuse_trace_open,
	.step = fuse_trace_step,
	.about = fuse_trace_about,
	.close = fuse_trace_close,
};
