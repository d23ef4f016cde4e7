/*
 * serve.c - the workers: take a request, have it done, tell of it, answer
 *
 * Requests are read and answered as the kernel has them, fuse(4). The data of a write
 * stand where a page begins, as files that are open with O_DIRECT demand it.
 */
#include "fs.h"
#include "iops/names.h"
#include "iops/op.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	AHEAD = sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in),
	IN_SIZE = AHEAD + DATA_MAX,
	FULL_WAITS = 10000,
	FULL_WAIT_US = 100,
};

int serve_reply(int fd, uint64_t unique, int64_t result, const void *body)
{
	struct fuse_out_header head = { .len = sizeof(head), .unique = unique };
	struct iovec v[2] = { { &head, sizeof(head) }, { (void *)body, 0 } };

	if (result < 0) {
		head.error = (int32_t)result;
	} else {
		v[1].iov_len = (size_t)result;
		head.len += (uint32_t)result;
	}
	/* ENOENT: whoever asked waits no longer. */
	return writev(fd, v, result > 0 ? 2 : 1) < 0 ? -errno : 0;
}

void serve_stale(const struct req *r)
{
	struct fuse_notify_inval_inode_out what = { .ino = r->in->nodeid, .off = -1 };
	struct fuse_out_header head = { .len = sizeof(head) + sizeof(what),
		.error = FUSE_NOTIFY_INVAL_INODE };
	struct iovec v[2] = { { &head, sizeof(head) }, { &what, sizeof(what) } };

	if (r->fs->cached && writev(r->w->fd, v, 2) < 0)
		return; /* it knows nothing of it */
}

/* Room in the ring. Where the reader does not come at all, as it may wait for us, what is
 * not told is counted. */
static struct record *room(struct worker *w)
{
	struct ring *g = &w->ring;
	uint32_t tail = atomic_load_explicit(&g->tail, memory_order_relaxed);
	uint64_t one = 1;

	for (int i = 0;
		tail - atomic_load_explicit(&g->head, memory_order_acquire) == RING_SIZE;
		i++) {
		if (i == FULL_WAITS || w->fs->ended) {
			g->lost++;
			return NULL;
		}
		if (write(w->fs->wake, &one, sizeof(one)) < 0)
			break;
		usleep(FULL_WAIT_US);
	}
	return &g->record[tail % RING_SIZE];
}

static void publish(struct worker *w)
{
	struct ring *g = &w->ring;
	uint32_t tail = atomic_load_explicit(&g->tail, memory_order_relaxed) + 1;
	uint64_t one = 1;

	atomic_store_explicit(&g->tail, tail, memory_order_release);
	uint32_t used = tail - atomic_load_explicit(&g->head, memory_order_relaxed);
	if (used == RING_SIZE / 2 && write(w->fs->wake, &one, sizeof(one)) < 0)
		return; /* it comes by itself, only later */
}

static uint32_t path_of_request(struct req *r)
{
	if (r->path)
		return r->path;
	if (r->name)
		return path_of_name(r, r->inode, r->name);
	if (r->handle)
		return path_of_handle(r, r->handle);
	return path_of(r, r->inode);
}

void serve_record(struct req *r, int64_t result)
{
	const struct request *q = &r->fs->requests[r->in->opcode];
	const struct handle *h = r->handle;

	if (q->kind == OP_NOTE || (r->caller && r->caller->pid == r->fs->self))
		return;
	r->path = path_of_request(r);
	struct record *rec = room(r->w);
	if (!rec)
		return;
	*rec = (struct record){ .start_ns = r->start_ns - r->fs->epoch_ns,
		.dur_ns = r->timed ? r->dur_ns : fuse_now() - r->start_ns,
		.want = r->want,
		.offset = r->offset,
		.ret = result < 0                                  ? result
		       : q->kind == OP_READ || q->kind == OP_WRITE ? r->ret
								   : 0,
		.path = r->path,
		.path2 = r->path2,
		.call = r->call ? r->call : q->name,
		.kind = q->kind,
		.second = r->second,
		/* Of a name that may not be there yet only its directory is known. */
		.type = r->type   ? r->type
			: r->name ? FILE_UNKNOWN
			: h       ? h->inode->type
				  : r->inode->type,
		.type2 = r->type2 };
	if (r->caller) {
		rec->pid = r->caller->pid;
		rec->tid = r->caller->tid;
		rec->uid = r->caller->uid;
		memcpy(rec->comm, r->caller->comm, sizeof(rec->comm));
	} else if (h) {
		rec->pid = rec->tid = h->pid;
		rec->uid = h->uid;
		memcpy(rec->comm, h->comm, sizeof(rec->comm));
	}
	if (r->fs->texts)
		rec->text = text_of(r);
	publish(r->w);
}

/* No file: what it says is of requests or of the connection. */
static bool of_no_file(uint32_t opcode)
{
	return opcode == FUSE_INIT || opcode == FUSE_DESTROY || opcode == FUSE_FORGET ||
	       opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT;
}

