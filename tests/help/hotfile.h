/*
 * Descriptors that come and go around hot sites: a part of hot.c.
 */
#include <sys/un.h>

enum { NAMES = 8, FIXED_FD = 77 };

static struct f names[NAMES];
static u64 turn;

/* Many short lives. */
static void files(struct me *m)
{
	char name[32];

	for (long i = 0; i < 200; i++) {
		sprintf(name, "short%ld", i % 150);
		for (int k = 0; k < times; k++) {
			struct f f = new_file(name);
			long at = 0;

			for (long n = 1; n < 6; at += n++) {
				m->site = n % NSITES;
				put(m, f, n);
				place_is(f, 1, at, n);
			}
			MUST(close(f.fd));
		}
		MUST(unlink(name));
	}
}

/* What is written goes to the name that the file has at the time. */
static void rename_hot(struct me *m)
{
	struct f f = new_file("first"), over = new_file("over");

	put_hot(m, over, 20);
	for (long i = 0; i < 40 * times; i++) {
		put_hot(m, f, 8);
		MUST(rename(i % 2 ? "second" : "first", i % 2 ? "first" : "second"));
		f.id = file_id(f.fd);
		put_hot(m, f, 8);
	}
	MUST(rename("first", "over"));
	f.id = file_id(f.fd);
	put_hot(m, f, 8);
	over.id = file_id(over.fd);
	put_hot(m, over, 8);
	MUST(unlink("over"));
	f.id = file_id(f.fd);
	put_hot(m, f, 8);
}

static void *reopener(void *id)
{
	struct me m = myself(P(id) % NSITES);
	char name[16];

	for (long i = 0; i < 250 * times; i++) {
		struct f f = names[(i + P(id)) % NAMES];

		sprintf(name, "name%ld", (i + P(id)) % NAMES);
		f.fd = MUST(open(name, O_WRONLY | O_APPEND));
		put(&m, f, 1 + i % 5);
		put(&m, f, 2);
		MUST(close(f.fd));
	}
	return NULL;
}

