/*
 * mixed - a program that does everything at once, to be attached to
 *
 *   mixed [-b] [-f] [-n] THREADS SEC
 *
 * Each thread reads, writes, seeks, opens, waits and is interrupted by a timer, and
 * checks all results; another one forks, execs and vforks (not with -f; -n: without a
 * pause). -b: most signals are blocked. Prints "good", or what went wrong. A line on
 * standard output says that it has begun. SIGTERM ends it before its time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static volatile long alarms, rounds;
static int wrong, pause_us = 20000;

#define CHECK(x)                                                                         \
	do                                                                               \
		if (!(x) && !__atomic_exchange_n(&wrong, 1, __ATOMIC_SEQ_CST))           \
			printf("line %d: %s: %s\n", __LINE__, #x, strerror(errno));      \
	while (0)

static void on_alarm(int sig)
{
	int kept = errno;

	(void)sig;
	CHECK(lseek(0, 0, SEEK_CUR) != 1);
	alarms++;
	errno = kept;
}

static void *work(void *arg)
{
	char name[32], b[64], c[64];
	int p[2], n = 0;

	snprintf(name, sizeof(name), "mixed%ld", (long)arg);
	memset(b, 'a' + (int)(long)arg % 26, sizeof(b));
	CHECK(!pipe(p));
	while (!stop && !wrong) {
		int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		struct iovec v[2] = { { c, 10 }, { c + 10, 54 } };
		CHECK(fd >= 0);
		for (int i = 0; i < 10; i++)
			CHECK(write(fd, b, 64) == 64);
		CHECK(lseek(fd, 64, SEEK_SET) == 64);
		CHECK(readv(fd, v, 2) == 64 && !memcmp(b, c, 64));
		CHECK(pread(fd, c, 64, 576) == 64 && !memcmp(b, c, 64));
		CHECK(write(p[1], b, 5) == 5 && read(p[0], c, 64) == 5);
		struct pollfd on = { .fd = p[0], .events = POLLIN };
		int got = poll(&on, 1, 1);
		CHECK(got == 0 || (got < 0 && errno == EINTR));
		CHECK(read(-1, c, 1) == -1 && errno == EBADF);
		CHECK(getppid() > 0 && !close(fd));
		if (++n % 8 == 0)
			CHECK(!unlink(name));
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void *families(void *arg)
{
	int status;

	while (!stop && !wrong) {
		pid_t child = fork();
		if (child == 0) {
			char b[8];
			int fd = open("/dev/zero", O_RDONLY);
			for (int i = 0; i < 20; i++)
				if (read(fd, b, 8) != 8)
					_exit(1);
			_exit(7);
		}
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		usleep((useconds_t)pause_us);
	}
	return arg;
}

/* All but what it needs itself, and faults. */
static void block_most(sigset_t *set)
{
	static const int needed[] = { SIGALRM, SIGTERM, SIGINT, SIGSEGV, SIGBUS,
		SIGCHLD };

	sigfillset(set);
	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		sigdelset(set, needed[i]);
}

int main(int argc, char **argv)
{
	pthread_t t[65];
	sigset_t set;
	int opt, births = 1, n = 0;
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART },
			 term = { .sa_handler = on_term, .sa_flags = SA_RESTART };

	sigemptyset(&set);
	while ((opt = getopt(argc, argv, "bfn")) != -1) {
		if (opt == 'b')
			block_most(&set);
		else if (opt == 'n')
			pause_us = 0;
		else
			births = 0;
	}
	if (argc - optind != 2)
		return 2;
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGTERM, &term, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (long i = 0; i < atol(argv[optind]) && i < 64; i++)
		CHECK(!pthread_create(&t[n++], NULL, work, (void *)i));
	if (births)
		CHECK(!pthread_create(&t[n++], NULL, families, NULL));
	setitimer(ITIMER_REAL, &every, NULL);
	puts("begun");
	struct timespec left = { atol(argv[optind + 1]), 0 };
	while (nanosleep(&left, &left) < 0 && !wrong && !stop)
		;
	stop = 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	if (alarms < 10)
		printf("%ld alarms\n", alarms);
	else if (!wrong)
		puts("good");
	return wrong;
}
