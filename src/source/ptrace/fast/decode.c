/*
 * decode.c - a record to operations
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * What /proc/TID/io has counted of it; compare account() in call.c. Of a call that has
 * failed the kernel cannot be asked any more, so some may have been counted or not.
 */
static void account(struct task *k, const struct syscall_desc *d, int64_t ret)
{
	if (ret >= 0 || ret == -EAGAIN || ret == -EINTR || op_interrupted(ret)) {
		if (ret <= 0 && d->weight != 1) {
			k->unsure += d->weight;
			return;
		}
		k->mine.calls += d->weight;
		k->mine.bytes += ret > 0 ? d->weight * ret : 0;
	} else if (d->form == FORM_VEC && ret == -EBADF) {
		k->mine.calls += d->weight;
	} else if (ret != -EBADF) {
		k->unsure += d->weight;
	}
}

/*
 * The position moves by what was read or written; at: the place, if the call says it
 * itself. What is appended goes to the end of the file, wherever the position was.
 */
static void one_side(struct tracer *t, struct task *k, const struct fast_rec *r,
	struct op *op, struct fd_open *o, int64_t at)
{
	const struct syscall_desc *d = &syscalls[op->call & OP_CALL];
	bool explicit = at != OP_NO_OFFSET;

	if (!o && op->kind == OP_WRITE && op->ret > 0)
		ends_forget_all(t->fast); /* it may be any */
	if (!o)
		return;
	op->file = o->file;
	if (!o->seeks)
		return;
	bool append = op->kind == OP_WRITE && ends_appends(d, o, r);
	struct file_end *e = append                 ? ends_keep(t, o->file)
			     : op->kind == OP_WRITE ? ends_find(t, o->file)
						    : NULL;
	bool among = e && ends_contested(t, k, r, e);
	bool contested = append ? among : !explicit && history_contested(t, k, r, o);
	if (append)
		history_crosses(k, o);
	op->offset = explicit ? at : o->offset;
	if (op->ret <= 0)
		return;
	if (append) {
		int64_t end = e ? ends_at(t, k, r, op->fd, e) : OP_NO_OFFSET;
		op->offset = among ? OP_NO_OFFSET : end;
		if (!explicit)
			o->offset = op->offset;
		if (e)
			ends_added(e, op->ret);
	}
	if (!explicit)
		history_moved(t, o, op->ret);
	int64_t end = 0;
	bool known = op->offset != OP_NO_OFFSET &&
		     !__builtin_add_overflow(op->offset, op->ret, &end);
	if (e && !append) /* who knows how far, else? */
		ends_wrote(e, end, among || !known, r->t1);
	if (contested)
		op->offset = OP_NO_OFFSET;
}

/* The file of a side: known since the call began, if it was seen in flight. */
static struct fd_open *side_file(
	struct tracer *t, struct task *k, const struct fast_rec *r, int n, int fd)
{
	if (k->slot.begun == r->t0 && k->slot.held[n])
		return k->slot.held[n];
	/* What is open there by now is not what was not. */
	if (r->result == -EBADF && !fdtrack_get(k->files, fd))
		return NULL;
	return history_of(t, k, fd);
}

static void put(struct tracer *t, struct task *k, struct op *op, uint16_t flags)
{
	if (!k->process->started || k->process->muted ||
		!syscall_wanted(&t->want, op->call & OP_CALL))
		return;
	op->call |= flags;
	if (!flags)
		k->fast++;
	/* Whether a signal has really ended it is seen at the next stop. */
	if (k->mending && op->ret == -EINTR) {
		k->held = *op;
		k->eintr = true;
		return;
	}
	tracer_put(t, op);
}

