/*
 * ring.c - slots of control words and records
 *
 * The target can write to all of this: nothing that is read here is believed before it
 * is looked at.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct fast_rec) == R_SIZE, "hook.S and C agree about a record");
_Static_assert(offsetof(struct fast_ctl, statx) == C_STATX &&
		       offsetof(struct fast_ctl, buf) == C_BUF &&
		       offsetof(struct fast_ctl, uring) == C_FD &&
		       offsetof(struct fast_ctl, uring.by) == C_BY &&
		       offsetof(struct fast_ctl, uring.cq_safe) == C_CQ_SAFE &&
		       offsetof(struct fast_ctl, set) == C_SET &&
		       offsetof(struct fast_ctl, stat) == C_STAT &&
		       offsetof(struct fast_ctl, salt) == C_SALT &&
		       offsetof(struct fast_ctl, result) == C_RESULT &&
		       offsetof(struct fast_ctl, vain) == C_VAIN &&
		       offsetof(struct fast_ctl, vain_read) == C_VAIN_READ &&
		       offsetof(struct fast_ctl, back) == C_BACK &&
		       offsetof(struct fast_ctl, rights) == C_RIGHTS &&
		       sizeof(struct fast_ctl) <= KNOWN_OFFSET,
	"... and about control words");
_Static_assert(RING_FROM + RING_MAX + RING_SLACK <= AIO_OFFSET &&
		       AIO_OFFSET + AIO_MASK + 2 * AIO_WORD == SLOT_SIZE,
	"all of a slot has its place");
_Static_assert(
	sizeof(struct told_iocb) == IOCB_SIZE && sizeof(struct told_event) == EVENT_SIZE,
	"... and about Linux AIO");
_Static_assert(sizeof(struct fast_stat) == R_NEW_PATH - R_NEW_STAT,
	"... and about what is kept of struct statx");

struct rings *rings_new(struct grave *grave, int fd, size_t size)
{
	struct rings *r = calloc(1, sizeof(*r));

	/* Whoever makes it smaller would make us fault. */
	if (!r || ftruncate(fd, (off_t)size) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		free(r);
		return NULL;
	}
	r->refs = 1;
	r->grave = grave;
	r->size = size;
	r->nslots = size / SLOT_SIZE;
	r->free = calloc(r->nslots, sizeof(*r->free));
	r->base = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (!r->free || r->base == MAP_FAILED) {
		free(r->free);
		free(r);
		return NULL;
	}
	return r;
}

struct rings *rings_get(struct rings *r)
{
	r->refs++;
	return r;
}

void rings_put(struct rings *r)
{
	enum { MANY = 16 };

	if (!r || --r->refs)
		return;
	if (r->guard)
		guard_free(r->guards, r->guard);
	struct grave *g = r->grave;
	r->next = g->first;
	g->first = r;
	if (++g->n == MANY)
		rings_bury(g);
}

/* It takes longer than much of what a process is waited for. */
void rings_bury(struct grave *g)
{
	while (g->first) {
		struct rings *r = g->first;
		g->first = r->next;
		munmap(r->base, r->size);
		free(r->free);
		free(r);
	}
	g->n = 0;
}

static void list(struct fast *f, struct task *k)
{
	if (f->nringed == f->ringed_cap) {
		unsigned cap = f->ringed_cap ? 2 * f->ringed_cap : 16;
		struct task **more = realloc(f->ringed, cap * sizeof(struct task *));
		if (!more)
			return;
		f->ringed = more;
		f->ringed_cap = cap;
	}
	f->ringed[f->nringed++] = k;
	k->slot.listed = f->nringed;
}

static void unlist(struct fast *f, struct task *k)
{
	struct task *last = f->ringed[--f->nringed];

	f->ringed[k->slot.listed - 1] = last;
	last->slot.listed = k->slot.listed;
	k->slot.listed = 0;
}

/* From now on, of a task that stands still: it is not alone any more, or elsewhere. */
void slot_asks_now(struct slot *s)
{
	if (s->ctl)
		s->ctl->statx &= ~(uint64_t)ASK_LATER;
}

