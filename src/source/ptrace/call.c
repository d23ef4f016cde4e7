/*
 * call.c - system call entry and exit to operations
 */
#include "asked.h"
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MAX_MMSG = 1024 };

static uint64_t asked(const struct task *k, const struct syscall_desc *d)
{
	const struct call *c = &k->call;

	switch (d->form) {
	case FORM_VEC:
		return asked_vec(k, c->arg[1], c->arg[2]);
	case FORM_MSG:
		return asked_msg(k, c->arg[1]);
	case FORM_MMSG:
		return 0; /* each message its own, at the exit */
	}
	if (d->size < 0)
		return 0;
	/* i386 passes 64-bit lengths in two registers; fallocate(2) has its in the last.
	 */
	if (c->abi == ABI_I386 && d->kind == OP_META)
		return d->size == 3 ? c->arg[4] | c->arg[5] << 32 : c->arg[d->size];
	return c->arg[d->size];
}

/* The offset argument as the ABI passes it. preadv2(2): -1 means the position. */
static int64_t offset_arg(const struct call *c, int at)
{
	int64_t off = c->arg[at];

	if (c->abi == ABI_I386)
		off = (int64_t)(c->arg[at] | c->arg[at + 1] << 32);
	return off;
}

/* The offset that a two-sided call reads from memory, or OP_NO_OFFSET for none. */
static int64_t offset_at(const struct task *k, int at)
{
	/* sendfile(2) of i386 has a 32-bit offset, under its oldest number only. */
	enum { I386_SENDFILE = 187 };
	size_t len = k->call.abi == ABI_I386 && k->call.nr == I386_SENDFILE ? 4 : 8;
	int64_t off = 0;

	if (at < 0 || !k->call.arg[at] ||
		task_read(k, k->call.arg[at], &off, len) != (ssize_t)len)
		return OP_NO_OFFSET;
	return off;
}

static void side(struct tracer *t, struct task *k, int i, int fd, int offset_ptr)
{
	struct op *op = &k->call.op[i];
	struct fd_view v;
	int64_t off = offset_at(k, offset_ptr);

	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	op->fd = fd;
	op->file = v.file;
	op->offset = off == OP_NO_OFFSET || v.offset == OP_NO_OFFSET ? v.offset : off;
	k->call.position[i] = v.offset;
	k->call.flags[i] = v.flags;
	k->call.explicit[i] = off != OP_NO_OFFSET;
}

static void enter_two(struct tracer *t, struct task *k, const struct syscall_desc *d)
{
	struct call *c = &k->call;

	c->two = d->kind != OP_PEEK;
	c->op[1] = c->op[0];
	c->op[1].kind = OP_WRITE;
	c->op[1].call |= OP_SECOND;
	side(t, k, 0, (int)c->arg[d->fd], d->offset);
	side(t, k, 1, (int)c->arg[d->fd2], d->offset2);
}

static void enter_file(struct tracer *t, struct task *k, const struct syscall_desc *d)
{
	struct call *c = &k->call;
	struct op *op = &c->op[0];
	struct fd_view v;

	op->fd = (int)c->arg[d->fd];
	fdtab_ask(t->fdtab, &k->fd, op->fd, &v);
	op->file = v.file;
	op->offset = v.offset;
	c->position[0] = v.offset;
	c->flags[0] = v.flags;
	if (d->offset >= 0 && v.offset != OP_NO_OFFSET) {
		int64_t off = offset_arg(c, d->offset);
		op->offset = off == -1 ? v.offset : off;
		c->placed = c->explicit[0] = off != -1;
	}
	c->append = syscall_appends(d, v.flags, d->flags < 0 ? 0 : c->arg[d->flags]);
	if (c->append)
		c->size = fdtab_size(t->fdtab, &k->fd, op->fd);

	/* vmsplice(2) takes pages to a pipe's writing end, or from its reading end. */
	if (d->form == FORM_VEC && !d->weight && (v.flags & O_ACCMODE) == O_RDONLY)
		op->kind = OP_READ;
}

static void enter_path(struct tracer *t, struct task *k, const struct syscall_desc *d)
{
	struct call *c = &k->call;
	char path[PATH_MAX];
	int dirfd = d->fd < 0 ? AT_FDCWD : (int)c->arg[d->fd];

	if (!c->arg[d->path] || task_string(k, c->arg[d->path], path, sizeof(path)) < 0)
		return;
	if (*path) {
		c->op[0].file = fdtab_path(t->fdtab, &k->fd, dirfd, path);
	} else if (dirfd >= 0) {
		struct fd_view v; /* AT_EMPTY_PATH: the descriptor itself */
		fdtab_ask(t->fdtab, &k->fd, dirfd, &v);
		c->op[0].file = v.file;
		c->op[0].fd = dirfd;
	}
}

