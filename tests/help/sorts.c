/*
 * sorts.c - requests of a ring whose answers say something else than how much was read or
 * written, or are not given
 *
 * usage: sorts HOW FILE. HOW: severed (by one that is silent, and fails) called (by one
 * that is not) brief (by one that is silent, and short) hard (not by one that fails)
 * message peek longer notice parts
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring.h"

enum { ROUNDS = 5, LENGTH = 4096 };

static char buf[2 * LENGTH];
static int file;

static void go(int answers)
{
	struct io_uring_cqe *c;

	need(io_uring_submit_and_wait(&ring, answers) >= 0, "io_uring_submit");
	while (answers--) {
		need(!io_uring_wait_cqe(&ring, &c), "io_uring_wait_cqe");
		io_uring_cqe_seen(&ring, c);
	}
}

static void reads(int fd, unsigned n, unsigned off, unsigned flags)
{
	struct io_uring_sqe *s = next();

	io_uring_prep_read(s, fd, buf, n, off);
	s->flags |= flags;
	/* The same ones, so that an answer to one that is not known would shift all. */
	s->user_data = fd < 0 ? 1 : flags & IOSQE_CQE_SKIP_SUCCESS ? 3 : 2;
}

static void severed(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		reads(-1, 10, 0, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
		reads(file, 20, 0, IOSQE_IO_LINK);
		reads(file, 25, 0, 0);
		go(1);
		reads(file, 30 + i, 0, 0);
		go(1);
	}
}

static void called(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		reads(-1, 10, 0, IOSQE_IO_LINK);
		reads(file, 20, 0, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
		reads(file, 25, 0, 0);
		go(3);
		reads(file, 30 + i, 0, 0);
		go(1);
	}
}

static void brief(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		reads(file, 100, LENGTH - 50, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
		reads(file, 20, 0, 0);
		go(1);
		reads(file, 30 + i, 0, 0);
		go(1);
	}
}

static void hard(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		reads(-1, 10, 0, IOSQE_IO_HARDLINK | IOSQE_CQE_SKIP_SUCCESS);
		reads(file, 20, 0, 0);
		go(2);
		reads(file, 30 + i, 0, 0);
		go(1);
	}
}

static void pair(int type, int s[2])
{
	need(!socketpair(AF_UNIX, type, 0, s), "socketpair");
}

/* With room for a name and for control data before what is received. */
static void message(void)
{
	static char part[8][1024];
	struct msghdr m = { .msg_namelen = 64, .msg_controllen = 32 };
	int s[2];
	struct io_uring_buf_ring *b = aligned_alloc(LENGTH, LENGTH);
	struct io_uring_buf_reg is = {
		.ring_addr = (uintptr_t)b, .ring_entries = 8, .bgid = 1
	};

	need(b && !io_uring_register_buf_ring(&ring, &is, 0), "io_uring_register_buf_ring");
	io_uring_buf_ring_init(b);
	for (int i = 0; i < 8; i++)
		io_uring_buf_ring_add(b, part[i], sizeof(part[i]), (unsigned short)i, 7, i);
	io_uring_buf_ring_advance(b, 8);
	pair(SOCK_DGRAM, s);
	struct io_uring_sqe *e = next();
	io_uring_prep_recvmsg_multishot(e, s[1], &m, 0);
	e->flags |= IOSQE_BUFFER_SELECT;
	e->buf_group = 1;
	need(io_uring_submit(&ring) == 1, "io_uring_submit");
	for (int i = 0; i < ROUNDS; i++) {
		need(send(s[0], buf, 100 + i, 0) == 100 + i, "send");
		go(1);
	}
}

static void peek(void)
{
	int s[2];

	pair(SOCK_STREAM, s);
	need(send(s[0], buf, 100, 0) == 100, "send");
	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *e = next();
		io_uring_prep_recv(e, s[1], buf, 50 + i, i == ROUNDS - 1 ? 0 : MSG_PEEK);
		go(1);
	}
}

static void longer(void)
{
	int s[2];

	pair(SOCK_DGRAM, s);
	for (int i = 0; i < ROUNDS; i++) {
		need(send(s[0], buf, 1000, 0) == 1000, "send");
		struct io_uring_sqe *e = next();
		io_uring_prep_recv(e, s[1], buf, 50 + i, MSG_TRUNC);
		go(1);
	}
}

/* Each is answered twice: the second time is told how it was sent. */
static void notice(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int from = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!bind(to, (void *)&at, n) && !listen(to, 1) &&
			!getsockname(to, (void *)&at, &n) &&
			!connect(from, (void *)&at, n),
		"connect");
	to = accept(to, NULL, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *e = next();
		io_uring_prep_send_zc(e, from, buf, 1000 + i, 0, 1 << 3 /* REPORT_USAGE */);
		need(io_uring_submit(&ring) == 1, "io_uring_submit");
		need(recv(to, buf, 1000 + i, MSG_WAITALL) == 1000 + i, "recv");
		go(2);
	}
}

static void parts(void)
{
	struct iovec v[2] = { { buf, 10 }, { buf, 20 } };
	int s[2];

	pair(SOCK_STREAM, s);
	for (int i = 0; i < ROUNDS * ROUNDS; i++) {
		struct io_uring_sqe *e = next();
		io_uring_prep_send(e, s[0], v, 2, 0);
		e->ioprio |= 1 << 5; /* IORING_SEND_VECTORIZED */
		go(1);
		need(recv(s[1], buf, sizeof(buf), 0) == 30, "recv");
	}
}

static const struct {
	const char *how;
	void (*does)(void);
} ways[] = { { "severed", severed }, { "called", called }, { "brief", brief },
	{ "hard", hard }, { "message", message }, { "peek", peek },
	{ "longer", longer }, { "notice", notice }, { "parts", parts } };

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(ways) / sizeof(*ways);

	if (argc < 3)
		return 2;
	file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(file >= 0 && !ftruncate(file, LENGTH), "open");
	need(!io_uring_queue_init(16, &ring, 0), "io_uring_setup");
	while (i < n && strcmp(ways[i].how, argv[1]) != 0)
		i++;
	if (i == n)
		return 2;
	ways[i].does();
	return 0;
}
