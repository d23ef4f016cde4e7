/*
 * uring_view.c - a ring of the program as a mapping of our own
 */
#include "uring.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void uring_hide(struct uring *r)
{
	struct view *v = &r->view;

	if (v->entry)
		munmap((void *)v->entry, v->entry_size);
	if (v->cq && v->cq != v->sq)
		munmap(v->cq, v->cq_size);
	if (v->sq)
		munmap(v->sq, v->sq_size);
	*v = (struct view){ 0 };
}

static void *map(int fd, size_t size, off_t from)
{
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, from);

	return at == MAP_FAILED ? NULL : at;
}

static bool is_ring(int fd)
{
	static const char is[] = "anon_inode:[io_uring]";
	char path[40], to[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof(to)) == sizeof(is) - 1 &&
	       !memcmp(to, is, sizeof(is) - 1);
}

/* A thread may have descriptors of its own, or outlive the first one. Before Linux 6.9
 * only that one can be asked. */
static int pidfd_of(const struct uring *r, pid_t tid)
{
	int fd = tid == r->process->pid
			 ? -1
			 : (int)syscall(SYS_pidfd_open, tid, O_EXCL /* PIDFD_THREAD */);

	return fd >= 0 ? fd : (int)syscall(SYS_pidfd_open, r->process->pid, 0);
}

/* A descriptor of the same ring. pidfd_getfd(2); -1: none. */
static int copy_of(const struct uring *r, pid_t tid)
{
	int pidfd = pidfd_of(r, tid);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, r->fd, 0);

	if (pidfd >= 0)
		close(pidfd);
	if (fd >= 0 && !is_ring(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static bool is_power(uint32_t n, uint32_t most)
{
	return n && n <= most && !(n & (n - 1));
}

/* What another thread may have written there meanwhile must not lead us astray. */
static bool is_sane(const struct io_uring_params *p, const struct view *v)
{
	const uint32_t sq[] = { p->sq_off.head, p->sq_off.tail, p->sq_off.ring_entries };
	const uint32_t cq[] = { p->cq_off.head, p->cq_off.tail, p->cq_off.ring_entries };
	bool sane = !(p->sq_off.array % 4) && !(p->cq_off.cqes % 8);

	for (unsigned i = 0; i < sizeof(sq) / sizeof(*sq); i++)
		sane = sane && !(sq[i] % 4) && (size_t)sq[i] + 4 <= v->sq_size;
	for (unsigned i = 0; i < sizeof(cq) / sizeof(*cq); i++)
		sane = sane && !(cq[i] % 4) && (size_t)cq[i] + 4 <= v->cq_size;
	return sane && is_power(p->sq_entries, SQ_MAX) && is_power(p->cq_entries, CQ_MAX);
}

bool uring_show(struct uring *r, pid_t tid)
{
	const struct io_uring_params *p = &r->p;
	struct view *v = &r->view;
	unsigned wide = !!(p->flags & IORING_SETUP_SQE128);

	int fd = copy_of(r, tid);
	if (fd < 0)
		return false;
	v->entry_size = sizeof(struct io_uring_sqe) * p->sq_entries << wide;
	v->sq_size = p->flags & SETUP_NO_SQARRAY
			     ? 4096
			     : (size_t)p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	v->cq_size =
		(size_t)p->cq_off.cqes + (sizeof(struct io_uring_cqe) * p->cq_entries
						 << !!(p->flags & IORING_SETUP_CQE32));
	if (p->features & IORING_FEAT_SINGLE_MMAP)
		v->sq_size = larger(v->sq_size, v->cq_size);
	if (!is_sane(p, v)) {
		close(fd);
		*v = (struct view){ 0 };
		return false;
	}
	v->sq = map(fd, v->sq_size, IORING_OFF_SQ_RING);
	v->cq = p->features & IORING_FEAT_SINGLE_MMAP
			? v->sq
			: map(fd, v->cq_size, IORING_OFF_CQ_RING);
	v->entry = map(fd, v->entry_size, IORING_OFF_SQES);
	close(fd);
	if (v->sq && v->cq && v->entry &&
		uring_word(v->sq, p->sq_off.ring_entries) == p->sq_entries &&
		uring_word(v->cq, p->cq_off.ring_entries) == p->cq_entries)
		return true;
	uring_hide(r);
	return false;
}
