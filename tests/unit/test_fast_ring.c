/*
 * test_fast_ring.c - rings of records: their order, what it means for descriptors, and
 * what is made of rings that their task has written over
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { NOBODY = 0x3ffffff0 /* no process has this id: /proc knows nothing */ };

static struct rig *rig;

static int start(void **state)
{
	(void)state;
	rig = rig_new(3, NOBODY, "data");
	return rig ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

static struct fast_rec *call(unsigned i, long nr, unsigned when, int fd)
{
	struct fast_rec *rec = rig_begin(rig, i, nr, when, 0);

	rec->arg[0] = (uint64_t)fd;
	return rec;
}

static void done(unsigned i, const struct fast_rec *rec)
{
	rig_done(rig, i, rec);
}

static void data(unsigned i, long nr, unsigned when, int fd, int64_t result)
{
	struct fast_rec *rec = rig_begin(rig, i, nr, when, result);

	rec->arg[0] = (uint64_t)fd;
	rec->arg[2] = 4096;
	done(i, rec);
}

static void opened(unsigned i, unsigned when, unsigned until, int fd, const char *path)
{
	rig_opened(rig, i, when, until, fd, path);
}

static const char *path_of(unsigned n)
{
	const struct file *f = names_file(rig->t.names, rig->op[n].file);

	assert_true(n < rig->nops);
	return names_get(rig->t.names, f->path);
}

static void assert_distrusted(unsigned i)
{
	assert_true(rig_is_distrusted(rig, i));
}

/* The others go on. */
static void assert_others_go_on(unsigned bad)
{
	unsigned n = rig->nops, other = (bad + 1) % rig->ntasks;

	data(other, SYS_read, 900, 3, 10);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, n + 1);
	assert_int_equal(rig->op[n].tid, rig->task[other].tid);
	assert_false(rig->task[other].distrusted);
}

static void in_order_of_time(void **state)
{
	static const unsigned ring[] = { 0, 2, 2, 1, 0, 0, 1, 2, 1, 0 };
	enum { N = sizeof(ring) / sizeof(*ring) };

	(void)state;
	for (int i = 0; i < 3; i++) /* a ring at a time */
		for (unsigned n = 0; n < N; n++)
			if (ring[n] == (unsigned)i)
				data(i, n & 1 ? SYS_read : SYS_write, n, 3, n);
	assert_int_equal(drain_all(&rig->t), 4);
	assert_int_equal(rig->nops, N);
	for (unsigned n = 0; n < N; n++) {
		const struct op *op = &rig->op[n];
		assert_int_equal(op->ret, n);
		assert_int_equal(op->tid, rig->task[ring[n]].tid);
		assert_int_equal(op->kind, n & 1 ? OP_READ : OP_WRITE);
		assert_int_equal(op->want, 4096);
		assert_true(op->dur_ns > 0 && op->dur_ns < 10000);
		if (n)
			assert_true(op->start_ns > op[-1].start_ns);
	}
	assert_int_equal(rig->nlost, 0);
	assert_int_equal(drain_all(&rig->t), 0);
	assert_int_equal(rig->nops, N);
}

/* What one task closes another one opens under the same number. */
static void close_then_open(void **state)
{
	(void)state;
	opened(0, 1, 2, 3, "/first");
	data(0, SYS_write, 3, 3, 5);
	data(0, SYS_write, 8, 3, 7);
	done(1, call(1, SYS_close, 4, 3));
	opened(1, 5, 6, 3, "/second");
	data(2, SYS_read, 7, 3, 6);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 3);
	assert_string_equal(path_of(0), "/first");
	assert_string_equal(path_of(1), "/second");
	assert_string_equal(path_of(2), "/second");
	assert_int_equal(rig->op[0].offset, 0);
	assert_int_equal(rig->op[1].offset, 0);
	assert_int_equal(rig->op[2].offset, 6);
}

/* A descriptor is there when open returns, and gone when close begins. */
static void open_counts_at_its_end(void **state)
{
	(void)state;
	opened(0, 1, 2, 3, "/old");
	opened(1, 3, 10, 3, "/new"); /* waits for the close below */
	data(2, SYS_read, 4, 3, 1);
	done(0, call(0, SYS_close, 5, 3));
	data(2, SYS_read, 11, 3, 2);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_string_equal(path_of(0), "/old");
	assert_string_equal(path_of(1), "/new");
}

