/*
 * Processes and threads that are born, exec and die around hot sites: a part of hot.c.
 */
#ifdef __GLIBC__
#include <spawn.h>
#endif

#define VM       0x100
#define FILES    0x400
#define VFORK    0x4000
#define UNTRACED 0x00800000

extern char **environ;
static struct f born;
static int shared_fd;

/* What each child does; one without a libc of its own may use its own sites alone. */
static void child_works(int last_site)
{
	for (int site = NSITES - 1; site >= last_site; site--) {
		struct me m = myself(site);

		put_hot(&m, born, 12);
	}
}

static int cloned(void *site)
{
	child_works(P(site));
	syscall(SYS_exit, 5);
	return 0;
}

static void wait_for(pid_t pid, int code)
{
	int status = ended(MUST(pid));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static int opens_for_parent(void *m)
{
	(void)m;
	shared_fd = open_f("by-child", O_RDWR | O_CREAT | O_TRUNC).fd;
	child_works(BY_LIBC);
	syscall(SYS_exit, shared_fd);
	return 0;
}

static void *has_own_files(void *out)
{
	struct me m = myself(BY_LIBC);
	struct f other = new_file("of-thread"), f = born;

	put_hot(&m, f, 10);
	MUST(unshare(FILES));
	MUST(dup2(other.fd, f.fd));
	f.id = other.id;
	put_hot(&m, f, 20);
	*(struct f *)out = other;
	return NULL;
}

static void vfork_child(void)
{
	pid_t pid = vfork();

	if (!pid) {
		child_works(BY_LIBC);
		_exit(5);
	}
	wait_for(pid, 5);
}

static void fork_children(void)
{
	pid_t pid = fork();

	if (!pid) {
		child_works(BY_LIBC);
		pid = MUST(fork());
		if (!pid)
			child_works(BY_LIBC);
		else
			wait_for(pid, 5);
		_exit(5);
	}
	wait_for(pid, 5);
	pid = syscall(SYS_fork);
	if (!pid)
		cloned((void *)BY_SYSCALL);
	wait_for(pid, 5);
}

static void untraced_child(struct me *m)
{
	struct {
		u64 flags, pidfd, child_tid, parent_tid, signal, stack, size, tls;
	} c = { .flags = UNTRACED, .signal = SIGCHLD };
	pid_t pid = syscall(SYS_clone, UNTRACED | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		cloned((void *)BY_SYSCALL);
	put_hot(m, born, 12);
	wait_for(pid, 5);
	pid = syscall(435, &c, sizeof(c)); /* clone3 */
	if (!pid)
		cloned((void *)BY_SYSCALL);
	if (pid > 0)
		wait_for(pid, 5);
}

static void spawn_child(void)
{
#ifdef __GLIBC__
	char *args[] = { "hot", "leaf", NULL };
	pid_t pid;

	CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ));
	wait_for(pid, 0);
#endif
}

/* All ways to make a process or thread: each child's calls are its own. */
static void births(struct me *m)
{
	char *stack = malloc(STACK_SIZE);
	struct f f;
	pid_t pid;

	born = new_file("born");
	for (int i = 0; i < 2 * times; i++) {
		m->site = BY_LIBC;
		put_hot(m, born, 20);
		m->site = BY_ASM;
		put_hot(m, born, 20);
		vfork_child();
		fork_children();
		pid = clone(cloned, stack + STACK_SIZE, VM | SIGCHLD, (void *)BY_ASM);
		put_hot(m, born, 12);
		wait_for(pid, 5);
		pid = clone(
			cloned, stack + STACK_SIZE, VM | VFORK | SIGCHLD, (void *)BY_ASM);
		wait_for(pid, 5);
		shared_fd = 0;
		pid = clone(opens_for_parent, stack + STACK_SIZE, FILES | SIGCHLD, NULL);
		pid = ended(MUST(pid));
		CHECK(WIFEXITED(pid) && WEXITSTATUS(pid) > 2);
		f = (struct f){ WEXITSTATUS(pid), file_id(WEXITSTATUS(pid)) };
		put_hot(m, f, 12);
		MUST(close(f.fd));
		CHECK(!pthread_join(thread_of(has_own_files, &f), NULL));
		put_hot(m, born, 12);
		put_hot(m, f, 12);
		MUST(close(f.fd));
		untraced_child(m);
		spawn_child();
	}
}

