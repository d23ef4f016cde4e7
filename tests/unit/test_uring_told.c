/*
 * test_uring_told.c - what the hook has kept of io_uring_enter(2): requests and answers by
 * their numbers, each of which counts once, and what is made of records that the target
 * has written over
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { NOBODY = 0x3ffffff0, RING = 5, FD = 3 };

static struct rig *rig;
static struct uring *ring;

static int start(void **state)
{
	(void)state;
	rig = rig_new(2, NOBODY, "data"); /* opens are not wanted */
	if (!rig)
		return -1;
	ring = rig_uring(rig, RING);
	rig_opened(rig, 0, 1, 2, FD, "/file");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

struct asked {
	uint8_t opcode;
	uint32_t len;
	uint64_t off, word;
};

struct answered {
	uint64_t word;
	int32_t res;
};

/* One call: n entries, of which the kernel has taken some, and answers before and behind
 * it. Each number follows on those of the calls before. */
struct enter {
	unsigned n, taken, before, behind;
	struct asked ask[4];
	struct answered answer[6];
};

static uint32_t from, known;

static struct fast_rec *begin(unsigned i, unsigned when, const struct enter *e)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_io_uring_enter, when, e->taken);
	uint8_t *at = (uint8_t *)rec;
	const struct fast_ring g = { from, e->n, from + e->taken, known, e->before,
		e->behind, known + e->before, 0 };

	rec->arg[0] = RING;
	rec->arg[1] = e->n;
	memcpy(at + R_MORE, &g, sizeof(g));
	at += R_RING_ENTRY;
	for (unsigned j = 0; j < e->n; j++, at += ENTRY_SIZE) {
		const struct io_uring_sqe s = { .opcode = e->ask[j].opcode,
			.fd = FD,
			.len = e->ask[j].len,
			.off = e->ask[j].off,
			.addr = 700,
			.user_data = e->ask[j].word };
		memcpy(at, &s, sizeof(s));
	}
	for (unsigned j = 0; j < e->before + e->behind; j++, at += ANSWER_SIZE) {
		const struct io_uring_cqe c = { .user_data = e->answer[j].word,
			.res = e->answer[j].res };
		memcpy(at, &c, sizeof(c));
	}
	from += e->taken;
	known += e->before + e->behind;
	return rec;
}

static void enter(unsigned when, const struct enter *e)
{
	rig_done(rig, 0, begin(0, when, e));
}

static int again(void **state)
{
	from = known = 0;
	return start(state);
}

