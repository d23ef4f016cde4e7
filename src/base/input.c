/*
 * input.c - bytes of a saved trace: one buffer that is refilled from a descriptor
 */
#include "iops/input.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAPACITY = INPUT_LINE_MAX * 4, SMALL = INPUT_HEAD * 4 };

/* So much at once, and to the same place again, stays in the cache of a CPU. */
enum { ONCE = 1 << 18, LITTLE = 1 << 14 };

struct input {
	int fd; /* -1: all is in the buffer */
	char *name, *buf;
	size_t at, end, cap; /* unread bytes are buf[at ... end - 1] */
	uint64_t before;     /* bytes before buf[0] */
	uint64_t lines, time_ns;
	dev_t dev; /* and inode, of a file */
	ino_t ino;
	bool eof, cut, skip_rest, failed;
};

static int input_new(struct input **out, const char *name)
{
	struct input *in = calloc(1, sizeof(*in));

	if (in)
		in->name = strdup(name);
	if (!in || !in->name) {
		free(in);
		return -ENOMEM;
	}
	in->fd = -1;
	*out = in;
	return 0;
}

static int open_with(struct input **out, const char *path, size_t cap)
{
	struct input *in;
	struct stat st;
	bool std = !strcmp(path, "-");

	if (input_new(&in, std ? "standard input" : path) < 0)
		return diag_err(ENOMEM, "%s", path);
	in->cap = cap;
	in->fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int err = in->fd < 0 || fstat(in->fd, &st) < 0 ? -errno : 0;
	if (!err && S_ISDIR(st.st_mode))
		err = -EISDIR;
	/* One byte more, for the NUL behind a last line. */
	if (!err && !(in->buf = malloc(in->cap + 1)))
		err = -ENOMEM;
	if (err < 0) {
		diag_err(err, "%s", in->name);
		input_close(in);
		return err;
	}
	if (S_ISREG(st.st_mode)) {
		in->time_ns =
			st.st_mtim.tv_sec * UINT64_C(1000000000) + st.st_mtim.tv_nsec;
		in->dev = st.st_dev;
		in->ino = st.st_ino;
	}
	posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*out = in;
	return 0;
}

int input_open(struct input **out, const char *path)
{
	return open_with(out, path, CAPACITY);
}

int input_open_small(struct input **out, const char *path)
{
	return open_with(out, path, SMALL);
}

bool input_same(const struct input *a, const struct input *b)
{
	return a->ino && a->ino == b->ino && a->dev == b->dev;
}

bool input_is(const struct input *in, const char *path)
{
	struct stat st;

	return in->ino && path && strcmp(path, "-") && !stat(path, &st) &&
	       st.st_ino == in->ino && st.st_dev == in->dev;
}

bool input_failed(const struct input *in)
{
	return in->failed;
}

int input_memory(struct input **out, const void *bytes, size_t len)
{
	struct input *in;

	if (input_new(&in, "memory") < 0)
		return -ENOMEM;
	in->buf = malloc(len + 1);
	if (!in->buf) {
		input_close(in);
		return -ENOMEM;
	}
	memcpy(in->buf, bytes, len);
	in->end = in->cap = len;
	in->eof = true;
	*out = in;
	return 0;
}

int input_growing(struct input **out, const char *name)
{
	int err = input_new(out, name);

	if (!err)
		(*out)->eof = true;
	return err;
}

int input_more(struct input *in, const void *bytes, size_t len)
{
	size_t left = in->end - in->at;

	if (left)
		memmove(in->buf, in->buf + in->at, left);
	in->before += in->at;
	in->at = 0;
	in->end = left;
	if (left + len > in->cap) {
		size_t cap = left + len > 2 * in->cap ? left + len : 2 * in->cap;
		char *more = realloc(in->buf, cap + 1);
		if (!more)
			return -ENOMEM;
		in->buf = more;
		in->cap = cap;
	}
	if (len)
		memcpy(in->buf + left, bytes, len);
	in->end += len;
	return 0;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in->buf);
	free(in->name);
	free(in);
}

