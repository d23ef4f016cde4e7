/*
 * record.c - records of blktrace from bytes
 */
#include "record.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		uint32_t n = record_get32(payload + i, swapped);
		memcpy(r->pdu + i, &n, sizeof(n));
	}
	return 0;
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
