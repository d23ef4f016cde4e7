/*
 * uring.c - io_uring(7): what is asked for and answered in memory that is shared with the
 * kernel, read there at the entry and the exit of io_uring_enter(2)
 *
 * We see the rings through a mapping of our own. It would keep a ring alive that the
 * program has closed, with all that waits in it. So each close(2) of a process that has a
 * ring stops before it is made.
 */
#include "uring.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rings that cannot be read: a thread of the kernel takes the requests without a call. */
static const uint32_t unread = IORING_SETUP_SQPOLL | SETUP_NO_MMAP | SETUP_FD_ONLY;

static void drop(struct tracer *t, struct uring *r)
{
	struct uring **at = &t->awaited->rings;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	uring_hide(r);
	uring_unhook(r);
	requests_fini(t, &r->flying);
	free(r->offer);
	free(r->late);
	while (r->updates)
		uring_drop_update(r, r->updates->number);
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

/* A task enters it without a stop no more; where it is in a call of it, that has been
 * told.
 */
static void part(struct tracer *t, struct task *k, void *ring)
{
	struct uring *r = ring;

	if (!uring_is_entered(r, k))
		return;
	k->slot.ctl->uring.fd = -1;
	drain_task(t, k);
	uring_flight(t, r, k);
}

/* Each call of it stops from now on. */
static void part_all(struct tracer *t, struct uring *r)
{
	r->stops = true;
	if (r->entrants)
		tasks_each(t, part, r);
	r->entrants = 0;
}

/* k: whose stop this is, if anybody's. ends: with its process, which takes what is under
 * way with it. */
static void end(struct tracer *t, const struct task *k, struct uring *r, bool ends)
{
	part_all(t, r);
	r->ends = ends;
	if (r->view.sq) {
		uring_taken(t, r, uring_head(r));
		uring_answered(t, k, r);
		uring_give_up(t, r);
		uring_progress(t, r);
	}
	if (r->process)
		async_lose(t, r->process, &r->flying, ends);
	uring_hide(r);
	if (r->process)
		r->process->has_rings = r->process->has_rings && has_others(t, r);
	r->process = NULL;
	if (!r->inside)
		drop(t, r);
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

static struct uring *find(
	const struct tracer *t, const struct task *k, int fd, bool registered)
{
	if (registered)
		return uring_registered_as(t, k->tid, (unsigned)fd);
	struct uring *r = uring_of(t, k->process, fd);
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

/* A new task, before it runs: of a process that may share descriptors with one that stops
 * so. */
void uring_born(const struct tracer *t, const struct task *k)
{
	struct uring *r = t->awaited ? t->awaited->rings : NULL;

	for (; r && !k->process->has_rings; r = r->next)
		if (r->process && r->process->has_rings)
			k->process->has_rings = same_files(k, r->process);
}

/* Room for what may be asked for and is not known to be taken, and for answers that are
 * seen before that. */
static bool make_room(struct uring *r)
{
	r->noffers = 2 * r->p.sq_entries;
	r->offer = calloc(r->noffers, sizeof(*r->offer));
	r->late = calloc(2 * r->p.cq_entries, sizeof(*r->late));
	return r->offer && r->late;
}

void uring_made(struct tracer *t, struct task *k, int64_t fd)
{
	struct uring *r = NULL, *old;

	if (fd < 0 || !async_counts(t, k))
		return;
	k->process->rang = true;
	/* Its close would have stopped: there are two tables of descriptors. */
	if ((old = uring_of(t, k->process, (int)fd))) {
		end(t, k, old, false);
		uring_unread(t, k);
	}
	if (awaited_of(t) && (r = calloc(1, sizeof(*r))) &&
		task_read(k, k->call.arg[1], &r->p, sizeof(r->p)) == sizeof(r->p) &&
		!(r->p.flags & unread) && r->p.flags < SETUP_NEWEST << 1) {
		r->process = k->process;
		r->fd = (int)fd;
		r->next = t->awaited->rings;
		t->awaited->rings = r;
		t->told = uring_told;
		if (uring_show(r, k->tid) && make_room(r)) {
			if (!fast_stops_closes(t, k))
				stop_always(t, k);
			fast_frees_enters(t, k, false);
			uring_answered(t, k, r);
			return;
		}
		drop(t, r);
		r = NULL;
	}
	free(r);
	uring_unread(t, k);
}

static void show_safe(struct tracer *t, struct task *k, void *ring)
{
	const struct uring *r = ring;

	(void)t;
	if (uring_is_entered(r, k))
		k->slot.ctl->uring.cq_safe = uring_safe(r, false);
}

/* The hooks of others take more care from now on. */
static void enters(struct tracer *t, const struct task *k, struct uring *r)
{
	if (r->only < 0 || r->only == k->tid)
		return;
	r->only = r->only ? -1 : k->tid;
	if (r->only < 0)
		tasks_each(t, show_safe, r);
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
	k->ring_enters = k->ring_before == r ? k->ring_enters + 1 : 1;
	k->ring_before = r;
	/* Which of them takes what cannot be told unless both stop. */
	if (r->submitting && (uint32_t)arg[1])
		part_all(t, r);
	k->ring = r;
	k->submits = (uint32_t)arg[1];
	enters(t, k, r);
	r->submitting += k->submits;
	r->inside++;
	uring_answered(t, k, r);
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

/* How many answers have been read since. */
uint32_t uring_read(const struct tracer *t, const struct task *k, int fd, bool registered)
{
	const struct uring *r = find(t, k, fd, registered);

	return r && r->view.cq ? uring_word(r->view.cq, r->p.cq_off.head) - k->early.head
			       : 0;
}

void uring_leave(struct tracer *t, struct task *k)
{
	struct uring *r = k->ring;

	if (!r)
		return;
	r->inside--;
	r->submitting -= k->submits;
	if (r->view.sq)
		uring_taken(t, r, uring_head(r));
	uring_answered(t, k, r);
	k->ring = NULL;
	uring_tell(r);
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
	struct task *k = task_find(t, tid);

	if (k && uring_is_entered(r, k) && k->slot.ctl->uring.by &&
		(index < 0 || k->slot.ctl->uring.fd == index))
		part(t, k, r);
	for (unsigned i = 0; i < REGISTERED_RINGS; i++)
		if (r->registered[i].tid == tid &&
			(index < 0 || r->registered[i].index == index))
			r->registered[i].tid = 0;
	if (r->process && r->fd < 0 && !is_registered(r))
		end(t, k, r, false);
}

/* A task has its last stop: what is registered with it goes. */
void uring_exits(struct tracer *t, struct task *k)
{
	struct uring *r, *next;

	for (r = t->awaited ? t->awaited->rings : NULL; r; r = next) {
		next = r->next;
		if (r->process == k->process)
			part(t, k, r);
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
		struct uring *r = uring_registered_as(t, k->tid, u.offset);
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
	if (r->view.sq) /* what is answered was of the files that were there before */
		uring_answered(t, k, r);
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
		end(t, k, r, false);
		uring_unread(t, k);
		break;
	case IORING_REGISTER_RING_FDS:
	case IORING_UNREGISTER_RING_FDS:
		register_rings(t, k, n,
			((int32_t)arg[1] & ~BY_REGISTERED) == IORING_REGISTER_RING_FDS);
		break;
	}
}

/* Where else its process has it, below from or above to; -1: nowhere. */
static int another_descriptor(
	const struct task *k, const struct uring *r, uint64_t from, uint64_t to)
{
	char path[64];
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/fd", k->tid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && found < 0 && (e = readdir(d));) {
		uint64_t fd = strtoul(e->d_name, NULL, 10);
		if (*e->d_name != '.' && (fd < from || fd > to) &&
			!syscall(SYS_kcmp, k->tid, k->tid, 0 /* FILE */, fd, r->fd))
			found = (int)fd;
	}
	if (d)
		closedir(d);
	return found;
}

/* It goes on by another descriptor, if there is one. */
static void lose_descriptor(
	struct tracer *t, struct task *k, struct uring *r, uint64_t from, uint64_t to)
{
	int other = from == to ? another_descriptor(k, r, from, to) : -1;

	if (other < 0 && !is_registered(r)) {
		end(t, k, r, false);
		return;
	}
	part_all(t, r); /* the hook goes by the number */
	r->fd = other;
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
		lose_descriptor(t, k, r, from, to);
	}
}

void uring_look(struct tracer *t, const struct task *k)
{
	for (struct uring *r = t->awaited ? t->awaited->rings : NULL; r; r = r->next)
		if (r->process == k->process && r->view.sq) {
			uring_taken(t, r, uring_head(r));
			uring_answered(t, k, r);
		}
}

/* The descriptors of a process go, and what is under way with them. */
void uring_gone(struct tracer *t, const struct process *p)
{
	struct uring *r, *next;

	for (r = t->awaited ? t->awaited->rings : NULL; r; r = next) {
		next = r->next;
		if (r->process == p)
			end(t, NULL, r, true);
	}
}

void uring_free(struct tracer *t)
{
	while (t->awaited && t->awaited->rings)
		drop(t, t->awaited->rings);
}
