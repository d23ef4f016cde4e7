/*
 * Programs with a filter of their own: a part of hot.c.
 */
#ifdef __x86_64__
/* cold or hot before, pc: only from the program's own text. */
static void own_filter(struct me *m)
{
	struct f f = new_file("filtered"), r = zero_f();
	static const unsigned short may[] = { 0, 1, 17, 18, 60, 231, 15, 35, 230, 202 };
	struct filter code[32];
	struct {
		unsigned short n;
		struct filter *code;
	} prog = { 0, code };
	unsigned n = sizeof(may) / sizeof(*may), first = word("pc") ? 3 : 0;

#define ADD_CODE(...)                                                                    \
	code[prog.n++] = (struct filter)                                                 \
	{                                                                                \
		__VA_ARGS__                                                              \
	}
	if (first) { /* the lower half of the program counter */
		ADD_CODE(LOAD, 0, 0, 8);
		ADD_CODE(GE, 0, n + 2, P(__executable_start));
		ADD_CODE(GE, n + 1, 0, P(etext));
	}
	ADD_CODE(LOAD, 0, 0, 0);
	for (unsigned i = 0; i < n; i++)
		ADD_CODE(IS, n - i, 0, may[i]);
	ADD_CODE(RETURN, 0, 0, KILL);
	ADD_CODE(RETURN, 0, 0, ALLOW);
	if (word("hot"))
		hot_all_sites(m, f, r, 40);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(prctl(PR_SET_SECCOMP, 2, &prog));
	hot_all_sites(m, f, r, 100 * times);
}

static volatile sig_atomic_t refusals;

static void on_refusal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	refusals += sig == SIGSYS && info->si_code == 1 &&
		    info->si_syscall == SYS_pread64 &&
		    P(info->si_call_addr) == u->uc_mcontext.gregs[REG_RIP];
}

static void hot_pread(struct me *m, struct f r)
{
	for (int i = 0; i < 50; i++)
		CHECK(io_at(m, PREAD, r, sink, 9, 0) == 9);
}

/* Or there is a result that the kernel has not made. */
static void answered(struct f r, int error)
{
	enum { ERRNO = 0x50000 };
	pid_t pid = MUST(fork());

	if (pid) {
		CHECK(!ended(pid));
		return;
	}
	struct me c = myself(BY_LIBC);
	hot_pread(&c, r);
	forbid(SYS_pread64, ERRNO | (unsigned)error, 0);
	for (int i = 0; i < 60; i++)
		CHECK(pread(r.fd, sink, 9, 0) == (error ? -1 : 0) &&
			(!error || errno == error));
	_exit(0);
}

/* A call of a hot site that is not made: the program is killed, or only its thread, or
 * there is a signal, handled or not. */
static void refused(struct me *m)
{
	enum { TRAP = 0x30000 };
	struct f f = new_file("refused"), r = zero_f();
	const unsigned how[] = { KILL, TRAP, 0 /* only the thread */ };

	hot_pread(m, r);
	for (int i = 0; i < 3; i++) {
		pid_t pid = MUST(fork());
		if (!pid) {
			struct me c = myself(BY_LIBC);
			hot_pread(&c, r);
			forbid(SYS_pread64, how[i], 0);
			pread(r.fd, sink, 9, 0);
			_exit(1);
		}
		CHECK((ended(pid) & 0x7f) == SIGSYS);
	}
	answered(r, 0);
	answered(r, EAGAIN);
	answered(r, EDOM);
	struct sigaction act = { .sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO };
	MUST(sigaction(SIGSYS, &act, NULL));
	hot_pread(m, r);
	forbid(SYS_pread64, TRAP, 0);
	for (int i = 0; i < 40 * times; i++) {
		/* The kernel leaves the number where it was. */
		CHECK(pread(r.fd, sink, 9, 0) == SYS_pread64);
		put_hot(m, f, 2);
	}
	CHECK(refusals == 40 * times);
}

static pthread_barrier_t blocked, enough, free_again;

static void *blocks_trap(void *set)
{
	CHECK(!pthread_sigmask(SIG_BLOCK, set, NULL));
	pthread_barrier_wait(&blocked);
	pthread_barrier_wait(&enough);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, set, NULL));
	pthread_barrier_wait(&free_again);
	return pause() ? NULL : set;
}

/* [patched]: SIGTRAP is handled, and a thread blocks it until all sites have been hot for
 * long. Whether they are changed, afterwards but not before. */
static void trap_later(struct me *m)
{
	struct sigaction mine = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, is;
	struct f f = new_file("later"), r = zero_f();
	unsigned char was[128];
	sigset_t set;

	memcpy(was, (const void *)asm_read, sizeof(was));
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	MUST(sigaction(SIGTRAP, &mine, NULL));
	pthread_barrier_init(&blocked, NULL, 2);
	pthread_barrier_init(&enough, NULL, 2);
	pthread_barrier_init(&free_again, NULL, 2);
	thread_of(blocks_trap, &set);
	pthread_barrier_wait(&blocked);
	hot_all_sites(m, f, r, 40);
	CHECK(!word("patched") || !memcmp(was, (const void *)asm_read, sizeof(was)));
	pthread_barrier_wait(&enough);
	pthread_barrier_wait(&free_again);
	hot_all_sites(m, f, r, 1000);
	MUST(sigaction(SIGTRAP, NULL, &is));
	CHECK(is.sa_sigaction == on_trap && !ntraps);
	CHECK(!word("patched") || memcmp(was, (const void *)asm_read, sizeof(was)));
}
#endif
