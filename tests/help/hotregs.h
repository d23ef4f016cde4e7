/*
 * What a call leaves as it was, and what it refuses: a part of hot.c.
 */
static void on_nothing(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	nsignals++;
}

#ifdef __x86_64__
/* clang-format off */
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15,
       FLAGS, NREGS };
u64 regs_in[NREGS], regs_out[NREGS], regs_stack;

/* All registers are loaded, one call is made, all are stored: no stack in between. */
#define EACH(op, set)                                                              \
	op(set, 1, rbx) op(set, 3, rdx) op(set, 4, rsi) op(set, 5, rdi)            \
	op(set, 6, rbp) op(set, 7, rsp) op(set, 8, r8) op(set, 9, r9)              \
	op(set, 10, r10) op(set, 11, r11) op(set, 12, r12) op(set, 13, r13)        \
	op(set, 14, r14) op(set, 15, r15) op(set, 2, rcx)
#define FROM(set, i, reg) "mov " #set "+8*" #i "(%rip), %" #reg "\n"
#define TO(set, i, reg) "mov %" #reg ", " #set "+8*" #i "(%rip)\n"
#define PROBE(name, call)                                                          \
	".balign 64\n" #name ": push %rbx\n push %rbp\n push %r12\n push %r13\n"   \
	"push %r14\n push %r15\n mov %rsp, regs_stack(%rip)\n"                     \
	"push regs_in+8*16(%rip)\n popfq\n"                                        \
	EACH(FROM, regs_in) call EACH(TO, regs_out)                                \
	"mov %rax, regs_out(%rip)\n mov regs_stack(%rip), %rsp\n pushfq\n"         \
	"pop regs_out+8*16(%rip)\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n"    \
	"pop %rbp\n pop %rbx\n push $0x202\n popfq\n ret\n"

