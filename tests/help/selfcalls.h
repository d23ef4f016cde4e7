/*
 * The calls and the signals of selfview: a part of selfview.c.  The arguments
 * are in tables, the descriptors are at fixed numbers.
 */
#include <poll.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <sys/socket.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#define HERE AT_FDCWD
#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Arguments known at run time only, see invoke(). */
enum { A_MS = 0x5e1f0001, A_SEM, A_AIO };

/* In the order of make_fd[]. */
enum {
	D_ZERO = 100, D_NULL, D_FOLDER, D_EPOLL, D_EVENT, D_TIMER, D_MEM, D_LISTEN,
	D_PIPE, D_PIPEW, D_EMPTY, D_EMPTYW, D_FULLR, D_FULL, D_GONER, D_NOREADER,
	D_NOWRITER, D_GONEW, D_SOCK, D_PEER,
};

static int ms = 20, semid = -1, word, pair[2];
static unsigned long aio, set_usr1 = 1UL << (SIGUSR1 - 1);
static struct timespec tmo, bad_tmo = {0, -1};
static char *noargs[] = {data, NULL};
static struct pollfd pipe_poll = {D_PIPE, POLLIN, 0}, bad_poll = {99, POLLIN, 0};
static struct sembuf sem_down = {0, -1, 0};
static siginfo_t got[64];
static volatile int ngot;
static sigjmp_buf back;

static const struct call make_fd[] = {
	C("", openat, HERE, P("/dev/zero")),
	C("", openat, HERE, P("/dev/null"), O_WRONLY), C("", openat, HERE, P("/")),
	C("", epoll_create1, 0), C("", eventfd2, 0, O_NONBLOCK),
	C("", timerfd_create, CLOCK_MONOTONIC, O_NONBLOCK), C("", memfd_create, P("mem")),
	C("", socket, AF_UNIX, SOCK_STREAM), C("", pipe2, P(pair)),
	C("", pipe2, P(pair), O_NONBLOCK), C("", pipe2, P(pair), O_NONBLOCK),
	C("", pipe2, P(pair)), C("", pipe2, P(pair)),
	C("", socketpair, AF_UNIX, SOCK_STREAM, 0, P(pair)),
};

