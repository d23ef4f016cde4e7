/*
 * wire.h - numbers and bytes as the log holds them: LEB128, zigzag, CRC-32C.
 */
#ifndef IOPS_WIRE_H
#define IOPS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. All zero is empty; failed: there was no memory, and it is no use. */
struct wire_out {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

/* What is left to be read. bad: more was asked for than there was. */
struct wire_in {
	const uint8_t *p, *end;
	bool bad;
};

enum { WIRE_MAX = 10 /* bytes of one number */ };

/* Make room for more bytes; false if there is no memory. */
bool wire_room(struct wire_out *o, size_t more);
void wire_fini(struct wire_out *o);

void wire_bytes(struct wire_out *o, const void *p, size_t len);
void wire_text(struct wire_out *o, const char *s); /* its length, then its bytes */
void wire_fixed(struct wire_out *o, uint64_t n, unsigned len); /* little endian */

/* Room for WIRE_MAX bytes has been made at p. Returns what is behind the number. */
static inline uint8_t *wire_put(uint8_t *p, uint64_t n)
{
	while (n >= 0x80) {
		*p++ = (uint8_t)n | 0x80;
		n >>= 7;
	}
	*p++ = (uint8_t)n;
	return p;
}

/* Small numbers of either sign to small ones without. */
static inline uint64_t wire_zigzag(int64_t n)
{
	return (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
}

static inline int64_t wire_unzigzag(uint64_t n)
{
	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

static inline void wire_u64(struct wire_out *o, uint64_t n)
{
	if (wire_room(o, WIRE_MAX))
		o->n = wire_put(o->p + o->n, n) - o->p;
}

uint64_t wire_get_slow(struct wire_in *in);

/* 0 and bad where there is no whole number. */
static inline uint64_t wire_get(struct wire_in *in)
{
	if (in->p < in->end && *in->p < 0x80)
		return *in->p++;
	if (in->end - in->p >= 2 && in->p[1] < 0x80) {
		in->p += 2;
		return (in->p[-2] & 0x7f) | (uint64_t)in->p[-1] << 7;
	}
	return wire_get_slow(in);
}

uint64_t wire_get_fixed(struct wire_in *in, unsigned len);

/* len bytes, borrowed; NULL and bad where there are fewer. */
const uint8_t *wire_get_bytes(struct wire_in *in, size_t len);

/* CRC-32C (Castagnoli, RFC 3720) of what came before (0 at first) and these bytes. */
uint32_t wire_crc(uint32_t crc, const void *p, size_t len);

#endif