/* What is shown without being consumed is a call of its own, not bytes read. */
static void enter_peek(struct call *c, const struct syscall_desc *d)
{
	char name[32];

	if (d->kind != OP_READ || d->flags < 0 || !(c->arg[d->flags] & MSG_PEEK))
		return;
	int row = syscall_by_name(strcat(strcpy(name, d->name), ":peek"));
	c->op[0].kind = OP_PEEK;
	c->op[0].call = row;
}

static void enter_args(struct tracer *t, struct task *k)
{
	struct call *c = &k->call;
	const struct syscall_desc *d = &syscalls[c->row];

	c->append = c->two = c->placed = false;
	c->explicit[0] = c->explicit[1] = false;
	c->flags[0] = c->flags[1] = -1;
	c->position[0] = c->position[1] = OP_NO_OFFSET;
	c->op[0] = (struct op){
		.kind = d->kind,
		.call = c->row,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.pid = k->process->pid,
		.tid = k->tid,
		.comm = k->process->comm,
	};
	c->op[0].want = asked(k, d);
	if (d->form == FORM_TWO)
		enter_two(t, k, d);
	else if (d->path >= 0)
		enter_path(t, k, d);
	else if (d->fd >= 0)
		enter_file(t, k, d);
	enter_peek(c, d);
	if (c->two)
		c->op[1].want = c->op[0].want;
}

static const struct arch_abi *abi_of(uint32_t audit)
{
	const struct arch_abi *a = arch_abis;

	while (a->audit && a->audit != audit)
		a++;
	return a->audit ? a : NULL;
}

/* Number and arguments to a row; socketcall(2) hides both in memory. */
static int row_of(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	struct call *c = &k->call;
	uint64_t nr = in->entry.nr;
	const struct arch_abi *a = abi_of(in->arch);

	if (!a || (a->foreign && nr >= a->foreign)) {
		if ((int64_t)nr >= 0 && in->arch)
			task_note(t, k, NOTE_COMPAT, 0);
		return -1;
	}
	c->abi = a->abi;
	int row = nr < NR_MAX ? t->row[c->abi][nr] : -1;
	if (row < 0)
		return -1;
	memcpy(c->arg, (const void *)in->entry.args, sizeof(c->arg));
	c->nr = (int)nr;
	if (syscalls[row].form == FORM_CONTROL &&
		!strcmp(syscalls[row].name, "socketcall")) {
		uint32_t word[6] = { 0 };
		row = syscall_of_socketcall(c->arg[0]);
		task_read(k, c->arg[1], word, sizeof(word));
		for (int i = 0; i < 6; i++)
			c->arg[i] = word[i];
	}
	return row;
}

/* Whether its descriptors, and where they are, are of interest to later calls. */
static bool is_remembered(const struct syscall_desc *d)
{
	return d->path < 0 && d->form != FORM_NEWFD;
}

bool call_enter(struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	int row = row_of(t, k, in);

	k->call.row = -1;
	if (row < 0)
		return false;
	k->call.row = row;
	k->call.quiet = true;
	serves_begin(t, k);
	if (t->awaited)
		control_async(t, k);
	k->call.noted = fast_enter(t, k);
	if (syscalls[row].form == FORM_CONTROL) {
		bool leave = control_enter(t, k);
		k->call.row = leave || k->call.noted ? row : -1;
		return leave || k->call.noted;
	}
	if (!t->sink || !k->process->started || k->process->muted ||
		!(syscall_wanted(&t->want, row) ||
			(t->countable && syscalls[row].weight))) {
		k->call.noted |= fast_uncounted(t, k);
		k->call.row = k->call.noted ? row : -1;
		return k->call.noted;
	}
	k->call.quiet = false;
	enter_args(t, k);
	if (syscalls[row].fd >= 0 && is_remembered(&syscalls[row]))
		fast_begun(t, k, 0);
	if (k->call.two)
		fast_begun(t, k, 1);
	k->call.op[0].start_ns = k->call.op[1].start_ns = tracer_now(t);
	return true;
}

/*
 * Its supervisor may have answered a call in place of the kernel, seccomp_unotify(2), or
 * was being asked when an interrupt came: then it was not made. The kernel has not
 * counted it.
 */
static bool was_answered(const struct tracer *t, const struct task *k,
	const struct syscall_desc *d, int64_t ret)
{
	struct counters now;
	bool counts = ret > 0 ||
		      (d->weight == 1 && (ret == 0 || ret == -EAGAIN || ret == -EINTR ||
						 op_interrupted(ret)));

	return k->process->supervised && t->countable && d->weight && counts &&
	       !k->unsure && k->base.calls >= 0 &&
	       tracee_counters(k->process->pid, k->tid, &now) == 0 &&
	       now.calls == k->base.calls + k->mine.calls;
}

