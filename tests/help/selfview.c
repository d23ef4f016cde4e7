/*
 * selfview: print what a process can see of itself, and what comes of signals,
 * children and calls as far as it does not depend on time, one "name: result"
 * per line, so that a run under a tracer can be compared with a bare one by
 * diff.  Lines about what no tracer can hide start with "tracer-visible: ".
 *
 *   selfview		everything
 *   selfview view	the state only (fast)
 *   selfview die HOW [N]	do one of WAYS, for the exit status
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define P(x) ((long)(x))
#define C(what, nr, ...) {#nr " " what, SYS_##nr, {__VA_ARGS__}}
#define TV "tracer-visible: "

/* The pipe on which children say hi; the number is in hi_script too. */
enum { HI_READ = 90, HI_WRITE = 91 };

#define WAYS(W) \
	W(exit) W(_exit) W(thread_exit) W(pthread_exit) W(thread_exec) W(thread_fork) \
	W(exec) W(fork) W(vfork) W(posix_spawn) W(clone) W(clone3) W(orphan) \
	W(setsid) W(nocldwait) W(ignore_chld) W(traceme) W(sig) W(raise) W(sigqueue) \
	W(timer) W(abort) W(segv) W(accerr) W(bus) W(fpe) W(ill) W(int3) W(pipe)
#define WAY_CODE(name) DO_##name,
#define WAY_NAME(name) #name,
enum how { WAYS(WAY_CODE) };
static const char *const how_names[] = { WAYS(WAY_NAME) };

struct way { enum how how; int n; };
struct call { const char *name; long nr; long a[6]; };

/* Shared memory: the children that run the tests add their lines themselves. */
static struct shared { size_t len; char out[1 << 20], slot[64][256]; } *sh;
static int have_stdout;
static char *volatile fault_at;
static siginfo_t info;
static long val[16];
static char data[256] = "selfview", stack[65536] __attribute__((aligned(16)));
static char hi_script[] = "echo hi >/proc/self/fd/91; exit 3";
static char *sh_args[] = {"sh", "-c", hi_script, NULL};

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	char *p = sh->out + sh->len;
	int room = (int)(sizeof(sh->out) - sh->len) - 1, n;
	va_list ap;

	va_start(ap, fmt);
	n = vsnprintf(p, (size_t)room, fmt, ap);
	va_end(ap);
	n = n < room ? n : room - 1;
	while (n > 0 && p[n - 1] == '\n')
		n--;
	for (int i = 0; i < n; i++)
		p[i] = p[i] == '\n' ? '|' : p[i];
	p[n] = '\n';
	sh->len += (size_t)n + 1;
}