/* Threads that close and open get one another's numbers for other files. */
static void reopen(struct me *m)
{
	pthread_t t[4];
	char name[16];

	(void)m;
	for (int i = 0; i < NAMES; i++) {
		sprintf(name, "name%d", i);
		names[i] = new_file(name);
	}
	for (long i = 0; i < 4; i++)
		t[i] = thread_of(reopener, (void *)i);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void *turn_taker(void *rounds)
{
	struct me m = myself(BY_ASM);

	for (u64 i = 0; i < (u64)P(rounds); i++) {
		while (GET(&turn) != 2 * i + 1)
			sched_yield();
		put_hot(&m, (struct f){ FIXED_FD, names[i % NAMES].id }, 6);
		SET(&turn, 2 * i + 2);
	}
	return NULL;
}

/* One thread gives a number to another file, the other writes to it, and so on. */
static void dups(struct me *m)
{
	long rounds = 60 * times;
	pthread_t t = thread_of(turn_taker, (void *)rounds);
	char name[16];

	for (int i = 0; i < NAMES; i++) {
		sprintf(name, "name%d", i);
		names[i] = new_file(name);
	}
	for (long i = 0; i < rounds; i++) {
		MUST(i % 3 ? dup2(names[i % NAMES].fd, FIXED_FD)
			   : dup3(names[i % NAMES].fd, FIXED_FD, O_CLOEXEC));
		SET(&turn, 2 * i + 1);
		while (GET(&turn) != (u64)(2 * i + 2))
			sched_yield();
		put_hot(m, (struct f){ FIXED_FD, names[i % NAMES].id }, 3);
	}
	CHECK(!pthread_join(t, NULL));
}

static void *race_writer(void *m)
{
	*(struct me *)m = myself(BY_ASM);
	while (GET(&all->go))
		put((struct me *)m, (struct f){ FIXED_FD, -1 }, 3);
	return NULL;
}

/* A number changes its file in the middle of a write: the kernel alone knows the file. */
static void dup_race(struct me *m)
{
	struct f f[2] = { open_f("race0", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND),
		open_f("race1", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND) };
	struct me other;
	struct stat st;
	u64 bytes = 0;

	(void)m;
	SET(&all->go, 1);
	MUST(dup2(f[0].fd, FIXED_FD));
	pthread_t t = thread_of(race_writer, &other);
	for (long i = 0; i < 200 * times; i++) {
		MUST(dup2(f[i % 2].fd, FIXED_FD));
		sched_yield();
	}
	SET(&all->go, 0);
	CHECK(!pthread_join(t, NULL));
	for (int i = 0; i < 2; i++) {
		MUST(fstat(f[i].fd, &st));
		bytes += st.st_size;
		/* Each may be taken for the other: only their sum is known to all. */
		ADD(&all->file[f[i].id].rw[1][MAYBE], other.task->rw[1][OPS]);
		ADD(&all->file[f[i].id].rw[1][MAYBE_SIZE], other.task->rw[1][SIZE]);
	}
	CHECK(bytes == other.task->rw[1][SIZE]);
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	sprintf(a.sun_path, "sock");
	return a;
}

static void client(long count)
{
	struct sockaddr_un a = address();

	while (count--) {
		struct me m = myself(count % NSITES);
		struct f f = { MUST(socket(AF_UNIX, SOCK_STREAM, 0)), -1 };

		MUST(connect(f.fd, (struct sockaddr *)&a, sizeof(a)));
		put(&m, f, 10);
		get(&m, f, 5);
		MUST(close(f.fd));
	}
	_exit(0);
}

/* Connections of a few bytes each. */
static void accepts(struct me *m)
{
	struct sockaddr_un a = address();
	int s = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	long count = 100 * times;
	pid_t pid;

	unlink(a.sun_path);
	MUST(bind(s, (struct sockaddr *)&a, sizeof(a)));
	MUST(listen(s, 5));
	pid = MUST(fork());
	if (!pid)
		client(count);
	while (count--) {
		struct f f = { MUST(accept(s, NULL, NULL)), -1 };
		struct iovec v = { sink, 10 };
		struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

		m->site = count % 2;
		CHECK(io(m, RECVMSG, f, &h, 0) == 10);
		v.iov_len = 5;
		CHECK(io(m, SENDMSG, f, &h, 0) == 5);
		MUST(close(f.fd));
	}
	CHECK(!ended(pid));
}

/* Two processes take turns, by pipes, at one open file: its offset is theirs. */
static void shared(struct me *m)
{
	struct f p[2], q[2], f = new_file("shared");
	long i, count = 200 * times;
	pid_t pid;

	pipe_f(p);
	pipe_f(q);
	pid = MUST(fork());
	if (!pid) {
		struct me c = myself(BY_ASM);

		for (i = 0; i < count; i++) {
			get(&c, p[0], 1);
			put(&c, f, 7);
			place_is(f, 1, i * 10 + 3, 7);
			put(&c, q[1], 1);
		}
		_exit(0);
	}
	for (i = 0; i < count; i++) {
		put(m, f, 3);
		place_is(f, 1, i * 10, 3);
		put(m, p[1], 1);
		get(m, q[0], 1);
	}
	CHECK(!ended(pid) && lseek(f.fd, 0, SEEK_CUR) == count * 10);
}

static void appender(struct me *m, const char *name, int n, long count)
{
	struct f f = open_f(name, O_WRONLY | O_APPEND);

	while (count--) {
		put(m, f, n);
		place_is(f, 1, MUST(lseek(f.fd, 0, SEEK_CUR)) - n, n);
	}
}

/*
 * Two processes append at the same time; each knows by its own offset where it was. Who
 * appends alone leaves no doubt of any place: hotcheck.py.
 */
static void append(struct me *m)
{
	pid_t pid;

	MUST(close(new_file("alone").fd));
	appender(m, "alone", 4, 300 * times);
	MUST(close(new_file("append").fd));
	pid = MUST(fork());
	if (!pid) {
		struct me c = myself(BY_ASM);

		appender(&c, "append", 5, 300 * times);
		_exit(0);
	}
	appender(m, "append", 3, 300 * times);
	CHECK(!ended(pid));
}

/* Offsets by lseek(), by calls that move them and by those that do not, over dup(). */
static void seeks(struct me *m)
{
	struct f f = new_file("seeks"), d = { MUST(dup(f.fd)), f.id };
	struct iovec v[2] = { { pattern, 4 }, { pattern, 9 } };

	for (long i = 0; i < 80 * times; i++) {
		long at = i * 37 % 500;

		m->site = i % NSITES;
		MUST(lseek(f.fd, at, SEEK_SET));
		put(m, d, 10);
		place_is(f, 1, at, 10);
		CHECK(io_at(m, PWRITE, f, pattern, 8, at + 90) == 8);
		place_is(f, 1, at + 90, 8);
		CHECK(io(m, WRITEV, f, v, 2) == 13);
		place_is(f, 1, at + 10, 13);
		MUST(lseek(d.fd, -20, SEEK_CUR));
		get(m, f, 6);
		place_is(f, 0, at + 3, 6);
		CHECK(io_at(m, PREAD, f, sink, 2, at + 1) == 2);
		place_is(f, 0, at + 1, 2);
		at = MUST(lseek(f.fd, 0, SEEK_END));
		CHECK(!io(m, READ, d, sink, 5));
		place_is(f, 0, at, 0);
	}
}

/* A file that lies open at n, of which nothing else knows. */
static struct f anew(const char *name, long n)
{
	struct f f = open_f(name, O_RDWR | O_CREAT);

	MUST(lseek(f.fd, n, SEEK_SET));
	return f;
}

static void put_places(struct me *m, struct f f, long at, long count)
{
	for (; count--; at += 3) {
		put(m, f, 3);
		place_is(f, 1, at, 3);
	}
}

/* Few calls at first, while numbers change their files; then many. */
static void late(struct me *m)
{
	struct f a = anew("late0", 0), b = anew("late1", 7), c = anew("late2", 90), d;

	put_places(m, a, 0, 2);
	put_places(m, b, 7, 2);
	MUST(close(a.fd));
	d = anew("late1", 1000);
	CHECK(d.fd == a.fd);
	put_places(m, d, 1000, 1);
	MUST(close(d.fd));
	d = anew("late1", 2000); /* the same file and number, another position */
	CHECK(d.fd == a.fd);
	MUST(dup2(c.fd, b.fd)); /* one position for both from now on */
	b = (struct f){ b.fd, c.id };
	put_places(m, c, 90, 1);
	put_places(m, d, 2000, 40);
	put_places(m, b, 93, 40);
	put_places(m, c, 213, 40);
}

enum { KIN_ROUNDS = 3, KIN_HOT = 40, KIN_STEP = 3 + 3 * KIN_HOT };

static void wait_turn(u64 n)
{
	while (GET(&all->go) != n)
		sched_yield();
}

/* One makes many calls, the other few: what they share is at one position all the time.
 */
static void kin(struct me *m)
{
	struct f f = anew("kin", 0), own = { -1, -1 };
	long at = 0;
	pid_t pid;

	SET(&all->go, 0);
	pid = MUST(fork());
	if (!pid) {
		struct me c = myself(BY_ASM);

		for (u64 i = 0; i < KIN_ROUNDS; i++) {
			wait_turn(2 * i + 1);
			put_places(&c, f, i ? 5003 + (i - 1) * KIN_STEP : 3, KIN_HOT);
			SET(&all->go, 2 * i + 2);
		}
		_exit(0);
	}
	for (u64 i = 0; i < KIN_ROUNDS; i++) {
		if (i == 1)
			at = MUST(lseek(f.fd, 5000, SEEK_SET));
		put_places(m, f, at, 1);
		SET(&all->go, 2 * i + 1);
		wait_turn(2 * i + 2);
		at += KIN_STEP;
		CHECK(lseek(f.fd, 0, SEEK_CUR) == at);
	}
	/* The same number and file, but nobody's position any more. */
	MUST(close(f.fd));
	own = anew("kin", 9000);
	CHECK(own.fd == f.fd && !ended(pid));
	put_places(m, own, 9000, 60);
}

/* More descriptors than anybody likes to look at, all open before anything is hot. */
static void many(struct me *m)
{
	enum { MANY = 150 };
	struct f f[MANY];
	char name[16];

	for (int i = 0; i < MANY; i++) {
		sprintf(name, "many%d", i);
		f[i] = anew(name, i);
	}
	for (int i = 0; i < MANY; i++) {
		put_places(m, f[i], i, 3);
		MUST(close(f[i].fd));
	}
}

/* Who gives up its rights runs without stops all the same. */
static void rights(struct me *m)
{
	struct f f = anew("rights", 0);
	struct {
		unsigned version;
		int pid;
		unsigned sets[6];
	} none = { 0x20080522, 0, { 0 } };

	(void)m;
	for (int how = 0; how < 3; how++) {
		pid_t pid = MUST(fork());

		if (!pid) {
			struct me c = myself(BY_ASM);

			put_hot(&c, f, 2);
			if (how == 1 && !geteuid())
				MUST(syscall(SYS_setresuid, 65534, 65534, 65534));
			if (how == 2)
				MUST(syscall(SYS_capset, &none, none.sets));
			put_hot(&c, f, 200);
			_exit(0);
		}
		CHECK(!ended(pid));
	}
}

static void *opens_own(void *id)
{
	struct me m = myself(P(id) % NSITES);
	char name[16];

	for (long i = 0; GET(&all->go); i++) {
		sprintf(name, "of%ld.%ld", P(id), i % 10);
		struct f f = open_f(name, O_WRONLY | O_CREAT);
		put(&m, f, 2);
		MUST(close(f.fd));
	}
	return NULL;
}

/* What a child finds open is what it was when it was born. */
static void use_inherited(const char *dir)
{
	struct me m = myself(BY_ASM);
	size_t len = strlen(dir);

	for (int fd = 3; fd < 24; fd++) {
		if (fcntl(fd, F_GETFL) < 0)
			continue;
		struct f f = { fd, file_id(fd) };
		if (!strncmp(all->file[f.id].name, dir, len))
			put(&m, f, 3);
	}
	_exit(0);
}

/* Children are born while other threads open and close. */
static void heirs(struct me *m)
{
	char dir[NAME_SIZE];
	pthread_t t[3];

	put_hot(m, null_f(), 100);
	strcat(getcwd(dir, NAME_SIZE - 4), "/of");
	SET(&all->go, 1);
	for (long i = 0; i < 3; i++)
		t[i] = thread_of(opens_own, (void *)i);
	for (long i = 0; i < 60 * times; i++) {
		pid_t pid = MUST(fork());
		if (!pid)
			use_inherited(dir);
		CHECK(!ended(pid));
	}
	SET(&all->go, 0);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void *dups_own(void *id)
{
	struct me m = myself(P(id) % NSITES);
	char name[16];

	sprintf(name, "dup%ld", P(id));
	struct f f = open_f(name, O_WRONLY | O_CREAT);
	for (long i = 0; i < 400 * times; i++) {
		struct f d = { MUST(fcntl(f.fd, i % 2 ? F_DUPFD : F_DUPFD_CLOEXEC, 3)),
			f.id };
		put(&m, d, 3);
		MUST(close(d.fd));
	}
	return NULL;
}

static void *has_parted(void *done)
{
	struct me m = myself(BY_LIBC);

	/* close_range(2), CLOSE_RANGE_UNSHARE: Linux 5.9 */
	if (syscall(436, 1000, 2000, 2) < 0)
		return done;
	for (long i = 0; i < 300 * times; i++) {
		struct f f = open_f("parted", O_WRONLY | O_CREAT);
		put(&m, f, 5);
		MUST(close(f.fd));
	}
	return done;
}

/* Threads give and take the same numbers, by fcntl(2), and one with a table of its own.
 */
static void numbers(struct me *m)
{
	pthread_t t[4];

	put_hot(m, null_f(), 100);
	for (long i = 0; i < 4; i++)
		t[i] = thread_of(i < 3 ? dups_own : has_parted, (void *)i);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
}
