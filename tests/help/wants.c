/*
 * wants.c - what a program does about SIGSYS, and about memory, while it is attached to
 *
 * wants WHAT: makes calls in three threads until somebody has attached to it and has let
 * it go. "ready" and "acted" are files that say when to. Prints "good", or what is not as
 * it should be.
 */
#include <errno.h>
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define WINDOW ((void *)0x70000000) /* where slots of the tracer are */
enum { WINDOW_LEN = 0x200000, MADE_UP = 5555 };

static volatile int over, hits;
static volatile char selector;
static int null;

static void bad(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
	_exit(1);
}

static void check(int holds, const char *what)
{
	if (!holds)
		bad(what);
}

static int tracer(void)
{
	char text[4096], *at;
	int fd = open("/proc/thread-self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "TracerPid:");
	return at ? atoi(at + 10) : -1;
}

static void calls(int n)
{
	const struct timespec nap = { 0, 1000000 };

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < 10; j++)
			check(write(null, "x", 1) == 1, "write");
		nanosleep(&nap, NULL);
	}
}

/* Attached to for so long that what is patched is patched. */
static void while_traced(void)
{
	while (!tracer())
		calls(1);
	calls(100);
}

static void till_let_go(void)
{
	close(open("acted", O_CREAT | O_WRONLY, 0600));
	while (tracer())
		calls(1);
	calls(20);
}

static void count(int sig)
{
	(void)sig;
	hits++;
}

static void *handler(void)
{
	struct sigaction now;

	sigaction(SIGSYS, NULL, &now);
	return (void *)now.sa_handler;
}

static void block(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sig)
		sigaddset(&set, sig);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

/* It is called once, and is the one that was set. */
static void check_called(void)
{
	block(0);
	check(handler() == (void *)count, "its handler is gone");
	hits = 0;
	raise(SIGSYS);
	check(hits == 1, "its handler is not called");
}

/* As emulators have it: calls from some of their code are for them to make. */
static void emulate(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	selector = 0;
	if (info->si_syscall == MADE_UP)
		u->uc_mcontext.gregs[REG_RAX] = 42;
}

static void dispatch(void)
{
	check(!prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector), "prctl");
}

static void emulated(void)
{
	selector = 1;
	long got = syscall(MADE_UP);
	selector = 0;
	check(got == 42, "its own dispatch is not its own");
}

static void *dispatches(void *arg)
{
	(void)arg;
	for (dispatch(); !over; calls(2))
		emulated();
	return NULL;
}

static void *starts(void *arg)
{
	(void)arg;
	block(SIGSYS);
	while_traced();
	dispatch();
	for (block(0); !over; calls(2))
		emulated();
	return NULL;
}

static void *maps(void *arg)
{
	(void)arg;
	block(SIGSYS);
	while_traced();
	uint8_t *at = mmap(WINDOW, WINDOW_LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(at == WINDOW, "mmap");
	memset(at, 7, WINDOW_LEN);
	till_let_go();
	for (size_t i = 0; i < WINDOW_LEN; i++)
		check(at[i] == 7, "its memory is not its own");
	return NULL;
}

static void *unmaps(void *arg)
{
	(void)arg;
	block(SIGSYS);
	while_traced();
	check(!munmap(WINDOW, WINDOW_LEN), "munmap");
	till_let_go();
	return NULL;
}

static void *protects(void *arg)
{
	(void)arg;
	block(SIGSYS);
	while_traced();
	mprotect(WINDOW, WINDOW_LEN, PROT_NONE);
	till_let_go();
	return NULL;
}

static void *keys(void *arg)
{
	(void)arg;
	while_traced();
	syscall(SYS_pkey_mprotect, WINDOW, (size_t)WINDOW_LEN, PROT_NONE, -1);
	till_let_go();
	return NULL;
}

static void three(int sig)
{
	(void)sig;
	for (int i = 0; i < 3; i++)
		check(write(null, "x", 1) == 1, "write");
}

/* Calls in a handler that blocks all, where ours would be taken away for being raised. */
static void *alarms(void *arg)
{
	(void)arg;
	block(0);
	while (!over)
		;
	return NULL;
}

static void *sets(void *arg)
{
	const struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction act = { .sa_handler = three };
	pthread_t other;

	(void)arg;
	sigfillset(&act.sa_mask);
	sigaction(SIGALRM, &act, NULL);
	block(SIGALRM);
	pthread_create(&other, NULL, alarms, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while_traced();
	signal(SIGSYS, count);
	till_let_go();
	over = 1;
	pthread_join(other, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	check_called();
	return NULL;
}

/* A filter of its own, that kills for what the tracer does in a program's name. */
static void *filters(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(code) / sizeof(*code), code };

	(void)arg;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	check(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p), "seccomp");
	while_traced();
	signal(SIGSYS, count);
	till_let_go();
	check_called();
	return NULL;
}

/* A child that shares memory, and has actions of its own. */
static void *borrows(void *arg)
{
	int status;

	(void)arg;
	signal(SIGSYS, count);
	while_traced();
	pid_t pid = vfork();
	if (!pid) {
		signal(SIGSYS, three);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "vfork");
	check(handler() == (void *)count, "its handler is another one");
	till_let_go();
	check_called();
	return NULL;
}

static void *borrows_and_filters(void *arg)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog p = { 1, &allow };
	int status;

	(void)arg;
	while_traced();
	pid_t pid = vfork();
	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "vfork");
	till_let_go();
	check(!handler(), "there is a handler that it has not set");
	return NULL;
}