/* Its calls are judged by a filter of the program's own: none of ours are to be. */
void slot_forbid(struct slot *s)
{
	s->ctl->statx = 0;
	if (s->ctl->rights == RIGHTS_MAY)
		s->ctl->rights = RIGHTS_NEVER;
}

/* What a task owes that stands still is told as it is: it is not to ask any more. */
void slot_settle(struct slot *s)
{
	struct fast_ctl *c = s->ctl;
	bool sane;

	if (!c || !c->owed)
		return;
	uint64_t head = slot_head(s, &sane);
	if (sane && head != c->owed)
		((struct fast_rec *)slot_rec(s, head))->state = REC_ENDED;
	c->head = c->owed;
	c->owed = 0;
}

/* A slot of the rings of its address space, ready for use; ask_by: C_STATX. 0 or -errno.
 */
int slot_take(struct fast *f, struct task *k, uint64_t ask_by)
{
	struct rings *r = k->space->rings;
	struct slot *s = &k->slot;

	if (s->ctl)
		return 0;
	if (!r || (!r->nfree && r->used == r->nslots))
		return -ENOSPC;
	list(f, k);
	if (!s->listed)
		return -ENOMEM;
	s->number = r->nfree ? r->free[--r->nfree] : r->used++;
	s->rings = rings_get(r);
	s->ctl = (struct fast_ctl *)(r->base + (size_t)s->number * SLOT_SIZE);
	s->ring = (uint8_t *)s->ctl + RING_FROM;
	s->size = RING_SIZE;
	s->tail = s->begun = s->early = s->looked = 0;
	s->ended = fast_tsc(); /* what lies there is of others */
	s->renames = 0;
	const uint64_t at = SLOTS_AT + (uint64_t)s->number * SLOT_SIZE;
	*s->ctl = (struct fast_ctl){
		.ring = at + RING_FROM,
		.guard = f->guards ? GUARD_AT : at + C_MASK, /* which is never 0 */
		.limit = RING_SIZE - RING_SLACK,
		.mask = RING_SIZE - 1,
		.statx = ask_by,
		.uring.fd = -1,
		.salt = context_salt(k->process->pid),
		.rights = f->guards || k->space->locked ? RIGHTS_NEVER : RIGHTS_MAY,
	};
	((struct fast_rec *)s->ring)->state = REC_NONE;
	return 0;
}

void slot_give(struct fast *f, struct task *k)
{
	struct slot *s = &k->slot;

	if (!s->ctl)
		return;
	for (int i = 0; i < 2; i++)
		if (s->held[i])
			fdtrack_drop(s->held[i]);
	unlist(f, k);
	/* What was made again in the hook, unseen, stays so: settle(). */
	k->unsure += k->process->signals - k->signals;
	k->signals = k->process->signals;
	/* The memory of a slot that was used much goes back, but for a page: see
	 * AIO_OFFSET. */
	if (s->tail >= RING_SIZE)
		madvise(s->ring, (AIO_OFFSET & ~0xfff) - RING_FROM, MADV_REMOVE);
	s->rings->free[s->rings->nfree++] = s->number;
	rings_put(s->rings);
	free(s->touches);
	*s = (struct slot){ .ctl = NULL };
}

/* No more room, so that its task stands still. */
bool slot_full(const struct slot *s)
{
	bool sane;

	return s->ctl && slot_head(s, &sane) - s->tail >= s->size - RING_SLACK && sane;
}

