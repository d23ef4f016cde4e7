/*
 * mkio - do exactly the I/O that the arguments say and print what a tracer must find.
 *
 * mkio [-t THREADS] [-f FORKS] [-x EXECS] [-X] [-s USEC | -S USEC] [-r REPEAT]
 *      [-o FILE] 'OP args' ...			(the OPs are in the table ops[])
 *
 * Every call that is counted is a raw system call, so no libc can replace, split or
 * repeat it. The counters are in one shared mapping to which all threads and processes
 * add directly. It is a memfd, so that after an exec the next image can map it again.
 */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifdef SYS_newfstatat
#define STAT "newfstatat"
#else
#define STAT "fstatat64"
#define SYS_newfstatat SYS_fstatat64
#endif

enum { OUT_SIZE = 8192, BUF_SIZE = 4 << 20, PIPE_SIZE = 65536, NAME_SIZE = 512,
       MAX_FILES = 128, MAX_SLOTS = 32, MAX_CALLS = 100, MAX_PAR = 64, BATCH = 64 };
enum { RD = 1, WR = 2, SYNC = 4, META = 8, BYTES = 16, COUNTED = 31, TRUNC = 32, MANY = 64,
       SECOND = 128, LATE = 256, FORK = 512, SPAWN = 1024 };

typedef unsigned long long u64 __attribute__((aligned(8)));
struct count { u64 ops, bytes, errors, again, eintr; };
struct file { struct count rw[2]; char name[NAME_SIZE]; };
struct totals {
	u64 lock, nfiles, execs;
	struct count call[MAX_CALLS];
	struct file file[MAX_FILES];
};
struct slot { char path[NAME_SIZE]; int fd, file, at_end; };
struct worker {
	struct totals *t;
	char **lines;
	long repeat, threads, id;
	pthread_t thread;
	struct slot slots[MAX_SLOTS];
};
/* One OP at work. Its descriptors r and x are what is read, w and y what is written. */
struct arg {
	struct worker *w;
	const struct op *op;
	long kind, n, usec, size;
	long long off, out;
	char *path[2];
	int fd[4], file[4], owned;
	struct sockaddr_in sa;
	socklen_t sa_size;
};
struct call { const char *name; long nr, kind; long (*fn)(struct arg *); };
/* The steps are 'name:arguments>descriptor', one letter for each: see run_step(). */
struct op { const char *name, *sig; long max; const char *setup, *body; };

/* Every thread reads into the one sink: what arrives there is of no interest. */
static char pattern[BUF_SIZE] __attribute__((aligned(4096)));
static char sink[BUF_SIZE] __attribute__((aligned(4096)));
static const struct call calls[MAX_CALLS];

#define P(x) ((long)(x))
#define CHECK(ok, what) must((ok) ? 0 : -1, what)
#define IO(a, name, ...) io(a, find(name), (int[2]){ -1, -1 }, (long[6]){ __VA_ARGS__ })

static long must(long r, const char *what)
{
	char b[256];
	int n;

	if (r >= 0)
		return r;
	n = snprintf(b, sizeof(b), "mkio: %.150s (errno %d)\n", what, errno);
	_exit(write(2, b, n) == n ? 9 : 10);
}

static const struct call *find(const char *name)
{
	size_t len = strcspn(name, ": ");
	const struct call *c = calls;

	while (c->name && (strncmp(c->name, name, len) || c->name[len]))
		c++;
	CHECK(c->name, name);
	return c;
}

