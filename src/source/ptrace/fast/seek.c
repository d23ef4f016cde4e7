/*
 * seek.c - an lseek(2) that stops
 *
 * From its first stop to its second others may go by the same position, before it or
 * behind it. Then where it is nobody knows, until it is asked for again.
 */
#include "../tracer.h"

/* It is over; where the position is by then was said before. */
static void over(struct tracer *t, struct task *k)
{
	struct fd_open *o = k->call.sought;

	k->call.sought = NULL;
	history_used(o, inside_too(t, k, o));
	fdtrack_drop(o);
}

/* Whether it is one, and its end will be seen here. */
bool seek_kept(const struct tracer *t, const struct task *k)
{
	const struct fast_call *c = t->fast->call[k->call.row];

	return c && c->role == ROLE_SEEK && k->call.noted;
}

void seek_begun(struct tracer *t, struct task *k)
{
	int fd = (int)k->call.arg[0];
	struct fd_view v;

	life_leave_seek(k); /* one whose end nobody has seen */
	if (!k->files)
		return;
	if (task_is_seen(t, k)) {
		if (!fdtrack_get(k->files, fd))
			history_of(t, k, fd); /* else this would be lost */
	} else {
		drain_task(t, k);
		fdtab_ask(t->fdtab, &k->fd, fd, &v);
		unseen_meet(t, k, fd, &v);
	}
	k->entered = fast_tsc();
	struct fd_open *o = fdtrack_get(k->files, fd);
	if (!o || !o->seeks)
		return;
	history_begun(k, o);
	k->call.sought = fdtrack_hold(k->files, fd);
}

/* Its result; llseek(2) of i386 has it in memory. */
static int64_t place_found(const struct task *k, int64_t ret)
{
	enum { I386_LLSEEK = 140, RESULT = 3 };
	int64_t at = ret;

	if (k->call.abi == ABI_I386 && k->call.nr == I386_LLSEEK &&
		task_read(k, k->call.arg[RESULT], &at, sizeof(at)) != sizeof(at))
		return OP_NO_OFFSET;
	return at;
}

void seek_done(struct tracer *t, struct task *k, int64_t ret)
{
	const struct fast_rec whole = { .t0 = k->entered, .t1 = fast_tsc() };
	struct fd_open *o = k->call.sought;

	if (!o)
		return;
	bool contested =
		history_contested(t, k, &whole, o) || o->crossed || inside_too(t, k, o);
	if (ret >= 0)
		o->offset = contested || o->loose ? OP_NO_OFFSET : place_found(k, ret);
	over(t, k);
}
