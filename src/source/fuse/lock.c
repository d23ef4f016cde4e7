/*
 * lock.c - locks, as locks of the source: whoever uses it beside the mount sees them
 *
 * What has to wait is tried again by one thread, so that no worker waits: at
 * once when a lock here is given up, and every few milliseconds for those of others.
 */
#include "fs.h"
#include "iops/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 4 };

struct waiter {
	struct waiter *next;
	struct fuse_in_header in;
	struct fuse_lk_in lk;
	struct inode *inode;
	struct caller caller;
	int fd; /* where the answer goes */
	uint64_t start_ns;
	bool interrupted, nobody;
};

/* Owners of one number, or of one handle. */
static void drop(struct fs *fs, struct inode *i, uint64_t id, const struct handle *h)
{
	pthread_mutex_lock(&fs->locks);
	for (struct owner **at = &i->owners; *at;) {
		struct owner *o = *at;
		if (h ? o->handle != h : o->id != id) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		close(o->fd);
		free(o);
	}
	pthread_cond_signal(&fs->locks_change);
	pthread_mutex_unlock(&fs->locks);
}

/* All POSIX locks of an owner on a file end when it closes any descriptor of it. */
void lock_release(struct req *r, uint64_t id)
{
	drop(r->fs, r->inode, id, NULL);
}

/*
 * What was locked by a handle that is closed for good. Of processes nothing is left then:
 * those which had it open have all closed it. Open file descriptions are told of here
 * only.
 */
void lock_closed(struct fs *fs, const struct handle *h)
{
	drop(fs, h->inode, 0, h);
}

static struct flock flock_of(const struct fuse_file_lock *l)
{
	uint64_t most = INT64_MAX;

	return (struct flock){ .l_type = (short)l->type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)l->start,
		.l_len = l->end >= most ? 0 : (off_t)(l->end - l->start + 1) };
}

/* Without waiting. 0 or -errno; -EAGAIN: somebody else has it. */
static int64_t try(
	struct fs *fs, struct inode *i, const struct fuse_lk_in *in, int32_t pid)
{
	struct flock fl = flock_of(&in->lk);
	int64_t err;

	if (in->lk_flags & FUSE_LK_FLOCK) {
		int how = fl.l_type == F_RDLCK   ? LOCK_SH
			  : fl.l_type == F_WRLCK ? LOCK_EX
						 : LOCK_UN;
		err = ERR(flock(handle_of(in->fh)->fd, how | LOCK_NB));
	} else {
		pthread_mutex_lock(&fs->locks);
		struct owner *o = owner_of(i, in, fl.l_type != F_UNLCK);
		err = o                      ? ERR(fcntl(o->fd, F_OFD_SETLK, &fl))
		      : fl.l_type == F_UNLCK ? 0
					     : -(int64_t)errno;
		if (o) {
			o->pid = pid;
			o->handle = handle_of(in->fh);
		}
		pthread_mutex_unlock(&fs->locks);
	}
	if (!err && fl.l_type == F_UNLCK)
		pthread_cond_signal(&fs->locks_change);
	return err == -EACCES ? -EAGAIN : err;
}

/* The other owner of a lock on the file, if it is the only one: its process. */
static int32_t other_pid(const struct inode *i, uint64_t id)
{
	int32_t pid = 0;

	for (const struct owner *o = i->owners; o; o = o->next)
		if (o->id != id) {
			if (pid)
				return 0;
			pid = o->pid;
		}
	return pid;
}

int64_t do_getlk(struct req *r)
{
	const struct fuse_lk_in *in = r->arg;
	struct fuse_lk_out *out = r->out;
	struct flock fl = flock_of(&in->lk);

	r->handle = handle_of(in->fh);
	pthread_mutex_lock(&r->fs->locks);
	struct owner *o = owner_of(r->inode, in, true);
	int64_t err = o ? ERR(TIMED(r, fcntl(o->fd, F_OFD_GETLK, &fl))) : -(int64_t)errno;
	int32_t pid = fl.l_pid > 0 ? fl.l_pid : other_pid(r->inode, in->owner);
	pthread_mutex_unlock(&r->fs->locks);
	if (err < 0)
		return err;
	*out = (struct fuse_lk_out){ .lk = { .type = (uint32_t)fl.l_type } };
	if (fl.l_type != F_UNLCK) {
		out->lk.start = (uint64_t)fl.l_start;
		out->lk.end =
			fl.l_len ? (uint64_t)(fl.l_start + fl.l_len - 1) : INT64_MAX;
		out->lk.pid = (uint32_t)pid;
	}
	return sizeof(*out);
}

