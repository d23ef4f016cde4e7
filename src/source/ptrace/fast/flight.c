/*
 * flight.c - what requests that are answered later do to the files of those that are not
 *
 * They move positions and ends, and change names, like calls do; but when, nobody can say
 * but that it is between the asking and the answer. Meanwhile none of that is known, and
 * behind it the kernel is asked.
 */
#include "../async.h"

static void lose(struct fd_open *o, void *file)
{
	if (o->file == *(const uint32_t *)file)
		o->offset = OP_NO_OFFSET;
}

/* Of registered files it is not known whose open file it is. */
static void lose_positions(struct tracer *t, struct request *q)
{
	for (int i = 0; i <= q->two; i++) {
		struct op *op = &q->op[i];
		struct task *k = task_find(t, op->tid);
		struct fd_open *o = op->fd >= 0 && k && k->files
					    ? fdtrack_get(k->files, op->fd)
					    : NULL;
		if (!(q->moves >> i & 1))
			continue;
		if (o)
			o->offset = OP_NO_OFFSET;
		else
			fdtrack_each(t->fast->track, lose, &op->file);
	}
}

static bool is_end(const struct tracer *t, const struct request *q, int i)
{
	uint8_t type = names_file(t->names, q->op[i].file)->type;

	return (q->op[i].kind == OP_WRITE || q->changes & CHANGES_END) &&
	       (type == FILE_REGULAR || type == FILE_UNKNOWN);
}

void flight_asked(struct tracer *t, struct task *k, struct request *q)
{
	bool ends = q->changes & CHANGES_ANY_END;

	if (!t->fast)
		return;
	lose_positions(t, q);
	for (int i = 0; i <= q->two; i++)
		ends |= is_end(t, q, i);
	if (ends)
		k->call.noted |= cut_unseen(t, k);
	if (q->changes & CHANGES_NAMES) {
		drain_all(t); /* what others have done before was by the old ones */
		found_all(t, k);
	}
}

void flight_begins(struct tracer *t, struct request *q)
{
	if (!t || !t->fast)
		return;
	q->since = t->fast->when;
	q->cuts = q->changes & CHANGES_ANY_END;
	for (int i = 0; i <= q->two; i++) {
		if (!is_end(t, q, i))
			continue;
		q->end[i] = q->op[i].file ? ends_hold(t, q->op[i].file) : NULL;
		q->cuts |= !q->end[i];
	}
	t->fast->cutting += q->cuts;
	if (q->changes & CHANGES_NAMES)
		paths_unsure(t);
	q->renames = q->changes & CHANGES_NAMES && !q->silent;
	t->fast->renaming += q->renames;
}

static void settle(struct tracer *t, struct request *q, int i)
{
	const struct op *op = &q->op[i];
	bool known = !(q->changes & CHANGES_END) && q->result != OP_NO_OFFSET;
	int64_t n = known && q->result > 0 ? q->result : 0, by = 0, to = 0;

	if (q->appends)
		by = known ? n : OP_NO_OFFSET;
	else if (!known || (n && (op->offset == OP_NO_OFFSET ||
					 __builtin_add_overflow(op->offset, n, &to))))
		to = OP_NO_OFFSET;
	ends_release(q->end[i], q->since, t->fast->when, by, to);
	q->end[i] = NULL;
}

void flight_ends(struct tracer *t, struct request *q)
{
	if (!t || !t->fast)
		return;
	if (q->moves)
		lose_positions(t, q);
	for (int i = 0; i <= q->two; i++)
		if (q->end[i])
			settle(t, q, i);
	if (q->cuts) {
		t->fast->cutting--;
		ends_forget_then(t->fast, t->fast->when);
	}
	t->fast->renaming -= q->renames;
	if (q->changes & CHANGES_NAMES)
		paths_unsure(t);
}
