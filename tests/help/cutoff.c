/*
 * cutoff.c - threads that die in the middle of a call
 *
 * cutoff FILE ROUNDS exec|exit|kill: in each round four threads of a process append to
 * the file, until a fifth one execs, or ends the process, or kills it, and it is killed
 * from outside a moment later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BEFORE_US = 3000, FIRST = 100 };

static int file;

static void append_once(size_t n)
{
	char text[] = "abcdefg";
	struct iovec both[] = { { text, n + 1 }, { text, 1 } };

	if (write(file, text, n + 1) < 0 || writev(file, both, 2) < 0)
		abort();
}

static void *append(void *arg)
{
	for (;;)
		append_once((size_t)arg);
	return NULL;
}

static void *end(void *arg)
{
	const char *how = arg;

	usleep(BEFORE_US);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	_exit(0);
}

static void round_of(char *how)
{
	pthread_t thread;

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, append, (void *)i);
	pthread_create(&thread, NULL, end, how);
	append((void *)THREADS);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	/* From here on they are as fast as they will be. */
	for (int i = 0; i < FIRST; i++)
		append_once(THREADS);
	for (int i = 0; i < atoi(argv[2]); i++) {
		pid_t pid = fork();
		if (!pid)
			round_of(argv[3]);
		usleep(BEFORE_US + (useconds_t)rand() % BEFORE_US);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
