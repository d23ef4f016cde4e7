/*
 * test_layer_block.c - events of requests, by hand, and what they add up to
 */
#include "iops/layer_block.h"
#include "iops/names.h"
#include "iops/op.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { DEV = 7 << 20, OTHER = 8 << 20 | 16 };

struct made {
	struct names *names;
	struct block_sums *sums;
};

static struct made make(void)
{
	struct made m = { .names = names_new() };

	m.sums = layer_block_sums.open(m.names);
	assert_non_null(m.sums);
	return m;
}

static void unmake(struct made *m)
{
	layer_block_sums.close(m->sums);
	names_free(m->names);
}

/* An event of 4096 bytes that ended at this time, after so long. */
static struct op event(
	struct made *m, const char *call, uint8_t kind, uint64_t end, uint64_t dur)
{
	return (struct op){
		.layer = LAYER_BLOCK,
		.kind = kind,
		.call = names_call(m->names, call, strlen(call)),
		.start_ns = dur == OP_NO_TIME ? end : end - dur,
		.dur_ns = dur,
		.ret = 4096,
		.want = 4096,
		.fd = DEV,
	};
}

static int put(struct made *m, struct op op)
{
	return layer_block_sums.put(m->sums, &op);
}

static void stages(void **state)
{
	(void)state;
	struct made m = make();
	static const struct {
		const char *call;
		enum block_stage stage;
		int span; /* that its time is of; -1 none */
	} rows[] = {
		{ "block:queue", STAGE_QUEUED, -1 },
		{ "block:merge", STAGE_MERGED, SPAN_Q2M },
		{ "block:getrq", STAGE_GOT, SPAN_Q2G },
		{ "block:insert", STAGE_INSERTED, SPAN_G2I },
		{ "block:issue", STAGE_ISSUED, SPAN_I2D },
		{ "block:requeue", STAGE_REQUEUED, -1 },
		{ "block:complete", STAGE_COMPLETED, SPAN_D2C },
		{ "block:split", STAGE_SPLIT, -1 },
		{ "block:remap", STAGE_REMAPPED, -1 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		enum block_stage s = rows[i].stage;
		int got = put(&m, event(&m, rows[i].call, OP_WRITE, 1000 + i, 10 + i));
		assert_int_equal(got, s == STAGE_COMPLETED);
		assert_int_equal(m.sums->count[s], 1);
		assert_int_equal(m.sums->events, i + 1);
		if (s < SHOWN_STAGES) {
			const struct series *of = &m.sums->stage[s][BLOCK_CLASS_WRITE];
			assert_int_equal(of->operations, 1);
			assert_int_equal(of->bytes, 4096);
		}
		if (rows[i].span >= 0) {
			assert_int_equal(m.sums->span[rows[i].span].n, 1);
			assert_int_equal(m.sums->span[rows[i].span].sum, 10 + i);
		}
	}
	assert_int_equal(m.sums->span[SPAN_Q2Q].n, 0);
	assert_int_equal(m.sums->span[SPAN_Q2C].n, 0);
	unmake(&m);
}

static void classes(void **state)
{
	(void)state;
	struct made m = make();
	static const struct {
		const char *call;
		uint8_t kind;
		enum block_class class;
	} rows[] = {
		{ "block:complete", OP_READ, BLOCK_CLASS_READ },
		{ "block:complete", OP_WRITE, BLOCK_CLASS_WRITE },
		{ "block:complete", OP_SYNC, BLOCK_CLASS_FLUSH },
		{ "block:complete:discard", OP_META, BLOCK_CLASS_DISCARD },
		{ "block:complete:passthrough", OP_META, BLOCK_CLASS_PASSTHROUGH },
		/* Of other tools: transfers that are complete. */
		{ "RdData", OP_READ, BLOCK_CLASS_READ },
		{ "PgOut", OP_WRITE, BLOCK_CLASS_WRITE },
		{ "block", OP_READ, BLOCK_CLASS_READ },
		{ "block:q2c", OP_READ, BLOCK_CLASS_READ },
		{ "block:completed", OP_READ, BLOCK_CLASS_READ },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct series *s = &m.sums->stage[STAGE_COMPLETED][rows[i].class];
		uint64_t before = s->operations;
		assert_int_equal(
			put(&m, event(&m, rows[i].call, rows[i].kind, 9, OP_NO_TIME)), 1);
		assert_int_equal(s->operations, before + 1);
	}
	/* Only what says so is of a device. */
	assert_int_equal(m.sums->ndevice, 1);
	assert_int_equal(m.sums->device[0].completed[BLOCK_CLASS_READ].operations, 1);
	unmake(&m);
}

static void failures(void **state)
{
	(void)state;
	struct made m = make();
	const struct series *s = &m.sums->stage[STAGE_COMPLETED][BLOCK_CLASS_READ];

	put(&m, event(&m, "block:issue", OP_READ, 100, OP_NO_TIME));
	struct op part = event(&m, "block:complete", OP_READ, 200, OP_NO_TIME);
	part.ret = part.want = 1024;
	part.call |= OP_PART;
	assert_int_equal(put(&m, part), 1);
	assert_int_equal(m.sums->depth.now, 1);
	struct op bad = event(&m, "block:complete", OP_READ, 200, 100);
	bad.ret = -EIO;
	bad.want = 3072;
	assert_int_equal(put(&m, bad), 1);
	assert_int_equal(m.sums->depth.now, 0);
	assert_int_equal(s->operations, 1);
	assert_int_equal(s->bytes, 1024);
	assert_int_equal(s->errors, 1);
	assert_int_equal(m.sums->device[0].completed[BLOCK_CLASS_READ].errors, 1);
	unmake(&m);
}

static void depth(void **state)
{
	(void)state;
	struct made m = make();

	/* One from 100, two from 200 to 300, none from 500 on; 300 with two of 400. */
	put(&m, event(&m, "block:complete", OP_READ, 90, 10)); /* from before us */
	put(&m, event(&m, "block:issue", OP_READ, 100, OP_NO_TIME));
	put(&m, event(&m, "block:issue", OP_READ, 200, OP_NO_TIME));
	put(&m, event(&m, "block:requeue", OP_READ, 300, 100));
	struct op late = event(&m, "block:complete", OP_READ, 500, 400);
	put(&m, late);
	const struct block_depth *d = &m.sums->device[0].depth;
	assert_int_equal(d->max, 2);
	assert_int_equal(d->now, 0);
	assert_int_equal((int)d->area, 100 + 200 + 200);
	assert_int_equal(d->ns, 500 - 90);
	/* Another run begins anew. */
	put(&m, event(&m, "block:issue", OP_READ, 2000000000, OP_NO_TIME));
	put(&m, event(&m, "block:issue", OP_READ, 10, OP_NO_TIME));
	assert_int_equal(m.sums->device[0].depth.now, 1);
	unmake(&m);
}

static void order_and_devices(void **state)
{
	(void)state;
	struct made m = make();
	static const int64_t at[] = { 0, 4096, 8192, 4096, 8192 };

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct op op = event(&m, "block:issue", OP_READ, i, OP_NO_TIME);
		op.offset = at[i];
		put(&m, op);
		op.fd = OTHER;
		op.kind = OP_SYNC;
		put(&m, op);
	}
	assert_int_equal(m.sums->ndevice, 2);
	assert_int_equal(m.sums->device[0].consecutive, 3);
	assert_int_equal(m.sums->device[0].elsewhere, 1);
	assert_int_equal(m.sums->device[1].consecutive, 0);
	assert_int_equal(m.sums->device[1].elsewhere, 0);

	/* Names come by themselves, before or after. */
	struct file node = { .path = names_add(m.names, "/dev/sdb", 8),
		.type = FILE_BLOCK };
	struct op name = { .layer = LAYER_BLOCK,
		.kind = OP_DEVICE,
		.fd = OTHER,
		.file = names_add_file(m.names, &node) };
	assert_int_equal(put(&m, name), 0);
	assert_int_equal(m.sums->ndevice, 2);
	assert_int_equal(m.sums->device[1].file, name.file);
	unmake(&m);
}

