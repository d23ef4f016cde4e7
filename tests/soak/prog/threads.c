// Threads that do I/O in every way, for builds with sanitizers: prints what must not change.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int rounds;
static volatile sig_atomic_t ticks;

static void *work(void *arg)
{
	long id = (long)arg, sum = 0;
	char name[32], *b = malloc(8192);
	snprintf(name, sizeof name, "t%ld", id);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644), p[2];
	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, p))
		abort();
	for (int i = 0; i < rounds; i++) {
		memset(b, i + (int)id, 8192);
		struct iovec v[2] = {{b, 100}, {b + 200, (size_t)(i % 300)}};
		sum += write(fd, b, (size_t)(1 + i % 4096)) + writev(fd, v, 2);
		sum += pread(fd, b, 500, i) + b[0];
		if (send(p[0], b, 64, 0) != 64 || recv(p[1], b, 64, MSG_WAITALL) != 64)
			abort();
		if (read(-1, b, 1) != -1 || errno != EBADF)
			abort();
		pthread_mutex_lock(&lock);
		total += b[3];
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	total += sum;
	pthread_mutex_unlock(&lock);
	close(fd), close(p[0]), close(p[1]), free(b);
	return NULL;
}

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void *reader(void *arg)
{
	char c;
	while (read(*(int *)arg, &c, 1) == 1)
		;
	return NULL;
}

// Builds with -DBUG make one mistake, which the sanitizer must find.
static void *mistake(void *arg)
{
	volatile int *x = arg;
#if BUG == 1
	volatile int *heap = malloc(10 * sizeof *heap);
	int i = x[0] + 10;
	heap[i] = 1;
	x[1] = heap[i - 1];
	free((void *)heap);
#elif BUG == 2
	int i = 2147483647;
	i += x[0] + 1;
	x[1] = i;
#else
	x[0]++;
#endif
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[8], r;
	rounds = argc > 1 ? atoi(argv[1]) : 500;
	struct sigaction sa = {.sa_handler = tick};
	sigaction(SIGALRM, &sa, NULL);
	for (long i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	printf("total %ld\n", total);
	int p[2];
	if (pipe(p))
		abort();
	pthread_create(&r, NULL, reader, &p[0]);
	usleep(10000);
	pthread_cancel(r);
	void *end;
	pthread_join(r, &end);
	printf("cancelled %d\n", end == PTHREAD_CANCELED);
	for (int i = 0; i < 5; i++) {
		fflush(stdout);
		pid_t pid = fork();
		if (!pid)
			_exit(write(p[1], "abc", 3) == 3 ? i : 99);
		int s;
		waitpid(pid, &s, 0);
		printf("child %d\n", WEXITSTATUS(s));
	}
	alarm(1);
	char c[16];
	ssize_t n;
	while ((n = read(p[0], c, 1)) == 1 && !ticks)
		;
	printf("ticks %d\n", (int)ticks);
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open("t0", O_RDONLY);
	printf("mapped %zd %d\n", read(fd, m, 4096), *(unsigned char *)m);
	int shared[2] = {argc - 2, 0};
	if (BUG) {
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, mistake, shared);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	}
	printf("end %d\n", shared[1]);
	return 0;
}
