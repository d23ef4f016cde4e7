/*
 * waiter - waits with a limit, while children end and nobody asks for their signal
 *
 * Each wait is to last as long as it should, and to leave its arguments alone. Prints
 * what was not so. A signal that is handled ends it.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 300, EACH_MS = 90, CHILDREN = 30 };

static pid_t child[CHILDREN];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bear(void)
{
	for (int i = 0; i < CHILDREN; i++)
		if (!(child[i] = fork())) {
			usleep(EACH_MS * 1000u * (unsigned)(i + 1));
			_exit(0);
		}
}

static void bury(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

/* A call, and whether its arguments are in their registers still. */
static long call(long nr, long a, long b, long c, long d, long e, int *kept)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 8;
	long a0 = a, b0 = b, c0 = c, ret = nr;

	__asm__ volatile(
		"syscall"
		: "+a"(ret), "+D"(a0), "+S"(b0), "+d"(c0), "+r"(r10), "+r"(r8), "+r"(r9)
		:
		: "rcx", "r11", "memory");
	*kept = a0 == a && b0 == b && c0 == c && r10 == d && r8 == e && r9 == 8;
	return ret;
#else
	*kept = 1;
	long ret = syscall(nr, a, b, c, d, e, 8L);
	return ret < 0 ? -errno : ret;
#endif
}

#define P(x) ((long)(x))

static void wait_by(const char *name, long want, long nr, long a, long b, long c, long d)
{
	double took = 1e9;
	long got = want;
	int kept = 1;

	/* A busy machine makes one of them late, signals that make it longer all. */
	for (int i = 0; i < 5 && got == want && kept && took > 1.5; i++) {
		bear();
		double from = now();
		got = call(nr, a, b, c, d, 0, &kept);
		took = now() - from;
		bury();
	}
	if (got == -ENOSYS)
		return;
	if (got != want || !kept || took < 0.299 || took > 1.5)
		printf("%s: %ld after %.3f s%s\n", name, got, took,
			kept ? "" : ", registers");
}

static void all_waits(void)
{
	struct timespec limit = { 0, LIMIT_MS * 1000000 };
	struct epoll_event event;
	struct sembuf down = { 0, -1, 0 };
	sigset_t set;
	int e = epoll_create1(0), s = semget(IPC_PRIVATE, 1, 0600);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 2; i++) {
#ifdef SYS_epoll_wait
		wait_by("epoll_wait", 0, SYS_epoll_wait, e, P(&event), 1, LIMIT_MS);
#endif
		wait_by("epoll_pwait", 0, SYS_epoll_pwait, e, P(&event), 1, LIMIT_MS);
#ifdef SYS_epoll_pwait2
		wait_by("epoll_pwait2", 0, SYS_epoll_pwait2, e, P(&event), 1, P(&limit));
#endif
		wait_by("semtimedop", -EAGAIN, SYS_semtimedop, s, P(&down), 1, P(&limit));
		wait_by("rt_sigtimedwait", -EAGAIN, SYS_rt_sigtimedwait, P(&set), 0,
			P(&limit), 8);
	}
	if (limit.tv_sec || limit.tv_nsec != LIMIT_MS * 1000000)
		puts("the limit itself has changed");
	semctl(s, 0, IPC_RMID);
	close(e);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void handled(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct epoll_event event;
	int e = epoll_create1(0), kept;

	sigaction(SIGALRM, &act, NULL);
	alarm(1);
	long got = call(SYS_epoll_pwait, e, P(&event), 1, 5000, 0, &kept);
	if (got != -EINTR || !kept)
		printf("a handler: %ld%s\n", got, kept ? "" : ", registers");
}

static volatile int over;

static void *make_children(void *arg)
{
	while (!over) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return arg;
}

static void *poll_signals(void *arg)
{
	long *interrupted = arg;
	struct timespec limit = { 0, 20 * 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!over)
		*interrupted += sigtimedwait(&set, NULL, &limit) < 0 && errno == EINTR;
	return NULL;
}

static void *poll_events(void *arg)
{
	long *interrupted = arg;
	int e = epoll_create1(0);
	struct epoll_event event;

	while (!over)
		*interrupted += epoll_wait(e, &event, 1, 20) < 0 && errno == EINTR;
	close(e);
	return NULL;
}

