/*
 * Files that are opened, and asked what they are or not: a part of hot.c.
 */
/* What is opened may be asked what it is, and mostly is. */
enum { ASKED = 5 };
static struct f asked[ASKED], made[ASKED];
static struct me asker;

static int asked_open(int n, int dir)
{
	char name[16];

	sprintf(name, "asked%d", n);
	return MUST(dir < 0 ? open(name, O_RDONLY | O_CLOEXEC)
			    : openat(dir, name, O_RDONLY | O_CLOEXEC));
}

static void asked_read(struct me *m, int fd, int n, long bytes)
{
	get(m, (struct f){ fd, asked[n].id }, bytes);
}

/* One that is made to be written to, or is there, or was and is made anew. */
static void asked_write(struct me *m, long i)
{
	int n = i % ASKED, is_new = i / ASKED % 2 == 0;
	char name[16];
	struct stat st;

	sprintf(name, "made%d", n);
	if (is_new && i >= ASKED)
		MUST(unlink(name));
	int fd = MUST(open(name, O_WRONLY | O_CREAT | (is_new ? O_EXCL : 0), 0600));
	if (i < ASKED)
		made[n].id = file_id(fd);
	if (i % 3)
		MUST(fstat(fd, &st));
	put(m, (struct f){ fd, made[n].id }, 1 + i % 4);
	MUST(close(fd));
}

static void ask_in_between(int sig, siginfo_t *info, void *context)
{
	int was = errno, fd = asked_open(ASKED - 1, -1);
	struct stat st;

	(void)sig;
	(void)info;
	(void)context;
	if (nsignals++ % 2)
		MUST(fstat(fd, &st));
	asked_read(&asker, fd, ASKED - 1, 1);
	MUST(close(fd));
	errno = was;
}

static void *closes_and_opens(void *fd)
{
	struct me m = myself(BY_LIBC);

	MUST(close(P(fd)));
	MUST(dup2(asked[0].fd, P(fd)));
	asked_read(&m, P(fd), 0, 1);
	MUST(lseek(P(fd), 0, SEEK_SET));
	return NULL;
}

/* Between the opening of the nth and its first use; returns what it is by then. */
static int ask(struct me *m, long how, int fd, int n, int dir)
{
	struct stat st = { .st_size = -1 }, other;
	pid_t pid;

	switch (how) {
	case 0:
		MUST(fstat(fd, &st));
		CHECK(st.st_size == 64 + n);
		break;
	case 1: /* of another one, of nothing, to nowhere */
		MUST(fstat(dir, &st));
		CHECK(fstat(-1, &st) < 0 && syscall(SYS_fstat, fd, 4096l) < 0);
		break;
	case 2:
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), 4096);
		MUST(fstat(fd, &st));
		break;
	case 3: /* another one by the same number */
		MUST(close(fd));
		n = (n + 1) % (ASKED - 1);
		CHECK(asked_open(n, dir) == fd);
		MUST(fstat(fd, &st));
		CHECK(st.st_size == 64 + n);
		break;
	case 4:
		MUST(dup2(asked[n].fd, fd));
		MUST(lseek(fd, 0, SEEK_SET));
		break;
	case 5:
		pid = MUST(fork());
		if (!pid) {
			*m = myself(BY_SYSCALL);
			asked_read(m, fd, n, 1);
			_exit(0);
		}
		CHECK(!ended(pid));
		break;
	case 6:
		MUST(fstatat(dir, "asked0", &other, 0));
		MUST(fstatat(dir, "asked1", &st, 0));
		CHECK(st.st_size == other.st_size + 1);
		break;
	}
	return n;
}

static void asks(struct me *m)
{
	int dir = MUST(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	char name[16];
	pthread_t t;

	asker = *m;
	for (int i = 0; i < ASKED; i++) {
		sprintf(name, "asked%d", i);
		asked[i] = new_file(name);
		put(m, asked[i], 64 + i);
	}
	handle(SIGALRM, ask_in_between, SA_RESTART);
	every(500);
	for (long i = 0; i < 2000 * times; i++) {
		m->site = i % NSITES;
		int fd = asked_open(i % (ASKED - 1), i % 2 ? dir : -1);
		long how = i / 8 % 9;
		int n = ask(m, how == 5 && i % 50 ? 7 : how, fd, i % (ASKED - 1), dir);
		asked_read(m, fd, n, 1 + i % 3);
		MUST(close(fd));
		asked_write(m, i);
	}
	every(0);
	for (long i = 0; i < 30 * times; i++) { /* from now on a thread may do it */
		int fd = asked_open(1, -1);
		t = thread_of(closes_and_opens, (void *)(long)fd);
		CHECK(!pthread_join(t, NULL));
		asked_read(m, fd, 0, 2);
		MUST(close(fd));
		fd = asked_open(2, -1);
		asked_read(m, fd, 2, 2);
		MUST(close(fd));
	}
}
