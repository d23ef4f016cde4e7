/*
 * ends.c - where files end that somebody appends to
 *
 * What is appended goes to the end of the file, wherever the position was. So the size
 * of such a file is kept: what is written moves it, in the order of time, whoever does
 * so. Where calls overlap nobody can say which of them came first, but where the file
 * ends after both is known. What cuts a file, or grows it otherwise, is seen too; once
 * the end is not known any more it is asked for, in a moment in which nobody writes. So
 * it is now and then all the same: who is not traced may write, or rotate a log. Where
 * somebody does, the places of others are not known until he has been quiet for a while.
 */
#include "../tracer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct file_end {
	uint32_t file;
	int64_t at;     /* OP_NO_OFFSET: not known */
	uint64_t since; /* of calls begun earlier nobody knows on which size they were */
	uint64_t busy;  /* when the last write ended */
	pid_t user;     /* whose it was */
	unsigned writers; /* tasks that stop in the middle of one */
	uint64_t asked;   /* the pass in which it was asked for */
	uint64_t sure;    /* when it was known from the kernel */
	uint64_t strange; /* when that was last not what the calls of all had made it */
};

enum { TRUST_NS = 5 * 1000 * 1000, QUIET_NS = 1000 * 1000 * 1000 };

static uint64_t device_of(const struct file *f)
{
	return (uint64_t)f->major << 32 | f->minor;
}

/* Of all names that a file has, before and after it is moved. */
struct file_end *ends_find(const struct tracer *t, uint32_t file)
{
	const struct map *m = &t->fast->ends;

	if (!m->n)
		return NULL;
	const struct file *f = names_file(t->names, file);
	return (struct file_end *)map_get(m, device_of(f), f->inode);
}

static bool is_of(const struct tracer *t, const struct file_end *e, uint32_t file)
{
	if (file == e->file)
		return true;
	const struct file *a = names_file(t->names, file),
			  *b = names_file(t->names, e->file);
	return a->inode == b->inode && device_of(a) == device_of(b);
}

struct file_end *ends_keep(struct tracer *t, uint32_t file)
{
	struct file_end *e = ends_find(t, file);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	const struct file *f = names_file(t->names, file);
	if (!e || map_put(&t->fast->ends, device_of(f), f->inode, (uintptr_t)e) < 0) {
		free(e);
		return NULL;
	}
	e->file = file;
	e->at = OP_NO_OFFSET;
	return e;
}

void ends_fini(struct fast *f)
{
	for (size_t i = 0; i < f->ends.cap; i++)
		free((void *)f->ends.slot[i].value);
	map_fini(&f->ends);
}

/* It has changed at some time before now, or this one. */
static void lose(struct file_end *e, uint64_t when)
{
	e->at = OP_NO_OFFSET;
	e->since = when > e->since ? when : e->since;
}

void ends_forget(struct file_end *e)
{
	if (e)
		lose(e, fast_tsc());
}

void ends_forget_all(struct fast *f)
{
	ends_forget_then(f, fast_tsc());
}

void ends_forget_then(struct fast *f, uint64_t when)
{
	for (size_t i = 0; i < f->ends.cap; i++)
		if (f->ends.slot[i].value)
			lose((struct file_end *)f->ends.slot[i].value, when);
}

/* Of a record: of calls with parts it keeps the flags in place of their number. */
bool ends_appends(
	const struct syscall_desc *d, const struct fd_open *o, const struct fast_rec *r)
{
	return syscall_appends(d, o->flags, r->arg[2]);
}

static const struct syscall_desc *desc_of(
	const struct tracer *t, const struct fast_rec *r, const struct fast_call **call)
{
	uint32_t nr = rec_nr(r);
	int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;

	*call = row >= 0 ? t->fast->call[row] : NULL;
	return *call ? &syscalls[row] : NULL;
}

/* The open file that a record writes to, if it is this one's. */
static const struct fd_open *written(const struct tracer *t, const struct task *k,
	const struct fast_rec *r, const struct file_end *e)
{
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(t, r, &c);

	if (!d || c->role != ROLE_DATA)
		return NULL;
	int fd = d->form == FORM_TWO ? d->fd2 : d->kind == OP_WRITE ? d->fd : ARG_NONE;
	const struct fd_open *o = fd < 0 ? NULL : fdtrack_get(k->files, (int)r->arg[fd]);
	return o && is_of(t, e, o->file) ? o : NULL;
}

/* Whether it may set the size of any file: which one an open is of is not known yet. */
static bool cuts(const struct tracer *t, const struct fast_rec *r)
{
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(t, r, &c);

	return d && c->cuts &&
	       (c->role != ROLE_OPEN || call_open_flags(r->arg, c->name) & O_TRUNC);
}