/*
 * A filter of its own has killed it, or raised SIGSYS, in place of the call, seccomp(2):
 * the result is the call's number then, and the signal waits or has ended it.
 */
static bool was_refused(const struct task *k, const struct syscall_desc *d, int64_t ret)
{
	siginfo_t info[8];

	if (ret != d->nr[k->call.abi])
		return false;
	if (k->status >> 16 == PTRACE_EVENT_EXIT)
		return tracee_ends_by(k->tid, SIGSYS);
	int n = tracee_waiting(k->tid, info, sizeof(info) / sizeof(*info));
	while (n-- > 0)
		if (info[n].si_signo == SIGSYS && info[n].si_code == BY_SECCOMP)
			return true;
	return false;
}

/*
 * Add a call to the account that is compared with the kernel's. Whether a failed call
 * was counted depends on how far it got, so then the kernel is asked.
 */
static void account(struct task *k, const struct syscall_desc *d, int64_t ret)
{
	bool plain = d->weight == 1;
	struct counters now;

	if (ret > 0 || (plain && (ret == 0 || ret == -EAGAIN || ret == -EINTR ||
					 op_interrupted(ret)))) {
		k->mine.calls += d->weight;
		k->mine.bytes += ret > 0 ? d->weight * ret : 0;
		return;
	}
	if (tracee_counters(k->process->pid, k->tid, &now) < 0)
		return;
	/* Everything else is known, so this tells of those before that are not sure too.
	 */
	int64_t calls = now.calls - k->base.calls - k->mine.calls;
	if (calls >= 0 && calls <= d->weight + k->unsure) {
		k->mine.calls += calls;
		k->unsure = 0;
	}
}

/*
 * The offset of what was appended: where the file ended before, if nobody else has
 * written meanwhile. If somebody has, the position behind it tells: if the call moves it,
 * and no other task could.
 */
static int64_t appended(struct tracer *t, struct task *k, int64_t ret)
{
	const struct call *c = &k->call;
	int fd = c->op[0].fd;
	int64_t size =
		c->size == OP_NO_OFFSET ? c->size : fdtab_size(t->fdtab, &k->fd, fd);

	/* Not known: of a task that is gone it cannot be asked any more. */
	if (size != OP_NO_OFFSET && size - ret == c->size)
		return c->size;
	int64_t end = c->placed || t->ntasks > 1 ? OP_NO_OFFSET
						 : fdtab_position(t->fdtab, &k->fd, fd);
	return end == OP_NO_OFFSET || end < ret ? OP_NO_OFFSET : end - ret;
}

/*
 * Whether another task has moved the position that a call goes by in the meantime. Which
 * of the two came first nobody can say, and so not where this one has begun.
 */
static void look_at_position(struct tracer *t, struct task *k, int i, int64_t ret)
{
	struct call *c = &k->call;
	const struct op *op = &c->op[i];
	const bool moves = op->kind == OP_READ || op->kind == OP_WRITE;

	if (t->ntasks < 2 || !moves || c->explicit[i] || c->append || ret <= 0 ||
		c->position[i] == OP_NO_OFFSET)
		return;
	if (fdtab_position(t->fdtab, &k->fd, op->fd) != c->position[i] + ret)
		c->position[i] = c->op[i].offset = OP_NO_OFFSET;
}

static void emit(struct tracer *t, struct op op, uint16_t flags)
{
	op.call |= flags;
	tracer_put(t, &op);
}

/* One operation a message: recvmmsg(2), sendmmsg(2). */
static void leave_mmsg(struct tracer *t, struct task *k, int64_t ret)
{
	const struct layout *l = &layouts[k->call.abi];
	struct call *c = &k->call;
	const struct syscall_desc *d = &syscalls[c->row];

	for (int64_t i = 0; i < ret && i < MAX_MMSG; i++) {
		uint64_t at = c->arg[1] + i * l->mmsg_size;
		uint32_t bytes = 0;
		task_read(k, at + l->mmsg_bytes, &bytes, sizeof(bytes));
		c->op[0].want = asked_msg(k, at);
		c->op[0].ret = bytes;
		if (c->arg[d->flags] & MSG_TRUNC && bytes > c->op[0].want)
			c->op[0].ret = c->op[0].want;
		emit(t, c->op[0], i ? OP_PART : 0);
	}
}

static void leave_op(
	struct tracer *t, struct task *k, const struct syscall_desc *d, int64_t ret)
{
	struct call *c = &k->call;
	struct op *op = &c->op[0];
	struct fd_view v;