/* Told and answered by the thread that waits for it. */
static void answer(struct worker *w, struct waiter *t, int64_t err)
{
	struct req r = { .w = w,
		.fs = w->fs,
		.in = &t->in,
		.arg = &t->lk,
		.len = sizeof(t->lk),
		.inode = t->inode,
		.caller = t->nobody ? NULL : &t->caller,
		.handle = handle_of(t->lk.fh),
		.start_ns = t->start_ns,
		.dur_ns = fuse_now() - t->start_ns,
		.offset = INT64_MIN,
		.timed = true };

	serve_record(&r, err);
	serve_reply(t->fd, t->in.unique, err, NULL);
	free(t);
}

/* Those that have what they waited for, or wait no longer. */
static struct waiter *take_done(struct fs *fs, int64_t *err)
{
	for (struct waiter **at = &fs->waiters; *at; at = &(*at)->next) {
		struct waiter *t = *at;
		*err = -EINTR;
		if (!t->interrupted) {
			pthread_mutex_unlock(&fs->locks);
			*err = try(fs, t->inode, &t->lk, t->caller.pid);
			pthread_mutex_lock(&fs->locks);
		}
		if (*err == -EAGAIN)
			continue;
		/* Others may have come before it meanwhile. */
		for (at = &fs->waiters; *at != t; at = &(*at)->next)
			;
		*at = t->next;
		return t;
	}
	return NULL;
}

static void *wait_for_locks(void *arg)
{
	struct worker *w = arg;
	struct fs *fs = w->fs;
	struct timespec until;
	struct waiter *t;
	int64_t err;

	caller_begin(w);
	pthread_mutex_lock(&fs->locks);
	while (!fs->ended) {
		while ((t = take_done(fs, &err))) {
			pthread_mutex_unlock(&fs->locks);
			answer(w, t, err);
			pthread_mutex_lock(&fs->locks);
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += RETRY_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (fs->waiters)
			pthread_cond_timedwait(&fs->locks_change, &fs->locks, &until);
		else
			pthread_cond_wait(&fs->locks_change, &fs->locks);
	}
	pthread_mutex_unlock(&fs->locks);
	return NULL;
}

/* Under fs->locks: the thread is started when there is something to wait for. */
static int start_thread(struct fs *fs)
{
	if (fs->lock_thread)
		return 0;
	struct worker *w = serve_worker(fs);
	if (!w)
		return -ENOMEM;
	int err = pthread_create(&fs->locker, NULL, wait_for_locks, w);
	fs->lock_thread = !err;
	return -err;
}

/* Its interrupt was served by another worker while this one still tried. */
static bool was_interrupted(const struct fs *fs, uint64_t unique)
{
	for (size_t i = 0; i < sizeof(fs->interrupted) / sizeof(*fs->interrupted); i++)
		if (fs->interrupted[i] == unique)
			return true;
	return false;
}

static int64_t wait(struct req *r, const struct fuse_lk_in *in)
{
	struct waiter *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = (struct waiter){ .in = *r->in,
		.lk = *in,
		.inode = r->inode,
		.fd = r->w->fd,
		.start_ns = r->start_ns,
		.nobody = !r->caller };
	if (r->caller)
		t->caller = *r->caller;
	caller_become(r->w, NULL);
	pthread_mutex_lock(&r->fs->locks);
	t->interrupted = was_interrupted(r->fs, r->in->unique);
	int err = start_thread(r->fs);
	struct waiter **last = &r->fs->waiters;
	while (*last)
		last = &(*last)->next;
	if (err)
		free(t);
	else
		*last = t;
	pthread_cond_signal(&r->fs->locks_change);
	pthread_mutex_unlock(&r->fs->locks);
	return err ? err : NO_REPLY;
}

int64_t do_setlk(struct req *r)
{
	const struct fuse_lk_in *in = r->arg;

	r->handle = handle_of(in->fh);
	int64_t err = TIMED(r, try(r->fs, r->inode, in, r->caller ? r->caller->pid : 0));
	if (err == -EAGAIN && r->in->opcode == FUSE_SETLKW)
		return wait(r, in);
	return err;
}

int64_t do_interrupt(struct req *r)
{
	const struct fuse_interrupt_in *in = r->arg;

	struct fs *fs = r->fs;
	size_t n = sizeof(fs->interrupted) / sizeof(*fs->interrupted);

	pthread_mutex_lock(&fs->locks);
	fs->interrupted[fs->ninterrupted++ % n] = in->unique;
	for (struct waiter *t = fs->waiters; t; t = t->next)
		t->interrupted |= t->in.unique == in->unique;
	pthread_cond_signal(&fs->locks_change);
	pthread_mutex_unlock(&fs->locks);
	return NO_REPLY;
}

void lock_end(struct fs *fs)
{
	if (fs->lock_thread) {
		pthread_mutex_lock(&fs->locks);
		pthread_cond_signal(&fs->locks_change);
		pthread_mutex_unlock(&fs->locks);
		pthread_join(fs->locker, NULL);
		fs->lock_thread = false;
	}
	while (fs->waiters) {
		struct waiter *t = fs->waiters;
		fs->waiters = t->next;
		free(t);
	}
}