/* What a call reads from is what the descriptor was when it began. */
static void in_flight(void **state)
{
	struct fast_rec *rec;

	(void)state;
	opened(0, 1, 2, 3, "/old");
	drain_all(&rig->t);
	rec = call(0, SYS_read, 3, 3);
	rec->state = REC_BEGUN;
	rec->arg[2] = 4096;
	assert_true(slot_in_flight(&rig->task[0].slot));
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	done(1, call(1, SYS_close, 5, 3));
	opened(1, 6, 7, 3, "/new");
	drain_all(&rig->t);
	rec->result = 11;
	rec->state = REC_ENDED;
	rec->t1 = rig_at(rig, 9);
	done(0, rec);
	data(0, SYS_read, 10, 3, 12);
	drain_all(&rig->t);
	assert_false(slot_in_flight(&rig->task[0].slot));
	assert_int_equal(rig->nops, 2);
	assert_string_equal(path_of(0), "/old");
	assert_string_equal(path_of(1), "/new");
}

/* A call that has ended, but its task has not said so yet: others may go by it. */
static void ended_not_told(void **state)
{
	(void)state;
	opened(0, 1, 2, 3, "/file");
	done(1, call(1, SYS_close, 3, 9));
	drain_all(&rig->t);
	struct fast_rec *rec = call(1, SYS_lseek, 5, 3);
	rec->result = 100;
	data(2, SYS_read, 8, 3, 12);
	drain_all(&rig->t);
	done(1, rec);
	data(1, SYS_read, 9, 3, 13);
	rec = call(1, SYS_write, 10, 3);
	drain_all(&rig->t);
	done(1, rec);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 3); /* none of them twice */
	assert_int_equal(rig->op[0].offset, 100);
	assert_int_equal(rig->op[1].offset, 112);
	assert_int_equal(rig->op[2].offset, 125);
	assert_int_equal(rig->nlost, 0);
}

/* What lies where the next record will be, but is none, is nobody's fault. */
static void no_record_yet(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fast_rec *rec = call(0, SYS_read, 5, 3);
		rec->t0 = i ? fast_tsc() + (UINT64_C(1) << 40) : rec->t0;
		rec->t1 = rec->t0 - 1;
		drain_all(&rig->t);
	}
	data(0, SYS_read, 6, 3, 1);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(rig->nlost, 0);
}

/* Only its head says that a record is one. */
static void state_garbage(void **state)
{
	static const uint32_t values[] = { 3, 0x80000000, UINT32_MAX };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct fast_rec *rec = call(0, SYS_write, i, 3);
		rec->state = values[i];
		assert_false(slot_in_flight(&rig->task[0].slot));
		drain_all(&rig->t);
		assert_int_equal(rig->nops, i);
		done(0, rec);
		drain_all(&rig->t);
		assert_int_equal(rig->nops, i + 1);
	}
	assert_int_equal(rig->nlost, 0);
}

/* Around the ring some times, with a drain whenever it is full. */
static void around(void **state)
{
	struct slot *s = &rig->task[0].slot;
	unsigned n = 0;

	(void)state;
	for (int round = 0; round < 5; round++) {
		assert_int_equal(s->ctl->limit, s->tail + RING_SIZE - RING_SLACK);
		unsigned first = n;
		while (s->ctl->head < s->ctl->limit) {
			struct fast_rec *rec = call(0, SYS_write, 1, 3);
			rec->t0 = rec->t1 = rig_at(rig, 0) + n;
			rec->result = n++ % 1000;
			done(0, rec);
		}
		assert_int_equal(drain_all(&rig->t), n - first);
		assert_int_equal(s->tail, s->ctl->head);
	}
	assert_true(s->tail > 4 * (RING_SIZE - RING_SLACK));
	assert_int_equal(rig->nops, n);
	for (unsigned i = 0; i < n && i < RIG_OPS; i++)
		assert_int_equal(rig->op[i].ret, i % 1000);
	assert_int_equal(rig->nlost, 0);
}

static unsigned fill(unsigned n)
{
	struct slot *s = &rig->task[0].slot;

	for (; s->ctl->head < s->ctl->limit; n++) {
		assert_false(slot_full(s));
		struct fast_rec *rec = call(0, SYS_write, 1, 3);
		rec->t0 = rec->t1 = rig_at(rig, 0) + n;
		rec->result = n % 1000;
		done(0, rec);
	}
	assert_true(slot_full(s));
	return n;
}

