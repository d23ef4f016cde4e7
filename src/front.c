/*
 * front.c - the front end: the shell's job, parent of the command and of the tracer
 *
 * The command is our own child in our own process group, so that the terminal, the
 * shell and the command deal with one another as if we were not there. The tracer is in
 * a session of its own: it goes on serving while the job is stopped.
 */
#include "iops/front.h"
#include "iops/beside.h"
#include "iops/cpu.h"
#include "iops/diag.h"
#include "iops/fds.h"
#include "iops/given.h"
#include "iops/prefault.h"
#include "relay.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { LEAVE_MS = 20 };

/* These are nobody's to catch, or mean nothing by default. A fault of our own ends us all
 * the same: the kernel does not let that be blocked. */
static const int not_caught[] = { SIGKILL, SIGSTOP, SIGWINCH, SIGURG };

/* What execvp(3) makes nothing of. */
static bool is_missing(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ESTALE ||
	       err == ENODEV || err == ETIMEDOUT;
}

/*
 * Where execvp(3) will find a command, to spare it the attempts before: each of them
 * stops twice. false: let it look itself, and say what is wrong.
 */
static bool find_command(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	struct stat st;

	if (!*name || strchr(name, '/'))
		return false;
	for (size_t n; dirs; dirs = dirs[n] ? dirs + n + 1 : NULL) {
		n = strcspn(dirs, ":");
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, dirs, n ? "/" : "",
			    name) >= PATH_MAX)
			return false;
		if (!stat(path, &st))
			return S_ISREG(st.st_mode) &&
			       !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
		if (!is_missing(errno))
			return false;
	}
	return false;
}

/* Whether a command is known to be a program of 32 bits: elf(5). Not to be asked by the
 * command, as what that reads is on its account. */
static bool is_of_32(const char *name)
{
	char found[PATH_MAX];
	const char *path = find_command(name, found) ? found
			   : strchr(name, '/')       ? name
						     : "";
	unsigned char head[EI_CLASS + 1] = { 0 };
	struct stat st;
	int fd = stat(path, &st) < 0 || !S_ISREG(st.st_mode)
			 ? -1
			 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
		  !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS32;

	if (fd >= 0)
		close(fd);
	return is;
}

struct command_birth {
	struct launch *launch;
	const struct options *options;
	struct given given;
};

/* Beside us: nothing is allocated. */
static void become_command(void *birth)
{
	const struct command_birth *b = (const struct command_birth *)birth;
	const struct options *o = b->options;
	struct launch *l = b->launch;
	char how = 0, path[PATH_MAX];

	given_back(&b->given);
	close(l->go[1]);
	/* Where a tracer must be a parent (Yama), the front end's other child may be it
	 * too. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (read(l->go[0], &how, 1) != 1)
		_exit(EXIT_FAILED);
	prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	if (o->mount.point && chdir(o->mount.point) < 0) {
		l->exec_errno = errno;
		_exit(EXIT_FAILED);
	}
	bool found = find_command(o->argv[0], path);
	if (how == LAUNCH_ASK) {
		l->asks = 1;
		raise(SIGSTOP); /* only the tracer sees it */
		how = (char)l->answer;
	}
	if (how != LAUNCH_PLAIN) {
		int err = filter_install(&o->want, how == LAUNCH_PATCH);
		if (err < 0) {
			l->filter_errno = -err;
			raise(SIGSTOP); /* only the tracer sees it */
		}
	}
	l->begins = 1;
	if (found)
		execv(path, o->argv);
	execvp(o->argv[0], o->argv);
	l->exec_errno = errno;
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* By ptrace(2), if that is allowed, and by nothing else. */
static bool is_traced(const struct options *o)
{
	return !o->story &&
	       (!strcmp(o->backend, "auto") || !strcmp(o->backend, "ptrace"));
}

/* Beside us where that is most of a start; much memory, many threads are better apart. */
static pid_t bear(const struct options *o, void (*run)(void *), void *arg)
{
	if (is_traced(o))
		return beside(run, arg);
	pid_t pid = fork();
	if (pid == 0)
		run(arg);
	return pid;
}

