/*
 * blktrace.c - records of block traces, decoded
 */
#include "iops/blktrace.h"

#include <byteswap.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

static const uint32_t magic_bits = 0x65617400, version_bits = 0xff;
enum { FLAG_CGROUP = 0x100, CGROUP_ID = 8 };

static uint16_t get16(const uint8_t *p, bool swapped)
{
	uint16_t n;

	memcpy(&n, p, sizeof(n));
	return swapped ? bswap_16(n) : n;
}

static uint32_t get32(const uint8_t *p, bool swapped)
{
	uint32_t n;

	memcpy(&n, p, sizeof(n));
	return swapped ? bswap_32(n) : n;
}

static uint64_t get64(const uint8_t *p, bool swapped)
{
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	return swapped ? bswap_64(n) : n;
}

int blk_magic(const void *bytes, bool *swapped)
{
	uint32_t n = get32(bytes, false);

	*swapped = (n & ~version_bits) != magic_bits;
	if (*swapped)
		n = bswap_32(n);
	return (n & ~version_bits) == magic_bits ? (int)(n & version_bits) : -EBADMSG;
}

/* Behind the first 28 bytes, which are the same in both. Returns the header's size. */
static size_t decode_rest(struct blk_record *r, const uint8_t *p, uint64_t *action)
{
	bool swapped = r->swapped, wide = r->version == 8;

	r->pid = get32(p + (wide ? 28 : 32), swapped);
	*action = wide ? get64(p + 32, swapped) : get32(p + 28, swapped);
	p += wide ? 40 : 36;
	r->device = get32(p, swapped);
	r->cpu = get32(p + 4, swapped);
	r->error = get16(p + 8, swapped);
	r->payload_len = get16(p + 10, swapped);
	return wide ? BLK_HEADER_8 : BLK_HEADER_7;
}

ssize_t blk_decode(struct blk_record *r, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t action;

	if (len < BLK_MAGIC_LEN)
		return 0;
	int version = blk_magic(p, &r->swapped);
	if (version != 7 && version != 8)
		return version < 0 ? version : -EPROTONOSUPPORT;
	r->version = (uint8_t)version;
	if (len < (version == 8 ? BLK_HEADER_8 : BLK_HEADER_7))
		return 0;
	r->sequence = get32(p + 4, r->swapped);
	r->time_ns = get64(p + 8, r->swapped);
	r->sector = get64(p + 16, r->swapped);
	r->bytes = get32(p + 24, r->swapped);
	size_t header = decode_rest(r, p, &action), size = header + r->payload_len;
	if (len < size)
		return 0;
	r->category = (uint32_t)(action >> 16);
	r->action = (uint16_t)action & ~FLAG_CGROUP;
	r->payload = p + header;
	r->cgroup = 0;
	if (action & FLAG_CGROUP && r->payload_len >= CGROUP_ID) {
		r->cgroup = get64(r->payload, r->swapped);
		r->payload += CGROUP_ID;
		r->payload_len -= CGROUP_ID;
	}
	return (ssize_t)size;
}

uint32_t blk_host32(const struct blk_record *r, const uint8_t *p)
{
	return get32(p, r->swapped);
}

uint32_t blk_big32(const uint8_t *p)
{
	return get32(p, BYTE_ORDER == LITTLE_ENDIAN);
}

uint64_t blk_big64(const uint8_t *p)
{
	return get64(p, BYTE_ORDER == LITTLE_ENDIAN);
}

void blk_comm(const struct blk_record *r, char comm[BLK_COMM])
{
	size_t n = strnlen((const char *)r->payload,
		r->payload_len < BLK_COMM ? r->payload_len : BLK_COMM - 1);

	memcpy(comm, r->payload, n);
	comm[n] = 0;
}
