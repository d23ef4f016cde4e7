/*
 * grower - makes calls from near the end of its text, then grows its heap by brk(2)
 *
 * Prints by how many MiB: 256, where nothing lies in the way.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __x86_64__
__asm__(".text\n.skip 2000000, 0x90\n"
	".globl grower_write\n.type grower_write, "
	"@function\ngrower_write:\n.cfi_startproc\n"
	"mov $1, %eax\nsyscall\nret\n"
	".cfi_endproc\n.size grower_write, .-grower_write\n");
long grower_write(int fd, const void *from, long size);
#else
#define grower_write write
#endif

int main(void)
{
	int fd = open("/dev/null", O_WRONLY), got = 0;

	for (int i = 0; i < 200; i++)
		if (grower_write(fd, "x", 1) != 1)
			return 1;
	while (got < 256 && sbrk(1 << 20) != (void *)-1)
		got++;
	printf("%d\n", got);
	return 0;
}