static void spans(void **state)
{
	(void)state;
	struct made m = make();
	static const uint64_t at[] = { 100, 150, 140, 170 };

	/* From one to the next on a device; out of order no time has passed. */
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct op op = event(&m, "block:queue", OP_READ, at[i], OP_NO_TIME);
		put(&m, op);
		op.fd = OTHER;
		op.start_ns += 1000;
		put(&m, op);
	}
	assert_int_equal(m.sums->span[SPAN_Q2Q].n, 6);
	assert_int_equal(m.sums->span[SPAN_Q2Q].sum, 2 * (50 + 0 + 20));

	/* Any of them may be told by itself. */
	for (unsigned i = 0; i < NSPANS; i++) {
		char call[20] = "block:";
		uint64_t n = m.sums->span[i].n, events = m.sums->events;
		strcat(call, block_span_name(i));
		assert_int_equal(put(&m, event(&m, call, OP_SPAN, 900, 7)), 0);
		assert_int_equal(m.sums->span[i].n, n + 1);
		assert_int_equal(m.sums->events, events);
	}
	assert_int_equal(put(&m, event(&m, "block:q2x", OP_SPAN, 900, 7)), 0);
	assert_int_equal(put(&m, event(&m, "block:q2c", OP_SPAN, 900, OP_NO_TIME)), 0);
	assert_int_equal(m.sums->span[SPAN_Q2C].n, 1);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages),
		cmocka_unit_test(classes),
		cmocka_unit_test(failures),
		cmocka_unit_test(depth),
		cmocka_unit_test(order_and_devices),
		cmocka_unit_test(spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
