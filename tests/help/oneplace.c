/*
 * oneplace - programs that are hard to follow from outside
 *
 *   oneplace threads N   a thread makes N one-byte writes by syscall(2), whose number no
 *                        place in the code tells, while the program has handlers of
 *                        SIGSYS and SIGTRAP, and the other thread blocks both
 *   oneplace steps N     N one-byte writes, and as many reads, by a program that steps
 *                        through itself (EFLAGS.TF); prints whether it has had a trap for
 *                        each of them
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t traps;

static void on_signal(int sig)
{
	(void)sig;
	traps++;
}

static void *writes(void *arg)
{
	int fd = open("/dev/null", O_WRONLY);

	for (long n = *(long *)arg; n--;)
		if (syscall(SYS_write, fd, "x", 1) != 1)
			abort();
	close(fd);
	return arg;
}

static int threads(long n)
{
	pthread_t other;
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGTRAP);
	sigaddset(&both, SIGSYS);
	signal(SIGSYS, on_signal);
	if (pthread_create(&other, NULL, writes, &n))
		return 1;
	pthread_sigmask(SIG_BLOCK, &both, NULL);
	pthread_join(other, NULL);
	return traps;
}

static int steps(long n)
{
#ifdef __x86_64__
	int fd = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
	char c;

	__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory", "cc");
	for (long i = 0; i < n; i++)
		if (write(fd, "x", 1) != 1 || read(zero, &c, 1) != 1)
			abort();
	__asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory", "cc");
#endif
	printf("%d\n", traps >= n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	signal(SIGTRAP, on_signal);
	return strcmp(argv[1], "steps") ? threads(atol(argv[2])) : steps(atol(argv[2]));
}
