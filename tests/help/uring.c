/*
 * uring.c - does a known list of io_uring requests and prints, as JSON, what it did
 *
 * usage: uring [sqpoll] [async] FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	const char *name;
	long operations, errors, bytes, requested;
} done[16];

static struct io_uring ring;
static int async;

static void note(const char *name, long want, long res)
{
	int i = 0;

	while (done[i].name && strcmp(done[i].name, name))
		i++;
	done[i].name = name;
	if (res < 0) {
		done[i].errors++;
		return;
	}
	done[i].operations++;
	done[i].bytes += want ? res : 0;
	done[i].requested += want;
}

/* One request after the other, so that the order is known. */
static long go(const char *name, struct io_uring_sqe *sqe, long want)
{
	struct io_uring_cqe *cqe;
	long res;

	if (async)
		sqe->flags |= IOSQE_ASYNC;
	io_uring_submit(&ring);
	if (io_uring_wait_cqe(&ring, &cqe) < 0)
		exit(3);
	res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	note(name, want, res);
	return res;
}

static struct io_uring_sqe *sqe(void)
{
	return io_uring_get_sqe(&ring);
}

static void reads_and_writes(int fd)
{
	static char buf[65536];
	struct iovec v[3] = { { buf, 100 }, { buf, 200 }, { buf, 300 } };
	struct io_uring_sqe *s;

	for (int i = 0; i < 50; i++) {
		io_uring_prep_write(s = sqe(), fd, buf, 1000 + i, i * 4096);
		go("WRITE", s, 1000 + i);
		io_uring_prep_read(s = sqe(), fd, buf, 500 + i, i * 4096);
		go("READ", s, 500 + i);
	}
	for (int i = 0; i < 10; i++) {
		io_uring_prep_writev(s = sqe(), fd, v, 3, i * 1000);
		go("WRITEV", s, 600);
		io_uring_prep_readv(s = sqe(), fd, v, 2, i * 1000);
		go("READV", s, 300);
	}
	io_uring_prep_read(s = sqe(), fd, buf, 4096, 1 << 30);
	go("READ", s, 4096); /* beyond the end */
	io_uring_prep_read(s = sqe(), 999, buf, 10, 0);
	go("READ", s, 10);
	io_uring_prep_fsync(s = sqe(), fd, 0);
	go("FSYNC", s, 0);
}

static void fixed(int fd)
{
	static char buf[8192];
	struct iovec v = { buf, sizeof(buf) };
	struct io_uring_sqe *s;

	if (io_uring_register_buffers(&ring, &v, 1) < 0 ||
		io_uring_register_files(&ring, &fd, 1) < 0)
		exit(4);
	for (int i = 0; i < 7; i++) {
		io_uring_prep_write_fixed(s = sqe(), 0, buf, 2048, i * 2048, 0);
		s->flags |= IOSQE_FIXED_FILE;
		go("WRITE_FIXED", s, 2048);
		io_uring_prep_read_fixed(s = sqe(), 0, buf, 1024, i * 2048, 0);
		s->flags |= IOSQE_FIXED_FILE;
		go("READ_FIXED", s, 1024);
	}
}

static void position(const char *path)
{
	static char buf[512];
	struct io_uring_sqe *s;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 5; i++) { /* at the file's own position */
		io_uring_prep_write(s = sqe(), fd, buf, 512, -1);
		go("WRITE", s, 512);
	}
	close(fd);
}

static void names(const char *path)
{
	struct io_uring_sqe *s;

	for (int i = 0; i < 3; i++) {
		io_uring_prep_openat(s = sqe(), AT_FDCWD, path, O_RDONLY, 0);
		long fd = go("OPENAT", s, 0);
		io_uring_prep_close(s = sqe(), (int)fd);
		go("CLOSE", s, 0);
	}
	io_uring_prep_openat(s = sqe(), AT_FDCWD, "/does/not/exist", O_RDONLY, 0);
	go("OPENAT", s, 0);
}

int main(int argc, char **argv)
{
	struct io_uring_params p = { 0 };
	char other[4200];
	int i = 1;

	for (; i < argc - 1; i++) {
		if (!strcmp(argv[i], "sqpoll"))
			p.flags |= IORING_SETUP_SQPOLL;
		async |= !strcmp(argv[i], "async");
	}
	p.sq_thread_idle = 50;
	if (i >= argc || io_uring_queue_init_params(32, &ring, &p) < 0)
		return 2;
	int fd = open(argv[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
	reads_and_writes(fd);
	snprintf(other, sizeof(other), "%s.position", argv[i]);
	position(other);
	names(argv[i]);
	fixed(fd);
	io_uring_queue_exit(&ring);
	printf("{");
	for (i = 0; done[i].name; i++)
		printf("%s\"io_uring:%s\": [%ld, %ld, %ld, %ld]", i ? ", " : "", done[i].name,
			done[i].operations, done[i].errors, done[i].bytes,
			done[i].requested);
	printf("}\n");
	return 0;
}
