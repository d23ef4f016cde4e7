/*
 * can.c - whether this machine does what some tests take: can WHAT [PROGRAM]. 0: it does.
 * A child of ours tries, and is killed where the machine refuses.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO = 126 }; /* what a child ends with, if it does not */

/* Is it a program for this machine? */
static int run(char **argv)
{
	if (!argv[0])
		return NO;
	/* Without an interpreter in between, as execvp(3) and shells do it. */
	freopen("/dev/null", "w", stdout);
	freopen("/dev/null", "w", stderr);
	execv(argv[0], argv);
	return NO;
}

#ifdef __x86_64__
/* The table of calls for programs of 32 bits. */
static int int80(char **argv)
{
	long n;

	(void)argv;
	__asm__ volatile("int $0x80"
			 : "=a"(n)
			 : "a"(20) /* getpid */
			 : "memory", "r8", "r9", "r10", "r11");
	return n == getpid() ? 0 : NO;
}

/* A call while the stack pointer is no address at all. */
static int stack(char **argv)
{
	long n = SYS_getpid;

	(void)argv;
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov $1, %%esp\n\t"
			 "shl $63, %%rsp\n\t"
			 "syscall\n\t"
			 "mov %%rbx, %%rsp"
			 : "+a"(n)
			 :
			 : "rbx", "rcx", "r11", "memory");
	return n == getpid() ? 0 : NO;
}

/* That a program may not read the clock of the processor: killed, if so. */
static int tsc(char **argv)
{
	(void)argv;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0)
		return NO;
	__asm__ volatile("rdtsc" : : : "eax", "edx", "memory");
	return NO;
}
#endif

static const struct {
	const char *name;
	int (*child)(char **argv);
	int killed; /* by which signal, if it does */
} what[] = {
	{ "run", run, 0 },
#ifdef __x86_64__
	{ "int80", int80, 0 },
	{ "stack", stack, 0 },
	{ "tsc", tsc, SIGSEGV },
#endif
};

static int try(unsigned i, char **argv)
{
	const struct rlimit none = { 0, 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		_exit(what[i].child(argv));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	if (what[i].killed)
		return !(WIFSIGNALED(status) && WTERMSIG(status) == what[i].killed);
	return !(WIFEXITED(status) && WEXITSTATUS(status) != NO);
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof(what) / sizeof(*what); i++)
		if (!strcmp(argv[1], what[i].name))
			return try(i, argv + 2);
	fprintf(stderr, "usage: can run|int80|stack|tsc [PROGRAM]\n");
	return 2;
}
