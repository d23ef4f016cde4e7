/*
 * inclone - a thread that is being made for as long as nobody attaches
 *
 *   inclone [ms]
 *
 * Says "ready" when one of its threads is inside of clone(2) and cannot go on, because what
 * that is to write to is missing: userfaultfd(2). It gets it a while after somebody has
 * attached to all that there are. The new thread then reads, as does its maker. After so
 * many milliseconds more (500 by default) it says who was its tracer, or "nobody's", and
 * ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 64 * 1024, TRIES = 5000 };

static int zero;
static void *missing;
static size_t page;
static atomic_int over, made;

static void nap(long ms)
{
	const struct timespec s = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&s, NULL);
}

/* Of a thread; 0: nobody; -1: there is no such thread. */
static int tracer_of(int tid)
{
	char path[64], line[256];
	int pid = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

static void read_on(void)
{
	char buf[10];

	while (!over)
		if (read(zero, buf, sizeof(buf)) != sizeof(buf))
			_exit(3);
}

/* It has the thread-local storage of its maker, so no calls that set errno. */
static int reader(void *arg)
{
	(void)arg;
	read_on();
	return 0;
}

static void *maker(void *tid)
{
	char *stack = malloc(STACK);
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PIDFD;

	*(atomic_int *)tid = (int)syscall(SYS_gettid);
	made = clone(reader, stack + STACK, flags, NULL, missing);
	if (made < 0)
		return NULL;
	read_on();
	nap(100); /* for the other to leave the stack */
	return NULL;
}

/* The page that is missing, and who is told of that. -1: not allowed. */
static int missing_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	page = (size_t)sysconf(_SC_PAGESIZE);
	missing = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	struct uffdio_register reg = { .range = { (uintptr_t)missing, page },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	return fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg)
		       ? -1
		       : fd;
}

int main(int argc, char **argv)
{
	const long ms = argc > 1 ? atol(argv[1]) : 500;
	struct uffd_msg msg;
	atomic_int tid = 0;
	pthread_t t;
	int fd = missing_page();

	zero = open("/dev/zero", O_RDONLY);
	if (fd < 0 || pthread_create(&t, NULL, maker, &tid) ||
		read(fd, &msg, sizeof(msg)) != sizeof(msg)) {
		printf("cannot: %s\n", strerror(errno));
		return 77;
	}
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < TRIES && (tracer_of(tid) <= 0 || tracer_of(getpid()) <= 0); i++)
		nap(1);
	nap(300);
	struct uffdio_zeropage give = { .range = { (uintptr_t)missing, page } };
	ioctl(fd, UFFDIO_ZEROPAGE, &give);
	nap(ms);
	int tracer = made > 0 ? tracer_of(made) : -1;
	over = 1;
	pthread_join(t, NULL);
	if (tracer > 0)
		printf("%d\n", tracer);
	else
		puts(tracer ? "no thread" : "nobody's");
	return 0;
}
