/*
 * call.c - a whole call of an strace text to operations
 */
#include "strace.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { ERRNO_MAX = 4095 };
#include <sys/socket.h>
#include <sys/stat.h>

/* Sum of the iov_len of "[{iov_base=..., iov_len=5}, ...]"; less than all if cut. */
static uint64_t vec_sum(struct word vec)
{
	struct word rest = vec, e, len;
	uint64_t sum = 0;

	if (!rest.len || *rest.p != '[')
		return 0;
	rest.p++;
	rest.len--;
	while (lex_element(&rest, &e)) {
		struct word second = e;
		if (!lex_member(e, "iov_len", &len)) {
			/* strace before 4.13: {"text", 5} */
			second.p += e.len > 0;
			second.len -= e.len > 0;
			if (!lex_element(&second, &len) || !lex_element(&second, &len))
				continue;
		}
		sum += (uint64_t)lex_number(len, 0);
	}
	return sum;
}

/* "{msg_name=..., msg_iov=[...], ...}"; before 4.13 "{msg_name(0)=NULL, msg_iov(1)=[...".
 */
static uint64_t msg_sum(struct word msg)
{
	struct word iov;

	if (lex_member(msg, "msg_iov", &iov))
		return vec_sum(iov);
	const char *p = memmem(msg.p, msg.len, "msg_iov(", 8);
	p = p ? memchr(p, '=', msg.p + msg.len - p) : NULL;
	if (!p)
		return 0;
	return vec_sum((struct word){ p + 1, msg.p + msg.len - p - 1 });
}

static uint64_t asked(const struct event *e, const struct syscall_desc *d)
{
	switch (d->form) {
	case FORM_VEC:
		return vec_sum(event_arg(e, 1));
	case FORM_MSG:
		return msg_sum(event_arg(e, 1));
	case FORM_MMSG:
		return 0;
	}
	return d->size < 0 ? 0 : (uint64_t)lex_number(event_arg(e, d->size), 0);
}

/* One side of a call: descriptor, file, offset. at: the argument that says where. */
static void side(
	struct strace *s, const struct event *e, struct op *op, int fd_at, int at)
{
	struct word path, where = event_arg(e, at);
	int fd;

	if (!lex_fd(event_arg(e, fd_at), &fd, &path))
		return;
	struct fd_open *o = fd_look(s, e->task->proc, fd, path);
	op->fd = fd >= 0 ? fd : -1;
	op->file = o ? o->file : 0;
	if (where.len && *where.p == '[') {
		where.p++; /* "[123]": what a pointer points to */
		where.len--;
	}
	int64_t told = at < 0 ? -1 : lex_number(where, -1);
	bool write = op->kind == OP_WRITE,
	     append = o && o->flags != -1 && o->flags & O_APPEND;
	int64_t ret = e->call.ret;
	if (told >= 0) {
		op->offset = told;
	} else if (o) {
		int64_t *pos = write && append ? &o->end : &o->offset;
		op->offset = *pos;
		if (ret > 0 && *pos != OP_NO_OFFSET && op->kind != OP_PEEK)
			*pos += ret;
		if (write && append)
			o->offset = *pos;
	}
	if (o && write && ret > 0 && o->end != OP_NO_OFFSET &&
		op->offset != OP_NO_OFFSET && op->offset + ret > o->end)
		o->end = op->offset + ret;
}

static int put_two(struct strace *s, const struct event *e, struct op *op,
	const struct syscall_desc *d)
{
	struct op second = *op;

	second.kind = OP_WRITE;
	second.call |= OP_SECOND;
	side(s, e, op, d->fd, d->offset);
	int err = strace_put(s, op);
	if (err < 0 || d->kind == OP_PEEK)
		return err;
	side(s, e, &second, d->fd2, d->offset2);
	return strace_put(s, &second);
}

static void inside(struct word *w)
{
	if (w->len && (*w->p == '[' || *w->p == '{')) {
		w->p++;
		w->len--;
	}
}

/* "[{msg_hdr={...}, msg_len=5}, ...]": one operation a message. */
static int put_messages(
	struct strace *s, const struct event *e, struct op *op, struct word list)
{
	struct word one, header, len;
	int64_t left = e->call.ret;
	int err = 0;

	inside(&list);
	for (bool first = true; left > 0 && !err && lex_element(&list, &one);
		first = false) {
		struct word old = one;
		inside(&old);
		if (!lex_member(one, "msg_len", &len)) {
			/* strace before 4.13: {{msg_name(0)=...}, 5} */
			if (!lex_element(&old, &header) || !lex_element(&old, &len))
				break;
		} else if (!lex_member(one, "msg_hdr", &header)) {
			header.len = 0;
		}
		op->ret = lex_number(len, 0);
		op->want = msg_sum(header);
		op->call |= first ? 0 : OP_PART;
		err = strace_put(s, op);
		left--;
	}
	if (left > 0 && !err) { /* abbreviated: their number is known, not their sizes */
		struct op lost = *op;
		lost.kind = OP_LOST;
		lost.ret = left;
		err = strace_put(s, &lost);
	}
	return err;
}

