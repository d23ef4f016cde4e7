/*
 * Memory, code and registers that hot sites have to leave alone: a part of hot.c.
 */
#ifdef __x86_64__
enum { SET_GS = 0x1001, GET_GS = 0x1004, HWCAP2_FSGSBASE = 2 };

static void hot_all_sites(struct me *m, struct f f, struct f r, long count)
{
	for (m->site = 0; m->site < NSITES; m->site++)
		for (long i = 0; i < count; i++) {
			put(m, f, 1 + i % 5);
			get(m, r, 7);
		}
	m->site = 0;
}

static void gs_is(unsigned long base, const unsigned char *p, int wr)
{
	unsigned long now, seen;

	MUST(syscall(SYS_arch_prctl, GET_GS, &now));
	CHECK(now == base);
	if (!p)
		return;
	__asm__ volatile("mov %%gs:0, %0" : "=r"(seen));
	CHECK(seen == 0x5a5a5a5a5a5a5a5a);
	for (long i = 0; i < 65536 && !wr; i++)
		CHECK(p[i] == 0x5a);
}

static unsigned char *gs_memory(unsigned long at)
{
	void *p = mmap((void *)at, 65536, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return memset(p, 0x5a, 65536);
}

static void *gs_thread(void *p)
{
	struct me m = myself(BY_ASM);

	gs_is(P(p), p, 0);
	hot_all_sites(&m, born, handler_file, 20);
	gs_is(P(p), p, 0);
	return NULL;
}

/* cold, or hot before: a program with a use of its own for gs, wherever it points. */
static void gs(struct me *m)
{
	static const unsigned long at[] = { 0, 0x60000000, 0x7f000000, 0x70020000,
		0x6ffe0000, 0x7ffdc000, 0x7fff0000 };
	enum { N = sizeof(at) / sizeof(*at) };
	struct f r = zero_f();

	born = new_file("gs");
	handler_file = r;
	if (word("hot"))
		hot_all_sites(m, born, r, 40);
	for (int i = 0; i < 2 * N; i++) {
		unsigned char *p = gs_memory(at[i % N]);

		if (i < N)
			MUST(syscall(SYS_arch_prctl, SET_GS, p));
		else if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)
			__asm__ volatile("wrgsbase %0" : : "r"(p));
		else
			break;
		hot_all_sites(m, born, r, 20);
		gs_is(P(p), p, 0);
		CHECK(!pthread_join(thread_of(gs_thread, p), NULL));
		gs_is(P(p), p, 0);
		pid_t pid = MUST(fork());
		if (!pid) {
			struct me child = myself(BY_ASM);

			gs_is(P(p), p, 0);
			hot_all_sites(&child, born, r, 20);
			gs_is(P(p), p, 0);
			_exit(0);
		}
		CHECK(!ended(pid));
		MUST(syscall(SYS_arch_prctl, SET_GS, 0));
		hot_all_sites(m, born, r, 10);
	}
}

enum { CODE_AT = 1024 };
typedef long (*code_fn)(int, const void *, long);
static const unsigned char
	code_write[16] = "\xb8\1\0\0\0\x0f\5\xc3\x90\x90\x90\x90\x90\x90\x90",
	code_read[16] = "\x31\xc0\x90\x90\x90\x0f\5\xc3\x90\x90\x90\x90\x90\x90\x90",
	code_pwrite[16] = "\xb8\x12\0\0\0\x0f\5\xc3";

static void run_code(struct me *m, const void *code, int c, struct f f, long count)
{
	code_fn fn = (code_fn)code;

	while (count--)
		CHECK(book(m, c, f, fn(f.fd, calls[c].wr ? pattern : sink, 5)) == 5);
}

/* Calls right behind an instruction that finds its memory by its own address. */
__asm__(".text\n.p2align 4\n"
	".type far_lea, @function\nfar_lea:\n.cfi_startproc\n"
	"mov $5, %edx\nmov $1, %eax\nlea far_text(%rip), %rsi\nsyscall\nret\n"
	".cfi_endproc\n.size far_lea, . - far_lea\n"
	".type far_mov, @function\nfar_mov:\n.cfi_startproc\n"
	"mov $1, %eax\nmov far_size(%rip), %rdx\nsyscall\nret\n"
	".cfi_endproc\n.size far_mov, . - far_mov\n"
	".section .rodata\nfar_text: .ascii \"vwxyz\"\nfar_size: .quad 5\n.text\n");
