/*
 * flights.c - requests that are under way together, and prints, as JSON, what became of
 * them
 *
 * usage: flights HOW FILE. HOW: batch late over exit kept threads shared fork short
 * direct accept silent splice narrow pending gone
 * registered race waits private beside lapped handed ends; of Linux AIO: reap destroy
 * few, again (when it is attached to); of a ring that was there before: found
 *        flights loop N DEPTH: N reads of 4 KiB of a file, DEPTH at a time; prints ns
 * each
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 32, SIZE = 4096 };

struct sums {
	atomic_long operations, errors, bytes;
};
static struct {
	const char *name;
	struct sums sums;
} done[] = { { "io_uring:READ", { 0 } }, { "io_uring:WRITE", { 0 } },
	{ "io_uring:OPENAT", { 0 } }, { "io_uring:ACCEPT", { 0 } },
	{ "io_uring:SPLICE", { 0 } }, { "aio:pread", { 0 } }, { "aio:pwrite", { 0 } } };
enum { READS, WRITES, OPENS, ACCEPTS, SPLICES, AIO_READS, AIO_WRITES, NDONE };

static char buf[DEPTH][SIZE];
static const char *path;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "flights: %s failed\n", what);
	exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void note(int what, long res)
{
	if (res < 0) {
		done[what].sums.errors++;
		return;
	}
	done[what].sums.operations++;
	if (what != OPENS && what != ACCEPTS)
		done[what].sums.bytes += res;
}

static void tell(void)
{
	const char *comma = "";

	putchar('{');

	for (int i = 0; i < NDONE; i++) {
		struct sums *s = &done[i].sums;
		if (s->operations + s->errors)
			printf("%s\"%s\": [%ld, %ld, %ld]", comma, done[i].name,
				s->operations, s->errors, s->bytes);
		if (s->operations + s->errors)
			comma = ", ";
	}
	puts("}");
	fflush(stdout);
}

/* The answers that are there, without a call. The place tells which request it was. */
static int reap(struct io_uring *r, const int *what)
{
	struct io_uring_cqe *c;
	int n = 0;

	while (!io_uring_peek_cqe(r, &c)) {
		note(what ? what[c->user_data] : READS, c->res);
		io_uring_cqe_seen(r, c);
		n++;
	}
	return n;
}

static struct io_uring_sqe *next(struct io_uring *r)
{
	struct io_uring_sqe *s = io_uring_get_sqe(r);

	need(s != NULL, "io_uring_get_sqe");
	return s;
}

/* WARM=N: it has been entered so many times before. */
static void ring(struct io_uring *r, unsigned entries)
{
	const char *warm = getenv("WARM");

	if (io_uring_queue_init(entries, r, 0) < 0)
		exit(2);
	for (int i = warm ? atoi(warm) : 0; i > 0; i--) {
		struct io_uring_cqe *c;
		io_uring_prep_nop(next(r));
		need(io_uring_submit_and_wait(r, 1) == 1 && !io_uring_peek_cqe(r, &c),
			"nothing");
		io_uring_cqe_seen(r, c);
	}
}

static int make(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	need(fd >= 0 && !ftruncate(fd, DEPTH * SIZE), "open");
	return fd;
}

static const int writes[DEPTH] = { [0 ... DEPTH - 1] = WRITES };

static void ask_writes(struct io_uring *r, int fd, int n)
{
	for (int i = 0; i < n; i++) {
		struct io_uring_sqe *s = next(r);
		io_uring_prep_write(s, fd, buf[i], 100 + i, i * SIZE);
		s->user_data = i;
	}
}

/* The same word for all that is under way. */
static void batch(void)
{
	struct io_uring r;
	int fd = make();

	ring(&r, DEPTH);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < DEPTH; i++) {
			struct io_uring_sqe *s = next(&r);
			io_uring_prep_read(
				s, fd, buf[i], 1 + i, (DEPTH - i) * SIZE - round);
			s->user_data = 7;
		}
		need(io_uring_submit_and_wait(&r, round % DEPTH + 1) == DEPTH, "submit");
		for (int n = 0; n < DEPTH;)
			n += reap(&r, NULL);
	}
	io_uring_queue_exit(&r);
}

