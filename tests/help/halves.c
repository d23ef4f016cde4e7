/*
 * halves - transfers during which signals come
 *
 *   halves HOW SIGNAL [ms [COMMAND | kill us]]
 *
 * HOW: write, writev, send, sendmsg, sendfile, recv, recvmsg; random, getrandom, pread,
 * readv, preadv, copy, copy_more (than there is), or send_to_file; or much, which writes
 * more than one call can; SIGNAL: ignored (by default), or handled; or none, and it all
 * takes so long. COMMAND: it becomes that in the middle, by a thread; kill: it is killed in the
 * middle, so many microseconds after a signal. Prints what was asked for and what the call has
 * returned, and "wrong" if what has come is not what was sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 400000, PARTS = 7, MOST = 32 << 20 };

static char data[SIZE], got[SIZE];
static int sig;
static long nap_us = 500, kill_us = -1;
static size_t *taken; /* the child's */
static pid_t parent; /* it may be gone, and the child another's */

static void nap(long us)
{
	const struct timespec s = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&s, NULL);
}

static void handler(int s)
{
	(void)s;
}

/* The signal, and then the end if it is time. */
static void signal_parent(bool is_end)
{
	if (sig)
		kill(parent, sig);
	if (is_end && kill_us > 0)
		nap(kill_us);
	if (is_end && kill_us >= 0)
		kill(parent, SIGKILL);
	nap(nap_us);
}

/* The child: takes what comes, and is pleased with any part of it from the beginning on.
 */
static int taker(int fd)
{
	size_t n = 0;
	ssize_t now;

	nap(100000);
	while (n < SIZE && (now = read(fd, got + n, 9000)) > 0) {
		n += (size_t)now;
		signal_parent(n == 9 * 9000);
	}
	*taken = n;
	return memcmp(data, got, n) != 0;
}

/* Zeros, and many. A signal now and then is enough. */
static int much_taker(int fd)
{
	ssize_t now;

	for (unsigned i = 0; (now = read(fd, data, sizeof(data))) > 0; i++) {
		*taken += (size_t)now;
		if (i % 500 == 100)
			kill(parent, sig);
	}
	return 0;
}

static int giver(int fd)
{
	nap(100000);
	for (size_t n = 0; n < SIZE;) {
		size_t part = SIZE - n < 9001 ? SIZE - n : 9001;
		if (write(fd, data + n, part) != (ssize_t)part)
			return 1;
		n += part;
		signal_parent(false);
	}
	return 0;
}

static int pesterer(void)
{
	for (int i = 0; i < 400; i++)
		signal_parent(false);
	return 0;
}

static void parts(struct iovec *v, char *of)
{
	size_t at = 0;

	for (int i = 0; i < PARTS; i++) {
		size_t len = i == PARTS - 1 ? SIZE - at : 20000u * (unsigned)i;
		v[i] = (struct iovec){ of + at, len };
		at += len;
	}
}

static ssize_t write_parts(int fd)
{
	struct iovec v[PARTS];

	parts(v, data);
	return writev(fd, v, PARTS);
}