extern long far_lea(int fd, const void *text, long size);
extern long far_mov(int fd, const void *text, long size);

static void far(struct me *m)
{
	struct f f = new_file("far");
	long n = 100L * times;

	for (long i = 0; i < n; i++) {
		CHECK(book(m, WRITE, f, far_lea(f.fd, NULL, 0)) == 5);
		CHECK(book(m, WRITE, f, far_mov(f.fd, "abcde", 0)) == 5);
	}
	char *p = mmap(NULL, (size_t)n * 10, PROT_READ, MAP_SHARED, f.fd, 0);
	CHECK(p != MAP_FAILED);
	for (long i = 0; i < n; i++)
		CHECK(!memcmp(p + i * 10, "vwxyzabcde", 10));
}

/* [text]: code that is made while it runs; or copied, as it is now, from hot text. */
static void jit(struct me *m)
{
	struct f f = new_file("jit"), r = zero_f();
	char *x = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(x != MAP_FAILED);
	for (int i = 0; i < 10 * times; i++) {
		memcpy(x, i % 2 ? code_write : code_read, 16);
		run_code(m, x, i % 2 ? WRITE : READ, i % 2 ? f : r, 20);
		memcpy(x + 2048, x, 16);
		run_code(m, x + 2048, i % 2 ? WRITE : READ, i % 2 ? f : r, 20);
		put_hot(m, f, 10);
		if (word("text")) {
			memcpy(x + 1024, cells + CELL / 2, CELL / 2);
			run_code(m, cells + CELL / 2, WRITE, f, 20);
			run_code(m, x + 1024, WRITE, f, 20);
		}
		MUST(mprotect(x, 4096, PROT_READ | PROT_EXEC));
		run_code(m, x, i % 2 ? WRITE : READ, i % 2 ? f : r, 20);
		MUST(mprotect(x, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	}
}

static void code_file(struct me *m, const char *name, const void *code)
{
	struct f f = new_file(name);
	char page[4096];

	memset(page, 0xcc, sizeof(page));
	memcpy(page + CODE_AT, code, 16);
	CHECK(io(m, WRITE, f, page, sizeof(page)) == sizeof(page));
	MUST(close(f.fd));
}

static void *map_code(const char *name, void *at)
{
	struct f f = open_f(name, O_RDONLY);
	void *p = mmap(at, 4096, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | (at ? MAP_FIXED : 0), f.fd, 0);

	CHECK(p != MAP_FAILED);
	MUST(close(f.fd));
	return p;
}

/* [part]: code of a file is rewritten in its place, as a whole or just its number. */
static void selfmod(struct me *m)
{
	struct f f = new_file("selfmod"), r = zero_f();
	char *x, *code;

	code_file(m, "code", code_write);
	x = map_code("code", NULL);
	code = x + CODE_AT;
	run_code(m, code, WRITE, f, 30);
	for (int i = 0; i < 6 * times; i++) {
		MUST(mprotect(x, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
		if (word("part"))
			code[1] = i % 2 ? 1 : 18;
		else
			memcpy(code, i % 2 ? code_write : code_read, 16);
		if (i % 3)
			MUST(mprotect(x, 4096, PROT_READ | PROT_EXEC));
		if (word("part"))
			run_code(m, code, i % 2 ? WRITE : PWRITE, f, 30);
		else
			run_code(m, code, i % 2 ? WRITE : READ, i % 2 ? f : r, 30);
	}
}

/* Code that comes and goes at one address, as plugins do. */
static void reload(struct me *m)
{
	struct f f = new_file("reload"), r = zero_f();
	char *x = NULL;

	code_file(m, "code1", code_write);
	code_file(m, "code2", code_read);
	code_file(m, "code3", code_pwrite);
	for (int i = 0; i < 50 * times; i++) {
		if (x && i % 2)
			MUST(munmap(x, 4096));
		x = map_code(i % 3 ? i % 3 == 1 ? "code2" : "code3" : "code1", x);
		run_code(m, x + CODE_AT, i % 3 ? i % 3 == 1 ? READ : PWRITE : WRITE,
			i % 3 == 1 ? r : f, 20);
	}
}

/* Where in our own file. */
static int find_cells(struct dl_phdr_info *info, size_t size, void *offset)
{
	unsigned long at = P(cells) - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && at - p->p_vaddr < p->p_filesz)
			*(unsigned long *)offset = p->p_offset + (at - p->p_vaddr);
	}
	return 1; /* the program is the first */
}

/* That page, once more. */
static char *map_cells(void)
{
	int fd = MUST(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	unsigned long offset = 0;

	dl_iterate_phdr(find_cells, &offset);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		(long)(offset & ~4095ul));
	CHECK(offset && page != MAP_FAILED);
	close(fd);
	return page;
}

/* Code that is moved to where nothing of ours is near, while it is hot; and back. */
static void moved(struct me *m)
{
	struct f f = new_file("moved");
	char *far = (char *)(1l << 45);
	const long at = P(cells) % 4096 + CELL / 2;

	CHECK(P(cells) % 4096 + 2 * CELL <= 4096);
	for (int i = 0; i < 4 * times; i++) {
		char *x = map_cells();
		run_code(m, x + at, WRITE, f, 50);
		CHECK(mremap(x, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, far) == far);
		run_code(m, far + at, WRITE, f, 50);
		CHECK(mremap(far, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, x) == x);
		run_code(m, x + at, WRITE, f, 50);
		put_hot(m, f, 10);
	}
}

static void on_tsc(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	see_pc(context);
	ntraps++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

/* cold, or hot before: a program that must not read the clock of the processor. */
static void tsc(struct me *m)
{
	struct f f = new_file("tsc"), r = zero_f();
	int how = 0;

	handle(SIGSEGV, on_tsc, 0);
	if (word("hot"))
		hot_all_sites(m, f, r, 40);
	for (u64 i = 1; i < 4; i++) {
		MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
		hot_all_sites(m, f, r, 30 * times);
		CHECK(ntraps == i - 1);
		__asm__ volatile("rdtsc" : : : "eax", "edx", "memory");
		CHECK(ntraps == i && !prctl(PR_GET_TSC, &how) && how == PR_TSC_SIGSEGV);
		MUST(prctl(PR_SET_TSC, PR_TSC_ENABLE));
		hot_all_sites(m, f, r, 20);
	}
}

static volatile char selector;
static u64 ndispatched;
static struct f dispatch_file;

static void on_dispatch(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	selector = 0;
	see_pc(context);
	CHECK(info->si_syscall == SYS_write && P(info->si_call_addr) == r[REG_RIP]);
	r[REG_RAX] = io(mine, WRITE, dispatch_file, (void *)r[REG_RSI], r[REG_RDX]);
	ndispatched++;
}

/* The program emulates calls of its own by syscall user dispatch. */
static void dispatch(struct me *m)
{
	struct f r = zero_f();

	dispatch_file = new_file("dispatch");
	mine = m;
	handle(SIGSYS, on_dispatch, 0);
	hot_all_sites(m, dispatch_file, r, 20);
	if (prctl(59, 1, 0, 0, &selector))
		return;
	for (long i = 0; i < 100 * times; i++) {
		m->site = i % NSITES;
		selector = 1;
		CHECK(asm_write(r.fd, pattern, 3, 0) == 3);
		CHECK(!selector);
		put(m, dispatch_file, 4);
		get(m, r, 7);
	}
	CHECK(ndispatched == (u64)(100 * times));
	MUST(prctl(59, 0, 0, 0, 0));
	hot_all_sites(m, dispatch_file, r, 20);
}

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	see_pc(context);
	if (info->si_code == 1)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOTTY;
	ntraps++;
}

/* A filter of the program's own raises SIGSYS for one call. */
static void sigsys(struct me *m)
{
	struct f f = new_file("sigsys"), r = zero_f();
	struct filter code[] = { { LOAD, 0, 0, 0 }, { IS, 0, 1, SYS_getpriority },
		{ RETURN, 0, 0, 0x30000 }, { RETURN, 0, 0, ALLOW } };
	struct {
		unsigned short n;
		struct filter *code;
	} prog = { 4, code };

	handle(SIGSYS, on_sigsys, 0);
	hot_all_sites(m, f, r, 20);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(prctl(PR_SET_SECCOMP, 2, &prog));
	for (u64 i = 1; i <= (u64)(50 * times); i++) {
		CHECK(syscall(SYS_getpriority, 0, 0) < 0 && errno == ENOTTY &&
			ntraps == i);
		m->site = i % NSITES;
		put(m, f, 3);
		get(m, r, 7);
	}
	MUST(raise(SIGSYS));
	hot_all_sites(m, f, r, 20);
}

/* Calls of other tables of numbers, out of 64-bit code. */
static void int80(struct me *m)
{
	struct f f = new_file("int80"), sought = new_file("sought"), r = zero_f();
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long n, at;

	CHECK(low != MAP_FAILED);
	for (long i = 0; i < 100 * times; i++) {
		__asm__ volatile("int $0x80"
				 : "=a"(n)
				 : "a"(4), "b"(f.fd), "c"(low), "d"(6)
				 : "memory", "r8", "r9", "r10", "r11");
		CHECK(book(m, WRITE, f, n) == 6);
		__asm__ volatile("int $0x80"
				 : "=a"(n)
				 : "a"(3), "b"(r.fd), "c"(low), "d"(8)
				 : "memory", "r8", "r9", "r10", "r11");
		CHECK(book(m, READ, r, n) == 8);
		at = i * 37 % 500; /* _llseek, whose result is in memory */
		__asm__ volatile("int $0x80"
				 : "=a"(n)
				 : "a"(140), "b"(sought.fd), "c"(0), "d"(at), "S"(low),
				 "D"(SEEK_SET)
				 : "memory", "r8", "r9", "r10", "r11");
		CHECK(!n && *(long *)low == at);
		m->site = i % NSITES;
		put(m, sought, 4);
		place_is(sought, 1, at, 4);
		put(m, f, 5);
		/* Where the kernel has no x32, that is no call. */
		n = syscall(0x40000000 | SYS_write, f.fd, pattern, 2);
		CHECK(n == 2 || (n < 0 && errno == ENOSYS));
		if (n == 2)
			book(m, WRITE, f, n);
	}
}

/* [protect|over]: what lies at 0x70000000 is taken away by who does not know of it. */
static void unmap(struct me *m)
{
	struct f f = new_file("unmap"), r = zero_f();
	void *at = (void *)0x70000000, *p;
	size_t size = 0x10000000;

	for (int i = 0; i < 3 * times; i++) {
		hot_all_sites(m, f, r, 40);
		if (word("protect")) {
			mprotect(at, 4096, PROT_NONE);
			for (char *a = at; a < (char *)at + 0x400000; a += 4096)
				mprotect(a, 4096, PROT_NONE);
		} else if (word("over")) {
			p = mmap(at, size, PROT_READ | PROT_WRITE,
				MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);
			CHECK(p == at);
			memset(p, 'o', 65536);
			hot_all_sites(m, f, r, 10);
			for (int k = 0; k < 65536; k++)
				CHECK(((char *)p)[k] == 'o');
			MUST(munmap(p, size));
		} else {
			MUST(munmap(at, size));
		}
		hot_all_sites(m, f, r, 40);
	}
}

static void *hot_thread(void *f)
{
	struct me m = myself(BY_ASM);

	while (GET(&all->go))
		put_hot(&m, *(struct f *)f, 10);
	return NULL;
}

static void scribble_on(struct me *m, char *maps, int value)
{
	unsigned long from, to;
	char how[8];

	(void)m;
	for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, how) == 3 && how[1] == 'w' &&
			from >= 0x6fff0000 && from < 0x80000000)
			memset((void *)from, value, to - from);
}