static void add(u64 *p, u64 v)
{
	__atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

static void book(struct arg *a, const struct call *c, const int file[2], u64 n, u64 bytes)
{
	struct totals *t = a->w->t;

	add(&t->call[c - calls].ops, n);
	add(&t->call[c - calls].bytes, c->kind & (RD | WR | BYTES) ? bytes : 0);
	for (int i = 0; i < 2; i++) {
		if (!(c->kind & RD << i) || file[i] < 0)
			continue;
		add(&t->file[file[i]].rw[i].ops, n);
		add(&t->file[file[i]].rw[i].bytes, bytes);
	}
}

/* Makes a call until it is not interrupted. */
static long io(struct arg *a, const struct call *c, const int file[2], const long v[6])
{
	struct count *n = &a->w->t->call[c - calls];
	u64 bytes = 0;
	long r;

	do {
		r = syscall(c->nr, v[0], v[1], v[2], v[3], v[4], v[5]);
		if (r < 0)
			add(errno == EINTR ? &n->eintr :
			    errno == EAGAIN ? &n->again : &n->errors, 1);
	} while (r < 0 && errno == EINTR);
	for (long i = 0; c->kind & MANY && i < r; i++)
		bytes += ((struct mmsghdr *)v[1])[i].msg_len;
	if (c->kind & MANY && r >= 0)
		book(a, c, file, r, bytes);
	else if (r >= 0)
		book(a, c, file, 1, c->kind & TRUNC && r > v[2] ? v[2] : r);
	return r;
}

static long run_step(struct arg *a, const char *step, long n)
{
	static const struct termios raw_mode = { .c_cflag = CS8 | CREAD, .c_cc[VMIN] = 1 };
	static const char regs[] = "rwxy_dAB";
	const struct call *c = find(step);
	const char *reg, *p = step + strcspn(step, ": ");
	char *b = c->kind & WR ? pattern : sink, st[256];
	struct iovec all = { b, c->kind & MANY ? a->size : n }, v[3] = {
		{ b, n / 3 }, { b + n / 3, n / 3 }, { b + n / 3 * 2, n - n / 3 * 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
	struct mmsghdr many[BATCH] = { 0 };
	long sc[6] = { a->fd[!!(c->kind & WR)], P(b), n }, args[6] = { 0 }, r, i = 0;
	int file[2] = { -1, -1 }, zero = 0;
	long long in = a->off;
	const long val[128] = {
		['r'] = a->fd[0], ['w'] = a->fd[1], ['x'] = a->fd[2], ['y'] = a->fd[3],
		['d'] = a->fd[a->n & 1], ['A'] = P(a->fd), ['B'] = P(a->fd + 2),
		['.'] = AT_FDCWD, ['p'] = P(a->path[0]), ['q'] = P(a->path[1]),
		['N'] = P("/dev/null"), ['Z'] = P("/dev/zero"), ['X'] = P("/dev/ptmx"),
		['H'] = P("."), ['F'] = P("/nonexistent/mkio"), ['D'] = O_DIRECTORY,
		['R'] = O_RDWR | O_NOCTTY, ['K'] = O_NONBLOCK, ['E'] = O_CLOEXEC, ['c'] = O_CREAT,
		['C'] = O_RDWR | O_CREAT | O_LARGEFILE, ['M'] = 0666, ['U'] = O_WRONLY | O_CREAT |
		O_TRUNC, ['a'] = O_RDWR | O_CREAT | O_APPEND | O_LARGEFILE,
		['b'] = P(b), ['n'] = n, ['v'] = P(v), ['V'] = P(&all), ['m'] = P(&m),
		['o'] = P(a->off), ['O'] = sizeof(long) == 4 ? P(a->off >> 32) : 0,
		['i'] = P(&in), ['j'] = P(&a->out), ['f'] = n ? 0 : MSG_DONTWAIT,
		['k'] = MSG_PEEK | (n ? 0 : MSG_DONTWAIT), ['T'] = MSG_TRUNC, ['s'] = P(st),
		['Y'] = P(many), ['Q'] = a->n < BATCH ? a->n : BATCH, ['S'] = P(sc),
		['@'] = P(&a->sa), ['l'] = sizeof(a->sa), ['L'] = P(&a->sa_size),
		['u'] = TIOCSPTLCK, ['z'] = P(&zero), ['g'] = TIOCGPTPEER, ['e'] = TCSETS,
		['t'] = P(&raw_mode), ['P'] = P(a->w->t), ['h'] = 500 + a->w->id,
		['0'] = 0, 1, 2, 3, MS_SYNC, 50, 4096, 7, 10, 9,
	};

	a->kind = c->kind;
	if (c->fn)
		return c->fn(a);
	for (i = 0; i < BATCH; i++)
		many[i].msg_hdr = (struct msghdr){ .msg_iov = &all, .msg_iovlen = 1 };
	for (i = 0; *p && *++p && *p != ' ' && *p != '>'; i++) {
		args[i] = val[(int)*p];
		reg = strchr(regs, *p);
		if (reg && reg < regs + 6)
			file[(reg - regs) & 1] = a->file[(reg - regs) & 3];
	}
	r = io(a, c, file, args);
	if (*p != '>' || r < 0)
		return r;
	i = strchr(regs, p[1]) - regs;
	a->owned |= i < 4 ? 1 << i : i == 6 ? 3 : 12;
	if (i < 4)
		a->fd[i] = r;
	return r;
}

/* The kernel's own name of a descriptor of a regular file, as a number; otherwise -1. */
static int file_of(struct arg *a, int fd)
{
	char link[32], name[NAME_SIZE] = "";
	struct totals *t = a->w->t;
	struct statx st;
	u64 i;

	must(IO(a, "statx", fd, P(""), AT_EMPTY_PATH, STATX_TYPE, P(&st)), "statx");
	if (!S_ISREG(st.stx_mode))
		return -1;
	sprintf(link, "/proc/self/fd/%d", fd);
	must(IO(a, "readlinkat", AT_FDCWD, P(link), P(name), NAME_SIZE - 1), link);
	while (__atomic_test_and_set(&t->lock, __ATOMIC_ACQUIRE))
		sched_yield();
	for (i = 0; i < t->nfiles && strcmp(t->file[i].name, name); i++)
		;
	CHECK(i < MAX_FILES && !strpbrk(name, "\"\\\n"), "files: too many or an odd name");
	if (i == t->nfiles)
		strcpy(t->file[t->nfiles++].name, name);
	__atomic_clear(&t->lock, __ATOMIC_RELEASE);
	return i;
}

static struct slot *slot_of(struct arg *a, const char *path)
{
	for (int i = 0; i < MAX_SLOTS; i++)
		if (!strcmp(a->w->slots[i].path, path))
			return a->w->slots + i;
	return NULL;
}

static long do_slot(struct arg *a)
{
	int second = !!(a->kind & SECOND);
	char *path = a->path[second];
	struct slot *s = slot_of(a, path);

	if (!s) {
		s = slot_of(a, "");
		CHECK(s && strlen(path) < NAME_SIZE, "too many or too long paths");
		s->fd = IO(a, "openat", AT_FDCWD, P(path), O_CREAT | O_RDWR | O_LARGEFILE, 0666);
		if (s->fd < 0)
			s->fd = must(IO(a, "openat", AT_FDCWD, P(path), O_LARGEFILE), path);
		s->file = file_of(a, s->fd);
		s->at_end = 0;
		strcpy(s->path, path);
	}
	if ((a->kind & RD) && a->off < 0 && s->at_end)
		s->at_end = IO(a, "lseek", s->fd, 0, SEEK_SET);
	if (a->kind & WR)
		s->at_end = 1;
	for (int i = second; i < 2; i++) {
		a->fd[i] = s->fd;
		a->file[i] = s->file;
	}
	return 0;
}

/* What is open under the path of an unlink is closed, that of a rename moves along. */
static long do_forget(struct arg *a)
{
	struct slot *s = slot_of(a, a->path[!!(a->kind & SECOND)]);

	if (s) {
		IO(a, "close", s->fd);
		s->path[0] = 0;
	}
	s = a->kind & SECOND ? slot_of(a, a->path[0]) : NULL;
	if (s) {
		strcpy(s->path, a->path[1]);
		s->file = file_of(a, s->fd);
	}
	return 0;
}

static long do_file(struct arg *a)
{
	return a->file[1] = file_of(a, a->fd[1]), 0;
}

static long do_scm(struct arg *a)
{
	union { char b[CMSG_SPACE(sizeof(int))]; struct cmsghdr head; } u = { { 0 } };
	struct iovec v = { sink, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	u.head.cmsg_level = SOL_SOCKET;
	u.head.cmsg_type = SCM_RIGHTS;
	u.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.head), a->fd, sizeof(int));
	must(IO(a, "sendmsg", a->fd[2], P(&m), 0), "sendmsg");
	must(IO(a, "recvmsg", a->fd[3], P(&m), 0), "recvmsg");
	memcpy(a->fd + 1, CMSG_DATA(&u.head), sizeof(int));
	return a->owned |= 2;
}

/* Signals are for the data calls, not for connect() or fork(). */
static void block_alarm(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(how, &set, NULL);
}

static long do_sleep(struct arg *a)
{
	struct timespec ts = { a->usec / 1000000, a->usec % 1000000 * 1000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
	return 0;
}

static void wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		CHECK(errno == EINTR, "waitpid");
	CHECK(!status, "a child failed");
}

static long do_child(struct arg *a)
{
	char *args[] = { "mkio", "-o", "/dev/null", "null 1*1", NULL };
	extern char **environ;
	pid_t pid;

	block_alarm(SIG_BLOCK);
	if (a->kind & SPAWN)
		CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ), "spawn");
	else
		pid = must(a->kind & FORK ? fork() : vfork(), "fork");
	if (!pid) {
		if (a->kind & FORK)
			IO(a, "write", a->fd[1], P(pattern), 1);
		_exit(0);
	}
	wait_for(pid);
	block_alarm(SIG_UNBLOCK);
	if (a->kind & SPAWN) {
		book(a, find("write"), a->file, 2, 1 + OUT_SIZE);
		book(a, find("openat"), a->file, 2, 0);
		book(a, find("close"), a->file, 1, 0);
		book(a, find("statx"), a->file, 1, 0);
	}
	return 1;
}

