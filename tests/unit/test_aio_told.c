/*
 * test_aio_told.c - what the hook has kept of io_submit(2) and of answers: each counts
 * once, in its turn, and what is made of records that the target has written over
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { NOBODY = 0x3ffffff0, CONTEXT = 0x5000, FD = 3 };

static struct rig *rig;
static struct aio *aio;
static uint16_t turns; /* the first of them */

static int start(void **state)
{
	(void)state;
	rig = rig_new(3, NOBODY, "data");
	if (!rig)
		return -1;
	aio = rig_aio(rig, CONTEXT);
	turns = aio->turn;
	rig_opened(rig, 0, 1, 2, FD, "/file");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

static struct fast_rec *asks(
	unsigned i, unsigned when, int64_t taken, unsigned n, const struct told_iocb *cb)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_io_submit, when, taken);

	rec->arg[0] = CONTEXT;
	memcpy((uint8_t *)rec + R_AIO_N, &n, sizeof(n));
	memcpy((uint8_t *)rec + R_AIO_FROM, cb, n * sizeof(*cb));
	return rec;
}

static void submit(
	unsigned i, unsigned when, int64_t taken, unsigned n, const struct told_iocb *cb)
{
	rig_done(rig, i, asks(i, when, taken, n, cb));
}

static struct fast_rec *answers(
	unsigned i, unsigned when, uint32_t turn, unsigned n, const struct told_event *e)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_io_getevents, when, 0);

	rec->t1 = rec->t0;
	rec->arg[0] = CONTEXT;
	turn = (uint16_t)(turn + turns);
	memcpy((uint8_t *)rec + R_AIO_N, &n, sizeof(n));
	memcpy((uint8_t *)rec + R_AIO_TURN, &turn, sizeof(turn));
	memcpy((uint8_t *)rec + R_AIO_FROM, e, n * sizeof(*e));
	return rec;
}

static const struct told_iocb two[2] = {
	{ 0x100, IOCB_CMD_PREAD, 0, FD, 4096, 8192 },
	{ 0x200, IOCB_CMD_PWRITEV, 0, FD, 700, 512 },
};

static void in_turn(void **state)
{
	static const struct told_event done[2] = { { 0x200, 700 }, { 0x100, 100 } };

	(void)state;
	submit(0, 10, 2, 2, two);
	rig_done(rig, 1, answers(1, 500, 0, 2, done));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
	const struct op *w = &rig->op[0], *r = &rig->op[1];
	assert_string_equal(names_call_name(rig->t.names, w->call), "aio:pwritev");
	assert_int_equal(w->want, 700);
	assert_int_equal(w->ret, 700);
	assert_int_equal(w->offset, 512);
	assert_string_equal(names_call_name(rig->t.names, r->call), "aio:pread");
	assert_int_equal(r->want, 4096);
	assert_int_equal(r->ret, 100);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->fd, FD);
	assert_int_equal(r->tid, rig->task[0].tid); /* who has asked */
	const struct file *f = names_file(rig->t.names, r->file);
	assert_string_equal(names_get(rig->t.names, f->path), "/file");
	uint64_t from = fast_clock_ns(&rig->t.fast->clock, rig_at(rig, 10)),
		 to = fast_clock_ns(&rig->t.fast->clock, rig_at(rig, 500));
	assert_int_equal(r->start_ns, from - rig->t.epoch_ns);
	assert_int_equal(r->dur_ns, to - from);
	assert_int_equal(rig->task[0].fast, 2);
}

/* One asks at the same address again before another one has told of the first answer. */
static void told_late(void **state)
{
	static const struct told_event done[2] = { { 0x100, 1 }, { 0x100, 2 } };
	struct told_iocb again = two[0];

	(void)state;
	again.offset = 77;
	submit(0, 10, 1, 1, two);
	struct fast_rec *first = answers(1, 20, 0, 1, done);
	first->state = REC_NONE;
	submit(0, 30, 1, 1, &again);
	rig_done(rig, 2, answers(2, 40, 1, 1, done + 1));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	first->state = REC_ENDED;
	rig_done(rig, 1, first);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig->op[i].ret, i + 1);
		assert_int_equal(rig->op[i].offset, i ? 77 : 8192);
	}
}

/* The call that asks is not over, and what it asks for is answered. */
static void answered_within(void **state)
{
	static const struct told_event done[2] = { { 0x100, 5 }, { 0x200, 6 } };

	(void)state;
	struct fast_rec *rec = asks(0, 10, 2, 2, two);
	rec->state = REC_BEGUN;
	rig_done(rig, 1, answers(1, 20, 0, 2, done));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	rec->state = REC_ENDED;
	rig_done(rig, 0, rec);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->nlost, 0);
	assert_int_equal(aio->flying.n, 0);
	assert_int_equal(rig->task[0].fast, 2);
}

