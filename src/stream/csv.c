/*
 * csv.c - a file that grows by rows, plain or compressed
 *
 * What goes to a compressed file ends in a flush and then in the end of the frame: an
 * empty last block (RFC 8878, 3.1.1.2). The next rows are written over that end. So the
 * file can be read whole at any time, and where writing fails it goes back to the end it
 * had, which takes no room on the disk.
 */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEVEL = 3, END = 3 /* bytes of it */ };

static const uint8_t end[END] = { 1, 0, 0 };

int csv_init(struct csv *f, bool plain)
{
	*f = (struct csv){ .fd = -1 };
	if (plain)
		return 0;
	f->zstd = ZSTD_createCCtx();
	if (!f->zstd)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_compressionLevel, LEVEL);
	return 0;
}

void csv_fini(struct csv *f)
{
	csv_close(f);
	ZSTD_freeCCtx(f->zstd);
	free(f->packed);
}

int csv_open(struct csv *f, int dir, const char *name)
{
	f->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return -errno;
	f->size = 0;
	f->framed = false;
	if (f->zstd)
		ZSTD_CCtx_reset(f->zstd, ZSTD_reset_session_only);
	return 0;
}

int csv_close(struct csv *f)
{
	int err = f->fd >= 0 && close(f->fd) < 0 ? -errno : 0;

	f->fd = -1;
	return err;
}

/* 0 or -errno; *done bytes are written in any case. */
static int write_at(const struct csv *f, const void *p, size_t len, size_t *done)
{
	for (*done = 0; *done < len;) {
		ssize_t n = pwrite(
			f->fd, (const char *)p + *done, len - *done, f->size + *done);
		if (n > 0)
			*done += n;
		else if (n == 0)
			return -EIO;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

size_t csv_rows(const char *text, size_t len, uint64_t *rows)
{
	size_t whole = 0;
	bool quoted = false;

	*rows = 0;
	for (size_t i = 0; i < len; i++) {
		quoted ^= text[i] == '"';
		if (text[i] == '\n' && !quoted) {
			whole = i + 1;
			++*rows;
		}
	}
	return whole;
}

static int put_plain(struct csv *f, const char *text, size_t *len)
{
	uint64_t rows;
	size_t done;
	int err = write_at(f, text, *len, &done);

	if (err < 0) {
		*len = csv_rows(text, done, &rows);
		/* Where this fails, the next rows are written over it. */
		if (*len < done && ftruncate(f->fd, f->size + *len) < 0)
			err = -errno;
	}
	f->size += *len;
	return err;
}

/* Compress it with an end behind. The length, or 0: no memory. */
static size_t pack(struct csv *f, const char *text, size_t len)
{
	size_t bound = ZSTD_compressBound(len) + 64;
	ZSTD_inBuffer in = { text, len, 0 };

	if (f->cap < bound) {
		free(f->packed);
		f->packed = malloc(bound);
		f->cap = f->packed ? bound : 0;
		if (!f->packed)
			return 0;
	}
	ZSTD_outBuffer out = { f->packed, f->cap - END, 0 };
	size_t left;
	do
		left = ZSTD_compressStream2(f->zstd, &out, &in, ZSTD_e_flush);
	while (!ZSTD_isError(left) && left && out.pos < out.size);
	if (left)
		return 0;
	memcpy(f->packed + out.pos, end, END);
	return out.pos + END;
}

/* The frame as it was before, and a new one behind it. */
static int go_back(struct csv *f)
{
	size_t done;

	if (f->framed) {
		int err = write_at(f, end, END, &done);
		if (err < 0)
			return err;
		f->size += END;
		f->framed = false;
	}
	ZSTD_CCtx_reset(f->zstd, ZSTD_reset_session_only);
	return ftruncate(f->fd, f->size) < 0 ? -errno : 0;
}

static int put_packed(struct csv *f, const char *text, size_t *len)
{
	size_t done, packed = pack(f, text, *len);
	int err = packed ? write_at(f, f->packed, packed, &done) : -ENOMEM;

	if (err < 0) {
		*len = 0;
		/* Nothing can follow a frame without an end: the next rows get a new
		 * file. */
		if (go_back(f) < 0)
			csv_close(f);
		return err;
	}
	f->size += packed - END;
	f->framed = true;
	return 0;
}

uint64_t csv_stored(const struct csv *f)
{
	return f->size + (f->framed ? END : 0);
}

int csv_put(struct csv *f, const char *text, size_t *len)
{
	return f->zstd ? put_packed(f, text, len) : put_plain(f, text, len);
}
