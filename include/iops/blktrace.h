/*
 * blktrace.h - a record of a block trace, as linux/blktrace_api.h lays it out: version 7
 * and 8, in either byte order.
 */
#ifndef IOPS_BLKTRACE_H
#define IOPS_BLKTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	BLK_MAGIC_LEN = 4,
	BLK_HEADER_7 = 48, /* bytes; the payload follows at once, at any alignment */
	BLK_HEADER_8 = 64,
	BLK_RECORD_MAX = BLK_HEADER_8 + UINT16_MAX,
	BLK_COMM = 16, /* the name of a task with its NUL */
};

/* Bits of blk_record.category. Of READ and WRITE one is always set, flushes carry READ.
 */
enum blk_category {
	BLK_READ = 1 << 0,
	BLK_WRITE = 1 << 1,
	BLK_FLUSH = 1 << 2,
	BLK_SYNC = 1 << 3,
	BLK_QUEUE = 1 << 4,
	BLK_REQUEUE = 1 << 5,
	BLK_ISSUE = 1 << 6,
	BLK_COMPLETE = 1 << 7,
	BLK_FS = 1 << 8,
	BLK_PC = 1 << 9, /* passthrough: sector is 0, bytes are data */
	BLK_NOTIFY = 1 << 10,
	BLK_AHEAD = 1 << 11,
	BLK_META = 1 << 12,
	BLK_DISCARD = 1 << 13,
	BLK_DRV_DATA = 1 << 14,
	BLK_FUA = 1 << 15,
	BLK_ZONE_APPEND = 1 << 16, /* this and the rest: only in version 8 */
	BLK_ZONE_RESET = 1 << 17,
	BLK_ZONE_RESET_ALL = 1 << 18,
	BLK_ZONE_FINISH = 1 << 19,
	BLK_ZONE_OPEN = 1 << 20,
	BLK_ZONE_CLOSE = 1 << 21,
	BLK_WRITE_ZEROES = 1 << 22,
};

/* What happened; of notes (BLK_NOTIFY) the numbers mean enum blk_note instead. */
enum blk_action {
	BLK_ACT_QUEUE = 1,
	BLK_ACT_BACKMERGE,
	BLK_ACT_FRONTMERGE,
	BLK_ACT_GETRQ,
	BLK_ACT_SLEEPRQ,
	BLK_ACT_REQUEUE,
	BLK_ACT_ISSUE,
	BLK_ACT_COMPLETE,
	BLK_ACT_PLUG,
	BLK_ACT_UNPLUG_IO,
	BLK_ACT_UNPLUG_TIMER,
	BLK_ACT_INSERT,
	BLK_ACT_SPLIT,
	BLK_ACT_BOUNCE,
	BLK_ACT_REMAP,
	BLK_ACT_ABORT,
	BLK_ACT_DRV_DATA,
	BLK_ACT_ZONE_PLUG,
	BLK_ACT_ZONE_UNPLUG,
	BLK_NACTIONS,
};

/* Notes; the last is a text without NUL. */
enum blk_note { BLK_NOTE_PROCESS, BLK_NOTE_TIMESTAMP, BLK_NOTE_MESSAGE };

struct blk_record {
	uint64_t time_ns, sector; /* sectors of 512 bytes */
	uint64_t cgroup;          /* inode of the cgroup; 0: not told */
	uint32_t category;        /* bits of enum blk_category */
	uint32_t sequence, bytes;
	uint32_t pid;           /* the kernel's: of the thread */
	uint32_t device, cpu;   /* device: major << 20 | minor */
	uint16_t action;        /* without the cgroup's flag */
	uint16_t error;         /* the lower half of -errno */
	uint16_t payload_len;   /* without the cgroup's id */
	const uint8_t *payload; /* borrowed from the bytes that were decoded */
	uint8_t version;
	bool swapped; /* the other byte order than ours */
};

/*
 * The version in the first BLK_MAGIC_LEN bytes of a record, of any number, and whether it
 * is in the other byte order; -EBADMSG if that is no magic.
 */
int blk_magic(const void *bytes, bool *swapped);

/*
 * One record. Returns its size; 0 if more than len bytes are needed; -EBADMSG: no magic
 * here; -EPROTONOSUPPORT: neither version 7 nor 8.
 */
ssize_t blk_decode(struct blk_record *r, const void *bytes, size_t len);

/* Numbers in payloads: of the tracing host (timestamps), or big endian (the others). */
uint32_t blk_host32(const struct blk_record *r, const uint8_t *p);
uint32_t blk_big32(const uint8_t *p);
uint64_t blk_big64(const uint8_t *p);

/* The name in a BLK_NOTE_PROCESS, cut to what fits. */
void blk_comm(const struct blk_record *r, char comm[BLK_COMM]);

#endif
