/*
 * workers SECONDS - writes by io_uring, each by a worker of the kernel's that is a thread
 * of this process. Says "begun", and at the end how many of them were not as they should.
 */
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	int fd = open("/dev/null", O_WRONLY), wrong = 0;
	struct io_uring ring;

	if (fd < 0 || io_uring_queue_init(4, &ring, 0) < 0)
		return 3;
	for (long i = 0; now() < until; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		struct io_uring_cqe *cqe;

		io_uring_prep_write(sqe, fd, "twelve bytes", 12, 0);
		sqe->flags |= IOSQE_ASYNC;
		io_uring_submit(&ring);
		if (io_uring_wait_cqe(&ring, &cqe) < 0)
			return 4;
		wrong += cqe->res != 12;
		io_uring_cqe_seen(&ring, cqe);
		wrong += write(fd, "x", 1) != 1;
		if (i == 10 && write(1, "begun\n", 6) != 6)
			return 5;
		usleep(500);
	}
	printf("%d\n", wrong);
	return 0;
}
