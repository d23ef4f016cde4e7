/*
 * test_fast_text.c - how call sites are to be changed: in libc, in code of our own, and
 * in what only looks like code
 *
 * The task whose code is looked at is this one.
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* libgcc's: the description of the function around an address, by the unwind table. */
struct dwarf_eh_bases {
	void *tbase, *dbase, *func;
};
extern const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/*
 * Code of our own: in front of each call another instruction. Functions are apart by
 * nothing, so that there is no padding, but for the last two.
 */
/* clang-format off */
#define FUNCTION(name, code)                                                             \
	".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"     \
	code "\nsyscall\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n"

__asm__(".text\n.p2align 4\n"
	FUNCTION(mov_5, "mov $1000, %eax")
	FUNCTION(mov_7, "mov $1000, %rax")
	FUNCTION(mov_load_8, "mov 0x1000(%rsp), %rax")
	FUNCTION(lea_8, "lea 0x1000(%rsp), %rsi")
	FUNCTION(mov_fs_9, "mov %fs:0x28, %rax")
	FUNCTION(movups_7, "movups %xmm0, 0x2d8(%rbx)")
	FUNCTION(mov_rip, "mov hidden_word(%rip), %rax")
	FUNCTION(lea_rip, "lea hidden_word(%rip), %rsi")
	FUNCTION(mov_rip_imm, "movl $7, hidden_word(%rip)")
	FUNCTION(mov_4, "mov 8(%rsp), %eax")
	FUNCTION(branch, "jmp 1f\n.space 2, 0x90\n1:")
	FUNCTION(long_branch, ".byte 0xe9, 0, 0, 0, 0")
	FUNCTION(a_call, ".byte 0xe8, 0, 0, 0, 0")
	FUNCTION(add_5, "add $1000, %eax")
	FUNCTION(first, "")
	FUNCTION(inside, "mov $0x9090050f, %eax")
	".space 300, 0x90\n"
	FUNCTION(by_cave, "xor %eax, %eax")
	".space 12, 0xcc\n"
	FUNCTION(by_cave_2, "xor %eax, %eax")
	".space 3, 0x90\n"
	FUNCTION(by_cave_3, "xor %eax, %eax")
	".space 300, 0x90\n"
	"hidden_word: .quad 0\n");
/* clang-format on */

extern const uint8_t mov_5[], mov_7[], mov_load_8[], lea_8[], mov_fs_9[], movups_7[],
	mov_rip[], lea_rip[], mov_rip_imm[], mov_4[], branch[], long_branch[], a_call[],
	add_5[], first[], inside[], by_cave[], by_cave_2[], by_cave_3[];

static struct texts texts;

static int stop(void **state)
{
	(void)state;
	texts_fini(&texts);
	return 0;
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static const uint8_t *memory(uint64_t at)
{
	return (const uint8_t *)(uintptr_t)at;
}

static bool is_call(const uint8_t *p)
{
	return p[0] == 0x0f && p[1] == 0x05;
}

/* As at a new stop: what is mapped may be something else by now. */
static int plan_again(struct space *space, uint64_t at, struct plan *p)
{
	memset(p, 0, sizeof(*p));
	maps_forget(&texts.maps);
	return text_plan(&texts, space, getpid(), at, p);
}

static int plan_at(uint64_t at, struct plan *p)
{
	struct space fresh = { .refs = 1 };

	return plan_again(&fresh, at, p);
}

/* Of the only call of a function of ours: it is before the ret. */
static int plan_of(const uint8_t *function, struct plan *p)
{
	const uint8_t *call = function;

	while (!is_call(call) || call[2] != 0xc3)
		call++;
	return plan_at(address(call), p);
}

/* The function of an address, by the table that unwinding uses; 0: in none. */
static uint64_t function_at(uint64_t at)
{
	struct dwarf_eh_bases bases;

	return _Unwind_Find_FDE((void *)(uintptr_t)at, &bases) ? address(bases.func) : 0;
}

/* Decode from there up to a call: the instruction before it. false: it is not met. */
static bool decode(uint64_t from, uint64_t call, uint64_t *prev,
	ZydisDecodedInstruction *in, ZydisDecodedOperand *operand)
{
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	*prev = 0;
	for (uint64_t at = from; at < call; at += in->length) {
		*prev = at;
		if (ZYAN_FAILED(
			    ZydisDecoderDecodeFull(&d, memory(at), 15, in, operand)) ||
			(at + in->length > call))
			return false;
	}
	return true;
}

static void check_moved(uint64_t from, uint64_t call, const struct plan *p)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t prev;

	assert_true(decode(from, call, &prev, &in, operand));
	assert_int_equal(call + p->patch, prev);
	assert_int_equal(p->length, in.length);
	assert_int_equal(p->moved, in.length);
	assert_true(in.length >= 5);
	assert_memory_equal(p->old, memory(prev), in.length);
	assert_true(in.mnemonic == ZYDIS_MNEMONIC_MOV ||
		    in.mnemonic == ZYDIS_MNEMONIC_LEA ||
		    in.mnemonic == ZYDIS_MNEMONIC_MOVUPS ||
		    in.mnemonic == ZYDIS_MNEMONIC_MOVAPS);
	assert_int_equal(!!(in.attributes & ZYDIS_ATTRIB_IS_RELATIVE), p->far);
	int32_t last;
	memcpy(&last, p->old + p->moved - 4, 4);
	for (int i = 0; i < in.operand_count && p->far; i++)
		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			assert_int_equal(operand[i].mem.disp.value, last);
}

