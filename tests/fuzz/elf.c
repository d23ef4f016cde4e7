/*
 * elf.c - fuzz the search for what can be changed in a file of code
 *
 * Every call that the file seems to make is planned, twice: the second answer must be
 * the first. A plan keeps to what patch.c builds on.
 */
#include "../../src/source/ptrace/fast/fast.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { CALLS = 16, JUMP = 5 };

/* What is going to be written over. */
struct change {
	uint64_t from, len;
};

struct rig {
	const uint8_t *bytes;
	size_t len;
	struct change change[2 * CALLS];
	unsigned n;
};

/* It is in the file, it is what the plan says, and no other plan wants it. */
static void add(struct rig *r, uint64_t from, uint64_t len, const uint8_t *old)
{
	FUZZ_CHECK(from < r->len && len <= r->len - from);
	FUZZ_CHECK(!memcmp(r->bytes + from, old, len));
	for (unsigned i = 0; i < r->n; i++)
		FUZZ_CHECK(from >= r->change[i].from + r->change[i].len ||
			   from + len <= r->change[i].from);
	r->change[r->n++] = (struct change){ from, len };
}

static void check(struct rig *r, uint64_t call, const struct plan *p)
{
	if (!p->cave) {
		FUZZ_CHECK(p->length >= JUMP && p->length <= sizeof(p->old));
		FUZZ_CHECK(p->moved == p->length && p->patch == -p->length);
		add(r, call + p->patch, p->length, p->old);
		return;
	}
	int distance = p->cave - 2;
	FUZZ_CHECK(p->length == 2 && !p->moved && !p->patch);
	FUZZ_CHECK(distance >= INT8_MIN && distance <= INT8_MAX);
	add(r, call, 2, p->old);
	add(r, call + p->cave, JUMP, p->old + 2);
}

static struct decoder *decoder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	decoder = decoder_new();
	FUZZ_CHECK(decoder);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct rig r = { .bytes = bytes, .len = len };
	struct elf *x = elf_new(decoder, bytes, len);
	unsigned n = 0;

	FUZZ_CHECK(x);
	for (size_t at = 0; at + 1 < len && n < CALLS; at++) {
		struct plan p = { .length = 0 }, again = { .length = 0 };
		if (bytes[at] != 0x0f || bytes[at + 1] != 0x05)
			continue;
		n++;
		bool quick = elf_is_quick(x, at);
		int err = elf_plan(x, at, &p);
		FUZZ_CHECK(elf_plan(x, at, &again) == err);
		FUZZ_CHECK(elf_is_quick(x, at) == quick);
		if (!err) {
			FUZZ_CHECK(!memcmp(&p, &again, sizeof(p)));
			check(&r, at, &p);
		}
	}
	struct plan none;
	FUZZ_CHECK(elf_plan(x, len, &none) < 0 && elf_plan(x, UINT64_MAX, &none) < 0);
	elf_free(x);
	return 0;
}