/* One that has been full becomes larger, but not while there is something in it. */
static void grows(void **state)
{
	struct slot *s = &rig->task[0].slot;

	(void)state;
	unsigned n = fill(0);
	slot_grow(s);
	assert_int_equal(s->size, RING_SIZE);
	assert_int_equal(s->ctl->mask, RING_SIZE - 1);
	drain_all(&rig->t);
	assert_false(slot_full(s));
	slot_grow(s);
	assert_int_equal(s->size, RING_MAX);
	assert_int_equal(s->ctl->mask, RING_MAX - 1);
	assert_false(slot_in_flight(s));
	for (int round = 0; round < 3; round++) {
		unsigned first = n;
		n = fill(n);
		assert_true((n - first) * R_SIZE > RING_MAX - 2 * RING_SLACK);
		drain_all(&rig->t);
		assert_int_equal(s->ctl->limit, s->tail + RING_MAX - RING_SLACK);
		slot_grow(s);
	}
	assert_int_equal(s->size, RING_MAX);
	assert_int_equal(rig->nops, n);
	for (unsigned i = 0; i < n && i < RIG_OPS; i++)
		assert_int_equal(rig->op[i].ret, i % 1000);
	assert_int_equal(rig->nlost, 0);
}

static void sizes(void **state)
{
	const struct fast *f = rig->t.fast;
	struct {
		struct fast_rec rec;
		uint64_t len[2];
	} r = { .rec.nr = SYS_read };

	(void)state;
	assert_int_equal(rec_size(f, &r.rec), R_SIZE);
	r.rec.nr = SYS_splice;
	assert_int_equal(rec_size(f, &r.rec), R_TWO_SIZE);
	r.rec.nr = SYS_openat;
	r.rec.result = -ENOENT;
	assert_int_equal(rec_size(f, &r.rec), R_SIZE);
	r.rec.result = 3;
	for (uint64_t len = 0; len <= PATH_LEN; len++) {
		r.len[0] = len;
		unsigned n = rec_size(f, &r.rec);
		assert_int_equal(n % R_SIZE, 0);
		assert_true(n >= R_NEW_PATH + len + 1 && n < R_NEW_PATH + len + 1 + 64);
	}
	unsigned longest = rec_size(f, &r.rec);
	r.len[0] = UINT64_MAX;
	assert_int_equal(rec_size(f, &r.rec), longest);
	r.rec.nr = SYS_rename;
	r.len[1] = UINT64_MAX - 5;
	assert_int_equal(
		rec_size(f, &r.rec), (R_PATHS + 2 * (PATH_LEN + 1) + 63) / 64 * 64);
	/* Wherever it begins, it is in the slot; the hook begins none beyond the limit.
	 */
	assert_true(rec_size(f, &r.rec) <= RING_SLACK);
	assert_true(RING_FROM + RING_MAX + RING_SLACK <= SLOT_SIZE);
	r.rec.nr = UINT32_MAX;
	assert_int_equal(rec_size(f, &r.rec), R_SIZE);
}

static void lying_length(void **state)
{
	struct fast_rec *rec = rig_begin(rig, 0, SYS_openat, 1, 3);
	uint64_t len = UINT64_MAX;

	(void)state;
	memcpy((uint8_t *)rec + R_NEW_LEN, &len, sizeof(len));
	rig->task[0].slot.ctl->head += R_SIZE; /* it is longer than that */
	assert_distrusted(0);
	assert_int_equal(rig->task[0].slot.tail, rig->task[0].slot.ctl->head);
	assert_int_equal(rig->nops, 0);
	assert_others_go_on(0);
	/* And what is right behind it is read. */
	data(0, SYS_read, 950, 3, 1);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
}

static void insane_heads(void **state)
{
	static const uint64_t heads[] = { 1, 63, R_SIZE + 8, RING_SIZE + R_SIZE,
		UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 63 };
	bool sane;

	(void)state;
	for (unsigned n = 0; n < sizeof(heads) / sizeof(*heads); n++) {
		struct slot *s = &rig->task[0].slot;
		s->ctl->head = heads[n];
		assert_int_equal(slot_head(s, &sane), s->tail);
		assert_false(sane);
		assert_distrusted(0);
		assert_int_equal(s->tail, 0);
		assert_others_go_on(0);
		stop(state);
		start(state);
	}
	rig->task[0].slot.ctl->head = RING_SIZE;
	slot_head(&rig->task[0].slot, &sane);
	assert_true(sane);
}

/* Back to where it was before: that has been read. */
static void head_goes_back(void **state)
{
	(void)state;
	data(0, SYS_read, 1, 3, 1);
	data(0, SYS_read, 2, 3, 1);
	drain_all(&rig->t);
	rig->task[0].slot.ctl->head -= R_SIZE;
	assert_distrusted(0);
	assert_int_equal(rig->nops, 2);
}

