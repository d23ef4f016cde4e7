/*
 * Working directories that move, by whoever it may be, around hot sites: a part of hot.c.
 * What is true here is known by what was done: to ask /proc would give the tracer time.
 */
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define FS      0x200
#define NEWNS   0x20000
#define NEWUSER 0x10000000

enum { ROUNDS = 20 };

static char top[NAME_SIZE / 2];

/* A file of the directory at, which is dir of the one that hot began in: by way of it, or
 * of "..", or of a link that leads there. */
static void put_at(struct me *m, int at, const char *dir, const char *name, long n)
{
	char whole[NAME_SIZE];
	struct f f = { MUST(openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), -1 };

	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	CHECK(snprintf(whole, NAME_SIZE, "%s%s/%s", top, dir, base) < NAME_SIZE);
	f.id = id_of(whole);
	put_hot(m, f, n);
	MUST(close(f.fd));
}

static void put_in(struct me *m, const char *dir, const char *name, long n)
{
	put_at(m, AT_FDCWD, dir, name, n);
}

static void put_many(struct me *m, const char *dir, const char *kind, long count)
{
	char name[32];

	for (long i = 0; i < count; i++) {
		sprintf(name, "%s%ld", kind, i % ROUNDS);
		m->site = i % NSITES;
		put_in(m, dir, name, 2);
	}
}

static void *path_of(char *out, const char *dir)
{
	CHECK(snprintf(out, NAME_SIZE, "%s%s", top, dir) < NAME_SIZE);
	return out;
}

static void begin(void)
{
	CHECK(getcwd(top, sizeof(top)));
}

/* One goes elsewhere before anything is hot, but after a path has come to mean another.
 */
static void chdirs(struct me *m)
{
	char a[NAME_SIZE];

	begin();
	CHECK(unlink("nothing") < 0);
	put_in(m, "", "x", 1);
	MUST(unlink("x"));
	MUST(mkdir(path_of(a, "/sub"), 0777));
	MUST(chdir(a));
	pid_t pid = MUST(fork());
	if (!pid) {
		struct me c = myself(BY_ASM);

		put_many(&c, "/sub", "child", 500 * times);
		_exit(0);
	}
	put_many(m, "/sub", "f", 500 * times);
	CHECK(!ended(pid));
	MUST(chdir(".."));
	put_many(m, "", "up", ROUNDS);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	see_pc(context);
}

/* A filter of the program's own, by which a call is not made. */
static void forbid(unsigned nr, unsigned how, int all_threads)
{
	struct filter code[] = { { LOAD, 0, 0, 0 }, { IS, 0, 1, nr },
		{ RETURN, 0, 0, how }, { RETURN, 0, 0, ALLOW } };
	struct {
		unsigned short n;
		struct filter *code;
	} prog = { 4, code };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (all_threads)
		MUST(syscall(SYS_seccomp, 1, 1, &prog));
	else
		MUST(prctl(PR_SET_SECCOMP, 2, &prog));
}

/* What a tracer might like to ask from inside. */
static void forbid_statx(int all_threads)
{
	forbid(SYS_statx, KILL, all_threads);
}

static void put_in_memory(struct me *m, const char *name, long n)
{
	char whole[NAME_SIZE];
	struct f f = { MUST(memfd_create(name, MFD_CLOEXEC)), -1 };

	CHECK(snprintf(whole, NAME_SIZE, "/memfd:%s (deleted)", name) < NAME_SIZE);
	f.id = id_of(whole);
	put_hot(m, f, n);
	MUST(close(f.fd));
}

/*
 * [signals] [filter]: files that are closed before anybody else could look: what they are
 * the call itself has to tell, also if a signal ends it, or a filter says what may be
 * asked.
 */
