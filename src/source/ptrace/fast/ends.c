/*
 * ends.c - where files end that somebody appends to
 *
 * What is appended goes to the end of the file, wherever the position was. So the size
 * of such a file is kept: what is written moves it, in the order of time, whoever does
 * so. Where calls overlap nobody can say which of them came first, but where the file
 * ends after both is known. What cuts a file, or grows it otherwise, is seen too; once
 * the end is not known any more it is asked for, in a moment in which nobody writes. So
 * it is now and then all the same: who is not traced may write, or rotate a log.
 */
#include "../tracer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct file_end {
	uint32_t file;
	int64_t at;     /* OP_NO_OFFSET: not known */
	uint64_t since; /* of calls begun earlier nobody knows on which size they were */
	uint64_t busy;  /* when the last write ended, or UINT64_MAX: one stops now */
	pid_t user;     /* whose it was */
	uint64_t asked; /* the pass in which it was asked for */
	uint64_t sure;  /* when it was known from the kernel */
};

enum { TRUST_NS = 5 * 1000 * 1000 };

struct file_end *ends_find(const struct tracer *t, uint32_t file)
{
	const struct map *m = &t->fast->ends;

	return m->n ? (struct file_end *)map_get(m, file, 0) : NULL;
}

struct file_end *ends_keep(struct tracer *t, uint32_t file)
{
	struct file_end *e = ends_find(t, file);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e || map_put(&t->fast->ends, file, 0, (uintptr_t)e) < 0) {
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
	e->since = when;
}

void ends_forget(struct file_end *e)
{
	if (e)
		lose(e, fast_tsc());
}

void ends_forget_all(struct fast *f)
{
	for (size_t i = 0; i < f->ends.cap; i++)
		ends_forget((struct file_end *)f->ends.slot[i].value);
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
	const struct fast_rec *r, uint32_t file)
{
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(t, r, &c);

	if (!d || c->role != ROLE_DATA)
		return NULL;
	int fd = d->form == FORM_TWO ? d->fd2 : d->kind == OP_WRITE ? d->fd : ARG_NONE;
	const struct fd_open *o = fd < 0 ? NULL : fdtrack_get(k->files, (int)r->arg[fd]);
	return o && o->file == file ? o : NULL;
}

/* A record that is still to come: what it does to the end. */
static bool adds(const struct tracer *t, const struct task *k, const struct fast_rec *r,
	const struct file_end *e, int64_t *by)
{
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(t, r, &c);

	/* What stands for what by then is not known. */
	if (!d || (c->role != ROLE_DATA && c->role != ROLE_SEEK))
		return false;
	const struct fd_open *o = written(t, k, r, e->file);
	if (!o || r->result <= 0)
		return true;
	return ends_appends(d, o, r) && r->t0 >= e->since &&
	       !__builtin_add_overflow(*by, r->result, by);
}

/*
 * What the calls that are still to come have appended, the one at hand included. false:
 * it cannot be told. mark: changes whenever the answer could.
 */
static bool to_come(
	struct tracer *t, const struct file_end *e, int64_t *by, uint64_t *mark)
{
	struct fast *f = t->fast;

	*by = 0;
	*mark = 0;
	for (unsigned i = 0; i < f->nringed; i++) {
		const struct task *k = f->ringed[i];
		bool sane;
		uint64_t head = slot_head(&k->slot, &sane);
		const struct fast_rec *r = slot_rec(&k->slot, head);
		*mark += head;
		if (r->state == REC_BEGUN && written(t, k, r, e->file))
			return false;
		for (uint64_t at = k->slot.tail; at < head; at += rec_size(f, r)) {
			r = slot_rec(&k->slot, at);
			if (!adds(t, k, r, e, by))
				return false;
		}
	}
	return true;
}

/* Whether a task that stops is in the middle of writing. */
static bool is_busy(struct tracer *t, struct file_end *e)
{
	const struct task *k;

	if (e->busy != UINT64_MAX)
		return false;
	k = task_find(t, e->user);
	if (k && k->call.row >= 0)
		return true;
	e->busy = fast_tsc(); /* it was killed */
	return false;
}

/* Where it ended before the record at hand, from its size now. */
static bool learn(struct tracer *t, struct task *k, int fd, struct file_end *e)
{
	int64_t by = 0, again = 0;
	uint64_t mark, mark2;
	struct fd_view v;

	if (is_busy(t, e) || !to_come(t, e, &by, &mark))
		return false;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	int64_t size = fdtab_size(t->fdtab, &k->fd, fd);
	if (v.file != e->file || size == OP_NO_OFFSET || size < by ||
		!to_come(t, e, &again, &mark2) || mark != mark2 || by != again)
		return false;
	e->at = size - by;
	return true;
}

/* Whether it is time to ask. */
static bool doubted(const struct tracer *t, const struct file_end *e, uint64_t now)
{
	double past = now > e->sure ? (double)(now - e->sure) : 0;

	return e->at == OP_NO_OFFSET || past * t->fast->clock.ns_per_tick > TRUST_NS;
}

/* Where what the record at hand appends begins; OP_NO_OFFSET: not known. */
int64_t ends_at(struct tracer *t, struct task *k, const struct fast_rec *r, int fd,
	struct file_end *e)
{
	int64_t was = e->at;

