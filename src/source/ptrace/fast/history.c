/*
 * history.c - which file a descriptor stood for when a record was made
 *
 * Records are read later than they are made. So closing, duplicating and opening are in
 * the rings too, and this keeps what they did, in the order of time. What is not known
 * is asked of /proc, as long as no record that is still to come says that it has changed.
 */
#include "../uring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Paths of open files may be others now. What was resolved before is not used again. */
void new_epoch(struct fast *f)
{
	f->epoch++;
	f->texts.stale = true;
	f->epoch_since = fast_tsc();
	if (f->known.n > 4096)
		map_fini(&f->known);
}

/* Likewise, and no record will tell. */
void epoch_unsure(struct fast *f)
{
	new_epoch(f);
	f->unsure = f->epoch;
}

/*
 * Another program runs. What was close-on-exec is not known for sure, so all is asked
 * anew, unless its calls are seen again before it makes one: then history_take_stock()
 * finds out what is left. Of a process attached to, positions that others share will move
 * without our seeing whose they are; else each of its calls is asked until its history is
 * kept.
 */
void history_exec(struct tracer *t, struct task *k)
{
	for (int fd = 0; t->dispatch && !t->launch && k->files && fd < FDTRACK_MAX;
		fd++) {
		struct fd_open *o = fdtrack_get(k->files, fd);
		if (o && o->refs > 1 && o->seeks) {
			o->offset = OP_NO_OFFSET;
			o->loose = true;
		}
		if (!o && fd > fdtrack_last(k->files))
			break;
	}
	struct fd_table *own = NULL;
	if (t->dispatch && t->launch && !k->filtered && k->seen && k->files)
		own = fdtrack_exec(t->fast->track, k->files);
	k->files_kept = own;
	k->seen = own; /* else most programs are short: not worth one until patched */
	if (own)
		k->files = own;
	else
		history_begin(t, k, NULL, false);
}

/* That will not be found out. */
void history_lose(struct tracer *t, struct task *k)
{
	k->seen = k->files_kept = false;
	history_begin(t, k, NULL, false);
}

bool history_seeks(struct tracer *t, uint32_t file)
{
	uint8_t type = names_file(t->names, file)->type;

	return type == FILE_REGULAR || type == FILE_BLOCK;
}

/* Closed at that time: not what was opened under that number since then. */
void history_closed(struct tracer *t, struct task *k, int fd, uint64_t when)
{
	fdtrack_close_old(t->fast->track, k->files, fd, when);
}

/* Another descriptor of the same open file, to be found by asking the kernel. */
struct twin {
	struct tracer *t;
	struct task *k;
	int fd;
	uint32_t file;
	unsigned asked;
	bool unsure; /* it may be one that could not be asked */
	bool anew;   /* ... as there is another one in its place by now */
	struct fd_open *found, *at;
	int differs; /* what was found out about the one at hand: compare() */
};

bool history_holds(const struct task *k, int fd, const struct fd_open *o)
{
	return k && k->files && fdtrack_get(k->files, fd) == o;
}

/* Whether it is what a task has there: 0, more than 0 if not, less if it cannot be told:
 * what it has there by now is another one, perhaps, by what is yet to be read. */
static int compare(struct twin *w, const struct task *k, int fd)
{
	int differs = (int)syscall(SYS_kcmp, w->k->tid, k->tid, KCMP_FILE, w->fd, fd);
	bool other = closes_by_now(w->t->fast, k, fd);

	w->anew |= other;
	w->unsure |= other || (differs < 0 && errno == EPERM);
	return other ? -1 : differs;
}

/* Who found it may have closed it, or be gone: another one that has it. */
static void ask_holder(struct tracer *t, struct task *k, void *arg)
{
	struct twin *w = arg;
	int last = k->files ? fdtrack_last(k->files) : -1;

	(void)t;
	for (int fd = 0; w->differs < 0 && fd <= last; fd++) {
		if (!history_holds(k, fd, w->at))
			continue;
		w->differs = compare(w, k, fd);
		w->at->tid = k->tid;
		w->at->fd = fd;
	}
}

