/*
 * owner.c - who has POSIX locks on a file
 *
 * A POSIX lock is a process's, and ours are all of one. So each owner of locks on a file
 * has an open file description of its own, whose locks stand for the owner's. They end
 * with it.
 */
#include "fs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Under fs->locks. NULL: there is none, or it cannot be opened (errno). */
struct owner *owner_of(struct inode *i, const struct fuse_lk_in *in, bool make)
{
	static const int modes[] = { O_RDWR, O_RDONLY, O_WRONLY };
	struct owner *o = i->owners;
	char link[32];

	while (o && o->id != in->owner)
		o = o->next;
	if (o || !make)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->id = in->owner;
	o->fd = -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle_of(in->fh)->fd);
	for (int m = 0; m < 3 && o->fd < 0; m++)
		o->fd = open(link, modes[m] | O_CLOEXEC | O_NONBLOCK);
	if (o->fd < 0) {
		free(o);
		return NULL;
	}
	o->next = i->owners;
	i->owners = o;
	return o;
}

void owner_forget(struct inode *i)
{
	while (i->owners) {
		struct owner *o = i->owners;
		i->owners = o->next;
		close(o->fd);
		free(o);
	}
}
