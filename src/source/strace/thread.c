/*
 * thread.c - processes and threads of an strace text
 *
 * A child's first line may come before its parent's call has returned its id: then it
 * is taken for the child of the oldest such call that has none yet.
 */
#include "strace.h"
#include "iops/sink.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

int strace_put(struct strace *s, const struct op *op)
{
	uint64_t end = op->start_ns + (op->dur_ns == OP_NO_TIME ? 0 : op->dur_ns);

	if (end > s->text.end_ns)
		s->text.end_ns = end;
	return sink_put(s->to, op);
}

static int put_notice(struct strace *s, const struct task *t, unsigned kind, int64_t ret,
	uint64_t now_ns)
{
	struct op op = { .kind = kind,
		.ret = ret,
		.start_ns = now_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.comm = t->proc->comm,
		.pid = t->proc->pid,
		.tid = t->tid };

	return strace_put(s, &op);
}

void forget_passed(struct strace *s)
{
	while (s->npassed)
		fdtrack_drop(s->passed[--s->npassed]);
}

static void proc_free(struct strace *s, struct proc *p)
{
	if (!p || --p->refs)
		return;
	fdtrack_end(s->fdtrack, p->fds);
	free(p);
}

static struct task *task_new(struct strace *s, int tid)
{
	struct task *t = calloc(1, sizeof(*t));

	if (!t || map_put(&s->tasks, tid, 0, (uintptr_t)t) < 0) {
		free(t);
		return NULL;
	}
	t->tid = tid;
	t->next = s->head.next;
	t->prev = &s->head;
	t->next->prev = t->prev->next = t;
	return t;
}

void thread_free(struct strace *s, struct task *t)
{
	map_del(&s->tasks, t->tid, 0);
	if (t->alias)
		map_del(&s->tasks, t->alias, 0);
	t->next->prev = t->prev;
	t->prev->next = t->next;
	if (s->recent == t)
		s->recent = NULL;
	if (s->broken == t)
		s->broken = NULL;
	proc_free(s, t->proc);
	proc_free(s, t->base);
	free(t->pending);
	free(t);
}

static struct proc *proc_new(struct strace *s, int pid)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->refs = 1;
	p->fds = fdtrack_table(s->fdtrack);
	if (!p->fds) {
		free(p);
		return NULL;
	}
	return p;
}

static struct proc *proc_fork(
	struct strace *s, const struct proc *of, int pid, bool files)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = *of;
	p->pid = pid;
	p->refs = 1;
	p->fds = files ? fdtrack_share(of->fds) : fdtrack_copy(s->fdtrack, of->fds);
	if (!p->fds) {
		free(p);
		return NULL;
	}
	return p;
}

/* What a child shares with its parent: of "flags=CLONE_VM|..." or "flags=0x3d0f00". */
struct shares {
	bool thread, files;
};

static struct shares shares_of(struct word text)
{
	const char *p = memmem(text.p, text.len, "flags=", 6);
	struct word flags = { "", 0 };

	if (p)
		flags = (struct word){ p + 6, text.len - (p + 6 - text.p) };
	return (struct shares){ lex_flag(flags, "CLONE_THREAD", CLONE_THREAD),
		lex_flag(flags, "CLONE_FILES", CLONE_FILES) };
}

/* A child of t. NULL: no memory. */
static struct task *child_new(
	struct strace *s, struct task *t, int tid, struct shares shares)
{
	struct task *child = task_new(s, tid);

	if (!child)
		return NULL;
	if (shares.thread) {
		child->proc = t->proc;
		t->proc->refs++;
	} else {
		child->proc = proc_fork(s, t->proc, tid, shares.files);
	}
	if (!child->proc) {
		thread_free(s, child);
		return NULL;
	}
	child->ppid = shares.thread ? t->tid : t->proc->pid;
	return child;
}

/*
 * A child that was seen before its parent's call was over. Another one may be the
 * parent, and what is shared is said only at the end by strace before 4.22: then the
 * child gets what it should have got, and what it did since is done again to that.
 */