/* Five bytes in no function, that are never run. */
static void check_cave(uint64_t call, const struct plan *p)
{
	uint64_t cave = call + p->cave;
	int distance = p->cave - 2;

	assert_int_equal(p->length, 2);
	assert_int_equal(p->patch, 0);
	assert_int_equal(p->moved, 0);
	assert_in_range(distance + 128, 0, 255);
	assert_memory_equal(p->old, "\x0f\x05", 2);
	assert_memory_equal(p->old + 2, memory(cave), 5);
	for (uint64_t at = cave; at < cave + 5; at++) {
		const ElfW(Sym) *symbol = NULL;
		Dl_info info;
		if (function_at(at))
			fail_msg("cave in a function");
		if (dladdr1(memory(at), &info, (void **)&symbol, RTLD_DL_SYMENT) &&
			symbol)
			assert_true(at >= address(info.dli_saddr) + symbol->st_size);
	}
}

static void check(uint64_t from, uint64_t call, const struct plan *p)
{
	if (p->cave)
		check_cave(call, p);
	else
		check_moved(from, call, p);
}

/* The function itself: a sanitizer has one of its own under that name. */
static void *libc_function(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *f = dlsym(libc ? libc : RTLD_DEFAULT, name);

	assert_non_null(f);
	if (libc)
		dlclose(libc);
	return f;
}

/* A function of libc: at least so many of its calls can be patched. */
static void check_function(const char *name, int least)
{
	void *f = libc_function(name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;
	int n = 0;

	assert_true(dladdr1(f, &info, (void **)&symbol, RTLD_DL_SYMENT));
	assert_non_null(symbol);
	for (uint64_t at = address(f); at + 1 < address(f) + symbol->st_size; at++) {
		struct plan p;
		if (!is_call(memory(at)) || plan_at(at, &p) < 0)
			continue;
		check(address(f), at, &p);
		n++;
	}
	if (n < least)
		fail_msg("%s: %d calls", name, n);
}

static void libc_functions(void **state)
{
	(void)state;
	check_function("read", 1);
	check_function("write", 1);
	check_function("pread64", 1);
	check_function("openat", 1);
	check_function("close", 1);
	check_function("clone", 1); /* its description ends before the call */
}

/* The code of libc in memory. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *out)
{
	uint64_t read_at = address(libc_function("read")), *range = out;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && read_at >= from &&
			read_at < from + p->p_memsz) {
			range[0] = from;
			range[1] = from + p->p_filesz;
			return 1;
		}
	}
	return 0;
}

/* All of libc: what has a plan keeps to the rules, and no two want the same bytes. */
static void all_of_libc(void **state)
{
	uint64_t range[2];
	unsigned n = 0, planned = 0;

	(void)state;
	assert_int_equal(dl_iterate_phdr(find_libc, range), 1);
	uint8_t *taken = calloc(1, range[1] - range[0]);
	assert_non_null(taken);
	for (uint64_t at = range[0]; at + 1 < range[1]; at++) {
		struct plan p;
		uint64_t from = function_at(at);
		if (!is_call(memory(at)))
			continue;
		n += from != 0;
		if (plan_at(at, &p) < 0)
			continue;
		if (from)
			check(from, at, &p);
		uint64_t begin = at + (p.cave ? p.cave : p.patch);
		for (uint64_t i = begin; i < begin + (p.cave ? 5 : p.length); i++)
			assert_int_equal(taken[i - range[0]]++, 0);
		planned++;
	}
	free(taken);
	if (planned < n / 2)
		fail_msg("%u of %u calls have a plan", planned, n);
}

static void movable(void **state)
{
	static const struct {
		const uint8_t *function;
		int length;
	} of[] = { { mov_5, 5 }, { mov_7, 7 }, { mov_load_8, 8 }, { lea_8, 8 },
		{ mov_fs_9, 9 }, { movups_7, 7 }, { mov_rip, 7 }, { lea_rip, 7 } };
	struct plan p;

	(void)state;
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		assert_int_equal(plan_of(of[i].function, &p), 0);
		assert_int_equal(p.length, of[i].length);
		check_moved(address(of[i].function),
			address(of[i].function) + of[i].length, &p);
	}
}

