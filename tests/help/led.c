/*
 * led - calls of a program that is attached to, while or where no site can be patched
 *
 * The tracer leads each of them into its hook. Says "begun", runs for SEC seconds, and
 * says "good" or what was wrong.
 *
 *   led messages SEC
 *       messages that bring descriptors: the hook leaves them to the tracer
 *   led asleep SEC
 *       a thread sleeps in such a call while another sets a handler of SIGSYS
 *   led asks SEC
 *       SIGSYS is asked about while a timer's handler makes calls
 *   led takes SEC
 *       the same, and the timer's handler sets a handler of SIGSYS for a while
 *   led lent SEC
 *       its memory is lent to children, of vfork(2) and of clone(2), that write as well
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* number, three arguments: in memory of no file */
static long (*made)(long nr, long a, long b, long c);

static void make(void)
{
	/* mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; mov %rcx,%rdx; syscall; ret */
	static const unsigned char code[] = { 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48,
		0x89, 0xd6, 0x48, 0x89, 0xca, 0x0f, 0x05, 0xc3 };
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	memcpy(&made, &at, sizeof(made));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static bool message(long nr, int fd, bool control)
{
	char byte[4] = "abc", room[64];
	struct iovec v = { byte, 3 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (control) {
		m.msg_control = room;
		m.msg_controllen = sizeof(room);
	}
	return made(nr, fd, (long)&m, 0) == 3;
}

static void messages(double seconds)
{
	double until = now() + seconds, last = now(), longest = 0;
	bool good = true;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
		exit(1);
	for (say("begun"); now() < until;) {
		good &= message(SYS_sendmsg, s[0], false) &&
			message(SYS_recvmsg, s[1], true);
		double gap = now() - last;
		last += gap;
		longest = gap > longest ? gap : longest;
	}
	if (longest > seconds / 4)
		printf("one took %.1f s\n", longest);
	say(good ? "good" : "a result was wrong");
}

static int ends[2];
static void nothing(int sig)
{
	(void)sig;
}

static void *sleeper(void *got)
{
	char byte;

	for (int i = 0; i < 3; i++)
		*(long *)got += made(SYS_read, ends[0], (long)&byte, 1);
	return got;
}

static void send_after(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
	if (write(ends[1], "x", 1) != 1)
		exit(1);
}

static void asleep(double seconds)
{
	pthread_t t;
	long got = 0;

	if (pipe(ends) < 0)
		exit(1);
	pthread_create(&t, NULL, sleeper, &got);
	say("begun");
	send_after(seconds / 4); /* attached to by now: the next one is led */
	usleep(100 * 1000);
	signal(SIGSYS, nothing);
	send_after(seconds * 3 / 4); /* left by now */
	send_after(0.01);
	pthread_join(t, NULL);
	say(got == 3 ? "good" : "not all were read");
}

static volatile long changed;

/* A call; counts where the register of its second argument is not what it was. */
static long call(long nr, long a, const void *second, void *c, long d)
{
	register const void *rsi __asm__("rsi") = second;
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret), "+r"(rsi)
			 : "a"(nr), "D"(a), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	changed += rsi != second;
	return ret;
}

static void on_timer(int sig)
{
	call(SYS_getppid, 0, "any", NULL, sig);
}

static long wrong;

/* SIGSYS is to have, or gets, such an action: any, if NULL. */
static void asks_about(const unsigned long *set, unsigned long had)
{
	unsigned long old[4];

	memset(old, 0xff, sizeof(old));
	wrong += call(SYS_rt_sigaction, SIGSYS, set, old, 8) || old[0] != had;
}

static const unsigned long none[4];

static void taker(int sig)
{
	static unsigned ticks; /* not at the first ones after an attach */
	unsigned long own[4] = { 0 };
	void (*handler)(int) = nothing;

	(void)sig;
	if (++ticks % 64)
		return;
	memcpy(own, &handler, sizeof(handler));
	asks_about(own, 0);
	asks_about(NULL, own[0]);
	asks_about(none, own[0]);
}

static void ask_until(double until, void (*often)(int))
{
	const struct itimerval timer = { { 0, 200 }, { 0, 200 } };

	signal(SIGALRM, often);
	setitimer(ITIMER_REAL, &timer, NULL);
	say("begun");
	for (long n = 0; now() < until; n++)
		asks_about(n % 2 ? none : NULL, 0);
	if (changed || wrong)
		printf("%ld arguments changed, %ld answers wrong\n", changed, wrong);
	say(changed || wrong ? "bad" : "good");
}

static void asks(double seconds)
{
	ask_until(now() + seconds, on_timer);
}

static void takes(double seconds)
{
	ask_until(now() + seconds, taker);
}

static int null;
static double lent_until;

/* Through a site of the C library, as its parent does. */
static void writes(double until)
{
	do {
		if (write(null, "x", 1) != 1)
			_exit(1);
		usleep(1000);
	} while (now() < until);
}

static int borrower(void *arg)
{
	(void)arg;
	writes(lent_until);
	_exit(0);
}

static void *lender(void *bad)
{
	int status;

	while (now() < lent_until) {
		pid_t pid = vfork();
		if (!pid) {
			writes(now() + 0.1);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			*(int *)bad += 1;
	}
	return NULL;
}

static void lent(double seconds)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	int status, bad[3] = { 0 };
	pthread_t t[2];

	null = open("/dev/null", O_WRONLY);
	lent_until = now() + seconds;
	pid_t pid = clone(borrower, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, lender, &bad[i]);
	say("begun");
	writes(lent_until);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	bad[2] = waitpid(pid, &status, 0) != pid || status;
	if (bad[0] || bad[1] || bad[2])
		printf("%d of vfork(2) and %d of clone(2) were killed\n", bad[0] + bad[1],
			bad[2]);
	say(bad[0] || bad[1] || bad[2] ? "bad" : "good");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(double);
	} all[] = { { "messages", messages }, { "asleep", asleep }, { "asks", asks },
		{ "takes", takes }, { "lent", lent } };

	make();
	for (unsigned i = 0; argc == 3 && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(argv[1], all[i].name))
			all[i].run(atof(argv[2]));
	return 0;
}
