/*
 * bundle.h - operations that are alike in all that they are summed by
 *
 * Programs do the same to the same file many times in a row. Such operations are summed
 * once and come to their rows, one of each dimension, together.
 */
#ifndef IOPS_SINK_BUNDLE_H
#define IOPS_SINK_BUNDLE_H

#include "rows.h"

enum { BUNDLE_BITS = 10, NBUNDLES = 1 << BUNDLE_BITS };

/* What such operations are, apart from their sums: looked at for every operation. */
struct bundle {
	uint64_t key[3];
	uint32_t other; /* a part of the hash of the latest one that was not like them */
	uint16_t sum;   /* place, plus 1; 0: it has none yet */
	uint8_t patience; /* others that are yet to come in vain before it makes room */
	uint8_t class;
};

struct bundle_sum {
	uint32_t at[NDIMS]; /* place of its row, of each dimension asked for */
	/* Of what has not come to the rows yet: bytes and time are those of the
	 * histograms. */
	struct series series;
};

struct bundles {
	struct bundle bundle[NBUNDLES];
	struct bundle_sum *sum;
	size_t nsum, capsum;
	bool open; /* something may be apart yet */
};

/* NULL: no memory. */
struct bundles *bundles_new(void);
void bundles_free(struct bundles *b);

/*
 * Bring to the rows what is still apart: of one, and of all of them. Returns how many
 * operations were lost as there was no memory.
 */
uint64_t bundle_settle(
	struct bundles *b, const struct bundle *one, struct table *tables, unsigned dims);
uint64_t bundles_settle(struct bundles *b, struct table *tables, unsigned dims);

/*
 * From now on one is of operations of that key, whose rows are those that were
 * last in the tables. What it was of before has been settled. Without memory nothing
 * changes: they go on to come to the rows one by one.
 */
void bundle_begin(struct bundles *b, struct bundle *one, const uint64_t key[3],
	unsigned class, const struct table *tables, unsigned dims);

/* Add an operation that has not failed, in one piece and with one side. 0 or -ENOMEM. */
static inline int bundle_add(struct series *s, const struct op *op, struct series_at at)
{
	if (op_moves(op) && hist_put(&s->size, at.size, op->ret) < 0)
		return -12; /* ENOMEM */
	s->operations++;
	s->requested += op->want;
	return op->dur_ns == OP_NO_TIME ? 0 : hist_put(&s->latency, at.time, op->dur_ns);
}

/* An operation of that call, kind and file type; of proc, a place among the processes. */
static inline void bundle_key(
	uint64_t key[3], const struct op *op, size_t proc, unsigned type)
{
	key[0] = (uint64_t)op->comm << 32 | op->file;
	key[1] = (uint64_t)proc << 32 | (uint32_t)op->tid;
	/* A key of zeroes is none. */
	key[2] = (uint64_t)type << 32 | (uint32_t)op->call << 9 | op->kind << 1 | 1;
}

static inline uint64_t bundle_hash(const uint64_t key[3])
{
	uint64_t mixed = key[0] ^ key[1] << 20 ^ key[1] >> 44 ^ key[2] << 40;

	return (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Where operations with that hash of their key belong; others may be there. */
static inline struct bundle *bundle_at(struct bundles *b, uint64_t hash)
{
	return &b->bundle[hash >> (64 - BUNDLE_BITS)];
}

static inline bool bundle_is(const struct bundle *b, const uint64_t key[3])
{
	return b->key[0] == key[0] && b->key[1] == key[1] && b->key[2] == key[2];
}

/* Whether one that has been met there twice in a row, or nearly so, is to take its place:
 * most are never met again. */
static inline bool bundle_yields(struct bundle *b, uint64_t hash)
{
	uint32_t before = b->other;

	if (b->patience) {
		b->patience--;
		return false;
	}
	b->other = (uint32_t)(hash >> 8);
	return b->other == before;
}

#endif
