/*
 * between.c - read(2) and write(2) between requests that are answered later and move the
 * position, the end or the name of the same files
 *
 * usage: between DIRECTORY SEED ROUNDS
 *
 * Prints as JSON what each read(2) and write(2) was about: call, name, offset, bytes. It
 * keeps count itself: lseek(2) would tell who looks on.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

static struct io_uring ring;
static aio_context_t context;
static char buf[4096];
static int placed, log_end, at_end, named, pipes[2];
static long position, end;
static int other_name, told;

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static void tell(const char *call, const char *name, long offset, long bytes)
{
	printf("%s[\"%s\", \"%s\", %ld, %ld]", told++ ? ",\n" : "[", call, name, offset, bytes);
}

static long answer(void)
{
	struct io_uring_cqe *c;

	if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &c) < 0)
		die("ring");
	long res = c->res;
	io_uring_cqe_seen(&ring, c);
	if (res < 0) {
		errno = (int)-res;
		die("request");
	}
	return res;
}

static struct io_uring_sqe *request(void)
{
	return io_uring_get_sqe(&ring);
}

static void do_read(long n)
{
	for (long times = random() % 6; times >= 0; times--) {
		if (read(placed, buf, n) != n)
			die("read");
		tell("read", "placed", position, n);
		position += n;
	}
}

static void do_write(long n)
{
	if (write(placed, buf, n) != n)
		die("write");
	tell("write", "placed", position, n);
	position += n;
}

static void do_append(long n)
{
	for (long times = random() % 6; times >= 0; times--) {
		if (write(log_end, buf, n) != n)
			die("append");
		tell("write", "log", end, n);
		end += n;
	}
}

static void do_named(long n)
{
	if (write(named, buf, n) != n)
		die("named");
	tell("write", other_name ? "second" : "first", -1, n);
}

static void ring_read(long n)
{
	io_uring_prep_read(request(), placed, buf, n, -1);
	position += answer();
}

static void ring_write(long n)
{
	io_uring_prep_write(request(), placed, buf, n, -1);
	position += answer();
}

static void ring_splice(long n)
{
	io_uring_prep_splice(request(), placed, -1, pipes[1], -1, n, 0);
	n = answer();
	position += n;
	if (syscall(SYS_readv, pipes[0], &(struct iovec){ buf, n }, 1) != n)
		die("pipe");
}

static void ring_grow(long n)
{
	io_uring_prep_write(request(), at_end, buf, n, end);
	end += answer();
}

static void ring_allocate(long n)
{
	io_uring_prep_fallocate(request(), at_end, 0, end, n);
	answer();
	end += n;
}

static void ring_cut(long n)
{
	(void)n;
	io_uring_prep_openat(request(), AT_FDCWD, "log", O_WRONLY | O_TRUNC, 0);
	int fd = (int)answer();
	io_uring_prep_close(request(), fd);
	answer();
	end = 0;
}

static void ring_rename(long n)
{
	(void)n;
	io_uring_prep_renameat(request(), AT_FDCWD, other_name ? "second" : "first", AT_FDCWD,
		other_name ? "first" : "second", 0);
	answer();
	other_name = !other_name;
}

static void aio_grow(long n)
{
	struct iocb cb = { .aio_fildes = (unsigned)at_end,
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_buf = (uintptr_t)buf,
		.aio_nbytes = (unsigned long)n,
		.aio_offset = end };
	struct iocb *all[] = { &cb };
	struct io_event e;

	if (syscall(SYS_io_submit, context, 1, all) != 1 ||
		syscall(SYS_io_getevents, context, 1, 1, &e, NULL) != 1 || e.res != n)
		die("aio");
	end += n;
}

int main(int argc, char **argv)
{
	static void (*const deed[])(long) = { do_read, do_write, do_append, do_named, ring_read,
		ring_write, ring_splice, ring_grow, ring_allocate, ring_cut, ring_rename,
		aio_grow };

	if (argc < 4 || chdir(argv[1]) < 0)
		return 2;
	srandom((unsigned)atoi(argv[2]));
	placed = open("placed", O_RDWR | O_CREAT | O_TRUNC, 0600);
	log_end = open("log", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	at_end = open("log", O_WRONLY);
	named = open("first", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	if (placed < 0 || ftruncate(placed, SIZE) < 0 || pipe(pipes) < 0)
		die("files");
	if (io_uring_queue_init(8, &ring, 0) < 0 || syscall(SYS_io_setup, 8, &context) < 0)
		return 4;
	for (int i = atoi(argv[3]); i > 0; i--) {
		if (position > SIZE / 2) {
			lseek(placed, 0, SEEK_SET);
			position = 0;
		}
		deed[random() % (sizeof(deed) / sizeof(*deed))](1 + random() % 900);
	}
	puts("]");
	return 0;
}