#define NUMBER(name, nr)                                                           \
	PROBE(probe_##name, "mov $" #nr ", %eax\n syscall\nafter_" #name ":\n")

__asm__(".text\n"
	NUMBER(number, 1) NUMBER(open, 2) NUMBER(fstat, 5) NUMBER(fstatat, 262)
	NUMBER(read, 0) NUMBER(close, 3) NUMBER(recvmsg, 47)
	PROBE(probe_gap, "mov regs_in(%rip), %eax\n nop\n syscall\nafter_gap: jmp 1f\n"
			 ".balign 8, 0xcc\n .skip 16, 0xcc\n1:\n"));
/* clang-format on */
extern void probe_number(void), probe_gap(void), probe_open(void), probe_fstat(void),
	probe_fstatat(void), probe_read(void), probe_close(void), probe_recvmsg(void);
extern char after_number[], after_gap[], after_open[], after_fstat[], after_fstatat[],
	after_read[], after_close[], after_recvmsg[];

static u64 noise(void)
{
	static u64 x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static void same_regs(int i, long n, const char *pc)
{
	for (int r = 0; r < NREGS; r++) {
		u64 want = r == RAX   ? (u64)n
			   : r == RCX ? (u64)P(pc)
			   : r == R11 ? regs_in[FLAGS]
				      : regs_in[r];

		if (regs_out[r] == want)
			continue;
		dprintf(2, "hot: call %d, register %d: %llx instead of %llx\n", i, r,
			regs_out[r], want);
		_exit(8);
	}
}

/* One call with four arguments, all else as it comes. */
static long with_noise(
	void (*probe)(void), const char *after, long a, long b, long c, long d)
{
	for (int r = 0; r < FLAGS; r++)
		regs_in[r] = noise();
	regs_in[FLAGS] = 0x202 | (noise() & 0xcd5);
	regs_in[RSP] = noise() >> 17;
	regs_in[RDI] = a;
	regs_in[RSI] = b;
	regs_in[RDX] = c;
	regs_in[R10] = d;
	probe();
	same_regs(a, regs_out[RAX], after);
	return regs_out[RAX];
}
#define NOISY(call, ...) with_noise(probe_##call, after_##call, __VA_ARGS__)

/* A call behind one that has opened something, which is asked then what it is; with
 * signals at any moment, on a stack of their own. */
static void regs_behind(struct me *m)
{
	static char room[65536];
	const stack_t own = { .ss_sp = room, .ss_size = sizeof(room) };
	struct f f = new_file("behind");
	struct stat st;

	put(m, f, 100);
	MUST(sigaltstack(&own, NULL));
	handle(SIGALRM, on_nothing, SA_ONSTACK | SA_RESTART);
	every(100);
	for (int i = 0; i < 400 * times; i++) {
		st.st_size = -1;
		long fd = NOISY(open, P("behind"), O_RDONLY, noise(), noise());
		CHECK(fd >= 0);
		if (i % 4 == 0)
			CHECK(!NOISY(fstat, fd, P(&st), noise(), noise()));
		if (i % 4 == 1)
			CHECK(!NOISY(fstatat, fd, P(""), P(&st), 0x1000));
		if (i % 4 == 2)
			CHECK(NOISY(fstatat, fd, P("no"), P(&st), 0) == -ENOTDIR);
		CHECK(i % 4 > 1 || st.st_size == 100);
		CHECK(NOISY(read, fd, P(sink), 1 + i % 9, noise()) == 1 + i % 9);
		book(m, READ, f, 1 + i % 9);
		CHECK(!NOISY(close, fd, noise(), noise(), noise()));
	}
	every(0);
}

/* A message of three bytes; n: descriptors, of the same open file, that come with it. */
static void send_with(struct me *m, int to, int fd, int n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control = { { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec v = { pattern, 3 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (n) {
		h.msg_control = &control;
		h.msg_controllen = control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	}
	for (int i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &fd, sizeof(fd));
	CHECK(book(m, SENDMSG, (struct f){ to, -1 }, sendmsg(to, &h, 0)) == 3);
}

/* What has come is used, and closed at once. */
static void use_rights(struct me *m, struct f f, struct msghdr *h, int n)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	if (c && c->cmsg_type == SCM_CREDENTIALS)
		c = CMSG_NXTHDR(h, c);
	CHECK(!c == !n);
	for (int i = 0; i < n; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		CHECK(NOISY(read, fd, P(sink), 0, noise()) == 0);
		book(m, READ, f, 0);
		CHECK(!NOISY(close, fd, noise(), noise(), noise()));
	}
}

/* Messages with room for control data, which is none, or a credential, or descriptors,
 * or both; or nothing has come; with signals at any moment. */
static void regs_control(struct me *m)
{
	static char room[65536];
	const stack_t own = { .ss_sp = room, .ss_size = sizeof(room) };
	struct f f = new_file("control");
	int plain[2], told[2], yes = 1;

	MUST(sigaltstack(&own, NULL));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, plain));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, told));
	MUST(setsockopt(told[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)));
	handle(SIGALRM, on_nothing, SA_ONSTACK | SA_RESTART);
	every(100);
	for (int i = 0; i < 400 * times; i++) {
		char control[256];
		struct iovec v = { sink, 9 };
		struct msghdr h = { .msg_iov = &v,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control) };
		int *s = i & 1 ? told : plain, n = i % 5 == 2 ? 1 + i % 3 : 0;
		if (i % 7 != 6)
			send_with(m, s[0], f.fd, n);
		long got = book(m, RECVMSG, (struct f){ s[1], -1 },
			NOISY(recvmsg, s[1], P(&h), 0, noise()));
		CHECK(got == (i % 7 == 6 ? -EAGAIN : 3));
		if (got > 0)
			use_rights(m, f, &h, n);
	}
	every(0);
	for (int i = 0; i < 2; i++)
		CHECK(!close(plain[i]) && !close(told[i]));
}

