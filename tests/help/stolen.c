/*
 * stolen HOW - waits of 40 ms, while signals come that are ignored and another thread is
 * busy, which may take them; prints how many have ended with EINTR, or half done
 *
 * HOW: recv, read and accept (of a socket with a timeout), epoll, sigtimedwait,
 * semtimedop; semop (until a child gives); write and writev (to a pipe that is read
 * slowly).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAITS = 6, SIGNALS = 60, EACH_US = 4000, WAIT_MS = 40 };

static volatile bool over;

static void *busy(void *arg)
{
	int fd = open("/dev/null", O_WRONLY);

	while (!over)
		if (write(fd, "x", 1) != 1)
			_exit(1);
	return arg;
}

/* A child that takes a while for what is written to its pipe. */
static int slow_reader(void)
{
	static char buf[1 << 14];
	int p[2];

	if (pipe(p) < 0)
		_exit(2);
	if (!fork()) {
		close(p[1]);
		while (read(p[0], buf, sizeof(buf)) > 0)
			usleep(EACH_US / 2);
		_exit(0);
	}
	close(p[0]);
	return p[1];
}

static void give_slowly(int sem)
{
	struct sembuf give = { 0, 1, 0 };

	if (fork())
		return;
	for (int i = 0; i < WAITS; i++) {
		usleep(WAIT_MS * 1000);
		semop(sem, &give, 1);
	}
	_exit(0);
}

static bool half_done(const char *how, int fd)
{
	static char all[1 << 19];
	struct iovec v[2] = { { all, 1000 }, { all + 1000, sizeof(all) - 1000 } };

	return (!strcmp(how, "write") ? write(fd, all, sizeof(all)) : writev(fd, v, 2)) !=
	       sizeof(all);
}

static long wait_once(const char *how, int fd, int ep, int sem)
{
	const struct timespec limit = { 0, WAIT_MS * 1000 * 1000 };
	struct sembuf take = { 0, -1, 0 };
	struct epoll_event event;
	sigset_t set;
	char c;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (!strcmp(how, "recv"))
		return recv(fd, &c, 1, 0);
	if (!strcmp(how, "read"))
		return read(fd, &c, 1);
	if (!strcmp(how, "accept"))
		return accept(fd, NULL, NULL);
	if (!strcmp(how, "epoll"))
		return epoll_wait(ep, &event, 1, WAIT_MS);
	if (!strcmp(how, "semtimedop"))
		return semtimedop(sem, &take, 1, &limit);
	if (!strcmp(how, "semop"))
		return semop(sem, &take, 1);
	return sigtimedwait(&set, NULL, &limit);
}

/* Where nobody connects: its name is the kernel's choice. */
static int listener(void)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)) || listen(fd, 1)
		       ? -1
		       : fd;
}

int main(int argc, char **argv)
{
	struct timeval limit = { 0, WAIT_MS * 1000 };
	int s[2], sem = semget(IPC_PRIVATE, 1, 0600), ep = epoll_create1(0), n = 0;
	pid_t me = getpid();
	pthread_t t;

	signal(SIGUSR1, SIG_IGN);
	if (argc != 2 || sem < 0 || ep < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return 2;
	if (!strcmp(argv[1], "accept"))
		s[0] = listener();
	if (setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return 2;
	bool writes = !strncmp(argv[1], "write", 5);
	int slow = writes ? slow_reader() : -1;
	if (!strcmp(argv[1], "semop"))
		give_slowly(sem);
	pid_t pid = fork();
	for (int i = 0; !pid && i < SIGNALS; i++) {
		usleep(EACH_US);
		kill(me, SIGUSR1);
	}
	if (!pid)
		_exit(0);
	pthread_create(&t, NULL, busy, NULL);
	for (int i = 0; i < WAITS; i++)
		n += writes ? half_done(argv[1], slow)
			    : wait_once(argv[1], s[0], ep, sem) < 0 && errno == EINTR;
	over = true;
	pthread_join(t, NULL);
	waitpid(pid, NULL, 0);
	close(slow);
	while (wait(NULL) > 0)
		;
	semctl(sem, 0, IPC_RMID);
	printf("%d\n", n);
	return 0;
}
