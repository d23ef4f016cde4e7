/*
 * quits - a program whose threads read all the time, and which begins to judge its calls,
 * or to handle SIGSYS, in the middle of that
 *
 *   quits HOW MS
 *
 * HOW: filter, tsync (a filter for all threads at once), sigsys, or dispatch. After half
 * of the milliseconds; prints good after all of them.
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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

enum { READERS = 2, MANY = 500, SIZE = 64 };

static int zero;

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

static int begin(const char *how)
{
	static char selector;

	if (!strcmp(how, "sigsys"))
		return signal(SIGSYS, handler) == SIG_ERR;
	if (!strcmp(how, "dispatch"))
		return prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector);
	return filter(strcmp(how, "tsync") ? 0 : SECCOMP_FILTER_FLAG_TSYNC);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc != 3)
		return 2;
	long begun = now_ms(), ms = atol(argv[2]), done = 0;
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < READERS; i++)
		pthread_create(&t, NULL, reader, NULL);
	for (long at = 0; at < ms; at = now_ms() - begun) {
		read_many();
		if (at < ms / 2 || done++)
			continue;
		if (begin(argv[1]))
			return 4;
	}
	puts("good");
	fflush(stdout);
	_exit(0);
}