/* All but those that a fault raises. */
static void spare(void)
{
	static const int spared[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS };
	sigset_t set;

	sigfillset(&set);
	for (unsigned i = 0; i < sizeof(spared) / sizeof(*spared); i++)
		sigdelset(&set, spared[i]);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static void check_spared(void)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	check(!sigismember(&now, SIGSYS), "it blocks what it had not blocked");
	raise(SIGSYS);
	check(hits == 2, "a signal was kept from it");
}

static void *spares(void *arg)
{
	(void)arg;
	signal(SIGSYS, count);
	spare();
	while_traced();
	raise(SIGSYS);
	till_let_go();
	check_spared();
	return NULL;
}

static void *spares_later(void *arg)
{
	(void)arg;
	signal(SIGSYS, count);
	while_traced();
	spare();
	calls(20);
	raise(SIGSYS);
	till_let_go();
	check_spared();
	return NULL;
}

/* struct clone_args, clone(2): flags and the signal at its end, of which no handler is
 * kept. */
static void *clears(void *arg)
{
	uint64_t how[11] = { [0] = UINT64_C(0x100000000), [4] = SIGCHLD };
	int status;

	(void)arg;
	signal(SIGSYS, count);
	while_traced();
	pid_t pid = (pid_t)syscall(SYS_clone3, how, sizeof(how));
	if (!pid) {
		check(!handler(), "a child has its parent's handler");
		till_let_go();
		check(!handler(), "a child was given its parent's handler");
		raise(SIGSYS);
		_exit(3);
	}
	check(waitpid(pid, &status, 0) == pid, "clone3");
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "a child lives on");
	till_let_go();
	check_called();
	return NULL;
}

/* The kernel takes the number for an int. */
static void *wide(void *arg)
{
	const uint64_t sig = UINT64_C(5) << 32 | SIGSYS;
	uint64_t mine[4], now[4] = { 0 }; /* handler, flags, restorer, mask */

	(void)arg;
	signal(SIGSYS, count);
	syscall(SYS_rt_sigaction, SIGSYS, NULL, mine, (size_t)8);
	signal(SIGSYS, SIG_DFL);
	while_traced();
	syscall(SYS_rt_sigaction, sig, NULL, now, (size_t)8);
	check(!now[0], "there is a handler that it has not set");
	syscall(SYS_rt_sigaction, sig, mine, NULL, (size_t)8);
	till_let_go();
	check_called();
	return NULL;
}

/* It ignores the signal, and so does what it runs, where there is no room for us. */
static void *ignores(void *arg)
{
	const struct rlimit little = { 300 << 20, 300 << 20 };
	int status;

	(void)arg;
	signal(SIGSYS, SIG_IGN);
	while_traced();
	pid_t pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &little);
		execl("/proc/self/exe", "wants", "runs", (char *)NULL);
		_exit(1);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
			WTERMSIG(status) == SIGSYS,
		"what it runs has lost a signal");
	till_let_go();
	return NULL;
}

static void run_by_ignores(void)
{
	check(handler() == (void *)SIG_IGN, "it is not ignored any more");
	signal(SIGSYS, count);
	calls(20);
	check_called();
	signal(SIGSYS, SIG_DFL);
	calls(1);
	raise(SIGSYS);
	_exit(3);
}

static const struct {
	const char *name;
	void *(*does)(void *);
	int waits; /* whether it ends by itself */
} all[] = {
	{ "dispatches", dispatches, 0 },
	{ "starts", starts, 0 },
	{ "maps", maps, 1 },
	{ "unmaps", unmaps, 1 },
	{ "protects", protects, 1 },
	{ "keys", keys, 1 },
	{ "sets", sets, 1 },
	{ "filters", filters, 1 },
	{ "borrows", borrows, 1 },
	{ "borrows-and-filters", borrows_and_filters, 1 },
	{ "spares", spares, 1 },
	{ "spares-later", spares_later, 1 },
	{ "clears", clears, 1 },
	{ "wide", wide, 1 },
	{ "ignores", ignores, 1 },
};

static void *plain(void *arg)
{
	(void)arg;
	while (!over)
		calls(1);
	return NULL;
}

static void begin(pthread_t *thread, unsigned i)
{
	struct sigaction act = { .sa_sigaction = emulate,
		.sa_flags = SA_SIGINFO | SA_NODEFER };

	if (!all[i].waits)
		sigaction(SIGSYS, &act, NULL);
	pthread_create(&thread[0], NULL, all[i].does, NULL);
	block(SIGALRM);
	pthread_create(&thread[1], NULL, plain, NULL);
	pthread_create(&thread[2], NULL, plain, NULL);
	close(open("ready", O_CREAT | O_WRONLY, 0600));
	if (!all[i].waits) {
		while_traced();
		till_let_go();
	} else {
		pthread_join(thread[0], NULL);
	}
	over = 1;
	for (int j = all[i].waits; j < 3; j++)
		pthread_join(thread[j], NULL);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	pthread_t thread[3];

	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!strcmp(name, "runs"))
		run_by_ignores();
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, name)) {
			begin(thread, i);
			puts("good");
			return 0;
		}
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		puts(all[i].name);
	return 2;
}
