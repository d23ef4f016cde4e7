/*
 * mkio [-t THREADS] [-f FORKS] [-x EXECS] [-X] [-s|-S USEC] [-r REPEAT] [-o FILE] OP...
 *
 * Does exactly the I/O that the OPs (see ops[]) say and prints what a tracer must find.
 * Every call that is counted is a raw system call, so no libc can replace or repeat it.
 * All threads and processes add to the counters in one shared mapping, of a memfd that is
 * named in the environment so that the images after an exec can map it as well.
 */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifdef SYS_newfstatat
#define STAT "newfstatat"
#else
#define STAT "fstatat64"
#define SYS_newfstatat SYS_fstatat64
#endif

enum { OUT_SIZE = 8192, BUF_SIZE = 4 << 20, NAME_SIZE = 512, NFILES = 128, NSLOTS = 32,
       NCALLS = 100, MAX_PAR = 64, BATCH = 64, STACK_SIZE = 256 << 10, M_ARENA_MAX = -8 };
enum { RD = 1, WR = 2, SYNC = 4, META = 8, BYTES = 16, COUNTED = 31, TRUNC = 32,
       MANY = 64, SECOND = 128, LATE = 256, FORK = 512, SPAWN = 1024 };
enum { OPS, SIZE, ERRORS, AGAIN, INTR, NCNT };

typedef unsigned long long u64 __attribute__((aligned(8)));
struct file { u64 rw[2][NCNT]; char name[NAME_SIZE]; };
struct totals { u64 lock, nfiles, execs, call[NCALLS][NCNT]; struct file file[NFILES]; };
struct slot { char path[NAME_SIZE]; int fd, file, at_end; };
struct worker {
	struct totals *t;
	const long *opt;
	char **lines;
	long id;
	pthread_t thread;
	struct slot slots[NSLOTS];
};
/* One OP at work. Its descriptors r and x are what is read, w and y what is written. */
struct arg {
	struct worker *w;
	char *steps, *path[2];
	long long n, usec, size, off, out;
	int kind, fd[4], file[2], owned;
	struct sockaddr_in sa;
	socklen_t sa_size;
};
struct call { const char *name; long nr, kind; long (*fn)(struct arg *); };
/* Every thread reads into the one sink: what arrives there is of no interest. */
static char pattern[BUF_SIZE] __attribute__((aligned(4096)));
static char sink[BUF_SIZE] __attribute__((aligned(4096)));
static const struct call calls[NCALLS];
/* In a second arena the malloc() of glibc reads how many CPUs there are. */
extern int mallopt(int, int) __attribute__((weak));

#define NEXT(p) ((p) + strcspn(p, " ") + (strchr(p, ' ') ? 1 : 0))
#define P(x) ((long)(x))
#define ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define CHECK(ok, what) must((ok) ? 0 : -1, what)
#define IO(a, name, ...) io(a, find(name), (int[2]){ -1, -1 }, (long[6]){ __VA_ARGS__ })

static long must(long r, const char *what)
{
	if (r < 0)
		_exit(dprintf(2, "mkio: %s (errno %d)\n", what, errno) > 0 ? 9 : 10);
	return r;
}

static const struct call *find(const char *name)
{
	size_t len = strcspn(name, "= ");
	const struct call *c = calls;

	while (c->name && (strncmp(c->name, name, len) || c->name[len]))
		c++;
	CHECK(c->name, name);
	return c;
}

static void book(struct arg *a, const struct call *c, const int file[2], u64 n, u64 bytes)
{
	u64 *count = a->w->t->call[c - calls];

	for (int i = -1; i < 2; i++) {
		if (i >= 0 && (file[i] < 0 || !(c->kind & RD << i)))
			continue;
		count = i < 0 ? count : a->w->t->file[file[i]].rw[i];
		ADD(&count[OPS], n);
		ADD(&count[SIZE], c->kind & (RD | WR | BYTES) ? bytes : 0);
	}
}