static void not_movable(void **state)
{
	static const uint8_t *const of[] = { mov_rip_imm, mov_4, branch, long_branch,
		a_call, add_5, first };
	struct plan p;

	(void)state;
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!plan_of(of[i], &p))
			fail_msg("number %u has a plan", i);
}

/* Bytes of a call within another instruction, or with it in the wrong place. */
static void not_an_instruction(void **state)
{
	struct plan p;

	(void)state;
	assert_true(is_call(inside + 1));
	assert_true(plan_at(address(inside) + 1, &p) < 0);
	assert_int_equal(plan_of(inside, &p), 0);
	assert_true(plan_at(address(mov_5), &p) < 0);
	assert_true(plan_at(address(mov_5) + 6, &p) < 0);
	assert_true(plan_at(address(mov_5) + 1, &p) < 0);
}

static void caves(void **state)
{
	struct plan a, b, c, again;

	(void)state;
	assert_int_equal(plan_of(by_cave, &a), 0);
	assert_int_equal(plan_of(by_cave_2, &b), 0);
	check_cave(address(by_cave) + 2, &a);
	check_cave(address(by_cave_2) + 2, &b);
	assert_true(address(by_cave) + a.cave != address(by_cave_2) + b.cave);
	/* Twelve bytes are room for two. */
	assert_true(plan_of(by_cave_3, &c) < 0);
	assert_int_equal(plan_of(by_cave, &again), 0);
	assert_memory_equal(&a, &again, sizeof(a));
}

static void anonymous(void **state)
{
	uint8_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct plan p;

	(void)state;
	if (m == MAP_FAILED)
		skip();
	memcpy(m, mov_5, 8);
	assert_int_equal(plan_at(address(m) + 5, &p), -EACCES);
	mprotect(m, 4096, PROT_READ | PROT_EXEC);
	assert_int_equal(plan_at(address(m) + 5, &p), -EACCES);
	munmap(m, 4096);
	assert_int_equal(plan_at(address(m) + 5, &p), -EFAULT);
}

/* The file that an address is mapped from, mapped once more; to: where that address is.
 */
static uint8_t *map_again(const void *what, uint64_t *to, size_t *size)
{
	Dl_info info;
	struct stat st;
	struct link_map *map;

	assert_true(dladdr1(what, &info, (void **)&map, RTLD_DL_LINKMAP));
	int fd = open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	uint8_t *m = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(m != MAP_FAILED);
	close(fd);
	*size = st.st_size;
	const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)m;
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(m + h->e_phoff);
	uint64_t at = address(what) - map->l_addr;
	for (int i = 0; i < h->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && at >= ph[i].p_vaddr &&
			at - ph[i].p_vaddr < ph[i].p_filesz)
			*to = address(m) + at - ph[i].p_vaddr + ph[i].p_offset;
	return m;
}