/* Of the tracer, which works on when the front end has closed what is its own. */
struct tracer_birth {
	struct front_job job;
	struct out out, log;
	front_work *work;
	struct cpu_pin here;
	int front, others[2]; /* the front end's: its id; to be closed */
};

static void become_tracer(void *birth)
{
	struct tracer_birth *b = (struct tracer_birth *)birth;
	struct front_job *job = &b->job;
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGHUP,
		SIGPIPE, SIGTERM, SIGXFSZ, SIGXCPU, SIGUSR1, SIGALRM };

	cpu_unpin(&b->here);
	close(b->others[0]);
	close(b->others[1]);
	setsid();
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		if (job->launch || ignored[i] != SIGTERM)
			signal(ignored[i], SIG_IGN);
	sigset_t later;
	sigemptyset(&later);
	if (!job->launch)
		sigaddset(&later, SIGTERM); /* the session takes it from its beginning */
	sigprocmask(SIG_SETMASK, &later, NULL);
	if (!job->launch && !job->options->mount.daemon) {
		prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
		if (getppid() != b->front)
			kill(getpid(), SIGTERM); /* nobody else could end it */
	} else if (job->launch) {
		close(job->launch->go[0]);
	}
	fds_let_go(STDIN_FILENO);
	fds_let_go(STDOUT_FILENO);
	int keep[] = { job->out->fd, job->log->fd, job->done,
		job->launch ? job->launch->go[1] : -1 };
	fds_close_others(keep, 4);
	if (job->launch && is_traced(job->options) && job->options->filter &&
		job->options->patch_after)
		job->foresight = foresee_begin();
	prefault();
	b->work(job);
	_exit(0);
}

void front_done(struct front_job *j, int err)
{
	char byte = err < 0 ? 1 : 0;

	if (j->done < 0)
		return;
	struct pollfd gone = { .fd = j->done };
	ssize_t told = write(j->done, &byte, 1);
	fds_let_go(STDERR_FILENO);
	/* It is waited for, perhaps to run on this very CPU: what is still to be done
	 * here would be in its way. Not where there is somebody left to serve. */
	sched_yield();
	if (told == 1 && j->launch && j->launch->ended)
		poll(&gone, 1, LEAVE_MS);
	close(j->done);
	j->done = -1;
}

/* Until now it was the session's clock. */
void front_reports(const struct front_job *j)
{
	struct timespec now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	*j->due = now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Die as the command did, without a core file of ours. */
static int end_like(int status)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;
	int sig = WTERMSIG(status);

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}

/* The cheapest way to get at the id that comes after it. */
static pid_t use_up_id(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid;
}

/* A tracer whose id will do: launch.h. Ids are given in turn, so one comes soon, unless
 * others that fork all the time are quicker: they take most that would do. */
