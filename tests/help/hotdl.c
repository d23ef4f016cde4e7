/*
 * hotdl FILE PLUG...: loads shared objects 50 times, and writes to FILE with the call
 * that each of them has for itself: 40 times 3 bytes. With -DPLUG=N this is such an
 * object.
 */
#ifdef PLUG
long plug_write(int fd, const void *b, long n);

long plug_write(int fd, const void *b, long n)
{
	long r;

#ifndef __x86_64__
	(void)b;
	(void)fd;
	r = n;
#elif PLUG == 1
	__asm__ volatile("mov $1, %%eax\n syscall"
			 : "=a"(r)
			 : "D"(fd), "S"(b), "d"(n)
			 : "rcx", "r11", "memory");
#else
	__asm__ volatile("xor %%eax, %%eax\n inc %%eax\n syscall\n cmp $-4095, %%rax"
			 : "=a"(r)
			 : "D"(fd), "S"(b), "d"(n)
			 : "rcx", "r11", "memory");
#endif
	return r;
}

#if defined(__x86_64__) && PLUG == 1
/* plug_across(): the same, and what is before its call lies in two pages. */
__asm__(".text\n"
	".balign 4096\n"
	".skip 4093\n"
	".globl plug_across\n"
	".type plug_across, @function\n"
	"plug_across:\n"
	".cfi_startproc\n"
	"mov $1, %eax\n"
	"syscall\n"
	"ret\n"
	".cfi_endproc\n"
	".size plug_across, . - plug_across\n");
#endif
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	long (*fn)(int, const void *, long);

	for (int i = 0; i < 50 && argc > 2; i++) {
		void *plug = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);

		if (!plug || !(fn = (long (*)(int, const void *, long))dlsym(
				       plug, "plug_write")))
			return fprintf(stderr, "hotdl: %s\n", dlerror()) > 0 ? 1 : 2;
		for (int k = 0; k < 40; k++)
			if (fn(fd, "abc", 3) != 3)
				return 3;
		dlclose(plug);
	}
	return 0;
}
#endif
