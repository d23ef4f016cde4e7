/*
 * change.c - what a call of an strace text changes: descriptors, folders, processes
 */
#include "strace.h"
#include "iops/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/prctl.h>

static const struct {
	const char *word;
	int flag;
} open_flag[] = {
	{ "O_WRONLY", O_WRONLY },
	{ "O_RDWR", O_RDWR },
	{ "O_APPEND", O_APPEND },
	{ "O_CREAT", O_CREAT },
	{ "O_TRUNC", O_TRUNC },
	{ "O_EXCL", O_EXCL },
	{ "O_CLOEXEC", O_CLOEXEC },
	{ "O_DIRECTORY", O_DIRECTORY },
	{ "O_PATH", O_PATH },
	{ "SOCK_CLOEXEC", O_CLOEXEC },
	{ "EFD_CLOEXEC", O_CLOEXEC },
	{ "EPOLL_CLOEXEC", O_CLOEXEC },
	{ "TFD_CLOEXEC", O_CLOEXEC },
	{ "SFD_CLOEXEC", O_CLOEXEC },
	{ "IN_CLOEXEC", O_CLOEXEC },
	{ "MFD_CLOEXEC", O_CLOEXEC },
};

static int flags_of(struct word w)
{
	int flags = (int)lex_number(w, 0);

	if (!memchr(w.p, '_', w.len))
		return flags;
	for (size_t i = 0; i < sizeof(open_flag) / sizeof(*open_flag); i++)
		if (word_has(w, open_flag[i].word))
			flags |= open_flag[i].flag;
	return flags;
}

/* One path, or one that was deleted meanwhile; or we did not know. */
static bool same_file(const struct strace *s, uint32_t was, uint32_t is)
{
	const char *a = names_get(s->text.names, names_file(s->text.names, was)->path),
		   *b = names_get(s->text.names, names_file(s->text.names, is)->path);
	size_t n = strlen(a);

	return was == is || !*a || *a != '/' ||
	       (!strncmp(a, b, n) && (!b[n] || !strcmp(b + n, " (deleted)")));
}

/* What fd stands for; made from what -y says if it was not known. May be NULL. */
struct fd_open *fd_look(struct strace *s, struct proc *p, int fd, struct word path)
{
	struct fd_open *o = fdtrack_get(p->fds, fd);

	if (!path.len || fd < 0)
		return o;
	uint32_t file = file_of_words(s, path, o ? o->file : 0);
	/* Another file where we saw neither a close nor an open of it: nor its position.
	 */
	if (file && (!o || !same_file(s, o->file, file))) {
		struct fd_open fresh = { .file = file,
			.flags = -1,
			.offset = OP_NO_OFFSET,
			.end = OP_NO_OFFSET };
		fdtrack_open(s->fdtrack, p->fds, fd, &fresh);
		o = fdtrack_get(p->fds, fd);
	} else if (o && file) {
		o->file = file;
	}
	return o;
}

static int do_open(struct strace *s, const struct event *e, const struct call_name *n)
{
	const struct syscall_desc *d = &syscalls[n->row];
	struct proc *p = e->task->proc;
	struct word how = event_arg(e, d->path + 1), flags;
	bool creat = word_is(e->call.name, "creat");

	if (e->call.ret < 0)
		return 0;
	if (!lex_member(how, "flags", &flags)) /* openat2(2) */
		flags = how;
	struct fd_open o = { .flags = creat ? O_WRONLY | O_CREAT | O_TRUNC
					    : flags_of(flags) };
	bool fresh = o.flags & O_TRUNC || (o.flags & O_CREAT && o.flags & O_EXCL);
	o.end = fresh ? 0 : OP_NO_OFFSET;
	enum file_type type =
		o.flags & O_DIRECTORY && !(o.flags & (O_TMPFILE & ~O_DIRECTORY))
			? FILE_DIR
			: FILE_REGULAR;
	if (e->call.path.len)
		o.file = file_of_words(s, e->call.path, 0);
	if (!o.file)
		o.file = file_of_path(
			s, p, event_arg(e, d->fd), event_arg(e, d->path), type);
	else if (type == FILE_DIR)
		names_learn_type(s->text.names, o.file, type);
	switch (names_file(s->text.names, o.file)->type) {
	case FILE_TTY:
	case FILE_PIPE:
	case FILE_SOCKET:
		o.offset = OP_NO_OFFSET;
	}
	return fdtrack_open(s->fdtrack, p->fds, (int)e->call.ret, &o);
}