/* No call comes behind the answers but what closes the ring: how. */
static void late(const char *how)
{
	struct io_uring r;
	int fd = make();

	for (int round = 0; round < 20; round++) {
		ring(&r, DEPTH);
		ask_writes(&r, fd, DEPTH);
		need(io_uring_submit(&r) == DEPTH, "submit");
		for (int n = 0; n < DEPTH;)
			n += reap(&r, writes);
		if (!strcmp(how, "over"))
			need(dup2(fd, r.ring_fd) == r.ring_fd, "dup2");
		if (!strcmp(how, "kept"))
			continue;
		if (!strcmp(how, "exit") && round == 19) {
			tell();
			_exit(0);
		}
		io_uring_queue_exit(&r);
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct io_uring common;

static void *work(void *own)
{
	struct io_uring mine, *r = own ? &mine : &common;
	int fd = open(path, O_RDWR);

	if (own)
		ring(r, 4);
	for (int i = 0; i < 2000; i++) {
		if (!own)
			pthread_mutex_lock(&lock);
		struct io_uring_sqe *s = next(r);
		struct io_uring_cqe *c;
		io_uring_prep_read(s, fd, buf[0], 1 + i % 100, 0);
		need(io_uring_submit(r) == 1, "submit");
		need(!io_uring_wait_cqe(r, &c), "wait");
		note(READS, c->res);
		io_uring_cqe_seen(r, c);
		if (!own)
			pthread_mutex_unlock(&lock);
	}
	if (own)
		io_uring_queue_exit(r);
	close(fd);
	return NULL;
}

static void threads(const char *how)
{
	bool own = !strcmp(how, "threads");
	pthread_t t[4];

	close(make());
	if (!own)
		ring(&common, 8);
	for (int i = 0; i < 4; i++)
		need(!pthread_create(&t[i], NULL, work, own ? t : NULL),
			"pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* The ring of its parent, by turns. */
static void forked(void)
{
	struct io_uring r;
	int fd = make();

	ring(&r, DEPTH);
	for (int round = 0; round < 5; round++) {
		pid_t pid = fork();
		if (!pid) {
			ask_writes(&r, fd, 3);
			_exit(io_uring_submit_and_wait(&r, 3) != 3);
		}
		int status = 1;
		waitpid(pid, &status, 0);
		need(!status, "the child");
		r.sq.sqe_tail = r.sq.sqe_head = *r.sq.ktail;
		need(reap(&r, writes) == 3, "reap");
	}
	io_uring_queue_exit(&r);
}

/* The kernel stops at one that is invalid; what is behind it is changed then. */
static void short_(void)
{
	struct io_uring r;
	int fd = make();
	static const int what[DEPTH] = { WRITES, READS, WRITES, WRITES, READS };

	ring(&r, DEPTH);
	ask_writes(&r, fd, 1);
	struct io_uring_sqe *bad = next(&r), *s = next(&r);
	io_uring_prep_read(bad, fd, buf[1], 10, 0);
	bad->user_data = 1;
	bad->ioprio = 0xffff; /* EINVAL */
	io_uring_prep_write(s, fd, buf[2], 2000, 0);
	s->user_data = 2;
	int n = io_uring_submit(&r);
	need(n == 2 || n == 3, "submit");
	if (n == 2) {
		io_uring_prep_read(s, fd, buf[2], 30, 0);
		s->user_data = 4;
		need(io_uring_submit(&r) == 1, "submit again");
	}
	for (int got = 0; got < 3;)
		got += reap(&r, what);
	io_uring_queue_exit(&r);
}

static void direct(void)
{
	static const int what[] = { OPENS, READS };
	struct io_uring r;

	close(make());
	ring(&r, DEPTH);
	need(!io_uring_register_files_sparse(&r, 8), "register");
	need(io_uring_register_ring_fd(&r) >= 0, "register_ring_fd");
	for (int i = 0; i < 8; i++) {
		struct io_uring_sqe *s = next(&r);
		io_uring_prep_openat_direct(s, AT_FDCWD, path, O_RDONLY, 0, i);
		s->user_data = 0;
		s->flags |= IOSQE_IO_LINK;
		s = next(&r);
		io_uring_prep_read(s, i, buf[i], 500 + i, 0);
		s->flags |= IOSQE_FIXED_FILE;
		s->user_data = 1;
		need(io_uring_submit_and_wait(&r, 2) == 2 && reap(&r, what) == 2,
			"submit");
	}
	io_uring_queue_exit(&r);
}

/* One request, several answers. */
static void accepts(void)
{
	static const int what[] = { ACCEPTS };
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	struct io_uring r;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!bind(fd, (void *)&a, len) && !listen(fd, 8) &&
			!getsockname(fd, (void *)&a, &len),
		"listen");
	ring(&r, DEPTH);
	struct io_uring_sqe *s = next(&r);
	io_uring_prep_multishot_accept(s, fd, NULL, NULL, 0);
	s->user_data = 0;
	need(io_uring_submit(&r) == 1, "submit");
	for (int i = 0; i < 5; i++) {
		struct io_uring_cqe *c;
		int to = socket(AF_INET, SOCK_STREAM, 0);
		need(!connect(to, (void *)&a, len) && !io_uring_wait_cqe(&r, &c),
			"connect");
		need(reap(&r, what) == 1, "accept");
	}
	io_uring_queue_exit(&r);
}

/* What succeeds is not answered. */
static void silent(void)
{
	struct io_uring r;
	int fd = make();

	ring(&r, DEPTH);
	for (int i = 0; i < 3; i++) {
		struct io_uring_sqe *s = next(&r);
		io_uring_prep_write(s, i == 1 ? 999 : fd, buf[0], 100, 0);
		s->flags |= IOSQE_CQE_SKIP_SUCCESS;
		s->user_data = i;
	}
	need(io_uring_submit(&r) == 3, "submit");
	while (!reap(&r, writes))
		;
	usleep(100000);
	io_uring_queue_exit(&r);
}

static void spliced(void)
{
	static const int what[] = { SPLICES };
	struct io_uring r;
	int fd = make(), p[2];

	need(!pipe(p), "pipe");
	ring(&r, DEPTH);
	for (int i = 0; i < 4; i++) {
		struct io_uring_sqe *s = next(&r);
		io_uring_prep_splice(s, fd, i * 1000, p[1], -1, 1000 + i, 0);
		s->user_data = 0;
		need(io_uring_submit_and_wait(&r, 1) == 1 && reap(&r, what) == 1,
			"submit");
	}
	io_uring_queue_exit(&r);
}

/* More answers than there is room for: the kernel keeps them until it is called. */
static void narrow(void)
{
	struct io_uring r;
	int fd = make(), n = 0;

	ring(&r, 4);
	for (int i = 0; i < 20; i++) {
		struct io_uring_sqe *s = next(&r);
		io_uring_prep_read(s, fd, buf[i], 1 + i, 0);
		need(io_uring_submit(&r) == 1, "submit");
	}
	while (n < 20) {
		struct io_uring_cqe *c;
		need(!io_uring_wait_cqe(&r, &c), "wait");
		n += reap(&r, NULL);
	}
	io_uring_queue_exit(&r);
}

static bool traced(void)
{
	char line[200];
	int pid = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f) &&
		sscanf(line, "TracerPid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

#include "flightsaio.h"
#include "flightsends.h"
#include "flightsodd.h"

static void loop(long n, int depth)
{
	struct io_uring r;

	path = "flights.tmp";
	int fd = make();
	unlink(path);
	ring(&r, DEPTH);
	double from = now();
	for (long i = 0; i < n; i += depth) {
		for (int j = 0; j < depth; j++)
			io_uring_prep_read(next(&r), fd, buf[j], SIZE, j * SIZE);
		need(io_uring_submit_and_wait(&r, depth) == depth, "submit");
		for (int got = 0; got < depth;)
			got += reap(&r, NULL);
	}
	printf("%.0f\n", (now() - from) / (double)n);
}

/* What it does, by its name; some are done in several ways. */
static const struct {
	const char *how;
	void (*run)(void);
	void (*run_so)(const char *how);
} ways[] = {
	{ "batch", batch, NULL },
	{ "late", NULL, late },
	{ "over", NULL, late },
	{ "exit", NULL, late },
	{ "kept", NULL, late },
	{ "threads", NULL, threads },
	{ "shared", NULL, threads },
	{ "fork", forked, NULL },
	{ "short", short_, NULL },
	{ "direct", direct, NULL },
	{ "accept", accepts, NULL },
	{ "silent", silent, NULL },
	{ "splice", spliced, NULL },
	{ "narrow", narrow, NULL },
	{ "pending", pending, NULL },
	{ "gone", gone, NULL },
	{ "registered", registered, NULL },
	{ "race", race, NULL },
	{ "parted", parted, NULL },
	{ "reused", reused, NULL },
	{ "timed", timed, NULL },
	{ "killed", killed, NULL },
	{ "alarmed", alarmed, NULL },
	{ "ended", ended, NULL },
	{ "waits", waits, NULL },
	{ "unmapped", unmapped, NULL },
	{ "partners", partners, NULL },
	{ "continued", continued, NULL },
	{ "less", less, NULL },
	{ "others", read_by_others, NULL },
	{ "beside", beside, NULL },
	{ "lapped", NULL, lapped },
	{ "handed", NULL, lapped },
	{ "ends", NULL, lapped },
	{ "private", private, NULL },
	{ "reap", NULL, aio },
	{ "destroy", NULL, aio },
	{ "few", NULL, aio },
	{ "again", NULL, aio },
};

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "loop") && atoi(argv[3]) > 0 &&
		atoi(argv[3]) <= DEPTH) {
		loop(atol(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (argc != 3)
		return 2;
	path = argv[2];
	if (!strcmp(argv[1], "found"))
		return found(), 0;
	unsigned i = 0, n = sizeof(ways) / sizeof(*ways);
	while (i < n && strcmp(ways[i].how, argv[1]) != 0)
		i++;
	if (i == n)
		return 2;
	if (ways[i].run)
		ways[i].run();
	else
		ways[i].run_so(argv[1]);
	tell();
	return 0;
}