/* A call that moves data by one descriptor. */
static int put_file(struct strace *s, const struct event *e, struct op *op,
	const struct call_name *n, const struct syscall_desc *d)
{
	struct word flags = event_arg(e, d->flags);
	bool peek = n->peek >= 0 && lex_flag(flags, "MSG_PEEK", MSG_PEEK);

	if (peek) {
		op->kind = OP_PEEK;
		op->call = n->peek;
	}
	side(s, e, op, d->fd, d->offset);
	if (d->form == FORM_VEC && !d->weight) { /* vmsplice(2): by the end of its pipe */
		struct fd_open *o = fdtrack_get(e->task->proc->fds, op->fd);
		if (o && o->flags != -1 && (o->flags & O_ACCMODE) == O_RDONLY)
			op->kind = OP_READ;
	}
	if (d->form == FORM_MMSG && e->call.ret >= 0)
		return put_messages(s, e, op, event_arg(e, 1));
	/* MSG_TRUNC: the real length of the datagram, not what was copied. */
	if (d->kind == OP_READ && op->ret > 0 && (uint64_t)op->ret > op->want &&
		op->want && lex_flag(flags, "MSG_TRUNC", MSG_TRUNC))
		op->ret = (int64_t)op->want;
	if (op->want < (uint64_t)(op->ret > 0 ? op->ret : 0) && d->form != FORM_PLAIN)
		op->want = op->ret; /* the list of buffers was abbreviated */
	return strace_put(s, op);
}

/* "{st_mode=S_IFREG|0644, ...}" in any argument says what the path is. */
static enum file_type type_of_call(const struct event *e)
{
	static const struct {
		const char *word;
		unsigned mode;
		enum file_type type;
	} modes[] = { { "S_IFREG", S_IFREG, FILE_REGULAR },
		{ "S_IFDIR", S_IFDIR, FILE_DIR }, { "S_IFCHR", S_IFCHR, FILE_CHAR },
		{ "S_IFBLK", S_IFBLK, FILE_BLOCK }, { "S_IFIFO", S_IFIFO, FILE_PIPE },
		{ "S_IFSOCK", S_IFSOCK, FILE_SOCKET } };
	struct word w = { 0 }, mode;

	for (unsigned i = 1; i < e->call.nargs && !w.len; i++)
		if (*e->call.arg[i].p == '{')
			w = e->call.arg[i];
	bool told = w.len &&
		    (lex_member(w, "st_mode", &mode) || lex_member(w, "stx_mode", &mode));
	unsigned raw = told ? lex_number(mode, 0) & S_IFMT : 0;
	for (size_t i = 0; w.len && i < sizeof(modes) / sizeof(*modes); i++)
		if (word_has(w, modes[i].word) || raw == modes[i].mode)
			return modes[i].type;
	if (word_is(e->call.name, "mkdir") || word_is(e->call.name, "mkdirat") ||
		word_is(e->call.name, "rmdir"))
		return FILE_DIR;
	return FILE_UNKNOWN;
}

static int put_op(struct strace *s, const struct event *e, const struct call_name *n)
{
	const struct syscall_desc *d = &syscalls[n->row];
	struct proc *p = e->task->proc;
	struct op op = { .kind = d->kind,
		.call = n->row,
		.start_ns = e->start_ns,
		.dur_ns = e->dur_ns,
		/* No call fails like that: a damaged line. */
		.ret = e->call.ret < -ERRNO_MAX ? -EIO : e->call.ret,
		.want = asked(e, d),
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.pid = p->pid,
		.tid = e->task->tid,
		.comm = p->comm };

	if (d->form == FORM_TWO)
		return put_two(s, e, &op, d);
	if (d->kind == OP_READ || d->kind == OP_WRITE)
		return put_file(s, e, &op, n, d);
	if (d->path >= 0) {
		enum file_type type =
			d->form == FORM_OPEN ? FILE_REGULAR : type_of_call(e);
		op.file = file_of_path(
			s, p, event_arg(e, d->fd), event_arg(e, d->path), type);
		if (d->form == FORM_OPEN && op.ret >= 0) {
			struct fd_open *o = fdtrack_get(p->fds, (int)op.ret);
			op.fd = op.ret <= INT_MAX ? (int)op.ret : -1;
			op.file = o ? o->file : op.file;
		}
	} else if (d->form == FORM_NEWFD) {
		struct fd_open *o = fdtrack_get(p->fds, (int)op.ret);
		op.fd = op.ret > 0 && op.ret <= INT_MAX ? (int)op.ret : -1;
		op.file = o && op.ret > 0 ? o->file : 0;
	} else if (d->fd >= 0) {
		struct word path;
		struct fd_open *o;
		int fd;
		if (lex_fd(event_arg(e, d->fd), &fd, &path)) {
			o = fd_look(s, p, fd, path);
			op.fd = fd >= 0 ? fd : -1;
			op.file = o ? o->file : file_of_words(s, path, 0);
		}
	}
	return strace_put(s, &op);
}

int call_done(struct strace *s, const struct event *e)
{
	const struct call_name *n = calls_find(s, e->call.name);
	int err = 0;

	if (n && n->act == ACT_EXIT)
		e->task->ends = true;
	if (!n || !e->call.known)
		return 0;
	err = call_before(s, e, n);
	if (!err && n->row >= 0)
		err = put_op(s, e, n);
	call_after(s, e, n);
	return err;
}
