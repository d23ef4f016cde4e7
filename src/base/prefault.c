/*
 * prefault.c - memory that is about to be used, asked for at once
 */
#include "iops/prefault.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* glibc < 2.35 */
#define MADV_POPULATE_WRITE 23
#endif

/* As much of the stack is there from the beginning: setup_arg_pages() in the kernel. */
enum { STACK = 96 * 1024, MOST = 1024 * 1024 };

/* What the heap has it keeps, and takes it in steps of a size. */
enum { KEEP = 4 * 1024 * 1024, STEP = 256 * 1024, LARGE = 1024 * 1024 };

static void ask(uintptr_t from, uintptr_t to)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

	from &= ~page;
	to = (to + page) & ~page;
	if (from < to && to - from <= MOST)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

void prefault(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	mallopt(M_TRIM_THRESHOLD, KEEP);
	mallopt(M_TOP_PAD, STEP);
	mallopt(M_MMAP_THRESHOLD, LARGE); /* else it would not grow by itself any more */
	void *first = malloc(1);          /* the heap may not have begun */
	ask((uintptr_t)first, (uintptr_t)sbrk(0));
	ask(here - STACK, here);
	free(first);
}