/* What the calls that are still to come have appended, the one at hand too. */
struct added {
	struct tracer *t;
	const struct file_end *e;
	int64_t by;
};

static bool add_append(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	struct added *a = arg;
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(a->t, r, &c);
	const struct fd_open *o = written(a->t, k, r, a->e);

	/* Nor what requests that are taken just now have; behind a stop they are known.
	 */
	bool asks = c && (c->role == ROLE_ENTER || c->role == ROLE_SUBMIT);
	if (flight)
		return !o && !cuts(a->t, r) && (!asks || k->call.row >= 0);
	/* What stands for what by then is not known. */
	if (!d || (c->role != ROLE_DATA && c->role != ROLE_SEEK))
		return false;
	if (!o || r->result <= 0)
		return true;
	return ends_appends(d, o, r) && r->t0 >= a->e->since &&
	       !__builtin_add_overflow(a->by, r->result, &a->by);
}

/* Where it ended before the record at hand, from its size now. */
static bool learn(struct tracer *t, struct task *k, int fd, struct file_end *e)
{
	struct added a = { t, e, 0 }, again = a;
	uint64_t mark, mark2;
	struct fd_view v;

	if (e->writers || t->fast->cutting ||
		!records_later(t->fast, add_append, &a, &mark))
		return false;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	int64_t size = fdtab_size(t->fdtab, &k->fd, fd);
	if (!v.file || !is_of(t, e, v.file) || size == OP_NO_OFFSET || size < a.by ||
		!records_later(t->fast, add_append, &again, &mark2) || mark != mark2 ||
		a.by != again.by)
		return false;
	e->at = size - a.by;
	return true;
}

static bool is_past(const struct tracer *t, uint64_t when, uint64_t now, double ns)
{
	return now > when && (double)(now - when) * t->fast->clock.ns_per_tick > ns;
}

/* Whether it is time to ask. */
static bool doubted(const struct tracer *t, const struct file_end *e, uint64_t now)
{
	return e->at == OP_NO_OFFSET || is_past(t, e->sure, now, TRUST_NS);
}

/* Whether somebody writes who is not traced. */
static bool strange(const struct tracer *t, const struct file_end *e, uint64_t now)
{
	return e->strange && !is_past(t, e->strange, now, QUIET_NS);
}

/* Where what the record at hand appends begins; OP_NO_OFFSET: not known. */
int64_t ends_at(struct tracer *t, struct task *k, const struct fast_rec *r, int fd,
	struct file_end *e)
{
	int64_t was = e->at;

	if (doubted(t, e, r->t0) && r->t0 >= e->since && e->asked != t->fast->pass) {
		e->asked = t->fast->pass;
		if (learn(t, k, fd, e)) {
			e->sure = r->t0;
			if (was != OP_NO_OFFSET && was != e->at)
				e->strange = fast_tsc(); /* since when nobody knows */
		}
	}
	return strange(t, e, r->t0) ? OP_NO_OFFSET : e->at;
}

/* The same for what comes next, at a stop: known from now on, if that can be. */
void ends_settle(struct tracer *t, struct task *k, int fd, struct file_end *e)
{
	if (e && e->at == OP_NO_OFFSET)
		learn(t, k, fd, e);
}

/* Whether the calls of others that began before then may change it, or too many have. */
static bool others_write(
	struct tracer *t, const struct task *k, const struct file_end *e, uint64_t before)
{
	enum { MANY = 256 };
	struct fast *f = t->fast;
	unsigned n = 0;

	for (unsigned i = 0; f->nringed > 1 && i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other == k)
			continue;
		uint64_t head = slot_head(&other->slot, &sane), at = other->slot.tail;
		const struct fast_rec *q = slot_rec(&other->slot, at);
		for (; at < head && q->t0 < before;
			at += rec_size(f, q), q = slot_rec(&other->slot, at))
			if (n++ == MANY || written(t, other, q, e) || cuts(t, q))
				return true;
		if (at == head && slot_is_open(&other->slot, q) && q->t0 < before &&
			(written(t, other, q, e) || cuts(t, q)))
			return true;
	}
	return false;
}

static bool overlaps(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct file_end *e, uint64_t before)
{
	return t->fast->cutting || e->writers || (e->busy > r->t0 && e->user != k->tid) ||
	       others_write(t, k, e, before);
}

/* Whether another task's write overlaps this call. */
bool ends_contested(
	struct tracer *t, struct task *k, const struct fast_rec *r, struct file_end *e)
{
	bool is = overlaps(t, k, r, e, r->t1);

	if (r->t1 > e->busy) {
		e->busy = r->t1;
		e->user = k->tid;
	}
	return is;
}

