/*
 * Signals and threads around hot sites: a part of hot.c.
 */
#include <sys/auxv.h>

#ifdef __x86_64__
#define REG_PC REG_RIP
#else
#define REG_PC REG_EIP
#endif

struct crew {
	pthread_barrier_t gate;
	struct f r, w;
	long rounds, ops, site, warm, blocked;
};

static __thread struct me *mine;
static struct f handler_file;
static u64 nsignals, ntraps, nsteps;
extern char __executable_start[], etext[];

static long arg(int i, long otherwise)
{
	for (int k = 0; k <= i; k++)
		if (!own_argv[k])
			return otherwise;
	return strtol(own_argv[i], NULL, 10);
}

static int word(const char *w)
{
	for (char **p = own_argv; *p; p++)
		if (!strcmp(*p, w))
			return 1;
	return 0;
}

#ifdef __x86_64__
/* At an instruction of the four sites as they are written, not in a gap between them. */
static int at_instruction(unsigned long pc)
{
	unsigned long at = pc - (unsigned long)asm_read, n = at % 32;

	if (at >= 32 * 4)
		return 1;
	return n == 0 || n == 3 || (at < 32 ? n == 5 || n == 7 : n == 8 || n == 10);
}
#else
#define at_instruction(pc) 1
#endif

/* A handler never interrupts code that is not the program's own. */
static void see_pc(const void *context)
{
	unsigned long pc = ((const ucontext_t *)context)->uc_mcontext.gregs[REG_PC];
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);

	if (((pc < (unsigned long)__executable_start || pc >= (unsigned long)etext) &&
		    (pc < vdso || pc - vdso > 16384)) ||
		!at_instruction(pc)) {
		dprintf(2, "hot: a handler has interrupted %lx\n", pc);
		syscall(SYS_exit_group, 8);
	}
}

static void *crew_man(void *p)
{
	struct crew *c = p;
	struct me m = myself(c->site);
	sigset_t mask;

	for (long i = 0; i < c->rounds; i++) {
		m.cell = c->warm ? NULL : cells + i % NCELLS * CELL;
		pthread_barrier_wait(&c->gate);
		for (long k = 0; k < c->ops; k++) {
			put(&m, c->w, 1 + k % 9);
			get(&m, c->r, 7);
		}
	}
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &mask));
	CHECK(sigismember(&mask, SIGTRAP) == c->blocked);
	return NULL;
}