static void *write_late(void *arg)
{
	struct arg *a = arg;

	block_alarm(SIG_BLOCK);
	do_sleep(a);
	IO(a, "write", a->fd[1], P(pattern), a->size);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	CHECK(!pthread_create(thread, NULL, run, arg), "pthread_create");
}

/* Threads that write: many at once, or one so late that this thread waits for it. */
static long do_threads(struct arg *a)
{
	long i, n = a->kind & LATE ? 1 : a->n < BATCH ? a->n : BATCH;
	pthread_t thread[BATCH];

	for (i = 0; i < n; i++)
		start(thread + i, write_late, a);
	if (a->kind & LATE)
		IO(a, "read", a->fd[0], P(sink), a->size);
	while (i-- > 0)
		pthread_join(thread[i], NULL);
	a->n -= n - 1;
	return 0;
}

#define N(name, kind) { #name, SYS_##name, kind, NULL }
#define F(name, fn, kind) { name, -1, kind, fn }

static const struct call calls[MAX_CALLS] = {
	N(read, RD), N(write, WR), N(pread64, RD), N(pwrite64, WR), N(readv, RD), N(writev, WR),
	N(preadv, RD), N(pwritev, WR), N(preadv2, RD), N(pwritev2, WR), N(sendto, WR),
	N(recvfrom, RD | TRUNC), { "recvfrom/peek", SYS_recvfrom, BYTES, NULL },
	N(sendmsg, WR), N(recvmsg, RD), N(sendmmsg, WR | MANY), N(recvmmsg, RD | MANY),
	N(sendfile, RD | WR), N(copy_file_range, RD | WR), N(splice, RD | WR), N(tee, BYTES),
	N(vmsplice, WR), N(fsync, SYNC), N(fdatasync, SYNC), N(sync_file_range, SYNC),
	N(msync, SYNC), N(syncfs, SYNC), N(sync, SYNC), N(openat, META), N(close, META),
	N(lseek, META), N(statx, META), N(readlinkat, META), N(unlinkat, META),
	N(renameat2, META), N(chdir, META), N(fchdir, META), { STAT, SYS_newfstatat, META, NULL },
#ifdef SYS_socketcall
	{ "socketcall/send", SYS_socketcall, WR, NULL },
	{ "socketcall/recv", SYS_socketcall, RD, NULL },
#endif
	N(dup, 0), N(dup3, 0), N(fcntl, 0), N(pipe2, 0), N(socketpair, 0), N(socket, 0),
	N(bind, 0), N(getsockname, 0), N(listen, 0), N(connect, 0), N(accept4, 0), N(ioctl, 0),
	N(eventfd2, 0), N(memfd_create, 0), F("slot", do_slot, 0), F("slot_r", do_slot, RD),
	F("slot_w", do_slot, WR), F("slot_q", do_slot, WR | SECOND), F("forget", do_forget, 0),
	F("moved", do_forget, SECOND), F("file", do_file, 0), F("scm", do_scm, 0),
	F("fork", do_child, FORK), F("vfork", do_child, 0), F("spawn", do_child, SPAWN),
	F("storm", do_threads, 0), F("late", do_threads, LATE), F("sleep", do_sleep, 0),
};

