/*
 * notified N [answers] - N reads of /dev/zero by a child, each of which its parent lets
 * go on: the supervisor of seccomp_unotify(2). Or it answers every second one itself.
 * Some more before, with which the place gets hot. Exits with 2 where there is no such
 * supervisor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE = 40, SIZE = 9 };

static void reads(int fd, int n)
{
	char buf[SIZE];

	while (n--)
		if (pread(fd, buf, SIZE, 0) != SIZE)
			_exit(1);
}

static int listen_to(int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* Who asks has been interrupted, and asks once more. */
static bool is_void(void)
{
	return errno == EINTR || errno == ENOENT;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY), n = argc > 1 ? atoi(argv[1]) : 1, status;

	reads(fd, BEFORE);
	int listener = listen_to(SYS_pread64);
	if (listener < 0) {
		perror("notified");
		return 2;
	}
	pid_t pid = fork();
	if (!pid) {
		reads(fd, n);
		_exit(0);
	}
	for (int i = 0; i < n; i++) {
		struct seccomp_notif call = { .id = 0 };
		struct seccomp_notif_resp answer = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE
		};
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (!is_void())
				return 3;
			i--;
			continue;
		}
		answer.id = call.id;
		if (argc > 2 && i % 2) {
			answer.flags = 0;
			answer.val = SIZE;
		}
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0) {
			if (!is_void())
				return 4;
			i--;
		}
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status ? 5 : 0;
}
