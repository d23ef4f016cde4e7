/*
 * pairs FILE - one thread makes pipes, another one puts all under a filter of the
 * program's own; then ten writes to FILE by a descriptor that is another argument of
 * pipe2(2) too
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FD = 100, WRITES = 10, MANY = 20000, MORE = 2000 };

static atomic_long made;
static atomic_bool over;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* What is no argument of the call is what the kernel does not look at. */
static void *make(void *arg)
{
	const long unused = FD | (FD + 1L) << 32;
	int fds[2];

	while (!over) {
		need(syscall(SYS_pipe2, fds, 0, unused) == 0, "pipe2");
		close(fds[0]);
		close(fds[1]);
		made++;
	}
	return arg;
}

static void await(long n)
{
	while (made < n)
		usleep(1000);
}

int main(int argc, char **argv)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 1, all };
	pthread_t thread;

	need(argc == 2, "pairs FILE");
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(fd >= 0 && dup2(fd, FD) == FD && dup2(fd, FD + 1) == FD + 1, argv[1]);
	need(!pthread_create(&thread, NULL, make, NULL), "pthread_create");
	await(MANY);
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
	need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		     &filter),
		"seccomp");
	await(made + MORE);
	over = true;
	pthread_join(thread, NULL);
	for (int i = 0; i < WRITES; i++)
		need(write(FD, "0123456789", 10) == 10, "write");
	return 0;
}
