/*
 * What hot counts, and the sites that its calls go through: a part of hot.c. All
 * tasks add to one shared mapping, of a memfd that is named in the environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	OUT_SIZE = 1 << 20,
	NAME_SIZE = 160,
	NFILES = 2048,
	NTASKS = 2048,
	NPLACES = 8192,
	BUF_SIZE = 65536,
	STACK_SIZE = 256 << 10,
	CELL = 64,
	NCELLS = 64,
	M_ARENA_MAX = -8
};
enum { OPS, SIZE, ERRORS, AGAIN, INTR, MAYBE, MAYBE_SIZE, NCNT };
enum { READ, WRITE, PREAD, PWRITE, READV, WRITEV, SENDMSG, RECVMSG, NCALLS };
enum { BY_LIBC, BY_SYSCALL, BY_ASM, NSITES };

typedef unsigned long long u64 __attribute__((aligned(8)));
struct file {
	char name[NAME_SIZE];
	u64 rw[2][NCNT];
};
struct task {
	u64 pid, tid, rw[2][NCNT];
};
/* What lies where in a file: the offsets that an export has to give. */
struct place {
	int file, wr;
	long long off, n;
};
struct totals {
	u64 lock, nfiles, ntasks, nplaces, execs, go, calm, call[NCALLS][NCNT];
	struct file file[NFILES];
	struct task task[NTASKS];
	struct place place[NPLACES];
};
/* One task at work, which is not always known to libc. */
struct me {
	struct task *task;
	int site, risky;
	char *cell;
};
/* seccomp(2): an instruction of a filter, and its codes. */
struct filter {
	unsigned short code;
	unsigned char jt, jf;
	unsigned k;
};
enum {
	LOAD = 0x20,
	IS = 0x15,
	GE = 0x35,
	RETURN = 6,
	ALLOW = 0x7fff0000,
	KILL = 1u << 31
};
/* A file whose number is -1 is counted in the sums alone. */
struct f {
	int fd, id;
};

static const struct {
	const char *name;
	long nr;
	int wr;
} calls[NCALLS] = {
	{ "read", SYS_read, 0 },
	{ "write", SYS_write, 1 },
	{ "pread64", SYS_pread64, 0 },
	{ "pwrite64", SYS_pwrite64, 1 },
	{ "readv", SYS_readv, 0 },
	{ "writev", SYS_writev, 1 },
	{ "sendmsg", SYS_sendmsg, 1 },
	{ "recvmsg", SYS_recvmsg, 0 },
};
static struct totals *all;
static char pattern[BUF_SIZE], sink[BUF_SIZE];
static long times = 1;
static char **own_argv, **whole_argv;
extern int mallopt(int, int) __attribute__((weak));

