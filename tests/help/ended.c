/*
 * ended.c - waits in io_uring_enter(2) that end without an answer, for their own reasons
 *
 * Each takes a request that is never answered, so its result is 1, whatever ends it.
 * Prints a line for each: its results, and whether they took the time (1), less (0),
 * more.
 */
#include "ring.h"

#include <linux/io_uring.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	TIMES = 3,
	WAIT_NS = 200 * 1000 * 1000,
	ABS_TIMER = 1 << 5, /* what headers of older kernels lack */
	ARG_REG = 1 << 6,
	REGISTER_MEM_REGION = 34,
};

static struct io_uring_getevents_arg arg = { .sigmask_sz = 8 };
static struct __kernel_timespec ts;
static char byte;
static int nothing; /* a pipe that nothing comes from */

static void ask_read(void)
{
	io_uring_prep_read(next(), nothing, &byte, 1, 0);
}

static void ask_by_time(void)
{
	ask_read();
	clock_gettime(CLOCK_MONOTONIC, (struct timespec *)&ts);
	ts.tv_nsec += WAIT_NS;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	arg.ts = (uintptr_t)&ts;
}

static void ask_for_time(void)
{
	ask_read();
	ts = (struct __kernel_timespec){ 0, WAIT_NS };
	arg.ts = (uintptr_t)&ts;
}

static void ask_badly(void)
{
	ask_read();
	arg.ts = 8;
}

static void ask_negative(void)
{
	ask_read();
	ts = (struct __kernel_timespec){ -1, 0 };
	arg.ts = (uintptr_t)&ts;
}

/* It is answered only if it fails. */
static void ask_silently(void)
{
	struct io_uring_sqe *s = next();

	ts = (struct __kernel_timespec){ 0, WAIT_NS };
	io_uring_prep_timeout(s, &ts, 0, IORING_TIMEOUT_ETIME_SUCCESS);
	s->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* Where the wait is said in memory that is registered: at 0 there. 0, or it cannot be. */
static int region(void)
{
	struct wait {
		struct __kernel_timespec ts;
		uint32_t min_wait_usec, flags;
		uint64_t sigmask;
		uint32_t sigmask_sz, pad[3];
		uint64_t more[2];
	} *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct {
		uint64_t at, size;
		uint32_t flags, id;
		uint64_t offset, more[4];
	} of = { .at = (uintptr_t)w, .size = 4096, .flags = 1 };
	struct {
		uint64_t of, flags, more[2];
	} r = { (uintptr_t)&of, 1, { 0 } };

	need(w != MAP_FAILED, "mmap");
	w->ts.tv_nsec = WAIT_NS;
	w->flags = 1;
	return (int)syscall(
		       SYS_io_uring_register, ring.ring_fd, REGISTER_MEM_REGION, &r, 1) ||
	       syscall(SYS_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS,
		       NULL, 0);
}

/* Nothing, of a ring that nobody else can read, while signals come that mean nothing. */
static void ask_nothing(void)
{
	ts = (struct __kernel_timespec){ 0, WAIT_NS };
	arg.ts = (uintptr_t)&ts;
}

static const struct {
	const char *name;
	void (*ask)(void);
	unsigned flags, setup;
} ends[] = {
	{ "absolute", ask_by_time, IORING_ENTER_EXT_ARG | ABS_TIMER, 0 },
	{ "relative", ask_for_time, IORING_ENTER_EXT_ARG, 0 },
	{ "unreadable", ask_badly, IORING_ENTER_EXT_ARG, 0 },
	{ "negative", ask_negative, IORING_ENTER_EXT_ARG, 0 },
	{ "silent", ask_silently, 0, 0 },
	{ "region", ask_read, IORING_ENTER_EXT_ARG | ARG_REG, IORING_SETUP_R_DISABLED },
	{ "polled", ask_nothing, IORING_ENTER_EXT_ARG, IORING_SETUP_SQPOLL },
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static pid_t signal_often(void)
{
	const pid_t pid = getpid();
	pid_t child = fork();

	if (child == 0)
		while (!usleep(WAIT_NS / 5000) && !kill(pid, SIGWINCH))
			;
	if (child == 0)
		_exit(0);
	return child;
}

/* -1: the kernel does not know that. */
static int end(int i)
{
	struct io_uring_params p = { .flags = ends[i].setup };
	const bool polled = p.flags & IORING_SETUP_SQPOLL;
	pid_t other = polled ? signal_often() : 0;

	need(!io_uring_queue_init_params(8, &ring, &p), "io_uring_queue_init");
	if (ends[i].flags & ARG_REG && region())
		return -1;
	printf("%s", ends[i].name);
	for (int n = 0; n < TIMES; n++) {
		ends[i].ask();
		io_uring_smp_store_release(ring.sq.ktail, ring.sq.sqe_tail);
		for (unsigned at = ring.sq.sqe_head; at != ring.sq.sqe_tail; at++)
			ring.sq.array[at & *ring.sq.kring_mask] =
				at & *ring.sq.kring_mask;
		ring.sq.sqe_head = ring.sq.sqe_tail;
		uint64_t begin = now_ns();
		long got = syscall(SYS_io_uring_enter, ring.ring_fd, !polled, 1,
			IORING_ENTER_GETEVENTS | ends[i].flags,
			ends[i].flags & ARG_REG                ? NULL
			: ends[i].flags & IORING_ENTER_EXT_ARG ? &arg
							       : NULL,
			ends[i].flags & ARG_REG                ? 64
			: ends[i].flags & IORING_ENTER_EXT_ARG ? sizeof(arg)
							       : 0);
		uint64_t took = now_ns() - begin;
		printf(" %ld:%d", got,
			(took >= WAIT_NS) + (took >= 5 * (uint64_t)WAIT_NS));
	}
	printf("\n");
	if (polled)
		kill(other, SIGKILL);
	io_uring_queue_exit(&ring);
	return 0;
}

int main(void)
{
	int fds[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	need(!pipe(fds), "pipe");
	nothing = fds[0];
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		end((int)i);
	return 0;
}