/* The kernel takes the first of them, or none; or the call was not made after all. */
static void taken_in_part(void **state)
{
	static const struct told_event done[1] = { { 0x100, 5 } };

	(void)state;
	submit(0, 10, 1, 2, two);
	drain_all(&rig->t);
	assert_int_equal(aio->flying.n, 1);
	submit(0, 20, -EAGAIN, 2, two);
	drain_all(&rig->t);
	assert_int_equal(aio->flying.n, 1);
	assert_int_equal(rig->nops, 1); /* that is what the first one has */
	submit(0, 25, -EINVAL, 2, two); /* or their context */
	drain_all(&rig->t);
	assert_int_equal(aio->flying.n, 1);
	assert_int_equal(rig->nops, 1);
	struct fast_rec *rec = asks(0, 30, 2, 2, two);
	rec->state = REC_BEGUN;
	drain_all(&rig->t);
	assert_int_equal(aio->flying.n, 3);
	rec->state = REC_NONE; /* a signal came before it */
	submit(0, 40, 0, 0, two);
	drain_all(&rig->t);
	assert_int_equal(aio->flying.n, 1);
	rig_done(rig, 0, answers(0, 50, 0, 1, done));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->task[0].fast, 2);
	assert_int_equal(rig->nlost, 0);
}

/* Of another one at that address, before it: not its answer. */
static void from_before(void **state)
{
	static const struct told_event done[2] = { { 0x100, 5 }, { 0x100, 6 } };

	(void)state;
	rig_done(rig, 1, answers(1, 5, 0, 1, done));
	submit(0, 10, 1, 1, two);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	rig_done(rig, 1, answers(1, 20, 1, 1, done + 1));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(rig->op[0].ret, 6);
	assert_int_equal(rig->nlost, 0);
}

/* A turn that nobody tells of keeps no other waiting for ever. */
static void lost_turn(void **state)
{
	static const struct told_event done[2] = { { 0x100, 5 }, { 0x200, 6 } };

	(void)state;
	submit(0, 10, 1, 1, two);
	rig_done(rig, 1, answers(1, 20, 7, 1, done));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	aio_all(&rig->t, aio);
	assert_int_equal(rig->nops, 1);
	/* It comes after all, and sets nobody back. */
	submit(0, 30, 2, 2, two);
	rig_done(rig, 1, answers(1, 40, 2, 1, done));
	rig_done(rig, 2, answers(2, 50, 8, 1, done + 1));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 3);
}

/* A ring in our own memory, as the kernel makes one; and a call that stops. */
struct own_ring {
	uint32_t id, nr, head, tail, magic, compat, incompat, length;
	struct io_event event[64];
};

/* A call that was about to be made in the hook stops in the end: what it was to ask for is
 * not, and all that was asked for before is. */
static void stops_in_the_end(void **state)
{
	static struct own_ring ring = { .nr = 64, .magic = 0xa10a10a1, .length = 32 };
	static const struct told_iocb third = { 0x300, IOCB_CMD_PREAD, 0, FD, 1, 0 };
	struct rig *own = rig_new(1, getpid(), "data");

	(void)state;
	assert_non_null(own);
	struct task *k = &own->task[0];
	const uint64_t id = (uintptr_t)&ring;
	struct aio *a = rig_aio(own, id);
	for (int i = 0; i < 2; i++) {
		const unsigned n = i ? 1 : 2;
		struct fast_rec *rec = rig_begin(own, 0, SYS_io_submit, 10 + (unsigned)i, 2);
		rec->arg[0] = id;
		memcpy((uint8_t *)rec + R_AIO_N, &n, sizeof(n));
		memcpy((uint8_t *)rec + R_AIO_FROM, i ? &third : two, n * sizeof(third));
		if (i)
			rec->state = REC_BEGUN;
		else
			rig_done(own, 0, rec);
		drain_all(&own->t);
		if (i)
			rec->state = REC_NONE;
	}
	assert_int_equal(a->flying.n, 3);
	k->call = (struct call){ .row = syscall_by_name("io_submit"),
		.abi = ABI_X86_64, .arg = { id, 0, 0 } };
	aio_submits(&own->t, k);
	assert_int_equal(a->flying.n, 2);
	assert_non_null(requests_find(&a->flying, 0x100));
	assert_null(requests_find(&a->flying, 0x300));
	aio_submitted(&own->t, k, 0);
	/* They are answered, and a look finds that. */
	ring.event[0] = (struct io_event){ .obj = 0x100, .res = 7 };
	ring.event[1] = (struct io_event){ .obj = 0x200, .res = 8 };
	ring.tail = 2;
	aio_look(&own->t, k);
	assert_int_equal(own->nops, 2);
	assert_int_equal(own->op[1].ret, 8);
	assert_int_equal(own->nlost, 0);
	assert_int_equal(a->flying.n, 0);
	rig_free(own);
}