/* A copy that was changed in memory is not what was looked at in the file. */
static void changed(void **state)
{
	struct plan p;
	uint64_t at = 0;
	size_t size;
	uint8_t *m = map_again(mov_5, &at, &size);
	uint64_t page = at / 4096 * 4096;

	(void)state;
	assert_int_equal(plan_at(at + 5, &p), 0);
	check_moved(at, at + 5, &p);
	mprotect((void *)(uintptr_t)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_int_equal(plan_at(at + 5, &p), -EACCES);
	((uint8_t *)(uintptr_t)at)[1] ^= 1;
	mprotect((void *)(uintptr_t)page, 4096, PROT_READ | PROT_EXEC);
	assert_int_equal(plan_at(at + 5, &p), -ESTALE);
	munmap(m, size);
}

/* The same of padding: somebody else has put a jump there. */
static void changed_cave(void **state)
{
	struct plan p;
	uint64_t at = 0;
	size_t size;
	uint8_t *m = map_again(by_cave, &at, &size);

	(void)state;
	assert_int_equal(plan_at(at + 2, &p), 0);
	uint64_t cave = at + 2 + p.cave, page = cave / 4096 * 4096;
	mprotect((void *)(uintptr_t)page, 8192, PROT_READ | PROT_WRITE);
	*(uint8_t *)(uintptr_t)cave = 0xe9;
	mprotect((void *)(uintptr_t)page, 8192, PROT_READ | PROT_EXEC);
	assert_int_equal(plan_at(at + 2, &p), -ESTALE);
	munmap(m, size);
}

/* An address space remembers where code was: not for longer than it is there. */
static void remembered(void **state)
{
	struct space *space = space_new();
	struct plan p, again;
	uint64_t at = 0;
	size_t size;
	uint8_t *m = map_again(mov_5, &at, &size);

	(void)state;
	assert_int_equal(plan_at(at + 5, &p), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(plan_again(space, at + 5, &again), 0);
		assert_memory_equal(&p, &again, sizeof(p));
		assert_int_equal(plan_again(space, address(mov_7) + 7, &again), 0);
		assert_true(plan_again(space, address(space), &again) < 0);
	}
	munmap(m, size);
	assert_int_equal(plan_again(space, at + 5, &again), -EFAULT);
	uint8_t *other = mmap(m, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(other, m);
	assert_int_equal(plan_again(space, at + 5, &again), -EACCES);
	munmap(m, size);
	space_put(space);
}

/* What is foreseen of the C library are calls, of those wanted, that can be patched. */
static void foreseen(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const uint64_t library = (uintptr_t)dlsym(libc ? libc : RTLD_DEFAULT, "read");
	struct space here = { .refs = 1 }, ours = { .refs = 1 };
	struct plan many[TEXT_MET], one;
	bool wanted[NSHAPES] = { false };
	uint64_t call[TEXT_MET];
	int own = 0;

	(void)state;
	wanted[SYS_read] = wanted[SYS_write] = wanted[SYS_lseek] = true;
	maps_forget(&texts.maps);
	assert_true(text_look(&texts, &here, getpid(), library));
	assert_int_equal(text_met_before(&here, library, call), 0);
	text_foresee(&texts, &ours, address((const uint8_t *)&own), 4096, 4096, wanted);
	text_foresee(&texts, &ours, 0, 4096, 4096, wanted);
	assert_int_equal(text_met_before(&here, library, call), 0);
	for (int i = 0; i < 2; i++)
		text_foresee(&texts, &ours, library, 0x2000, 0x6000, wanted);
	unsigned n = text_met_before(&here, library, call);
	assert_in_range(n, 3, 12);
	text_plans(&texts, &here, getpid(), call, n, many);
	for (unsigned i = 0; i < n; i++) {
		assert_true(is_call(memory(call[i])));
		assert_int_equal(plan_again(&here, call[i], &one), 0);
		assert_memory_equal(&many[i], &one, sizeof(one));
	}
}

/* What one has met others are told of, once: where they have the same file. */
static void met(void **state)
{
	struct space one = { .refs = 1 }, other = { .refs = 1 };
	struct plan plan[3];
	uint64_t at = 0, call[TEXT_MET];
	size_t size;
	uint8_t *m = map_again(mov_5, &at, &size);
	const uint64_t mine = address(mov_5), cave = address(by_cave) + 2;

	(void)state;
	maps_forget(&texts.maps);
	text_met(&one, mine + 5); /* nobody has looked */
	assert_true(text_look(&texts, &one, getpid(), mine));
	assert_false(text_look(&texts, &one, getpid(), mine + 5));
	assert_false(text_look(&texts, &one, getpid(), address(&size)));
	for (int i = 0; i < 2; i++) {
		text_met(&one, mine + 5);
		text_met(&one, cave);
		text_met(&one, mine + 4); /* no call: there is no plan */
	}
	assert_int_equal(text_met_before(&other, at, call), 0);
	assert_true(text_look(&texts, &other, getpid(), at));
	assert_int_equal(text_met_before(&other, at, call), 3);
	assert_int_equal(call[0], at + 5);
	assert_int_equal(call[1], at + (cave - mine));
	text_plans(&texts, &other, getpid(), call, 3, plan);
	check_moved(at, at + 5, &plan[0]);
	check_cave(cave, &plan[1]);
	assert_int_equal(plan[2].length, 0);
	munmap(m, size);
}

/* Memory that is shared with a file is everybody's. */
static void shared(void **state)
{
	char path[] = "/tmp/iops-text-XXXXXX";
	int fd = mkstemp(path);
	struct plan p;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, mov_5, 8), 8);
	uint8_t *m = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (m != MAP_FAILED) { /* noexec */
		assert_int_equal(plan_at(address(m) + 5, &p), -EACCES);
		munmap(m, 4096);
	}
	m = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (m != MAP_FAILED) {
		assert_int_equal(plan_at(address(m) + 5, &p), -ENOEXEC);
		munmap(m, 4096);
	}
	close(fd);
	unlink(path);
}

#define TEST(f) cmocka_unit_test_teardown(f, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(libc_functions),
		TEST(all_of_libc),
		TEST(movable),
		TEST(not_movable),
		TEST(not_an_instruction),
		TEST(caves),
		TEST(anonymous),
		TEST(changed),
		TEST(changed_cave),
		TEST(foreseen),
		TEST(met),
		TEST(remembered),
		TEST(shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