static pid_t fork_guard(void)
{
	enum { TRIES = 8000 };

	for (int i = 0; i < TRIES; i++) {
		if (launch_guard_byte(use_up_id() + 1) < 0)
			continue;
		pid_t pid = fork();
		if (pid < 0 || launch_guard_byte(pid ? pid : getpid()) >= 0)
			return pid;
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return fork();
}

/* An attached one is forked: its id is chosen, and it has longer to live than a start. */
static pid_t bear_tracer(struct tracer_birth *b)
{
	if (b->job.launch)
		return bear(b->job.options, become_tracer, b);
	pid_t pid = b->job.options->patch_after ? fork_guard() : fork();
	if (pid == 0)
		become_tracer(b);
	return pid;
}

/* b is to last as long as we do. */
static int start(struct front *f, struct tracer_birth *b)
{
	sigset_t set;
	int done[2];

	if (pipe2(done, O_CLOEXEC) < 0)
		return -errno;
	sigfillset(&set);
	for (unsigned i = 0; i < sizeof(not_caught) / sizeof(*not_caught); i++)
		sigdelset(&set, not_caught[i]);
	sigprocmask(SIG_BLOCK, &set, &f->mask);
	signal(SIGCHLD, SIG_DFL);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	b->job.launch = f->launch;
	b->job.due = f->due;
	b->out = *b->job.out;
	b->log = *b->job.log;
	b->job.out = &b->out;
	b->job.log = &b->log;
	b->job.done = done[1];
	b->others[0] = done[0];
	b->others[1] = f->signals;
	cpu_pin(&b->here);
	f->tracer = f->signals < 0 ? -1 : bear_tracer(b);
	cpu_unpin(&b->here);
	close(done[1]);
	f->done = done[0];
	return f->tracer < 0 ? -errno : 0;
}

static const char *no_report(const struct front *f)
{
	return f->gave_up ? "nobody read the report, and it was given up"
			  : "the tracer was killed before it could report";
}

int front_attach(
	const struct options *o, struct out *out, struct out *log, front_work *work)
{
	struct front f = { .result = -1 };
	struct given given;

	f.due = mmap(NULL, sizeof(*f.due), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f.due == MAP_FAILED) {
		diag_err(errno, "cannot start");
		return 1;
	}
	given_lift_limits(&given); /* thousands of threads take files of /proc */
	struct tracer_birth b = { { .options = o, .out = out, .log = log },
		.work = work };
	b.front = getpid();
	int err = start(&f, &b);
	if (err < 0) {
		diag_err(err, "cannot start the tracer");
		return 1;
	}
	out_close(out);
	out_close(log);
	fds_let_go(STDIN_FILENO);
	fds_let_go(STDOUT_FILENO);
	relay_serve(&f);
	if (f.result < 0)
		diag("%s; the processes go on", no_report(&f));
	return f.result ? 1 : 0;
}

static int launch_new(struct launch **out)
{
	struct launch *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (l == MAP_FAILED)
		return -errno;
	l->front = getpid();
	if (pipe2(l->go, O_CLOEXEC) < 0) {
		int err = -errno;
		munmap(l, sizeof(*l));
		return err;
	}
	*out = l;
	return 0;
}

static int finish_run(struct front *f, const struct options *o)
{
	int status = 0;

	while (waitpid(f->launch->command, &status, 0) < 0 && errno == EINTR)
		;
	if (f->launch->exec_errno) {
		diag_err(f->launch->exec_errno, "%s", o->argv[0]);
		return f->launch->exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (f->result < 0)
		diag("%s", no_report(f));
	if (f->result < 0 && !f->launch->begins)
		return EXIT_FAILED;
	if (f->result && WIFEXITED(status) && !WEXITSTATUS(status))
		return EXIT_FAILED;
	return end_like(status);
}

int front_run(const struct options *o, struct out *out, struct out *log, front_work *work)
{
	struct front f = { .result = -1 };
	struct command_birth c = { .options = o };
	struct tracer_birth b = { .job = { .options = o, .out = out, .log = log },
		.work = work };

	given_take(&c.given);
	int err = launch_new(&f.launch);

	if (err < 0) {
		diag_err(err, "cannot start");
		return EXIT_FAILED;
	}
	f.due = &f.launch->due_ns;
	/* First of all, while everything is still as it was given to us. */
	c.launch = f.launch;
	f.launch->command = bear(o, become_command, &c);
	f.launch->of_32 = is_traced(o) && is_of_32(o->argv[0]);
	err = f.launch->command < 0 ? -errno : start(&f, &b);
	if (err < 0) {
		diag_err(err, "cannot start the tracer");
		/* The command sees the end of its pipe, and goes: before what it reads.
		 */
		close(f.launch->go[1]);
		if (f.launch->command > 0)
			waitpid(f.launch->command, NULL, 0);
		return EXIT_FAILED;
	}
	close(f.launch->go[0]);
	close(f.launch->go[1]);
	out_close(out);
	out_close(log);
	fds_let_go(STDIN_FILENO);
	fds_let_go(STDOUT_FILENO);
	int keep[] = { f.signals, f.done };
	fds_close_others(keep, 2);
	relay_serve(&f);
	/* Neither what is in memory nor what is open is anybody's any more. */
	_exit(finish_run(&f, o));
}