	k->slow++;
	op->ret = c->op[1].ret = ret;
	if (ret >= 0) {
		switch (d->form) {
		case FORM_MMSG:
			leave_mmsg(t, k, ret);
			return;
		case FORM_NEWFD:
		case FORM_OPEN:
			if (ret == 0 && d->form == FORM_NEWFD)
				break; /* pipe(2), socketpair(2): two of them, in memory
					*/
			fdtab_ask(t->fdtab, &k->fd, (int)ret, &v);
			op->file = v.file;
			op->fd = (int)ret;
			break;
		}
		/* MSG_TRUNC: the real length of the datagram, not what was copied. */
		if (d->kind == OP_READ && d->flags >= 0 && c->arg[d->flags] & MSG_TRUNC &&
			(uint64_t)ret > op->want)
			op->ret = op->want;
		if (c->append && ret > 0 && op->offset != OP_NO_OFFSET)
			op->offset = appended(t, k, ret);
	}
	if (ret == -EINTR) {
		k->held = *op;
		k->eintr = true;
		return;
	}
	emit(t, *op, 0);
	if (c->two)
		emit(t, c->op[1], 0);
}

/* For the calls that will not stop: which file it was, and where its position is now. */
static void remember(
	struct tracer *t, struct task *k, const struct syscall_desc *d, int64_t ret)
{
	const struct call *c = &k->call;
	const int fd[2] = { d->fd, d->form == FORM_TWO ? d->fd2 : ARG_NONE };

	if (!is_remembered(d))
		return;
	for (int i = 0; i < 2; i++) {
		struct fd_view v = { .file = c->op[i].file, .flags = c->flags[i] };
		bool moves = c->op[i].kind == OP_READ || c->op[i].kind == OP_WRITE;
		if (fd[i] < 0)
			continue;
		struct seed s = { .after = c->position[i] };
		if (moves && !c->explicit[i] && ret > 0)
			s.by = ret;
		s.appended = c->append && ret > 0;
		if (s.appended && !c->explicit[i])
			s.after = c->op[0].offset == OP_NO_OFFSET ? OP_NO_OFFSET
								  : c->op[0].offset + ret;
		else if (s.after != OP_NO_OFFSET)
			s.after += s.by;
		fast_seed(t, k, (int)c->arg[fd[i]], &v, &s);
	}
}

void call_leave(struct tracer *t, struct task *k, int64_t ret, uint64_t now)
{
	struct call *c = &k->call;

	if (c->row < 0)
		return;
	const struct syscall_desc *d = &syscalls[c->row];
	if (t->fast && k->process->supervised) /* what has not stopped is counted too */
		drain_task(t, k);
	if (d->form == FORM_CONTROL) {
		control_leave(t, k, ret);
	} else if (!k->call.quiet && !was_answered(t, k, d, ret) &&
		   !was_refused(k, d, ret)) {
		c->op[0].dur_ns = c->op[1].dur_ns = now - c->op[0].start_ns;
		for (int i = 0; i <= c->two; i++)
			look_at_position(t, k, i, ret);
		if (t->countable && d->weight)
			account(k, d, ret);
		if (syscall_wanted(&t->want, c->op[0].call & OP_CALL))
			leave_op(t, k, d, ret);
		remember(t, k, d, ret);
	}
	if (c->noted)
		fast_leave(t, k, ret);
	c->row = -1;
}

/*
 * What a call has returned that the kernel has counted since all that is known. Where no
 * bytes are it may have failed as well. 0 or -errno.
 */
static int counted_result(const struct tracer *t, const struct task *k,
	const struct counters *now, int64_t *ret)
{
	int weight = syscalls[k->call.row].weight;

	if (!t->countable || !weight || k->unsure || k->call.quiet || k->base.calls < 0)
		return -ENODATA;
	*ret = (now->bytes - k->base.bytes - k->mine.bytes) / weight;
	return now->calls - k->base.calls - k->mine.calls == weight && *ret > 0
		       ? 0
		       : -ENODATA;
}

static bool may_have_result(const struct task *k)
{
	return k->call.row >= 0 && syscalls[k->call.row].form != FORM_CONTROL;
}

static void leave_dead(struct tracer *t, struct task *k, int64_t ret)
{
	k->call.noted = false; /* there is nothing more to patch */
	call_leave(t, k, ret, tracer_now(t));
}

/* It has ended in a call that it had made if it is counted: last, its counters. */
void call_ended(struct tracer *t, struct task *k, const struct counters *last)
{
	int64_t ret;

	if (may_have_result(k) && counted_result(t, k, last, &ret) == 0)
		leave_dead(t, k, ret);
}

/*
 * It has died, in a call: one that was over by then is one like others. Its result is in
 * its registers at the exit stop, where it had one.
 */
void call_died(struct tracer *t, struct task *k)
{
	struct counters now;
	int64_t ret;

	if (!may_have_result(k))
		return;
	if (tracee_last_result(k->tid, &ret) == 0)
		leave_dead(t, k, ret);
	else if (tracee_counters(k->process->pid, k->tid, &now) == 0)
		call_ended(t, k, &now);
}