static void leaf(struct me *m)
{
	struct f f = null_f();

	for (m->site = 0; m->site < NSITES; m->site++)
		put_hot(m, f, 10);
}

static void *hot_until_killed(void *f)
{
	struct me m = myself(BY_ASM);

	m.risky = 1;
	for (;;)
		put_hot(&m, *(struct f *)f, 10);
	return NULL;
}

static void *exec_again(void *f)
{
	struct me m = myself(BY_LIBC);

	nap(3000);
	put_hot(&m, *(struct f *)f, 50);
	return (void *)(long)MUST(execv("/proc/self/exe", whole_argv));
}

/* A thread that is not the first execs while the others are hot; and so does its image.
 */
static void execs(struct me *m)
{
	static struct f f;

	f = open_f("execs", O_WRONLY | O_CREAT | O_APPEND);
	put_hot(m, f, 20);
	if (all->execs++ == (u64)(3 * times))
		return;
	for (int i = 0; i < 3; i++)
		thread_of(hot_until_killed, &f);
	thread_of(exec_again, &f);
	for (m->risky = 1;;)
		put_hot(m, f, 10);
}

static void storm_child(struct f f, int i)
{
	struct me m = myself(i % NSITES);

	m.risky = 1;
	put_hot(&m, f, 10);
	if (i % 4 == 3) {
		thread_of(hot_until_killed, &f);
		thread_of(hot_until_killed, &f);
	}
	if (i % 2)
		for (;;)
			put_hot(&m, f, 10);
	put_hot(&m, f, 40);
	if (i % 6 == 2)
		kill(getpid(), SIGKILL);
	_exit(0);
}

/* Children of a hot parent, every second of which is killed in the middle. */
static void forks(struct me *m)
{
	struct f f = open_f("forks", O_WRONLY | O_CREAT | O_APPEND);
	pid_t pid[4];
	int i, status;

	for (i = 0; i < 24 * times; i++) {
		put_hot(m, f, 20);
		if (i >= 4 && i % 2 == 0)
			nap(1000);
		if (i >= 4) {
			if (i % 2)
				MUST(kill(pid[i % 4], SIGKILL));
			status = ended(pid[i % 4]);
			CHECK(i % 2 || !status || (i - 4) % 6 == 2);
		}
		pid[i % 4] = MUST(fork());
		if (!pid[i % 4])
			storm_child(f, i);
		m->site = i % NSITES;
	}
	for (i = 0; i < 4; i++) {
		kill(pid[i], SIGKILL);
		ended(pid[i]);
	}
}

/* Who is killed anywhere in the middle: what has come to the file is what it did. */
static void killed(struct me *m)
{
	struct f f = open_f("killed", O_WRONLY | O_CREAT | O_APPEND);
	struct stat st;
	long had = 0;

	for (int i = 0; i < 60 * times; i++) {
		u64 before = GET(&all->ntasks);
		pid_t pid = MUST(fork());
		if (!pid) {
			struct me c = myself(i % NSITES);
			for (;;)
				at_site(&c, WRITE, f.fd, pattern, 1, 0);
		}
		do
			nap(100 + 97 * i % 900);
		while (MUST(fstat(f.fd, &st)) || st.st_size == had);
		MUST(kill(pid, SIGKILL));
		ended(pid);
		MUST(fstat(f.fd, &st));
		struct me dead = { .task = &all->task[before] };
		for (; had < st.st_size; had++)
			book(&dead, WRITE, f, 1);
	}
	(void)m;
}

/* The command ends; its child goes on, and it is the child that tells what was done. */
static void outlive(struct me *m)
{
	struct f f = new_file("outlive");

	put_hot(m, f, 50);
	if (MUST(fork()))
		_exit(0);
	*m = myself(BY_LIBC);
	nap(100000);
	put_hot(m, f, 500 * times);
}

/* To be killed from outside: the size of the file says how far it came. */
static void endless(struct me *m)
{
	struct f f = new_file("endless");

	for (;;)
		put(m, f, 1);
}
