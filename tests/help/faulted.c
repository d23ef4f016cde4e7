/*
 * faulted N [PAUSE_US] - N calls of each kind whose arguments lie where a thread of the program
 * brings the memory, each with a call of its own, when somebody asks for it:
 * userfaultfd(2)
 *
 * open(2) of a path, stat(2), writev(2) by an array, write(2) of the memory itself.
 * Prints how often the thread was asked, and exits with 77 where it may not be. 0: reads
 * into such memory for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, KINDS = 4 };

static int faults = -1, null, asked;
static char page[PAGE] __attribute__((aligned(PAGE)));

static void must(int is)
{
	if (is)
		return;
	perror("faulted");
	_exit(1);
}

static void *bring(void *arg)
{
	struct uffd_msg msg;

	while (read(faults, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(PAGE - 1ull),
			.src = (unsigned long)page,
			.len = PAGE,
		};
		must(write(null, "bring", 5) == 5);
		int err = ioctl(faults, UFFDIO_COPY, &copy) ? errno : 0;
		must(!err || err == EEXIST); /* asked for once more, for a signal */
		asked += !err;
	}
	return arg;
}

static char *watch(size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	char *at = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (unsigned long)at, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	must(at != MAP_FAILED && !ioctl(faults, UFFDIO_API, &api) &&
		!ioctl(faults, UFFDIO_REGISTER, &range) &&
		!pthread_create(&thread, NULL, bring, NULL));
	return at;
}

static void call(int kind, char *at)
{
	struct stat st;
	char byte = 'x';
	int fd;

	memset(page, 0, sizeof(page));
	if (kind < 2)
		strcpy(page, "/dev/null");
	else if (kind == 2)
		*(struct iovec *)page = (struct iovec){ &byte, 1 };
	switch (kind) {
	case 0:
		fd = open(at, O_WRONLY);
		must(fd >= 0 && write(fd, "abc", 3) == 3 && !close(fd));
		break;
	case 1:
		must(!stat(at, &st) && S_ISCHR(st.st_mode));
		break;
	case 2:
		must(writev(null, (struct iovec *)at, 1) == 1);
		break;
	default:
		must(write(null, at, PAGE) == PAGE);
	}
}

static _Noreturn void read_on(char *at)
{
	int zero = open("/dev/zero", O_RDONLY);

	for (;;) {
		must(read(zero, at, PAGE) == PAGE);
		must(!madvise(at, PAGE, MADV_DONTNEED));
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	null = open("/dev/null", O_WRONLY);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0)
		return 77;
	char *at = watch((size_t)(n ? n : 1) * KINDS * PAGE);
	if (!n)
		read_on(at);
	for (int i = 0; i < n * KINDS; i++) {
		call(i % KINDS, at + (size_t)i * PAGE);
		usleep(argc > 2 ? (useconds_t)atoi(argv[2]) : 0);
	}
	printf("%d\n", asked);
	return 0;
}