/* A larger ring for a task that stands still. Only an empty one can become larger. */
void slot_grow(struct slot *s)
{
	bool sane;

	if (s->size == RING_MAX || slot_head(s, &sane) != s->tail || !sane ||
		s->ctl->owed)
		return;
	s->size = RING_MAX;
	s->begun = 0;
	((struct fast_rec *)slot_rec(s, s->tail))->state = REC_NONE;
	s->ctl->mask = s->size - 1;
	s->ctl->limit = s->tail + s->size - RING_SLACK;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static unsigned ring_size(const struct fast_rec *r)
{
	struct fast_ring g;

	memcpy(&g, (const uint8_t *)r + R_MORE, sizeof(g));
	unsigned answers =
		at_most(g.before, ANSWERS_MOST) + at_most(g.behind, ANSWERS_MOST);
	unsigned size = R_RING_ENTRY + at_most(g.n, ENTRIES_MOST) * ENTRY_SIZE +
			answers * ANSWER_SIZE;
	return (size + 63) / 64 * 64;
}

static unsigned aio_size(const struct fast_rec *r, unsigned each, unsigned most)
{
	uint32_t n;

	memcpy(&n, (const uint8_t *)r + R_AIO_N, sizeof(n));
	return (R_AIO_FROM + at_most(n, most) * each + 63) / 64 * 64;
}

unsigned rec_size_more(const struct fast *f, const struct fast_rec *r, uint32_t nr)
{
	const uint8_t *more = (const uint8_t *)r;
	uint64_t len, len2;

	if (nr == NR_EVENTS)
		return aio_size(r, EVENT_SIZE, EVENTS_MOST);
	switch (nr_shape(f, nr)) {
	case SHAPE_TWO:
		return R_TWO_SIZE;
	case SHAPE_OPEN0:
	case SHAPE_OPEN1:
	case SHAPE_NEWFD:
	case SHAPE_PAIR:
		if (r->result < 0)
			return R_SIZE;
		memcpy(&len, more + R_NEW_LEN, sizeof(len));
		len = len <= PATH_LEN ? len : PATH_LEN;
		return (R_NEW_PATH + len + 1 + 63) / 64 * 64;
	case SHAPE_PATH0:
	case SHAPE_PATH1:
	case SHAPE_PATHS01:
	case SHAPE_PATHS13:
	case SHAPE_PATHS02:
		memcpy(&len, more + R_PATHS_LEN1, sizeof(len));
		memcpy(&len2, more + R_PATHS_LEN2, sizeof(len2));
		len = len <= PATH_LEN ? len : PATH_LEN;
		len2 = len2 <= PATH_LEN ? len2 : PATH_LEN;
		return (R_PATHS + len + len2 + 2 + 63) / 64 * 64;
	case SHAPE_RING:
		return ring_size(r);
	case SHAPE_SUBMIT:
		return aio_size(r, IOCB_SIZE, IOCBS_MOST);
	}
	return R_SIZE;
}

/*
 * Each record that is still to come, of all tasks: first that of the call that the task
 * is in, then those before it. false: fn has said so of one, and it was the last. mark:
 * changes whenever there are others.
 */
bool records_later(const struct fast *f, record_fn *fn, void *arg, uint64_t *mark)
{
	*mark = 0;
	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *k = f->ringed[i];
		bool sane;
		uint64_t head = slot_head(&k->slot, &sane);
		const struct fast_rec *r = slot_rec(&k->slot, head);
		*mark += head;
		if (slot_is_open(&k->slot, r) && !fn(k, r, true, arg))
			return false;
		for (uint64_t at = k->slot.tail; at < head; at += rec_size(f, r)) {
			r = slot_rec(&k->slot, at);
			if (!fn(k, r, false, arg))
				return false;
		}
	}
	return true;
}

/* The descriptor that a record frees, whatever is opened there at once; -1: none. open:
 * of a call that has not come back, whose result is not known yet. */
int rec_frees(const struct fast_rec *r, bool open)
{
	if (rec_nr(r) == 3 /* close: x86_64 alone has records */)
		return (int)r->arg[0];
	return rec_dups_to(r) && (int)r->arg[0] != (int)r->arg[1] &&
			       (open || r->result >= 0)
		       ? (int)r->arg[1]
		       : -1;
}

