/*
 * storms N - N numbers are written to standard output by a thread, by calls from memory
 * of no file, while its process is stopped and goes on again at any moment
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 16 };

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void record(char out[SIZE], long i)
{
	memset(out, '0', SIZE);
	out[SIZE - 1] = '\n';
	for (int at = SIZE - 2; i; i /= 10, at--)
		out[at] = (char)('0' + i % 10);
}

struct job {
	int fd;
	long n;
};

/* NULL: all of them. */
static void *writes(void *arg)
{
	const struct job *j = arg;

	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	char line[SIZE];
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED, "mmap");
	memcpy(at, code, sizeof(code));
	long (*call)(int, const void *, size_t) = (long (*)(int, const void *, size_t))at;
	for (long i = 0; i < j->n; i++) {
		record(line, i);
		if (call(j->fd, line, SIZE) != SIZE)
			return arg;
	}
	return NULL;
}

/* The first thread gets the signals. */
static int work(struct job *j)
{
	pthread_t writer;
	void *odd;

	need(!pthread_create(&writer, NULL, writes, j), "pthread_create");
	need(!pthread_join(writer, &odd), "pthread_join");
	return odd != NULL;
}

static void storm(pid_t writer)
{
	int status;

	for (unsigned i = 0; !waitpid(writer, &status, WNOHANG); i++) {
		const struct timespec nap = { 0, 1000 * (i * 37 % 100) };
		kill(writer, SIGSTOP);
		nanosleep(&nap, NULL);
		kill(writer, SIGCONT);
		nanosleep(&nap, NULL);
	}
	need(status == 0, "writer");
}

int main(int argc, char **argv)
{
	struct job j = { STDOUT_FILENO, argc > 2 ? atol(argv[1]) : 0 };

	for (int times = argc > 2 ? atoi(argv[2]) : 0; times--;) {
		pid_t writer = fork();
		if (!writer)
			_exit(work(&j));
		storm(writer);
	}
	return 0;
}
