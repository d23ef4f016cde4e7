/*
 * births - threads by the thousand
 *
 *   births ops N AT K    N threads, AT at a time, each of which reads K bytes
 *   births waits N       how often who makes N threads has to wait meanwhile
 *   births spawns N K    N threads, each of which runs /bin/true K times
 *   births strays        what a write of 1 MiB to a full pipe returns while
 *                        another thread makes a thousand calls
 *   births regs N [US]   N threads by clone3(2), N by clone(2): how many find
 *                        other registers or flags behind it than they should;
 *                        with a signal each so many microseconds
 *   births odd           what clone3(2) says of arguments that are no good
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int zero;

static void *reads(void *n)
{
	char c;

	for (intptr_t i = 0; i < (intptr_t)n; i++)
		if (pread(zero, &c, 1, 0) != 1)
			abort();
	return NULL;
}

static pthread_t *begin(int n, void *(*run)(void *), void *arg)
{
	pthread_t *t = calloc(n, sizeof(*t));

	for (int i = 0; i < n; i++)
		if (!t || pthread_create(&t[i], NULL, run, arg))
			abort();
	return t;
}

static void end(int n, pthread_t *t)
{
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static int ops(int n, int at, intptr_t k)
{
	for (; n > 0; n -= at) {
		int now = n < at ? n : at;
		end(now, begin(now, reads, (void *)k));
	}
	return 0;
}

static void *stays(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

static int waits(int n)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct rusage before, after;

	pthread_mutex_lock(&gate);
	getrusage(RUSAGE_THREAD, &before);
	pthread_t *t = begin(n, stays, &gate);
	getrusage(RUSAGE_THREAD, &after);
	pthread_mutex_unlock(&gate);
	end(n, t);
	printf("%ld\n", after.ru_nvcsw - before.ru_nvcsw);
	return 0;
}

static void *spawns(void *n)
{
	char *const arg[] = { "true", NULL };
	int status;

	for (intptr_t i = 0; i < (intptr_t)n; i++) {
		pid_t pid;
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, arg, environ) ||
			waitpid(pid, &status, 0) != pid || status)
			abort();
	}
	return NULL;
}

static int all_spawn(int n, intptr_t k)
{
	end(n, begin(n, spawns, (void *)k));
	return 0;
}

static void *calls(void *arg)
{
	usleep(300000);
	for (int i = 0; i < 1000; i++)
		if (chdir("/"))
			abort();
	return arg;
}

static int strays(void)
{
	enum { MUCH = 1 << 20 };
	char *much = calloc(1, MUCH);
	pthread_t t;
	int p[2];

	if (!much || pthread_create(&t, NULL, calls, NULL) || pipe(p))
		return 1;
	if (!fork()) {
		close(p[1]);
		usleep(900000);
		while (read(p[0], much, 65536) > 0)
			;
		_exit(0);
	}
	close(p[0]);
	printf("%zd\n", write(p[1], much, MUCH));
	free(much);
	return 0;
}

#ifdef __x86_64__
/* As they are pushed below, the last first. Signals may come at any time. */
struct regs {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t flags;
};

enum { ALL_FLAGS = 0xad7 /* OF SF ZF AF PF CF, and IF */, STACK = 65536 };

/* in, then behind the call: of the parent, of the child, which ends there. */
struct regs birth_regs[3];

#define BIRTH(name, nr)                                                                  \
	void birth_##name(void);                                                         \
	extern const char birth_##name##_behind[];                                       \
	__asm__(".text\n.globl birth_" #name ", birth_" #name "_behind\n"                \
		"birth_" #name ":\n"                                                     \
		"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"     \
		"mov birth_regs+0(%rip), %r15\n"                                         \
		"mov birth_regs+8(%rip), %r14\n"                                         \
		"mov birth_regs+16(%rip), %r13\n"                                        \
		"mov birth_regs+24(%rip), %r12\n"                                        \
		"mov birth_regs+32(%rip), %r11\n"                                        \
		"mov birth_regs+40(%rip), %r10\n"                                        \
		"mov birth_regs+48(%rip), %r9\n"                                         \
		"mov birth_regs+56(%rip), %r8\n"                                         \
		"mov birth_regs+64(%rip), %rdi\n"                                        \
		"mov birth_regs+72(%rip), %rsi\n"                                        \
		"mov birth_regs+80(%rip), %rbp\n"                                        \
		"mov birth_regs+88(%rip), %rbx\n"                                        \
		"mov birth_regs+96(%rip), %rdx\n"                                        \
		"pushq $0xad7\npopfq\n"                                                  \
		"mov $" #nr ", %eax\n"                                                   \
		"syscall\n"                                                              \
		"birth_" #name "_behind:\n"                                              \
		"pushfq\n"                                                               \
		"push %rax\npush %rcx\npush %rdx\npush %rbx\npush %rbp\npush %rsi\n"     \
		"push %rdi\npush %r8\npush %r9\npush %r10\npush %r11\npush %r12\n"       \
		"push %r13\npush %r14\npush %r15\n"                                      \
		"lea birth_regs+128(%rip), %rdi\n"                                       \
		"test %rax, %rax\n"                                                      \
		"jnz 1f\n"                                                               \
		"lea 128(%rdi), %rdi\n"                                                  \
		"1: mov %rsp, %rsi\n"                                                    \
		"mov $16, %ecx\n"                                                        \
		"rep movsq\n"                                                            \
		"lea 128(%rsp), %rsp\n"                                                  \
		"test %rax, %rax\n"                                                      \
		"jnz 1f\n"                                                               \
		"mov $60, %eax\n"                                                        \
		"xor %edi, %edi\n"                                                       \
		"syscall\n"                                                              \
		"1: pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"        \
		"ret\n")