static void emit(void)
{
	for (size_t done = 0; have_stdout && done < sh->len;) {
		ssize_t n = write(1, sh->out + done, sh->len - done);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
}

static void on_hang(int sig)
{
	say("HANG: no end in time, signal %d", sig);
	emit();
	_exit(2);
}

static const char *result(long r)
{
	static char text[100];

	snprintf(text, sizeof(text), "%ld%s%s", r, r == -1 ? " " : "",
		 r == -1 ? strerror(errno) : "");
	return text;
}

static void say_call(const char *name, long r)
{
	say("%s: %s", name, result(r));
	if (val[0] || val[1] || val[2] || val[3])
		say("%s gave: %#lx", name, val[0]);
	memset(val, 0, sizeof(val));
}

/* ---- state ---- */

static const char *const links[] = {
	"cwd", "root", "exe", "ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid",
	"ns/pid_for_children", "ns/time", "ns/user", "ns/uts",
};

static const char *const files[] = {
	"self/comm", "self/cmdline", "self/cgroup", "self/loginuid", "self/sessionid",
	"self/oom_score_adj", "self/coredump_filter", "self/uid_map", "self/gid_map",
	"self/setgroups", "self/timens_offsets", "self/attr/current", "self/timers",
	"self/limits", "thread-self/children", "sys/kernel/hostname",
};

/* '!' marks what a tracer cannot hide. */
static const char *const status_keys[] = {
	"Umask", "!TracerPid", "Uid", "Gid", "Groups", "FDSize", "VmLck", "VmPin",
	"CoreDumping", "THP_enabled", "Threads", "SigPnd", "ShdPnd", "SigBlk", "SigIgn",
	"SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "!NoNewPrivs",
	"!Seccomp", "!Seccomp_filters", "Speculation_Store_Bypass",
	"SpeculationIndirectBranch", "Cpus_allowed", "Mems_allowed",
	"x86_Thread_features",
};

static const struct call state_calls[] = {
	C("(20 - nice)", getpriority, 0), C("policy", sched_getscheduler, 0),
	C("priority", sched_getparam, 0, P(val)),
	C("mask", sched_getaffinity, 0, 128, P(val)), C("own", ioprio_get, 1),
	C("own", personality, 0xffffffff), C("timer slack", prctl, PR_GET_TIMERSLACK),
	C("dumpable", prctl, PR_GET_DUMPABLE), C("keepcaps", prctl, PR_GET_KEEPCAPS),
	C("securebits", prctl, PR_GET_SECUREBITS),
	C("machine check", prctl, PR_MCE_KILL_GET), C("tsc", prctl, PR_GET_TSC, P(val)),
	C("huge pages off", prctl, PR_GET_THP_DISABLE),
	C("death signal", prctl, PR_GET_PDEATHSIG, P(val)),
	C("subreaper", prctl, PR_GET_CHILD_SUBREAPER, P(val)),
	{TV "no_new_privs", SYS_prctl, {PR_GET_NO_NEW_PRIVS}},
	{TV "seccomp", SYS_prctl, {PR_GET_SECCOMP}}, C("real", getitimer, 0, P(val)),
	C("virtual", getitimer, 1, P(val)), C("profiling", getitimer, 2, P(val)),
	C("pending", rt_sigpending, P(val), 8),
	C("blocked", rt_sigprocmask, 0, 0, P(val), 8),
	C("any child", waitid, P_ALL, 0, P(&info), WEXITED | WNOHANG | WNOWAIT),
};

static char *slurp(const char *path, size_t *len)
{
	static char buf[1 << 16];
	size_t n = 0;
	ssize_t r = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (r = read(fd, buf + n, sizeof(buf) - 1 - n)) > 0)
		n += (size_t)r;
	if (r < 0)
		n = (size_t)snprintf(buf, sizeof(buf), "%s", result(-1));
	if (fd >= 0)
		close(fd);
	buf[n] = 0;
	*len = n;
	return buf;
}

/* What follows the name in /proc/PID/stat. */
static char *stat_of(pid_t pid)
{
	char path[64], *p;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	p = strrchr(slurp(path, &len), ')');
	return p ? p + 2 : "";
}

/* Numbers that differ from run to run are replaced by the order of appearance. */
static const char *stable(char *name)
{
	static const char *const prefix[] = {"socket:[", "pipe:[", "/dev/pts/"};
	static char seen[64][40];

	for (int k = 0, i = 0; k < COUNT(prefix); k++) {
		if (strncmp(name, prefix[k], strlen(prefix[k])))
			continue;
		while (i < COUNT(seen) - 1 && seen[i][0] && strcmp(seen[i], name))
			i++;
		snprintf(seen[i], sizeof(seen[i]), "%s", name);
		sprintf(name, "%s#%d", prefix[k], i);
		break;
	}
	return name;
}

