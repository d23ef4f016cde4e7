/*
 * fsxdata.h - fsx's operations on what is in a file: each is done to the file and to the
 * model, and what comes back must be equal
 */
#ifndef FSXDATA_H
#define FSXDATA_H

#include "fsxcore.h"

#include <linux/falloc.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { READS, WRITES, PLAIN }; /* what a descriptor is wanted for; PLAIN: not O_DIRECT */

/* One of the open descriptors that fit, or NULL. */
static struct handle *pick(struct worker *w, int what, struct file **file)
{
	long at = below(w, NFILES * NFDS);

	for (long i = 0; i < NFILES * NFDS; i++) {
		long k = (at + i) % (NFILES * NFDS);
		struct handle *h = &w->f[k / NFDS].h[k % NFDS];
		int acc = h->flags & O_ACCMODE;

		if (h->fd < 0 || (what == WRITES && acc == O_RDONLY) ||
			(what == READS && acc == O_WRONLY) ||
			(what == PLAIN &&
				(acc != O_RDWR || h->flags & (O_DIRECT | O_APPEND))))
			continue;
		*file = &w->f[k / NFDS];
		return h;
	}
	return NULL;
}

static long fileno_of(const struct worker *w, const struct file *f)
{
	return f - w->f;
}

static void aligned(const struct handle *h, long *off, long *len)
{
	if (!(h->flags & O_DIRECT))
		return;
	*off -= *off % BLOCK;
	*len = (*len + BLOCK - 1) / BLOCK * BLOCK;
	if (*len > MAX_SIZE - *off)
		*len = MAX_SIZE - *off;
}

/* The model after n bytes were written there. */
static void wrote(struct file *f, long off, const unsigned char *p, long n)
{
	memcpy(f->data + off, p, (size_t)n);
	if (off + n > f->size)
		f->size = off + n;
	f->mtime = MTIME_NOW;
}

static long there(const struct file *f, long off, long len)
{
	return off >= f->size ? 0 : len < f->size - off ? len : f->size - off;
}

static int split(struct worker *w, unsigned char *p, long len, struct iovec v[3])
{
	long a = below(w, len + 1), b = a + below(w, len - a + 1);

	v[0] = (struct iovec){ p, (size_t)a };
	v[1] = (struct iovec){ p + a, (size_t)(b - a) };
	v[2] = (struct iovec){ p + b, (size_t)(len - b) };
	return 3;
}

static void op_pread(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);
	struct iovec v[3];
	long off, len, n;

	if (!h)
		return;
	place(w, MAX_SIZE, &off, &len);
	aligned(h, &off, &len);
	int vector = below(w, 3) == 0 && !(h->flags & O_DIRECT);
	will(w, "%s file %ld flags %o at %ld, %ld", vector ? "preadv" : "pread",
		fileno_of(w, f), h->flags, off, len);
	n = vector ? preadv(h->fd, v, split(w, w->buf, len, v), off)
		   : pread(h->fd, w->buf, (size_t)len, off);
	expect(w, "bytes", n, there(f, off, len));
	same(w, w->buf, f->data + off, n);
}

static void op_pwrite(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, WRITES, &f);
	struct iovec v[3];
	long off, len, n;

	if (!h || h->flags & O_APPEND)
		return;
	place(w, MAX_SIZE, &off, &len);
	aligned(h, &off, &len);
	int vector = below(w, 3) == 0 && !(h->flags & O_DIRECT);
	fill(w, w->buf, len);
	will(w, "%s file %ld flags %o at %ld, %ld", vector ? "pwritev" : "pwrite",
		fileno_of(w, f), h->flags, off, len);
	n = vector ? pwritev(h->fd, v, split(w, w->buf, len, v), off)
		   : pwrite(h->fd, w->buf, (size_t)len, off);
	expect(w, "bytes", n, len);
	wrote(f, off, w->buf, len);
}

/* At the descriptor's own position, sometimes after moving it. */
static long position(struct worker *w, struct handle *h, const struct file *f)
{
	if (below(w, 3) == 0) {
		h->pos = below(w, MAX_SIZE);
		expect(w, "lseek", lseek(h->fd, h->pos, SEEK_SET), h->pos);
	} else if (below(w, 8) == 0) {
		h->pos = f->size;
		expect(w, "lseek to the end", lseek(h->fd, 0, SEEK_END), f->size);
	}
	return h->pos;
}

static void op_read(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);
	struct iovec v[3];
	long off, len, n;

	if (!h || h->flags & O_DIRECT)
		return;
	place(w, MAX_SIZE, &off, &len);
	int vector = below(w, 3) == 0;
	will(w, "%s file %ld, %ld", vector ? "readv" : "read", fileno_of(w, f), len);
	off = position(w, h, f);
	n = vector ? readv(h->fd, v, split(w, w->buf, len, v))
		   : read(h->fd, w->buf, (size_t)len);
	expect(w, "bytes", n, there(f, off, len));
	same(w, w->buf, f->data + off, n);
	h->pos += n;
	expect(w, "position", lseek(h->fd, 0, SEEK_CUR), h->pos);
}

