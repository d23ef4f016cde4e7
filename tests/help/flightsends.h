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

enum { FOR_EVER = -1 };

/* A child that sends a signal which is ignored every 50 ms, and writes after n of them.
 */
static pid_t disturber(int fd, int n)
{
	pid_t parent = getpid(), pid = fork();

	for (int i = 0; !pid && i != n; i++) {
		usleep(50000);
		if (kill(parent, SIGWINCH) < 0 || getppid() != parent)
			_exit(1);
	}
	if (!pid)
		_exit(write(fd, "x", 1) != 1);
	return pid;
}

/* Signals that are ignored do not end a wait, nor make it longer. */
static void waits(void)
{
	const struct __kernel_timespec time = { 0, 400 * 1000 * 1000 };
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
	pid_t pid = disturber(p[1], FOR_EVER);
	double took = 1e18;
	/* A busy machine makes one of them late, signals that make it longer all. */
	for (int i = 0; i < 5 && took > 0.8e9; i++) {
		struct __kernel_timespec left = time;
		double from = now();
		need(io_uring_wait_cqe_timeout(&r, &c, &left) == -ETIME, "a timeout");
		took = now() - from;
		need(took > 0.35e9, "not before its time");
	}
	need(took < 0.8e9, "a timeout in time");
	kill(pid, SIGKILL);
	disturber(p[1], 5);
	need(!io_uring_wait_cqe(&r, &c) && reap(&r, NULL) == 1, "another wait");
	io_uring_queue_exit(&r);
	while (wait(NULL) > 0)
		;
}

