/*
 * test_beside.c - a child that shares memory: what is shared, what is not, and that
 * either may end first
 */
#include "iops/beside.h"
#include "iops/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What a child and its parent tell one another, in memory that fork(2) would copy. */
struct word {
	volatile int said, stop, errors;
	int fd, up[2];
	pid_t parent;
};

static int ended(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void say(void *p)
{
	((struct word *)p)->said = 1;
	_exit(2);
}

/* Emulators of another machine know no such child: all that is left is a fork. */
static bool shares(void)
{
	struct word w = { .said = 0 };

	waitpid(beside(say, &w), NULL, 0);
#ifdef __x86_64__
	return true;
#endif
	return w.said;
}

static unsigned threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		n += *d->d_name != '.';
	closedir(dir);
	return n;
}

static void keep_to_itself(void *p)
{
	struct word *w = (struct word *)p;
	struct rlimit none = { 0, 0 };
	sigset_t set;

	w->errors += getppid() != w->parent;
	w->errors += sigprocmask(SIG_BLOCK, NULL, &set) < 0 ||
		     !sigismember(&set, SIGUSR2) || sigismember(&set, SIGUSR1);
	close(w->fd);
	signal(SIGUSR1, SIG_IGN);
	setrlimit(RLIMIT_CORE, &none);
	if (chdir("/proc") < 0)
		w->errors++;
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	w->said = 7;
	_exit(3);
}

static void all_but_memory_is_its_own(void **state)
{
	struct word w = { .fd = open("/dev/null", O_RDONLY), .parent = getpid() };
	struct rlimit before, after;
	struct sigaction action;
	sigset_t was, now;
	char cwd[2][4096];

	(void)state;
	sigemptyset(&now);
	sigaddset(&now, SIGUSR2);
	sigprocmask(SIG_BLOCK, &now, &was);
	getrlimit(RLIMIT_CORE, &before);
	assert_non_null(getcwd(cwd[0], sizeof(cwd[0])));
	assert_int_equal(ended(beside(keep_to_itself, &w)), 3 << 8);
	assert_int_equal(w.said, 7);
	assert_int_equal(w.errors, 0);
	assert_true(fcntl(w.fd, F_GETFD) >= 0);
	sigaction(SIGUSR1, NULL, &action);
	assert_true(action.sa_handler == SIG_DFL);
	getrlimit(RLIMIT_CORE, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_non_null(getcwd(cwd[1], sizeof(cwd[1])));
	assert_string_equal(cwd[0], cwd[1]);
	sigprocmask(SIG_SETMASK, &was, &now);
	assert_true(sigismember(&now, SIGUSR2) && !sigismember(&now, SIGINT));
	close(w.fd);
}

/* Each in the other's way: errno, what malloc(3) keeps for a thread, and the heap. */
static void work(struct word *w, int err)
{
	char *mine[16] = { NULL };

	for (unsigned i = 0; i < 20000; i++) {
		char **m = &mine[i % 16];
		errno = err;
		free(*m);
		*m = malloc(1 + i % 3000);
		memset(*m, err, 1 + i % 3000);
		if (i % 64 == 0)
			sched_yield();
		w->errors += errno != err || (unsigned char)**m != err;
	}
	for (unsigned i = 0; i < 16; i++)
		free(mine[i]);
}

static void work_beside(void *p)
{
	struct word *w = (struct word *)p;

	w->said = 1;
	work(w, E2BIG);
	_exit(0);
}

static void both_work_at_once(void **state)
{
	struct word w = { .said = 0 };

	(void)state;
	pid_t first = beside(work_beside, &w), second = beside(work_beside, &w);
	work(&w, EXDEV);
	assert_int_equal(ended(first), 0);
	assert_int_equal(ended(second), 0);
	assert_int_equal(w.errors, 0);
}

/* Which takes a lock of the library. */
static void name_an_error(void *p)
{
	struct word *w = (struct word *)p;

	w->said = strcmp(strerror(ENOENT), "No such file or directory");
	_exit(0);
}

static void locks_are_whose_they_are(void **state)
{
	struct word w = { .said = 1 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ended(beside(name_an_error, &w)), 0);
		alarm(10);
		assert_non_null(strerror(ENOENT));
		assert_non_null(strerror(EINTR));
		alarm(0);
	}
}

static void wait_for_word(void *p)
{
	struct word *w = (struct word *)p;

	w->said = 1;
	while (!w->stop)
		usleep(1000);
	_exit(0);
}

/* Whoever looks sees one thread, and a child of its own. */
static void nothing_else_is_left(void **state)
{
	struct word w = { .said = 0 };
	char path[64], line[64] = "", want[16];
	unsigned n = 0;

	(void)state;
	pid_t child = beside(wait_for_word, &w);
	for (int i = 0; i < 1000 && (n = threads()) > 1; i++)
		usleep(1000);
	assert_int_equal(n, 1);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	snprintf(want, sizeof(want), "%d ", child);
	assert_string_equal(line, want);
	w.stop = 1;
	assert_int_equal(ended(child), 0);
}

static void *on_a_thread(void *p)
{
	char *text = strdup("on a thread");

	((struct word *)p)->said = text != NULL;
	free(text);
	return NULL;
}

