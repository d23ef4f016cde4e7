/*
 * uring_hook.c - a ring that is entered without a stop
 *
 * The hook finds the ring in a mapping of our own: the program's may be anywhere, and go
 * at any time. It goes before the ring is closed, which it would keep alive.
 */
#include "../uring.h"

#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a new process will share memory or descriptors for longer than until it runs
 * something else. */
static bool shares(const struct task *k, uint64_t nr, const uint64_t *arg)
{
	uint64_t flags = arg[0];

	if (nr == SYS_clone3 &&
		task_read(k, arg[0], &flags, sizeof(flags)) != sizeof(flags))
		return true;
	if (flags & CLONE_VFORK)
		flags &= ~(uint64_t)CLONE_VM;
	return !(flags & CLONE_THREAD) && flags & (CLONE_VM | CLONE_FILES);
}

/*
 * Which descriptors a call is about to close. Of a ring that gets another size nothing is
 * known any more. Behind a filter of the program's own it could not be left, nor where
 * another process closes it, or ends.
 */
static bool closes(const struct task *k, uint64_t nr, const uint64_t *arg, uint32_t *from,
	uint32_t *to)
{
	*from = 0;
	*to = UINT32_MAX;
	switch (nr) {
	case SYS_seccomp:
		return true;
	case SYS_prctl:
		return arg[0] == PR_SET_SECCOMP;
	case SYS_clone:
	case SYS_clone3:
		return shares(k, nr, arg);
	case SYS_io_uring_register: /* perhaps by a registered ring */
		return ((int32_t)arg[1] & ~BY_REGISTERED) == REGISTER_RESIZE;
	case SYS_close:
		*from = *to = (uint32_t)arg[0];
		return true;
	case SYS_dup2:
	case SYS_dup3:
		*from = *to = (uint32_t)arg[1];
		return true;
	case SYS_close_range:
		*from = (uint32_t)arg[0];
		*to = (uint32_t)arg[1];
		return !(arg[2] & CLOSE_RANGE_CLOEXEC);
	}
	return false;
}

/* Back to the same call, by the way of the hook where there is one. */
static int go_on(struct task *k, struct stand *st, uint64_t at, int err)
{
	const struct site *s = space_site_of_stub(k->space, at);

	if (err == -ESRCH)
		return err;
	stand_end(k, st, s ? s->stub + s->body : at);
	return 1;
}

static void part(struct tracer *t, struct task *k, void *ring)
{
	const struct uring *r = ring;

	(void)t;
	if (uring_is_entered(r, k))
		k->slot.ctl->uring.fd = -1;
}

/* Parts that the program has unmapped: what is there by now is its own. */
void uring_keeps(struct tracer *t, const struct task *k, struct uring *r)
{
	static const char name[] = "anon_inode:[io_uring]";

	for (int i = 0; i < 3; i++) {
		struct mapping m;
		bool is = r->at[i] &&
			  !maps_at(&t->fast->texts.maps, k->tid, r->at[i], &m) &&
			  m.to >= r->at[i] + r->len[i] &&
			  m.path_len == sizeof(name) - 1 &&
			  !memcmp(m.path, name, m.path_len);
		if (!is)
			r->at[i] = 0;
	}
}

/* Our mapping of a ring whose descriptor goes. Results as those of uring_stop(). */
static int leave(
	struct tracer *t, struct task *k, uint32_t from, uint32_t to, uint64_t at)
{
	for (struct uring *r = t->awaited->rings; r && !k->space->locked; r = r->next) {
		struct stand st;
		if (!r->at[2] || r->process != k->process || r->space != k->space ||
			(uint32_t)r->fd < from || (uint32_t)r->fd > to)
			continue;
		if (stand_begin(t, k, &st) < 0)
			return 0;
		tasks_each(t, part, r);
		uring_keeps(t, k, r);
		int err = setup_unmap_ring(t, k, &st, r->len, r->at);
		memset(r->at, 0, sizeof(r->at));
		r->stops = true;
		return go_on(k, &st, at, err);
	}
	return 0;
}

static bool may_be_hooked(
	const struct tracer *t, const struct task *k, const struct uring *r)
{
	const uint32_t wide = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	const unsigned threads = k->process->ntasks > 1 ? AMONG_THREADS : 1;

	return r && r->view.sq && !r->stops && k->ring_before == r &&
	       k->ring_enters >= PATIENCE * threads && !(r->p.flags & wide) &&
	       !task_leaves(t, k) && !k->slotless && !k->distrusted && !k->lender &&
	       k->slot.ctl && k->slot.ctl->uring.fd < 0 &&
	       k->space->state == SPACE_READY && !k->space->locked &&
	       !k->process->locked && !k->space->undone &&
	       (!k->space->quit || k->filtered);
}