	if (!doubted(t, e, r->t0) || r->t0 < e->since || e->asked == t->fast->pass)
		return was;
	e->asked = t->fast->pass;
	if (learn(t, k, fd, e)) {
		e->sure = r->t0;
		if (was != OP_NO_OFFSET && was != e->at)
			lose(e, fast_tsc()); /* when that was nobody knows */
	}
	return e->at;
}

/* The same for what comes next, at a stop: known from now on, if that can be. */
void ends_settle(struct tracer *t, struct task *k, int fd, struct file_end *e)
{
	if (e && e->at == OP_NO_OFFSET)
		learn(t, k, fd, e);
}

/* Whether it may set the size of any file: which one an open is of is not known yet. */
static bool cuts(const struct tracer *t, const struct fast_rec *r)
{
	const struct fast_call *c;
	const struct syscall_desc *d = desc_of(t, r, &c);

	return d && c->cuts &&
	       (c->role != ROLE_OPEN || call_open_flags(r, c->name) & O_TRUNC);
}

static bool others_write(
	struct tracer *t, const struct task *k, uint32_t file, uint64_t before)
{
	struct fast *f = t->fast;

	for (unsigned i = 0; f->nringed > 1 && i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other == k)
			continue;
		uint64_t head = slot_head(&other->slot, &sane), at = other->slot.tail;
		const struct fast_rec *q = slot_rec(&other->slot, at);
		for (; at < head && q->t0 < before;
			at += rec_size(f, q), q = slot_rec(&other->slot, at))
			if (written(t, other, q, file) || cuts(t, q))
				return true;
		if (at == head && q->state == REC_BEGUN && q->t0 < before &&
			(written(t, other, q, file) || cuts(t, q)))
			return true;
	}
	return false;
}

/* Whether another task's write overlaps this call. */
bool ends_contested(
	struct tracer *t, struct task *k, const struct fast_rec *r, struct file_end *e)
{
	bool is = t->fast->cutting || is_busy(t, e) ||
		  (e->busy > r->t0 && e->user != k->tid) ||
		  others_write(t, k, e->file, r->t1);

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
 * somebody did. */
void ends_wrote(struct file_end *e, int64_t end, bool contested, uint64_t when)
{
	if (e->at == OP_NO_OFFSET || end <= e->at)
		return;
	e->at = end;
	if (contested)
		lose(e, when);
}

/*
 * A call of the ring has opened a file; size: what it had, a moment later. Of what others
 * have written until then nothing has been read yet.
 */
void ends_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fd_open *o, int64_t size)
{
	struct file_end *e = o->flags & O_APPEND  ? ends_keep(t, o->file)
			     : o->flags & O_TRUNC ? ends_find(t, o->file)
						  : NULL;

	if (!e)
		return;
	if (!is_busy(t, e) && !others_write(t, k, e->file, UINT64_MAX) &&
		(e->busy <= r->t0 || e->user == k->tid))
		e->at = size;
	else if (o->flags & O_TRUNC)
		lose(e, r->t1);
}

enum { KEEP_SIZE = 1, COLLAPSE = 8, INSERT = 32 }; /* fallocate(2) */

/* A call of the ring that sets the size has succeeded. */
void ends_resized(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r, uint32_t file)
{
	struct file_end *e = ends_find(t, file);
	bool grows = c->role == ROLE_GROW;
	int64_t end;

	if (!e)
		return;
	bool contested = ends_contested(t, k, r, e);
	bool moves = grows && (r->arg[1] & (COLLAPSE | INSERT) ||
				      __builtin_add_overflow((int64_t)r->arg[2],
					      (int64_t)r->arg[3], &end));
	if (moves || (!grows && contested))
		lose(e, r->t1);
	else if (!grows)
		e->at = (int64_t)r->arg[1];
	else if (!(r->arg[1] & KEEP_SIZE))
		ends_wrote(e, end, contested, r->t1);
}

/* At the stop before a write. */
void ends_begun(struct tracer *t, struct task *k, uint32_t file, bool appends)
{
	struct file_end *e = appends ? ends_keep(t, file) : ends_find(t, file);

	if (!e)
		return;
	e->busy = UINT64_MAX;
	e->user = k->tid;
	k->call.end = e->at;
}

/* Behind it; the records of the others have been read. */
void ends_done(
	struct tracer *t, struct task *k, int fd, uint32_t file, const struct seed *s)
{
	struct file_end *e = ends_find(t, file);

	if (!e)
		return;
	if (e->busy != UINT64_MAX || e->user == k->tid) {
		e->busy = fast_tsc();
		e->user = k->tid;
	}
	if (s->added > 0 && e->at == OP_NO_OFFSET)
		learn(t, k, fd, e);
	else if (s->added > 0 && e->at == k->call.end && s->wrote != OP_NO_OFFSET)
		e->at = s->wrote;
	else if (s->added > 0)
		ends_added(e, s->added); /* to what others have meanwhile */
	else if (s->wrote != OP_NO_OFFSET)
		ends_wrote(e, s->wrote, e->at != k->call.end, e->busy);
}
