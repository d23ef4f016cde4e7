/*
 * vain.c - programs that exec(2) does not find: what the call says, and leaves as it was
 *
 * vain: of several paths, in children, a line each. vain N: so many calls
 * while signals come; what their handler sees is the program's own.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { FLAGS = 0xcd5 }; /* OF DF SF ZF AF PF CF */
static char *args[] = { "x", NULL };

#ifdef __x86_64__
static volatile sig_atomic_t odd, signals;

static const char *volatile path_now;

/* All but rax, rcx and r11 are to be kept. */
static long call(const char *path, uint64_t set, int *kept)
{
	uint64_t flags = 0;
	long ret = SYS_execve;
	const char *path_after = path;
	char **argv = args, **envp = environ;
	register long r8 __asm__("r8") = 8, r9 __asm__("r9") = 9, r10 __asm__("r10") = 10;

	__asm__ volatile("pushq %[set]\n\tpopfq\n\tsyscall\n\tpushfq\n\tpopq %[flags]\n\tcld"
			 : "+a"(ret), [flags] "=&b"(flags), "+D"(path_after), "+S"(argv),
			 "+d"(envp), "+r"(r8), "+r"(r9), "+r"(r10)
			 : [set] "r"(set)
			 : "rcx", "r11", "memory", "cc");
	*kept = path_after == path && argv == args && envp == environ && r8 == 8 && r9 == 9 &&
		r10 == 10 && (flags & FLAGS) == (set & FLAGS);
	return ret;
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *at = (const uint8_t *)r[REG_RIP];
	extern const uint8_t __executable_start[], etext[];

	(void)sig;
	(void)info;
	signals++;
	if (at < __executable_start || at >= etext)
		return; /* in the library */
	/* Before the call, or behind it. */
	if (at[0] == 0x0f && at[1] == 0x05)
		odd += r[REG_RAX] != SYS_execve || r[REG_RDI] != (greg_t)path_now ||
		       r[REG_RSI] != (greg_t)args || r[REG_RDX] != (greg_t)environ;
	if (at[-2] == 0x0f && at[-1] == 0x05)
		odd += r[REG_RAX] != -ENOENT || r[REG_RCX] != (greg_t)at ||
		       r[REG_RSI] != (greg_t)args || r[REG_RDX] != (greg_t)environ;
	odd += (uintptr_t)at >= 0x6fff0000 && (uintptr_t)at < 0x80000000;
}

static int hail(int n)
{
	struct sigaction act = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	int wrong = 0, kept;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	path_now = "/nowhere/at/all";
	for (int i = 0; i < n || signals < 20; i++)
		wrong += call(path_now, 0x202 | (i & 1), &kept) != -ENOENT || !kept;
	printf("%d %d\n", wrong, (int)odd);
	return 0;
}

static void lines(const char *const *path, unsigned n)
{
	static const uint64_t flags[] = { 0x202, 0xed7 };

	for (unsigned i = 0; i < n; i++) {
		fflush(stdout);
		pid_t pid = fork();
		if (!pid) {
			int kept;
			long ret = call(path[i], flags[i & 1], &kept);
			char line[64];
			int len = snprintf(line, sizeof(line), "%u: %ld %d\n", i, ret, kept);
			_exit(write(1, line, len) != len);
		}
		waitpid(pid, NULL, 0);
	}
}


int main(int argc, char **argv)
{
	static char longest[5000];
	const char *const path[] = { "/nowhere/x", "/etc/passwd/x", "/etc/passwd", "", "nosuch",
		"/tmp", (char *)8, (char *)-8, NULL, longest, "/proc/self/nosuch/../x", "/nowhere/y",
		"/nowhere/z" };
	const unsigned n = sizeof(path) / sizeof(*path);

	memset(longest, 'a', sizeof(longest) - 1);
	if (argc > 1)
		return hail(atoi(argv[1]));
	for (int i = 0; i < 4; i++)
		lines(path, n);
	/* In memory that is lent: vfork(2). */
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		pid_t pid = vfork();
		if (!pid) {
			for (unsigned j = 0; j < n; j++)
				execve(path[j], args, environ);
			execve("/bin/true", args, environ);
			_exit(1);
		}
		int status = -1;
		waitpid(pid, &status, 0);
		printf("%d\n", status);
	}
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