/* Of more than it takes a while to ask, nobody knows who moves them. */
static void is_twin(struct fd_open *o, void *arg)
{
	enum { MANY = 256 };
	struct twin *w = arg;

	if (w->found || o->file != w->file || o->asked == w->t->fast->questions)
		return;
	o->asked = w->t->fast->questions;
	w->at = o;
	w->differs = -1;
	const struct task *holder = o->tid ? task_find(w->t, o->tid) : NULL;
	if (w->asked++ >= MANY)
		w->unsure = true;
	else if (history_holds(holder, o->fd, o))
		w->differs = compare(w, holder, o->fd);
	if (w->differs < 0 && !w->unsure)
		tasks_each(w->t, ask_holder, w);
	if (w->differs == 0)
		w->found = o;
	else
		o->loose |= w->differs < 0 && w->unsure;
}

static struct fd_open *add_open(
	struct tracer *t, struct task *k, int fd, const struct fd_view *v, uint64_t since)
{
	struct fd_open new = { .file = v->file,
		.flags = v->flags,
		.seeks = history_seeks(t, v->file),
		.since = since,
		.tid = k->tid,
		.fd = fd };
	struct twin w = { .t = t, .k = k, .fd = fd, .file = v->file };

	fdtrack_close(t->fast->track, k->files, fd);
	t->fast->questions++;
	if (new.seeks)
		fdtrack_each(t->fast->track, is_twin, &w);
	if (w.found) {
		w.found->refs++;
		fdtrack_give(k->files, fd, w.found);
	} else {
		new.loose = w.unsure;
		new.doubtful = w.anew;
		fdtrack_open(t->fast->track, k->files, fd, &new);
	}
	return fdtrack_get(k->files, fd);
}

/* Where it is, whoever moves it, only who keeps a history knows. */
void history_meet(struct tracer *t, struct task *k, int fd, const struct fd_view *v)
{
	struct fd_open *o = add_open(t, k, fd, v, 0);

	if (o && o->refs == 1)
		o->offset = OP_NO_OFFSET;
}

/* The truth about fd, from a task that stands still; after: its position from now on. */
void history_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	int64_t after, uint64_t since)
{
	struct fd_open *o = fdtrack_get(k->files, fd);

	if (!v->file)
		return;
	if (!o || o->file != v->file)
		o = add_open(t, k, fd, v, since);
	if (!o)
		return;
	bool known = o->seeks && !o->doubtful && !uring_moves(t);
	o->offset = known ? after : OP_NO_OFFSET;
	o->epoch = t->fast->epoch;
	o->loose = o->doubtful;
	o->flags = v->flags;
}

/* Whether that is what a task has there; of one that others may have as well, unseen, any
 * of the same file may be it. */
static bool may_be(const struct task *k, int fd, const struct fd_open *o)
{
	const struct fd_open *x = fdtrack_get(k->files, fd);

	return x == o || (o->loose && x && x->file == o->file);
}

/* A record that makes another descriptor of it. */
static bool copies(
	const struct task *k, const struct fast_rec *r, const struct fd_open *o)
{
	return rec_dups(r) && fdtrack_get(k->files, (int)r->arg[0]) == o;
}

/* One that takes a descriptor of it away: what is done there later is to another file. */
static bool frees(const struct task *k, const struct fast_rec *r, const struct fd_open *o)
{
	const int fd = rec_frees(r, true);

	return fd >= 0 && may_be(k, fd, o);
}