static void view_link(const char *name, const char *more)
{
	char path[300], target[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	say("%s: %s%s", name, n < 0 ? result(n) : stable(target), more);
}

static void view_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	char name[300], more[80];

	while (dir && (e = readdir(dir))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		snprintf(name, sizeof(name), "fd/%s", e->d_name);
		snprintf(more, sizeof(more), " status 0%o flags %d",
			 (unsigned)fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
		view_link(name, more);
	}
	if (dir)
		closedir(dir);
}

static void view_auxv(void)
{
	unsigned long a[2];
	size_t len;
	char *p = slurp("/proc/self/auxv", &len);

	for (; len >= sizeof(a); len -= sizeof(a), p += sizeof(a)) {
		memcpy(a, p, sizeof(a));
		if (a[0] == AT_EXECFN || a[0] == AT_PLATFORM || a[0] == AT_BASE_PLATFORM)
			say("auxv %lu: %s", a[0], (char *)a[1]);
		else if (a[1] >> 32)
			say("auxv %lu: an address", a[0]);
		else
			say("auxv %lu: %#lx", a[0], a[1]);
	}
}

/* Relations only: the numbers and the parent's own place differ from run to run. */
static void view_job(void)
{
	pid_t pid = getpid(), up = getppid(), group = getpgrp(), session = getsid(0);
	int tty = 0, front = 0, tty_up = 0;
	char name[64];

	sscanf(stat_of(pid), "%*c %*d %*d %*d %d %d", &tty, &front);
	sscanf(stat_of(up), "%*c %*d %*d %*d %d", &tty_up);
	snprintf(name, sizeof(name), (tty >> 8 & 0xff) == 136 ? "/dev/pts/%d" : "tty %d",
		 (tty & 0xff) | (tty >> 12 & 0xfff00));
	say("process group: is pid %d, of parent %d", group == pid, group == getpgid(up));
	say("session: is pid %d, of parent %d", session == pid, session == getsid(up));
	say("controlling terminal: %s, of parent %d", stable(name), tty == tty_up);
	say("foreground group: own %d none %d", front == group, front == -1);
	for (int fd = 0; fd < 3; fd++) {
		if (ttyname_r(fd, name, sizeof(name)))
			strcpy(name, "none");
		say("terminal %d: isatty %d name %s own foreground %d", fd, isatty(fd),
		    stable(name), tcgetpgrp(fd) == group);
	}
}

static void view_tables(void)
{
	char path[64], *p;
	size_t len;

	for (int i = 0; i < COUNT(links); i++)
		view_link(links[i], "");
	for (int i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof(path), "/proc/%s", files[i]);
		p = slurp(path, &len);
		for (size_t k = 0; k < len; k++)
			p[k] = p[k] ? p[k] : ' ';
		say("%s: %s", files[i], p);
	}
	for (int i = 0; i < COUNT(status_keys); i++) {
		int visible = status_keys[i][0] == '!';

		snprintf(path, sizeof(path), "\n%s:", status_keys[i] + visible);
		p = strstr(slurp("/proc/self/status", &len), path);
		if (p++)
			say("%s%.*s", visible ? TV : "", (int)strcspn(p, "\n"), p);
	}
	for (int i = 0; i < COUNT(state_calls); i++) {
		const long *a = state_calls[i].a;

		say_call(state_calls[i].name,
			 syscall(state_calls[i].nr, a[0], a[1], a[2], a[3], a[4]));
	}
}

static void view(char **argv)
{
	unsigned long sa[4] = {0, 0, 0, 0}; /* handler, flags, restorer, mask */

	view_fds();
	for (int i = 0; argv[i]; i++)
		say("argv %d: %s", i, argv[i]);
	for (int i = 0; environ[i]; i++)
		say("%senvironment %d: %s", strncmp(environ[i], "_=", 2) ? "" : TV, i,
		    environ[i]); /* a shell puts the path of the tracer into _ */
	for (int s = 1; s <= 64; s++) {
		syscall(SYS_rt_sigaction, s, NULL, sa, 8);
		say("sigaction %d: %#lx flags %#lx mask %#lx", s, sa[0], sa[1], sa[3]);
	}
	view_auxv();
	view_job();
	view_tables();
}

/* ---- signals ---- */

