/*
 * flightsodd.h - of flights.c: what programs may do to a ring, and in a wait
 */
/* It gives up all mappings of rings that it finds, and uses the places for itself. */
static void unmapped(void)
{
	enum { MAPS = 16, PAGE = 4096 };
	char line[300], *own[MAPS];
	struct io_uring r;
	int n = 0;

	ring(&r, DEPTH);
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from[MAPS], to[MAPS];
	while (f && n < MAPS && fgets(line, sizeof(line), f))
		if (strstr(line, "[io_uring]") &&
			sscanf(line, "%lx-%lx", &from[n], &to[n]) == 2)
			n++;
	fclose(f);
	for (int i = 0; i < n; i++)
		need(!munmap((void *)from[i], to[i] - from[i]), "munmap");
	for (int i = 0; i < n; i++) {
		own[i] = mmap((void *)from[i], to[i] - from[i], PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(own[i] != MAP_FAILED, "mmap");
		memset(own[i], 'x', PAGE);
	}
	need(!close(r.ring_fd), "close");
	for (int i = 0; i < n; i++)
		need(own[i][0] == 'x', "its own memory"); /* or SIGSEGV */
}

static int end_ring(void *fd)
{
	close(*(int *)fd);
	return 0;
}

/* Another process closes it, which has the same descriptors. */
static void partners(void)
{
	static char stack[65536];

	for (int vm = 0; vm < 2; vm++) {
		struct io_uring r;
		int p[2], status;
		need(!pipe(p), "pipe");
		ring(&r, DEPTH);
		need(!io_uring_register_files(&r, &p[1], 1), "register_files");
		close(p[1]);
		munmap(r.sq.sqes, r.sq.ring_entries * sizeof(struct io_uring_sqe));
		munmap(r.sq.ring_ptr, r.sq.ring_sz);
		pid_t pid = clone(end_ring, stack + sizeof(stack),
			CLONE_FILES | (vm ? CLONE_VM : 0) | SIGCHLD, &r.ring_fd);
		need(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "clone");
		struct pollfd at = { .fd = p[0], .events = POLLIN };
		need(poll(&at, 1, 3000) == 1 && at.revents & POLLHUP, "end of file");
		close(p[0]);
	}
}

/* SIGCONT for who is not stopped, in the middle of a wait that has submitted. */
static void continued(void)
{
	struct io_uring r;
	int p[2], status;

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	for (int i = 0; i < 4; i++) {
		io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
		pid_t pid = fork();
		for (int j = 0; !pid && j < 3; j++) {
			usleep(30000);
			kill(getppid(), SIGCONT);
		}
		if (!pid)
			_exit(usleep(30000) || write(p[1], "x", 1) != 1);
		need(io_uring_submit_and_wait(&r, 1) == 1 && reap(&r, NULL) == 1,
			"a wait");
		need(waitpid(pid, &status, 0) == pid && !status, "the child");
	}
	io_uring_queue_exit(&r);
}

/* Who asks for more to be taken than there is does not wait. */
static void less(void)
{
	struct io_uring r;
	int p[2];

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	for (int i = 0; i < 4; i++) {
		io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
		need(io_uring_submit(&r) == 1, "submit");
		io_uring_prep_read(next(&r), p[0], buf[0], 1, 0);
		unsigned mask = *r.sq.kring_mask, tail = *r.sq.ktail;
		if (r.sq.array)
			r.sq.array[tail & mask] = r.sq.sqe_head & mask;
		r.sq.sqe_head++;
		__atomic_store_n(r.sq.ktail, tail + 1, __ATOMIC_RELEASE);
		need(io_uring_enter(r.ring_fd, 2, 1, IORING_ENTER_GETEVENTS, NULL) == 1,
			"one of two");
		need(write(p[1], "xx", 2) == 2, "write");
		for (int n = 0; n < 2;)
			n += reap(&r, NULL);
	}
	io_uring_queue_exit(&r);
}

static void *read_two(void *arg)
{
	struct io_uring *r = arg;
	struct io_uring_cqe *c;

	for (int n = 0; n < 2;) {
		if (io_uring_peek_cqe(r, &c))
			continue;
		note(READS, c->res);
		io_uring_cqe_seen(r, c);
		n++;
	}
	return NULL;
}

/* Until its first thread sleeps: proc(5). */
static void until_asleep(pid_t pid)
{
	char path[40], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		FILE *f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			_exit(1);
		fclose(f);
		usleep(1000);
	}
}