/* After its parent: all that it may want of the library. */
static void live_on(void *p)
{
	struct word *w = (struct word *)p;
	pthread_t thread;
	char *text = NULL;
	size_t size = 0;
	int cpu;

	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_t twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	while (getppid() == w->parent)
		usleep(1000);
	w->said = 0;
	bool locks = !pthread_rwlock_rdlock(&lock) && !pthread_rwlock_unlock(&lock) &&
		     !pthread_mutex_lock(&twice) && twice.__data.__lock &&
		     !pthread_mutex_unlock(&twice) && !twice.__data.__lock;
	for (unsigned i = 0; i < 1000; i++)
		free(malloc(i * 100));
	FILE *f = open_memstream(&text, &size);
	bool fine = locks && f && fprintf(f, "%d", getpid()) > 0 && !fclose(f) &&
		    atoi(text) == getpid() &&
		    !pthread_create(&thread, NULL, on_a_thread, w) &&
		    !pthread_join(thread, NULL) && w->said;
	pid_t child = fork();
	if (child == 0)
		_exit(fine ? 5 : 6);
	int status = 0;
	fine = fine && waitpid(child, &status, 0) == child && status == 5 << 8;
	fine = fine && (cpu = cpu_here()) >= 0;
	if (write(w->up[1], fine ? "y" : "n", 1) != 1)
		_exit(1);
	_exit(0);
}

static void outlive(bool killed)
{
	struct word w = { .said = 0 };
	char byte = 0;

	assert_int_equal(pipe(w.up), 0);
	pid_t parent = fork();
	if (parent == 0) {
		w.parent = getpid();
		beside(live_on, &w);
		if (killed)
			raise(SIGKILL);
		_exit(0);
	}
	close(w.up[1]);
	ended(parent);
	assert_int_equal(read(w.up[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	close(w.up[0]);
}

static void it_lives_on(void **state)
{
	(void)state;
	outlive(false);
	outlive(true);
}

static void die(void *p)
{
	raise(*(int *)p);
}

static void parent_lives_on(void **state)
{
	char *text = NULL;
	int sig = SIGKILL;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ended(beside(die, &sig)), SIGKILL);
		assert_true(asprintf(&text, "%d", i) > 0);
		free(text);
	}
}

static void it_leaves_no_core(void **state)
{
	struct rlimit was, none = { 0, 0 };
	int sig = SIGQUIT, persona = personality(0xffffffff);

	(void)state;
	getrlimit(RLIMIT_CORE, &was);
	none.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_CORE, &none);
	personality(persona | UNAME26); /* as an old kernel */
	assert_int_equal(ended(beside(die, &sig)), (128 + SIGQUIT) << 8);
	signal(SIGQUIT, SIG_IGN);
	assert_int_equal(ended(beside(die, &sig)), 0);
	signal(SIGQUIT, SIG_DFL);
	personality(persona);
	struct utsname u;
	uname(&u);
	if (strtod(u.release, NULL) >= 6)
		assert_int_equal(ended(beside(die, &sig)), SIGQUIT);
	setrlimit(RLIMIT_CORE, &was);
}

/* As the shell sees a job that is stopped: it is when all of its threads are. */
static void parent_stops(void **state)
{
	struct word *w = (struct word *)calloc(1, sizeof(*w));
	int status;

	(void)state;
	assert_non_null(w);
	pid_t parent = fork();
	if (parent == 0) {
		pid_t child = beside(wait_for_word, w);
		while (!w->said)
			usleep(1000);
		raise(SIGSTOP);
		w->stop = 1;
		waitpid(child, &status, 0);
		_exit(status);
	}
	assert_int_equal(waitpid(parent, &status, WUNTRACED), parent);
	assert_true(WIFSTOPPED(status));
	kill(parent, SIGCONT);
	assert_int_equal(ended(parent), 0);
	free(w);
}

static void run_program(void *p)
{
	(void)p;
	execl("/bin/sh", "sh", "-c", "exit 9", NULL);
	_exit(1);
}

static void it_runs_a_program(void **state)
{
	(void)state;
	assert_int_equal(ended(beside(run_program, NULL)), 9 << 8);
}

/* What a sandbox may do: no thread, no child that shares. Where it cannot be built there
 * is none anyway. */
static void forbid_sharing(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void it_is_forked_where_none_may_share(void **state)
{
	(void)state;
	pid_t sandbox = fork();
	if (sandbox == 0) {
		struct word w = { .said = 0 };
		int status = 0;
		forbid_sharing();
		pid_t child = beside(say, &w);
		bool fine = child > 0 && waitpid(child, &status, 0) == child &&
			    status == 2 << 8 && !w.said;
		_exit(fine ? 0 : 1);
	}
	assert_int_equal(ended(sandbox), 0);
}

/* Below a translator that would end at the clone(2). */
static void it_is_forked_below_valgrind(void **state)
{
	struct word w = { .said = 0 };

	(void)state;
	setenv("LD_PRELOAD", "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", 1);
	pid_t child = beside(say, &w);
	unsetenv("LD_PRELOAD");
	assert_int_equal(ended(child), 2 << 8);
	assert_int_equal(w.said, 0);
}

#define WHEREVER                                                                         \
	cmocka_unit_test(locks_are_whose_they_are), cmocka_unit_test(parent_lives_on),   \
		cmocka_unit_test(it_runs_a_program),                                     \
		cmocka_unit_test(it_is_forked_where_none_may_share),                     \
		cmocka_unit_test(it_is_forked_below_valgrind)

int main(void)
{
	const struct CMUnitTest all[] = {
		WHEREVER,
		cmocka_unit_test(all_but_memory_is_its_own),
		cmocka_unit_test(both_work_at_once),
		cmocka_unit_test(nothing_else_is_left),
		cmocka_unit_test(it_lives_on),
		cmocka_unit_test(it_leaves_no_core),
		cmocka_unit_test(parent_stops),
	};
	const struct CMUnitTest forked[] = { WHEREVER };

	if (shares())
		return cmocka_run_group_tests(all, NULL, NULL);
	printf("# SKIP what is shared: no child can share memory below this emulator\n");
	return cmocka_run_group_tests(forked, NULL, NULL);
}