static int settle(
	struct strace *s, struct task *child, struct task *parent, struct shares shares)
{
	struct proc *base = child->base, *was = child->proc, *p = NULL;
	struct task *other = (struct task *)map_get(&s->tasks, child->from, 0);
	bool right = child->from == parent->tid &&
		     shares.thread == (was == parent->proc) && !shares.files;
	int err = 0;

	child->base = NULL;
	if (other && other != parent && other->child == child->tid)
		other->child = 0; /* its own has still to come */
	/* With threads of its own, or shared already, it stays as it is. */
	if (right || was->refs > 1 || !base)
		goto out;
	if (shares.thread) {
		p = parent->proc;
		p->refs++;
	} else if (!(p = proc_fork(s, parent->proc, child->tid, shares.files))) {
		err = -ENOMEM;
		goto out;
	}
	err = fdtrack_replay(p->fds, base->fds, was->fds);
	if (!shares.thread) {
		p->cwd = was->cwd != base->cwd ? was->cwd : p->cwd;
		p->comm = was->comm != base->comm ? was->comm : p->comm;
	}
	child->proc = p;
	proc_free(s, was);
out:
	proc_free(s, base);
	return err;
}

/* That it was born is told when it is first seen: without -f it never is. */
static struct task *tell_birth(struct strace *s, struct task *t, uint64_t now_ns)
{
	if (t->born || !t->ppid)
		return t;
	t->born = true;
	return put_notice(s, t, OP_FORK, t->ppid, now_ns) < 0 ? NULL : t;
}

bool thread_forks(const char *name, size_t len)
{
	struct word w = { name, len };

	return word_is(w, "clone") || word_is(w, "fork") || word_is(w, "vfork") ||
	       word_is(w, "clone3");
}

/* The oldest call that is making a child which we have not seen. */
static struct task *expecting(struct strace *s)
{
	struct task *found = NULL;

	for (struct task *t = s->head.next; t != &s->head; t = t->next)
		if (t->waits && t->forks && !t->child &&
			(!found || t->pending_ns <= found->pending_ns))
			found = t;
	return found;
}

/*
 * On a terminal strace does not say which process it is while there is but one. A
 * thread that nobody has made is that one; so is what resumes its call.
 */
static struct task *unnamed(struct strace *s, int tid, const struct line *l)
{
	struct task *first = (struct task *)map_get(&s->tasks, 0, 0);

	if (!first || first->alias || !tid)
		return NULL;
	bool goes_on = l->kind == LINE_RESUMED && first->waits &&
		       first->len >= l->namelen &&
		       !memcmp(first->pending, l->name, l->namelen);
	if (!goes_on && expecting(s))
		return NULL;
	if (map_put(&s->tasks, tid, 0, (uintptr_t)first) < 0)
		return NULL;
	first->alias = tid;
	return first;
}

/* A line without an id, where there is no such thread: it is of the only one left. */
static struct task *only_one(struct strace *s, int tid)
{
	bool one = s->head.next != &s->head && s->head.next->next == &s->head;

	return !tid && one ? s->head.next : NULL;
}

static struct task *task_unknown(struct strace *s, int tid, const struct line *l)
{
	struct task *t = unnamed(s, tid, l), *parent;

	t = t ? t : only_one(s, tid);
	if (!t && (parent = expecting(s))) {
		t = child_new(s, parent, tid,
			shares_of((struct word){ parent->pending, parent->len }));
		if (!t)
			return NULL;
		parent->child = tid;
		t->from = parent->tid;
		t->base = proc_fork(s, parent->proc, tid, false);
	} else if (!t && (t = task_new(s, tid))) {
		t->proc = proc_new(s, tid);
		if (!t->proc) {
			thread_free(s, t);
			t = NULL;
		}
	}
	return t;
}

struct task *thread_of(struct strace *s, int tid, const struct line *l, uint64_t now_ns)
{
	if (s->recent && s->recent->tid == tid && s->recent->born)
		return s->recent;

	struct task *t = (struct task *)map_get(&s->tasks, tid, 0);
	if (!t && !(t = task_unknown(s, tid, l)))
		return NULL;
	if (!s->begun_task) {
		s->begun_task = true;
		s->first_tid = t->tid;
	}
	if (!(t = tell_birth(s, t, now_ns)))
		return NULL;
	t->born = true;
	return s->recent = t;
}

