/*
 * test_process.c - whether a process runs, whatever its threads do
 */
#include "iops/process.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOKS = 50000, WHILE_US = 300 };

static void *become_again(void *arg)
{
	(void)arg;
	usleep(WHILE_US);
	execl("/proc/self/exe", "test_process", "again", NULL);
	_exit(1);
}

/* Another thread becomes the program, and so the first thread: again and again. */
static void always_another(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, become_again, NULL))
		_exit(2);
	for (;;)
		pause();
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void without_the_first(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, stay, NULL))
		_exit(2);
	pthread_exit(NULL);
}

static pid_t make(void (*what)(void))
{
	pid_t pid = fork();

	if (!pid) {
		alarm(60); /* where the test ended before */
		what();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void runs_through_execve_by_threads(void **state)
{
	pid_t pid = make(always_another);
	int missed = 0;

	(void)state;
	for (int i = 0; i < LOOKS; i++)
		missed += !process_runs(pid);
	end(pid);
	assert_int_equal(missed, 0);
}

static void runs_without_its_first_thread(void **state)
{
	pid_t pid = make(without_the_first);

	(void)state;
	while (process_state(pid, pid) != 'Z')
		usleep(WHILE_US);
	assert_true(process_runs(pid));
	assert_false(process_lives(pid, pid));
	end(pid);
}

static void done(void)
{
}

static void does_not_run_as_a_zombie(void **state)
{
	pid_t pid = make(done);
	siginfo_t info;

	(void)state;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(process_runs(pid));
	assert_int_equal(process_state(pid, pid), 'Z');
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_runs(pid));
	assert_int_equal(process_state(pid, pid), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_through_execve_by_threads),
		cmocka_unit_test(runs_without_its_first_thread),
		cmocka_unit_test(does_not_run_as_a_zombie),
	};

	(void)argv;
	if (argc > 1)
		always_another();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
