/*
 * dups.c ROUNDS - fcntl(2) in all its ways between writes: what makes a descriptor, what
 * changes one and what only asks, below a timer that interrupts each step of it
 *
 * Prints what it has written: to a, of which what was appended, and to b.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define MUST(ok) ((ok) ? (void)0 : (perror(#ok), exit(1)))

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* A lock as databases take and leave them. */
static void lock(int fd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1 };
	struct flock of = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 9 };

	MUST(!fcntl(fd, F_SETLK, &l));
	MUST(!fcntl(fd, F_GETLK, &of) && of.l_type == F_UNLCK);
}

/* What comes of a descriptor that stands for no file, or of a number that is too high. */
static void fail(int fd)
{
	MUST(fcntl(fd, F_DUPFD, -1) < 0 && errno == EINVAL);
	MUST(fcntl(999, F_DUPFD_CLOEXEC, 0) < 0 && errno == EBADF);
	MUST(fcntl(fd, 12345, 0) < 0 && errno == EINVAL);
}

static int one_round(long *appended)
{
	int fd = open("a", O_RDWR), low = fcntl(fd, F_DUPFD, 50),
	    high = fcntl(fd, F_DUPFD_CLOEXEC, 60);

	MUST(low >= 50 && low < 60 && high >= 60);
	close(fd);
	int other = open("b", O_WRONLY);
	MUST(other == fd);
	MUST(write(low, "1", 1) == 1 && write(high, "22", 2) == 2 && write(other, "333", 3) == 3);
	lock(low, F_WRLCK);
	MUST(fcntl(low, F_GETFD) == 0 && fcntl(high, F_GETFD) == FD_CLOEXEC);
	MUST((fcntl(high, F_GETFL) & (O_ACCMODE | O_APPEND)) == O_RDWR);
	MUST(!fcntl(low, F_SETFL, O_APPEND));
	MUST(fcntl(high, F_GETFL) & O_APPEND);
	MUST(lseek(low, 0, SEEK_SET) == 0 && write(high, "4444", 4) == 4);
	*appended += 4;
	MUST(!fcntl(high, F_SETFL, 0));
	MUST(lseek(high, 0, SEEK_SET) == 0 && write(low, "5", 1) == 1);
	MUST(lseek(high, 0, SEEK_CUR) == 1);
	lock(low, F_UNLCK);
	fail(other);
	MUST(!close(low) && !close(high) && !close(other));
	return 8;
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 300 }, { 0, 300 } };
	long rounds = argc > 1 ? atol(argv[1]) : 1000, bytes = 0, appended = 0;

	close(open("a", O_CREAT | O_TRUNC | O_WRONLY, 0644));
	close(open("b", O_CREAT | O_TRUNC | O_WRONLY, 0644));
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; i < rounds; i++)
		bytes += one_round(&appended);
	MUST(ticks);
	printf("a %ld %ld b %ld\n", bytes, appended, rounds * 3);
	return 0;
}
