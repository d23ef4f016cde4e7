/*
 * placed.c - requests of io_uring on files that other requests have just registered
 *
 *   placed HOW FOLDER
 *
 * HOW: update, drain, send, chosen or chain; silent: a socket in the place of a file;
 * off: it stays, as its close is called off; late: it has been read when another one
 * comes; moved: the ring has another descriptor each time. In FOLDER are one, two and
 * three; how many of the reads are of each is printed, as what was read tells.
 */
#include "ring.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { TIMES = 5, WARM = 60, MSG_RING = 40, SEND_FD = 1, SKIP_SUCCESS = 1 << 6 };

static const char *const names[] = { "one", "two", "three" };
static int fds[3], reads[3];
static char got[300];
static struct io_uring other;

/* What headers of older kernels lack. */
static struct io_uring_sqe *ask(int opcode, unsigned flags)
{
	struct io_uring_sqe *s = next();

	memset(s, 0, sizeof(*s));
	s->opcode = (uint8_t)opcode;
	s->flags = (uint8_t)flags;
	s->fd = -1;
	return s;
}

static void ask_read(struct io_uring_sqe *s, int place, unsigned n)
{
	s->fd = place;
	s->addr = (uintptr_t)got;
	s->len = n;
	s->flags |= IOSQE_FIXED_FILE;
}

static void ask_open(int place, const char *name, unsigned flags)
{
	struct io_uring_sqe *s = ask(IORING_OP_OPENAT, flags);

	s->fd = AT_FDCWD;
	s->addr = (uintptr_t)name;
	s->file_index = (unsigned)place + 1;
}

static void ask_close(int place, unsigned flags)
{
	struct io_uring_sqe *s = ask(IORING_OP_CLOSE, flags);

	s->fd = 0;
	s->file_index = (unsigned)place + 1;
}

/* Its answers; what the last read has got is counted. */
static int wait_for(struct io_uring *r, int n)
{
	struct io_uring_cqe *c;
	int res = 0;

	need(io_uring_submit(r) >= 0, "io_uring_submit");
	while (n--) {
		need(!io_uring_wait_cqe(r, &c), "io_uring_wait_cqe");
		res = c->res;
		io_uring_cqe_seen(r, c);
	}
	return res;
}

static void count(int res)
{
	need(res == 100, "a read");
	reads[got[0] - 'a']++;
}

static void put_back(struct io_uring *r, int place, int fd)
{
	need(io_uring_register_files_update(r, (unsigned)place, &fd, 1) == 1,
		"io_uring_register_files_update");
}

static void update(void)
{
	struct io_uring_sqe *s = ask(IORING_OP_FILES_UPDATE, 0);

	s->addr = (uintptr_t)&fds[1];
	s->len = 1;
	ask_read(ask(IORING_OP_READ, 0), 0, 100);
	count(wait_for(&ring, 2));
	put_back(&ring, 0, fds[0]);
}

static void drain(void)
{
	ask_close(0, 0);
	wait_for(&ring, 1);
	put_back(&ring, 0, fds[0]);
	ask_open(0, "two", 0);
	ask_read(ask(IORING_OP_READ, IOSQE_IO_DRAIN), 0, 100);
	count(wait_for(&ring, 2));
}

/* Of the first place to the other ring's, where the third file is. */
static void send_to(unsigned file_index)
{
	struct io_uring_sqe *s = ask(MSG_RING, 0);
	const int place = file_index == UINT32_MAX ? 1 : 0;

	s->fd = other.ring_fd;
	s->addr = SEND_FD;
	s->file_index = file_index;
	need(wait_for(&ring, 1) >= 0, "IORING_OP_MSG_RING");
	wait_for(&other, 1);
	s = io_uring_get_sqe(&other);
	need(s != NULL, "io_uring_get_sqe");
	memset(s, 0, sizeof(*s));
	s->opcode = IORING_OP_READ;
	ask_read(s, place, 100);
	count(wait_for(&other, 1));
	put_back(&other, place, place ? -1 : fds[2]);
}

static void send_file(void)
{
	send_to(1);
}

static void chosen(void)
{
	send_to(UINT32_MAX);
}