/* With a descriptor, which comes but once. */
static ssize_t send_message(int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec v[PARTS];
	struct msghdr m = { .msg_iov = v,
		.msg_iovlen = PARTS,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	parts(v, data);
	memcpy(CMSG_DATA(&control.head), &(int){ STDOUT_FILENO }, sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

static ssize_t receive_message(int fd)
{
	struct iovec v[PARTS];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = PARTS };

	parts(v, got);
	ssize_t n = recvmsg(fd, &m, MSG_WAITALL);
	return m.msg_iov == v && m.msg_iovlen == PARTS && !m.msg_flags ? n : -1;
}

static ssize_t send_file(int fd)
{
	FILE *f = tmpfile();

	if (!f || fwrite(data, 1, SIZE, f) != SIZE || fflush(f))
		return -1;
	lseek(fileno(f), 0, SEEK_SET);
	return sendfile(fd, fileno(f), NULL, SIZE);
}

/* Of one page of zeros, as far as memory goes. */
static ssize_t write_much(int fd, size_t *asked)
{
	*asked = (size_t)3 << 30;
	char *zeros = mmap(NULL, *asked, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	fcntl(fd, F_SETPIPE_SZ, 1 << 20);
	ssize_t n = zeros == MAP_FAILED ? -1 : write(fd, zeros, *asked);
	munmap(zeros, *asked);
	return n;
}

static void *become(void *command)
{
	char *argv[] = { command, NULL };

	nap(400000);
	execv(command, argv);
	return NULL;
}

/* A file of so many bytes, or of none. */
static int file_of(size_t size)
{
	FILE *f = tmpfile();
	int fd = f ? dup(fileno(f)) : -1;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		exit(1);
	fclose(f);
	return fd;
}

/* Between files, or from /dev/zero and /dev/urandom. */
static ssize_t transfer(const char *how, char *many)
{
	struct iovec v[] = { { many, MOST / 4 }, { many + MOST / 4, MOST - MOST / 4 } };
	int random = open("/dev/urandom", O_RDONLY), zero = open("/dev/zero", O_RDONLY);

	if (!strcmp(how, "random"))
		return read(random, many, MOST);
	if (!strcmp(how, "getrandom"))
		return getrandom(many, MOST, 0);
	if (!strcmp(how, "pread"))
		return pread(zero, many, MOST, 100);
	if (!strcmp(how, "readv"))
		return readv(zero, v, 2);
	if (!strcmp(how, "preadv"))
		return preadv(zero, v, 2, 0);
	if (!strcmp(how, "copy_more"))
		return copy_file_range(file_of(MOST), NULL, file_of(0), NULL, 2 * MOST, 0);
	if (!strcmp(how, "copy"))
		return copy_file_range(file_of(MOST), NULL, file_of(0), NULL, MOST, 0);
	return sendfile(file_of(0), file_of(MOST), NULL, MOST);
}

/* Many bytes, as each takes little time; the signals come all the while. */
static ssize_t many_bytes(const char *how, size_t *asked)
{
	char *many = malloc(MOST);

	*asked = MOST;
	ssize_t n = transfer(how, many);
	free(many);
	return n;
}

static bool is_quick(const char *how)
{
	static const char *const all[] = { "random", "getrandom", "pread", "readv",
		"preadv", "copy", "copy_more", "send_to_file" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(how, all[i]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const char *which = argc > 2 ? argv[2] : "";
	bool in = !strncmp(how, "recv", 4), quick = is_quick(how),
	     much = !strcmp(how, "much");
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int fd[2], status;
	size_t asked = SIZE;
	ssize_t n = -1;

	if (argc > 3)
		nap_us = atol(argv[3]) * 1000 / (SIZE / 9000);
	if (argc > 5)
		kill_us = atol(argv[5]);
	sig = !strcmp(which, "ignored")   ? SIGWINCH
	      : !strcmp(which, "handled") ? SIGUSR1
					  : 0;
	sigaction(SIGUSR1, &act, NULL);
	for (unsigned i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 251);
	taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (taken == MAP_FAILED ||
		(!strncmp(how, "write", 5) || much
				? pipe(fd)
				: socketpair(AF_UNIX, SOCK_STREAM, 0, fd)))
		return 1;
	parent = getpid();
	pid_t child = fork();
	if (!child) {
		close(fd[1]);
		_exit(quick  ? pesterer()
			: in   ? giver(fd[0])
			: much ? much_taker(fd[0])
			       : taker(fd[0]));
	}
	if (argc == 5) {
		pthread_t t;
		pthread_create(&t, NULL, become, argv[4]);
	}
	close(fd[0]);
	if (quick)
		nap(1000);
	if (!strcmp(how, "write"))
		n = write(fd[1], data, SIZE);
	else if (!strcmp(how, "writev"))
		n = write_parts(fd[1]);
	else if (!strcmp(how, "send"))
		n = send(fd[1], data, SIZE, MSG_NOSIGNAL);
	else if (!strcmp(how, "sendfile"))
		n = send_file(fd[1]);
	else if (much)
		n = write_much(fd[1], &asked);
	else if (!strcmp(how, "sendmsg"))
		n = send_message(fd[1]);
	else if (!strcmp(how, "recvmsg"))
		n = receive_message(fd[1]);
	else if (in)
		n = recv(fd[1], got, SIZE, MSG_WAITALL);
	else if (quick)
		n = many_bytes(how, &asked);
	if (n < 0)
		printf("%s ", strerror(errno));
	if (quick)
		kill(child, SIGKILL);
	close(fd[1]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	printf("%zu %zd%s\n", asked, n,
		(WIFEXITED(status) && WEXITSTATUS(status)) ||
				(in && n > 0 && memcmp(data, got, (size_t)n)) ||
				(!in && !quick && n >= 0 && *taken != (size_t)n)
			? " wrong"
			: "");
	return 0;
}