BIRTH(clone3, 435);
BIRTH(clone, 56);

static volatile sig_atomic_t signals;

static void on_alarm(int sig)
{
	(void)sig;
	signals++;
}

enum {
	THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		 CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID
};

static uint32_t told, alive; /* its id, for the parent and until it has ended */

static void fill(struct regs *in)
{
	uint64_t *word = (uint64_t *)in;

	for (unsigned i = 0; i < sizeof(*in) / sizeof(*word); i++)
		word[i] = UINT64_C(0x1111111111111111) * (i + 1);
	in->flags = ALL_FLAGS;
}

/* As the kernel leaves them: all but these are what they were. */
static int differ(const struct regs *got, const char *behind, uint64_t rax)
{
	struct regs want = birth_regs[0];

	want.rax = rax;
	want.rcx = (uintptr_t)behind;
	want.r11 = ALL_FLAGS;
	return !!memcmp(got, &want, sizeof(want));
}

static void await(void)
{
	uint32_t now;

	while ((now = __atomic_load_n(&alive, __ATOMIC_ACQUIRE)))
		syscall(SYS_futex, &alive, FUTEX_WAIT, now, NULL, NULL, 0);
}

static int one(char *stack, int by_clone3)
{
	struct clone_args args = { .flags = THREAD,
		.child_tid = (uintptr_t)&alive,
		.parent_tid = (uintptr_t)&told,
		.stack = (uintptr_t)stack,
		.stack_size = STACK };
	struct regs *in = &birth_regs[0];

	fill(in);
	memset(in + 1, 0, 2 * sizeof(*in));
	alive = 1;
	if (by_clone3) {
		in->rdi = (uintptr_t)&args;
		in->rsi = sizeof(args);
		birth_clone3();
	} else {
		in->rdi = THREAD;
		in->rsi = (uintptr_t)stack + STACK;
		in->rdx = (uintptr_t)&told;
		in->r10 = (uintptr_t)&alive;
		birth_clone();
	}
	if ((int64_t)in[1].rax > 0)
		await();
	const char *behind = by_clone3 ? birth_clone3_behind : birth_clone_behind;
	return differ(&in[1], behind, told) + differ(&in[2], behind, 0);
}

static int regs(int n, int us)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, us }, { 0, us } }, never = { { 0, 0 }, { 0, 0 } };
	char *stack = mmap(
		NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong = 0;

	if (stack == MAP_FAILED)
		return 1;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 2 * n; i++)
		wrong += one(stack, i % 2);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d wrong, signals: %d\n", wrong, us ? signals > 0 : signals);
	return 0;
}

static void say(const char *what, const void *args, size_t size)
{
	long got = -1;

	for (int i = 0; i < 4; i++)
		got = syscall(SYS_clone3, args, size);
	printf("%s: %ld %s\n", what, got, strerror(errno));
}

static int odd(void)
{
	struct clone_args args = { .flags = THREAD | CLONE_SETTLS, .tls = 1ULL << 63 };
	char *edge = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
		     4096;

	ops(4, 1, 1);
	munmap(edge, 4096);
	say("no arguments", NULL, sizeof(args));
	say("not there", edge, sizeof(args));
	say("half there", edge - 4, sizeof(args));
	say("of the kernel", (void *)(1ULL << 63), sizeof(args));
	say("too short", &args, 8);
	say("a tls that cannot be", &args, sizeof(args));
	args = (struct clone_args){ .flags = CLONE_THREAD };
	say("flags that cannot be", &args, sizeof(args));
	args = (struct clone_args){ .flags = THREAD | 0xff };
	say("a signal among the flags", &args, sizeof(args));
	return 0;
}
#else
static int regs(int n, int us)
{
	return n + us;
}

static int odd(void)
{
	return 0;
}
#endif

int main(int argc, char **argv)
{
	zero = open("/dev/zero", O_RDONLY);
	if (argc > 4 && !strcmp(argv[1], "ops"))
		return ops(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
	if (argc > 3 && !strcmp(argv[1], "spawns"))
		return all_spawn(atoi(argv[2]), atoi(argv[3]));
	if (argc > 1 && !strcmp(argv[1], "strays"))
		return strays();
	if (argc > 2 && !strcmp(argv[1], "waits"))
		return waits(atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "regs"))
		return regs(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
	if (argc > 1 && !strcmp(argv[1], "odd"))
		return odd();
	return 2;
}