static void two_sides(struct tracer *t, struct task *k, const struct syscall_desc *d,
	const struct fast_rec *r, struct op *op)
{
	const uint8_t *more = (const uint8_t *)r;
	struct op second;
	uint64_t arg4;
	int64_t off[2];

	memcpy(&arg4, more + R_TWO_ARG4, 8);
	memcpy(&off[0], more + R_TWO_OFF1, 8);
	memcpy(&off[1], more + R_TWO_OFF2, 8);
	op->want = d->size == 4 ? arg4 : r->arg[d->size];
	second = *op;
	second.kind = OP_WRITE;
	second.fd = (int)r->arg[d->fd2];
	if (d->offset < 0)
		off[0] = OP_NO_OFFSET;
	if (d->offset2 < 0)
		off[1] = OP_NO_OFFSET;
	struct fd_open *from = side_file(t, k, r, 0, op->fd);
	struct fd_open *to = side_file(t, k, r, 1, second.fd);
	/* Of one file both sides begin at the same place, and it moves once. */
	const bool same =
		from && from == to && off[0] == OP_NO_OFFSET && off[1] == OP_NO_OFFSET;
	const int64_t before = same ? from->offset : 0;
	one_side(t, k, r, op, from, off[0]);
	if (same)
		from->offset = before;
	one_side(t, k, r, &second, to, off[1]);
	put(t, k, op, 0);
	put(t, k, &second, OP_SECOND);
}

/* What is shown without being consumed, or longer than what was copied: recv(2). */
static void look_at_flags(
	const struct syscall_desc *d, const struct fast_rec *r, struct op *op)
{
	if (op->kind != OP_READ || d->flags < 0)
		return;
	if (r->arg[d->flags] & MSG_PEEK) {
		op->kind = OP_PEEK;
		op->call = d->form == FORM_MSG ? syscall_by_name("recvmsg:peek")
					       : syscall_by_name("recvfrom:peek");
	}
	if (r->arg[d->flags] & MSG_TRUNC && op->ret > 0 && (uint64_t)op->ret > op->want)
		op->ret = (int64_t)op->want;
}

static struct op op_of(
	const struct tracer *t, const struct task *k, int row, const struct fast_rec *r)
{
	const struct syscall_desc *d = &syscalls[row];
	const struct fast_clock *clock = &t->fast->clock;
	uint64_t from = fast_clock_ns(clock, r->t0);
	bool sum = d->form == FORM_VEC || d->form == FORM_MSG;

	return (struct op){
		.start_ns = from - t->epoch_ns,
		.dur_ns = fast_clock_ns(clock, r->t1) - from,
		.ret = r->result,
		.want = sum                           ? r->arg[1]
			: d->size >= 0 && d->size < 4 ? r->arg[d->size]
						      : 0,
		.offset = OP_NO_OFFSET,
		.kind = d->kind,
		.call = row,
		.pid = k->process->pid,
		.tid = k->tid,
		.comm = k->process->comm,
		.fd = d->fd >= 0 ? (int)r->arg[d->fd] : -1,
	};
}

static void data(struct tracer *t, struct task *k, int row, const struct fast_rec *r)
{
	const struct syscall_desc *d = &syscalls[row];
	struct op op = op_of(t, k, row, r);

	if (d->form == FORM_TWO) {
		two_sides(t, k, d, r, &op);
		return;
	}
	if (d->fd >= 0) {
		int64_t at = d->offset >= 0 ? (int64_t)r->arg[d->offset] : OP_NO_OFFSET;
		if (at == -1)
			at = OP_NO_OFFSET; /* preadv2(2): the position */
		one_side(t, k, r, &op, side_file(t, k, r, 0, op.fd), at);
	}
	look_at_flags(d, r, &op);
	put(t, k, &op, 0);
}

static void plain(struct tracer *t, struct task *k, int row, const struct fast_rec *r)
{
	struct op op = op_of(t, k, row, r);

	if (syscalls[row].fd >= 0) {
		const struct fd_open *o = history_of(t, k, op.fd);
		op.file = o ? o->file : 0;
		op.offset = o && o->seeks ? o->offset : OP_NO_OFFSET;
	}
	put(t, k, &op, 0);
}

static void close_range_at(
	struct tracer *t, struct task *k, unsigned from, unsigned to, uint64_t when)
{
	int last = fdtrack_last(k->files);