/* The kernel's name of what a call makes, as -y shows it. */
static struct file anon_file(struct strace *s, const struct event *e)
{
	static const struct {
		const char *call, *name;
	} anon[] = {
		{ "epoll", "[eventpoll]" },
		{ "eventfd", "[eventfd]" },
		{ "timerfd", "[timerfd]" },
		{ "signalfd", "[signalfd]" },
		{ "inotify", "inotify" },
		{ "fanotify", "[fanotify]" },
		{ "userfaultfd", "[userfaultfd]" },
		{ "pidfd", "[pidfd]" },
		{ "memfd_secret", "secretmem" },
	};
	struct names *names = s->text.names;
	struct word call = e->call.name;
	char path[300];
	int len = snprintf(path, sizeof(path), "anon_inode:[%.*s]",
		(int)(call.len < 20 ? call.len : 20), call.p);

	if (word_is(call, "memfd_create")) {
		long n = lex_string(event_arg(e, 0), s->path, sizeof(s->path));
		len = snprintf(path, sizeof(path), "/memfd:%.*s (deleted)",
			(int)(n > 0 ? n : 0), n > 0 ? s->path : "");
		return (struct file){ .path = names_add(names, path, len),
			.type = FILE_REGULAR };
	}
	for (size_t i = 0; i < sizeof(anon) / sizeof(*anon); i++)
		if (!strncmp(call.p, anon[i].call, strlen(anon[i].call)))
			len = snprintf(path, sizeof(path), "anon_inode:%s", anon[i].name);
	return (struct file){ .path = names_add(names, path, len), .type = FILE_ANON };
}

/* A descriptor of no path: what -y says, else what the call makes. */
static int open_other(
	struct strace *s, const struct event *e, struct word path, int fd, int access)
{
	struct word name = e->call.name;
	bool pipe = word_has(name, "pipe"),
	     sock = word_has(name, "socket") || word_has(name, "accept");
	const char *text = pipe ? "pipe" : sock ? "socket" : NULL;
	struct fd_open o = {
		.flags = access, .offset = OP_NO_OFFSET, .end = OP_NO_OFFSET
	};

	for (unsigned i = 0; i < e->call.nargs; i++)
		o.flags |=
			flags_of((struct word){ e->call.arg[i].p, e->call.arg[i].len }) &
			O_CLOEXEC;
	o.file = file_of_words(s, path, 0);
	if (!o.file && text) {
		struct file f = { .path = names_add(s->text.names, text, strlen(text)),
			.type = pipe ? FILE_PIPE : FILE_SOCKET };
		o.file = names_add_file(s->text.names, &f);
	} else if (!o.file) {
		struct file f = anon_file(s, e);
		o.file = names_add_file(s->text.names, &f);
	}
	return fdtrack_open(s->fdtrack, e->task->proc->fds, fd, &o);
}

/* "[3, 4]" or "[3<pipe:[1]>, 4<pipe:[1]>]", the last argument but for flags. */
static int do_pair(struct strace *s, const struct event *e)
{
	struct word list = { 0 }, one, path;
	int fd, err = 0;

	for (unsigned i = 0; i < e->call.nargs; i++)
		if (*e->call.arg[i].p == '[')
			list = e->call.arg[i];
	if (e->call.ret < 0 || !list.len)
		return 0;
	list.p++;
	list.len--;
	for (int i = 0; i < 2 && !err && lex_element(&list, &one); i++)
		if (lex_fd(one, &fd, &path))
			err = open_other(s, e, path, fd,
				word_has(e->call.name, "pipe") ? (i ? O_WRONLY : O_RDONLY)
							       : O_RDWR);
	return err;
}