/* Which of its sides a record moves the position of this file by; 2: both or unclear. */
static int moves(struct tracer *t, const struct task *k, const struct fast_rec *r,
	const struct fd_open *o)
{
	uint32_t nr = rec_nr(r);
	int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	if (copies(k, r, o) || frees(k, r, o)) /* who moves the copy is not known yet */
		return 2;
	if (!c || (c->role != ROLE_SEEK && c->role != ROLE_DATA))
		return 0;
	const struct syscall_desc *d = &syscalls[row];
	if (c->shape == SHAPE_TWO)
		return may_be(k, (int)r->arg[d->fd], o) ||
				       may_be(k, (int)r->arg[d->fd2], o)
			       ? 2
			       : 0;
	if (d->fd < 0 || !may_be(k, (int)r->arg[d->fd], o))
		return 0;
	if (c->role == ROLE_SEEK || ends_appends(d, o, r) ||
		fdtrack_get(k->files, (int)r->arg[d->fd]) != o)
		return 2;
	return d->offset < 0 || (int64_t)r->arg[d->offset] == -1;
}

/* What the calls that are still to come have moved a position by, the one at hand too. */
struct moved {
	struct tracer *t;
	const struct fd_open *o;
	int64_t by;
};

static bool add_move(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	struct moved *m = arg;
	int how = moves(m->t, k, r, m->o);

	if (!how)
		return true;
	return !flight && how == 1 &&
	       (r->result <= 0 || !__builtin_add_overflow(m->by, r->result, &m->by));
}

/*
 * Whether to look for the position at this use, as a look goes through all that is still
 * to come: once in a pass if it is found, and else at the first use, the second, the
 * fourth and so on.
 */
static bool may_settle(const struct tracer *t, struct fd_open *o)
{
	if (!o->seeks || o->offset != OP_NO_OFFSET)
		return false;
	if (o->pass != t->fast->pass) {
		o->pass = t->fast->pass;
		o->vain = o->rest = 0;
	}
	if (o->rest) {
		o->rest -= o->rest != UINT32_MAX;
		return false;
	}
	o->vain = o->vain ? 2 * o->vain : 1;
	o->rest = o->vain - 1;
	return true;
}

/* Where the position was before the record at hand; only if nothing moves meanwhile. */
static void settle(struct tracer *t, struct task *k, int fd, struct fd_open *o)
{
	struct moved m = { t, o, 0 }, again = m;
	uint64_t mark, mark2;
	struct fd_view v;

	if (o->doubtful || uring_moves(t) || inside_too(t, k, o) ||
		!records_later(t->fast, add_move, &m, &mark))
		return;
	o->rest = UINT32_MAX;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	if (v.file == o->file && v.offset != OP_NO_OFFSET &&
		records_later(t->fast, add_move, &again, &mark2) && mark == mark2 &&
		m.by == again.by && v.offset >= m.by)
		o->offset = v.offset - m.by;
}

/* Whether a record that is still to come tells of another name. */
static bool comes_later(const struct tracer *t, const struct fd_open *o)
{
	return o->epoch >= t->fast->unsure && paths_later(t->fast);
}

/* The same file under another name, or something else by now: then the old one stands. */
static void check_path(struct tracer *t, struct task *k, int fd, struct fd_open *o)
{
	struct fd_view v;

	if (comes_later(t, o))
		return;
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	if (comes_later(t, o))
		return; /* /proc may have known what is still to come */
	o->epoch = t->fast->epoch;
	if (!v.file || v.file == o->file)
		return;
	const struct file *now = names_file(t->names, v.file),
			  *was = names_file(t->names, o->file);
	if (now->inode == was->inode && now->major == was->major &&
		now->minor == was->minor)
		o->file = v.file;
}

/* NULL: not known. */
struct fd_open *history_of(struct tracer *t, struct task *k, int fd)
{
	struct fd_open *o = fdtrack_get(k->files, fd);
	struct fd_view v;

