/*
 * judged - reads /dev/zero, and asks for as much at an offset, which its own filter
 * answers by SIGSYS: SECCOMP_RET_TRAP
 *
 *   judged MS [later]
 *
 * later: the filter is installed after half of the milliseconds. Prints good.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t answers;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void handler(int sig)
{
	(void)sig;
	answers++;
}

static void judge(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	signal(SIGSYS, handler);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		exit(2);
}

int main(int argc, char **argv)
{
	long begun = now_ms(), ms = argc > 1 ? atol(argv[1]) : 0, asked = 0, given = 0;
	int zero = open("/dev/zero", O_RDONLY);
	char buf[9];

	if (argc < 3)
		judge();
	for (long at = 0; at < ms; at = now_ms() - begun) {
		if (argc > 2 && at > ms / 2) {
			judge();
			argc = 0;
		}
		if (read(zero, buf, sizeof(buf)) != sizeof(buf))
			return 1;
		asked++;
		given += pread(zero, buf, sizeof(buf), 0) == sizeof(buf) && !answers;
	}
	puts(given + answers == asked && answers ? "good" : "bad");
	return 0;
}