static void serve(struct worker *w)
{
	const struct fuse_in_header *in = (const void *)w->in;
	const struct request *q =
		in->opcode < WIRE_OPCODES ? &w->fs->requests[in->opcode] : NULL;
	struct req r = { .w = w,
		.fs = w->fs,
		.in = in,
		.arg = in + 1,
		.len = in->len - sizeof(*in),
		.out = w->out,
		.offset = OP_NO_OFFSET };

	if (!q || !q->serve) {
		serve_reply(w->fd, in->unique, -ENOSYS, NULL);
		return;
	}
	if (!of_no_file(in->opcode)) {
		r.inode = inode_of(w->fs, in->nodeid);
		r.borrowed = r.inode->fd < 0 && q->kind != OP_CLOSE;
		r.fd = r.borrowed ? node_borrow(&r, r.inode) : r.inode->fd;
		if (r.borrowed && r.fd < 0) {
			serve_reply(w->fd, in->unique, r.fd, NULL);
			return;
		}
		r.caller = caller_of(w, in, q->rights);
		if (r.caller || q->kind != OP_CLOSE) /* that takes no rights */
			caller_become(w, r.caller);
	}
	r.start_ns = fuse_now();
	w->busy_ns = r.start_ns;
	int64_t result = q->serve(&r);
	if (result != NO_REPLY) {
		serve_record(&r, result);
		int err = r.piped ? splice_reply(&r, (size_t)result) : 0;
		if (!r.piped || err < 0)
			serve_reply(w->fd, in->unique, err < 0 ? -EIO : result, w->out);
	}
	if (r.borrowed)
		close(r.fd);
	w->busy_ns = 0;
	w->served = true;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct fs *fs = w->fs;
	uint64_t one = 1;

	caller_begin(w);
	unshare(CLONE_FS); /* a umask of its own */
	w->umask = umask(0);
	w->umask = 0;
	while (turn_take(w)) {
		serve(w);
		turn_done(w);
	}
	turn_end(fs);
	if (write(fs->wake, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

static void worker_free(struct worker *w)
{
	if (w->in)
		munmap(w->in + AHEAD - PAGE, IN_SIZE + PAGE);
	if (w->out)
		munmap(w->out, DATA_MAX + PAGE);
	if (w->fd >= 0 && w->fd != w->fs->fd)
		close(w->fd);
	splice_fini(w);
	caller_fini(w);
	free(w);
}

static char *pages(size_t size)
{
	char *p = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A descriptor of its own for the same mount: answers need not wait for one another. */
static int clone_fd(const struct fs *fs)
{
	uint32_t master = (uint32_t)fs->fd;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && ioctl(fd, FUSE_DEV_IOC_CLONE, &master) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct worker *serve_worker(struct fs *fs)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fs = fs;
	w->fd = -1;
	w->in_size = IN_SIZE;
	w->in = pages(IN_SIZE + PAGE);
	w->in = w->in ? w->in + PAGE - AHEAD : NULL;
	w->out = pages(DATA_MAX + PAGE);
	splice_init(w);
	pthread_mutex_lock(&fs->start);
	w->fd = fs->nworkers ? clone_fd(fs) : fs->fd;
	w->fd = w->fd < 0 ? fs->fd : w->fd;
	bool ok = w->in && w->out && fs->nworkers < MAX_WORKERS;
	if (ok) {
		fs->worker[fs->nworkers] = w;
		fs->nworkers++;
	}
	pthread_mutex_unlock(&fs->start);
	if (!ok)
		worker_free(w);
	return ok ? w : NULL;
}

static int start_worker(struct fs *fs)
{
	if (fs->nworkers >= fs->max_workers || fs->ended)
		return 0;
	struct worker *w = serve_worker(fs);
	if (!w)
		return -ENOMEM;
	fs->active++;
	int err = -pthread_create(&w->thread, NULL, work, w);
	w->running = !err;
	fs->active -= err < 0;
	return err;
}

int serve_begin(struct fs *fs)
{
	sigset_t all, old;

	pthread_mutex_init(&fs->start, NULL);
	pthread_mutex_init(&fs->locks, NULL);
	pthread_cond_init(&fs->locks_change, NULL);
	turn_init(fs);
	fs->start_worker = start_worker;
	/* Signals are the session's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = start_worker(fs);
	for (int i = 1; i < LEAST_WORKERS && !err; i++)
		start_worker(fs); /* one will do */
	fs->watching = !err && !pthread_create(&fs->watcher, NULL, turn_watch, fs);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void serve_end(struct fs *fs)
{
	if (fs->watching)
		pthread_join(fs->watcher, NULL);
	fs->watching = false;
	/* One that is being started is known when the lock is free. */
	for (unsigned i = 0; i < fs->nworkers; i++)
		if (fs->worker[i]->running) {
			pthread_join(fs->worker[i]->thread, NULL);
			fs->worker[i]->running = false;
		}
}

void serve_free(struct fs *fs)
{
	for (unsigned i = 0; i < fs->nworkers; i++)
		worker_free(fs->worker[i]);
	fs->nworkers = 0;
}