/* A ring that somebody looked at for a while goes with its descriptor. */
static void parted(void)
{
	struct pollfd p = { .events = POLLIN };
	struct io_uring r;
	int fd = make(), s[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	while (!traced())
		usleep(10000);
	ring(&r, DEPTH);
	while (traced()) {
		for (int i = 0; i < 200; i++) {
			io_uring_prep_read(next(&r), fd, buf[0], 100, 0);
			need(io_uring_submit_and_wait(&r, 1) == 1 && reap(&r, NULL) == 1,
				"read");
		}
	}
	io_uring_prep_recv(next(&r), s[0], buf[0], 1, 0);
	need(io_uring_submit(&r) == 1, "submit");
	close(s[0]);
	io_uring_queue_exit(&r);
	p.fd = s[1];
	need(poll(&p, 1, 3000) == 1 && p.revents & POLLHUP, "end of file");
}

static int answer_to(struct io_uring *r)
{
	struct io_uring_cqe *c;

	need(io_uring_submit_and_wait(r, 1) == 1 && !io_uring_wait_cqe(r, &c), "submit");
	int res = c->res;
	io_uring_cqe_seen(r, c);
	return res;
}

/* A descriptor that a request closes and another one opens for another file: ten reads of
 * the first, and seven and five of the other. */
static void reused(void)
{
	struct io_uring r;
	char other[4096], c[100];
	int fd = make();

	snprintf(other, sizeof(other), "%s.other", path);
	int to = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(to >= 0 && !ftruncate(to, SIZE) && !close(to), "another file");
	ring(&r, DEPTH);
	for (int i = 0; i < 10; i++)
		need(read(fd, c, sizeof(c)) == sizeof(c), "read");
	io_uring_prep_close(next(&r), fd);
	need(!answer_to(&r), "close");
	io_uring_prep_openat(next(&r), AT_FDCWD, other, O_RDONLY, 0);
	need(answer_to(&r) == fd, "the same descriptor");
	for (int i = 0; i < 7; i++)
		need(read(fd, c, 10) == 10, "read");
	for (int i = 0; i < 5; i++) {
		io_uring_prep_read(next(&r), fd, c, 20, 0);
		need(answer_to(&r) == 20, "a request to read");
	}
	io_uring_queue_exit(&r);
}

/* Until it is killed: its file says how many bytes there were. */
static void killed(void)
{
	struct io_uring r;
	int fd = make();

	need(!ftruncate(fd, 0), "ftruncate");
	ring(&r, DEPTH);
	for (uint64_t at = 0;; at += 4) {
		for (unsigned i = 0; i < 4; i++)
			io_uring_prep_write(next(&r), fd, buf[0], 1, at + i);
		need(io_uring_submit_and_wait(&r, 4) == 4 && reap(&r, NULL) == 4,
			"write");
	}
}

static volatile sig_atomic_t rang;

static void on_alarm(int sig)
{
	(void)sig;
	rang++;
}

/* A signal that is handled, after so many microseconds, and each so many. */
static void alarms(long us, long each)
{
	struct sigaction a = { .sa_handler = on_alarm };
	const struct itimerval t = { { 0, each }, { 0, us } };

	need(!sigaction(SIGALRM, &a, NULL) && !setitimer(ITIMER_REAL, &t, NULL),
		"setitimer");
}

/* Signals at any moment of it; what was submitted is not once more. */
static void alarmed(void)
{
	struct io_uring r;
	int fd = make();
	long n = 0;

	ring(&r, DEPTH);
	alarms(100, 100);
	for (int i = 0; i < 30000; i++) {
		io_uring_prep_read(next(&r), fd, buf[0], 1 + i % 100, 0);
		int asked = io_uring_submit_and_wait(&r, 1);
		while (asked == -EINTR)
			asked = io_uring_submit_and_wait(&r, 1);
		need(asked == 1, "submit");
		int got = reap(&r, NULL);
		for (; !got; got = reap(&r, NULL)) {
			struct io_uring_cqe *c;
			int err = io_uring_wait_cqe(&r, &c);
			need(!err || err == -EINTR, "wait");
		}
		n += got;
	}
	alarms(0, 0);
	need(n == 30000 && rang > 10, "all of them");
	io_uring_queue_exit(&r);
}

/* What a wait that a signal ends has returned, which it does in time. */
static void ended(void)
{
	struct io_uring r;
	int p[2];

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	for (int i = 0; i < 5; i++) {
		io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
		double from = now();
		alarms(30000, 0);
		need(io_uring_submit_and_wait(&r, 1) == 1 && rang == 2 * i + 1,
			"a wait that has submitted");
		need(now() - from > 25e6 && now() - from < 5e9, "its time");
		alarms(30000, 0);
		need(io_uring_enter(r.ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL) ==
					-EINTR &&
				rang == 2 * i + 2,
			"a wait that has not");
		need(write(p[1], "x", 1) == 1, "write");
		need(io_uring_enter(r.ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL) == 0,
			"a wait");
		need(reap(&r, NULL) == 1, "reap");
	}
	io_uring_queue_exit(&r);
}

/* io_uring_enter(2), and that all registers are what they were but for the result. */
static long plain_enter(int fd, long submit, long min, void *arg)
{
	long ret = SYS_io_uring_enter;
#ifdef __x86_64__
	long kept[] = { fd, submit, min };
	register long flags __asm__("r10") = 9 /* GETEVENTS, EXT_ARG */;
	register void *at __asm__("r8") = arg;
	register long size __asm__("r9") = 24, other __asm__("r12") = 0x12;

	__asm__ volatile("syscall"
			 : "+a"(ret), "+D"(kept[0]), "+S"(kept[1]), "+d"(kept[2]),
			 "+r"(flags), "+r"(at), "+r"(size), "+r"(other)::"rcx", "r11",
			 "memory");
	need(kept[0] == fd && kept[1] == submit && kept[2] == min && flags == 9 &&
			at == arg && size == 24 && other == 0x12,
		"the registers");
#else
	ret = syscall(ret, fd, submit, min, 9, arg, 24);
	ret = ret < 0 ? -errno : ret;
#endif
	return ret;
}

/*
 * A wait has its time, with signals in it that are ignored, and without. A busy machine
 * makes some of them late, but not all of a kind.
 */
static void timed(void)
{
	double late[2][2] = { { 1e18, 1e18 }, { 1e18, 1e18 } };
	struct __kernel_timespec time = { 0, 1000 * 1000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&time };
	struct io_uring r;
	pid_t pid = 0;

	ring(&r, DEPTH);
	for (int i = 0; i < 32; i++) {
		bool submits = i % 2;
		if (i == 20) {
			time.tv_nsec = 130 * 1000 * 1000;
			pid = disturber(-1, FOR_EVER);
		}
		if (submits) {
			io_uring_prep_nop(next(&r));
			unsigned mask = *r.sq.kring_mask, tail = *r.sq.ktail;
			if (r.sq.array)
				r.sq.array[tail & mask] = r.sq.sqe_head & mask;
			r.sq.sqe_head++;
			__atomic_store_n(r.sq.ktail, tail + 1, __ATOMIC_RELEASE);
		}
		double from = now();
		long ret = plain_enter(r.ring_fd, submits, 2, &arg);
		double more = now() - from - (double)time.tv_nsec;
		double *least = &late[submits][pid != 0];
		need(ret == (submits ? 1 : -ETIME), "what it returns");
		need(more > -1e6, "not before its time");
		*least = more < *least ? more : *least;
		while (submits && !reap(&r, NULL))
			;
	}
	for (int i = 0; i < 4; i++)
		need(late[i / 2][i % 2] < 400e6, "its time");
	kill(pid, SIGKILL);
	done[READS].sums.operations = 0; /* nothing was read */
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

/* Threads end, one after the other, beside one that reads. */
static void *read_on(void *going)
{
	struct io_uring r;
	int fd = open(path, O_RDWR);

	ring(&r, 4);
	for (int i = 0; i < 100000; i++) {
		io_uring_prep_read(next(&r), fd, buf[0], 1 + i % 4096, 0);
		need(io_uring_submit(&r) == 1 && reap(&r, NULL) == 1, "read");
	}
	*(volatile bool *)going = false;
	io_uring_queue_exit(&r);
	close(fd);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void beside(void)
{
	volatile bool going = true;
	pthread_t reader, other;

	close(make());
	need(!pthread_create(&reader, NULL, read_on, (void *)&going), "pthread_create");
	for (; going; usleep(200))
		need(!pthread_create(&other, NULL, nothing, NULL) &&
				!pthread_join(other, NULL),
			"pthread_create");
	pthread_join(reader, NULL);
}

enum { ROOM = 8 };
static const int two_words[] = { READS, READS };

/* As many are answered and read between two calls of it as there is room for, while
 * others are not. */
static void laps(struct io_uring *r, int late[2])
{
	int p[2];

	need(!pipe(p) && !pipe(late), "pipe");
	for (int i = 0; i < 3; i++) {
		struct io_uring_sqe *s = next(r);
		io_uring_prep_read(s, late[0], buf[0], 1, -1);
		s->user_data = 1;
	}
	need(io_uring_submit(r) == 3, "submit");
	for (int round = 0; round < 500; round++) {
		for (int i = 0; i < ROOM; i++) {
			struct io_uring_sqe *s = next(r);
			io_uring_prep_read(s, p[0], buf[i], 1 + i, -1);
			s->user_data = 0;
		}
		need(io_uring_submit(r) == ROOM, "submit");
		for (int i = 0, n; i < ROOM; i += n) {
			need(write(p[1], "12345678", ROOM - i) == ROOM - i, "write");
			for (n = 0; !n;)
				n = reap(r, two_words);
		}
	}
}

static void *lap(void *ring)
{
	struct io_uring *r = ring;
	int late[2];

	laps(r, late);
	need(io_uring_enter(r->ring_fd, 0, 0, 0, NULL) == 0, "enter");
	need(write(late[1], "123", 3) == 3, "write");
	for (int n = 0; n < 3;)
		n += reap(r, two_words);
	return NULL;
}

/* handed: by another thread than the one that has entered it first. ends: with no call of
 * it behind the last answers. */
static void lapped(const char *how)
{
	struct io_uring_params params = { .flags = IORING_SETUP_CQSIZE,
		.cq_entries = ROOM };
	struct io_uring r;
	pthread_t other;

	if (io_uring_queue_init_params(ROOM, &r, &params) < 0)
		exit(2);
	for (int i = 0; i < ROOM; i++)
		need(io_uring_enter(r.ring_fd, 0, 0, 0, NULL) == 0, "enter");
	if (!strcmp(how, "ends")) {
		int late[2];
		laps(&r, late);
		tell();
		_exit(0);
	}
	if (strcmp(how, "handed") != 0)
		lap(&r);
	else
		need(!pthread_create(&other, NULL, lap, &r) &&
				!pthread_join(other, NULL),
			"pthread_create");
	io_uring_queue_exit(&r);
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
