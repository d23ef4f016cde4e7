/*
 * record.c - records of blktrace from bytes
 */
#include "record.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint16_t get16(const uint8_t *at, bool swapped)
{
	uint16_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap16(n) : n;
}

static uint32_t get32(const uint8_t *at, bool swapped)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap32(n) : n;
}

static uint64_t get64(const uint8_t *at, bool swapped)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap64(n) : n;
}

int record_version(const uint8_t *at, bool *swapped)
{
	uint32_t magic = get32(at, false);

	*swapped = (magic & 0xffffff00) != BLK_MAGIC;
	if (*swapped)
		magic = __builtin_bswap32(magic);
	return (magic & 0xffffff00) == BLK_MAGIC ? (int)(magic & 0xff) : -1;
}

size_t record_header(const uint8_t *at, bool *swapped)
{
	int version = record_version(at, swapped);

	return version == 7 ? BLK_V7 : version == 8 ? BLK_V8 : 0;
}

unsigned record_decode(struct blk_rec *r, const uint8_t *at, bool swapped)
{
	bool v8 = (get32(at, swapped) & 0xff) == 8;
	/* The longer one has the process before the action, which is twice as wide. */
	const uint8_t *rest = at + (v8 ? 40 : 36);

	r->more = NULL;
	r->seq = get32(at + 4, swapped);
	r->time = r->order = get64(at + 8, swapped);
	r->sector = get64(at + 16, swapped);
	r->bytes = get32(at + 24, swapped);
	r->action = v8 ? get64(at + 32, swapped) : get32(at + 28, swapped);
	r->pid = get32(at + (v8 ? 28 : 32), swapped);
	r->dev = get32(rest, swapped);
	r->cpu = get32(rest + 4, swapped);
	r->error = get16(rest + 8, swapped);
	r->len = 0;
	return get16(rest + 10, swapped);
}

int record_keep(struct blk_rec *r, const uint8_t *payload, size_t len, bool swapped)
{
	bool stamp = record_is_note(r) && record_act(r) == NOTE_TIMESTAMP;

	if (r->action & ACT_CGROUP && len >= 8) {
		payload += 8;
		len -= 8;
	}
	if (len > BLK_KEPT)
		len = BLK_KEPT;
	if (len > BLK_INLINE && !(r->more = malloc(len)))
		return -ENOMEM;
	memcpy(r->more ? r->more : r->pdu, payload, len);
	r->len = len;
	/* The two words of a moment are as the machine has them. */
	for (unsigned i = 0; stamp && i + 4 <= len && i < 8; i += 4) {
		uint32_t n = get32(payload + i, swapped);
		memcpy(r->pdu + i, &n, sizeof(n));
	}
	return 0;
}

void record_fini(struct blk_rec *r)
{
	free(r->more);
	r->more = NULL;
}

bool record_plausible(const struct blk_rec *r, unsigned len)
{
	static const uint8_t want[NACTS] = {
		[ACT_UNPLUG] = 8,
		[ACT_UNPLUG_TIMER] = 8,
		[ACT_SPLIT] = 8,
		[ACT_REMAP] = 16,
		[ACT_ZONE_UNPLUG] = 8,
	};
	unsigned act = record_act(r), cgroup = r->action & ACT_CGROUP ? 8 : 0;

	if (record_is_note(r))
		return act == NOTE_PROCESS     ? len == 16
		       : act == NOTE_TIMESTAMP ? len == 8
					       : len <= 4096;
	if (r->action & BLK_PC || act == ACT_DRV_DATA || act >= NACTS)
		return true;
	return len == want[act] + cgroup;
}

uint64_t record_be64(const struct blk_rec *r, unsigned n)
{
	uint64_t v;

	if (r->len < 8 * (n + 1) || r->more)
		return 0;
	memcpy(&v, r->pdu + 8 * n, sizeof(v));
	return be64toh(v);
}

uint32_t record_be32(const struct blk_rec *r, unsigned n)
{
	uint32_t v;

	if (r->len < 4 * (n + 1) || r->more)
		return 0;
	memcpy(&v, r->pdu + 4 * n, sizeof(v));
	return be32toh(v);
}

uint64_t record_wall(const struct blk_rec *r)
{
	uint32_t s, ns;

	if (r->len < 8 || r->more)
		return 0;
	memcpy(&s, r->pdu, sizeof(s));
	memcpy(&ns, r->pdu + 4, sizeof(ns));
	return ns < 1000000000 ? s * UINT64_C(1000000000) + ns : 0;
}
