/*
 * allows MS [told] - a program that is asked whether its own file may be opened, and a
 * thread of which answers that it may, fanotify(7); meanwhile it makes calls from code of
 * its own. told: nobody asks, it is only told.
 *
 * Prints "good". Exits with 77 where it may not be asked.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int asked;

static void *answer(void *arg)
{
	struct fanotify_event_metadata event;

	while (read(asked, &event, sizeof(event)) == sizeof(event)) {
		struct fanotify_response r = { event.fd, FAN_ALLOW };
		if (event.mask & FAN_OPEN_PERM && write(asked, &r, sizeof(r)) != sizeof(r))
			_exit(3);
		close(event.fd);
	}
	return arg;
}

/* read(2) of /dev/zero, from here and not from the C library. */
static long read_here(int fd, char *to)
{
	long n = 1, ret = -1;

#if defined(__x86_64__)
	__asm__ volatile("movl %1, %%eax; syscall"
			 : "=a"(ret)
			 : "i"(SYS_read), "D"(fd), "S"(to), "d"(n)
			 : "rcx", "r11", "memory");
#else
	ret = read(fd, to, (size_t)n);
#endif
	return ret;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	bool told = argc > 2;
	long end = now_ms() + (argc > 1 ? atol(argv[1]) : 0);
	int zero = open("/dev/zero", O_RDONLY);
	pthread_t t;
	char byte;

	asked = fanotify_init((told ? FAN_CLASS_NOTIF : FAN_CLASS_CONTENT) | FAN_CLOEXEC,
		O_RDONLY);
	if (asked < 0 || fanotify_mark(asked, FAN_MARK_ADD, told ? FAN_OPEN : FAN_OPEN_PERM,
				 AT_FDCWD, "/proc/self/exe"))
		return 77;
	if (pthread_create(&t, NULL, answer, NULL))
		return 2;
	while (now_ms() < end)
		for (int i = 0; i < 100; i++)
			if (read_here(zero, &byte) != 1)
				return 4;
	if (open("/proc/self/exe", O_RDONLY) < 0)
		return 5;
	puts("good");
	fflush(stdout);
	_exit(0);
}
