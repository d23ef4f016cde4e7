/*
 * moved.c - renames a directory by io_uring, with a file in it open
 *
 * usage: moved. In the working directory: u1/f gets 3 bytes, then u1 becomes u2; 5 more
 * bytes by the descriptor that was open, and 7 by one of u2/f.
 */
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int uring_rename(struct io_uring *ring, const char *from, const char *to)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;

	io_uring_prep_renameat(sqe, AT_FDCWD, from, AT_FDCWD, to, 0);
	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &cqe) < 0)
		return -1;
	int res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

int main(void)
{
	struct io_uring ring;

	if (mkdir("u1", 0700) < 0 || io_uring_queue_init(4, &ring, 0) < 0)
		return 2;
	int fd = open("u1/f", O_WRONLY | O_CREAT, 0600);
	if (write(fd, "123", 3) != 3 || uring_rename(&ring, "u1", "u2") < 0)
		return 3;
	if (write(fd, "12345", 5) != 5)
		return 4;
	fd = open("u2/f", O_WRONLY);
	return write(fd, "1234567", 7) == 7 ? 0 : 5;
}