/* An inherited disposition or mask must not decide what the tests print. */
static void reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s <= 64; s++) {
		signal(s, SIG_IGN); /* forgets a pending one */
		signal(s, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- processes ---- */

static pid_t kid(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* after on_hang() */
	return pid;
}

static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return errno == ECHILD ? 200 : 201;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int say_hi(void *unused)
{
	(void)unused;
	write(HI_WRITE, "hi\n", syscall(SYS_getpid) > 0 ? 3 : 0);
	_exit(3);
}

static pid_t start_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		say_hi(NULL);
	return pid;
}

/* n: flags and signal of clone */
static pid_t start(enum how how, int n)
{
	unsigned long args[8] = {(unsigned)n & ~0xffU, 0, 0, 0, n & 0xff, 0, 0, 0};
	pid_t pid = -1;

	if (how == DO_vfork)
		return start_vfork();
	if (how == DO_posix_spawn)
		posix_spawn(&pid, "/bin/sh", NULL, NULL, sh_args, environ);
	else if (how == DO_clone)
		pid = clone(say_hi, stack + sizeof(stack), n, NULL);
	else
		pid = how != DO_clone3 ? fork() : (pid_t)syscall(SYS_clone3, args, 64);
	return pid ? pid : say_hi(NULL);
}

static int orphan(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!fork()) {
		start(DO_fork, 0);
		_exit(4);
	}
	return reap(-1) + reap(-1);
}

static void act(enum how how, int n);

static void *in_thread(void *way)
{
	const struct way *w = way;

	usleep(20000); /* the main thread waits, or is gone */
	act(w->how, w->n);
	return NULL;
}

static void act_in_thread(enum how how, int n)
{
	static struct way w;
	pthread_t thread;

	w.how = how == DO_thread_exec ? DO_exec : DO__exit;
	if (how == DO_thread_fork)
		w.how = DO_fork;
	w.n = n;
	pthread_create(&thread, NULL, in_thread, &w);
	if (how == DO_pthread_exit)
		pthread_exit(NULL);
	pthread_join(thread, NULL);
}

static void set_timer(int sig)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
	struct itimerspec soon = {{0, 0}, {0, 1000000}};
	timer_t timer;

	event.sigev_value.sival_int = 43;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &soon, NULL);
	sleep(10);
}

static void fault(enum how how)
{
	int fd = memfd_create("empty", 0);
	volatile int zero = 0;

	if (how == DO_segv)
		fault_at = (char *)16;
	else if (how == DO_accerr)
		fault_at = mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, 0);
	else if (how == DO_bus)
		fault_at = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	if (fault_at)
		*fault_at = 1;
	else if (how == DO_fpe)
		zero = 7 / zero;
	else if (how == DO_ill)
		__builtin_trap();
#if defined(__x86_64__)
	else
		__asm__ volatile("int3");
#endif
}

/* What does not end the process comes back. */
static void act(enum how how, int n)
{
	struct sigaction nowait = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	int p[2];

	switch (how) {
	case DO_exit:
		exit(n);
	case DO__exit:
		_exit(n);
	case DO_thread_exit: case DO_pthread_exit:
	case DO_thread_exec: case DO_thread_fork:
		act_in_thread(how, n);
		break;
	case DO_exec:
		execv("/bin/sh", sh_args);
		break;
	case DO_ignore_chld: case DO_nocldwait:
		sigaction(SIGCHLD, &nowait, NULL);
		if (how == DO_ignore_chld)
			signal(SIGCHLD, SIG_IGN);
		/* fallthrough */
	case DO_fork: case DO_vfork: case DO_posix_spawn: case DO_clone: case DO_clone3:
		_exit(reap(start(how, n)));
	case DO_orphan:
		_exit(orphan());
	case DO_setsid:
		_exit(setsid() != getpid() || getsid(0) != getpgrp());
	case DO_traceme:
		_exit(syscall(SYS_ptrace, 0, 0, 0, 0) ? errno : 0);
	case DO_sig:
		kill(getpid(), n);
		break;
	case DO_raise:
		raise(n);
		break;
	case DO_sigqueue:
		sigqueue(getpid(), n, (union sigval){.sival_int = 42});
		break;
	case DO_timer:
		set_timer(n);
		break;
	case DO_abort:
		abort();
	case DO_segv: case DO_accerr: case DO_bus: case DO_fpe: case DO_ill: case DO_int3:
		fault(how);
		break;
	case DO_pipe:
		if (pipe(p) == 0 && close(p[0]) == 0)
			write(p[1], data, 1);
	}
}