/* Any stack, any flags, any registers. */
static void regs(struct me *m)
{
	char *room = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct f f = new_file("regs");
	unsigned char *stack = (unsigned char *)room + 4096;
	const u64 bases[] = { 0, P(room), P(room) + 4096, P(room) + 8192, ~0ull,
		word("addresses") ? 0 : 1ull << 63, P(stack) + 2048, 0x70000008 };

	MUST(mprotect(stack, 4096, PROT_READ | PROT_WRITE));
	memset(stack, 's', 4096);
	regs_behind(m);
	regs_control(m);
	for (int i = 0; i < 1200 * times; i++) {
		for (int r = 0; r < FLAGS; r++)
			regs_in[r] = noise();
		/* Carry, parity, adjust, zero, sign, direction, overflow; and alignment.
		 */
		regs_in[FLAGS] = 0x202 | (noise() & (i % 8 ? 0xcd5 : 0x40cd5));
		regs_in[RSP] = bases[i % 8];
		regs_in[RDI] = f.fd;
		regs_in[RSI] = P(pattern);
		regs_in[RDX] = i % 100;
		regs_in[RAX] = SYS_write;
		if (i % 3)
			probe_number();
		else
			probe_gap();
		same_regs(i, i % 100, i % 3 ? after_number : after_gap);
		book(m, WRITE, f, i % 100);
		for (int k = 0; k < 4096 && i % 8 == 6; k++)
			CHECK(stack[k] == 's');
	}
}
#endif

/* Calls that must fail fail in the same way, and never by a signal. */
static void refuse(struct me *m, struct f f, struct f r, struct f p[2])
{
	static struct iovec many[1025], v[2] = { { pattern, 5 }, { NULL, 100 } };
	void *nowhere = (void *)(P(guard) + 4096),
	     *kernel = (void *)(1ul << (sizeof(long) * 8 - 1));

	CHECK(io(m, READ, r, NULL, 8) == -EFAULT);
	CHECK(io(m, READ, r, nowhere, 8) == -EFAULT);
	CHECK(io(m, READ, r, kernel, 8) == -EFAULT);
	CHECK(io(m, WRITE, f, nowhere, 8) == -EFAULT);
	CHECK(io_at(m, PWRITE, f, nowhere, 8, 3) == -EFAULT);
	CHECK(io_at(m, PREAD, f, sink, 8, -1) == -EINVAL);
	CHECK(io(m, WRITEV, f, nowhere, 2) == -EFAULT);
	CHECK(io(m, READV, r, kernel, 2) == -EFAULT);
	CHECK(io(m, WRITEV, f, many, 1025) == -EINVAL);
	CHECK(io(m, WRITEV, f, many, -1) == -EINVAL);
	CHECK(io(m, WRITEV, p[1], v, 2) < 6);
	CHECK(io(m, READ, (struct f){ -1, -1 }, sink, 8) == -EBADF);
	CHECK(io(m, WRITE, (struct f){ 1 << 20, -1 }, sink, 8) == -EBADF);
	CHECK(io(m, WRITE, r, pattern, 8) == -EBADF);
	CHECK(io(m, WRITE, f, nowhere, 0) == 0);
	CHECK(io(m, READ, (struct f){ r.fd, -1 }, sink, 0) == 0);
	put(m, f, 3);
	get(m, r, 3);
}

static void bad(struct me *m)
{
	struct f p[2], f = new_file("bad"), r = zero_f();
	struct msghdr h = { .msg_iovlen = 2 };
	sigset_t set;
	int s[2];

	guard = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGBUS);
	pipe_f(p);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	handle(SIGSEGV, on_nothing, 0);
	for (long i = 0; i < 30 * times; i++) {
		if (i == 15 * times)
			CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
		m->site = i % NSITES;
		refuse(m, f, r, p);
		/* musl looks into the header. */
		m->site = BY_SYSCALL;
		CHECK(io(m, SENDMSG, f, &h, 0) == -ENOTSOCK);
		CHECK(io(m, SENDMSG, (struct f){ s[0], -1 }, guard, 0) == -EFAULT);
		CHECK(io(m, RECVMSG, (struct f){ s[1], -1 }, guard, MSG_DONTWAIT) ==
			-EFAULT);
	}
	CHECK(!sigpending(&set) && !sigismember(&set, SIGSEGV) && !nsignals);
}