int thread_fork(struct strace *s, const struct event *e)
{
	int tid = (int)e->call.ret;
	struct task *t = e->task, *child;
	struct word text = { e->call.name.p, e->call.name.len };

	if (e->call.ret <= 0 || e->call.ret > LINE_PID_MAX)
		return 0;
	if (e->call.nargs) {
		const struct word *last = &e->call.arg[e->call.nargs - 1];
		text.len = last->p + last->len - text.p;
	}
	t->forks = false;
	child = (struct task *)map_get(&s->tasks, tid, 0);
	if (child && child->ends && child != t) {
		thread_free(s, child); /* -qq tells of no end; the id is used again */
		child = NULL;
	}
	if (child)
		return child->base ? settle(s, child, t, shares_of(text)) : 0;
	/* In a namespace of its own the child has another id here: the one we guessed. */
	if (t->waits && t->child && !expecting(s))
		return 0;
	return child_new(s, t, tid, shares_of(text)) ? 0 : -ENOMEM;
}

/* "1234<cat>" at the front of a line. */
void thread_named(struct strace *s, struct task *t, struct word comm)
{
	const char *known = names_get(s->text.names, t->proc->comm);
	size_t len = comm.len < 15 ? comm.len : 15;

	if ((t->tid == t->proc->pid || !*known) &&
		(strncmp(known, comm.p, len) || known[len]))
		t->proc->comm = names_add(s->text.names, comm.p, len);
}

/* "["ls", "-l"]": what was run. */
static void keep_command(struct strace *s, struct word list)
{
	struct word one;

	list.p += list.len && *list.p == '[';
	list.len -= list.len && list.p[-1] == '[';
	s->pid = s->first_tid;
	while (s->argc < COMMAND_ARGS && lex_element(&list, &one)) {
		/* What strace cut is shown as it shows it. */
		bool cut = one.len > 3 && !memcmp(one.p + one.len - 3, "...", 3);
		one.len -= cut ? 3 : 0;
		long n = lex_string(one, s->path, sizeof(s->path) - 3);
		if (n < 0)
			break;
		strcpy(s->path + n, cut ? "..." : "");
		if ((s->argv[s->argc] = strdup(s->path)))
			s->argc++;
	}
}

int thread_replaced(struct strace *s, struct task *t)
{
	struct fd_table *own = fdtrack_exec(s->fdtrack, t->proc->fds);

	if (!own)
		return -ENOMEM;
	t->proc->fds = own;
	return 0;
}

int thread_exec(struct strace *s, const struct event *e)
{
	struct task *t = e->task;
	bool at = word_is(e->call.name, "execveat");
	struct word dir = { 0 }, path = e->call.arg[0];

	if (e->call.ret != 0 || e->call.nargs < 2u + at)
		return 0;
	if (at) {
		dir = e->call.arg[0];
		path = e->call.arg[1];
	}
	uint32_t file = file_of_path(s, t->proc, dir, path, FILE_REGULAR);
	const char *name =
		names_get(s->text.names, names_file(s->text.names, file)->path);
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	t->proc->comm = names_add(s->text.names, base, strnlen(base, 15));
	int err = thread_replaced(s, t);
	if (err < 0)
		return err;
	if (!s->argc && t->tid == s->first_tid)
		keep_command(s, e->call.arg[1 + at]);
	struct op op = { .kind = OP_EXEC,
		.start_ns = e->start_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.file = file,
		.comm = t->proc->comm,
		.pid = t->proc->pid,
		.tid = t->tid };
	return strace_put(s, &op);
}

int thread_exit(struct strace *s, struct task *t, int status, uint64_t now_ns)
{
	int err = put_notice(s, t, OP_EXIT, status, now_ns);

	if (t->tid == s->first_tid) {
		s->ended = true;
		s->status = status;
		if (!s->pid)
			s->pid = t->proc->pid;
	}
	thread_free(s, t);
	return err;
}
