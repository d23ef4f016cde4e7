/*
 * stub.c - the code that a call site jumps to, and the jump
 */
#include "fast.h"

#include <string.h>

static void bytes(struct stub_code *c, const void *from, unsigned n)
{
	memcpy(c->byte + c->n, from, n);
	c->n += n;
}

/* An instruction that ends with the distance to an address. */
static void relative(struct stub_code *c, const char *op, unsigned n, uint64_t to)
{
	bytes(c, op, n);
	int32_t d = (int32_t)(to - (c->at + c->n + 4));
	bytes(c, &d, 4);
}

/* What is moved from one place to another ends with the distance to an address: from
 * there. */
static int64_t distance(const struct plan *p, uint64_t from, uint64_t to)
{
	int32_t d;

	memcpy(&d, p->old + p->moved - 4, 4);
	return d + (int64_t)(from - to);
}

bool stub_reaches(const struct plan *p, uint64_t from, uint64_t to)
{
	return distance(p, from, to) == (int32_t)distance(p, from, to);
}

/*
 * What was moved; is gs ours, that is, within 2^28 bytes from WINDOW_AT? No: the call is
 * made right here, and stops. Yes: to the hook, with the way back in rcx. Nothing
 * touches the flags.
 */
void stub_build(struct stub_code *c, struct site *s, const struct plan *p, uint64_t page)
{
	static const char is_ours[] =
		"\xf3\x48\x0f\xae\xc9"             /* rdgsbase %rcx */
		"\x48\x8d\x89\x00\x00\x01\x90"     /* lea -WINDOW_AT(%rcx), %rcx */
		"\x48\x8d\x0c\xcd\x00\x00\x00\x00" /* lea (,%rcx,8), %rcx */
		"\x48\x8d\x0c\x09"                 /* lea (%rcx,%rcx), %rcx */
		"\x48\x0f\xc9"                     /* bswap %rcx */
		"\x89\xc9"                         /* mov %ecx, %ecx */
		"\xe3\x0e";                        /* jrcxz over the 14 bytes below */

	_Static_assert(-WINDOW_AT == (int32_t)0x90010000, "as it is written above");
	memset(c->byte, 0xcc, sizeof(c->byte));
	bytes(c, p->old, p->moved);
	if (p->far) {
		int32_t d = (int32_t)distance(p, s->patch, c->at);
		memcpy(c->byte + c->n - 4, &d, 4);
	}
	s->body = c->n;
	bytes(c, is_ours, sizeof(is_ours) - 1);
	s->bare = c->n;
	bytes(c, "\x0f\x05", 2);
	uint64_t back = c->at + c->n;
	relative(c, "\x48\x8d\x0d", 3, s->at + 2); /* lea behind the site, %rcx */
	relative(c, "\xe9", 1, s->at + 2);         /* jmp there */
	relative(c, "\x48\x8d\x0d", 3, back);
	relative(c, "\xff\x25", 2, page); /* jmp *page */
}

void stub_jump(struct stub_code *c, uint64_t from, uint64_t to)
{
	c->at = from;
	c->n = 0;
	relative(c, "\xe9", 1, to);
}

void stub_site(struct site *s)
{
	struct stub_code c;

	memset(s->now, 0x90, sizeof(s->now));
	if (s->cave) {
		s->now[0] = 0xeb;
		s->now[1] = (uint8_t)(s->cave - (s->at + 2));
		return;
	}
	stub_jump(&c, s->patch, s->stub);
	memcpy(s->now, c.byte, STUB_JUMP);
	/* The rest is never run, but decoded by debuggers. */
}