static const struct call calls[] = {
	C("closed", read, 99, P(data), 8), C("write-only", read, D_NULL, P(data), 8),
	C("nothing", read, D_ZERO, P(data), 0), C("bad address", read, D_ZERO, 8, 8),
	C("folder", read, D_FOLDER, P(data), 8), C("empty", read, D_EMPTY, P(data), 8),
	C("end", read, D_NOWRITER, P(data), 8), C("event", read, D_EVENT, P(data), 8),
	C("timer", read, D_TIMER, P(data), 8), C("epoll", read, D_EPOLL, P(data), 8),
	C("unconnected", read, D_LISTEN, P(data), 8), C("closed", write, 99, P(data), 8),
	C("read-only", write, D_FOLDER, P(data), 8), C("null", write, D_NULL, P(data), 8),
	C("bad address", write, D_MEM, 8, 8), C("mem", write, D_MEM, P(data), 8),
	C("full", write, D_FULL, P(data), 8),
	C("no reader", write, D_NOREADER, P(data), 8),
	C("event", write, D_EVENT, P(data), 4), C("mem", pread64, D_MEM, P(data), 9, 1),
	C("negative", pread64, D_MEM, P(data), 8, -1),
	C("pipe", pread64, D_PIPE, P(data), 8), C("count", preadv, D_MEM, P(data), -1),
	C("address", writev, D_MEM, 8, 1), C("pipe", lseek, D_PIPE, 0, SEEK_SET),
	C("whence", lseek, D_MEM, 0, 99), C("end", lseek, D_MEM, 0, SEEK_END),
	C("hole", lseek, D_MEM, 100, SEEK_DATA),
	C("null", openat, HERE, P("/dev/null"), O_RDWR), C("closed", close, 99),
	C("nothing", openat, HERE, P("/nowhere")), C("address", openat, HERE, 8),
	C("not a folder", openat, HERE, P("/dev/null/x")), C("at", openat, 99, P("x")),
	C("loop", openat, HERE, P("/proc/self/exe"), O_NOFOLLOW),
	C("busy", openat, HERE, P("/proc/self/exe"), O_WRONLY),
	C("long", openat, HERE, P("/" X64 X64 X64 X64)),
	C("size", openat2, HERE, P("x"), P(val), 0),
	C("folder", openat, HERE, P("/"), O_WRONLY),
	C("exists", openat, HERE, P("/dev/null"), O_CREAT | O_EXCL), C("closed", dup, 99),
	C("same", dup3, D_MEM, D_MEM, 0), C("bad", fcntl, D_MEM, 999),
	C("nothing", execve, P("/nowhere"), P(noargs), P(noargs)),
	C("access", execve, P("/etc/passwd"), P(noargs), P(noargs)),
	C("folder", execve, P("/"), P(noargs), P(noargs)), C("closed", fstat, 99, P(val)),
	C("no tty", ioctl, D_MEM, TCGETS, P(data)),
	C("bytes", ioctl, D_PIPE, FIONREAD, P(val)), C("order", close_range, 9, 8, 0),
	C("file", getdents64, D_MEM, P(data), 64), C("pipe", fsync, D_PIPE),
	C("pipe", ftruncate, D_PIPE, 8), C("pipe", fallocate, D_PIPE, 0, 0, 8),
	C("closed", sendfile, 99, D_MEM, 0, 8),
	C("files", splice, D_MEM, 0, D_MEM, 0, 8, 0),
	C("pipe", copy_file_range, D_PIPE, 0, D_MEM, 0, 8, 0),
	C("at", unlinkat, 99, P("x"), 0), C("file", recvfrom, D_MEM, P(data), 8),
	C("time-out", recvfrom, D_SOCK, P(data), 8),
	C("unconnected", sendto, D_LISTEN, P(data), 8), C("time-out", accept4, D_LISTEN),
	C("not listening", accept4, D_SOCK), C("domain", socket, 999, 1, 0),
	C("time-out", ppoll, P(&pipe_poll), 1, P(&tmo)),
	C("bad", ppoll, P(&bad_poll), 1, P(&tmo)),
	C("count", epoll_pwait, D_EPOLL, P(val), 0),
	C("mem", epoll_ctl, D_EPOLL, 1, D_MEM, P(data)),
	C("time-out", epoll_pwait, D_EPOLL, P(val), 1, A_MS),
	C("none", wait4, -1, 0, 0, 0), C("options", waitid, P_ALL, 0, 0, 0),
	C("group", kill, 0, 0), C("signal", kill, 0, 65), C("nobody", kill, 99999999, 0),
	C("name", prctl, PR_SET_NAME, P("selfview")), C("bad", prctl, 99999),
	C("dumpable", prctl, PR_SET_DUMPABLE, 2), C("death", prctl, PR_SET_PDEATHSIG, 99),
	C("how", rt_sigprocmask, 9, P(data), 0, 8), C("changed", futex, P(&word), 128, 1),
	C("time-out", futex, P(&word), 128, 0, P(&tmo)),
	C("wake", futex, P(&word), 129, 1), C("bad", nanosleep, P(&bad_tmo)),
	C("short", nanosleep, P(&tmo)), C("unaligned", munmap, 1, 4096),
	C("closed", mmap, 0, 4096, 1, MAP_SHARED, 99),
	C("nothing", mprotect, 4096, 4096, 0),
	C("SIGKILL", rt_sigaction, 9, P(data), 0, 8),
	C("flags", getrandom, P(data), 8, -1), C("size", clone3, P(data), 0),
	{"no such call", 9999, {0}}, C("drop", setfsuid, 65534),
	C("access", openat, HERE, P("/etc/shadow")), C("back", setfsuid, 0),
};

/* Blocked for the time given by A_MS, tmo or the time-out of the socket. */
static const struct call blocking[] = {
	C("time-out", epoll_pwait, D_EPOLL, P(data), 1, A_MS),
	C("time-out", epoll_pwait2, D_EPOLL, P(data), 1, P(&tmo)),
	C("time-out", recvfrom, D_SOCK, P(data), 8), C("time-out", accept4, D_LISTEN),
	C("time-out", semtimedop, A_SEM, P(&sem_down), 1, P(&tmo)),
	C("time-out", rt_sigtimedwait, P(&set_usr1), 0, P(&tmo), 8),
	C("time-out", io_getevents, A_AIO, 1, 1, P(data), P(&tmo)),
	C("data", read, D_PIPE, P(data), 8),
	C("time-out", ppoll, P(&pipe_poll), 1, P(&tmo)),
	C("time-out", pselect6, 0, 0, 0, 0, P(&tmo)), C("time-out", nanosleep, P(&tmo)),
	C("time-out", clock_nanosleep, CLOCK_MONOTONIC, 0, P(&tmo)),
	C("time-out", futex, P(&word), 128, 0, P(&tmo)),
};

