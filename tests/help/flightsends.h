/*
 * flightsends.h - of flights.c: how rings and waits end
 */
/* What waits in a ring goes with it, and takes nothing any more. */
static void pending(void)
{
	int p[2];
	char c = 0;

	need(!pipe(p), "pipe");
	for (int i = 0; i < 5; i++) {
		struct io_uring r;
		ring(&r, DEPTH);
		io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
		need(io_uring_submit(&r) == 1, "submit");
		usleep(20000);
		io_uring_queue_exit(&r);
		usleep(50000);
		need(write(p[1], "x", 1) == 1, "write");
		usleep(20000);
		need(!fcntl(p[0], F_SETFL, O_NONBLOCK), "fcntl");
		need(read(p[0], &c, 1) == 1 && c == 'x', "read");
		need(!fcntl(p[0], F_SETFL, 0), "fcntl");
	}
}

/* What waits on a socket does not keep it open when its ring is gone. */
static void gone(void)
{
	for (int i = 0; i < 3; i++) {
		struct io_uring r;
		int s[2];
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
		ring(&r, DEPTH);
		io_uring_prep_recv(next(&r), s[0], buf[0], 1, 0);
		need(io_uring_submit(&r) == 1, "submit");
		close(s[0]);
		io_uring_queue_exit(&r);
		struct pollfd p = { .fd = s[1], .events = POLLIN };
		need(poll(&p, 1, 3000) == 1 && p.revents & POLLHUP, "end of file");
		close(s[1]);
	}
}

static void *use_registered(void *end)
{
	struct io_uring r;
	int fd = make();

	ring(&r, DEPTH);
	need(!io_uring_register_files(&r, end, 1), "register_files");
	close(*(int *)end);
	need(io_uring_register_ring_fd(&r) == 1, "register_ring_fd");
	close(r.ring_fd);
	ask_writes(&r, fd, 5);
	need(io_uring_submit_and_wait(&r, 5) == 5 && reap(&r, writes) == 5, "submit");
	close(fd);
	munmap(r.sq.sqes, r.sq.ring_entries * sizeof(struct io_uring_sqe));
	munmap(r.sq.ring_ptr, r.sq.ring_sz);
	return NULL;
}

/* A ring that is registered lives on without its descriptor, as long as its thread. */
static void registered(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		int p[2];
		need(!pipe(p), "pipe");
		need(!pthread_create(&t, NULL, use_registered, &p[1]), "pthread_create");
		pthread_join(t, NULL);
		struct pollfd at = { .fd = p[0], .events = POLLIN };
		need(poll(&at, 1, 3000) == 1 && at.revents & POLLHUP, "end of file");
		close(p[0]);
	}
}

static int common_fd;

/* The call is made outside the lock: whose request it takes is for the kernel to say. */
static void *racer(void *arg)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		struct io_uring_sqe *s;
		while (!(s = io_uring_get_sqe(&common)))
			;
		io_uring_prep_write(s, common_fd, buf[0], 1 + i % 50, 0);
		unsigned tail = *common.sq.ktail;
		common.sq.sqe_head = common.sq.sqe_tail;
		__atomic_store_n(common.sq.ktail, tail + 1, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
		while (io_uring_enter(common.ring_fd, 1, 0, 0, NULL) != 1)
			;
	}
	return arg;
}

static void race(void)
{
	enum { RACERS = 4, ALL = RACERS * 500 };
	pthread_t t[RACERS];

	common_fd = make();
	need(!io_uring_queue_init(4096, &common, 0), "io_uring_queue_init");
	for (unsigned i = 0; i < common.sq.ring_entries; i++)
		common.sq.array[i] = i;
	for (int i = 0; i < RACERS; i++)
		need(!pthread_create(&t[i], NULL, racer, NULL), "pthread_create");
	for (int i = 0; i < RACERS; i++)
		pthread_join(t[i], NULL);
	for (int n = 0; n < ALL;) {
		struct io_uring_cqe *c;
		if (io_uring_peek_cqe(&common, &c))
			continue;
		note(WRITES, c->res);
		io_uring_cqe_seen(&common, c);
		n++;
	}
}

/* A child that sends a signal which is ignored every 50 ms, and writes after n of them.
 */
static pid_t disturber(int fd, int n)
{
	pid_t pid = fork();

	for (int i = 0; !pid && i < n; i++) {
		usleep(50000);
		kill(getppid(), SIGWINCH);
	}
	if (!pid)
		_exit(write(fd, "x", 1) != 1);
	return pid;
}

/* Signals that are ignored do not end a wait, nor make it longer. */
static void waits(void)
{
	const struct __kernel_timespec time = { 0, 400 * 1000 * 1000 };
	struct __kernel_timespec left = time;
	struct io_uring_cqe *c;
	struct io_uring r;
	int p[2];

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
	disturber(p[1], 5);
	need(io_uring_submit_and_wait(&r, 1) == 1 && reap(&r, NULL) == 1, "a wait");
	io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
	need(io_uring_submit(&r) == 1, "submit");
	disturber(p[1], 20);
	double from = now();
	need(io_uring_wait_cqe_timeout(&r, &c, &left) == -ETIME, "a timeout");
	double took = now() - from;
	need(took > 0.35e9 && took < 0.8e9, "a timeout in time");
	need(!io_uring_wait_cqe(&r, &c) && reap(&r, NULL) == 1, "another wait");
	io_uring_queue_exit(&r);
	while (wait(NULL) > 0)
		;
}

/* Context switches of that many reads, one after the other. */
static long switches(struct io_uring *r, int fd, int n)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < n; i++) {
		io_uring_prep_read(next(r), fd, buf[0], 100, 0);
		need(io_uring_submit_and_wait(r, 1) == 1 && reap(r, NULL) == 1, "read");
	}
	getrusage(RUSAGE_SELF, &after);
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* A ring from before it is attached to, which is no slower for it. */
static void found(void)
{
	enum { READS_EACH = 1000 };
	struct io_uring r;
	int fd = make();

	ring(&r, DEPTH);
	long alone = switches(&r, fd, READS_EACH);
	puts("ready");
	fflush(stdout);
	while (!traced())
		usleep(10000);
	usleep(300000);
	long with = switches(&r, fd, READS_EACH);
	printf("%s\n", with < alone + READS_EACH / 2 ? "the same" : "more");
}