#define WRITE(name, sig, body) { name, sig, BUF_SIZE, "slot_w", body }
#define READ(name, sig, body) { name, sig, BUF_SIZE, "slot_r", body }
#define DATA(name, sig, setup, body) { name, sig, BUF_SIZE, setup, body }
#define PIPE(name, setup, body) { name, "S", PIPE_SIZE, setup, body }
#define RUN(name, sig, setup, body) { name, sig, 16, setup, body }
#define STREAM "socketpair:110A>A"
#define DGRAM "socketpair:120A>A"

/*
 * Arguments: F path, S size*count, N count, U microseconds, O offset (may be left out).
 * Where there is no S, the limit of the size is the size.
 */
static const struct op ops[] = {
	WRITE("write", "FS", "write:wbn"), READ("read", "FS", "read:rbn"),
	WRITE("pwrite", "FSO", "pwrite64:wbnoO"), READ("pread", "FSO", "pread64:rbnoO"),
	WRITE("writev", "FS", "writev:wv3"), READ("readv", "FS", "readv:rv3"),
	WRITE("pwritev", "FSO", "pwritev:wv3oO"), READ("preadv", "FSO", "preadv:rv3oO"),
	WRITE("pwritev2", "FSO", "pwritev2:wv3oO"), READ("preadv2", "FSO", "preadv2:rv3oO"),
	DATA("append", "FS", "openat:.paM>w file", "write:wbn"),
	DATA("cloexec", "FS", "slot_w fcntl:w21", "write:wbn"),
	DATA("unlinked", "FS", "openat:.pCM>w unlinkat:.p file", "write:wbn"),
	DATA("chdir_rel", "FFS", "openat:.HD>x chdir:p openat:.qCM>w fchdir:x file", "write:wbn"),
	DATA("openat_rel", "FFS", "openat:.pD>x openat:xqCM>w file", "write:wbn"),
	DATA("dup", "FS", "slot_w dup3:whE>r dup:w>w", "write:dbn"),
	DATA("scm", "FS", "slot_w socketpair:110B>B scm", "write:wbn"),
	DATA("sendfile", "FFS", "slot_r slot_q", "sendfile:wr0n"),
	DATA("copy_file_range", "FFS", "slot_r slot_q", "copy_file_range:r0w0n"),
	DATA("memfd", "SO", "memfd_create:N0>w dup:w>r", "write:wbn pread64:rbnoO"),
	DATA("zero", "S", "openat:.Z>r", "read:rbn"),
	DATA("null", "S", "openat:.NR>w", "write:wbn"),
	{ "splice", "FSO", PIPE_SIZE, "slot_w pipe2:B0>B", "splice:riy0n splice:x0wjn" },
	PIPE("tee", "pipe2:A0>A pipe2:B0>B", "write:wbn tee:ryn read:xbn read:rbn"),
	PIPE("vmsplice", "pipe2:A0>A", "vmsplice:wV1 read:rbn"),
	PIPE("pipe", "pipe2:A0>A", "write:wbn read:rbn"), PIPE("sock", STREAM, "write:wbn read:rbn"),
	PIPE("send", STREAM, "sendto:wbnf recvfrom:rbnf"),
	PIPE("peek", STREAM, "sendto:wbnf recvfrom/peek:rbnk recvfrom:rbnf"),
	PIPE("sendmsg", STREAM, "sendmsg:wmf recvmsg:rmf"),
#ifdef SYS_socketcall
	PIPE("socketcall", DGRAM, "socketcall/send:9S socketcall/recv:8S"),
#endif
	{ "mmsg", "S", 1024, DGRAM, "sendmmsg:wYQ recvmmsg:rYn" },
	{ "udp", "S", 60000, "socket:220>x bind:x@l getsockname:x@L socket:220>w connect:w@l "
	  "dup:x>r", "sendto:wbnf recvfrom:rbnf" },
	{ "tcp", "S", 32768, "socket:210>x bind:x@l getsockname:x@L listen:x1 socket:210>w "
	  "connect:w@l accept4:x>r", "write:wbn read:rbn" },
	{ "pty", "S", 2048, "openat:.XR>w ioctl:wuz ioctl:wgR>r ioctl:ret", "write:wbn read:rbn" },
	{ "eventfd", "N", 8, "eventfd2:00>w dup:w>r", "write:wbn read:rbn" },
	{ "thread_storm", "N", 1, "openat:.NR>w", "storm" },
	{ "blockread", "UN", 5, "pipe2:A0>A", "late" }, RUN("sleep", "U", "", "sleep"),
	RUN("trunc_dgram", "N", DGRAM, "sendto:wb5 recvfrom:rb8T"),
	RUN("pipe_again", "N", "pipe2:AK>A", "read:rbn"),
	RUN("eof", "FN", "slot_w lseek:w02", "read:rbn"), RUN("isdir", "N", "openat:.HD>r", "read:rbn"),
	RUN("badf", "N", "openat:.NR>w dup3:whE close:h", "read:hbn"),
	RUN("rdonly", "FN", "openat:.pcM>w", "write:wbn"), RUN("sync", "N", "", "sync"),
	RUN("fsync", "FN", "slot", "fsync:w"), RUN("fdatasync", "FN", "slot", "fdatasync:w"),
	/* The flags are the 4th argument, with 32 bits (two for each offset) the 6th. */
	RUN("sync_file_range", "FN", "slot", "sync_file_range:w00707"),
	RUN("syncfs", "FN", "slot", "syncfs:w"), RUN("msync", "N", "", "msync:P64"),
	RUN("open", "FN", "", "openat:.p close:n"), RUN("openfail", "N", "", "openat:.F"),
	RUN("stat", "FN", "", STAT ":.ps"), RUN("unlink", "F", "", "forget unlinkat:.p"),
	RUN("rename", "FF", "", "renameat2:.p.q moved"), RUN("spawn", "N", "", "spawn"),
	RUN("fork", "N", "pipe2:A0>A", "fork read:rbn"), RUN("vfork", "N", "", "vfork"),
	{ "open the output", "F", 0, "openat:.pUM>w", "" }, RUN(NULL, NULL, NULL, NULL)
};