static void no_such_call(void **state)
{
	/* There is none, it is never recorded, it is beyond all tables. */
	static const uint32_t numbers[] = { 335, SYS_socketpair, NSHAPES, 0x40000000,
		UINT32_MAX };

	(void)state;
	for (unsigned n = 0; n < sizeof(numbers) / sizeof(*numbers); n++) {
		done(1, call(1, numbers[n], 1, 3));
		data(1, SYS_read, 2, 3, 1);
		assert_distrusted(1);
		assert_int_equal(rig->nops, 1);
		assert_others_go_on(1);
		stop(state);
		start(state);
	}
}

static void impossible_times(void **state)
{
	const uint64_t now = fast_tsc(), far = UINT64_C(1) << 40;
	const uint64_t times[][2] = { { 0, 0 }, { 0, now },
		{ rig_at(rig, 2), rig_at(rig, 1) }, { rig_at(rig, 1), now + far },
		{ now + far, now + far }, { UINT64_MAX, 0 }, { UINT64_MAX, UINT64_MAX },
		{ rig_at(rig, 0) - 1, rig_at(rig, 1) } };

	(void)state;
	for (unsigned n = 0; n < sizeof(times) / sizeof(*times); n++) {
		struct fast_rec *rec = call(0, SYS_write, 1, 3);
		rec->t0 = times[n][0];
		rec->t1 = times[n][1];
		done(0, rec);
		assert_distrusted(0);
		assert_int_equal(rig->nops, 0);
		assert_int_equal(rig->task[0].slot.tail, rig->task[0].slot.ctl->head);
		assert_others_go_on(0);
		stop(state);
		start(state);
	}
}

/* What begins while rings are drained comes next time, and is no lie. */
static void too_young(void **state)
{
	struct fast_rec *rec = call(0, SYS_write, 1, 3);

	(void)state;
	rec->t0 = fast_tsc() + 200000;
	rec->t1 = rec->t0 + 1;
	done(0, rec);
	drain_all(&rig->t);
	assert_false(rig->task[0].distrusted);
	while (fast_tsc() <= rec->t1)
		;
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_int_equal(rig->nlost, 0);
}

/* Descriptors that nobody has. */
static void odd_descriptors(void **state)
{
	static const int fds[] = { -1, INT32_MIN, INT32_MAX, FDTRACK_MAX, -100 };
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		opened(0, n, n, fds[i] & INT32_MAX, "/x");
		data(0, SYS_write, n + 1, fds[i], 5);
		struct fast_rec *rec = call(0, SYS_dup, n + 2, fds[i]);
		rec->result = fds[i];
		done(0, rec);
		done(0, call(0, SYS_close, n + 3, fds[i]));
		n += 4;
	}
	drain_all(&rig->t);
	assert_int_equal(rig->nops, sizeof(fds) / sizeof(*fds));
}

static void slots(void **state)
{
	struct fast *f = rig->t.fast;
	struct task more[2] = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		more[i].space = rig->task[0].space;
		more[i].process = &rig->process;
	}
	assert_int_equal(f->nringed, 3);
	assert_int_equal(slot_take(f, &more[0], 0), 0);
	assert_int_equal(slot_take(f, &more[0], 0), 0); /* it has one */
	assert_int_equal(f->nringed, 4);
	assert_int_equal(more[0].slot.number, 3);
	assert_int_equal(slot_take(f, &more[1], 0), -ENOSPC);
	data(1, SYS_read, 1, 3, 1);
	slot_give(f, &rig->task[1]);
	slot_give(f, &rig->task[1]);
	assert_int_equal(f->nringed, 3);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	assert_int_equal(slot_take(f, &more[1], 0), 0);
	assert_int_equal(more[1].slot.number, 1);
	assert_int_equal(more[1].slot.ctl->head, 0);
	for (unsigned i = 0; i < f->nringed; i++)
		assert_int_equal(f->ringed[i]->slot.listed, i + 1);
	slot_give(f, &more[0]);
	slot_give(f, &more[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_order_of_time),
		TEST(close_then_open),
		TEST(open_counts_at_its_end),
		TEST(in_flight),
		TEST(ended_not_told),
		TEST(no_record_yet),
		TEST(state_garbage),
		TEST(around),
		TEST(grows),
		TEST(sizes),
		TEST(lying_length),
		TEST(insane_heads),
		TEST(head_goes_back),
		TEST(no_such_call),
		TEST(impossible_times),
		TEST(too_young),
		TEST(odd_descriptors),
		TEST(slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
