/*
 * elf.c - where code can be changed, and how, by the bytes of its file
 *
 * One whole instruction is replaced by one of the same length and nothing else is moved,
 * so no thread can stand in the middle of what changes, and whatever jumps to the system
 * call still finds it:
 *
 * - the instruction before the call has five bytes or more and means the same elsewhere:
 *   it becomes a jump, and the stub repeats it;
 * - else the call itself, two bytes, becomes a short jump to padding between functions
 *   that is near, and a long jump goes there.
 *
 * What is an instruction, and what is padding, is known by decoding from the beginning
 * of the function, and that from the unwind table (Linux Standard Base, .eh_frame_hdr)
 * and the symbols (elf(5)) of the file. It may be anybody's: no field is believed, and
 * what one call costs is bounded.
 */
#include "fast.h"
#include "decoder.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t from, to;
};

struct elf {
	const struct decoder *decoder;
	const uint8_t *file;
	size_t size;
	struct range *function;
	size_t nfunctions;
	bool unwound;       /* the function at hand is by the unwind table */
	struct range swept; /* the last function, and the last instruction decoded */
	struct plans plans;
};

enum { JUMP = 5, REACH = 127, MAX_GAP = 64, BREAKPOINT = 0xcc };
enum { MAX_HEADERS = 256, MAX_FUNCTIONS = 1 << 16 };

static bool within(const struct elf *x, uint64_t at, uint64_t len)
{
	return at <= x->size && len <= x->size - at;
}

