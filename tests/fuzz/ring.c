/*
 * ring.c - fuzz the drain of rings, to which the target can write what it likes
 *
 * The first byte chooses who is asked in /proc, which calls are wanted, and whether there
 * is a ring of io_uring, and a context of Linux AIO. Then parts: a byte that chooses the
 * ring and what happens to its head, one of how many times 64 bytes follow, and these.
 * Tame parts are records whose times have been and whose calls exist, since no mutation
 * finds these.
 */
#include "../unit/rings.h"
#include "fuzz.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { NOBODY = 0x3ffffff0 }; /* no process has this id */

/* Bits of the byte that begins a part. */
enum { RING = 3, TAME = 4, DRAIN = 8, BREAK = 16, FAR = 32, FLIGHT = 64, ALONE = 128 };

static bool is_copy(const struct rig *r, const struct op *op)
{
	return !strcmp(
		names_call_name(r->t.names, op->call & OP_CALL), "copy_file_range");
}

static void check(const struct rig *r, const struct op *op)
{
	FUZZ_CHECK(op->kind < OP_NKINDS && op->layer < NLAYERS);
	FUZZ_CHECK(*names_call_name(r->t.names, op->call & OP_CALL));
	/* By its path, or where that is longer than can be told by what it is. */
	const struct file *f = names_file(r->t.names, op->file);
	FUZZ_CHECK(!op->file || f->path || f->inode);
	FUZZ_CHECK(op->start_ns <= tracer_now(&r->t));
	FUZZ_CHECK(op->dur_ns <= tracer_now(&r->t) || op->dur_ns == OP_NO_TIME);
	if (op->kind == OP_READ || op->kind == OP_WRITE)
		FUZZ_CHECK(op->ret >= -4095 &&
			   op->ret <= (is_copy(r, op) ? INT64_C(1) << 50 : 0x7ffff000));
}

/* Calls of the table, by their place in it. */
static uint32_t some_call(const struct rig *r, uint32_t n)
{
	for (uint32_t row = n % 256; row < 256 && row < syscall_rows(); row++)
		if (r->t.fast->call[row] && syscalls[row].nr[ABI_X86_64] >= 0)
			return (uint32_t)syscalls[row].nr[ABI_X86_64];
	return n % 8;
}

static void tame(struct rig *r, uint8_t *from, size_t len)
{
	uint64_t now = r->t.fast->clock.tsc0;

	for (size_t at = 0; at + R_SIZE <= len;) {
		struct fast_rec *rec = (struct fast_rec *)(from + at);
		if (rec->nr >= NR_MAX || r->t.row[ABI_X86_64][rec->nr] < 0)
			rec->nr = some_call(r, rec->nr);
		rec->t0 = now + (rec->t0 & 0xffff);
		rec->t1 = rec->t0 + (rec->t1 & 0xfff);
		rec->result = (int16_t)rec->result;
		if ((int)rec->arg[0] != AT_FDCWD)
			rec->arg[0] &= 0x800000ff; /* some, and -1, but not all of them */
		rec->state = REC_ENDED;
		at += rec_size(r->t.fast, rec);
	}
}

static size_t part(struct rig *r, const uint8_t *bytes, size_t len)
{
	uint8_t how = bytes[0];
	unsigned i = (how & RING) % r->ntasks;
	struct slot *s = &r->task[i].slot;
	uint64_t head = s->ctl->head, at = head % RING_SIZE / R_SIZE * R_SIZE;
	size_t n = bytes[1] * (size_t)R_SIZE;

	n = n < len - 2 ? n : len - 2;
	n = n < SLOT_SIZE - RING_FROM - at ? n : SLOT_SIZE - RING_FROM - at;
	memcpy(s->ring + at, bytes + 2, n);
	if (how & TAME)
		tame(r, s->ring + at, n);
	if (how & FLIGHT && n >= R_SIZE)
		((struct fast_rec *)(s->ring + at))->state = REC_BEGUN;
	else
		s->ctl->head = head + n / R_SIZE * R_SIZE;
	if (how & FAR && how & BREAK)
		memcpy(s->ctl, bytes + 2, n < sizeof(*s->ctl) ? n : sizeof(*s->ctl));
	else if (how & BREAK)
		s->ctl->head += n % R_SIZE;
	else if (how & FAR)
		s->ctl->head += (uint64_t)bytes[1] * R_SIZE;
	if (how & ALONE)
		drain_task(&r->t, &r->task[i]);
	if (how & DRAIN)
		drain_all(&r->t);
	return n + 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len < 3)
		return 0;
	struct rig *r = rig_new(1 + bytes[0] % RIG_TASKS,
		bytes[0] & 4 ? getpid() : NOBODY, bytes[0] & 8 ? "all" : "data");
	FUZZ_CHECK(r);
	r->check = check;
	if (bytes[0] & 16 && r->ntasks > 1)
		history_begin(&r->t, &r->task[1], &r->task[0], false);
	bool ring = bytes[0] & 32;
	if (ring)
		rig_uring(r, 3);
	if (ring)
		rig_aio(r, 0);
	for (size_t at = 1; at + 2 <= len;)
		at += part(r, bytes + at, len - at);
	drain_all(&r->t);
	/* What was read twice came out once. */
	FUZZ_CHECK(r->nops <= 2 * r->ntasks * (RING_SIZE / R_SIZE) * (1 + len / 2));
	FUZZ_CHECK(ring || r->nlost <= r->ntasks);
	rig_free(r);
	return 0;
}
