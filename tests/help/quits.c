/*
 * quits - a program whose threads read all the time, and which begins to judge its calls,
 * to handle SIGSYS, or to use low memory for itself, in the middle of that
 *
 *   quits HOW MS
 *
 * HOW: filter, tsync (a filter for all threads at once), sigsys, dispatch, or what is
 * done with that memory: unmap, map or protect; or without threads code, mapped to be
 * run, and gap: map where it finds something near its code that can be run and is of no
 * file. After half of the milliseconds; prints good after all of them. One of the threads
 * waits for that.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

enum { READERS = 2, MANY = 500, SIZE = 64 };
enum { LOW = 0x68000000, LOW_LEN = 0x18000000, STEP = 64 * 1024 };
enum { CODE = 0x6ff00000, CODE_LEN = 0x200000 };

static int zero, ends[2];
static char *mapped, *mapped_end;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void read_many(void)
{
	char buf[SIZE];

	for (int i = 0; i < MANY; i++)
		if (read(zero, buf, SIZE) != SIZE)
			_exit(3);
}

static void *reader(void *arg)
{
	for (;;)
		read_many();
	return arg;
}

static void *waiter(void *arg)
{
	char byte;

	return read(ends[0], &byte, 1) == 1 && byte == 'x' ? arg : NULL;
}

static void handler(int sig)
{
	(void)sig;
}

/* Refuses what nobody asks for. */
static int filter(unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* Where a program that is not linked for it has nothing. */
static int use_memory(const char *how)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	char *at = (char *)(intptr_t)LOW;

	if (!strcmp(how, "unmap"))
		return munmap(at, LOW_LEN);
	if (!strcmp(how, "protect")) {
		for (size_t i = 0; i < LOW_LEN; i += STEP)
			(void)mprotect(at + i, STEP, PROT_NONE);
		return 0;
	}
	const int code = strcmp(how, "code") ? 0 : PROT_EXEC;
	mapped = mmap(at, LOW_LEN, PROT_READ | PROT_WRITE | code, flags, -1, 0);
	if (mapped == at && code)
		memset((void *)(intptr_t)CODE, 0xcc, CODE_LEN); /* int3 */
	for (size_t i = 0; mapped == at && i < LOW_LEN; i += STEP)
		mapped[i] = 'x';
	mapped_end = at + LOW_LEN;
	return mapped != at;
}

/* What is there is run, and goes on where a signal has found it. */
static int run_own(void)
{
	static const unsigned char loop[] = {
		0x89, 0xf8,             /* mov %edi, %eax */
		0xb9, 0, 0, 0x80, 0,    /* mov $0x800000, %ecx */
		0xff, 0xc9, 0x75, 0xfc, /* 1: dec %ecx; jnz 1b */
		0xc3                    /* ret */
	};
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	int (*own)(int) = (int (*)(int))(intptr_t)(CODE + 0x100800);
	int bad = 0;

	memcpy((void *)own, loop, sizeof(loop));
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 10; i++)
		bad += own(i) != i;
	setitimer(ITIMER_REAL, &never, NULL);
	return bad;
}

/* Whatever is in the way. */
static int use_gap(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	unsigned long from, to, at = 0, end = 0;
	char line[512], mode[8], path[256];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		int n = sscanf(
			line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, mode, path);
		if (n != 3 || strcmp(mode, "r-xp") || from - LOW < LOW_LEN)
			continue;
		at = from;
		end = to;
	}
	if (f)
		fclose(f);
	if (!at)
		return 0;
	mapped = mmap((void *)at, end - at, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (mapped != (char *)at)
		return 1;
	*mapped = 'x';
	mapped_end = mapped + STEP;
	return 0;
}

static int used(void)
{
	for (char *at = mapped; at != mapped_end; at += STEP)
		if (*at != 'x')
			return 0;
	return 1;
}

static int begin(const char *how)
{
	static char selector;

	if (!strcmp(how, "gap"))
		return use_gap();
	if (!strcmp(how, "code"))
		return use_memory(how) || run_own();
	if (!strcmp(how, "unmap") || !strcmp(how, "map") || !strcmp(how, "protect"))
		return use_memory(how);
	if (!strcmp(how, "sigsys"))
		return signal(SIGSYS, handler) == SIG_ERR;
	if (!strcmp(how, "dispatch"))
		return prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector);
	return filter(strcmp(how, "tsync") ? 0 : SECCOMP_FILTER_FLAG_TSYNC);
}

int main(int argc, char **argv)
{
	void *waited = NULL;
	pthread_t t;

	if (argc != 3)
		return 2;
	const int threads = strcmp(argv[1], "gap") && strcmp(argv[1], "code");
	long begun = now_ms(), ms = atol(argv[2]), done = 0;
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; threads && i < READERS; i++)
		pthread_create(&t, NULL, reader, NULL);
	if (threads && (pipe(ends) || pthread_create(&t, NULL, waiter, &zero)))
		return 5;
	for (long at = 0; at < ms; at = now_ms() - begun) {
		read_many();
		if (at < ms / 2 || done++)
			continue;
		if (begin(argv[1]))
			return 4;
	}
	if (threads && (write(ends[1], "x", 1) != 1 || pthread_join(t, &waited) ||
			       waited != &zero))
		return 6;
	if (!used())
		return 7;
	puts("good");
	fflush(stdout);
	_exit(0);
}