static void in_one_call(void **state)
{
	(void)state;
	enter(10, &(struct enter){ 2, 2, 0, 2,
			{ { IORING_OP_READ, 4096, 8192, 1 },
				{ IORING_OP_WRITEV, 2, 512, 2 } },
			{ { 2, 700 }, { 1, 100 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
	const struct op *w = &rig->op[0], *r = &rig->op[1];
	assert_string_equal(names_call_name(rig->t.names, w->call), "io_uring:WRITEV");
	assert_int_equal(w->want, 700); /* the sum is in place of the address */
	assert_int_equal(w->ret, 700);
	assert_int_equal(w->offset, 512);
	assert_string_equal(names_call_name(rig->t.names, r->call), "io_uring:READ");
	assert_int_equal(r->want, 4096);
	assert_int_equal(r->ret, 100);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->fd, FD);
	const struct file *f = names_file(rig->t.names, r->file);
	assert_string_equal(names_get(rig->t.names, f->path), "/file");
	assert_int_equal(r->tid, NOBODY);
	assert_true(r->dur_ns > 0 && r->dur_ns != OP_NO_TIME);
}

/* It is under way from the call that has asked to the call that finds the answer. */
static void answered_later(void **state)
{
	(void)state;
	enter(10, &(struct enter){ 1, 1, 0, 0, { { IORING_OP_READ, 10, 0, 1 } }, { { 0, 0 } } });
	enter(500, &(struct enter){ 0, 0, 1, 0, { { 0 } }, { { 1, 10 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	uint64_t from_ns = fast_clock_ns(&rig->t.fast->clock, rig_at(rig, 10)),
		 to_ns = fast_clock_ns(&rig->t.fast->clock, rig_at(rig, 500));
	assert_int_equal(rig->op[0].start_ns, from_ns - rig->t.epoch_ns);
	assert_int_equal(rig->op[0].dur_ns, to_ns - from_ns);
}

/* What is not taken is asked for by another call. */
static void not_taken(void **state)
{
	(void)state;
	enter(10, &(struct enter){ 2, 1, 0, 1,
			{ { IORING_OP_READ, 10, 0, 1 }, { IORING_OP_READ, 20, 0, 2 } },
			{ { 1, 10 } } });
	enter(20, &(struct enter){
			1, 1, 0, 1, { { IORING_OP_READ, 30, 0, 3 } }, { { 3, 30 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->op[1].ret, 30);
	assert_int_equal(ring->flying.n, 0);
}

/* Looked at in the ring before the record was read: counts once. */
static void known_before(void **state)
{
	const struct enter e = { 1, 1, 0, 1, { { IORING_OP_READ, 10, 0, 1 } }, { { 1, 10 } } };

	(void)state;
	enter(10, &e);
	drain_all(&rig->t);
	from = known = 0;
	enter(20, &e);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(rig->nlost, 0);
}

/* A task tells later of what it had taken, and saw answered, before the others. */
static void told_later(void **state)
{
	const struct enter first = { 1, 1, 0, 0, { { IORING_OP_READ, 10, 0, 7 } }, { { 0, 0 } } },
			   second = { 1, 1, 0, 2, { { IORING_OP_READ, 20, 0, 7 } },
				   { { 7, 10 }, { 7, 20 } } };

	(void)state;
	from = 1;
	enter(20, &second);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	from = known = 0;
	rig_done(rig, 1, begin(1, 30, &first));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
	/* The same word: each answer has got to its own request. */
	assert_int_equal(rig->op[0].want, 10);
	assert_int_equal(rig->op[0].tid, NOBODY + 1);
	assert_int_equal(rig->op[1].want, 20);
}

/* Answers that come before those with lower numbers. */
static void out_of_order(void **state)
{
	(void)state;
	enter(10, &(struct enter){ 2, 2, 0, 0,
			{ { IORING_OP_READ, 10, 0, 1 }, { IORING_OP_READ, 20, 0, 2 } },
			{ { 0, 0 } } });
	known = 1;
	enter(20, &(struct enter){ 0, 0, 1, 0, { { 0 } }, { { 2, 20 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	known = 0;
	enter(30, &(struct enter){ 0, 0, 1, 0, { { 0 } }, { { 1, 10 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
	assert_int_equal(rig->op[0].ret, 10);
}

/* The kernel says late how many it has taken: an answer proves it. */
static void proved(void **state)
{
	(void)state;
	struct fast_rec *rec = begin(0, 10,
		&(struct enter){ 1, 0, 0, 1, { { IORING_OP_READ, 10, 0, 1 } }, { { 1, 10 } } });

	rig_done(rig, 0, rec);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(ring->decoded, 1);
}

/* Requests and answers that nobody has seen, by the end. */
static void gaps(void **state)
{
	(void)state;
	from = 3;
	enter(10, &(struct enter){ 1, 1, 0, 0, { { IORING_OP_READ, 10, 0, 1 } }, { { 0, 0 } } });
	known = 5;
	enter(20, &(struct enter){ 0, 0, 1, 0, { { 0 } }, { { 1, 10 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	*(uint32_t *)(ring->view.cq + ring->p.cq_off.tail) = 32;
	uring_gone(&rig->t, &rig->process);
	assert_int_equal(rig->lost, 3 + 15); /* the last 16 answers are still in the ring */
	assert_int_equal(rig->nops, 1);
}

static void in_flight(void **state)
{
	(void)state;
	struct fast_rec *rec =
		begin(0, 10, &(struct enter){ 2, 2, 0, 0,
				      { { IORING_OP_READ, 10, 0, 1 },
					      { IORING_OP_READ, 20, 0, 2 } },
				      { { 0, 0 } } });

	rec->state = REC_BEGUN;
	rec->t0 = rec->t1 = fast_tsc(); /* what is older would be somebody else's */
	drain_all(&rig->t);
	uring_flight(&rig->t, ring, &rig->task[0]);
	assert_int_equal(ring->flying.n, 0); /* the kernel has taken none yet */
	__atomic_store_n((uint32_t *)ring->view.sq, 1, __ATOMIC_RELEASE);
	uring_flight(&rig->t, ring, &rig->task[0]);
	uring_flight(&rig->t, ring, &rig->task[0]);
	assert_int_equal(ring->flying.n, 1);
	rec->t1 = fast_tsc();
	rig_done(rig, 0, rec);
	drain_all(&rig->t);
	assert_int_equal(ring->flying.n, 2);
	assert_int_equal(rig->nlost, 0);
}

/* Of a ring that is not known. */
static void no_ring(void **state)
{
	(void)state;
	struct fast_rec *rec = begin(0, 10,
		&(struct enter){ 1, 1, 0, 1, { { IORING_OP_READ, 10, 0, 1 } }, { { 1, 10 } } });

	rec->arg[0] = RING + 1;
	rig_done(rig, 0, rec);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	assert_int_equal(rig->nlost, 1);
}

static void written_over(void **state)
{
	(void)state;
	struct fast_rec *rec = begin(0, 10,
		&(struct enter){ 1, 1, 0, 1, { { IORING_OP_READ, 10, 0, 1 } }, { { 1, 10 } } });

	memset((uint8_t *)rec + R_MORE, 0xff, sizeof(struct fast_ring));
	assert_true(rec_size(rig->t.fast, rec) <= RING_SLACK);
	rig_done(rig, 0, rec);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
}

/* A number far from all others, which the target has written: what comes next counts. */
static void far(void **state)
{
	(void)state;
	ring->entrants = 1; /* who has no more to tell */
	known = 0x70000000;
	enter(10, &(struct enter){ 1, 1, 1, 0, { { IORING_OP_READ, 10, 0, 1 } }, { { 9, 10 } } });
	drain_all(&rig->t);
	assert_int_equal(ring->done, ring->answered);
	assert_true(rig->lost >= LOST_MAX);
	known = ring->answered;
	enter(20, &(struct enter){ 0, 0, 1, 0, { { 0 } }, { { 1, 10 } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
}

/* A result that is none. */
static void no_result(void **state)
{
	(void)state;
	enter(20, &(struct enter){ 1, 1, 0, 1, { { IORING_OP_READ, 10, 0, 1 } },
			{ { 1, INT32_MIN } } });
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	assert_int_equal(rig->lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_one_call, again, stop),
		cmocka_unit_test_setup_teardown(answered_later, again, stop),
		cmocka_unit_test_setup_teardown(not_taken, again, stop),
		cmocka_unit_test_setup_teardown(known_before, again, stop),
		cmocka_unit_test_setup_teardown(told_later, again, stop),
		cmocka_unit_test_setup_teardown(out_of_order, again, stop),
		cmocka_unit_test_setup_teardown(proved, again, stop),
		cmocka_unit_test_setup_teardown(gaps, again, stop),
		cmocka_unit_test_setup_teardown(in_flight, again, stop),
		cmocka_unit_test_setup_teardown(no_ring, again, stop),
		cmocka_unit_test_setup_teardown(written_over, again, stop),
		cmocka_unit_test_setup_teardown(far, again, stop),
		cmocka_unit_test_setup_teardown(no_result, again, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP x86_64 alone has a fast path");
	return 0;
}
#endif
