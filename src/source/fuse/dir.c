/*
 * dir.c - folders, read as the source gives them: its own cookies are the offsets
 */
#include "fs.h"
#include "iops/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 32768 };

/* As getdents64(2) gives it. */
struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

int64_t do_opendir(struct req *r)
{
	char link[32];

	r->type = FILE_DIR;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	int fd = TIMED(r, open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	int64_t n = file_opened(r, fd, r->out);
	/* No FOPEN_CACHE_DIR: of two who list a folder while a third one makes a name in
	 * it, one may leave a list without that name, which the kernel takes for new. */
	if (n > 0)
		((struct fuse_open_out *)r->out)->open_flags = 0;
	return n;
}

/* The entry at an offset; *e NULL at the end. 0 or -errno. */
static int64_t next(struct handle *h, int64_t off, struct entry **e)
{
	*e = NULL;
	if (!h->entries && !(h->entries = malloc(ENTRIES)))
		return -ENOMEM;
	if (off != h->next_off) {
		if (lseek(h->fd, off, SEEK_SET) < 0)
			return -errno;
		h->at = h->len = 0;
		h->next_off = off;
	}
	if (h->at == h->len) {
		long n = syscall(SYS_getdents64, h->fd, h->entries, (size_t)ENTRIES);
		if (n < 0)
			return -errno;
		h->at = 0;
		h->len = (size_t)n;
	}
	if (h->at < h->len)
		*e = (struct entry *)(h->entries + h->at);
	return 0;
}

static size_t put(struct fuse_dirent *to, const struct entry *e)
{
	size_t n = strlen(e->name);

	*to = (struct fuse_dirent){
		.ino = e->ino, .off = e->off, .namelen = n, .type = e->type
	};
	memcpy(to->name, e->name, n);
	memset(to->name + n, 0, FUSE_DIRENT_SIZE(to) - FUSE_NAME_OFFSET - n);
	return FUSE_DIRENT_SIZE(to);
}

/* With what a lookup of it would tell; without that where it is not to be had. */
static size_t put_plus(struct req *r, char *to, const struct entry *e)
{
	struct fuse_direntplus *plus = (struct fuse_direntplus *)to;
	uint8_t type = r->type;

	memset(&plus->entry_out, 0, sizeof(plus->entry_out));
	if (strcmp(e->name, ".") && strcmp(e->name, "..") &&
		node_lookup(r, e->name, &plus->entry_out) < 0)
		memset(&plus->entry_out, 0, sizeof(plus->entry_out));
	r->type = type;
	return FUSE_NAME_OFFSET_DIRENTPLUS - FUSE_NAME_OFFSET + put(&plus->dirent, e);
}

static int64_t fill(struct req *r, const struct fuse_read_in *in, bool plus)
{
	struct handle *h = r->handle;
	size_t size = in->size < DATA_MAX ? in->size : DATA_MAX, at = 0;
	int64_t off = (int64_t)in->offset, err;
	struct entry *e;
	char *out = r->out;

	while (!(err = next(h, off, &e)) && e) {
		size_t need = (plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET) +
			      strlen(e->name);
		if (FUSE_DIRENT_ALIGN(need) > size - at)
			break;
		at += plus ? put_plus(r, out + at, e)
			   : put((struct fuse_dirent *)(out + at), e);
		off = h->next_off = e->off;
		h->at += e->reclen;
	}
	return err && !at ? err : (int64_t)at;
}

static int64_t read_dir(struct req *r, bool plus)
{
	const struct fuse_read_in *in = r->arg;

	r->type = FILE_DIR;
	r->handle = handle_of(in->fh);
	r->offset = (int64_t)in->offset;
	pthread_mutex_lock(&r->handle->lock);
	int64_t n = TIMED(r, fill(r, in, plus));
	pthread_mutex_unlock(&r->handle->lock);
	return n;
}

int64_t do_readdir(struct req *r)
{
	return read_dir(r, false);
}

int64_t do_readdirplus(struct req *r)
{
	return read_dir(r, true);
}