static char *read_maps(struct me *m)
{
	static char maps[BUF_SIZE];
	struct f self = open_f("/proc/self/maps", O_RDONLY);
	long n, size = 0;

	while ((n = io(m, READ, self, maps + size, BUF_SIZE - 1 - size)) > 0)
		size += n;
	maps[size] = 0;
	MUST(close(self.fd));
	return maps;
}

/* [protect|drop|fork]: all code that is from no file is taken away, as by who has its own
 * list of what is to be there. */
static void unstub(struct me *m)
{
	struct f f = new_file("unstub"), r = zero_f();
	unsigned long from, to, inode;
	char how[8], path[16];

	hot_all_sites(m, f, r, 40);
	char *maps = read_maps(m);
	for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %15s", &from, &to, how, &inode,
			    path) != 4 ||
			how[2] != 'x' || inode ||
			(from >= 0x6fff0000 && from < 0x80000000))
			continue;
		if (word("protect"))
			MUST(mprotect((void *)from, to - from, PROT_NONE));
		else if (word("drop"))
			MUST(madvise((void *)from, to - from, MADV_DONTNEED));
		else if (word("fork"))
			MUST(madvise((void *)from, to - from, MADV_DONTFORK));
		else
			MUST(munmap((void *)from, to - from));
	}
	pid_t pid = word("fork") ? MUST(fork()) : -1;
	if (!pid) {
		struct me child = myself(BY_ASM);
		hot_all_sites(&child, f, r, 40);
		_exit(0);
	}
	CHECK(pid < 0 || !ended(pid));
	hot_all_sites(m, f, r, 40);
}

