/*
 * wire.c - numbers and bytes as the log holds them
 */
#include "iops/wire.h"

#include <stdlib.h>
#include <string.h>

bool wire_room(struct wire_out *o, size_t more)
{
	if (o->failed)
		return false;
	if (o->cap - o->n >= more)
		return true;

	size_t cap = o->cap ? 2 * o->cap : 256;
	while (cap - o->n < more)
		cap *= 2;
	uint8_t *p = realloc(o->p, cap);
	if (!p) {
		o->failed = true;
		return false;
	}
	o->p = p;
	o->cap = cap;
	return true;
}

void wire_fini(struct wire_out *o)
{
	free(o->p);
	*o = (struct wire_out){ 0 };
}

void wire_bytes(struct wire_out *o, const void *p, size_t len)
{
	if (!len || !wire_room(o, len))
		return;
	memcpy(o->p + o->n, p, len);
	o->n += len;
}

void wire_text(struct wire_out *o, const char *s)
{
	size_t len = strlen(s);

	wire_u64(o, len);
	wire_bytes(o, s, len);
}

void wire_fixed(struct wire_out *o, uint64_t n, unsigned len)
{
	for (unsigned i = 0; i < len && wire_room(o, 1); i++)
		o->p[o->n++] = (uint8_t)(n >> 8 * i);
}

uint64_t wire_get_slow(struct wire_in *in)
{
	uint64_t n = 0;

	for (unsigned shift = 0; in->p < in->end && shift < 64; shift += 7) {
		uint8_t b = *in->p++;
		if (shift == 63 && b > 1)
			break; /* beyond 64 bits */
		n |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return n;
	}
	in->bad = true;
	return 0;
}

const uint8_t *wire_get_bytes(struct wire_in *in, size_t len)
{
	const uint8_t *p = in->p;

	if ((size_t)(in->end - in->p) < len) {
		in->bad = true;
		return NULL;
	}
	in->p += len;
	return p;
}

uint64_t wire_get_fixed(struct wire_in *in, unsigned len)
{
	const uint8_t *p = wire_get_bytes(in, len);
	uint64_t n = 0;

	for (unsigned i = 0; p && i < len; i++)
		n |= (uint64_t)p[i] << 8 * i;
	return n;
}

enum { POLYNOMIAL = (int)0x82f63b78 };

static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len--; p++) {
		crc ^= *p;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ ((uint32_t)POLYNOMIAL & -(crc & 1));
	}
	return crc;
}

/* glibc knows it already: to ask the CPU costs microseconds in a virtual machine, and the
 * compiler's way asks at every start of the program. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS_CRC CPU_FEATURE_ACTIVE(SSE4_2)
#elif defined(__x86_64__)
#define HAS_CRC __builtin_cpu_supports("sse4.2")
#endif

#ifdef HAS_CRC
__attribute__((target("sse4.2"))) static uint32_t crc_sse(
	uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; len--; p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

uint32_t wire_crc(uint32_t crc, const void *p, size_t len)
{
#ifdef HAS_CRC
	if (HAS_CRC)
		return ~crc_sse(~crc, p, len);
#endif
	return ~crc_plain(~crc, p, len);
}
