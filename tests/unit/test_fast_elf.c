/*
 * test_fast_elf.c - files that were made to take long
 */
#include <stdio.h>

#ifdef __x86_64__
#include "../../src/source/ptrace/fast/fast.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static struct decoder *decoder;

/*
 * A file made to take long: as many headers, sections and functions as fit, all of them
 * near the call. One answer takes no longer than for the largest of honest files.
 */
static void made_to_take_long(void **state)
{
	enum { SIZE = 1 << 24, SECTIONS = 60000, CALL = SIZE - 64, SYMBOLS = 1 << 23 };
	uint8_t *file = calloc(1, SIZE);
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	struct plan plan;

	(void)state;
	assert_non_null(file);
	*h = (Elf64_Ehdr){ .e_machine = EM_X86_64,
		.e_phoff = sizeof(*h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 256,
		.e_shoff = 1 << 20,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS };
	memcpy(h->e_ident, ELFMAG "\2\1\1", 7);
	Elf64_Phdr *p = (Elf64_Phdr *)(h + 1);
	for (int i = 0; i < h->e_phnum; i++)
		p[i].p_type = PT_GNU_EH_FRAME;
	p[255] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = SIZE };
	Elf64_Shdr *s = (Elf64_Shdr *)(file + h->e_shoff);
	for (int i = 0; i < SECTIONS; i++)
		s[i] = (Elf64_Shdr){ .sh_type = i % 2 ? SHT_SYMTAB : SHT_DYNSYM,
			.sh_offset = SYMBOLS,
			.sh_size = CALL / 2 - 4096 };
	Elf64_Sym *symbol = (Elf64_Sym *)(file + SYMBOLS);
	for (unsigned i = 0; (uint8_t *)(symbol + i + 1) < file + CALL - 4096; i++)
		symbol[i] = (Elf64_Sym){ .st_info = STT_FUNC,
			.st_shndx = 1,
			.st_size = 1 + i % 2,
			.st_value = CALL - 1000 - i % 500 };
	/* The table of the unwinder: what it has is not believed, but looked at. */
	memcpy(file + 16384, "\1\x1b\3\x3b\0\0\0\0\0\0\1\0", 12);
	for (int i = 0; i < 255; i++)
		p[i].p_offset = 16384;
	memcpy(file + CALL, "\x0f\x05", 2);
	struct elf *x = elf_new(decoder, file, SIZE);
	clock_t begin = clock();
	for (int i = 0; i < 4; i++)
		elf_plan(x, CALL + i, &plan);
	assert_true(clock() - begin < 4 * CLOCKS_PER_SEC);
	elf_free(x);
	free(file);
}

/* The C library's own file. */
static const uint8_t *library(size_t *size)
{
	Dl_info info;
	struct stat st;

	assert_true(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && !fstat(fd, &st));
	const uint8_t *file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	close(fd);
	*size = st.st_size;
	return file;
}

static void check_same(const struct plan *a, const struct plan *b)
{
	bool there = a->length && !a->cave, too = b->length && !b->cave;

	assert_int_equal(there, too);
	if (!there)
		return; /* there is less padding than calls that want some */
	assert_int_equal(a->patch, b->patch);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->moved, b->moved);
	assert_int_equal(a->far, b->far);
	assert_memory_equal(a->old, b->old, a->length);
}

/* What is known of one call helps with the next, and changes nothing about it. */
static void same_in_any_order(void **state)
{
	enum { MANY = 4096, ALONE = 8 };
	static uint64_t call[MANY];
	static struct plan up[MANY];
	unsigned n = 0, planned = 0;
	struct plan p;
	size_t size;
	const uint8_t *file = library(&size);
	struct elf *x = elf_new(decoder, file, size), *y = elf_new(decoder, file, size);

	(void)state;
	for (size_t i = 0; i + 1 < size && n < MANY; i++)
		if (file[i] == 0x0f && file[i + 1] == 0x05)
			call[n++] = i;
	assert_true(n > 0);
	for (unsigned i = 0; i < n; i++) {
		memset(&up[i], 0, sizeof(up[i]));
		planned += !elf_plan(x, call[i], &up[i]);
	}
	assert_true(planned > n / 2);
	for (unsigned i = n; i-- > 0;) {
		elf_plan(y, call[i], &p);
		check_same(&up[i], &p);
	}
	for (unsigned i = 0; i < n; i += ALONE) {
		struct elf *z = elf_new(decoder, file, size);
		elf_plan(z, call[i], &p);
		check_same(&up[i], &p);
		elf_free(z);
	}
	elf_free(x);
	elf_free(y);
	munmap((void *)(uintptr_t)file, size);
}

