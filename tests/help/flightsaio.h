/*
 * flightsaio.h - of flights.c: Linux AIO
 */
/* Of Linux AIO. The ring as user_io_getevents() of libaio reads it. */
struct aio_ring {
	unsigned id, nr;
	_Atomic unsigned head, tail;
	unsigned magic, compat, incompat, length;
	struct io_event event[];
};

static void aio(const char *how)
{
	bool again = !strcmp(how, "again");

	aio_context_t ctx = 0;
	struct iocb cb[DEPTH], *list[DEPTH];
	int fd = make();

	if (syscall(SYS_io_setup, DEPTH, &ctx) < 0)
		exit(2);
	struct aio_ring *ring = (struct aio_ring *)ctx;
	if (again) {
		puts("ready");
		fflush(stdout);
		while (!traced())
			usleep(10000);
		usleep(300000);
	}
	for (int round = 0; round < 100; round++) {
		memset(cb, 0, sizeof(cb));
		for (int i = 0; i < DEPTH; i++) {
			list[i] = &cb[i];
			cb[i].aio_lio_opcode = i % 2 ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
			cb[i].aio_fildes = fd;
			cb[i].aio_buf = (unsigned long)buf[i];
			cb[i].aio_nbytes = 100 + i;
			cb[i].aio_offset = i * SIZE;
		}
		int want = DEPTH;
		if (!strcmp(how, "few")) {
			want = round % DEPTH;
			cb[want].aio_fildes =
				999; /* EBADF: the kernel takes those before it */
		}
		int taken = (int)syscall(SYS_io_submit, ctx, DEPTH, list);
		need(taken == (want ? want : -1), "io_submit");
		if (!want) /* else nobody is told what was wrong */
			note(AIO_WRITES, -EBADF);
		for (int n = 0; n < want;) {
			unsigned head = ring->head;
			if (head == ring->tail)
				continue;
			const struct io_event *e = &ring->event[head];
			note(((struct iocb *)e->obj - cb) % 2 ? AIO_READS : AIO_WRITES,
				e->res);
			ring->head = (head + 1) % ring->nr;
			n++;
		}
	}
	if (!strcmp(how, "destroy"))
		need(!syscall(SYS_io_destroy, ctx), "io_destroy");
}
