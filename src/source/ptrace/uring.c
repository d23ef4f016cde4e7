/*
 * uring.c - io_uring(7): what is asked for and answered in memory that is shared with the
 * kernel, read there at the entry and the exit of io_uring_enter(2)
 *
 * We see the rings through a mapping of our own. It would keep a ring alive that the
 * program has closed, with all that waits in it. So each close(2) of a process that has a
 * ring stops before it is made.
 */
#include "uring.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rings that cannot be read: a thread of the kernel takes the requests without a call. */
static const uint32_t unread = IORING_SETUP_SQPOLL | SETUP_NO_MMAP | SETUP_FD_ONLY;

/* What succeeds is not told of those that are silent. */
static struct request *asked_for(const struct uring *r, const struct io_uring_cqe *c)
{
	struct request *q = requests_find(&r->flying, c->user_data);

	while (q && q->silent && c->res >= 0)
		q = q->next ? &r->flying.all[q->next - 1] : NULL;
	return q;
}

static void answer(
	struct tracer *t, struct uring *r, const struct io_uring_cqe *c, uint64_t now)
{
	struct request *q = asked_for(r, c);
	bool notice = c->flags & IORING_CQE_F_NOTIF;

	if (!q)
		return; /* from another ring: IORING_OP_MSG_RING */
	if (requests_confused(&r->flying, q) && r->process && r->process->newest)
		task_note(t, r->process->newest, NOTE_IO_URING, 0);
	if (!notice) {
		/* Linked to one before it that has put the file there. */
		if (q->place >= 0 && (uint32_t)q->place < r->nfile)
			q->op[0].file = r->file[q->place];
		if (q->op[0].kind == OP_OPEN && c->res >= 0 && q->direct < 0)
			q->op[0].fd = c->res;
		async_end(t, q, c->res, now);
	}
	if (q->direct >= 0 && c->res >= 0)
		uring_set_file(r,
			q->direct == INT_MAX ? (uint32_t)c->res : (uint32_t)q->direct,
			q->op[0].kind == OP_CLOSE ? 0 : q->op[0].file);
	if (!(c->flags & IORING_CQE_F_MORE))
		requests_done(&r->flying, q);
}

/* What has been answered since the last look. Those that were overwritten meanwhile, as
 * the program has read them long ago, are lost to us. */
static void look(struct tracer *t, struct uring *r)
{
	const struct io_uring_params *p = &r->p;
	const uint8_t *cq = r->view.cq;
	unsigned wide = !!(p->flags & IORING_SETUP_CQE32);
	uint64_t lost = 0;

	if (!cq)
		return;
	uint64_t now = tracer_now(t);
	uint32_t tail = uring_word(cq, p->cq_off.tail);
	for (uint32_t n = 0; r->answered != tail && n < 2 * p->cq_entries; n++) {
		struct io_uring_cqe c;
		size_t at = (r->answered & (p->cq_entries - 1)) << wide;
		memcpy(&c, cq + p->cq_off.cqes + at * sizeof(c), sizeof(c));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		tail = uring_word(cq, p->cq_off.tail);
		if (tail - r->answered <= p->cq_entries) {
			answer(t, r, &c, now);
			r->answered++;
			continue;
		}
		lost += tail - p->cq_entries - r->answered;
		r->answered = tail - p->cq_entries;
	}
	if (r->process && r->flying.n)
		async_lost(t, r->process, lost < LOST_MAX ? lost : LOST_MAX);
}

static void drop(struct tracer *t, struct uring *r)
{
	struct uring **at = &t->awaited->rings;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	uring_hide(r);
	requests_fini(&r->flying);
	free(r->file);
	free(r);
}

static bool has_others(const struct tracer *t, const struct uring *than)
{
	for (struct uring *r = t->awaited->rings; r; r = r->next)
		if (r != than && r->process == than->process)
			return true;
	return false;
}

/* ends: with its process, which takes what is under way with it. */
static void end(struct tracer *t, struct uring *r, bool ends)
{
	look(t, r);
	if (r->view.sq)
		uring_settle(t, r);
	if (r->process)
		async_lose(t, r->process, &r->flying, ends);
	uring_hide(r);
	if (r->process)
		r->process->has_rings = r->process->has_rings && has_others(t, r);
	r->process = NULL;
	if (!r->inside)
		drop(t, r);
}

static struct uring *ring_of(const struct tracer *t, const struct process *p, int fd)
{
	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		if (r->process == p && r->fd == fd)
			return r;
	return NULL;
}

/* By another descriptor, or that of another process: kcmp(2). */
static struct uring *alias_of(const struct tracer *t, const struct process *p, int fd)
{
	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		if (r->process && !syscall(SYS_kcmp, p->pid, r->process->pid,
					  0 /* FILE */, fd, r->fd))
			return r;
	return NULL;
}