/* Likewise a call that stops, and has not come back. */
static bool frees(const struct fast *f, const struct task *k, int fd)
{
	const struct fast_call *c = k->call.row >= 0 ? f->call[k->call.row] : NULL;
	const uint64_t *arg = k->call.arg;

	switch (c ? c->role : ROLE_NONE) {
	case ROLE_CLOSE:
		return (int)arg[0] == fd;
	case ROLE_DUP_TO:
		return (int)arg[1] == fd;
	case ROLE_RANGE:
		return (unsigned)fd >= (unsigned)arg[0] &&
		       (unsigned)fd <= (unsigned)arg[1];
	default:
		return false;
	}
}

/* Likewise a call that is under way, or was a moment ago; until: begun by then. */
static bool closes_meanwhile(
	const struct fast *f, const struct task *k, int fd, uint64_t until)
{
	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other->files != k->files)
			continue;
		const struct fast_rec *r =
			slot_rec(&other->slot, slot_head(&other->slot, &sane));
		uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
		if ((state == REC_BEGUN || state == REC_ENDED) &&
			rec_frees(r, state == REC_BEGUN) == fd &&
			r->t0 > other->slot.ended && r->t0 <= until)
			return true;
		if (frees(f, other, fd))
			return true;
	}
	return false;
}

/* Likewise a record that is still to come. */
static bool closes_then(
	const struct fast *f, const struct task *k, int fd, uint64_t until)
{
	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other->files != k->files)
			continue;
		uint64_t head = slot_head(&other->slot, &sane);
		for (uint64_t at = other->slot.tail; at < head;) {
			const struct fast_rec *r = slot_rec(&other->slot, at);
			if (rec_frees(r, false) == fd && r->t0 <= until)
				return true;
			at += rec_size(f, r);
		}
	}
	return false;
}

/* What fd is has been asked: whether that is what records that are still to come mean. */
bool closes_by_now(const struct fast *f, const struct task *k, int fd)
{
	return closes_meanwhile(f, k, fd, UINT64_MAX) || closes_later(f, k, fd);
}

/* Whether what fd was may have been closed by then, although that is still to come. */
bool closes_before(const struct fast *f, const struct task *k, int fd, uint64_t then)
{
	return closes_meanwhile(f, k, fd, then) || closes_then(f, k, fd, then);
}

/* Whether a record that is still to come frees fd: asking would be too late. */
bool closes_later(const struct fast *f, const struct task *k, int fd)
{
	return closes_then(f, k, fd, UINT64_MAX);
}

/* Another descriptor stands for the same from its end on. */
bool rec_dups(const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return rec_dups_to(r) || nr == 32 /* dup */ ||
	       (nr == 72 /* fcntl */ &&
		       ((int)r->arg[1] == F_DUPFD || (int)r->arg[1] == F_DUPFD_CLOEXEC));
}

/* rename(2) and its like, by number. */
bool rec_renames(const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr == 82 || nr == 264 || nr == 316;
}

/* Of renameat2(2) alone the flags are kept. */
bool rec_exchanges(const struct fast_rec *r)
{
	return rec_nr(r) == 316 && r->arg[1] & RENAME_EXCHANGE;
}

/* link(2) and its like. */
bool rec_shares(const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr == 86 || nr == 265;
}

/* symlink(2) and its like: the first of two paths is but a text. */
bool rec_links(const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);

	return nr == 88 || nr == 266;
}

/* How many paths a record has that changes some. */
unsigned rec_npaths(const struct fast *f, const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);
	uint8_t shape = nr < NSHAPES ? f->shape[nr] : SHAPE_PASS;

	return shape < SHAPE_PATH0 || shape > SHAPE_PATHS02 ? 0
	       : shape < SHAPE_PATHS01                      ? 1
							    : 2;
}

void rec_paths(const struct fast_rec *r, unsigned n, char path[][PATH_LEN + 1])
{
	const uint8_t *from = (const uint8_t *)r;
	uint64_t len[2];

	memcpy(len, from + R_PATHS_LEN1, sizeof(len));
	from += R_PATHS;
	for (unsigned i = 0; i < n; i++) {
		len[i] = len[i] <= PATH_LEN ? len[i] : PATH_LEN;
		memcpy(path[i], from, len[i]);
		path[i][len[i]] = 0;
		from += len[i] + 1;
	}
}
