// What is easy to break beneath a program: registers, the red zone, signals in the middle
// of calls, calls from memory that comes and goes. Prints what must not change.
#include <dlfcn.h>
#include <errno.h>
#ifdef NO_BACKTRACE
#define backtrace(to, n) ((void)(to), n)
#else
#include <execinfo.h>
#endif
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int rounds = 300, zero, null;

unsigned long edge_out[16];
static void registers(void)
{
	static const unsigned long want[] = {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x11, 0x19, 0x1111, 0x2222, 0x3333, 0x4444};
	int bad = 0;
	for (int i = 0; i < rounds; i++) {
		unsigned long n, flags;
		char c;
		__asm__ volatile(
			"push %%rbp; sub $512, %%rsp\n"
			"movq $0x1111, -8(%%rsp); movq $0x2222, -64(%%rsp); movq $0x3333, -120(%%rsp); movq $0x4444, -128(%%rsp)\n"
			"mov $0x11, %%ebx; mov $0x12, %%ebp; mov $0x13, %%r8d; mov $0x14, %%r9d; mov $0x15, %%r10d\n"
			"mov $0x16, %%r12d; mov $0x17, %%r13d; mov $0x18, %%r14d; mov $0x19, %%r15d\n"
			"movq %%rbx, %%xmm0; movq %%r15, %%xmm15; stc; syscall\n"
			"mov %%rbx, edge_out(%%rip); mov %%rbp, edge_out+8(%%rip); mov %%r8, edge_out+16(%%rip)\n"
			"mov %%r9, edge_out+24(%%rip); mov %%r10, edge_out+32(%%rip); mov %%r12, edge_out+40(%%rip)\n"
			"mov %%r13, edge_out+48(%%rip); mov %%r14, edge_out+56(%%rip); mov %%r15, edge_out+64(%%rip)\n"
			"movq %%xmm0, edge_out+72(%%rip); movq %%xmm15, edge_out+80(%%rip)\n"
			"mov -8(%%rsp), %%rbx; mov %%rbx, edge_out+88(%%rip); mov -64(%%rsp), %%rbx; mov %%rbx, edge_out+96(%%rip)\n"
			"mov -120(%%rsp), %%rbx; mov %%rbx, edge_out+104(%%rip); mov -128(%%rsp), %%rbx; mov %%rbx, edge_out+112(%%rip)\n"
			"pushfq; pop %%rcx; add $512, %%rsp; pop %%rbp"
			: "=a"(n), "=c"(flags) : "0"(0L), "D"((long)zero), "S"(&c), "d"(1L)
			: "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm15", "memory", "cc");
		for (int k = 0; k < 15; k++)
			bad += edge_out[k] != want[k];
		bad += n != 1;
		bad += !(flags & 1);
	}
	printf("registers: %d wrong\n", bad);
}

// A call with no stack at all, and one whose next instruction is the target of a jump.
static void odd_code(void)
{
	long n, sum = 0;
	for (int i = 0; i < rounds; i++) {
		char c;
		__asm__ volatile("mov %%rsp, %%r12; xor %%esp, %%esp; syscall; mov %%r12, %%rsp"
			: "=a"(n) : "0"(0L), "D"((long)zero), "S"(&c), "d"(1L) : "rcx", "r11", "r12", "memory");
		sum += n;
		__asm__ volatile("mov $3, %%r12d; jmp 2f; 1: xor %%eax, %%eax; syscall; 2: dec %%r12d; jns 1b"
			: "=a"(n) : "D"((long)zero), "S"(&c), "d"(1L), "0"(0L) : "rcx", "r11", "r12", "memory");
		sum += n;
	}
	printf("odd code: %ld\n", sum);
}

static void own_code(void)
{
	static const unsigned char code[] = {0x0f, 0x05, 0xc3};
	long sum = 0;
	unsigned char *at = NULL;
	for (int i = 0; i < rounds; i++) {
		unsigned char *m = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
		at = m;
		memcpy(m + 4096 - 3 - (i % 2 ? 100 : 0), code, 3); // at the very end of the page, too
		mprotect(m, 4096, PROT_READ | PROT_EXEC);
		for (int k = 0; k < 10; k++) {
			long n;
			char c;
			__asm__ volatile("call *%5" : "=a"(n) : "0"(0L), "D"((long)zero), "S"(&c), "d"(1L), "r"(m + 4096 - 3 - (i % 2 ? 100 : 0)) : "rcx", "r11", "memory");
			sum += n;
		}
		sum += memcmp(m + 4096 - 3 - (i % 2 ? 100 : 0), code, 3) ? 1000000 : 0;
		if (i % 3 == 0)
			munmap(m, 4096);
	}
	printf("own code: %ld\n", sum);
}

static volatile sig_atomic_t got;
static sigjmp_buf jump;
static void on(int sig)
{
	char c = 1;
	void *bt[32];
	got++;
	if (sig == SIGUSR1)
		siglongjmp(jump, 1);
	if (write(null, &c, 1) != 1 || backtrace(bt, 32) < 2)
		abort();
}