static long invoke(const struct call *c)
{
	long a[6];

	tmo = (struct timespec){ms / 1000, ms % 1000 * 1000000L};
	for (int i = 0; i < 6; i++) {
		a[i] = c->a[i];
		if (a[i] >= A_MS && a[i] <= A_AIO)
			a[i] = a[i] == A_MS ? ms : a[i] == A_SEM ? semid : (long)aio;
	}
	return syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void make_fds(void)
{
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	sa_family_t family = AF_UNIX;

	for (int i = 0, to = D_ZERO; i < COUNT(make_fd); i++) {
		int fd;

		pair[1] = -1;
		fd = (int)invoke(&make_fd[i]);
		if (pair[1] < 0)
			pair[0] = fd;
		for (int k = 0; k < 2 && pair[k] >= 0; k++) {
			dup2(pair[k], to++);
			close(pair[k]);
		}
	}
	fcntl(D_FULL, F_SETFL, O_NONBLOCK);
	while (write(D_FULL, data, sizeof(data)) > 0)
		;
	close(D_GONER);
	close(D_GONEW);
	bind(D_LISTEN, (struct sockaddr *)&family, sizeof(family));
	listen(D_LISTEN, 1);
	setsockopt(D_SOCK, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(D_LISTEN, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static void plain(void)
{
	ms = 50;
	signal(SIGPIPE, SIG_IGN);
	make_fds();
	for (int i = 0; i < COUNT(calls); i++)
		say_call(calls[i].name, invoke(&calls[i]));
}

static void on_signal(int sig, siginfo_t *si, void *context)
{
	int n = __atomic_fetch_add(&ngot, 1, __ATOMIC_SEQ_CST);

	(void)context;
	if (n < COUNT(got))
		got[n] = *si;
	if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL)
		siglongjmp(back, 1);
}

static void catch(int sig, int flags, int block)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	if (block)
		sigfillset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

static int count(int sig)
{
	int n = 0;

	for (int i = 0; i < ngot; i++)
		n += got[i].si_signo == sig;
	return n;
}

/* In which order handlers run, and how often. */
static void order(void)
{
	static const int sigs[] = {40, 40, SIGUSR2, SIGUSR2, SIGUSR1};
	sigset_t all, old;

	sigfillset(&all);
	for (int block = 0; block < 2; block++) {
		sigprocmask(SIG_SETMASK, &all, &old);
		for (int i = ngot = 0; i < COUNT(sigs); i++) {
			catch(sigs[i], 0, block);
			kill(getpid(), sigs[i]);
		}
		sigprocmask(SIG_SETMASK, &old, NULL);
		for (int i = 0; i < ngot; i++)
			say("handler %d, full mask %d: %d", i, block, got[i].si_signo);
	}
}

static void stops(void)
{
	static const struct { int sig, options; } steps[] = {
		{SIGSTOP, WSTOPPED}, {SIGCONT, WCONTINUED}, {SIGTSTP, WSTOPPED},
		{SIGCONT, WCONTINUED}, {SIGSTOP, WSTOPPED}, {SIGKILL, WEXITED},
		{SIGHUP, WEXITED},
	};
	siginfo_t si, *last;
	pid_t pid = 0;

	catch(SIGCHLD, SA_RESTART, 0);
	signal(SIGHUP, _exit);
	for (int i = 0; i < COUNT(steps); i++) {
		if (i == 0 || steps[i - 1].sig == SIGKILL)
			pid = kid();
		while (!pid)
			pause();
		setpgid(pid, pid); /* an orphaned group would ignore SIGTSTP */
		kill(pid, steps[i].sig);
		for (int k = 0; k < 5000 && ngot <= i; k++)
			usleep(1000); /* waitid() first would race with the SIGCHLD */
		waitid(P_PID, (id_t)pid, &si, steps[i].options);
		last = &got[ngot ? ngot - 1 : 0];
		say("child after %d: waitid %d %d, SIGCHLD number %d: %d %d from it %d",
		    steps[i].sig, si.si_code, si.si_status, ngot, last->si_code,
		    last->si_status, last->si_pid == pid);
	}
}

static const struct way caught[] = {
	{DO_sig, SIGUSR1}, {DO_raise, SIGUSR2}, {DO_sigqueue, 40}, {DO_timer, 41},
	{DO_sig, SIGTRAP}, {DO_raise, SIGTRAP}, {DO_segv, 0}, {DO_accerr, 0}, {DO_bus, 0},
	{DO_fpe, 0}, {DO_ill, 0}, {DO_int3, 0}, {DO_sig, SIGSEGV},
};

static void show_caught(const struct way *w)
{
	siginfo_t *si = &got[0];
	int timer;

	for (int s = 1; s <= 64; s++)
		catch(s, 0, 0);
	if (!sigsetjmp(back, 1))
		act(w->how, w->n);
	timer = si->si_code == SI_TIMER;
	say("siginfo of %s %d: number %d signal %d code %d own pid %d value %d fault %d",
	    how_names[w->how], w->n, ngot, si->si_signo, si->si_code,
	    si->si_code <= 0 && !timer && si->si_pid == getpid(),
	    si->si_code == SI_QUEUE || timer ? si->si_value.sival_int : 0,
	    fault_at && si->si_addr == fault_at);
	_exit(0);
}

static const int pests[] = {SIGWINCH, SIGURG, SIGCONT, SIGUSR2, SIGCHLD};

/* Signals to the parent once it sleeps in its call; SIGCHLD is the end of this. */
static void pester(int feed)
{
	pid_t up = getppid();

	usleep(60000);
	for (int i = 0, asleep = 0; i < 500 && asleep < 4; i++, usleep(5000))
		asleep = *stat_of(up) == 'S' ? asleep + 1 : 0;
	for (int i = 0; i < COUNT(pests) - 1; i++)
		kill(up, pests[i]);
	if (feed && !fork()) {
		usleep(200000);
		write(D_PIPEW, data, 4);
	}
	_exit(0);
}

static void blocked_one(const struct call *c, int mode, char *line)
{
	static const char *const modes[] = {"ignored", "handler", "SA_RESTART"};
	char r[100];

	/* A handler ends the call: no need to keep the time short. */
	ms = mode ? 3000 : 300;
	make_fds();
	semid = semget(IPC_PRIVATE, 1, 0600);
	syscall(SYS_io_setup, 1, &aio);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; mode && i < COUNT(pests); i++)
		catch(pests[i], mode == 2 ? SA_RESTART : 0, 0);
	if (!kid())
		pester(c->nr == SYS_read);
	snprintf(r, sizeof(r), "%s", result(invoke(c)));
	while (wait(NULL) > 0 || errno == EINTR)
		;
	semctl(semid, 0, IPC_RMID);
	sprintf(line, "blocked %s, %s: %s", c->name, modes[mode], r);
	for (int i = 0; i < COUNT(pests); i++)
		sprintf(line + strlen(line), "%s%d", i ? " " : ", handled ",
			count(pests[i]));
	_exit(0);
}

/* All at the same time, for the waits add up. */
static void blocked(void)
{
	int n = 0;

	for (; n < COUNT(blocking) * 3; n++)
		if (!kid())
			blocked_one(&blocking[n / 3], n % 3, sh->slot[n]);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < n; i++)
		say("%s", sh->slot[i]);
}

static void in_child(const char *name, void (*fn)(void))
{
	pid_t pid = kid();

	if (!pid) {
		fn();
		_exit(0);
	}
	say("end of %s: %d", name, reap(pid));
}

static void run_calls(void)
{
	in_child("calls", plain);
	in_child("order", order);
	in_child("stops", stops);
	for (int i = 0; i < COUNT(caught); i++) {
		pid_t pid = kid();

		if (!pid)
			show_caught(&caught[i]);
		reap(pid);
	}
	in_child("blocked", blocked);
}
