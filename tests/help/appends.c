/*
 * appends.c - requests that append or do not, whatever their file is open for, among
 * write(2)s that append to the same file
 *
 * usage: appends HOW FILE. HOW: flag (RWF_APPEND), unset (RWF_NOAPPEND), registered (a
 * file that is open for it), plain (one that is registered and is not); of Linux AIO:
 * aio, aio-unset
 */
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { APPEND = 0x10, NO_APPEND = 0x20, ROUNDS = 60, SIZE = 100 };

static char buf[SIZE];
static struct io_uring ring;
static aio_context_t context;

static void need(int ok)
{
	if (!ok)
		exit(3);
}

static void ask_ring(int fd, unsigned flags, int rw)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&ring);
	struct io_uring_cqe *c;

	io_uring_prep_write(s, fd, buf, SIZE, 0);
	s->flags |= flags;
	s->rw_flags = rw;
	need(io_uring_submit_and_wait(&ring, 1) == 1 && !io_uring_peek_cqe(&ring, &c) &&
		c->res == SIZE);
	io_uring_cqe_seen(&ring, c);
}

static void ask_aio(int fd, int rw)
{
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_fildes = fd,
		.aio_buf = (uintptr_t)buf,
		.aio_nbytes = SIZE,
		.aio_rw_flags = rw };
	struct iocb *list = &cb;
	struct io_event e;

	need(syscall(SYS_io_submit, context, 1L, &list) == 1 &&
		syscall(SYS_io_getevents, context, 1L, 1L, &e, NULL) == 1 &&
		e.res == SIZE);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	int fd[2] = { open(argv[2], O_WRONLY), open(argv[2], O_WRONLY | O_APPEND) };
	const char *how = argv[1];
	int aio = !strncmp(how, "aio", 3), unset = strstr(how, "unset") != NULL;

	need(to >= 0 && fd[0] >= 0 && fd[1] >= 0);
	if (aio)
		need(!syscall(SYS_io_setup, 4, &context));
	else
		need(!io_uring_queue_init(4, &ring, 0) &&
			!io_uring_register_files(&ring, fd, 2));
	for (int i = 0; i < ROUNDS; i++) {
		need(write(to, buf, 10) == 10);
		if (i % 3 != 2)
			continue;
		if (aio)
			ask_aio(fd[unset], unset ? NO_APPEND : APPEND);
		else if (!strcmp(how, "registered") || !strcmp(how, "plain"))
			ask_ring(*how == 'r', IOSQE_FIXED_FILE, 0);
		else
			ask_ring(fd[unset], 0, unset ? NO_APPEND : APPEND);
	}
	return 0;
}
