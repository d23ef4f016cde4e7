/*
 * firsts - how often a program has to wait while it makes, once each, calls that many
 * programs make
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long waits(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_nvcsw;
}

int main(void)
{
	const struct timespec pause = { 0, 200 * 1000 * 1000 };
	struct utsname name;
	struct statfs fs;
	char path[4096];
	int fds[2];

	nanosleep(&pause, NULL);
	long before = waits();
	getpid();
	getppid();
	getuid();
	getgid();
	uname(&name);
	umask(umask(0));
	int fd = dup(1);
	fcntl(fd, F_GETFL);
	dup2(fd, fd + 1);
	ioctl(fd, FIONREAD, &fds[0]);
	statfs("/", &fs);
	if (pipe2(fds, O_CLOEXEC) || !getcwd(path, sizeof(path)))
		return 1;
	readlink("/", path, sizeof(path));
	unlink("/nothing");
	printf("%ld\n", waits() - before);
	return 0;
}