static void shorts(struct me *m)
{
	char name[NAME_SIZE];

	begin();
	put_many(m, "", "warm", 100);
	if (word("signals")) {
		handle(SIGALRM, on_alarm, SA_RESTART);
		every(250);
	}
	if (word("filter"))
		forbid_statx(0);
	MUST(mkdir("sub", 0777));
	int dir = MUST(open("sub", O_RDONLY | O_CLOEXEC));
	struct f log = {
		MUST(open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)), -1
	};
	path_of(name, "/log");
	log.id = id_of(name);
	for (long i = 0; i < 400 * times; i++) {
		sprintf(name, "%ld", i % ROUNDS);
		m->site = i % NSITES;
		put_in(m, "", name, 2);
		put_at(m, dir, "/sub", name, 3);
		put(m, log, 5);
		place_is(log, 1, i * 5, 5);
		if (i % 8 == 0)
			put_in_memory(m, name, 2);
	}
	every(0);
}

static void *makes_shorts(void *id)
{
	struct me m = myself(P(id) % NSITES);
	char kind[16];

	sprintf(kind, "of%ld.", P(id));
	while (GET(&all->go))
		put_many(&m, "", kind, ROUNDS);
	return NULL;
}

static void *is_filtered(void *id)
{
	forbid_statx(0);
	return makes_shorts(id);
}

/* MILLISECONDS: of threads that open files all the time one is under such a filter. */
static void filtered(struct me *m)
{
	pthread_t t[4];

	(void)m;
	begin();
	SET(&all->go, 1);
	for (long i = 0; i < 4; i++)
		t[i] = thread_of(i ? makes_shorts : is_filtered, (void *)i);
	nap(1000 * arg(0, 10));
	SET(&all->go, 0);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
}

