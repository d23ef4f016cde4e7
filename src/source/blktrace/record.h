/*
 * record.h - records of blktrace, versions 7 and 8 (linux/blktrace_api.h), of either byte
 * order.
 */
#ifndef IOPS_BLKTRACE_RECORD_H
#define IOPS_BLKTRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLK_MAGIC = 0x65617400, /* the low byte is the version */
	BLK_V7 = 48,            /* bytes before the payload */
	BLK_V8 = 64,
	BLK_INLINE = 24, /* bytes of payload that every record has room for */
	BLK_KEPT = 4096, /* and that are kept at most of a longer one */
};

/* Categories, from bit 16 of the action on. */
#define BLK_TC(n)        (UINT64_C(1) << (16 + (n)))
#define BLK_READ         BLK_TC(0)
#define BLK_WRITE        BLK_TC(1)
#define BLK_FLUSH        BLK_TC(2)
#define BLK_SYNC         BLK_TC(3)
#define BLK_FS           BLK_TC(8)
#define BLK_PC           BLK_TC(9)
#define BLK_NOTIFY       BLK_TC(10)
#define BLK_AHEAD        BLK_TC(11)
#define BLK_META         BLK_TC(12)
#define BLK_DISCARD      BLK_TC(13)
#define BLK_FUA          BLK_TC(15)
#define BLK_ZONE_APPEND  BLK_TC(16)
#define BLK_ZONES        (BLK_TC(17) | BLK_TC(18) | BLK_TC(19) | BLK_TC(20) | BLK_TC(21))
#define BLK_WRITE_ZEROES BLK_TC(22)

/* What happened: the low 8 bits of the action. */
enum blk_act {
	ACT_QUEUE = 1,
	ACT_BACKMERGE,
	ACT_FRONTMERGE,
	ACT_GETRQ,
	ACT_SLEEPRQ,
	ACT_REQUEUE,
	ACT_ISSUE,
	ACT_COMPLETE,
	ACT_PLUG,
	ACT_UNPLUG,
	ACT_UNPLUG_TIMER,
	ACT_INSERT,
	ACT_SPLIT,
	ACT_BOUNCE,
	ACT_REMAP,
	ACT_ABORT,
	ACT_DRV_DATA,
	ACT_ZONE_PLUG,
	ACT_ZONE_UNPLUG,
	NACTS,
	ACT_CGROUP = 0x100, /* a flag: the payload begins with 8 bytes of cgroup */
};

/* Of notes. */
enum { NOTE_PROCESS, NOTE_TIMESTAMP, NOTE_MESSAGE };

struct blk_rec {
	uint64_t time, sector, action;
	uint64_t order; /* by which it is ordered: of notes, the time of what follows */
	uint8_t *more;  /* a payload that is too long for pdu; freed by record_fini() */
	uint32_t seq, bytes, pid, dev, cpu;
	uint16_t error, len; /* of the payload that is kept, without the cgroup */
	uint8_t pdu[BLK_INLINE];
};

static inline bool record_is_note(const struct blk_rec *r)
{
	return r->action & BLK_NOTIFY;
}

static inline unsigned record_act(const struct blk_rec *r)
{
	return r->action & 0xff;
}

static inline const uint8_t *record_payload(const struct blk_rec *r)
{
	return r->more ? r->more : r->pdu;
}

static inline uint16_t record_get16(const uint8_t *at, bool swapped)
{
	uint16_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap16(n) : n;
}

static inline uint32_t record_get32(const uint8_t *at, bool swapped)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap32(n) : n;
}

static inline uint64_t record_get64(const uint8_t *at, bool swapped)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	return swapped ? __builtin_bswap64(n) : n;
}

/* The version of the record that begins here; -1: none does. */
static inline int record_version(const uint8_t *at, bool *swapped)
{
	uint32_t magic = record_get32(at, false);

	*swapped = (magic & 0xffffff00) != BLK_MAGIC;
	if (*swapped)
		magic = __builtin_bswap32(magic);
	return (magic & 0xffffff00) == BLK_MAGIC ? (int)(magic & 0xff) : -1;
}

/* Bytes of the header that begins here: BLK_V7, BLK_V8, or 0: none does. */
static inline size_t record_header(const uint8_t *at, bool *swapped)
{
	int version = record_version(at, swapped);

	return version == 7 ? BLK_V7 : version == 8 ? BLK_V8 : 0;
}

/* A whole header to *r, and the length of its payload, the cgroup included. */
static inline unsigned record_decode_as(
	struct blk_rec *r, const uint8_t *at, bool swapped, bool v8)
{
	/* The longer one has the process before the action, which is twice as wide. */
	const uint8_t *rest = at + (v8 ? 40 : 36);

	r->more = NULL;
	r->seq = record_get32(at + 4, swapped);
	r->time = r->order = record_get64(at + 8, swapped);
	r->sector = record_get64(at + 16, swapped);
	r->bytes = record_get32(at + 24, swapped);
	r->action = v8 ? record_get64(at + 32, swapped) : record_get32(at + 28, swapped);
	r->pid = record_get32(at + (v8 ? 28 : 32), swapped);
	r->dev = record_get32(rest, swapped);
	r->cpu = record_get32(rest + 4, swapped);
	r->error = record_get16(rest + 8, swapped);
	r->len = 0;
	return record_get16(rest + 10, swapped);
}

static inline unsigned record_decode(struct blk_rec *r, const uint8_t *at, bool swapped)
{
	return record_decode_as(r, at, swapped, (record_get32(at, swapped) & 0xff) == 8);
}

/* Keep len bytes of payload. 0 or -ENOMEM. */
int record_keep(struct blk_rec *r, const uint8_t *payload, size_t len, bool swapped);

static inline void record_fini(struct blk_rec *r)
{
	if (r->more)
		free(r->more);
	r->more = NULL;
}

/* Whether a payload of that length, the cgroup included, goes with the action. */
bool record_plausible(const struct blk_rec *r, unsigned len);

/* The n-th word of a payload in the network's order; 0 if there is none. */
uint64_t record_be64(const struct blk_rec *r, unsigned n);
uint32_t record_be32(const struct blk_rec *r, unsigned n);

/* Of a NOTE_TIMESTAMP: real time, ns since 1970. 0: not told. */
uint64_t record_wall(const struct blk_rec *r);

#endif