/* The descriptors that go with a message: "cmsg_data=[5, 6]". false: none. */
static bool passed(const struct event *e, struct word *list)
{
	struct word a = event_arg(e, 1);
	const char *p = memmem(a.p, a.len, "SCM_RIGHTS", 10);

	p = p ? p : memmem(a.p, a.len, "cmsg_type=0x1,", 14);
	const char *data = p ? memmem(p, a.p + a.len - p, "cmsg_data=[", 11) : NULL;

	if (!data || e->call.ret < 0)
		return false;
	*list = (struct word){ data + 11, a.p + a.len - data - 11 };
	return true;
}

/* Kept until they are received, as long as only one message is on its way. */
static void do_sendmsg(struct strace *s, const struct event *e)
{
	struct word list, one, path;
	int fd;

	if (!passed(e, &list))
		return;
	if (s->messages++)
		forget_passed(s);
	while (s->messages == 1 && s->npassed < PASSED_MAX && lex_element(&list, &one) &&
		lex_fd(one, &fd, &path))
		s->passed[s->npassed++] = fdtrack_hold(e->task->proc->fds, fd);
}

/* Which of several messages came is not known, nor what its descriptors are. */
static void do_recvmsg(struct strace *s, const struct event *e)
{
	struct fd_table *fds = e->task->proc->fds;
	struct word list, one, path;
	unsigned i = 0;
	int fd;

	if (!passed(e, &list))
		return;
	while (lex_element(&list, &one) && lex_fd(one, &fd, &path)) {
		struct fd_open *open = i < s->npassed ? s->passed[i] : NULL;
		fdtrack_give(fds, fd, open);
		if (i < s->npassed)
			s->passed[i++] = NULL;
		fd_look(s, e->task->proc, fd, path);
	}
	s->messages -= s->messages > 0;
	if (!s->messages)
		forget_passed(s);
}

static int do_dup(struct strace *s, const struct event *e, enum act act)
{
	struct word path, cmd = event_arg(e, 1);
	struct fd_table *fds = e->task->proc->fds;
	int from, to = (int)e->call.ret;

	if (e->call.ret < 0 || !lex_fd(event_arg(e, 0), &from, &path))
		return 0;
	int64_t raw = act == ACT_FCNTL ? lex_number(cmd, -1) : -1;
	if (act == ACT_FCNTL && (word_has(cmd, "F_SETFD") || raw == F_SETFD)) {
		fdtrack_set_cloexec(
			fds, from, lex_flag(event_arg(e, 2), "FD_CLOEXEC", FD_CLOEXEC));
		return 0;
	}
	if (act == ACT_FCNTL && !word_has(cmd, "F_DUPFD") && raw != F_DUPFD &&
		raw != F_DUPFD_CLOEXEC)
		return 0;
	fd_look(s, e->task->proc, from, path);
	bool cloexec = act == ACT_FCNTL
			       ? word_has(cmd, "CLOEXEC") || raw == F_DUPFD_CLOEXEC
			       : lex_flag(event_arg(e, 2), "O_CLOEXEC", O_CLOEXEC);
	return fdtrack_dup(s->fdtrack, fds, from, to, cloexec);
}

static void do_close(struct strace *s, const struct event *e, enum act act)
{
	struct fd_table *fds = e->task->proc->fds;
	struct word path;
	int fd;

	if (act == ACT_CLOSE && lex_fd(event_arg(e, 0), &fd, &path)) {
		/* Closed even where it fails by EINTR or EIO: close(2). */
		if (e->call.ret != -EBADF)
			fdtrack_close(s->fdtrack, fds, fd);
	} else if (act == ACT_CLOSE_RANGE && e->call.ret == 0) {
		unsigned from = lex_number(event_arg(e, 0), 0),
			 to = lex_number(event_arg(e, 1), ~0u);
		if (lex_flag(event_arg(e, 2), "CLOSE_RANGE_CLOEXEC", CLOSE_RANGE_CLOEXEC))
			fdtrack_cloexec_range(fds, from, to);
		else
			fdtrack_close_range(s->fdtrack, fds, from, to);
	}
}