static struct uring *registered_as(const struct tracer *t, pid_t tid, unsigned index)
{
	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		for (unsigned i = 0; i < REGISTERED_RINGS; i++)
			if (r->registered[i].tid == tid &&
				r->registered[i].index == index)
				return r;
	return NULL;
}

static struct uring *find(
	const struct tracer *t, const struct task *k, int fd, bool registered)
{
	if (registered)
		return registered_as(t, k->tid, (unsigned)fd);
	struct uring *r = ring_of(t, k->process, fd);
	return r ? r : alias_of(t, k->process, fd);
}

/* It has a ring that we cannot read: to stop there would be in vain, if it has no other.
 */
void uring_unread(struct tracer *t, struct task *k)
{
	bool others = false;

	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		others |= r->process != NULL;
	if (!others)
		fast_frees_enters(t, k, true);
	task_note(t, k, NOTE_IO_URING, k->call.row < 0 ? 0 : (uint16_t)k->call.row);
}

/* clone(2), CLONE_FILES. */
static bool same_files(const struct task *k, const struct process *p)
{
	return k->process == p || !syscall(SYS_kcmp, k->tid, p->pid, 2 /* FILES */, 0, 0);
}

/* One that runs would not stop. */
static void stop_too(struct tracer *t, struct task *k, void *process)
{
	if (!same_files(k, process))
		return;
	k->process->has_rings = true;
	task_interrupt(t, k, NULL);
}

/* Until it has no rings any more. */
static void stop_always(struct tracer *t, struct task *k)
{
	k->process->has_rings = true;
	tasks_each(t, stop_too, k->process);
}

/* A child of one that stops so, which may share its descriptors. */
void uring_born(const struct task *child, const struct task *parent)
{
	if (parent->process->has_rings && child->process != parent->process)
		child->process->has_rings = same_files(child, parent->process);
}

void uring_made(struct tracer *t, struct task *k, int64_t fd)
{
	struct uring *r = NULL, *old;

	if (fd < 0 || !async_counts(t, k))
		return;
	k->process->rang = true;
	/* Its close would have stopped: there are two tables of descriptors. */
	if ((old = ring_of(t, k->process, (int)fd))) {
		end(t, old, false);
		uring_unread(t, k);
	}
	if (awaited_of(t) && (r = calloc(1, sizeof(*r))) &&
		task_read(k, k->call.arg[1], &r->p, sizeof(r->p)) == sizeof(r->p) &&
		!(r->p.flags & unread) && r->p.flags < SETUP_NEWEST << 1) {
		r->process = k->process;
		r->fd = (int)fd;
		r->next = t->awaited->rings;
		t->awaited->rings = r;
		if (uring_show(r, k->tid)) {
			if (!fast_stops_closes(t, k))
				stop_always(t, k);
			fast_frees_enters(t, k, false);
			look(t, r);
			return;
		}
		drop(t, r);
		r = NULL;
	}
	free(r);
	uring_unread(t, k);
}

bool uring_enter(struct tracer *t, struct task *k)
{
	const uint64_t *arg = k->call.arg;
	struct uring *r =
		async_counts(t, k)
			? find(t, k, (int)arg[0], arg[3] & IORING_ENTER_REGISTERED_RING)
			: NULL;

	if (!r || !r->view.sq)
		return true;
	k->ring = r;
	r->inside++;
	look(t, r);
	uring_ask(t, k, r, (uint32_t)arg[1]);
	return true;
}

/* How many answers there have been since it began to wait, or enough; -1: not known. */
int64_t uring_ready(const struct tracer *t, const struct task *k, int fd, bool registered)
{
	const struct uring *r = find(t, k, fd, registered);

	if (!r || !r->view.cq)
		return -1;
	uint32_t n = uring_word(r->view.cq, r->p.cq_off.tail) - k->early.head;
	return n && r->timeouts ? INT32_MAX : n;
}

void uring_leave(struct tracer *t, struct task *k)
{
	struct uring *r = k->ring;

	k->ring = NULL;
	if (!r)
		return;
	r->inside--;
	if (r->view.sq && !r->inside)
		uring_settle(t, r);
	look(t, r);
	if (!r->process && !r->inside)
		drop(t, r);
}

void uring_entered(struct tracer *t, struct task *k, int64_t ret)
{
	if (k->ring)
		uring_leave(t, k);
	else if (ret >= 0 && async_counts(t, k))
		uring_unread(t, k);
}

static bool is_registered(const struct uring *r)
{
	bool is = false;

	for (unsigned i = 0; i < REGISTERED_RINGS; i++)
		is |= r->registered[i].tid != 0;
	return is;
}