static void op_write(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, WRITES, &f);
	struct iovec v[3];
	long off, len, n;

	if (!h || h->flags & O_DIRECT)
		return;
	place(w, MAX_SIZE, &off, &len);
	int vector = below(w, 3) == 0;
	will(w, "%s file %ld flags %o, %ld", vector ? "writev" : "write", fileno_of(w, f),
		h->flags, len);
	off = position(w, h, f);
	if (h->flags & O_APPEND)
		off = f->size;
	if (len > MAX_SIZE - off)
		len = MAX_SIZE - off;
	fill(w, w->buf, len);
	n = vector ? writev(h->fd, v, split(w, w->buf, len, v))
		   : write(h->fd, w->buf, (size_t)len);
	expect(w, "bytes", n, len);
	if (len)
		wrote(f, off, w->buf, len), h->pos = off + len;
	expect(w, "position", lseek(h->fd, 0, SEEK_CUR), h->pos);
}

static void op_truncate(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, WRITES, &f);
	long size, len;

	if (!h)
		return;
	place(w, MAX_SIZE, &size, &len);
	if (below(w, 6) == 0)
		size = 0;
	will(w, "ftruncate file %ld from %ld to %ld", fileno_of(w, f), f->size, size);
	outcome(w, "ftruncate", ftruncate(h->fd, size), 0);
	set_size(f, size);
	f->mtime = MTIME_ANY;
}

static void model_fallocate(struct file *f, int mode, long off, long len)
{
	long end = off + len, in = there(f, off, len);

	if (mode & FALLOC_FL_COLLAPSE_RANGE) {
		memmove(f->data + off, f->data + end, (size_t)(f->size - end));
		set_size(f, f->size - len);
	} else if (mode & FALLOC_FL_INSERT_RANGE) {
		memmove(f->data + end, f->data + off, (size_t)(f->size - off));
		memset(f->data + off, 0, (size_t)len);
		f->size += len;
	} else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		memset(f->data + off, 0, (size_t)in);
	}
	if (!(mode & ~FALLOC_FL_ZERO_RANGE) && end > f->size)
		f->size = end;
	f->mtime = MTIME_ANY;
}

static void op_fallocate(struct worker *w)
{
	static const struct {
		int mode, feature;
	} modes[] = { { 0, F_FALLOC }, { FALLOC_FL_KEEP_SIZE, F_FALLOC },
		{ FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, F_PUNCH },
		{ FALLOC_FL_ZERO_RANGE, F_ZERO },
		{ FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, F_ZERO },
		{ FALLOC_FL_COLLAPSE_RANGE, F_COLLAPSE },
		{ FALLOC_FL_INSERT_RANGE, F_INSERT } };
	struct file *f;
	struct handle *h = pick(w, WRITES, &f);
	long k = below(w, 7), off, len;
	int mode = modes[k].mode;

	place(w, MAX_SIZE, &off, &len);
	if (!h || !has(w, modes[k].feature))
		return;
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		off -= off % BLOCK;
		len = (len + BLOCK - 1) / BLOCK * BLOCK;
		int in = mode & FALLOC_FL_INSERT_RANGE;
		if (in ? off >= f->size || f->size + len > MAX_SIZE
		       : off + len >= f->size)
			return;
	}
	will(w, "fallocate file %ld of %ld mode %x at %ld, %ld", fileno_of(w, f), f->size,
		mode, off, len);
	outcome(w, "fallocate", fallocate(h->fd, mode, off, len), 0);
	model_fallocate(f, mode, off, len);
}

static int zeros(const unsigned char *p, long n)
{
	return n <= 0 || (!p[0] && !memcmp(p, p + 1, (size_t)n - 1));
}

/* Where data ends is the file system's to say; what it calls a hole must be zeros. */
static void op_seek(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);
	long off = below(w, MAX_SIZE), data, hole;

	if (!h || !has(w, F_SEEK))
		return;
	will(w, "lseek file %ld of %ld from %ld", fileno_of(w, f), f->size, off);
	if (!has(w, F_DIRTY))
		outcome(w, "fsync", fsync(h->fd), 0);
	data = lseek(h->fd, off, SEEK_DATA);
	if (data < 0 && (errno != ENXIO || !zeros(f->data + off, f->size - off)))
		wrong(w, "SEEK_DATA fails");
	if (data >= 0 &&
		(data < off || data >= f->size || !zeros(f->data + off, data - off)))
		wrong(w, "SEEK_DATA gives %ld", data);
	hole = lseek(h->fd, off, SEEK_HOLE);
	if (off < f->size ? hole < off || hole > f->size : hole >= 0 || errno != ENXIO)
		wrong(w, "SEEK_HOLE gives %ld", hole);
	expect(w, "lseek", lseek(h->fd, h->pos, SEEK_SET), h->pos);
}

