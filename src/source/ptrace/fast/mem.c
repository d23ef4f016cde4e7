/*
 * mem.c - the memory of tasks that stand still, to be written to: /proc/PID/mem
 */
#include "fast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int mem_open(pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mem_write(int mem, uint64_t at, const void *from, size_t len)
{
	ssize_t n = pwrite(mem, from, len, (off_t)at);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* The memory of a task, as long as it has that: stand_forget(). Or -errno. */
int stand_mem(struct fast *f, pid_t tid)
{
	if (f->mem.of == tid)
		return f->mem.fd;
	stand_forget(f);
	int fd = mem_open(tid);
	if (fd >= 0) {
		f->mem.fd = fd;
		f->mem.of = tid;
	}
	return fd;
}

void stand_forget(struct fast *f)
{
	if (f->mem.of)
		close(f->mem.fd);
	f->mem.of = 0;
}
