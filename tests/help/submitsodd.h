/*
 * submitsodd.h - of submits.c: signals, ends, and addresses that lead nowhere
 */
static atomic_long handled;

static void handle(int sig)
{
	(void)sig;
	handled++;
}

/* Signals that are handled, and others that are ignored, all the time. */
static void alarmed(void)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } };
	struct sigaction act = { .sa_handler = handle };
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		for (;;) {
			usleep(200);
			if (kill(parent, SIGWINCH) < 0 || getppid() != parent)
				_exit(0);
		}
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	aio_context_t ctx = setup(8);
	for (int i = 0; i < 5; i++) {
		struct timespec limit = { 0, 3000000 };
		struct io_event e;
		batches(ctx, 8, KINDS);
		need(syscall(SYS_io_getevents, ctx, 1, 1, &e, &limit) < 0, "no end");
	}
	often.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = 0;
	need(handled > 0, "signals");
}

/* One that is ignored comes: the wait goes on, and lasts as long as it was meant to. */
static void patient(void)
{
	pid_t parent = getpid(), pid = fork();
	aio_context_t ctx = setup(8);
	struct timespec limit = { 0, 500000000 }, from, to;
	struct io_event e;
	double took = 1e9;

	if (!pid)
		for (;;) {
			usleep(20000);
			if (kill(parent, SIGWINCH) < 0 || getppid() != parent)
				_exit(0);
		}
	batches(ctx, 8, KINDS);
	/* A busy machine makes one of them late, signals that make it longer all. */
	for (int i = 0; i < 5 && took > 0.9; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		need(!syscall(SYS_io_getevents, ctx, 1, 1, &e, &limit),
			"a wait is interrupted");
		clock_gettime(CLOCK_MONOTONIC, &to);
		took = (double)(to.tv_sec - from.tv_sec) +
		       (double)(to.tv_nsec - from.tv_nsec) / 1e9;
		need(took > 0.49, "a wait that is too short");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = 0;
	need(took < 0.9, "a wait of another length");
}

/* Ends with some under way, whose answers it does not wait for. */
static void left_behind(void)
{
	static struct ask a[8];
	aio_context_t ctx = setup(8);

	batches(ctx, 8, KINDS);
	for (unsigned i = 0; i < 8; i++) {
		prepare(&a[i], i, 2);
		note(&a[i], a[i].kind ? (long long)a[i].cb.aio_nbytes : 0);
		if (!a[i].kind)
			a[i].cb.aio_offset = 1 << 30; /* nothing there */
	}
	need(submit(ctx, a, 8) == 8, "io_submit");
	struct aio_ring *ring = (struct aio_ring *)ctx;
	while ((ring->tail - ring->head + ring->nr) % ring->nr < 8)
		;
}

/* Bad addresses of all kinds: the calls say so. */
static void odd(void)
{
	aio_context_t ctx = setup(8);
	struct iocb *none[2] = { NULL, (struct iocb *)-1L }, *one;
	static struct ask a[2];
	struct io_event *nowhere = (struct io_event *)8;

	batches(ctx, 8, KINDS);
	for (int i = 0; i < 100; i++) {
		need(syscall(SYS_io_submit, ctx, 1, none) < 0 && errno == EFAULT, "NULL");
		need(syscall(SYS_io_submit, ctx, 1, none + 1) < 0 && errno == EFAULT,
			"-1");
		need(syscall(SYS_io_submit, ctx, 1, NULL) < 0 && errno == EFAULT, "none");
		need(syscall(SYS_io_submit, ctx, -1L, none) < 0 && errno == EINVAL, "-1");
		need(syscall(SYS_io_submit, ctx, 0, none) == 0, "0");
		need(syscall(SYS_io_submit, ctx + 8, 1, none) < 0 && errno == EINVAL,
			"8");
		prepare(a, 2, KINDS);
		a->cb.aio_buf = 8; /* no vectors there */
		one = &a->cb;
		need(syscall(SYS_io_submit, ctx, 1, &one) < 0 && errno == EFAULT, "buf");
		note(a, -EFAULT);
		prepare(a, 1, 2);
		need(submit(ctx, a, 1) == 1, "io_submit");
		need(syscall(SYS_io_getevents, ctx, 1, 1, nowhere, NULL) < 0 &&
				errno == EFAULT,
			"events");
		get(ctx, 1, 1, NULL);
	}
	errno = 0;
}
