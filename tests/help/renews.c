/*
 * renews N FILE - a program that has its code read anew from the files it is from, all the
 * time, while two threads of it write N times each to a file
 *
 * What is there then is what was there, so that nothing comes of it. Prints good.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WRITERS = 2, PAUSE_US = 100 };

static const char *file;
static long times;
static int running = WRITERS;

static void *writer(void *arg)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);

	for (long i = 0; i < times; i++)
		if (write(fd, "abc", 3) != 3)
			_exit(3);
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int renew(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t page = (uintptr_t)getpagesize() - 1;

	(void)size;
	(void)arg;
	if (strstr(info->dlpi_name, "vdso"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr;
		uintptr_t to = (from + h->p_memsz + page) & ~page;
		from &= ~page;
		if (h->p_type == PT_LOAD && h->p_flags & PF_X &&
			madvise((void *)from, to - from, MADV_DONTNEED))
			_exit(4);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc != 3)
		return 2;
	times = atol(argv[1]);
	file = argv[2];
	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&t, NULL, writer, NULL))
			return 2;
	while (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) {
		dl_iterate_phdr(renew, NULL);
		usleep(PAUSE_US);
	}
	puts("good");
	fflush(stdout);
	_exit(0);
}
