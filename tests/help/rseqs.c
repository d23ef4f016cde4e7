/*
 * rseqs - threads that count by CPU, in sections of rseq(2) that begin anew
 *
 *   rseqs THREADS SEC
 *
 * A line on standard output says that it has begun. Then "good", or how far what was
 * counted by CPU and by thread differ; "none" where there is no rseq(2).
 */
#include <stdio.h>

#ifdef __x86_64__
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* glibc 2.35; weak, as others have none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

enum { CPUS = 4096 };

static volatile uint64_t by_cpu[CPUS][8];
static volatile int over;

/*
 * One more on that CPU, after a while, if the thread has had it all the time: else 0. The
 * signature before the way out is what the C library has told the kernel.
 */
static int count(struct rseq *rs, uint32_t cpu)
{
	int done = 0;

	__asm__ volatile(
		".pushsection __rseq_cs, \"aw\"\n"
		".balign 32\n"
		"3:	.long	0, 0\n"
		"	.quad	1f, 2f - 1f, 4f\n"
		".popsection\n"
		"	leaq	3b(%%rip), %%rax\n"
		"	movq	%%rax, %[cs]\n"
		"1:	cmpl	%[cpu], %[now]\n"
		"	jnz	5f\n"
		"	movq	(%[at]), %%rcx\n"
		"	movl	$20000, %%eax\n"
		"6:	decl	%%eax\n"
		"	jnz	6b\n"
		"	incq	%%rcx\n"
		"	movq	%%rcx, (%[at])\n"
		"2:	movl	$1, %[done]\n"
		"	jmp	5f\n"
		"	.byte	0x0f, 0xb9, 0x3d\n" /* ud1, for who disassembles it */
		"	.long	0x53053053\n"
		"4:\n"
		"5:\n"
		: [done] "+r"(done), [cs] "=m"(rs->rseq_cs)
		: [cpu] "r"(cpu), [now] "m"(rs->cpu_id), [at] "r"(by_cpu[cpu])
		: "rax", "rcx", "memory", "cc");
	return done;
}

static void *counts(void *arg)
{
	struct rseq *rs =
		(struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint64_t *mine = arg;

	while (!over)
		*mine += (uint64_t)count(rs, *(volatile uint32_t *)&rs->cpu_id_start);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t thread[64];
	uint64_t mine[64][8] = { { 0 } }, all = 0, seen = 0;

	if (!n || n > 64) {
		fprintf(stderr, "usage: rseqs THREADS SEC\n");
		return 2;
	}
	puts(&__rseq_size && __rseq_size ? "begins" : "none");
	fflush(stdout);
	if (!&__rseq_size || !__rseq_size)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, counts, mine[i]))
			return 2;
	sleep((unsigned)atoi(argv[2]));
	over = 1;
	for (unsigned i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		all += mine[i][0];
	}
	for (unsigned i = 0; i < CPUS; i++)
		seen += by_cpu[i][0];
	if (seen == all && all)
		puts("good");
	else
		printf("%lld lost of %llu\n", (long long)(all - seen),
			(unsigned long long)all);
	return 0;
}
#else
int main(void)
{
	puts("none");
	return 0;
}
#endif