/* index: -1: all. Without a descriptor that was what it lived by. */
static void unregister(struct tracer *t, struct uring *r, pid_t tid, int64_t index)
{
	for (unsigned i = 0; i < REGISTERED_RINGS; i++)
		if (r->registered[i].tid == tid &&
			(index < 0 || r->registered[i].index == index))
			r->registered[i].tid = 0;
	if (r->process && r->fd < 0 && !is_registered(r))
		end(t, r, false);
}

/* A task has its last stop: what is registered with it goes. */
void uring_exits(struct tracer *t, struct task *k)
{
	struct uring *r, *next;

	for (r = t->awaited ? t->awaited->rings : NULL; r; r = next) {
		next = r->next;
		unregister(t, r, k->tid, -1);
	}
}

static void register_rings(struct tracer *t, struct task *k, unsigned n, bool on)
{
	for (unsigned i = 0; i < n && i < REGISTERED_RINGS; i++) {
		struct io_uring_rsrc_update u;
		uint64_t from = k->call.arg[2] + i * sizeof(u);
		if (task_read(k, from, &u, sizeof(u)) != sizeof(u))
			return;
		struct uring *r = registered_as(t, k->tid, u.offset);
		if (r)
			unregister(t, r, k->tid, (int64_t)u.offset);
		r = on ? find(t, k, (int)u.data, false) : NULL;
		for (unsigned j = 0; r && j < REGISTERED_RINGS; j++)
			if (!r->registered[j].tid) {
				r->registered[j].tid = k->tid;
				r->registered[j].index = u.offset;
				break;
			}
	}
}

/* io_uring_register(2) has worked. */
void uring_registered(struct tracer *t, struct task *k, int64_t ret)
{
	const uint64_t *arg = k->call.arg;
	bool registered = (int32_t)arg[1] & BY_REGISTERED;
	struct io_uring_rsrc_update2 u = { 0 };
	struct uring *r = find(t, k, (int)arg[0], registered);
	unsigned n = (unsigned)arg[3];

	if (!r || ret < 0)
		return;
	switch ((int32_t)arg[1] & ~BY_REGISTERED) {
	case IORING_REGISTER_FILES:
		if (uring_room(r, n))
			uring_put_files(t, k, r, arg[2], 0, n);
		break;
	case IORING_REGISTER_FILES2: {
		struct io_uring_rsrc_register to = { 0 };
		task_read(k, arg[2], &to, sizeof(to));
		if (uring_room(r, to.nr) && to.data)
			uring_put_files(t, k, r, to.data, 0, to.nr);
		break;
	}
	case IORING_UNREGISTER_FILES:
		r->nfile = 0;
		break;
	case IORING_REGISTER_FILES_UPDATE:
		task_read(k, arg[2], &u, sizeof(struct io_uring_rsrc_update));
		uring_put_files(t, k, r, u.data, u.offset, n);
		break;
	case IORING_REGISTER_FILES_UPDATE2:
		task_read(k, arg[2], &u, sizeof(u));
		uring_put_files(t, k, r, u.data, u.offset, u.nr);
		break;
	case REGISTER_RESIZE:
		end(t, r, false);
		uring_unread(t, k);
		break;
	case IORING_REGISTER_RING_FDS:
	case IORING_UNREGISTER_RING_FDS:
		register_rings(t, k, n,
			((int32_t)arg[1] & ~BY_REGISTERED) == IORING_REGISTER_RING_FDS);
		break;
	}
}

/* About to close descriptors from ... to. A ring that is registered needs none. */
void uring_close(struct tracer *t, struct task *k, uint64_t from, uint64_t to)
{
	struct uring *r, *next;

	for (r = t->awaited ? t->awaited->rings : NULL; r; r = next) {
		next = r->next;
		if (!r->process || r->fd < 0 || (uint64_t)r->fd < from ||
			(uint64_t)r->fd > to || !same_files(k, r->process))
			continue;
		if (is_registered(r))
			r->fd = -1;
		else
			end(t, r, false);
	}
}

void uring_look(struct tracer *t, const struct task *k)
{
	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		if (r->process == k->process)
			look(t, r);
}

/* The descriptors of a process go, and what is under way with them. */
void uring_gone(struct tracer *t, const struct process *p)
{
	struct uring *r, *next;

	for (r = t->awaited ? t->awaited->rings : NULL; r; r = next) {
		next = r->next;
		if (r->process == p)
			end(t, r, true);
	}
}

void uring_free(struct tracer *t)
{
	while (t->awaited && t->awaited->rings)
		drop(t, t->awaited->rings);
}