	if (o && (o->late.path ? !found_late(t, k, fd, o) : !o->file)) {
		fdtrack_close(t->fast->track, k->files, fd);
		o = NULL;
	}
	/* What /proc would say now may be of what is still to come. */
	bool placed = o && !may_settle(t, o);
	if (placed && (o->epoch == t->fast->epoch || comes_later(t, o)))
		return o;
	if (fd < 0 || closes_later(t->fast, k, fd))
		return o;
	if (!o) {
		fdtab_ask(t->fdtab, &k->fd, fd, &v);
		bool is = v.file && !closes_by_now(t->fast, k, fd);
		o = is ? add_open(t, k, fd, &v, 0) : NULL;
		if (!o)
			return NULL;
		if (o->refs == 1) {
			o->epoch = t->fast->epoch;
			o->offset = OP_NO_OFFSET;
		}
	}
	if (o->epoch != t->fast->epoch)
		check_path(t, k, fd, o);
	if (!placed && o->seeks && o->offset == OP_NO_OFFSET)
		settle(t, k, fd, o);
	return o;
}

void history_moved(struct tracer *t, struct fd_open *o, int64_t by)
{
	(void)t;
	if (o->offset == OP_NO_OFFSET || o->loose ||
		__builtin_add_overflow(o->offset, by, &o->offset))
		o->offset = OP_NO_OFFSET;
}

static bool uses(struct tracer *t, const struct task *k, const struct fast_rec *r,
	const struct fd_open *o)
{
	uint32_t nr = rec_nr(r);
	int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	if (copies(k, r, o))
		return true;
	if (!c || (c->role != ROLE_DATA && c->role != ROLE_SEEK))
		return false;
	const int fd[2] = { syscalls[row].fd, syscalls[row].fd2 };
	return (fd[0] >= 0 && fdtrack_get(k->files, (int)r->arg[fd[0]]) == o) ||
	       (fd[1] >= 0 && fdtrack_get(k->files, (int)r->arg[fd[1]]) == o);
}

/* As long as somebody is inside a call that stops, whoever else goes by the position
 * comes before it or behind it. */
void history_crosses(const struct task *k, struct fd_open *o)
{
	o->crossed |= o->busy == UINT64_MAX && o->user != k->tid;
}

/* A call that stops is about to go by it. */
void history_begun(const struct task *k, struct fd_open *o)
{
	if (o->busy != UINT64_MAX)
		o->crossed = false;
	history_crosses(k, o);
	o->busy = UINT64_MAX;
	o->user = k->tid;
}

/* It has; other: who is inside of one yet, or 0. */
void history_used(struct fd_open *o, pid_t other)
{
	o->busy = other ? UINT64_MAX : fast_tsc();
	if (other)
		o->user = other;
	o->crossed = other;
}

/*
 * Whether another task's call overlaps this one, so that nobody can say which of them
 * found the position first.
 */
bool history_contested(
	struct tracer *t, struct task *k, const struct fast_rec *r, struct fd_open *o)
{
	struct fast *f = t->fast;
	bool is = o->busy > r->t0 && o->user != k->tid;

	history_crosses(k, o);
	for (unsigned i = 0; !is && i < f->nringed; i++) {
		const struct task *other = f->ringed[i];
		bool sane;
		if (other == k)
			continue;
		uint64_t head = slot_head(&other->slot, &sane), at = other->slot.tail;
		const struct fast_rec *q = slot_rec(&other->slot, at);
		for (; !is && at < head && q->t0 < r->t1;
			at += rec_size(f, q), q = slot_rec(&other->slot, at))
			is = uses(t, other, q, o);
		if (at == head && slot_is_open(&other->slot, q) && q->t0 < r->t1)
			is |= uses(t, other, q, o);
	}
	if (r->t1 > o->busy) { /* the last to end, who may overlap with what is to come */
		o->busy = r->t1;
		o->user = k->tid;
	}
	return is;
}

/* The same at a stop: those of the task itself can be asked. */
void history_look(struct tracer *t, struct task *k)
{
	enum { FEW = 64 };
	int last = fdtrack_last(k->files);

	for (int fd = 0; fd <= last && fd < FEW; fd++) {
		struct fd_open *o = fdtrack_get(k->files, fd);
		if (o && o->seeks)
			check_path(t, k, fd, o);
	}
}