static void threads(void)
{
	long interrupted[2] = { 0 };
	pthread_t t[3];

	pthread_create(&t[0], NULL, poll_signals, &interrupted[0]);
	pthread_create(&t[1], NULL, poll_events, &interrupted[1]);
	pthread_create(&t[2], NULL, make_children, NULL);
	sleep(2);
	over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (interrupted[0] || interrupted[1])
		printf("interrupted: %ld and %ld\n", interrupted[0], interrupted[1]);
}

enum { STOPS = 4, LONG_MS = 1500 };

/* Until it has not been interrupted for long. */
static void *count_stops(void *arg)
{
	long *interrupted = arg;
	int e = epoll_create1(0);
	struct epoll_event event;

	for (int i = 0; i < 10; i++)
		epoll_wait(e, &event, 1, 1);
	while (epoll_wait(e, &event, 1, LONG_MS) < 0 && errno == EINTR)
		++*interrupted;
	close(e);
	return NULL;
}

/* Until all threads of it are in one of these states: proc(5). */
static void await(pid_t pid, const char *states)
{
	bool all = false;

	while (!all) {
		char path[300], state = 0;
		struct dirent *e;
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		DIR *d = opendir(path);
		usleep(5000);
		for (all = d; d && (e = readdir(d));) {
			snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
				e->d_name);
			FILE *f = *e->d_name != '.' ? fopen(path, "r") : NULL;
			if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1)
				all = all && strchr(states, state);
			if (f)
				fclose(f);
		}
		if (d)
			closedir(d);
	}
}

static void stops(void)
{
	long interrupted[3] = { 0 };
	pid_t me = getpid(), pid;
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, count_stops, &interrupted[i]);
	if (!(pid = fork())) {
		for (int i = 0; i < STOPS; i++) {
			usleep(200 * 1000);
			await(me, "S");
			kill(me, SIGSTOP);
			usleep(100 * 1000);
			await(me, "tT");
			kill(me, SIGCONT);
		}
		_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		if (interrupted[i] < STOPS)
			printf("stopped %d times, interrupted %ld\n", STOPS,
				interrupted[i]);
	}
	waitpid(pid, NULL, 0);
}

/* One that is ignored comes before one that is not. */
#ifdef SYS_epoll_pwait2
static void both(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct timespec limit = { 5, 0 };
	struct epoll_event event;
	sigset_t set, none;
	int e = epoll_create1(0);

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGPROF);
	sigaction(SIGPROF, &act, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 30; i++) {
		raise(SIGCHLD);
		raise(SIGPROF);
		int kept;
		long got = call(
			SYS_epoll_pwait2, e, P(&event), 1, P(&limit), P(&none), &kept);
		if (got != -ENOSYS && (got != -EINTR || !kept))
			printf("both: %ld%s\n", got, kept ? "" : ", registers");
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	close(e);
}
#else
static void both(void)
{
}
#endif

static volatile sig_atomic_t alarms;

static void count(int sig)
{
	(void)sig;
	alarms++;
}

/* Signals that are ignored come all the time, and now and then one that is handled: each
 * of these ends the wait that it comes in. */
static void often(void)
{
	enum { WAITS = 600, FEW = WAITS / 6 };
	const struct itimerval every = { { 0, 2000 }, { 0, 2000 } },
			       never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = count };
	pid_t parent = getpid(), pid = fork();
	int ep = epoll_create1(0), others = 0;
	struct epoll_event e;

	if (!pid)
		for (;;) {
			usleep(60);
			if (kill(parent, SIGWINCH) < 0 || getppid() != parent)
				_exit(0);
		}
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < WAITS; i++) {
		int before = alarms;
		if (epoll_wait(ep, &e, 1, 1000) != -1 || errno != EINTR)
			printf("a wait has ended by itself\n");
		others += alarms - before != 1;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ep);
	if (others > FEW) /* some come between two waits, where the machine is busy */
		printf("%d of %d waits have not ended by the first signal\n", others,
			WAITS);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		(!strcmp(argv[1], "stops")          ? stops
			: !strcmp(argv[1], "often") ? often
						    : threads)();
		return 0;
	}
	all_waits();
	bear();
	handled();
	both();
	bury();
	return 0;
}