	for (unsigned fd = from; last >= 0 && fd <= to && fd <= (unsigned)last; fd++)
		history_closed(t, k, (int)fd, when);
}

/* Who may have moved with another one. */
static void look_where(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	if (k->process->apart && k->files)
		path_start(t, k, AT_FDCWD);
}

void decode_role(struct tracer *t, struct task *k, const struct fast_call *c,
	const uint64_t *arg, int64_t ret, uint64_t when)
{
	struct fdtrack *track = t->fast->track;
	struct fd_open *o;

	if (c->role == ROLE_CLOSE) /* free, whatever the result: close(2) */
		history_closed(t, k, (int)arg[0], when);
	if (ret < 0)
		return;
	switch (c->role) {
	case ROLE_SEEK:
		o = fdtrack_get(k->files, (int)arg[0]);
		if (o && o->seeks)
			o->offset = o->loose ? OP_NO_OFFSET : ret;
		break;
	case ROLE_RANGE:
		if (arg[2] & CLOSE_RANGE_UNSHARE)
			history_part(t, k);
		if (!(arg[2] & CLOSE_RANGE_CLOEXEC))
			close_range_at(t, k, (unsigned)arg[0], (unsigned)arg[1], when);
		break;
	case ROLE_FCNTL:
		if ((int)arg[1] != F_DUPFD && (int)arg[1] != F_DUPFD_CLOEXEC) {
			o = fdtrack_get(k->files, (int)arg[0]);
			if (o && (int)arg[1] == F_SETFL)
				o->flags =
					(o->flags & ~O_APPEND) | (int)(arg[2] & O_APPEND);
			break;
		}
		/* fall through */
	case ROLE_DUP:
		fdtrack_dup(track, k->files, (int)arg[0], (int)ret, false);
		fdtrack_since(k->files, (int)ret, when);
		break;
	case ROLE_DUP_TO:
		if ((int)arg[0] != (int)arg[1])
			fdtrack_dup(track, k->files, (int)arg[0], (int)arg[1], false);
		fdtrack_since(k->files, (int)arg[1], when);
		break;
	case ROLE_ROOT:
		found_all(t, k);
		fdtab_unmounted(t->fdtab);
		path_moved(k);
		root_of(t, k); /* before it can be gone */
			       /* fall through */
	case ROLE_CWD:
		path_moved(k);
		path_start(t, k, AT_FDCWD); /* before it can be renamed */
		if (k->process->apart)
			tasks_each(t, look_where, NULL);
		new_epoch(t->fast);
		break;
	}
}

/*
 * What no call returns: read(2) and errno(3) name the limits. File systems that copy by
 * themselves, as FUSE and NFS, have no other one than what was asked for; so large that
 * sums of it do not fit is none.
 */
static bool is_result(const struct fast_call *c, const struct fast_rec *r)
{
	enum { MOST = 0x7ffff000, COPIED_BITS = 50 };
	uint64_t most = MOST, asked;

	if (c->role != ROLE_DATA)
		return true;
	if (rec_nr(r) == SYS_copy_file_range) {
		memcpy(&asked, (const uint8_t *)r + R_TWO_ARG4, sizeof(asked));
		most = asked >> COPIED_BITS ? UINT64_C(1) << COPIED_BITS : asked;
	}
	return r->result < 0 ? r->result >= -4095 : (uint64_t)r->result <= most;
}

static void resized(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r)
{
	const struct fd_open *o = fdtrack_get(k->files, (int)r->arg[0]);

	if (o)
		ends_resized(t, k, c, r, o->file);
	else if (r->result >= 0 || c->role == ROLE_GROW)
		ends_forget_all(t->fast);
}

/* Where it has found the position, or put it: if nobody else has moved it just then. */
static void sought(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r)
{
	int fd = (int)r->arg[0];
	struct fd_open *o = fdtrack_get(k->files, fd);
	o = o ? o : history_of(t, k, fd); /* else this would be lost */
	bool contested = o && o->seeks && history_contested(t, k, r, o);

	decode_role(t, k, c, r->arg, r->result, r->t1);
	if (contested)
		o->offset = OP_NO_OFFSET;
}