/* The filter comes upon threads that open files all the time; once in each process. */
static void tsync_once(struct me *m)
{
	pthread_t t[4];

	put_many(m, "", "warm", 100);
	SET(&all->go, 1);
	for (long i = 0; i < 4; i++)
		t[i] = thread_of(makes_shorts, (void *)i);
	nap(4000);
	forbid_statx(1);
	nap(2000);
	SET(&all->go, 0);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void tsync(struct me *m)
{
	begin();
	for (long i = 0; i < 8 * times; i++) {
		pid_t pid = MUST(fork());
		if (!pid) {
			struct me c = myself(BY_ASM);

			tsync_once(&c);
			_exit(0);
		}
		CHECK(!ended(pid));
	}
	tsync_once(m);
}

static void *waits(void *end)
{
	struct me m = myself(BY_LIBC);

	get(&m, *(struct f *)end, 1);
	return NULL;
}

/* What several threads are in is renamed, and exchanged with another. */
static void cwds(struct me *m)
{
	char a[NAME_SIZE], b[NAME_SIZE], name[32];
	struct f p[2];
	pthread_t t[3];

	begin();
	pipe_f(p);
	for (int i = 0; i < 3; i++)
		t[i] = thread_of(waits, p);
	put_many(m, "", "warm", 100);
	MUST(mkdir(path_of(a, "/a"), 0777));
	MUST(chdir(a));
	for (int i = 0; i < ROUNDS * times; i++) {
		const char *to = i % 2 ? "/a" : "/b";

		MUST(rename(path_of(a, i % 2 ? "/b" : "/a"), path_of(b, to)));
		sprintf(name, "f%d", i % ROUNDS);
		put_in(m, to, name, 3);
	}
	MUST(mkdir(path_of(b, "/b"), 0777));
	for (int i = 0; i < ROUNDS * times; i++) {
		path_of(a, "/a");
		CHECK(!syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
		sprintf(name, "x%d", i % ROUNDS);
		put_in(m, i % 2 ? "/a" : "/b", name, 3);
	}
	put(m, p[1], 3);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(t[i], NULL));
	MUST(chdir(top));
}

static void kin_works(struct f in, struct f out)
{
	struct me m = myself(BY_ASM);

	get(&m, in, 1);
	MUST(chdir("sub"));
	put(&m, out, 1);
	get(&m, in, 1);
	put_many(&m, "/sub", "child", ROUNDS);
	put(&m, out, 1);
	get(&m, in, 1);
	put_many(&m, "/moved", "child", ROUNDS);
	_exit(0);
}

/* Two processes share what they are in: one goes elsewhere, then that is renamed. */
static void fs_kin(struct me *m)
{
	struct f in[2], out[2];
	char a[NAME_SIZE], b[NAME_SIZE];

	begin();
	put_many(m, "", "warm", 300);
	pipe_f(in);
	pipe_f(out);
	MUST(mkdir("sub", 0777));
	pid_t pid = MUST(syscall(SYS_clone, FS | SIGCHLD, 0, 0, 0, 0));
	if (!pid)
		kin_works(in[0], out[1]);
	put_many(m, "", "before", ROUNDS);
	put(m, in[1], 1);
	get(m, out[0], 1);
	put_many(m, "/sub", "parent", ROUNDS);
	put(m, in[1], 1);
	get(m, out[0], 1);
	MUST(rename(path_of(a, "/sub"), path_of(b, "/moved")));
	put_many(m, "/moved", "parent", ROUNDS);
	put(m, in[1], 1);
	CHECK(!ended(pid));
	MUST(chdir(".."));
	put_many(m, "", "after", ROUNDS);
}

/* Into a root of its own, by rights of its own if it takes those. */
static void enter(const char *dir)
{
	if (word("mounts") && syscall(SYS_unshare, NEWNS) < 0)
		MUST(syscall(SYS_unshare, NEWUSER | NEWNS));
	if (chroot(dir) < 0) {
		MUST(syscall(SYS_unshare, NEWUSER));
		MUST(chroot(dir));
	}
	MUST(chdir("/"));
}

/* [mounts]: paths mean something else, also those that links lead to and that climb. */
static void jailed(struct me *m)
{
	char name[32];

	begin();
	put_many(m, "", "warm", 100);
	MUST(mkdir("jail", 0777));
	MUST(mkdir("a", 0777)); /* to be taken for the other one */
	enter("jail");
	strcat(top, "/jail");
	MUST(mkdir("/a", 0777));
	MUST(symlink("/a", "link"));
	put_many(m, "", "f", 100);
	MUST(chdir("/a"));
	for (long i = 0; i < 100 * times; i++) {
		m->site = i % NSITES;
		sprintf(name, "/link/l%ld", i % ROUNDS);
		put_at(m, AT_FDCWD, "/a", name, 2);
		sprintf(name, "../up%ld", i % ROUNDS);
		put_at(m, AT_FDCWD, "", name, 2);
		put_in(m, "/a", name + 3, 1);
		MUST(rename("/a", "/b"));
		put_in(m, "/b", name + 3, 3);
		MUST(rename("../b", "../../a"));
	}
}

static void *is_busy(void *f)
{
	struct me m = myself(BY_ASM);

	while (GET(&all->go))
		put(&m, *(struct f *)f, 3);
	return NULL;
}

static long rmdir_by(int how, const char *dir, const char *file)
{
#ifdef __x86_64__
	long n;

	if (how) {
		__asm__ volatile("int $0x80"
				 : "=a"(n)
				 : "a"(40), "b"(dir), "c"(file)
				 : "memory", "r8", "r9", "r10", "r11");
		return n;
	}
#endif
	(void)how;
	return syscall(SYS_rmdir, dir, file);
}

/*
 * A directory goes while a register holds, by chance, the path of something else; what is
 * beside it is found by way of it still.
 */
static void rmdirs(struct me *m)
{
	char *dir = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	char *file = dir + NAME_SIZE, name[32];
	struct f null = null_f();

	CHECK(dir != MAP_FAILED);
	begin();
	SET(&all->go, 1);
	pthread_t t = thread_of(is_busy, &null);
	put_many(m, "", "warm", 100);
	MUST(mkdir("d", 0777));
	for (long i = 0; i < 40 * times; i++) {
		path_of(file, "/e");
		MUST(mkdir(path_of(dir, "/d/e"), 0777));
		int e = MUST(open(dir, O_RDONLY | O_CLOEXEC));
		CHECK(!rmdir_by(i % 2 && !word("plain"), dir, file));
		m->site = i % NSITES;
		sprintf(name, "../f%ld", i % ROUNDS);
		put_at(m, e, "/d", name, 4);
		MUST(close(e));
	}
	SET(&all->go, 0);
	CHECK(!pthread_join(t, NULL));
}
