/*
 * uring_files.c - files that are registered with a ring, by their place; and descriptors
 */
#include "uring.h"

#include <stdlib.h>
#include <string.h>

bool uring_room(struct uring *r, unsigned n)
{
	struct registered *file =
		n > FILES_MAX ? NULL : realloc(r->file, (n + 1) * sizeof(*file));

	if (!file)
		return false;
	memset(file, 0, n * sizeof(*file));
	r->file = file;
	r->nfile = n;
	return true;
}

void uring_put_files(struct tracer *t, struct task *k, struct uring *r, uint64_t from,
	unsigned at, unsigned n)
{
	struct fd_view v = { 0 };
	int32_t fd[FILES_STEP], known = -1;

	for (unsigned i = 0; i < n && at + i < r->nfile; i++) {
		unsigned j = i % FILES_STEP,
			 left = n - i < FILES_STEP ? n - i : FILES_STEP;
		if (!j && task_read(k, from + i * sizeof(*fd), fd, left * sizeof(*fd)) !=
				  (ssize_t)(left * sizeof(*fd)))
			return;
		if (fd[j] == IORING_REGISTER_FILES_SKIP)
			continue;
		if (fd[j] >= 0 && fd[j] != known)
			fdtab_ask(t->fdtab, &k->fd, known = fd[j], &v);
		r->file[at + i] = fd[j] < 0 ? (struct registered){ 0 }
					    : (struct registered){ v.file, v.flags };
	}
}

/* The files that a request registers, makes or gives up by its place. */
void uring_set_file(struct uring *r, uint32_t place, uint32_t file, int flags)
{
	if (place < r->nfile)
		r->file[place] = (struct registered){ file, flags };
}

/* A descriptor is not what it was, by a request: what comes next is asked. */
void uring_forget(struct tracer *t, struct task *k, int fd)
{
	if (t->fast && k && k->files && fd >= 0)
		history_closed(t, k, fd, fast_tsc());
}