/* Where they were could not be read any more, it may be any two that are others now. */
static void paired(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r)
{
	if (r->arg[2] == UINT64_MAX)
		close_range_at(t, k, 0, INT32_MAX, r->t1);
	else
		path_paired(t, k, r, c);
}

/* The first descriptor of a call that has worked, if it is not known yet. Where one has
 * failed there was none, perhaps, and /proc would tell what came later. */
static void meet(struct tracer *t, struct task *k, const struct fast_rec *r)
{
	if (r->result >= 0 && !fdtrack_get(k->files, (int)r->arg[0]))
		history_of(t, k, (int)r->arg[0]);
}

/*
 * Who has got that number from another call meanwhile may have come before or after:
 * then it is asked what is there.
 */
static void duped_to(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r)
{
	int to = (int)r->arg[1];

	if (r->result < 0 || to == (int)r->arg[0])
		return;
	meet(t, k, r);
	history_closed(t, k, to, r->t0);
	bool contested = fdtrack_get(k->files, to);
	decode_role(t, k, c, r->arg, r->result, r->t1);
	if (contested)
		fdtrack_close(t->fast->track, k->files, to);
}

/* A record that is complete. false: no call has left it. */
bool decode_put(struct tracer *t, struct task *k, const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);
	int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	if (c && c->role == ROLE_EVENTS)
		return !t->aio_told || t->aio_told(t, k, r, false);
	if (!c || t->fast->shape[nr] == SHAPE_PASS || !is_result(c, r))
		return false;
	const struct syscall_desc *d = &syscalls[row];
	if (d->weight && t->countable)
		account(k, d, r->result);
	if (c->role == ROLE_ENTER)
		return !t->told || t->told(t, k, r);
	if (c->role == ROLE_SUBMIT)
		return !t->aio_told || t->aio_told(t, k, r, false);
	if (c->role == ROLE_DATA)
		data(t, k, row, r);
	else if (syscall_wanted(&t->want, row))
		plain(t, k, row, r);
	if (c->role == ROLE_OPEN) {
		if (r->result >= 0)
			path_opened(t, k, r, c);
	} else if (c->role == ROLE_PAIR) {
		if (r->result >= 0)
			paired(t, k, c, r);
	} else if (c->role == ROLE_PATH) {
		if (r->result >= 0)
			path_renamed(t, k, r, c);
	} else if (c->role == ROLE_LINK) {
		if (r->result >= 0)
			path_linked(t, k, r, c);
	} else if (c->role == ROLE_SIZE || c->role == ROLE_GROW) {
		resized(t, k, c, r);
	} else if (c->role == ROLE_SEEK) {
		sought(t, k, c, r);
	} else if (c->role == ROLE_DUP_TO) {
		duped_to(t, k, c, r);
	} else if (c->role != ROLE_DATA) {
		if (c->role == ROLE_FCNTL)
			meet(t, k, r);
		decode_role(t, k, c, r->arg, r->result,
			c->role == ROLE_CLOSE ? r->t0 : r->t1);
	}
	return true;
}

/* A call in flight: its files are known now; when it ends they may be others. */
void decode_begun(struct tracer *t, struct task *k, const struct fast_rec *r)
{
	uint32_t nr = rec_nr(r);
	int row = nr < NR_MAX ? t->row[ABI_X86_64][nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;
	struct slot *s = &k->slot;

	for (int i = 0; i < 2; i++) {
		if (s->held[i])
			fdtrack_drop(s->held[i]);
		s->held[i] = NULL;
	}
	s->begun = r->t0;
	if (c && c->role == ROLE_SUBMIT && t->aio_told)
		t->aio_told(t, k, r, true);
	if (!c || c->role != ROLE_DATA)
		return;
	int fd[2] = { syscalls[row].fd, syscalls[row].fd2 };
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0 && fd[i] < 4 && history_of(t, k, (int)r->arg[fd[i]]))
			s->held[i] = fdtrack_hold(k->files, (int)r->arg[fd[i]]);
}