/* THREADS ROUNDS OPS SITE: in each round all begin with a site at the same moment. */
static void crew_works(struct crew *c, long threads)
{
	pthread_t t[256];

	CHECK(threads <= 256 && !pthread_barrier_init(&c->gate, NULL, threads));
	for (long i = 0; i < threads; i++)
		t[i] = thread_of(crew_man, c);
	for (long i = 0; i < threads; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void barrier(struct me *m)
{
	struct crew c = {
		.rounds = arg(1, 8) * times, .ops = arg(2, 20), .site = arg(3, BY_ASM)
	};

	(void)m;
	c.w = new_file("barrier");
	c.r = zero_f();
	crew_works(&c, arg(0, 8));
}

enum { PERIOD = 100 /* us */ };

/* Where each call takes longer than the time between signals nothing else would ever be
 * done: then they come half as often. */
static void breathe(void)
{
	static u64 seen, vain;

	vain = nsteps == seen ? vain + 1 : 0;
	seen = nsteps;
	if (vain < 64)
		return;
	vain = 0;
	SET(&all->calm, GET(&all->calm) + 1);
	every(PERIOD << GET(&all->calm));
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	int e = errno;

	(void)sig;
	(void)info;
	see_pc(context);
	if (mine)
		put(mine, handler_file, 1);
	nsignals++;
	if (nsteps)
		breathe();
	errno = e;
}

static pid_t pest(int sig, long us)
{
	pid_t to = getpid(), pid = MUST(fork());

	if (pid)
		return pid;
	every(0);
	while (GET(&all->go) && !kill(to, sig))
		nap(us << GET(&all->calm));
	_exit(0);
}

static pid_t feeder(struct f p[2], long count, long us)
{
	pid_t pid = MUST(fork());
	struct me m;

	if (pid)
		return pid;
	m = myself(BY_LIBC);
	while (count--) {
		nap(us);
		put(&m, p[1], 3);
	}
	_exit(0);
}

/* [NUMBER] [alt] [eintr]: signals from a timer and from another process, all the time. */
static void signals(struct me *m)
{
	int flags = (word("alt") ? SA_ONSTACK : 0) | (word("eintr") ? 0 : SA_RESTART);
	stack_t alt = { .ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE };
	struct f p[2], f = new_file("signals"), r = zero_f();
	u64 least = arg(0, 0) > 20 ? arg(0, 0) : 20;
	pid_t pid[2];
	long got;

	MUST(sigaltstack(&alt, NULL));
	handler_file = new_file("handler");
	pipe_f(p);
	handle(SIGALRM, on_signal, flags);
	handle(SIGUSR1, on_signal, flags);
	SET(&all->go, 1);
	pid[0] = feeder(p, 8, 2000);
	pid[1] = pest(SIGUSR1, PERIOD);
	mine = m;
	every(PERIOD);
	for (long i = 0; i < 400 * times || nsignals < least; i++) {
		m->site = i % NSITES;
		nsteps++;
		put(m, f, 5);
		memset(sink, 1, 7);
		get(m, r, 7);
		CHECK(!memcmp(sink, "\0\0\0\0\0\0\0", 7));
	}
	for (long left = 24; left; left -= got > 0 ? got : 0) {
		m->site = left % NSITES;
		nsteps++;
		got = io(m, READ, p[0], sink, 3);
		CHECK(got > 0 || (got == -EINTR && word("eintr")));
	}
	nsteps = 0;
	every(0);
	SET(&all->go, 0);
	CHECK(!ended(pid[0]) && !ended(pid[1]));
	CHECK(nsignals > 10);
}

#ifdef __x86_64__
/* A call that has ended is counted by the one instruction behind it, or by the handler.
 */
__asm__(".text\n.balign 64\n"
	"jump_write: mov $1, %eax\n syscall\njump_wrote: incq (%r8)\n ret\n.balign 64\n"
	"jump_read: xor %eax, %eax\n syscall\njump_has_read: incq (%r8)\n ret\n.balign "
	"64\n");
extern long jump_write(int, const void *, long, long, u64 *),
	jump_read(int, const void *, long, long, u64 *);
extern char jump_wrote[], jump_has_read[];
static sigjmp_buf back;
static volatile u64 njumps, nwrites, nreads, nbroken;
static volatile int jumping;

static void on_jump(int sig, siginfo_t *info, void *context)
{
	const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;

	on_signal(sig, info, context);
	if (!jumping || nsignals % 3)
		return;
	if (r[REG_RIP] == P(jump_wrote))
		nwrites++;
	else if (r[REG_RIP] == P(jump_has_read) && r[REG_RAX] == -EINTR)
		nbroken++;
	else if (r[REG_RIP] == P(jump_has_read))
		nreads++;
	njumps++;
	siglongjmp(back, 1);
}

/* [alt] [eintr]: every third handler leaves by siglongjmp(). */
static void jump(struct me *m)
{
	int flags = (word("alt") ? SA_ONSTACK : 0) | (word("eintr") ? 0 : SA_RESTART);
	stack_t alt = { .ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE };
	struct f p[2], f = new_file("jump"), r = zero_f();
	volatile u64 done = 0;

	MUST(sigaltstack(&alt, NULL));
	handler_file = new_file("handler");
	pipe_f(p);
	handle(SIGALRM, on_jump, flags);
	mine = m;
	/* No faster than a slow tracer: they would pile up on the stack, in siglongjmp().
	 */
	every(1000);
	sigsetjmp(back, 1);
	jumping = 1;
	while (nwrites + nreads < (u64)(1000 * times) || njumps < 10) {
		CHECK(jump_write(f.fd, pattern, 5, 0, (u64 *)&nwrites) == 5);
		CHECK(jump_read(r.fd, sink, 7, 0, (u64 *)&nreads) == 7);
	}
	jumping = 0;
	done = nreads;
	/* Out of a read for which there is nothing. */
	sigsetjmp(back, 1);
	jumping = 1;
	while (njumps < 20)
		CHECK(jump_read(p[0].fd, sink, 1, 0, (u64 *)&nbroken) == -EINTR);
	jumping = 0;
	every(0);
	CHECK(nreads == done);
	add(m, WRITE, f, OPS, nwrites);
	add(m, WRITE, f, SIZE, nwrites * 5);
	add(m, READ, r, OPS, nreads);
	add(m, READ, r, SIZE, nreads * 7);
	add(m, READ, r, INTR, word("eintr") ? nbroken : 0);
}
#endif

static struct f cancel_pipe[2];
static u64 ncleanups, ngot; /* ngot: what the victim has read and counted */

static void cleanup(void *m)
{
	put(m, handler_file, 2);
	ncleanups++;
}

static void *victim(void *site)
{
	struct me m = myself(P(site));

	pthread_cleanup_push(cleanup, &m);
	for (;;) {
		get(&m, cancel_pipe[0], 1);
		__atomic_fetch_add(&ngot, 1, __ATOMIC_SEQ_CST);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

/* Threads are canceled while they wait in a read. */
static void cancel(struct me *m)
{
	void *r;

	handler_file = new_file("cleanup");
	for (long i = 0; i < 30 * times; i++) {
		pipe_f(cancel_pipe);
		pthread_t t = thread_of(victim, (void *)(long)BY_LIBC);
		for (int k = 0; k < 20; k++)
			put(m, cancel_pipe[1], 1);
		while (__atomic_load_n(&ngot, __ATOMIC_SEQ_CST) < 20 * (u64)(i + 1))
			nap(200);
		nap(3000);
		CHECK(!pthread_cancel(t) && !pthread_join(t, &r) &&
			r == PTHREAD_CANCELED);
		close_pipe(cancel_pipe);
	}
	CHECK(ncleanups == (u64)(30 * times));
}

/* A process is stopped and continued from outside while two of its threads are hot. */
static void stopcont(struct me *m)
{
	struct crew c = { .rounds = 2,
		.ops = 400 * times,
		.w = new_file("stopped"),
		.r = zero_f(),
		.warm = 1 };
	pid_t pid = MUST(fork());
	int status;

	(void)m;
	if (!pid) {
		crew_works(&c, 2);
		_exit(7);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		kill(pid, SIGSTOP);
		nap(300);
		kill(pid, SIGCONT);
		nap(1000);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static char *guard;
static u64 nfaults;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	see_pc(context);
	CHECK((char *)info->si_addr >= guard && (char *)info->si_addr < guard + 65536);
	MUST(mprotect((void *)(P(info->si_addr) & -4096), 4096, PROT_READ | PROT_WRITE));
	put(mine, handler_file, 3);
	nfaults++;
}

/* Like a collector that finds by faults what is used; calls see the same as EFAULT. */
static void faults(struct me *m)
{
	stack_t alt = { .ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE };
	struct f r = zero_f();

	MUST(sigaltstack(&alt, NULL));
	handler_file = new_file("handler");
	guard = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guard != MAP_FAILED);
	mine = m;
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	for (long i = 0; i < 30 * times; i++) {
		MUST(mprotect(guard, 65536, PROT_NONE));
		for (long k = 0; k < 16; k++) {
			char *page = guard + k * 4096;

			m->site = k % NSITES;
			CHECK(io(m, READ, r, page, 9) == -EFAULT);
			CHECK(io(m, WRITE, handler_file, page, 9) == -EFAULT);
			*(volatile char *)page = 1;
			CHECK(io(m, READ, r, page, 9) == 9 && !*page);
		}
	}
	CHECK(nfaults == (u64)(30 * times * 16));
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	see_pc(context);
	ADD(&ntraps, 1);
}

/* block, ignore or handle: SIGTRAP is the program's own, whatever patches its sites. */
static void trap(struct me *m)
{
	struct crew c = { .rounds = 12,
		.ops = 12,
		.site = BY_ASM,
		.w = new_file("trap"),
		.r = zero_f() };
	struct sigaction was = { 0 }, is;
	sigset_t set, mask;

	(void)m;
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	was.sa_handler = word("ignore") ? SIG_IGN : SIG_DFL;
	if (word("handle") || word("block")) {
		was.sa_sigaction = on_trap;
		was.sa_flags = SA_SIGINFO | SA_RESTART;
	}
	MUST(sigaction(SIGTRAP, &was, NULL));
	c.blocked = word("block");
	if (c.blocked)
		CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	crew_works(&c, 16);
	MUST(sigaction(SIGTRAP, NULL, &is));
	CHECK(is.sa_handler == was.sa_handler && !ntraps);
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &mask));
	CHECK(sigismember(&mask, SIGTRAP) == word("block"));
	CHECK(!sigpending(&mask) && !sigismember(&mask, SIGTRAP));
	if (!word("block") && !word("ignore") && !word("handle"))
		return;
	MUST(raise(SIGTRAP));
	CHECK(!sigpending(&mask) && sigismember(&mask, SIGTRAP) == word("block"));
	CHECK(ntraps == (u64)word("handle"));
#ifdef __x86_64__
	if (word("handle")) {
		__asm__ volatile("int3" : : : "memory");
		CHECK(ntraps == 2);
	}
#endif
}

/* Who ignores a signal goes on doing so, whatever pointers it passes on. */
static void ignores(struct me *m)
{
	static const long bad[] = { 0, 8, -1, -4096 };
	struct f f = null_f();
	struct sigaction now;
	sigset_t set;

	put_hot(m, f, 100);
	signal(SIGSEGV, SIG_IGN);
	for (long i = 0; i < 100 * times; i++) {
		const void *p = (const void *)bad[i % 4];

		CHECK(open(p, O_RDONLY) < 0 && errno == EFAULT);
		CHECK(unlink(p) < 0 && errno == EFAULT);
		CHECK(io(m, WRITEV, f, p, 1) == -EFAULT);
		MUST(sigaction(SIGSEGV, NULL, &now));
		CHECK(now.sa_handler == SIG_IGN);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	for (long i = 0; i < 100; i++)
		CHECK(open((const char *)bad[i % 4], O_RDONLY) < 0 && errno == EFAULT);
	MUST(sigprocmask(SIG_BLOCK, NULL, &set));
	CHECK(sigismember(&set, SIGSEGV));
}

static volatile sig_atomic_t nspared;

static void on_spared(int sig)
{
	(void)sig;
	nspared++;
	MUST(mprotect(guard, 4096, PROT_READ | PROT_WRITE));
}

/* Memory that is there, of a file that is not. */
static char *past_end(void)
{
	char *at;
	int fd = memfd_create("empty", 0);

	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(fd >= 0 && at != MAP_FAILED);
	close(fd);
	return at;
}

/* Pointers that lead nowhere: a call says so, and nothing becomes of the signals. */
static void mislead(struct me *m, struct f f, const struct sigaction *want, int blocked)
{
	char *bad[] = { guard, past_end() };
	const int sig[] = { SIGSEGV, SIGBUS };
	struct sigaction now;
	sigset_t set;

	for (long i = 0; i < 60; i++) {
		CHECK(open(bad[i % 2], O_RDONLY) < 0 && errno == EFAULT);
		CHECK(unlink(bad[i % 2]) < 0 && errno == EFAULT);
		CHECK(io(m, WRITEV, f, bad[i % 2], 1) == -EFAULT);
		MUST(sigaction(sig[i % 2], NULL, &now));
		CHECK(now.sa_handler == want->sa_handler);
		CHECK(now.sa_flags == want->sa_flags);
		CHECK(sigismember(&now.sa_mask, SIGUSR2) ==
			sigismember(&want->sa_mask, SIGUSR2));
		MUST(sigprocmask(SIG_BLOCK, NULL, &set));
		CHECK(sigismember(&set, sig[i % 2]) == blocked);
	}
	munmap(bad[1], 4096);
}

/* block, ignore, all or once: what is set for faults stays so when a pointer is bad. */
static void spared(struct me *m)
{
	struct sigaction want = { 0 };
	struct f f = null_f();
	sigset_t set;
	int handled = word("block") || word("once");

	guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guard != MAP_FAILED);
	want.sa_handler = handled ? on_spared : word("ignore") ? SIG_IGN : SIG_DFL;
	want.sa_flags = word("once") ? (int)SA_RESETHAND : SA_RESTART;
	sigaddset(&want.sa_mask, SIGUSR2);
	MUST(sigaction(SIGSEGV, &want, NULL));
	MUST(sigaction(SIGBUS, &want, NULL));
	MUST(sigaction(SIGBUS, NULL, &want));
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGBUS);
	if (word("all"))
		sigfillset(&set);
	if (word("block") || word("all"))
		MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	put_hot(m, f, 100);
	mislead(m, f, &want, !word("ignore") && !word("once"));
	if (!handled)
		return;
	MUST(sigprocmask(SIG_UNBLOCK, &set, NULL));
	*(volatile char *)guard = 1;
	CHECK(nspared == 1);
	MUST(mprotect(guard, 4096, PROT_NONE));
	if (!word("once"))
		return;
	MUST(sigaction(SIGSEGV, NULL, &want));
	CHECK(want.sa_handler == SIG_DFL);
	MUST(sigaction(SIGBUS, &want, NULL));
	MUST(sigaction(SIGBUS, NULL, &want));
	mislead(m, f, &want, 0);
}
