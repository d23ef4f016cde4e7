/*
 * slots.c - files that requests put among the registered ones of a ring, and take away
 *
 * usage: slots HOW FILE. HOW: open alloc new linked silent replaced named accepted pipes somewhere updated
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"

enum { SLOTS = 4, SIZE = 100, ROUNDS = 5 };

static char buf[4096], other[4200];
static const char *path;

/* Each has a word of its own. */
static void is_next(struct io_uring_sqe *s, unsigned flags)
{
	static uint64_t number;

	s->user_data = ++number;
	s->flags |= flags;
}

/* All that was asked for, and as many answers. The last of those. */
static int go(int answers)
{
	struct io_uring_cqe *c;
	int res = 0;

	need(io_uring_submit_and_wait(&ring, answers) > 0, "io_uring_submit");
	while (answers--) {
		need(!io_uring_wait_cqe(&ring, &c), "io_uring_wait_cqe");
		res = c->res;
		need(res >= 0, "a request");
		io_uring_cqe_seen(&ring, c);
	}
	return res;
}

static void open_at(const char *name, int how, unsigned slot, unsigned flags)
{
	struct io_uring_sqe *s = next();

	io_uring_prep_openat(s, AT_FDCWD, name, how, 0600);
	s->file_index = slot;
	is_next(s, flags);
}

static void close_slot(unsigned slot)
{
	struct io_uring_sqe *s = next();

	io_uring_prep_close_direct(s, slot);
	is_next(s, 0);
}

static void transfer(int fd, int writes, uint64_t off, unsigned flags)
{
	struct io_uring_sqe *s = next();

	if (writes)
		io_uring_prep_write(s, fd, buf, SIZE, off);
	else
		io_uring_prep_read(s, fd, buf, SIZE, off);
	is_next(s, flags);
}

static void writes_to(int fd, unsigned flags)
{
	for (int i = 0; i < ROUNDS; i++) {
		transfer(fd, 1, (uint64_t)i * SIZE, flags);
		need(go(1) == SIZE, "write");
	}
}

static void open_slot(void)
{
	open_at(path, O_RDWR, 3, 0);
	go(1);
	writes_to(2, IOSQE_FIXED_FILE);
}

static void alloc(void)
{
	open_at(path, O_RDWR, IORING_FILE_INDEX_ALLOC, 0);
	writes_to(go(1), IOSQE_FIXED_FILE);
}

static void new(void)
{
	open_at(other, O_RDWR | O_CREAT | O_EXCL, 2, 0);
	go(1);
	writes_to(1, IOSQE_FIXED_FILE);
}

static void named(void)
{
	open_at(other, O_RDWR | O_CREAT | O_EXCL, 0, 0);
	writes_to(go(1), 0);
}

/* Opened, read and closed in a row. */
static void chain(unsigned silent, int closes)
{
	for (int i = 0; i < ROUNDS - 1; i++) {
		open_at(i & 1 ? other : path, O_RDWR | O_CREAT, 1, IOSQE_IO_LINK | silent);
		transfer(0, i & 1, 300, IOSQE_FIXED_FILE | (closes ? IOSQE_IO_LINK : 0));
		if (closes)
			close_slot(0);
		go(1 + !silent + closes);
	}
}

static void linked(void)
{
	chain(0, 1);
}

static void silent(void)
{
	chain(IOSQE_CQE_SKIP_SUCCESS, 1);
}

static void replaced(void)
{
	chain(0, 0);
}

static void accepted(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int to = socket(AF_INET, SOCK_STREAM, 0), from = socket(AF_INET, SOCK_STREAM, 0);
	struct io_uring_sqe *s = next();

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!bind(to, (void *)&at, n) && !listen(to, 1) &&
			!getsockname(to, (void *)&at, &n) &&
			!connect(from, (void *)&at, n),
		"connect");
	io_uring_prep_accept(s, to, NULL, NULL, 0);
	s->file_index = 2;
	is_next(s, 0);
	go(1);
	for (int i = 0; i < ROUNDS; i++) {
		need(write(from, buf, SIZE) == SIZE, "write");
		s = next();
		io_uring_prep_recv(s, 1, buf, SIZE, 0);
		is_next(s, IOSQE_FIXED_FILE);
		need(go(1) == SIZE, "recv");
	}
}

/* Descriptor 0 is the file all the while. */
static void pipes(void)
{
	int fd = open(path, O_RDWR), p[2];

	need(fd >= 0 && dup2(fd, 0) == 0, "dup2");
	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *s = next();
		memset(s, 0, sizeof(*s));
		s->opcode = 62; /* IORING_OP_PIPE */
		s->addr = (uintptr_t)p;
		is_next(s, 0);
		go(1);
		need(!close(p[0]) && !close(p[1]), "close");
	}
}

/* Where there is room, which is said in place of the descriptors. */
static void update(unsigned at)
{
	int fd[2] = { open(path, O_RDWR), open(other, O_RDWR | O_CREAT, 0600) };
	struct io_uring_sqe *s = next();

	io_uring_prep_files_update(s, fd, 2, (int)at);
	is_next(s, 0);
	need(go(1) == 2, "IORING_OP_FILES_UPDATE");
	writes_to(at == IORING_FILE_INDEX_ALLOC ? fd[1] : (int)at + 1, IOSQE_FIXED_FILE);
}

static void somewhere(void)
{
	update(IORING_FILE_INDEX_ALLOC);
}

static void updated(void)
{
	update(2);
}

static const struct {
	const char *how;
	void (*does)(void);
} ways[] = { { "open", open_slot }, { "alloc", alloc }, { "new", new }, { "named", named },
	{ "linked", linked }, { "silent", silent }, { "replaced", replaced },
	{ "accepted", accepted }, { "pipes", pipes }, { "somewhere", somewhere },
	{ "updated", updated } };

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(ways) / sizeof(*ways);

	if (argc < 3)
		return 2;
	path = argv[2];
	snprintf(other, sizeof(other), "%s.other", path);
	unlink(other);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	need(fd >= 0 && !ftruncate(fd, SIZE * SIZE) && !close(fd), "open");
	need(!io_uring_queue_init(16, &ring, 0), "io_uring_setup");
	need(!io_uring_register_files_sparse(&ring, SLOTS), "io_uring_register");
	while (i < n && strcmp(ways[i].how, argv[1]) != 0)
		i++;
	if (i == n)
		return 2;
	ways[i].does();
	return 0;
}