static void chain(void)
{
	ask_open(1, "one", IOSQE_IO_LINK | SKIP_SUCCESS);
	ask_read(ask(IORING_OP_READ, IOSQE_IO_LINK), 1, 100);
	ask_close(1, IOSQE_IO_LINK | SKIP_SUCCESS);
	ask_open(1, "two", IOSQE_IO_LINK | SKIP_SUCCESS);
	ask_read(ask(IORING_OP_READ, 0), 1, 100);
	need(io_uring_submit(&ring) == 5, "io_uring_submit");
	wait_for(&ring, 1);
	reads[0]++; /* as the next one has gone over it */
	count(wait_for(&ring, 1));
	ask_close(1, 0);
	wait_for(&ring, 1);
}

/* What is sent is written to no file that the socket is in the place of. */
static void silent(void)
{
	static const struct sockaddr_un there = { AF_UNIX, "socket" };
	static int receiver = -1;
	struct io_uring_sqe *s;

	if (receiver < 0) {
		unlink(there.sun_path);
		receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
		need(!bind(receiver, (const struct sockaddr *)&there, sizeof(there)),
			"bind");
	}
	put_back(&ring, 0, fds[0]);
	ask_close(0, IOSQE_IO_LINK | SKIP_SUCCESS);
	s = ask(IORING_OP_SOCKET, IOSQE_IO_LINK | SKIP_SUCCESS);
	s->fd = AF_UNIX;
	s->off = SOCK_DGRAM;
	s->file_index = 1;
	s = ask(IORING_OP_CONNECT, IOSQE_FIXED_FILE | IOSQE_IO_LINK | SKIP_SUCCESS);
	s->fd = 0;
	s->addr = (uintptr_t)&there;
	s->off = sizeof(there);
	s = ask(IORING_OP_SEND, IOSQE_FIXED_FILE);
	s->fd = 0;
	s->addr = (uintptr_t)got;
	s->len = 10;
	need(wait_for(&ring, 1) == 10, "IORING_OP_SEND");
	need(recv(receiver, got, sizeof(got), 0) == 10, "recv");
	ask_close(0, 0);
	wait_for(&ring, 1);
}

/* What was to close it is called off, as what it is linked to has read too little. */
static void called_off(void)
{
	ask_read(ask(IORING_OP_READ, IOSQE_IO_LINK), 0, 1000);
	ask_close(0, SKIP_SUCCESS);
	wait_for(&ring, 2);
	ask_read(ask(IORING_OP_READ, 0), 0, 100);
	reads[0]++;
	count(wait_for(&ring, 1));
}

/* All that was before is over by then, and nothing has registered another file since. */
static void late(void)
{
	ask(IORING_OP_NOP, 0);
	ask_read(ask(IORING_OP_READ, IOSQE_IO_DRAIN), 0, 100);
	count(wait_for(&ring, 2));
	put_back(&ring, 0, fds[1]);
	wait_for(&ring, 0);
	put_back(&ring, 0, fds[0]);
}

/* The ring goes on by another descriptor. */
static void moved(void)
{
	int fd = dup(ring.ring_fd);

	need(fd >= 0 && dup2(ring.ring_fd, ring.ring_fd) >= 0 && !close(ring.ring_fd),
		"dup");
	ring.ring_fd = ring.enter_ring_fd = fd;
	ask_read(ask(IORING_OP_READ, 0), 0, 100);
	count(wait_for(&ring, 1));
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = { { "update", update }, { "drain", drain }, { "send", send_file },
	{ "chosen", chosen }, { "chain", chain }, { "silent", silent },
	{ "off", called_off }, { "late", late }, { "moved", moved } };

static void begin(const char *folder)
{
	int sparse[2] = { 0, -1 };

	need(!chdir(folder), folder);
	for (int i = 0; i < 3; i++) {
		memset(got, 'a' + i, sizeof(got));
		fds[i] = open(names[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
		need(fds[i] >= 0 && write(fds[i], got, sizeof(got)) == sizeof(got),
			names[i]);
	}
	need(!io_uring_queue_init(16, &ring, 0) && !io_uring_queue_init(16, &other, 0),
		"io_uring_queue_init");
	sparse[0] = fds[0];
	need(!io_uring_register_files(&ring, sparse, 2), "io_uring_register_files");
	sparse[0] = fds[2];
	need(!io_uring_register_files(&other, sparse, 2), "io_uring_register_files");
	for (int i = 0; i < WARM; i++) {
		ask(IORING_OP_NOP, 0);
		wait_for(&ring, 1);
	}
}

int main(int argc, char **argv)
{
	need(argc == 3, "placed: how, and a folder");
	begin(argv[2]);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (int n = 0; n < TIMES && !strcmp(argv[1], ways[i].name); n++)
			ways[i].run();
	printf("%d %d %d\n", reads[0], reads[1], reads[2]);
	return 0;
}