static uint32_t *known_of(const struct uring *r)
{
	return (uint32_t *)(r->rings->base + KNOWN_OFFSET) + (r->known - 1);
}

void uring_tell(const struct uring *r)
{
	if (r->known)
		__atomic_store_n(known_of(r), r->answered, __ATOMIC_RELAXED);
}

void uring_unhook(struct uring *r)
{
	if (!r->known)
		return;
	r->rings->known &= ~(UINT64_C(1) << (r->known - 1));
	rings_put(r->rings);
	r->known = 0;
}

static bool take_word(struct uring *r, const struct space *sp)
{
	uint64_t unused = ~sp->rings->known;

	if (!unused)
		return false;
	r->rings = rings_get(sp->rings);
	r->known = 1 + (unsigned)__builtin_ctzll(unused);
	r->rings->known |= UINT64_C(1) << (r->known - 1);
	uring_tell(r);
	return true;
}

/* Where the hook finds its parts. */
static void show(struct task *k, struct uring *r, const uint64_t *arg)
{
	const struct io_uring_params *p = &r->p;
	uint64_t sq = r->at[0], cq = r->len[1] ? r->at[1] : sq;

	r->entrants++;
	k->slot.ctl->uring = (struct ring_ctl){
		.fd = (int)arg[0],
		.by = arg[3] & IORING_ENTER_REGISTERED_RING,
		.sq_head = sq + p->sq_off.head,
		.sq_tail = sq + p->sq_off.tail,
		.cq_tail = cq + p->cq_off.tail,
		.cq_head = cq + p->cq_off.head,
		.array = p->flags & SETUP_NO_SQARRAY ? 0 : sq + p->sq_off.array,
		.sqes = r->at[2],
		.cqes = cq + p->cq_off.cqes,
		.sq_mask = p->sq_entries - 1,
		.cq_mask = p->cq_entries - 1,
		.cq_safe = uring_safe(r, r->only > 0),
		.known = SLOTS_AT + KNOWN_OFFSET + 4 * (uint64_t)(r->known - 1),
	};
}

struct sharers {
	const struct task *of;
	bool any;
};

static void is_sharer(struct tracer *t, struct task *k, void *arg)
{
	struct sharers *s = arg;
	pid_t pid = s->of->process->pid;

	(void)t;
	if (k->process != s->of->process)
		s->any |= k->space == s->of->space ||
			  !syscall(SYS_kcmp, k->tid, pid, 2 /* FILES */, 0, 0);
}

/* Results as those of uring_stop(). */
static int hook(struct tracer *t, struct task *k, struct uring *r, const uint64_t *arg,
	uint64_t at)
{
	struct stand st;

	if (r->at[2] && r->space == k->space) {
		show(k, r, arg);
		return 0;
	}
	struct sharers others = { .of = k };
	tasks_each(t, is_sharer, &others);
	if (others.any || r->at[2] || r->fd < 0 || !gap_may_reserve(k->tid) ||
		(!r->known && !take_word(r, k->space)) || stand_begin(t, k, &st) < 0) {
		r->stops = true;
		return 0;
	}
	r->len[0] = r->view.sq_size;
	r->len[1] = r->view.cq == r->view.sq ? 0 : r->view.cq_size;
	r->len[2] = r->view.entry_size;
	r->space = k->space;
	int err = setup_ring(t, k, &st, r->fd, r->len, r->at);
	if (err && err != -ESRCH)
		setup_unmap_ring(t, k, &st, r->len, r->at);
	if (err) {
		memset(r->at, 0, sizeof(r->at));
		r->stops = true;
	} else {
		show(k, r, arg);
	}
	return go_on(k, &st, at, err);
}

int uring_stop(
	struct tracer *t, struct task *k, uint64_t nr, const uint64_t *arg, uint64_t at)
{
	uint32_t from, to;

	if (!t->awaited || !t->awaited->rings)
		return 0;
	if (nr == SYS_io_uring_enter) {
		struct uring *r = uring_of_call(t, k, arg[0], arg[3]);
		return may_be_hooked(t, k, r) ? hook(t, k, r, arg, at) : 0;
	}
	return closes(k, nr, arg, &from, &to) ? leave(t, k, from, to, at) : 0;
}

bool uring_soon(const struct tracer *t, const struct task *k, uint64_t nr, uint64_t fd,
	uint64_t flags)
{
	const struct uring *r =
		nr == SYS_io_uring_enter ? uring_of_call(t, k, fd, flags) : NULL;

	return r && r->view.sq && !r->stops;
}
