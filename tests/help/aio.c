/*
 * aio.c - does a known list of Linux AIO requests and prints, as JSON, what it did
 *
 * usage: aio FILE. By the calls themselves: no library.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BATCH = 8 };
static aio_context_t ctx;

static void go(struct iocb *cb, int n)
{
	struct iocb *list[BATCH];
	struct io_event done[BATCH];

	for (int i = 0; i < n; i++)
		list[i] = &cb[i];
	if (syscall(SYS_io_submit, ctx, n, list) != n)
		exit(3);
	for (int got = 0; got < n;) {
		long more = syscall(SYS_io_getevents, ctx, 1, n - got, done, NULL);
		if (more <= 0)
			exit(4);
		got += more;
	}
}

int main(int argc, char **argv)
{
	static char buf[BATCH][4096];
	struct iovec v[2] = { { buf[0], 100 }, { buf[1], 50 } }, many[32];
	struct iocb cb[BATCH];
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0 || syscall(SYS_io_setup, BATCH, &ctx) < 0)
		return 2;
	for (int round = 0; round < 10; round++) {
		memset(cb, 0, sizeof(cb));
		for (int i = 0; i < BATCH; i++) {
			cb[i].aio_lio_opcode = i % 2 ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
			cb[i].aio_fildes = fd;
			cb[i].aio_buf = (unsigned long)buf[i];
			cb[i].aio_nbytes = 1000;
			cb[i].aio_offset = (i / 2) * 1000;
		}
		go(cb, BATCH);
	}
	memset(cb, 0, sizeof(cb));
	cb[0] = (struct iocb){ .aio_lio_opcode = IOCB_CMD_PWRITEV, .aio_fildes = fd,
		.aio_buf = (unsigned long)v, .aio_nbytes = 2 };
	cb[1] = (struct iocb){ .aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = fd };
	go(cb, 2);
	for (int i = 0; i < 32; i++)
		many[i] = (struct iovec){ buf[0], 100 };
	cb[0].aio_buf = (unsigned long)many;
	cb[0].aio_nbytes = 32;
	go(cb, 1);
	printf("{\"aio:pwrite\": [40, 40000], \"aio:pread\": [40, %d], \"aio:pwritev\": [2, 3350], "
	       "\"aio:fsync\": [1, 0]}\n", 40000);
	return 0;
}