#define P(x)      ((long)(x))
#define ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define GET(p)    __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SET(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define STR_(x)   #x
#define STR(x)    STR_(x)
#define CHECK(ok)                                                                        \
	do                                                                               \
		if (!(ok))                                                               \
			wrong(#ok, __LINE__);                                            \
	while (0)
#define MUST(x) must(x, #x)

static void wrong(const char *what, int line)
{
	int e = errno;

	dprintf(2, "hot: line %d: %s (errno %d)\n", line, what, e);
	syscall(SYS_exit_group, 9);
}

static long must(long r, const char *what)
{
	if (r < 0)
		wrong(what, 0);
	return r;
}

#ifdef __x86_64__
/*
 * Sites in the program's own text, each of a kind that can be patched: a number that is
 * loaded right before, or a gap behind. Of the cells each is cold until it is used.
 */
__asm__(".text\n.balign 64\n"
	"asm_read: mov %rcx, %r10\n xor %eax, %eax\n syscall\n ret\n.balign 32\n"
	"asm_write: mov %rcx, %r10\n mov $1, %eax\n syscall\n ret\n.balign 32\n"
	"asm_pread: mov %rcx, %r10\n mov $17, %eax\n syscall\n ret\n.balign 32\n"
	"asm_pwrite: mov %rcx, %r10\n mov $18, %eax\n syscall\n ret\n.balign 64\n"
	"cells: .rept " STR(
		64) "\n xor %eax, %eax\n syscall\n cmp $-4095, %rax\n ret\n"
		    ".balign 32\n mov $1, %eax\n syscall\n ret\n.balign 64\n.endr\n");
extern long asm_read(int, const void *, long, long),
	asm_write(int, const void *, long, long),
	asm_pread(int, const void *, long, long),
	asm_pwrite(int, const void *, long, long);
extern char cells[];
typedef long (*cell_fn)(int, const void *, long);

static long by_asm(const struct me *m, int c, int fd, const void *b, long n, long off)
{
	if (m->cell && c < PREAD)
		return ((cell_fn)(m->cell + (c == WRITE ? CELL / 2 : 0)))(fd, b, n);
	switch (c) {
	case READ:
		return asm_read(fd, b, n, off);
	case WRITE:
		return asm_write(fd, b, n, off);
	case PREAD:
		return asm_pread(fd, b, n, off);
	case PWRITE:
		return asm_pwrite(fd, b, n, off);
	}
	return -ENOSYS;
}
#else
static char cells[CELL * NCELLS];
#endif

static long by_syscall(int c, int fd, const void *b, long n, long off)
{
	long r = syscall(calls[c].nr, fd, b, n, off, off < 0 ? -1l : 0l, 0);

	return r < 0 ? -errno : r;
}

static long by_libc(int c, int fd, const void *b, long n, long off)
{
	long r = -1;

	switch (c) {
	case READ:
		r = read(fd, (void *)b, n);
		break;
	case WRITE:
		r = write(fd, b, n);
		break;
	case PREAD:
		r = pread(fd, (void *)b, n, off);
		break;
	case PWRITE:
		r = pwrite(fd, b, n, off);
		break;
	case READV:
		r = readv(fd, b, n);
		break;
	case WRITEV:
		r = writev(fd, b, n);
		break;
	case SENDMSG:
		r = sendmsg(fd, b, n);
		break;
	case RECVMSG:
		r = recvmsg(fd, (void *)b, n);
		break;
	}
	return r < 0 ? -errno : r;
}

static void add(struct me *m, int c, struct f f, int what, u64 v)
{
	ADD(&all->call[c][what], v);
	ADD(&m->task->rw[calls[c].wr][what], v);
	if (f.id >= 0)
		ADD(&all->file[f.id].rw[calls[c].wr][what], v);
}

/* The result is 0 or more, or a negated error. */
static long book(struct me *m, int c, struct f f, long r)
{
	if (r >= 0) {
		add(m, c, f, OPS, 1);
		add(m, c, f, SIZE, r);
	} else {
		add(m, c, f, r == -EINTR ? INTR : r == -EAGAIN ? AGAIN : ERRORS, 1);
	}
	return r;
}

/* Who may be killed at any moment says before what it is about to do. */
static void maybe(struct me *m, int c, struct f f, long n, long sign)
{
	add(m, c, f, MAYBE, sign);
	add(m, c, f, MAYBE_SIZE, sign * n);
}

static long at_site(const struct me *m, int c, int fd, const void *b, long n, long off)
{
#ifdef __x86_64__
	if (m->site == BY_ASM && c <= PWRITE)
		return by_asm(m, c, fd, b, n, off);
#endif
	return m->site == BY_LIBC ? by_libc(c, fd, b, n, off)
				  : by_syscall(c, fd, b, n, off);
}

static long io_at(struct me *m, int c, struct f f, const void *b, long n, long off)
{
	if (m->risky)
		maybe(m, c, f, n, 1);
	long r = at_site(m, c, f.fd, b, n, off);
	book(m, c, f, r);
	if (m->risky)
		maybe(m, c, f, n, -1);
	return r;
}

static long io(struct me *m, int c, struct f f, const void *b, long n)
{
	return io_at(m, c, f, b, n, 0);
}

/* Who writes what it is sure of; the rest of the arguments are of no interest. */
static void put(struct me *m, struct f f, long n)
{
	CHECK(io(m, WRITE, f, pattern, n) == n);
}

__attribute__((noinline)) static void get(struct me *m, struct f f, long n)
{
	CHECK(io(m, READ, f, sink, n) == n);
}

static void put_hot(struct me *m, struct f f, long count)
{
	while (count--)
		put(m, f, 1 + count % 7);
}

static void locked(void)
{
	while (__atomic_test_and_set(&all->lock, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlocked(void)
{
	__atomic_clear(&all->lock, __ATOMIC_RELEASE);
}

/* The number of the file with that whole path. */
static int id_of(const char *name)
{
	u64 i;

	locked();
	for (i = 0; i < all->nfiles && strcmp(all->file[i].name, name); i++)
		;
	CHECK(i < NFILES && !strpbrk(name, "\"\\\n"));
	if (i == all->nfiles)
		strcpy(all->file[all->nfiles++].name, name);
	unlocked();
	return i;
}

/* The same by the kernel's own name for what is open, or by that of a socket. */
static int file_id(int fd)
{
	char link[40], name[NAME_SIZE] = "";

	sprintf(link, "/proc/thread-self/fd/%d", fd);
	MUST(readlink(link, name, NAME_SIZE - 1));
	return id_of(name);
}

static struct f open_f(const char *name, int flags)
{
	struct f f = { MUST(open(name, flags | O_CLOEXEC, 0666)), -1 };

	f.id = file_id(f.fd);
	return f;
}

static struct f new_file(const char *name)
{
	return open_f(name, O_RDWR | O_CREAT | O_TRUNC);
}

static struct f null_f(void)
{
	return (struct f){ MUST(open("/dev/null", O_WRONLY)), -1 };
}

static struct f zero_f(void)
{
	return (struct f){ MUST(open("/dev/zero", O_RDONLY)), -1 };
}

static void pipe_f(struct f p[2])
{
	int fd[2];

	MUST(pipe(fd));
	for (int i = 0; i < 2; i++)
		p[i] = (struct f){ fd[i], -1 };
}

static void close_pipe(struct f p[2])
{
	MUST(close(p[0].fd));
	MUST(close(p[1].fd));
}

/* The calling task has to be asked for its numbers anew in each thread and child. */
static struct me myself(int site)
{
	u64 pid = syscall(SYS_getpid), tid = syscall(SYS_gettid), i;
	struct task *k = all->task;

	locked();
	for (i = 0; i < all->ntasks && (k->pid != pid || k->tid != tid); i++)
		k++;
	if (i == NTASKS) {
		k = all->task + --i; /* too many to tell apart */
	} else if (i == all->ntasks) {
		k->pid = pid;
		k->tid = tid;
		all->ntasks++;
	}
	unlocked();
	return (struct me){ .task = k, .site = site };
}

static void place_is(struct f f, int wr, long long off, long n)
{
	u64 i = ADD(&all->nplaces, 1);

	if (i < NPLACES)
		all->place[i] = (struct place){ f.id, wr, off, n };
}

static void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static int ended(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		CHECK(errno == EINTR);
	return status;
}

static pthread_t thread_of(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, fn, arg));
	return t;
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | flags };

	sa.sa_sigaction = fn;
	sigaddset(&sa.sa_mask, SIGALRM);
	sigaddset(&sa.sa_mask, SIGUSR1);
	MUST(sigaction(sig, &sa, NULL));
}

static void every(long us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	MUST(setitimer(ITIMER_REAL, &it, NULL));
}