void ends_added(struct file_end *e, int64_t by)
{
	if (e->at != OP_NO_OFFSET && __builtin_add_overflow(e->at, by, &e->at))
		lose(e, e->since);
}

/* Written up to there by a call that does not append and ended then; contested: while
 * somebody did, or from where nobody knows. */
void ends_wrote(struct file_end *e, int64_t end, bool contested, uint64_t when)
{
	if (contested)
		lose(e, when);
	else if (e->at != OP_NO_OFFSET && end > e->at)
		e->at = end;
}

/*
 * A call of the ring has opened a file; size: what it had, a moment later. Of what others
 * have written until then nothing has been read yet.
 */
void ends_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fd_open *o, int64_t size)
{
	const bool says = o->flags & (O_APPEND | O_TRUNC);
	struct file_end *e =
		o->flags & O_APPEND ? ends_keep(t, o->file) : ends_find(t, o->file);

	if (!e || (!says && e->at == size))
		return;
	/* What does not say so may be another file, by the number of one that is gone. */
	bool known = r->t0 >= e->since && !overlaps(t, k, r, e, UINT64_MAX);
	if (known)
		e->at = size;
	else if (says)
		lose(e, r->t1);
}

enum { KEEP_SIZE = 1, COLLAPSE = 8, INSERT = 32 }; /* fallocate(2) */

/* A call of the ring that sets the size; fallocate(2) may do so and fail. */
void ends_resized(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r, uint32_t file)
{
	struct file_end *e = ends_find(t, file);
	bool grows = c->role == ROLE_GROW;
	int64_t end;

	if (!e || (r->result < 0 && !grows))
		return;
	bool contested = ends_contested(t, k, r, e);
	bool moves = grows && (r->result < 0 || r->arg[1] & (COLLAPSE | INSERT) ||
				      __builtin_add_overflow((int64_t)r->arg[2],
					      (int64_t)r->arg[3], &end));
	if (moves || contested || r->t0 < e->since)
		lose(e, r->t1);
	else if (!grows)
		e->at = (int64_t)r->arg[1];
	else if (!(r->arg[1] & KEEP_SIZE))
		ends_wrote(e, end, false, r->t1);
}

/* At the stop before a write. */
void ends_begun(struct tracer *t, struct task *k, uint32_t file, bool appends)
{
	struct file_end *e = appends ? ends_keep(t, file) : ends_find(t, file);

	if (!e || k->call.writes)
		return;
	e->writers++;
	k->call.writes = e;
}

/* NULL: it was no write. */
static struct file_end *write_over(struct task *k)
{
	struct file_end *e = k->call.writes;

	k->call.writes = NULL;
	if (e) {
		e->writers--;
		e->busy = fast_tsc();
		e->user = k->tid;
		lose(e, e->busy);
	}
	return e;
}

/* The write is over. What it did to the end depends on what others have done meanwhile:
 * that is asked. What the call may have cut is its own affair: cut.c. */
void ends_done(struct tracer *t, struct task *k, int fd)
{
	struct file_end *e = write_over(k);

	if (e)
		learn(t, k, fd, e);
}

/* A task is out of the call that stopped, or gone with it. */
void ends_leave(struct tracer *t, struct task *k)
{
	if (k->call.cuts)
		t->fast->cutting--;
	k->call.cuts = false;
	write_over(k);
}

/* As from the stop before a write to the end of one, by a request, of which many may be
 * under way. NULL: no memory. */
struct file_end *ends_hold(struct tracer *t, uint32_t file)
{
	struct file_end *e = ends_keep(t, file);

	if (e)
		e->writers++;
	return e;
}

/* when: the answer was there; since: it was under way; by: what it has appended; to: or
 * how far it has written; OP_NO_OFFSET: not known. */
void ends_release(
	struct file_end *e, uint64_t since, uint64_t when, int64_t by, int64_t to)
{
	bool contested = e->busy > since;

	e->writers--;
	e->busy = when > e->busy ? when : e->busy;
	e->user = 0;
	if (contested || by == OP_NO_OFFSET || to == OP_NO_OFFSET)
		lose(e, when);
	else if (by)
		ends_added(e, by);
	else
		ends_wrote(e, to, false, when);
}

/* It is gone: what it was in the middle of may have been done. */
void ends_died(struct tracer *t, struct task *k)
{
	const struct fast_call *c;
	bool cut = k->call.cuts;

	ends_leave(t, k);
	if (slot_in_flight(&k->slot)) {
		const struct fast_rec *r = slot_rec(&k->slot, k->slot.tail);
		const struct syscall_desc *d = desc_of(t, r, &c);
		cut |= d && (c->cuts || d->kind == OP_WRITE || d->form == FORM_TWO);
	}
	if (cut)
		ends_forget_all(t->fast);
}