static const char *next_step(const char *p)
{
	p = strchr(p, ' ');
	return p ? p + 1 : "";
}

static void parse(struct arg *a, char *line, const char *text)
{
	char *word, *end = "", *save = NULL, **path = a->path;

	CHECK(strlen(text) < 2 * NAME_SIZE, text);
	for (word = line; *text; text++) {
		if (!strncmp(text, "%t", 2))
			word += sprintf(word, "%ld", a->w->id), text++;
		else
			*word++ = *text;
	}
	*word = 0;
	word = strtok_r(line, " ", &save);
	for (a->op = ops; word && a->op->name && strcmp(a->op->name, word); a->op++)
		;
	CHECK(word && a->op->name, word);
	a->size = a->op->max;
	for (const char *sig = a->op->sig; *sig; sig++) {
		word = strtok_r(NULL, " ", &save);
		CHECK(word || *sig == 'O', "an argument is missing");
		if (*sig == 'F')
			*path++ = word;
		else if (*sig == 'O')
			a->off = word ? strtoll(word, &end, 0) : 0;
		else
			*(*sig == 'N' ? &a->n : *sig == 'U' ? &a->usec : &a->size) =
				strtol(word, &end, 0);
		if (*sig == 'S' && *end == '*')
			a->n = strtol(end + 1, &end, 0);
		CHECK(!*end && a->n >= 0 && a->size >= 0 && a->size <= a->op->max, word);
	}
	CHECK(!strtok_r(NULL, " ", &save), "an argument too many");
}

