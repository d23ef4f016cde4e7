/*
 * asker.c MS - asks by io_uring_enter(2) for one byte of a pipe and waits for it, which
 * comes after MS milliseconds: prints what the call has returned
 */
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct io_uring_params p = { 0 };
	long ms = argc > 1 ? atol(argv[1]) : 500;
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p), ends[2];
	char byte;

	if (ring < 0 || pipe(ends) < 0)
		return 77;
	if (!fork()) {
		usleep((useconds_t)ms * 1000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(uint32_t),
		PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry = mmap(NULL, p.sq_entries * sizeof(*entry),
		PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || entry == MAP_FAILED)
		return 1;
	entry->opcode = IORING_OP_READ;
	entry->fd = ends[0];
	entry->addr = (uintptr_t)&byte;
	entry->len = 1;
	entry->off = UINT64_MAX;
	memset(sq + p.sq_off.array, 0, sizeof(uint32_t));
	__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	printf("%ld\n", syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	return 0;
}