static void do_seek(const struct event *e)
{
	struct word path, result = event_arg(e, 2);
	int fd;

	if (e->call.ret < 0 || !lex_fd(event_arg(e, 0), &fd, &path))
		return;
	struct fd_open *o = fdtrack_get(e->task->proc->fds, fd);
	/* _llseek(2) tells the position by a pointer: "[123]". */
	bool pointer = e->call.nargs >= 4 && result.len && *result.p == '[';
	if (o && pointer)
		o->offset = lex_number(
			(struct word){ result.p + 1, result.len - 1 }, OP_NO_OFFSET);
	else if (o)
		o->offset = e->call.ret;
}

static void do_cwd(struct strace *s, const struct event *e, enum act act)
{
	struct proc *p = e->task->proc;
	struct word path;
	int fd;

	if (e->call.ret < 0)
		return;
	if (act == ACT_FCHDIR && lex_fd(event_arg(e, 0), &fd, &path)) {
		struct fd_open *o = fd_look(s, p, fd, path);
		p->cwd = o ? names_file(s->text.names, o->file)->path : 0;
		return;
	}
	long len = lex_string(event_arg(e, 0), s->path, sizeof(s->path));
	if (len <= 0)
		return;
	/* getcwd(2) says where it is beyond doubt; chdir(2) only if we knew, or "/...".
	 */
	uint32_t dir = act == ACT_GETCWD ? 0 : p->cwd;
	p->cwd = fdtrack_path(s->fdtrack, dir, s->path, len);
	if (*names_get(s->text.names, p->cwd) != '/')
		p->cwd = 0;
}

static void do_prctl(struct strace *s, const struct event *e)
{
	struct word what = event_arg(e, 0);

	if ((!word_has(what, "PR_SET_NAME") && lex_number(what, 0) != PR_SET_NAME) ||
		e->call.ret < 0 || e->task->tid != e->task->proc->pid)
		return;
	long len = lex_string(event_arg(e, 1), s->path, sizeof(s->path));
	if (len > 0)
		e->task->proc->comm =
			names_add(s->text.names, s->path, len < 15 ? len : 15);
}

static int put_note(struct strace *s, const struct event *e, unsigned note)
{
	struct op op = { .kind = OP_NOTE,
		.ret = note,
		.start_ns = e->start_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.pid = e->task->proc->pid,
		.tid = e->task->tid,
		.comm = e->task->proc->comm };

	return e->call.ret < 0 ? 0 : strace_put(s, &op);
}

int call_before(struct strace *s, const struct event *e, const struct call_name *n)
{
	struct word none = { "", 0 };

	switch (n->act) {
	case ACT_OPEN:
		return do_open(s, e, n);
	case ACT_DUP:
	case ACT_DUP2:
	case ACT_FCNTL:
		return do_dup(s, e, n->act);
	case ACT_PAIR:
		return do_pair(s, e);
	case ACT_NEW:
		return e->call.ret < 0
			       ? 0
			       : open_other(s, e, e->call.path.len ? e->call.path : none,
					 (int)e->call.ret, O_RDWR);
	case ACT_FORK:
		return thread_fork(s, e);
	case ACT_EXEC:
		return thread_exec(s, e);
	case ACT_CHDIR:
	case ACT_FCHDIR:
	case ACT_GETCWD:
		do_cwd(s, e, n->act);
		break;
	case ACT_PRCTL:
		do_prctl(s, e);
		break;
	case ACT_RECVMSG:
		do_recvmsg(s, e);
		break;
	case ACT_SENDMSG:
		do_sendmsg(s, e);
		break;
	case ACT_NOTE:
		return put_note(s, e, n->note);
	}
	return 0;
}

void call_after(struct strace *s, const struct event *e, const struct call_name *n)
{
	if (n->act == ACT_SEEK)
		do_seek(e);
	else if (n->act == ACT_CLOSE || n->act == ACT_CLOSE_RANGE)
		do_close(s, e, n->act);
}
