/*
 * begin.c - the command, up to its exec
 *
 * It is given all that was given to us as it was. Until its exec it is in our memory,
 * which waits for it (vfork(2)): to copy its tables takes longer than all it does there.
 */
#include "iops/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int limited[NLIMITED] = { RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU };

void begin_lift(struct given *g)
{
	for (int i = 0; i < NLIMITED; i++) {
		struct rlimit *old = &g->limit[i];
		getrlimit(limited[i], old);
		struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
		if (limited[i] == RLIMIT_NOFILE)
			most = (struct rlimit){ 65536,
				old->rlim_max > 65536 ? old->rlim_max : 65536 };
		if (setrlimit(limited[i], &most) < 0) {
			most.rlim_cur = most.rlim_max = old->rlim_max;
			setrlimit(limited[i], &most);
		}
	}
}

int begin_new(struct launch **out)
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

/* As everything was given to us. */
static void undo(const struct given *g)
{
	for (int i = 0; i < NLIMITED; i++)
		setrlimit(limited[i], &g->limit[i]);
	sigaction(SIGCHLD, &g->child, NULL);
	sigprocmask(SIG_SETMASK, &g->mask, NULL);
	cpu_unpin(&g->here);
}

/* Who the command is, to the tracer; or -1. */
static void tell_command(struct launch *l, pid_t pid)
{
	__atomic_store_n(&l->command, pid, __ATOMIC_RELEASE);
	syscall(SYS_futex, &l->command, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* In the front end's memory: what is not in the launch is not touched. */
static void become_command(
	struct launch *l, const struct given *g, const struct options *o)
{
	char how = 0, path[PATH_MAX];

	tell_command(l, getpid());
	undo(g);
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
	if (how == LAUNCH_DISPATCH) {
		l->asks = 1;
		raise(SIGSTOP); /* only the tracer sees it */
		how = l->dispatched ? LAUNCH_PLAIN : LAUNCH_PATCH;
	}
	if (how != LAUNCH_PLAIN) {
		int err = filter_install(&o->want, how == LAUNCH_PATCH);
		if (err < 0) {
			l->filter_errno = -err;
			raise(SIGSTOP); /* only the tracer sees it */
		}
	}
	if (found)
		execv(path, o->argv);
	execvp(o->argv[0], o->argv);
	l->exec_errno = errno;
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

bool begin_await(struct launch *l)
{
	const struct timespec while_alive = { 0, 100 * 1000 * 1000 };

	while (!__atomic_load_n(&l->command, __ATOMIC_ACQUIRE) && getppid() == l->front)
		syscall(SYS_futex, &l->command, FUTEX_WAIT, 0, &while_alive, NULL, 0);
	return l->command > 0;
}

int begin_command(struct launch *l, const struct given *g, const struct options *o)
{
	pid_t command = vfork();

	if (command == 0)
		become_command(l, g, o);
	cpu_unpin(&g->here);
	if (command > 0)
		return 0;
	int err = -errno;
	tell_command(l, -1);
	return err;
}
