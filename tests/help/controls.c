/*
 * controls filter - a thread waits for a message while another one puts all under a
 * filter that lets recvmsg(2) have one descriptor only; then a descriptor comes with it
 * controls lengths N - another thread writes over the lengths of what has come with
 * messages
 * controls stops N - a thread gets so many, with a descriptor each, while its process is
 * stopped and goes on again
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static atomic_bool over;
static _Atomic size_t length;
static union {
	struct cmsghdr head;
	char room[64];
} come;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void send_fd(int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} with = { { .cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS } };
	struct iovec v = { "abc", 3 };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &with,
		.msg_controllen = sizeof(with) };

	memcpy(CMSG_DATA(&with.head), &fd, sizeof(fd));
	need(sendmsg(ends[0], &m, 0) == 3, "sendmsg");
}

/* What has come, which is closed. */
static long take(void)
{
	char data[9];
	int fd;
	struct iovec v = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &come,
		.msg_controllen = sizeof(come) };
	long n = recvmsg(ends[1], &m, 0);

	memcpy(&fd, CMSG_DATA(&come.head), sizeof(fd));
	if (n > 0 && come.head.cmsg_type == SCM_RIGHTS)
		close(fd);
	return n;
}

static void *waits(void *arg)
{
	(void)arg;
	printf("%ld", take());
	printf(" %ld\n", take());
	return NULL;
}

static void filter_all(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_recvmsg, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)ends[1], 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = { sizeof(code) / sizeof(*code), code };

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
	need(!syscall(
		     SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p),
		"seccomp");
}

static void filtered(int fd)
{
	pthread_t t;

	for (int i = 0; i < 50; i++) {
		send_fd(fd);
		need(take() == 3, "recvmsg");
	}
	need(!pthread_create(&t, NULL, waits, NULL), "pthread_create");
	usleep(200000);
	filter_all();
	send_fd(fd);
	send_fd(fd);
	pthread_join(t, NULL);
}

static void *writes(void *arg)
{
	volatile size_t *at = &come.head.cmsg_len;

	(void)arg;
	while (!over)
		*at = length;
	return NULL;
}

static void lengths(int fd, int n)
{
	static const size_t odd[] = { 0, 1, 15, 16, 17, 0x1000, 0x100000, SIZE_MAX / 2,
		SIZE_MAX - 7, SIZE_MAX - 6, SIZE_MAX };
	const int yes = 1;
	pthread_t t;

	need(!setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)),
		"setsockopt");
	need(!pthread_create(&t, NULL, writes, NULL), "pthread_create");
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		length = odd[i];
		for (int k = 0; k < n; k++) {
			if (k % 4)
				need(send(ends[0], "abc", 3, 0) == 3, "send");
			else
				send_fd(fd);
			need(take() == 3, "recvmsg");
		}
	}
	over = true;
	pthread_join(t, NULL);
	puts("good");
}

/* The first thread gets the signals. */
static void *gets(void *count)
{
	int fd = open("/dev/null", O_RDWR);

	for (int i = *(int *)count; i--;) {
		send_fd(fd);
		need(take() == 3, "recvmsg");
	}
	over = true;
	return NULL;
}

static void stopped(int n)
{
	pthread_t t;
	int told[2];

	need(!pipe(told), "pipe");
	pid_t pid = fork();
	if (!pid) {
		close(told[1]);
		for (struct pollfd p = { .fd = told[0] }; !poll(&p, 1, 1);) {
			kill(getppid(), SIGSTOP);
			usleep(500);
			kill(getppid(), SIGCONT);
		}
		_exit(0);
	}
	need(!pthread_create(&t, NULL, gets, &n), "pthread_create");
	pthread_join(t, NULL);
	close(told[1]);
	need(waitpid(pid, NULL, 0) == pid, "waitpid");
	puts("good");
}

int main(int argc, char **argv)
{
	int fd = open("/dev/null", O_RDWR);

	need(argc > 1 && fd >= 0 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "begin");
	if (!strcmp(argv[1], "filter"))
		filtered(fd);
	else if (!strcmp(argv[1], "stops"))
		stopped(argc > 2 ? atoi(argv[2]) : 1);
	else
		lengths(fd, argc > 2 ? atoi(argv[2]) : 1);
	return 0;
}