/* Within a file or between two: copy_file_range or sendfile. */
static void op_copy(struct worker *w)
{
	struct file *f, *g;
	struct handle *from = pick(w, PLAIN, &f), *to = pick(w, PLAIN, &g);
	long off, len, out, skip;
	int send = below(w, 4) == 0;

	place(w, MAX_SIZE, &off, &len);
	place(w, MAX_SIZE, &out, &skip);
	if (!from || !to || !has(w, F_COPY))
		return;
	if (len > MAX_SIZE - out)
		len = MAX_SIZE - out;
	if (f == g && out < off + len && off < out + len)
		return;
	long want = there(f, off, len), done = 0, n = 1;
	will(w, "%s file %ld at %ld to file %ld at %ld, %ld",
		send ? "sendfile" : "copy_file_range", fileno_of(w, f), off,
		fileno_of(w, g), out, len);
	if (send)
		expect(w, "lseek", lseek(to->fd, out, SEEK_SET), out);
	while (done < want && n > 0) {
		off_t a = off + done, b = out + done;
		size_t left = (size_t)(want - done);

		n = send ? sendfile(to->fd, from->fd, &a, left)
			 : copy_file_range(from->fd, &a, to->fd, &b, left, 0);
		if (n > 0)
			done += n;
	}
	expect(w, "bytes", n < 0 ? n : done, want);
	if (want)
		memcpy(w->buf, f->data + off, (size_t)want), wrote(g, out, w->buf, want);
	if (send)
		expect(w, "lseek", lseek(to->fd, to->pos, SEEK_SET), to->pos);
}

/* Through a mapping that lives on, or one for this time only. */
static void op_map(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, PLAIN, &f);
	long off, len, keep = below(w, 2), write = below(w, 2), sync = below(w, 3) == 0;

	place(w, MAX_SIZE, &off, &len);
	if (!h || !has(w, F_MMAP) || off >= f->size)
		return;
	len = there(f, off, len);
	will(w, "%s %s mapping of file %ld at %ld, %ld%s", write ? "write to" : "read",
		keep ? "kept" : "new", fileno_of(w, f), off, len, sync ? ", msync" : "");
	unsigned char *p = keep ? f->map : NULL;
	if (!p)
		p = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, 0);
	if (p == MAP_FAILED)
		wrong(w, "mmap");
	same(w, p + off, f->data + off, len);
	if (write) {
		fill(w, p + off, len);
		memcpy(f->data + off, p + off, (size_t)len);
		f->mtime = MTIME_ANY;
		f->dirty = 1;
	} else if (!keep && !zeros(p + f->size, (BLOCK - f->size % BLOCK) % BLOCK)) {
		wrong(w, "not only zeros after the end of the file, at %ld", f->size);
	}
	if (sync)
		outcome(w, "msync", msync(p, MAX_SIZE, MS_SYNC), 0);
	if (keep)
		f->map = p;
	else
		munmap(p, MAX_SIZE);
}

static void op_unmap(struct worker *w)
{
	struct file *f = &w->f[below(w, NFILES)];

	if (!f->map)
		return;
	will(w, "munmap file %ld", fileno_of(w, f));
	munmap(f->map, MAX_SIZE);
	f->map = NULL;
}

static void op_sync(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);
	long how = below(w, 3);

	if (!h)
		return;
	will(w, "sync %ld of file %ld", how, fileno_of(w, f));
	outcome(w, "sync",
		how == 0   ? fsync(h->fd)
		: how == 1 ? fdatasync(h->fd)
			   : sync_file_range(h->fd, 0, 0, SYNC_FILE_RANGE_WRITE),
		0);
}

/* What is in the page cache goes, so that the next read asks again. */
static void op_forget(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);

	if (!h)
		return;
	will(w, "fsync and forget file %ld", fileno_of(w, f));
	outcome(w, "fsync", fsync(h->fd), 0);
	outcome(w, "fadvise", -posix_fadvise(h->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

/* All of it, as anyone would see it. */
static void check_data(struct worker *w, struct file *f, int fd)
{
	struct stat st;

	outcome(w, "fstat", fstat(fd, &st), 0);
	expect(w, "size", st.st_size, f->size);
	expect(w, "pread of all", pread(fd, w->buf2, MAX_SIZE, 0), f->size);
	same(w, w->buf2, f->data, f->size);
	digest(w, f->data, (size_t)f->size);
}

static void op_check(struct worker *w)
{
	struct file *f;
	struct handle *h = pick(w, READS, &f);

	if (!h)
		return;
	will(w, "check file %ld of %ld flags %o", fileno_of(w, f), f->size, h->flags);
	check_data(w, f, h->fd);
}

#endif
