/*
 * beside - tasks that share memory with the one that is attached to, and not all else
 *
 * filtered: a thread whose filter kills for all but what it does itself;
 * kin: processes by clone(2), with handlers of their own, which are killed;
 * blocked: itself alone, with all signals blocked;
 * threads: which make others all the time.
 *
 * Prints a line when it has begun, and then what is wrong; runs until it is killed.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 64 << 10 };

static int zero;
static pid_t parent;

static void wrong(const char *what)
{
	if (write(STDOUT_FILENO, what, strlen(what)) < 0)
		_exit(1);
}

static void nap(long us)
{
	const struct timespec s = { 0, us * 1000 };

	syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &s, NULL);
}

_Noreturn static int work(void *arg)
{
	char bytes[16];

	(void)arg;
	for (unsigned i = 0;; i++) {
		if (write(zero, bytes, 10) != 10)
			wrong("a write failed\n");
		if (read(zero, bytes, 5) != 5)
			wrong("a read failed\n");
		if (i % 8 == 0)
			nap(200);
	}
}

#define PASS(nr, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, left, 0)

static void *filtered(void *arg)
{
	struct sock_filter code[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr)),
		PASS(SYS_read, 4), PASS(SYS_write, 3), PASS(SYS_clock_nanosleep, 2),
		PASS(SYS_restart_syscall, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		wrong("no filter\n");
	work(arg);
}

/* It is not to outlive its parent. */
static int child(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	return work(arg);
}

static void kin(void)
{
	char *stack = mmap(
		NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;

	for (;;) {
		pid_t pid = clone(child, stack + STACK - 64, CLONE_VM | SIGCHLD, NULL);
		for (int i = 0; i < 50; i++) {
			if (write(zero, "12345678", 8) != 8)
				wrong("a write failed\n");
			nap(500);
		}
		if (pid < 0 || kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid ||
			!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			wrong("a child ended otherwise\n");
	}
}

static void *brief(void *arg)
{
	char byte;

	for (int i = 0; i < 20; i++)
		if (write(zero, "1", 1) != 1 || read(zero, &byte, 1) != 1)
			wrong("a thread failed\n");
	return arg;
}

static void *maker(void *arg)
{
	pthread_t thread;

	for (;;)
		if (!pthread_create(&thread, NULL, brief, NULL))
			pthread_join(thread, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	sigset_t all;

	parent = getpid();
	zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
	if (!strcmp(how, "filtered"))
		pthread_create(&thread, NULL, filtered, NULL);
	for (int i = 0; i < 16 && !strcmp(how, "threads"); i++)
		pthread_create(&thread, NULL, maker, NULL);
	sigfillset(&all);
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_SETMASK, &all, NULL);
	puts("begun");
	fflush(stdout);
	if (!strcmp(how, "kin"))
		kin();
	else if (!strcmp(how, "filtered") || !strcmp(how, "threads"))
		for (;;)
			pause();
	else
		work(NULL);
	return 0;
}