static const struct way ways[] = {
	{DO_exit, 0}, {DO_exit, 3}, {DO__exit, 255}, {DO_thread_exit, 5},
	{DO_pthread_exit, 7}, {DO_thread_exec, 0}, {DO_thread_fork, 0}, {DO_exec, 0},
	{DO_fork, 0}, {DO_vfork, 0}, {DO_posix_spawn, 0}, {DO_clone, SIGCHLD},
	{DO_clone, CLONE_UNTRACED | SIGCHLD},
	{DO_clone, CLONE_UNTRACED | CLONE_VM | CLONE_VFORK | SIGCHLD}, {DO_clone, 0},
	{DO_clone3, SIGCHLD}, {DO_clone3, CLONE_UNTRACED | SIGCHLD}, {DO_clone3, 0},
	{DO_orphan, 0}, {DO_setsid, 0}, {DO_nocldwait, 0}, {DO_ignore_chld, 0},
	{DO_traceme, 0}, {DO_sig, SIGKILL}, {DO_sig, SIGTERM}, {DO_sig, SIGINT},
	{DO_sig, SIGTRAP}, {DO_sig, SIGSEGV}, {DO_sig, SIGWINCH}, {DO_sig, 40},
	{DO_raise, SIGTRAP}, {DO_raise, SIGQUIT}, {DO_sigqueue, SIGUSR1}, {DO_timer, 41},
	{DO_abort, 0}, {DO_segv, 0}, {DO_accerr, 0}, {DO_bus, 0}, {DO_fpe, 0},
	{DO_ill, 0}, {DO_int3, 0}, {DO_pipe, 0},
};

static void run_way(const struct way *w)
{
	pid_t pid = kid();
	ssize_t n;
	int end;

	if (!pid) {
		act(w->how, w->n);
		_exit(99);
	}
	end = reap(pid);
	n = read(HI_READ, data, sizeof(data));
	say("%send of %s %#x: %d, from the pipe %zd", w->how == DO_traceme ? TV : "",
	    how_names[w->how], (unsigned)w->n, end, n);
}

static int die(char *name, int n)
{
	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	for (int i = 0; i < COUNT(how_names); i++)
		if (!strcmp(name, how_names[i]))
			act((enum how)i, n);
	return 99;
}

/* The calls have a file of their own for its size. */
#if __has_include("selfcalls.h")
#include "selfcalls.h"
#else
static void run_calls(void)
{
	say("calls: built without selfcalls.h");
}
#endif

int main(int argc, char **argv)
{
	struct rlimit no_core = {0, 0};
	int die_now = argc > 2 && !strcmp(argv[1], "die"), hi[2];

	sh = mmap(NULL, sizeof(*sh), 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	have_stdout = fcntl(1, F_GETFL) != -1;
	if (!die_now)
		view(argv);
	if (argc == 1 || die_now) {
		reset_signals();
		setrlimit(RLIMIT_CORE, &no_core);
		if (pipe2(hi, O_NONBLOCK))
			return 98;
		dup2(hi[0], HI_READ);
		dup2(hi[1], HI_WRITE);
		close(hi[0]);
		close(hi[1]);
	}
	if (die_now)
		return die(argv[2], argc > 3 ? atoi(argv[3]) : 0);
	if (argc == 1) {
		signal(SIGALRM, on_hang);
		alarm(120);
		for (int i = 0; i < COUNT(ways); i++)
			run_way(&ways[i]);
		run_calls();
	}
	emit();
	return 0;
}
