/*
 * refused HOW CALL FILE - a program whose own filter refuses what it is about to do
 *
 * HOW: kill, killthread or trap. CALL: read, write or fsync, of FILE, of which ten bytes
 * are written before.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void ignored(int sig)
{
	(void)sig;
}

static int refuse(unsigned nr, unsigned how)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, how),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

int main(int argc, char **argv)
{
	char byte = 'x';

	if (argc != 4)
		return 2;
	int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 10; i++)
		if (pwrite(fd, &byte, 1, i) != 1)
			return 3;
	unsigned nr = !strcmp(argv[2], "read")    ? SYS_read
		      : !strcmp(argv[2], "write") ? SYS_write
						  : SYS_fsync;
	signal(SIGSYS, ignored);
	if (refuse(nr, !strcmp(argv[1], "kill")         ? SECCOMP_RET_KILL_PROCESS
		       : !strcmp(argv[1], "killthread") ? SECCOMP_RET_KILL_THREAD
							: SECCOMP_RET_TRAP))
		return 4;
	syscall(nr, fd, &byte, 1);
	_exit(0);
}
