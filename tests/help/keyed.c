/*
 * keyed N [own] - N times read(2) and write(2) while the program may not touch its
 * memory, but for one page that has a key of its own: pkeys(7). own: while it may touch
 * all but that page, where the array of a writev(2) lies that fails; and as many that do
 * not
 *
 * Says good; exits with 77 where there are no keys. To be run with
 * GLIBC_TUNABLES=glibc.pthread.rseq=0, as the kernel touches that memory, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __x86_64__
enum { PAGE = 4096, BYTES = 100, NO_ACCESS = 1, BITS = 3 };

static uint32_t keys_now(void)
{
	uint32_t keys, rest;

	__asm__ volatile("rdpkru" : "=a"(keys), "=d"(rest) : "c"(0));
	return keys;
}

/* A call of BYTES between two changes of the keys, with registers alone. */
static long call_below(uint32_t keys, uint32_t back, long nr, long fd, const void *page)
{
	register long number __asm__("r10") = nr;
	register uint64_t first __asm__("r8") = keys, then __asm__("r9") = back;
	register long ret __asm__("r12");

	__asm__ volatile("xorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\tmovl %%r8d, %%eax\n\t"
			 "wrpkru\n\tmovl %[bytes], %%edx\n\tmovq %%r10, %%rax\n\tsyscall\n\t"
			 "movq %%rax, %%r12\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\t"
			 "movl %%r9d, %%eax\n\twrpkru"
			 : "=r"(ret)
			 : "r"(number), "r"(first), "r"(then), "D"(fd), "S"(page),
			 [bytes] "i"(BYTES)
			 : "rax", "rcx", "rdx", "r11", "memory");
	return ret;
}

/* EFAULT, and what follows is as ever. */
static long fail_and_go_on(int key, const struct iovec *closed, int null)
{
	const struct iovec open = { "x", 1 };
	long bad = writev(null, &open, 1) != 1;

	pkey_set(key, PKEY_DISABLE_ACCESS);
	bad += writev(null, closed, 1) != -1 || errno != EFAULT;
	pkey_set(key, 0);
	return bad;
}

int main(int argc, char **argv)
{
	int key = (int)syscall(SYS_pkey_alloc, 0, 0);
	void *page = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	long bad = 0;

	if (key < 0 ||
		syscall(SYS_pkey_mprotect, page, PAGE, PROT_READ | PROT_WRITE, key) < 0)
		return 77;
	const uint32_t now = keys_now(),
		       below = (now & ~((uint32_t)BITS << 2 * key)) | NO_ACCESS;
	for (long n = argc > 1 ? atol(argv[1]) : 1; n > 0; n--) {
		if (argc > 2) {
			bad += fail_and_go_on(key, page, null);
			continue;
		}
		bad += call_below(below, now, SYS_read, zero, page) != BYTES;
		bad += call_below(below, now, SYS_write, null, page) != BYTES;
	}
	printf("%s\n", bad ? "bad" : "good");
	return bad != 0;
}
#else
int main(void)
{
	return 77;
}
#endif