static void signals(void)
{
	static char alt[65536];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	sigaltstack(&ss, NULL);
	void *bt[4];
	backtrace(bt, 4);
	struct sigaction sa = {.sa_handler = on, .sa_flags = SA_RESTART | SA_ONSTACK};
	sigaction(SIGPROF, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	struct itimerval it = {{0, 700}, {0, 700}}, off = {{0, 0}, {0, 0}};
	setitimer(ITIMER_PROF, &it, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	char b[512];
	long sum = 0;
	for (int i = 0; i < rounds * 200; i++)
		sum += read(zero, b, 512) + write(null, b, 100);
	setitimer(ITIMER_PROF, &off, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	printf("reads under signals: %ld, some %d\n", sum, got > 0);
	sigaction(SIGUSR1, &sa, NULL);
	int left = 0;
	for (int i = 0; i < 100; i++)
		if (sigsetjmp(jump, 1))
			left++;
		else if (raise(SIGUSR1) || read(zero, b, 1))
			left += 1000;
	volatile int *reads = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++) {
		*reads = 0;
		pid_t pid = fork();
		if (!pid) {
			while (!*reads) // its parent may have no turn for long
				usleep(100);
			usleep(2000), kill(getppid(), SIGUSR1), _exit(0);
		}
		if (!sigsetjmp(jump, 1))
			for (*reads = 1;;)
				if (read(zero, b, 512) < 0 || write(null, b, 1) < 0)
					left += 1000;
		left++;
		waitpid(pid, NULL, 0);
	}
	printf("left by siglongjmp: %d\n", left);
}

static pthread_barrier_t start;
static void *hammer(void *arg)
{
	char b[16];
	long sum = 0;
	pthread_barrier_wait(&start);
	for (int i = 0; i < rounds * 20; i++)
		sum += pread(zero, b, 1 + (long)arg, 0) + (i % 7 ? 0 : write(null, b, 3));
	return (void *)sum;
}

static void *endless(void *arg)
{
	char c;
	for (;;)
		if (read(*(int *)arg, &c, 1) < 0)
			return (void *)1;
}

static void threads(void)
{
	pthread_t t[8];
	long sum = 0;
	for (int round = 0; round < 5; round++) {
		pthread_barrier_init(&start, NULL, 8);
		for (long i = 0; i < 8; i++)
			pthread_create(&t[i], NULL, hammer, (void *)i);
		for (int i = 0; i < 8; i++) {
			void *r;
			pthread_join(t[i], &r);
			sum += (long)r;
		}
	}
	printf("threads: %ld\n", sum);
	int cancelled = 0, p[2];
	if (pipe(p))
		abort();
	for (int i = 0; i < 60; i++) { // blocked, and busy
		void *r;
		pthread_create(&t[0], NULL, endless, i % 2 ? &zero : &p[0]);
		usleep(i * 50);
		pthread_cancel(t[0]);
		pthread_join(t[0], &r);
		cancelled += r == PTHREAD_CANCELED;
	}
	printf("cancelled: %d\n", cancelled);
}

static int child(void *arg)
{
	char b[8];
	return (int)(read(zero, b, 8) + write(null, b, 8)) + *(int *)arg;
}

static void processes(void)
{
	int sum = 0, s, one = 1;
	char *stack = malloc(65536), b[8];
	for (int i = 0; i < 20; i++) {
		pid_t pid = i % 2 ? fork() : vfork();
		if (!pid)
			_exit((int)syscall(SYS_read, zero, b, 8));
		waitpid(pid, &s, 0);
		sum += WEXITSTATUS(s);
		pid = clone(child, stack + 65536, (i % 2 ? CLONE_VM : CLONE_VM | CLONE_FILES | CLONE_VFORK) | SIGCHLD, &one);
		waitpid(pid, &s, 0);
		sum += WEXITSTATUS(s);
	}
	printf("processes: %d\n", sum);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();
		if (!pid) { // confined: by a filter of calls, by limits of memory
			struct sock_filter allow[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
			struct sock_fprog f = {6, allow};
			struct rlimit r = {1 << 20, 1 << 20};
			if (i & 1)
				prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f);
			else
				setrlimit(RLIMIT_AS, &r), syscall(SYS_close_range, 5, ~0U, 0), prctl(PR_SET_DUMPABLE, 0);
			for (int k = 0; k < rounds; k++)
				if (read(zero, b, 8) != 8 || write(null, b, 8) != 8)
					_exit(99);
			if (i == 3)
				syscall(SYS_getpid);
			_exit(7);
		}
		waitpid(pid, &s, 0);
		printf("confined: %d\n", s);
	}
}

static void libraries(void)
{
	long sum = 0;
	for (int i = 0; i < 40; i++) {
		void *h = dlopen("./edge.so", RTLD_NOW);
		long (*f)(int, void *) = h ? (long (*)(int, void *))dlsym(h, "edge_read") : NULL;
		char b[8];
		for (int k = 0; f && k < 10; k++)
			sum += f(zero, b);
		if (h)
			dlclose(h);
		if (i % 3 == 0)
			mmap(NULL, 4096 * (size_t)(i + 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	printf("libraries: %ld\n", sum);
}

static void errors(void)
{
	char b[4], *volatile wild = (char *)8;
	int bad = 0;
	long n;
	for (int i = 0; i < rounds; i++) {
		bad += read(-1, b, 1) != -1 || errno != EBADF;
		bad += write(zero, wild, 1) != -1 || (errno != EFAULT && errno != EBADF);
		bad += read(zero, wild, 4) != -1 || errno != EFAULT;
		bad += read(zero, b, 0) != 0;
		__asm__ volatile("syscall" : "=a"(n) : "0"(-1L) : "rcx", "r11", "memory");
		bad += n != -ENOSYS;
		__asm__ volatile("syscall" : "=a"(n) : "0"(0x7fffL) : "rcx", "r11", "memory");
		bad += n != -ENOSYS;
	}
	printf("errors: %d wrong\n", bad);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	registers();
	odd_code();
	own_code();
	signals();
	threads();
	processes();
	libraries();
	errors();
	return 0;
}