static int add_range(struct elf *x, uint64_t from, uint64_t len)
{
	if (!len || from + len < from)
		return 0;
	if (x->nfunctions == MAX_FUNCTIONS)
		return -ENOEXEC;
	if (!(x->nfunctions & (x->nfunctions - 1))) {
		size_t cap = x->nfunctions ? 2 * x->nfunctions : 1;
		struct range *more = realloc(x->function, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		x->function = more;
	}
	x->function[x->nfunctions++] = (struct range){ from, from + len };
	return 0;
}

/* Assembler code has names, but not always sizes: up to the next name, to be found later.
 */
static int add_label(struct elf *x, uint64_t at)
{
	return add_range(x, at, 1);
}

static const Elf64_Phdr *headers(const struct elf *x, unsigned *n)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)x->file;

	*n = 0;
	if (x->size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
		h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
		h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % 8 ||
		h->e_phnum > MAX_HEADERS ||
		!within(x, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
		return NULL;
	*n = h->e_phnum;
	return (const Elf64_Phdr *)(x->file + h->e_phoff);
}

/* The file offset of an address, or of no use: beyond the file. */
static uint64_t offset_of(const struct elf *x, uint64_t address)
{
	unsigned n;
	const Elf64_Phdr *p = headers(x, &n);

	for (unsigned i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
			address - p[i].p_vaddr < p[i].p_filesz)
			return p[i].p_offset + (address - p[i].p_vaddr);
	return UINT64_MAX;
}

static int32_t word_at(const struct elf *x, uint64_t at)
{
	int32_t w;

	memcpy(&w, x->file + at, 4);
	return w;
}

/* Functions are looked for this far before a call, most of them are nearer, and behind
 * it. */
enum { BEFORE = 1 << 16, JUST_BEFORE = 1 << 10, BEHIND = 256 };

/* Around which address, and how far before it. */
struct around {
	uint64_t address, before;
};

static bool is_near(uint64_t from, const struct around *a)
{
	return from <= a->address + BEHIND && from + a->before > a->address;
}

/*
 * The search table of .eh_frame_hdr, as every linker writes it: version 1, pointers
 * relative to the header in four bytes (0x3b). An entry leads to a description that
 * holds the first address, relative to itself, and the length (0x1b).
 */
static int read_unwind(struct elf *x, const Elf64_Phdr *p, const struct around *a)
{
	uint64_t at = p->p_offset;

	if (!within(x, at, 12) || x->file[at] != 1 || x->file[at + 2] != 0x03 ||
		x->file[at + 3] != 0x3b)
		return 0;
	uint64_t n = (uint32_t)word_at(x, at + 8), lo = 0, hi = n;
	if (!within(x, at + 12, n * 8))
		return 0;
	while (lo < hi) {
		uint64_t mid = (lo + hi) / 2;
		if (p->p_vaddr + word_at(x, at + 12 + 8 * mid) + a->before > a->address)
			hi = mid;
		else
			lo = mid + 1;
	}
	/* The one around it may begin further away. */
	if (lo && (lo == n || p->p_vaddr + word_at(x, at + 12 + 8 * lo) > a->address))
		lo--;
	/* And the one before, which tells where the gap before the first begins. */
	for (uint64_t i = lo ? lo - 1 : 0; i < n && i < lo + MAX_FUNCTIONS; i++) {
		uint64_t entry = at + 12 + 8 * i;
		uint64_t from = p->p_vaddr + word_at(x, entry);
		uint64_t fde = p->p_vaddr + word_at(x, entry + 4);
		uint64_t in_file = offset_of(x, fde);
		if (i >= lo && from > a->address + BEHIND)
			break;
		if (!within(x, in_file, 16) || fde + 8 + word_at(x, in_file + 8) != from)
			continue;
		int err = add_range(x, from, (uint32_t)word_at(x, in_file + 12));
		if (err < 0)
			return err;
	}
	return 0;
}

static int read_table(struct elf *x, const Elf64_Shdr *s, const struct around *a)
{
	if (!within(x, s->sh_offset, s->sh_size) || s->sh_offset % 8)
		return 0;
	const Elf64_Sym *sym = (const Elf64_Sym *)(x->file + s->sh_offset);
	for (uint64_t n = 0; n < s->sh_size / sizeof(*sym); n++) {
		int type = ELF64_ST_TYPE(sym[n].st_info);
		if ((type != STT_FUNC && type != STT_NOTYPE) || !sym[n].st_shndx ||
			!is_near(sym[n].st_value, a))
			continue;
		int err = sym[n].st_size ? add_range(x, sym[n].st_value, sym[n].st_size)
					 : add_label(x, sym[n].st_value);
		if (err < 0)
			return err;
	}
	return 0;
}

/* A file has one table of each kind; more of them are not worth the time they take. */
static int read_symbols(struct elf *x, const struct around *a)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)x->file;
	bool seen[SHT_DYNSYM + 1] = { false };
	int err = 0;

	if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
		!within(x, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
		return 0;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(x->file + h->e_shoff);
	for (unsigned i = 0; i < h->e_shnum && !err; i++) {
		uint32_t type = s[i].sh_type;
		if ((type != SHT_SYMTAB && type != SHT_DYNSYM) || seen[type])
			continue;
		seen[type] = true;
		err = read_table(x, &s[i], a);
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static const struct range *function_of(const struct elf *x, uint64_t at)
{
	for (size_t i = x->nfunctions; i-- > 0;)
		if (at >= x->function[i].from && at < x->function[i].to)
			return &x->function[i];
	return NULL;
}

/* What tells how to unwind ends before a call that begins a thread: where that returns to
 * the other side there is nothing to go back to. The function goes on. */
static const struct range *function_before(const struct elf *x, uint64_t at)
{
	enum { NEAR = 4 };

	for (size_t i = x->nfunctions; i-- > 0;)
		if (at >= x->function[i].to && at - x->function[i].to <= NEAR)
			return &x->function[i];
	return NULL;
}

/* The functions around an address, sorted. Symbols are of use where nothing unwinds. */
static int read_functions(struct elf *x, const struct around *a)
{
	unsigned n;
	const Elf64_Phdr *p = headers(x, &n);
	int err = p ? 0 : -ENOEXEC;

	x->nfunctions = 0;
	for (unsigned i = 0; i < n; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME) {
			err = read_unwind(x, &p[i], a);
			break;
		}
	x->unwound = !err && function_of(x, a->address);
	if (!err && !x->unwound)
		err = read_symbols(x, a);
	if (x->nfunctions)
		qsort(x->function, x->nfunctions, sizeof(*x->function), by_start);
	for (size_t i = 0; i + 1 < x->nfunctions; i++)
		if (x->function[i].to == x->function[i].from + 1)
			x->function[i].to = x->function[i + 1].from;
	return err;
}

/*
 * Decode from the start of the function, or from where it was decoded to for another
 * call. Offsets in the file; the instruction before the call, or -ENOEXEC if the call is
 * not where an instruction begins.
 */
static int before(struct elf *x, uint64_t from, uint64_t call, uint64_t *prev,
	ZydisDecodedInstruction *in, ZydisDecodedOperand *operand)
{
	const struct decoder *d = x->decoder;

	if (!within(x, from, call + 2 - from) || from > call)
		return -ENOEXEC;
	*prev = 0;
	in->length = 0;
	uint64_t at = x->swept.from == from && x->swept.to < call ? x->swept.to : from;
	for (; at != call; at += in->length) {
		if (at > call || !decode(d, &d->quick, x->file + at, x->size - at, in))
			return -ENOEXEC;
		*prev = at;
	}
	if (x->file[call] != 0x0f || x->file[call + 1] != 0x05)
		return -ENOEXEC;
	if (!*prev)
		return 0;
	x->swept = (struct range){ from, *prev };
	return ZYAN_FAILED(d->lib.ZydisDecoderDecodeFull(
		       &d->whole, x->file + *prev, call - *prev, in, operand))
		       ? -ENOEXEC
		       : 0;
}

/*
 * Where nothing tells of functions: wherever decoding begins, it soon falls into step.
 * Many beginnings that all come to the call by the same instruction are as good.
 */
static int before_by_vote(struct elf *x, uint64_t call, uint64_t *prev,
	ZydisDecodedInstruction *in, ZydisDecodedOperand *operand)
{
	enum { FAR = 96, NEAR = 48, ENOUGH = 24 };
	unsigned votes = 0;
	uint64_t found = 0;

	for (uint64_t back = NEAR; back < FAR && back < call; back++) {
		if (before(x, call - back, call, prev, in, operand) < 0)
			continue;
		if (votes++ && *prev != found)
			return -ENOEXEC;
		found = *prev;
	}
	return votes >= ENOUGH ? before(x, call - NEAR, call, prev, in, operand)
			       : -ENOEXEC;
}

/* Whether it does the same at any address; far: if its last four bytes are adapted. */
static bool is_movable(
	const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operand, bool *far)
{
	*far = false;
	if (in->length < JUMP || in->length > sizeof(((struct plan *)0)->old))
		return false;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPS:
		break;
	default:
		return false;
	}
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (operand[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (operand[i].mem.base == ZYDIS_REGISTER_EIP)
			return false;
		*far |= operand[i].mem.base == ZYDIS_REGISTER_RIP;
	}
	return !*far || (in->raw.disp.size == 32 && !in->raw.imm[0].size &&
				in->raw.disp.offset + 4 == in->length);
}

/* Nothing but no-operations and breakpoints. */
static bool is_padding(const struct elf *x, uint64_t at, uint64_t len)
{
	const struct decoder *d = x->decoder;
	ZydisDecodedInstruction in;
	uint64_t end = at + len;

	while (at < end) {
		if (!decode(d, &d->whole, x->file + at, end - at, &in) ||
			(in.mnemonic != ZYDIS_MNEMONIC_NOP &&
				in.mnemonic != ZYDIS_MNEMONIC_INT3))
			return false;
		at += in.length;
	}
	return true;
}

/* Five bytes of a gap that no other call uses, beside: in the call's page; 0: none. */
static uint64_t room_in(
	struct elf *x, uint64_t from, uint64_t to, uint64_t call, bool beside)
{
	for (uint64_t at = from; at + JUMP <= to; at += JUMP) {
		int64_t jump = (int64_t)(at - (call + 2));
		if (jump < -REACH - 1 || jump > REACH ||
			(beside && (at >> 12 != call >> 12 ||
					   (at + JUMP - 1) >> 12 != call >> 12)))
			continue;
		if (plans_take(&x->plans, at, call))
			return at;
	}
	return 0;
}

/* Padding between two functions within reach of a short jump. All in file offsets. */
static uint64_t find_cave(struct elf *x, uint64_t call, int64_t to_address, bool beside)
{
	uint64_t lowest = call + to_address - 200, highest = call + to_address + 200;
	uint64_t end = 0;

	for (size_t i = 0; i < x->nfunctions && x->function[i].from < highest; i++) {
		const struct range *f = &x->function[i];
		if (end && f->from > end && f->from - end <= MAX_GAP && end > lowest) {
			uint64_t from = end - to_address, to = f->from - to_address;
			if (within(x, from, to - from) &&
				is_padding(x, from, to - from)) {
				uint64_t cave = room_in(x, from, to, call, beside);
				if (cave)
					return cave;
			}
		}
		if (f->to > end)
			end = f->to;
	}
	return 0;
}

/*
 * Where nothing tells of functions: breakpoints in a row, behind a return or a jump that
 * is not far behind the call. So a stripped program of Go's is padded, with or without
 * functions of C, which are told of, not far from it.
 */
static uint64_t find_breakpoints(struct elf *x, uint64_t call, int64_t to_address)
{
	const struct decoder *d = x->decoder;
	ZydisDecodedInstruction in = { .mnemonic = ZYDIS_MNEMONIC_INVALID };
	uint64_t at = call + 2, end = at + REACH + JUMP;

	for (; at < end && within(x, at, 1) && x->file[at] != BREAKPOINT; at += in.length)
		if (!decode(d, &d->quick, x->file + at, x->size - at, &in))
			return 0;
	if (in.mnemonic != ZYDIS_MNEMONIC_RET && in.mnemonic != ZYDIS_MNEMONIC_JMP)
		return 0;
	uint64_t to = at;
	while (to < end && within(x, to, 1) && x->file[to] == BREAKPOINT &&
		!function_of(x, to + to_address))
		to++;
	return room_in(x, at, to, call, false);
}

/* What to add to an offset in the file to have its address; false: it is not mapped. */
static bool address_of(const struct elf *x, uint64_t offset, int64_t *to_address)
{
	unsigned n;
	const Elf64_Phdr *p = headers(x, &n);

	for (unsigned i = n; i-- > 0;)
		if (p[i].p_type == PT_LOAD && offset >= p[i].p_offset &&
			offset - p[i].p_offset < p[i].p_filesz) {
			*to_address = (int64_t)(p[i].p_vaddr - p[i].p_offset);
			return true;
		}
	return false;
}

/* By replacing the instruction before it. false: that cannot be. */
static bool plan_before(const struct elf *x, uint64_t call, uint64_t prev,
	const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operand,
	struct plan *p)
{
	bool far;

	if (!prev || !is_movable(in, operand, &far))
		return false;
	p->far = far;
	p->patch = (int16_t)(prev - call);
	p->length = p->moved = in->length;
	memcpy(p->old, x->file + prev, in->length);
	return true;
}

/* By a jump to one. Both are best brought back at once, where a program does that. */
static bool plan_cave(struct elf *x, uint64_t call, int64_t to_address, struct plan *p)
{
	uint64_t cave = find_cave(x, call, to_address, true);

	if (!cave)
		cave = find_cave(x, call, to_address, false);
	if (!cave && !function_of(x, call + to_address))
		cave = find_breakpoints(x, call, to_address);
	if (!cave)
		return false;
	p->cave = (int16_t)(cave - call);
	p->length = 2;
	memcpy(p->old, x->file + call, 2);
	memcpy(p->old + 2, x->file + cave, JUMP);
	return true;
}

/*
 * By what is just around a call: nearly all are found so. What unwinds tells of all
 * functions there, and of where the one before ends: then there is no more to be found
 * further away. -EAGAIN: it takes another look.
 */
static int plan_soon(struct elf *x, uint64_t call, int64_t to_address, struct plan *p)
{
	const struct around a = { call + to_address, JUST_BEFORE };
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t prev;

	if (read_functions(x, &a) < 0)
		return -EAGAIN;
	const struct range *f = function_of(x, a.address);
	if (!f || (int64_t)f->from < to_address)
		return -EAGAIN;
	if (before(x, f->from - to_address, call, &prev, &in, operand) < 0)
		return x->unwound ? -ENOEXEC : -EAGAIN;
	if (plan_before(x, call, prev, &in, operand, p))
		return 0;
	if (!x->unwound)
		return -EAGAIN;
	return plan_cave(x, call, to_address, p) ? 0 : -ENOSPC;
}

/* Whether a plan takes little time: it is decoded from where the function begins, which
 * is not far before. Where nothing near tells of functions calls are few. */
bool elf_is_quick(struct elf *x, uint64_t call)
{
	enum { FAR = 256 };
	int64_t to_address;
	struct around a = { .before = JUST_BEFORE };

	if (!address_of(x, call, &to_address))
		return false;
	a.address = call + to_address;
	bool known = read_functions(x, &a) >= 0;
	const struct range *f = known ? function_of(x, a.address) : NULL;
	if (known && !f) /* few, but who makes threads makes many */
		f = function_before(x, a.address);
	return f ? a.address - f->from <= FAR : !x->nfunctions;
}

/* Make the plan for the call at a file offset. */
static int make_plan(struct elf *x, uint64_t call, struct plan *p)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	int64_t to_address;
	uint64_t prev;

	*p = (struct plan){ .length = 0 };
	if (!x->decoder || !address_of(x, call, &to_address))
		return -ENOEXEC;
	int err = plan_soon(x, call, to_address, p);
	if (err != -EAGAIN)
		return err;
	const struct around a = { call + to_address, BEFORE };
	err = read_functions(x, &a);
	if (err < 0)
		return err;
	const struct range *f = function_of(x, call + to_address);
	if (!f)
		f = function_before(x, call + to_address);

	if (f && (int64_t)f->from < to_address)
		return -ENOEXEC;
	err = f ? before(x, f->from - to_address, call, &prev, &in, operand)
		: before_by_vote(x, call, &prev, &in, operand);
	if (err < 0)
		return err;
	return plan_before(x, call, prev, &in, operand, p) ||
			       plan_cave(x, call, to_address, p)
		       ? 0
		       : -ENOSPC;
}

/* The plan of a call once made, or why there is none. */
int elf_plan(struct elf *x, uint64_t call, struct plan *out)
{
	const struct plan *p = plans_get(&x->plans, call);

	if (!p) {
		struct plan made;
		if (make_plan(x, call, &made) < 0)
			made.length = 0;
		p = plans_add(&x->plans, call, &made);
		if (!p)
			return -ENOMEM;
	}
	*out = *p;
	return out->length ? 0 : -ENOEXEC;
}

/* Without them only what is known can be asked. */
void elf_bytes(struct elf *x, const uint8_t *file)
{
	x->file = file;
}

bool elf_knows(struct elf *x, uint64_t call)
{
	return plans_get(&x->plans, call);
}

void elf_learn(struct elf *x, const struct elf *from)
{
	plans_learn(&x->plans, &from->plans);
}

struct elf *elf_new(const struct decoder *d, const uint8_t *file, size_t size)
{
	struct elf *x = calloc(1, sizeof(*x));

	if (x) {
		x->decoder = d;
		x->file = file;
		x->size = size;
	}
	return x;
}

void elf_free(struct elf *x)
{
	if (!x)
		return;
	plans_fini(&x->plans);
	free(x->function);
	free(x);
}