/* Another thread reads answers meanwhile: those count for the wait, too. */
static void read_by_others(void)
{
	struct io_uring r;
	pthread_t t;
	int p[2], status;

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	for (int i = 0; i < 4; i++)
		io_uring_prep_read(next(&r), p[0], buf[i], 1, 0);
	need(io_uring_submit(&r) == 4, "submit");
	need(!pthread_create(&t, NULL, read_two, &r), "pthread_create");
	pid_t pid = fork();
	if (!pid) {
		until_asleep(getppid());
		for (int i = 0; i < 4; i++) {
			usleep(50000);
			if (write(p[1], "x", 1) != 1)
				_exit(1);
			usleep(50000);
			kill(getppid(), SIGWINCH);
		}
		_exit(0);
	}
	need(!io_uring_enter(r.ring_fd, 0, 4, IORING_ENTER_GETEVENTS, NULL), "a wait");
	pthread_join(t, NULL);
	need(reap(&r, NULL) == 2, "the others");
	need(waitpid(pid, &status, 0) == pid && !status, "the child");
	io_uring_queue_exit(&r);
}

/* A thread with a ring of its own: waits for none, one, or all, and reads what is there. */
static void *mix(void *seed)
{
	enum { ROUNDS = 600, MOST = 8 };
	unsigned at = *(unsigned *)seed;
	int fd = open(path, O_RDWR), what[DEPTH], n = 0;
	char(*own)[SIZE] = malloc(DEPTH * SIZE);
	bool used[DEPTH] = { false };
	struct io_uring_cqe *c;
	struct io_uring r;

	need(own != NULL, "malloc");
	ring(&r, DEPTH);
	for (int i = 0; i < ROUNDS; i++) {
		for (unsigned ask = 1 + rand_r(&at) % MOST; ask && n < DEPTH; ask--, n++) {
			int slot = 0, off = rand_r(&at) % DEPTH * SIZE;
			unsigned len = rand_r(&at) % SIZE;
			while (used[slot])
				slot++;
			used[slot] = true;
			what[slot] = rand_r(&at) % 2 ? WRITES : READS;
			struct io_uring_sqe *s = next(&r);
			if (what[slot] == WRITES)
				io_uring_prep_write(s, fd, own[slot], len, off);
			else
				io_uring_prep_read(s, fd, own[slot], len, off);
			s->user_data = i * DEPTH + slot;
			if (!(rand_r(&at) % 16))
				s->flags |= IOSQE_ASYNC;
		}
		int turn = i == ROUNDS - 1 ? 2 : rand_r(&at) % 3;
		need(io_uring_submit_and_wait(&r, turn == 2 ? n : turn) >= 0, "submit");
		for (; !io_uring_peek_cqe(&r, &c); n--) {
			note(what[c->user_data % DEPTH], c->res);
			used[c->user_data % DEPTH] = false;
			io_uring_cqe_seen(&r, c);
		}
	}
	io_uring_queue_exit(&r);
	free(own);
	close(fd);
	return NULL;
}

static void private(void)
{
	static unsigned seed[] = { 1, 2, 3, 4 };
	enum { N = sizeof(seed) / sizeof(*seed) };
	pthread_t t[N];

	close(make());
	for (int i = 0; i < N; i++)
		need(!pthread_create(&t[i], NULL, mix, &seed[i]), "pthread_create");
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
}