/* [threads]: every byte there that can be written is. */
static void scribble(struct me *m)
{
	static const int values[] = { 0, 0xff, 0x41, 0x70, 1 };
	struct f f = new_file("scribble"), r = zero_f();
	pthread_t t = 0;

	SET(&all->go, 1);
	if (word("threads"))
		t = thread_of(hot_thread, &f);
	for (int i = 0; i < 5 * times; i++) {
		hot_all_sites(m, f, r, 40);
		syscall(SYS_setns, -1, 0); /* stops: what was noted until now is read */
		scribble_on(m, read_maps(m), values[i % 5]);
		hot_all_sites(m, f, r, 40);
	}
	SET(&all->go, 0);
	if (t)
		CHECK(!pthread_join(t, NULL));
}
#endif

/* [hot]: little room for memory is left, and what is left is the program's. */
static void limit_as(struct me *m)
{
	struct f f = new_file("limit"), r = zero_f(),
		 self = open_f("/proc/self/maps", O_RDONLY);
	struct rlimit rl = { 64 << 20, 64 << 20 };
	static char maps[1 << 16];
	unsigned long from, to;
	long n, len = 0;

	while ((n = io(m, READ, self, maps + len, (long)sizeof(maps) - 1 - len)) > 0)
		len += n;
	/* What is there without a tracer, which gives back what it has taken. */
	for (char *at = maps; at && sscanf(at, "%lx-%lx", &from, &to) == 2;
		at = strchr(at, '\n'), at += !!at)
		rl.rlim_cur += from >> 28 == 7 && from < 1UL << 31 ? 0 : to - from;
	rl.rlim_max = rl.rlim_cur;
	for (int i = 0; i < 2; i++) {
		if (i)
			MUST(setrlimit(RLIMIT_AS, &rl));
		for (long k = 0; k < (i || word("hot") ? 200 * times : 0); k++) {
			m->site = k % NSITES;
			put(m, f, 3);
			get(m, r, 7);
		}
	}
	CHECK(mmap(NULL, 32 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		MAP_FAILED);
	CHECK(mmap(NULL, 80 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		MAP_FAILED);
}

/* No descriptor is left, while cold; and none is taken. */
static void limit_files(struct me *m)
{
	struct f f = new_file("limit"), r = zero_f();
	struct rlimit rl = { 64, 64 };
	int fd, last = -1;

	MUST(setrlimit(RLIMIT_NOFILE, &rl));
	while ((fd = dup(f.fd)) >= 0)
		last = fd;
	CHECK(errno == EMFILE && last == 63);
	for (long k = 0; k < 300 * times; k++) {
		m->site = k % NSITES;
		put(m, f, 3);
		get(m, r, 7);
	}
	CHECK(dup(f.fd) < 0 && errno == EMFILE);
	MUST(close(40));
	CHECK(dup(f.fd) == 40);
}
