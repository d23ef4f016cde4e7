/*
 * execs - a process that becomes itself again every few milliseconds
 *
 * By its first thread and by another one in turn, while more threads read. Each has another
 * number of calls and another while before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { READERS = 3, MAX_US = 3000 };

static void become(const char *self, const char *by)
{
	execl("/proc/self/exe", self, by, NULL);
	perror("execl");
	_exit(1);
}

static void *reader(void *zero)
{
	char buf[10];

	while (read(*(int *)zero, buf, sizeof(buf)) == sizeof(buf))
		;
	perror("read");
	_exit(2);
}

static void *becomer(void *self)
{
	usleep((useconds_t)(rand() % MAX_US));
	become(self, "first");
	return NULL;
}

int main(int argc, char **argv)
{
	const int by_other = argc > 1 && argv[1][0] == 'o';
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct timespec now;
	pthread_t t;
	char buf[10];

	clock_gettime(CLOCK_MONOTONIC, &now);
	srand((unsigned)now.tv_nsec);
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&t, NULL, reader, &zero))
			return 3;
	if (by_other && pthread_create(&t, NULL, becomer, argv[0]))
		return 3;
	if (by_other)
		reader(&zero);
	for (int i = rand() % MAX_US; i > 0; i--)
		if (read(zero, buf, sizeof(buf)) != sizeof(buf))
			return 2;
	become(argv[0], "other");
}