enum { SIZE = 8192, CALL = 4096 + 200 };

/* A function of 32 bytes that a file tells of. */
static void tell(uint8_t *file, uint64_t at)
{
	enum { SECTION = 512, SYMBOL = 1024 };
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;

	h->e_shoff = SECTION;
	h->e_shentsize = sizeof(Elf64_Shdr);
	h->e_shnum = 1;
	*(Elf64_Shdr *)(file + SECTION) = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB, .sh_offset = SYMBOL, .sh_size = sizeof(Elf64_Sym)
	};
	*(Elf64_Sym *)(file + SYMBOL) = (Elf64_Sym){
		.st_info = STT_FUNC, .st_shndx = 1, .st_size = 32, .st_value = at
	};
}

/* The plan of mov %rbx,%rdi; syscall; and what follows, in a file that tells nothing; or
 * of one function, if there is one. */
static int plan_told(const char *tail, size_t len, uint64_t function, struct plan *out)
{
	static uint8_t file[SIZE];
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;

	memset(file, 0x90, sizeof(file));
	*h = (Elf64_Ehdr){ .e_machine = EM_X86_64,
		.e_phoff = sizeof(*h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1 };
	memcpy(h->e_ident, ELFMAG "\2\1\1", 7);
	*(Elf64_Phdr *)(h + 1) = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = SIZE };
	memcpy(file + CALL - 3, "\x48\x89\xdf\x0f\x05", 5);
	memcpy(file + CALL + 2, tail, len);
	if (function)
		tell(file, function);
	struct elf *x = elf_new(decoder, file, SIZE);
	int err = elf_plan(x, CALL, out);
	elf_free(x);
	return err;
}

static int plan_before_tail(const char *tail, size_t len, struct plan *out)
{
	return plan_told(tail, len, 0, out);
}

/* Padding that nothing tells of: only behind what never goes on there. */
static void breakpoints_behind_a_return(void **state)
{
	struct plan p;

	(void)state;
	assert_int_equal(plan_before_tail("\x90\xc3\xcc\xcc\xcc\xcc\xcc\x90", 8, &p), 0);
	assert_int_equal(p.length, 2);
	assert_int_equal(p.cave, 4);
	assert_memory_equal(p.old + 2, "\xcc\xcc\xcc\xcc\xcc", 5);
	assert_int_equal(plan_before_tail("\xeb\xfe\xcc\xcc\xcc\xcc\xcc\xcc", 8, &p), 0);
	assert_int_equal(p.cave, 4);
	assert_true(plan_before_tail("\x90\xc3\xcc\xcc\xcc\xcc\x90", 7, &p) < 0);
	assert_true(plan_before_tail("\x90\x90\xcc\xcc\xcc\xcc\xcc\x90", 8, &p) < 0);
	assert_true(plan_before_tail("\xcc\xcc\xcc\xcc\xcc\xcc\xc3", 7, &p) < 0);
}

/* A program of Go's has some functions of C, which it tells of, elsewhere. */
static void breakpoints_among_functions(void **state)
{
	const char tail[] = "\x90\xc3\xcc\xcc\xcc\xcc\xcc\x90";
	struct plan p;

	(void)state;
	for (uint64_t at = CALL - 1500; at < CALL + 200; at += 1600) {
		assert_int_equal(plan_told(tail, 8, at, &p), 0);
		assert_int_equal(p.cave, 4);
	}
	assert_true(plan_told(tail, 8, CALL - 30, &p) < 0); /* of the call itself */
	assert_true(plan_told(tail, 8, CALL + 4, &p) < 0);  /* of what may be padding */
	assert_true(plan_told(tail, 8, CALL + 8, &p) < 0);
	assert_int_equal(plan_told(tail, 8, CALL + 9, &p), 0);
}

static int begin(void **state)
{
	(void)state;
	decoder = decoder_new();
	return decoder ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(made_to_take_long),
		cmocka_unit_test(breakpoints_behind_a_return),
		cmocka_unit_test(breakpoints_among_functions),
		cmocka_unit_test(same_in_any_order) };

	return cmocka_run_group_tests(tests, begin, end);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