/* Read more behind what is unread. 1; 0 at the end or with no room left; -errno. */
static int fill(struct input *in)
{
	ssize_t n;

	if (in->eof)
		return 0;
	if (in->at && (in->end - in->at <= LITTLE || in->end == in->cap)) {
		memmove(in->buf, in->buf + in->at, in->end - in->at);
		in->before += in->at;
		in->end -= in->at;
		in->at = 0;
	}
	if (in->end == in->cap)
		return 0;
	size_t want = in->cap - in->end < ONCE ? in->cap - in->end : ONCE;
	while ((n = read(in->fd, in->buf + in->end, want)) < 0 && errno == EINTR)
		;
	if (n < 0) {
		bool begun = in->before || in->end;
		int err = diag_err(
			errno, "cannot read %s%s", in->name, begun ? " any further" : "");
		if (!begun)
			return err;
		in->failed = true; /* what came before is as true as if it ended here */
		n = 0;
	}
	in->eof = n == 0;
	in->end += n;
	return n > 0;
}

ssize_t input_peek(struct input *in, size_t len, const void **bytes)
{
	int got = 1;

	while (in->end - in->at < len && (got = fill(in)) > 0)
		;
	if (got < 0)
		return got;
	*bytes = in->buf + in->at;
	return in->end - in->at < len ? in->end - in->at : len;
}

void input_skip(struct input *in, size_t n)
{
	in->at += n < in->end - in->at ? n : in->end - in->at;
}

enum { REST_MAX = 1 << 30 };

int input_rest(struct input *in, char **text, size_t *len)
{
	size_t n = 0, cap = 0;
	char *all = NULL;
	int got = 1;

	while (got > 0) {
		size_t here = in->end - in->at;
		if (n + here + 1 > cap) {
			cap = 2 * (n + here) + 64;
			char *more = n + here > REST_MAX ? NULL : realloc(all, cap);
			if (!more) {
				free(all);
				return diag_err(ENOMEM, "%s", in->name);
			}
			all = more;
		}
		memcpy(all + n, in->buf + in->at, here);
		n += here;
		in->at = in->end;
		got = fill(in);
	}
	all[n] = 0;
	*text = all;
	*len = n;
	return in->failed ? -EIO : got;
}

ssize_t input_head(struct input *in, const char **head)
{
	const void *bytes = NULL;
	ssize_t n = input_peek(in, INPUT_HEAD, &bytes);

	*head = bytes;
	return n;
}

/* Throw away the rest of a line that was too long. 1 when it is gone; 0, -errno. */
static int skip_rest(struct input *in)
{
	for (;;) {
		char *nl = memchr(in->buf + in->at, '\n', in->end - in->at);
		if (nl) {
			in->at = nl + 1 - in->buf;
			in->skip_rest = false;
			return 1;
		}
		in->at = in->end;
		int got = fill(in);
		if (got <= 0)
			return got;
	}
}

int input_line(struct input *in, char **line, size_t *len)
{
	size_t seen = 0;
	int got = 1;
	char *nl;

	if (in->skip_rest && (got = skip_rest(in)) <= 0)
		return got;
	while (!(nl = memchr(in->buf + in->at + seen, '\n', in->end - in->at - seen))) {
		seen = in->end - in->at;
		if (seen >= INPUT_LINE_MAX || (got = fill(in)) <= 0)
			break;
	}
	if (got < 0 || (!nl && in->at == in->end))
		return got < 0 ? got : 0;
	*line = in->buf + in->at;
	*len = nl ? (size_t)(nl - *line) : in->end - in->at;
	in->cut = !nl;
	in->at += *len + !!nl;
	if (*len > INPUT_LINE_MAX) {
		in->skip_rest = !nl;
		*len = INPUT_LINE_MAX;
		in->cut = true;
	} else if (!nl && !in->eof) {
		in->skip_rest = true;
	}
	(*line)[*len] = 0;
	in->lines++;
	return 1;
}

bool input_cut(const struct input *in)
{
	return in->cut;
}

const char *input_name(const struct input *in)
{
	return in->name;
}

uint64_t input_offset(const struct input *in)
{
	return in->before + in->at;
}

uint64_t input_lines(const struct input *in)
{
	return in->lines;
}

uint64_t input_time(const struct input *in)
{
	return in->time_ns;
}
