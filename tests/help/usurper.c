/*
 * usurper.c - processes whose first thread is killed at work, as another one runs a
 * program
 *
 * usurper FILE TIMES THREADS: in each of TIMES processes the first thread and THREADS
 * more append to FILE, byte by byte, until one more thread calls execve(2). Prints how
 * many bytes there are. Alone, it is that program.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;

static void *append(void *arg)
{
	while (write(fd, "x", 1) == 1)
		;
	return arg;
}

static void *usurp(void *arg)
{
	usleep(500 + (unsigned)(rand() % 2000));
	execl("/proc/self/exe", "usurper", (char *)NULL);
	perror("usurper: exec");
	_exit(2);
	return arg;
}

static void kingdom(int threads)
{
	pthread_t t;

	srand((unsigned)getpid());
	for (int i = 0; i <= threads; i++)
		if (pthread_create(&t, NULL, i < threads ? append : usurp, NULL))
			_exit(3);
	append(NULL);
	_exit(4);
}

int main(int argc, char **argv)
{
	struct stat st;
	int bad = 0;

	if (argc != 4)
		return argc != 1;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	for (int i = atoi(argv[2]); fd >= 0 && i > 0; i--) {
		int status = 0;
		pid_t pid = fork();
		if (!pid)
			kingdom(atoi(argv[3]));
		bad |= pid < 0 || waitpid(pid, &status, 0) < 0 || status;
	}
	if (fd < 0 || bad || fstat(fd, &st) < 0)
		return 1;
	printf("%lld\n", (long long)st.st_size);
	return 0;
}