/* A reading step behind the first one takes in all that the first one has sent. */
static void run_body(struct arg *a)
{
	const char *p = a->op->body;
	long got, left, r = run_step(a, p, a->size);

	if (find(p)->kind & MANY && r > 0)
		a->n -= r - 1;
	for (p = next_step(p); *p && r >= 0; p = next_step(p)) {
		left = r;
		do {
			got = run_step(a, p, left);
			left -= got;
		} while (find(p)->kind & RD && got > 0 && left > 0);
	}
}

static void run_op(struct worker *w, const char *text)
{
	struct arg a = { .w = w, .n = 1, .off = -1, .file = { -1, -1, -1, -1 },
			 .sa_size = sizeof(a.sa), .sa = { .sin_family = AF_INET } };
	char line[8 * NAME_SIZE];

	parse(&a, line, text);
	CHECK(w->threads == 1 || strcmp(a.op->name, "chdir_rel"), "chdir_rel with threads");
	a.sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.out = a.off + a.n * (long long)a.size;
	block_alarm(SIG_BLOCK);
	for (const char *p = a.op->setup; *p; p = next_step(p))
		must(run_step(&a, p, 0), text);
	block_alarm(SIG_UNBLOCK);
	for (; a.n > 0; a.n--, a.off += a.off < 0 ? 0 : a.size)
		run_body(&a);
	for (int i = 0; i < 4; i++)
		if (a.owned >> i & 1)
			IO(&a, "close", a.fd[i]);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < w->repeat; i++)
		for (char **line = w->lines; *line; line++)
			run_op(w, *line);
	return NULL;
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void set_alarm(long usec, int flags)
{
	struct timeval t = { usec / 1000000, usec % 1000000 };
	struct sigaction sa = { .sa_handler = usec ? on_alarm : SIG_IGN, .sa_flags = flags };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ t, t }, NULL);
}

static void run_all(const struct worker *model, long id, long usec, int flags)
{
	static struct worker w[MAX_PAR];
	long i;

	set_alarm(usec, flags);
	for (i = 0; i < model->threads; i++) {
		w[i] = *model;
		w[i].id = id * model->threads + i;
		if (model->threads > 1)
			start(&w[i].thread, work, w + i);
		else
			work(w);
	}
	block_alarm(SIG_BLOCK);
	while (model->threads > 1 && i-- > 0)
		pthread_join(w[i].thread, NULL);
	set_alarm(0, 0);
	block_alarm(SIG_UNBLOCK);
}

static void print_totals(struct worker *w, char *path)
{
#define OPS "{\"operations\":%llu,\"bytes\":%llu}"
	static const struct { int kind; const char *format; } sums[] = {
		{ RD, "{\"read\":" OPS }, { WR, ",\"write\":" OPS },
		{ SYNC, ",\"sync\":{\"operations\":%llu}" },
		{ META, ",\"meta\":{\"operations\":%llu,\"errors\":%4$llu}" },
		{ RD | WR, ",\"calls_data\":%llu,\"calls\":" },
	};
}