static void impossible(void **state)
{
	static const struct told_event done[1] = { { 0x100, INT64_MAX } };
	struct fast_rec *rec;
	unsigned many = IOCBS_MOST + 1;

	(void)state;
	submit(0, 10, 1, 1, two);
	rig_done(rig, 1, answers(1, 20, 0, 1, done));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	assert_int_equal(rig->lost, 1); /* what no read returns */
	rec = asks(1, 30, 1, 1, two);
	memcpy((uint8_t *)rec + R_AIO_N, &many, sizeof(many));
	rig_done(rig, 1, rec);
	drain_all(&rig->t);
	assert_true(rig->task[1].distrusted);
	many = EVENTS_MOST + 1;
	rec = answers(2, 40, 1, 1, done);
	memcpy((uint8_t *)rec + R_AIO_N, &many, sizeof(many));
	rig_done(rig, 2, rec);
	drain_all(&rig->t);
	assert_true(rig->task[2].distrusted);
	assert_false(rig->task[0].distrusted);
}

/* Contexts of one process, or of several that have them at the same address, or next to
 * one another: each has a place, and is found there. */
static void places(void **state)
{
	enum { N = 32 };
	static const struct {
		unsigned pages, pids;
	} step[] = { { 1, 0 }, { 0, 1 }, { 1, 1 }, { 3, 0 }, { 2, 4 } };
	struct rings *r = aio->rings;

	(void)state;
	for (unsigned s = 0; s < sizeof(step) / sizeof(*step); s++) {
		struct context_state at;
		uint64_t key[N];
		unsigned n = 0;
		bool has[N];
		for (unsigned i = 0; i < N; i++) {
			uint16_t turn;
			key[i] = (0x7fcacc039000 + i * step[s].pages * UINT64_C(0x1000)) ^
				 context_salt(13182 + (pid_t)(i * step[s].pids));
			has[i] = context_take(r, key[i], i, 0, &turn);
			n += has[i];
		}
		assert_int_equal(n, N);
		for (unsigned i = 0; i < N; i++) {
			assert_int_equal(context_at(r, key[i], &at), has[i]);
			assert_true(!has[i] || at.place == i);
			context_drop(r, key[i]);
			assert_false(context_at(r, key[i], &at));
		}
	}
}

/* Who moves it has seen all before; what is asked for is more, or less, at any time. */
static void words(void **state)
{
	struct rings *r = aio->rings;
	const uint64_t key = aio->key;
	struct context_state was, now;
	uint16_t turn;

	(void)state;
	assert_true(context_at(r, key, &was));
	assert_int_equal(was.place, 0);
	assert_int_equal(was.asked, 0);
	context_asks(r, key, 9);
	assert_false(context_move(r, key, &was, 5, 5)); /* it is another one */
	assert_true(context_at(r, key, &was));
	assert_int_equal(was.asked, 9);
	assert_true(context_move(r, key, &was, 5, 5));
	assert_true(context_at(r, key, &now));
	assert_int_equal(now.place, 5);
	assert_int_equal(now.asked, 4);
	assert_int_equal(now.turn, (uint16_t)(was.turn + 1));
	assert_false(context_move(r, key, &was, 6, 1));
	context_asks(r, key, -7);
	assert_true(context_at(r, key, &now) && !now.asked);
	assert_true(context_move(r, key, &now, 0xffffff, 3));
	context_asks(r, key, 0x7fffffff);
	assert_true(context_at(r, key, &was));
	assert_int_equal(was.place, 0xffffff);
	assert_int_equal(was.asked, 0xffffff);
	assert_int_equal(was.turn, (uint16_t)(now.turn + 1));
	context_drop(r, key + 1); /* is not there */
	assert_true(context_at(r, key, &now) && now.word == was.word);
	context_drop(r, key);
	assert_false(context_at(r, key, &was));
	assert_false(context_move(r, key, &now, 6, 1));
	assert_true(context_take(r, key, 9, 2, &turn));
	assert_true(context_at(r, key, &was));
	assert_int_equal(was.turn, turn);
	assert_int_equal(was.place, 9);
	assert_int_equal(was.asked, 2);
	assert_false(context_move(r, key, &now, 6, 1)); /* from before */
	while (was.turn) { /* and so on, around */
		assert_true(context_move(r, key, &was, 9, 0));
		assert_true(context_at(r, key, &was));
	}
	assert_int_equal(was.place, 9);
	assert_int_equal(was.asked, 2);
	/* Processes have the same addresses, but for the same process there is one. */
	for (pid_t a = 1; a < 1 << 22; a = a * 3 + 1)
		for (pid_t b = 2; b < 1 << 22; b = b * 5 + 3)
			assert_true(a == b || context_salt(a) != context_salt(b));
	assert_int_equal(context_salt((1 << 22) - 1) & UINT64_C(0xfffffffff000), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_turn),
		TEST(told_late),
		TEST(answered_within),
		TEST(taken_in_part),
		TEST(from_before),
		TEST(lost_turn),
		TEST(stops_in_the_end),
		TEST(impossible),
		TEST(places),
		TEST(words),
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
