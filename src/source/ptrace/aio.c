/*
 * aio.c - Linux AIO: io_submit(2) asks, and the answers come to a ring in the program's
 * own memory, where it may read them without a call: aio_setup_ring() of fs/aio.c
 *
 * Calls that stop are looked at here. Those that go through the hook tell what they have
 * asked for, and what was answered meanwhile: fast/aio_told.c.
 */
#include "aio.h"
#include "asked.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>

enum {
	RING_MAGIC = 0xa10a10a1,
	EVENTS_MAX = 1 << 22, /* it fits AIO_FIELD */
	CONTEXTS_MAX = 1 << 12,
	BATCH = 64,
	TRIES = 1000,
	COMMAND_PREADV = 7,
	COMMAND_PWRITEV = 8,
};

/* struct aio_ring of fs/aio.c; struct io_event follows, as many as nr. */
struct ring {
	uint32_t id, nr, head, tail, magic, compat, incompat, length;
};

static bool read_ring(const struct task *k, uint64_t id, struct ring *out)
{
	return task_read(k, id, out, sizeof(*out)) == sizeof(*out) &&
	       out->magic == RING_MAGIC && out->nr && out->nr <= EVENTS_MAX &&
	       out->tail < out->nr && out->length >= sizeof(*out);
}

static void unhook(struct aio *a)
{
	if (!a->rings)
		return;
	context_drop(a->rings, a->key);
	rings_put(a->rings);
	a->rings = NULL;
}

static void drop(struct tracer *t, struct aio *a)
{
	struct aio **at = &t->awaited->contexts;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	unhook(a);
	requests_fini(t, &a->flying);
	for (struct aio_noted *n = a->noted, *next; n; n = next) {
		next = n->next;
		free(n);
	}
	free(a->late);
	free(a);
}

static struct aio *add(struct tracer *t, const struct task *k, uint64_t id)
{
	struct ring ring;
	struct aio *a = NULL;
	unsigned n = 0;

	for (a = t->awaited ? t->awaited->contexts : NULL; a; a = a->next)
		n++;
	if (n >= CONTEXTS_MAX || !read_ring(k, id, &ring) || !awaited_of(t) ||
		!(a = calloc(1, sizeof(*a))))
		return NULL;
	a->process = k->process;
	a->id = id;
	a->answered = ring.tail;
	a->nr = ring.nr;
	a->next = t->awaited->contexts;
	t->awaited->contexts = a;
	t->aio_told = aio_told;
	return a;
}

/* The place of the next answer. Tasks may look as well, and say how far they have come.
 * false: the target has written over that. */
static bool state_of(const struct aio *a, struct context_state *s)
{
	*s = (struct context_state){ .place = a->answered, .turn = a->turn };
	return !a->rings || context_at(a->rings, a->key, s);
}

/* false: another one has seen them. What was asked for before is to be known by now. */
static bool sees(struct tracer *t, struct aio *a, const struct context_state *was,
	uint32_t to, uint32_t n)
{
	if (a->rings && !context_move(a->rings, a->key, was, to, n))
		return false;
	a->answered = to;
	if (a->rings)
		drain_all(t);
	return true;
}

/* At a place of the ring, up to there where it ends or begins anew. 0: nothing. */
static uint32_t read_events(const struct task *k, const struct aio *a,
	const struct ring *ring, uint32_t from, struct told_event out[BATCH])
{
	struct io_event e[BATCH];
	uint32_t end = ring->tail >= from ? ring->tail : ring->nr;
	uint32_t n = end - from < BATCH ? end - from : BATCH;
	uint64_t at = a->id + ring->length + from * sizeof(*e);

	if (task_read(k, at, e, n * sizeof(*e)) != (ssize_t)(n * sizeof(*e)))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		out[i] = (struct told_event){ e[i].obj, e[i].res };
	return n;
}

/*
 * What has been answered since the last look: no more than was under way by then. The
 * place first: others may come further meanwhile, but not for ever. One that cannot be
 * has been written by the target.
 */
static void look(struct tracer *t, const struct task *k, struct aio *a)
{
	struct told_event e[BATCH];
	struct context_state was;
	struct ring ring;

	for (uint32_t tries = 0; tries <= a->nr + TRIES; tries++) {
		bool known = state_of(a, &was);
		if (!read_ring(k, a->id, &ring) || ring.nr != a->nr)
			return;
		if (!known) {
			unhook(a);
			a->answered = ring.tail;
			if (a->process->newest)
				task_note(t, a->process->newest, NOTE_AIO, 0);
			return;
		}
		uint64_t now = tracer_now(t);
		uint32_t from = was.place % ring.nr;
		uint32_t n = read_events(k, a, &ring, from, e);
		if (!n)
			return;
		if (sees(t, a, &was, (from + n) % ring.nr, n))
			aio_in_turn(t, a, was.turn, e, n, now);
	}
}

void aio_look(struct tracer *t, const struct task *k)
{
	for (struct aio *a = t->awaited ? t->awaited->contexts : NULL; a; a = a->next)
		if (a->process == k->process)
			look(t, k, a);
}