static long io(struct arg *a, const struct call *c, const int file[2], const long v[6])
{
	u64 bytes, *count = a->w->t->call[c - calls];
	long r;

	do {
		r = syscall(c->nr, v[0], v[1], v[2], v[3], v[4], v[5]);
		if (r < 0)
			ADD(count + (errno == EINTR ? INTR :
				     errno == EAGAIN ? AGAIN : ERRORS), 1);
	} while (r < 0 && errno == EINTR);
	bytes = c->kind & MANY ? 0 : c->kind & TRUNC && r > v[2] ? v[2] : r;
	for (long i = 0; c->kind & MANY && i < r; i++)
		bytes += ((struct mmsghdr *)v[1])[i].msg_len;
	if (r >= 0)
		book(a, c, file, c->kind & MANY ? r : 1, bytes);
	return r;
}

static long run_step(struct arg *a, const char *step, long n)
{
	static const struct termios raw_tty = { .c_cflag = CS8 | CREAD, .c_cc[VMIN] = 1 };
	const struct call *c = find(step);
	const char *p = step + strcspn(step, "= ");
	char *b = c->kind & WR ? pattern : sink, st[256];
	struct iovec all = { b, c->kind & MANY ? a->size : n }, v[3] = {
		{ b, n / 3 }, { b + n / 3, n / 3 }, { b + n / 3 * 2, n - n / 3 * 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
	struct mmsghdr many[BATCH] = {
		[0 ... BATCH - 1] = { .msg_hdr = { .msg_iov = &all, .msg_iovlen = 1 } } };
	long sc[6] = { a->fd[!!(c->kind & WR)], P(b), n }, args[6] = { 0 }, r, i = 0;
	int file[2] = { -1, -1 }, zero = 0, wait = n ? 0 : MSG_DONTWAIT;
	long long in = a->off;
	const long val[128] = {
		['r'] = a->fd[0], ['w'] = a->fd[1], ['x'] = a->fd[2], ['y'] = a->fd[3],
		['d'] = a->fd[a->n & 1], ['A'] = P(a->fd), ['B'] = P(a->fd + 2),
		['.'] = AT_FDCWD, ['p'] = P(a->path[0]), ['q'] = P(a->path[1]),
		['N'] = P("/dev/null"), ['Z'] = P("/dev/zero"), ['X'] = P("/dev/ptmx"),
		['H'] = P("."), ['F'] = P("/nonexistent/mkio"), ['D'] = O_DIRECTORY,
		['R'] = O_RDWR | O_NOCTTY, ['K'] = O_NONBLOCK, ['E'] = O_CLOEXEC,
		['C'] = O_RDWR | O_CREAT | O_LARGEFILE, ['M'] = 0666, ['c'] = O_CREAT,
		['a'] = O_RDWR | O_CREAT | O_APPEND | O_LARGEFILE,
		['U'] = O_WRONLY | O_CREAT | O_TRUNC | O_LARGEFILE,
		['b'] = P(b), ['n'] = n, ['v'] = P(v), ['V'] = P(&all), ['m'] = P(&m),
		['o'] = P(a->off), ['O'] = sizeof(long) == 4 ? P(a->off >> 32) : 0,
		['i'] = P(&in), ['j'] = P(&a->out), ['f'] = wait, ['k'] = MSG_PEEK | wait,
		['T'] = MSG_TRUNC, ['s'] = P(st), ['S'] = P(sc), ['Y'] = P(many),
		['Q'] = a->n < BATCH ? a->n : BATCH, ['P'] = P(a->w->t),
		['@'] = P(&a->sa), ['l'] = sizeof(a->sa), ['L'] = P(&a->sa_size),
		['u'] = TIOCSPTLCK, ['z'] = P(&zero), ['g'] = TIOCGPTPEER, ['e'] = TCSETS,
		['t'] = P(&raw_tty), ['h'] = 500 + a->w->id % MAX_PAR,
		['0'] = 0, 1, 2, 3, MS_SYNC, 50, 4096, 7, 10, 9,
	};

	a->kind = c->kind;
	if (c->fn)
		return c->fn(a);
	for (i = 0; *p && *++p && *p != ' ' && *p != '>'; i++) {
		args[i] = val[(int)*p];
		file[0] = *p == 'r' ? a->file[0] : file[0];
		file[1] = *p == 'w' || *p == 'd' ? a->file[1] : file[1];
	}
	r = io(a, c, file, args);
	if (*p != '>' || r < 0)
		return r;
	i = strcspn("rwxyAB", (char[2]){ p[1] });
	a->owned |= i < 4 ? 1 << i : i == 4 ? 3 : 12;
	if (i < 4)
		a->fd[i] = r;
	return r;
}

/* The kernel's own name of fd[1], if that is a regular file: its number is file[1]. */
static long do_file(struct arg *a)
{
	char link[32], name[NAME_SIZE] = "";
	struct totals *t = a->w->t;
	unsigned short st[128];		/* struct statx, unknown to musl */
	u64 i;

	a->file[1] = -1;
	must(IO(a, "statx", a->fd[1], P(""), AT_EMPTY_PATH, 1, P(st)), "statx");
	if (!S_ISREG(st[14]))
		return 0;
	sprintf(link, "/proc/self/fd/%d", a->fd[1]);
	must(IO(a, "readlinkat", AT_FDCWD, P(link), P(name), NAME_SIZE - 1), link);
	while (__atomic_test_and_set(&t->lock, __ATOMIC_ACQUIRE))
		sched_yield();
	for (i = 0; i < t->nfiles && strcmp(t->file[i].name, name); i++)
		;
	CHECK(i < NFILES && !strpbrk(name, "\"\\\n"), "file names");
	if (i == t->nfiles)
		strcpy(t->file[t->nfiles++].name, name);
	__atomic_clear(&t->lock, __ATOMIC_RELEASE);
	return a->file[1] = i;
}

static struct slot *slot_of(struct arg *a, const char *path)
{
	for (int i = 0; i < NSLOTS; i++)
		if (!strcmp(a->w->slots[i].path, path))
			return a->w->slots + i;
	return NULL;
}

static long do_slot(struct arg *a)
{
	int kind = a->kind, to = !!(kind & SECOND);
	char *path = a->path[to];
	struct slot *s = slot_of(a, path);

	if (!s) {
		s = slot_of(a, "");
		CHECK(s && strlen(path) < NAME_SIZE, "too many or too long paths");
		a->fd[1] = must(run_step(a, to ? "openat=.qCM" : "openat=.pCM", 0), path);
		do_file(a);
		*s = (struct slot){ .fd = a->fd[1], .file = a->file[1] };
		strcpy(s->path, path);
	}
	if ((kind & RD) && a->off < 0 && s->at_end)
		s->at_end = IO(a, "lseek", s->fd, 0, SEEK_SET);
	if (kind & WR)
		s->at_end = 1;
	for (int i = to; i < 2; i++) {
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
		a->fd[1] = s->fd;
		do_file(a);
		s->file = a->file[1];
	}
	return 0;
}

static long do_scm(struct arg *a)
{
	struct { size_t len; int level, type, fd; } u = {
		CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS, a->fd[0] };
	struct iovec v = { sink, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	must(IO(a, "sendmsg", a->fd[2], P(&m), 0), "sendmsg");
	must(IO(a, "recvmsg", a->fd[3], P(&m), 0), "recvmsg");
	a->fd[1] = u.fd;
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

/* A spawned mkio adds to the same totals. No posix_spawn(): that of musl does I/O. */
static long do_child(struct arg *a)
{
	char *args[] = { "mkio", "-o", "/dev/null", "null 1*1", NULL };
	int status;
	pid_t pid;

	block_alarm(SIG_BLOCK);
	pid = a->kind & FORK ? fork() : vfork();
	if (!pid) {
		if (a->kind & FORK)
			IO(a, "write", a->fd[1], P(pattern), 1);
		if (a->kind & SPAWN)
			execv("/proc/self/exe", args);
		_exit(a->kind & SPAWN ? 9 : 0);
	}
	CHECK(waitpid(must(pid, "fork"), &status, 0) == pid && !status, "a child failed");
	block_alarm(SIG_UNBLOCK);
	return 1;
}

static void *write_late(void *arg)
{
	struct arg *a = arg;

	do_sleep(a);
	IO(a, "write", a->fd[1], P(pattern), a->kind & LATE ? 5 : 1);
	return NULL;
}

static long do_threads(struct arg *a)
{
	long i, n = a->kind & LATE ? 1 : a->n < BATCH ? a->n : BATCH;
	pthread_t thread[BATCH];

	block_alarm(SIG_BLOCK);
	for (i = 0; i < n; i++)
		CHECK(!pthread_create(thread + i, NULL, write_late, a), "thread");
	block_alarm(SIG_UNBLOCK);
	if (a->kind & LATE)
		IO(a, "read", a->fd[0], P(sink), 5);
	while (i-- > 0)
		pthread_join(thread[i], NULL);
	a->n -= n - 1;
	return 0;
}

#define N(name, kind) { #name, SYS_##name, kind, NULL }
#define F(name, fn, kind) { #name, -1, kind, fn }
static const struct call calls[NCALLS] = {
	N(read, RD), N(write, WR), N(pread64, RD), N(pwrite64, WR), N(readv, RD),
	N(writev, WR), N(preadv, RD), N(pwritev, WR), N(preadv2, RD), N(pwritev2, WR),
	N(sendto, WR), N(recvfrom, RD | TRUNC), N(sendmsg, WR), N(recvmsg, RD),
	N(sendmmsg, WR | MANY), N(recvmmsg, RD | MANY), N(sendfile, RD | WR),
	N(copy_file_range, RD | WR), N(splice, RD | WR), N(vmsplice, WR), N(tee, BYTES),
#ifdef SYS_socketcall
	{ "socketcall:send", SYS_socketcall, WR, NULL },
	{ "socketcall:recv", SYS_socketcall, RD, NULL },
#endif
	{ "recvfrom:peek", SYS_recvfrom, BYTES, NULL }, N(syncfs, SYNC), N(sync, SYNC),
	N(sync_file_range, SYNC), N(msync, SYNC), N(fsync, SYNC), N(fdatasync, SYNC),
	{ STAT, SYS_newfstatat, META, NULL }, N(openat, META), N(close, META),
	N(lseek, META), N(statx, META), N(chdir, META), N(fchdir, META),
	N(readlinkat, META), N(unlinkat, META), N(renameat2, META),
	/* Those from here on are not counted. */
	N(dup, 0), N(dup3, 0), N(fcntl, 0), N(pipe2, 0), N(socket, 0), N(ioctl, 0),
	N(socketpair, 0), N(listen, 0), N(connect, 0), N(accept4, 0), N(eventfd2, 0),
	N(getsockname, 0), N(memfd_create, 0), F(file, do_file, 0), F(scm, do_scm, 0),
	F(slot, do_slot, 0), F(slot_q, do_slot, WR | SECOND), F(moved, do_forget, SECOND),
	N(bind, 0), F(slot_w, do_slot, WR), F(vfork, do_child, 0), F(sleep, do_sleep, 0),
	F(slot_r, do_slot, RD), F(fork, do_child, FORK), F(storm, do_threads, 0),
	F(forget, do_forget, 0), F(spawn, do_child, SPAWN), F(late, do_threads, LATE),
};

/*
 * Name, arguments, steps before and (N times) behind the '|'. Arguments: F path, N count,
 * U microseconds, O offset (may be left out), S size*count, with the limit of the size.
 * A step is 'name=arguments>descriptor', a letter for each, see run_step().
 */
#define STREAM " S65536 socketpair=110A>A | "
#define DGRAM " socketpair=120A>A | "
#define PIPE " pipe2=A0>A | "
#define INET "bind=x@l getsockname=x@L "
#define PUMP "write=wbn read=rbn"
static char *const ops[] = {
	"write FS slot_w | write=wbn", "read FS slot_r | read=rbn", "sleep U | sleep",
	"pwrite FSO slot_w | pwrite64=wbnoO", "pread FSO slot_r | pread64=rbnoO",
	"writev FS slot_w | writev=wv3", "readv FS slot_r | readv=rv3",
	"pwritev FSO slot_w | pwritev=wv3oO", "preadv FSO slot_r | preadv=rv3oO",
	"pwritev2 FSO slot_w | pwritev2=wv3oO", "preadv2 FSO slot_r | preadv2=rv3oO",
	"append FS openat=.paM>w file | write=wbn", "null S openat=.NR>w | write=wbn",
	"cloexec FS slot_w fcntl=w21 | write=wbn", "zero S openat=.Z>r | read=rbn",
	"unlinked FS openat=.pCM>w unlinkat=.p file | write=wbn", "msync N | msync=P64",
	"dup FS slot_w dup3=whE>r dup=w>w | write=dbn", "unlink F | forget unlinkat=.p",
	"scm FS slot_w socketpair=110B>B scm | write=wbn", "syncfs FN slot | syncfs=w",
	"chdir_rel FFS openat=.HD>x chdir=p openat=.qCM>w fchdir=x file | write=wbn",
	"openat_rel FFS openat=.pD>x openat=xqCM>w file | write=wbn", "spawn N | spawn",
	"sendfile FFS slot_r slot_q | sendfile=wr0n", "blockread UN" PIPE "late",
	"copy_file_range FFS slot_r slot_q | copy_file_range=r0w0n", "vfork N | vfork",
	"splice FS65536O slot_w pipe2=B0>B | splice=riy0n splice=x0wjn", "sync N | sync",
	"tee S65536 pipe2=B0>B" PIPE "write=wbn tee=ryn read=xbn read=rbn",
	"vmsplice S65536" PIPE "vmsplice=wV1 read=rbn", "pipe S65536" PIPE PUMP,
	"sock" STREAM PUMP, "send" STREAM "sendto=wbnf recvfrom=rbnf",
	"sendmsg" STREAM "sendmsg=wmf recvmsg=rmf", "fork N" PIPE "fork read=rbn",
	"peek" STREAM "sendto=wbnf recvfrom:peek=rbnk recvfrom=rbnf",
	"mmsg S1024" DGRAM "sendmmsg=wYQ recvmmsg=rYn", "fdatasync FN slot | fdatasync=w",
	"socketcall S65536" DGRAM "socketcall:send=9S socketcall:recv=8S",
	"udp S60000 socket=220>x " INET "socket=220>w connect=w@l dup=x>r | "
	"sendto=wbnf recvfrom=rbnf", "eventfd N eventfd2=00>w dup=w>r | " PUMP,
	"tcp S32768 socket=210>x " INET "listen=x1 socket=210>w connect=w@l accept4=x>r"
	" | " PUMP, "pty S2048 openat=.XR>w ioctl=wuz ioctl=wgR>r ioctl=ret | " PUMP,
	"memfd SO memfd_create=N0>w dup=w>r | write=wbn pread64=rbnoO",
	"pipe_again N pipe2=AK>A | read=rbn", "eof FN slot_w lseek=w02 | read=rbn",
	"isdir N openat=.HD>r | read=rbn", "rdonly FN openat=.pcM>w | write=wbn",
	"badf N openat=.NR>w dup3=whE close=h | read=hbn", "open FN | openat=.p close=n",
	"trunc_dgram N" DGRAM "sendto=wb5 recvfrom=rb8T", "stat FN | " STAT "=.ps",
	"rename FF | renameat2=.p.q moved", "fsync FN slot | fsync=w",
	"thread_storm N openat=.NR>w | storm",
	/* The flags are the 4th argument, with 32 bits (two for each offset) the 6th. */
	"sync_file_range FN slot | sync_file_range=w00707", "openfail N | openat=.F", NULL
};

static void parse(struct arg *a, char *line, const char *text)
{
	char *word = line, *end, *save, *const *op = ops;

	CHECK(strlen(text) < 2 * NAME_SIZE, text);
	for (; (end = strstr(text, "%t")); text = end + 2)
		word += sprintf(word, "%.*s%ld", (int)(end - text), text, a->w->id);
	strcpy(word, text);
	while (*op && strncmp(*op, line, strcspn(line, " ") + 1))
		op++;
	CHECK(*op, line);
	strtok_r(line, " ", &save);
	for (a->steps = strchr(*op, ' ') + 1; *a->steps != ' ';) {
		int c = *a->steps++, max = strtol(a->steps, &a->steps, 10);
		long long *to = c == 'O' ? &a->off : c == 'N' ? &a->n :
				c == 'U' ? &a->usec : &a->size;

		word = strtok_r(NULL, " ", &save);
		end = "";
		CHECK(word || c == 'O', "an argument is missing");
		if (c == 'F')
			a->path[a->path[0] ? 1 : 0] = word;
		else
			*to = word ? strtoll(word, &end, 0) : 0;
		if (c == 'S' && *end == '*')
			a->n = strtol(end + 1, &end, 0);
		CHECK(!*end && a->size >= 0 && a->size <= (max ? max : BUF_SIZE), word);
	}
	a->steps++;
	CHECK(!strtok_r(NULL, " ", &save), "an argument too many");
}

/* A reading step behind the first one takes in all that the first one has sent. */
static void run_body(struct arg *a, const char *p)
{
	long got, left, r = run_step(a, p, a->size);

	if (a->kind & MANY && r > 0)
		a->n -= r - 1;
	for (p = NEXT(p); *p && r >= 0; p = NEXT(p)) {
		left = r;
		do
			got = run_step(a, p, left);
		while (a->kind & RD && got > 0 && (left -= got) > 0);
	}
}

static void run_op(struct worker *w, const char *text)
{
	struct arg a = { .w = w, .n = 1, .size = 8, .off = -1, .file = { -1, -1 },
			 .sa_size = sizeof(a.sa), .sa = { .sin_family = AF_INET } };
	char line[8 * NAME_SIZE];

	CHECK(w->opt['t'] == 1 || strncmp(text, "chdir_rel", 9), "chdir_rel with -t");
	parse(&a, line, text);
	a.sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.out = a.off + a.n * a.size;
	block_alarm(SIG_BLOCK);
	for (; *a.steps != '|'; a.steps = NEXT(a.steps))
		must(run_step(&a, a.steps, 0), text);
	block_alarm(SIG_UNBLOCK);
	for (; a.n > 0; a.n--, a.off += a.off < 0 ? 0 : a.size)
		run_body(&a, a.steps + 2);
	for (int i = 0; i < 4; i++)
		if (a.owned >> i & 1)
			IO(&a, "close", a.fd[i]);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < w->opt['r']; i++)
		for (char **line = w->lines; *line; line++)
			run_op(w, *line);
	return NULL;
}

static void on_alarm(int sig) { (void)sig; }

static int run_all(const struct worker *model, int nth)
{
	const long *opt = model->opt, us = opt['s'] | opt['S'];
	struct timeval t = { us / 1000000, us % 1000000 };
	struct itimerval every = { t, t }, off = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_flags = opt['s'] ? SA_RESTART : 0 };
	static struct worker w[MAX_PAR];
	long i;

	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = opt['t'] - 1; i >= 0; i--) {
		w[i] = *model;
		w[i].id = nth * opt['t'] + i;
		CHECK(!i || !pthread_create(&w[i].thread, NULL, work, w + i), "thread");
	}
	work(w);
	for (i = 1; i < opt['t']; i++)
		pthread_join(w[i].thread, NULL);
	signal(SIGALRM, SIG_IGN);
	return setitimer(ITIMER_REAL, &off, NULL);
}

#define DONE "{\"operations\":%llu,\"bytes\":%llu"
static void print_totals(struct worker *w, char *path)
{
	struct arg a = { .w = w, .fd = { 0, 1 }, .file = { -1, -1 }, .path = { path } };
	u64 i, data = 0, *n, (*rw)[NCNT], sum[4][NCNT] = { 0 };
	static char b[1 << 20];
	char *p = b;

	if (path)
		must(run_step(&a, "openat=.pUM>w", 0), path);
	do_file(&a);
	book(&a, find("write"), a.file, 1, OUT_SIZE);
	p += sprintf(p, "{\"calls\":{");
	for (i = 0; calls[i].kind & COUNTED; i++) {
		n = w->t->call[i];
		data += calls[i].kind & (RD | WR) ? n[OPS] : 0;
		for (int k = 0; k < 4 * NCNT; k++)
			if (calls[i].kind >> k / NCNT & 1)
				sum[k / NCNT][k % NCNT] += n[k % NCNT];
		if (n[OPS] | n[ERRORS] | n[AGAIN] | n[INTR])
			p += sprintf(p, "\"%s\":" DONE ",\"errors\":%llu,\"again\":%llu,"
				     "\"eintr\":%llu},", calls[i].name, n[OPS], n[SIZE],
				     n[ERRORS], n[AGAIN], n[INTR]);
	}
	p += sprintf(p - 1, "},\"files\":{") - 1;
	for (i = 0; i < w->t->nfiles; i++) {
		rw = w->t->file[i].rw;
		p += sprintf(p, "%s\"%s\":{\"read\":" DONE "},\"write\":" DONE "}}",
			     i ? "," : "", w->t->file[i].name, rw[0][OPS], rw[0][SIZE],
			     rw[1][OPS], rw[1][SIZE]);
	}
	p += sprintf(p, "},\"read\":" DONE "},\"write\":" DONE "},\"sync\":{\"operations"
		     "\":%llu},\"meta\":{\"operations\":%llu,\"errors\":%llu},\"calls_"
		     "data\":%llu}", sum[0][OPS], sum[0][SIZE], sum[1][OPS], sum[1][SIZE],
		     sum[2][OPS], sum[3][OPS], sum[3][ERRORS], data);
	CHECK(sprintf(p, "%*s", (int)(b + OUT_SIZE - p), "\n") == b + OUT_SIZE - p &&
	      write(a.fd[1], b, OUT_SIZE) == OUT_SIZE, "writing the totals");
}

static void *exec_self(void *argv)
{
	must(execv("/proc/self/exe", argv), "exec");
	return NULL;
}

int main(int argc, char **argv)
{
	char *name = getenv("MKIO_TOTALS"), *output = NULL, number[16];
	int i, c, fd = name ? atoi(name) : memfd_create("totals", 0);
	long opt[128] = { ['t'] = 1, ['r'] = 1 };
	struct worker w = { .opt = opt };
	pthread_attr_t small;
	pid_t pid[MAX_PAR];

	if (mallopt)
		mallopt(M_ARENA_MAX, 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_SIZE);
	pthread_setattr_default_np(&small);
	sprintf(number, "%d", fd);
	setenv("MKIO_TOTALS", number, 1);
	must(ftruncate(fd, sizeof(*w.t)), "ftruncate");
	w.t = mmap(NULL, sizeof(*w.t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	while ((c = getopt(argc, argv, "+t:f:x:s:S:r:o:X")) != -1) {
		opt[c] = optarg ? atol(optarg) : 1;
		output = c == 'o' ? optarg : output;
	}
	CHECK(!opt['?'] && opt['t'] > 0, "usage");
	CHECK(opt['t'] <= MAX_PAR && opt['f'] <= MAX_PAR, "-t or -f");
	w.lines = argv + optind;
	memset(pattern, 'm', BUF_SIZE);
	for (i = 0; i < opt['f']; i++)
		if (!(pid[i] = fork()))
			_exit(run_all(&w, i + 1));
	run_all(&w, 0);
	while (i-- > 0)
		CHECK(waitpid(must(pid[i], "fork"), &c, 0) == pid[i] && !c, "child");
	opt['x'] = opt['x'] ? opt['x'] : opt['X'];
	if (opt['x'] && w.t->execs++ < (u64)opt['x']) {
		CHECK(opt['X'] ? !pthread_create(&w.thread, NULL, exec_self, argv) :
		      exec_self(argv) != NULL, "exec");
		pause();
	}
	print_totals(&w, output);
	return 0;
}
