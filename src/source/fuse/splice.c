/*
 * splice.c - bytes of large reads, from the page cache of the source to the kernel's
 * answer
 *
 * A pipe holds the answer: its head and references to the file's pages, splice(2). They
 * are copied once, by the kernel; through our memory it would be twice. Small ones are
 * faster through our memory.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST = 64 << 10, PAGE = 4096, HEAD = sizeof(struct fuse_out_header) };

void splice_init(struct worker *w)
{
	if (pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		w->pipe[0] = w->pipe[1] = -1;
		return;
	}
	/* Who may not have that much gets the most that one may; what does not fit goes
	 * through our memory. */
	if (fcntl(w->pipe[0], F_SETPIPE_SZ, 2 * DATA_MAX) < 0)
		fcntl(w->pipe[0], F_SETPIPE_SZ, DATA_MAX);
	int size = fcntl(w->pipe[0], F_GETPIPE_SZ);
	w->slots = size < 0 ? 0 : (size_t)size / PAGE;
}

void splice_fini(struct worker *w)
{
	if (w->pipe[0] >= 0) {
		close(w->pipe[0]);
		close(w->pipe[1]);
	}
}

/* Nothing of an answer that was not given may stand before the next one. */
static void empty(struct worker *w)
{
	while (read(w->pipe[0], w->out, DATA_MAX) > 0)
		;
	/* A page that could not be read from the disk stays in there. */
	if (errno != EAGAIN) {
		splice_fini(w);
		w->pipe[0] = w->pipe[1] = -1;
		w->slots = 0;
	}
}

/* The file's bytes behind a head that says that all came. */
static ssize_t fill(struct req *r, size_t size)
{
	const struct worker *w = r->w;
	struct fuse_out_header head = { .len = (uint32_t)(HEAD + size),
		.unique = r->in->unique };
	off_t at = r->offset;
	size_t have = 0;
	ssize_t n = 0;

	if (write(w->pipe[1], &head, sizeof(head)) != HEAD)
		return -1;
	while (have < size) {
		n = splice(r->handle->fd, &at, w->pipe[1], NULL, size - have,
			SPLICE_F_NONBLOCK);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	return n < 0 ? -1 : (ssize_t)have;
}

ssize_t splice_read(struct req *r, size_t size)
{
	struct worker *w = r->w;

	if (size >= LEAST && size / PAGE + 2 <= w->slots) {
		ssize_t n = fill(r, size);
		r->piped = n == (ssize_t)size;
		if (r->piped)
			return n;
		empty(w);
	}
	/* Also where the file ends, or what file system it is on has no such thing. */
	return pread(r->handle->fd, r->out, size, r->offset);
}

int splice_reply(struct req *r, size_t size)
{
	struct worker *w = r->w;

	if (splice(w->pipe[0], NULL, w->fd, NULL, HEAD + size, 0) >= 0)
		return 0;
	int err = -errno;
	empty(w);
	return err == -ENOENT ? 0 : err; /* whoever asked waits no longer */
}