/* io_setup(2): the context is where its argument points to. */
void aio_made(struct tracer *t, struct task *k, int64_t ret)
{
	uint64_t id = 0;
	size_t word = layouts[k->call.abi].word;

	if (ret < 0 || !async_counts(t, k))
		return;
	if (task_read(k, k->call.arg[1], &id, word) != (ssize_t)word || !add(t, k, id))
		task_note(t, k, NOTE_AIO, k->call.row);
}

static void put_file(struct tracer *t, struct task *k, struct asked_last *last,
	struct request *q, const struct iocb *cb)
{
	const struct fd_view *v = async_file(t, k, last, (int)cb->aio_fildes);
	struct op *op = &q->op[0];

	op->fd = (int)cb->aio_fildes;
	op->file = v->file;
	if (op->kind != OP_READ && op->kind != OP_WRITE)
		return;
	bool vectors = cb->aio_lio_opcode == COMMAND_PREADV ||
		       cb->aio_lio_opcode == COMMAND_PWRITEV;
	op->want = vectors ? asked_vec(k, cb->aio_buf, cb->aio_nbytes) : cb->aio_nbytes;
	q->appends = op->kind == OP_WRITE &&
		     write_appends(v->flags, (uint32_t)cb->aio_rw_flags);
	if (v->offset != OP_NO_OFFSET && !q->appends)
		op->offset = cb->aio_offset;
}

/* From now on it need not stop any more, if a place is free for it. */
static void hook(struct task *k, struct aio *a)
{
	struct rings *r = k->slot.ctl && !k->distrusted ? k->slot.rings : NULL;
	uint64_t key = a->id ^ context_salt(k->process->pid);

	if (a->rings || !r || !context_take(r, key, a->answered, a->flying.n, &a->turn))
		return;
	a->rings = rings_get(r);
	a->key = key;
}

static bool ask(struct tracer *t, struct task *k, struct aio *a, struct asked_last *last,
	uint64_t at)
{
	struct iocb cb;
	struct request *q = NULL;

	if (task_read(k, at, &cb, sizeof(cb)) == sizeof(cb))
		q = requests_add(&a->flying, at);
	if (!q)
		return false;
	async_begin(t, k, q, ASYNC_AIO, cb.aio_lio_opcode, tracer_now(t));
	q->at = ++a->asked;
	k->slow += q->wanted;
	if (q->wanted || t->fast)
		put_file(t, k, last, q, &cb);
	flight_begins(t, q);
	return true;
}

/* What the kernel may take is read before it does: it may be answered, and used again,
 * before the call is over. */
bool aio_submits(struct tracer *t, struct task *k)
{
	const struct layout *l = &layouts[k->call.abi];
	struct asked_last last = { 0 };
	struct aio *a = NULL;
	uint64_t n = k->call.arg[1];

	aio_not_begun(t, k);
	k->asked = 0;
	if (async_counts(t, k) && !(a = aio_find(t, k->process, k->call.arg[0])))
		a = add(t, k, k->call.arg[0]);
	if (!a)
		return true;
	look(t, k, a);
	hook(k, a);
	k->asked = a->asked + 1;
	k->asked_n = 0;
	for (uint64_t i = 0; i < n && (int64_t)n > 0 && i < a->nr; i++) {
		uint8_t at[8];
		if (task_read(k, k->call.arg[2] + i * l->word, at, l->word) != l->word)
			break;
		if (!ask(t, k, a, &last, word_at(l, at)))
			break;
		k->asked_n++;
	}
	if (a->rings)
		context_asks(a->rings, a->key, (int32_t)k->asked_n);
	return true;
}

void aio_submitted(struct tracer *t, struct task *k, int64_t ret)
{
	struct aio *a = aio_find(t, k->process, k->call.arg[0]);
	uint64_t taken = ret > 0 ? (uint64_t)ret : 0;

	if (!a || !k->asked) {
		if (ret >= 0 && async_counts(t, k))
			task_note(t, k, NOTE_AIO, k->call.row);
		return;
	}
	if (a->rings)
		context_asks(a->rings, a->key, (int32_t)(taken - k->asked_n));
	if (taken > k->asked_n)
		async_lost(t, k->process, taken - k->asked_n);
	else if (taken < k->asked_n)
		k->slow -= aio_refused(t, k, a, ret, tracer_now(t));
	k->asked = 0;
	look(t, k, a);
}

/* io_destroy(2) waits for what is under way, and takes the answers with it. */
void aio_destroys(struct tracer *t, struct task *k)
{
	struct aio *a = aio_find(t, k->process, k->call.arg[0]);

	if (!a)
		return;
	look(t, k, a);
	aio_all(t, a);
	async_lose(t, k->process, &a->flying, false);
	drop(t, a);
}

/* The memory of a process goes. The kernel ends what is under way, where nobody can see
 * the answers. */
void aio_gone(struct tracer *t, const struct process *p)
{
	struct aio *a, *next;

	for (a = t->awaited ? t->awaited->contexts : NULL; a; a = next) {
		next = a->next;
		if (a->process != p)
			continue;
		aio_all(t, a);
		async_lose(t, p, &a->flying, false);
		drop(t, a);
	}
}

void aio_free(struct tracer *t)
{
	while (t->awaited && t->awaited->contexts)
		drop(t, t->awaited->contexts);
}
