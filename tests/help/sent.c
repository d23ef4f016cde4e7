/*
 * sent WHAT - a program to which signals come that look like others
 *
 *   blocked   SIGSYS, sent by itself while it blocks all; it waits, and calls go on
 *   fault     SIGSEGV with the code of a page fault, sent by itself: it dies of it
 *   frame     sigreturn(2) from a stack that is none: likewise (x86_64)
 *   flood     signals that it ignores, as fast as they come, while it writes to a pipe
 *   alone     one of those in the middle of a write(2), after the first thread has ended
 *   apart     likewise, by a thread with descriptors of its own
 *
 * Says what it got, and 0 if that is what it should.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MUCH = 1 << 20, SOME = 1 << 16, MS_US = 1000, FLOOD_S = 2, PAUSE = 200, HOGS = 2 };

static char data[MUCH];

static int blocked(void)
{
	const struct timespec none = { 0 };
	siginfo_t info = { 0 };
	sigset_t all, waits;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	raise(SIGSYS);
	getppid();
	getuid();
	sigpending(&waits);
	int taken = sigtimedwait(&all, &info, &none);
	printf("%d %d\n", sigismember(&waits, SIGSYS), taken);
	return !sigismember(&waits, SIGSYS) || taken != SIGSYS;
}

static int fault(void)
{
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };

	info.si_addr = data;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGSEGV, &info);
	puts("survived");
	return 1;
}

static int frame(void)
{
#ifdef __x86_64__
	static unsigned long kept;

	__asm__ volatile("mov %%rsp, %0; mov $0x1000, %%rsp; mov $15, %%eax; syscall; mov %0, %%rsp"
			 : "+m"(kept)
			 :
			 : "rax", "rcx", "r11", "memory");
	puts("survived");
#endif
	return 1;
}

static void read_slowly(int fd, unsigned us)
{
	static char buf[SOME];

	while (read(fd, buf, sizeof(buf)) > 0)
		usleep(us);
}

static void send_all(pid_t to, const pid_t *to_thread, time_t until)
{
	while (time(NULL) < until) {
		if (*to_thread)
			syscall(SYS_tgkill, to, *to_thread, SIGWINCH);
		else
			kill(to, SIGWINCH);
		for (volatile int i = 0; i < PAUSE; i++)
			;
	}
}

static void burn(time_t until)
{
	while (time(NULL) < until)
		;
	_exit(0);
}

static int flood(void)
{
	const time_t until = time(NULL) + FLOOD_S;
	pid_t self = getpid(), none = 0;
	int ends[2], parts = 0;

	if (pipe(ends))
		return 2;
	pid_t sender = fork();
	if (!sender) {
		send_all(self, &none, until + 1);
		_exit(0);
	}
	pid_t reader = fork();
	if (!reader) {
		close(ends[1]);
		read_slowly(ends[0], 100);
		_exit(0);
	}
	for (int i = 0; i < HOGS; i++)
		if (!fork()) /* each turn takes long, so that more come in it */
			burn(until);
	close(ends[0]);
	while (time(NULL) < until)
		parts += write(ends[1], data, SOME * 4) != SOME * 4;
	kill(sender, SIGKILL);
	kill(reader, SIGKILL);
	printf("%d\n", parts);
	return parts != 0;
}

struct writer {
	int ends[2];
	int apart;
	_Atomic pid_t tid;
};

static void *write_much(void *arg)
{
	struct writer *w = arg;

	if (w->apart && unshare(CLONE_FILES))
		_exit(2);
	usleep(50 * MS_US);
	w->tid = (pid_t)syscall(SYS_gettid);
	ssize_t n = write(w->ends[1], data, sizeof(data));
	printf("%zd\n", n);
	fflush(stdout);
	_exit(n != sizeof(data));
}

static int in_a_thread(int apart)
{
	struct writer *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pthread_t t;

	w->apart = apart;
	if (pipe(w->ends))
		return 2;
	pid_t pid = fork();
	if (!pid) {
		close(w->ends[0]);
		if (pthread_create(&t, NULL, write_much, w))
			_exit(2);
		while (apart && !w->tid)
			usleep(MS_US);
		if (!apart)
			pthread_exit(NULL);
		close(w->ends[1]);
		for (;;)
			pause();
	}
	close(w->ends[1]);
	while (!w->tid)
		usleep(MS_US);
	usleep(200 * MS_US);
	syscall(SYS_tgkill, pid, w->tid, SIGWINCH);
	usleep(200 * MS_US);
	read_slowly(w->ends[0], 0);
	waitpid(pid, &status, 0);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "blocked"))
		return blocked();
	if (!strcmp(what, "fault"))
		return fault();
	if (!strcmp(what, "frame"))
		return frame();
	if (!strcmp(what, "flood"))
		return flood();
	if (!strcmp(what, "alone") || !strcmp(what, "apart"))
		return in_a_thread(!strcmp(what, "apart"));
	fprintf(stderr, "usage: sent blocked|fault|frame|flood|alone|apart\n");
	return 2;
}
