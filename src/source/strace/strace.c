/*
 * strace.c - read the text of strace(1), of any version and with nearly any options
 *
 * Calls that were cut in two by those of other threads are put together again. Files of
 * -ff are read side by side by their times, or one after another where they have none.
 */
#include "strace.h"
#include "iops/input.h"
#include "iops/sink.h"
#include "iops/syscalls.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_LINES = 40, PENDING_MAX = 1 << 20 };

/* How sure one is of text of which so many of so many lines are strace's. */
static int strace_probe(const char *head, size_t len)
{
	int good = 0, calls = 0, bad = 0;
	const char *p = head, *end = head + len, *nl;
	char text[4096];

	for (int i = 0; i < PROBE_LINES && p < end; i++, p = nl + 1) {
		nl = memchr(p, '\n', end - p);
		if (!nl)
			nl = end;
		struct line l;
		size_t n = nl - p < (long)sizeof(text) ? nl - p : (long)sizeof(text) - 1;
		memcpy(text, p, n);
		text[n] = 0;
		if (!n)
			continue;
		lex_line(&l, text, n);
		struct call_text c;
		bool whole = l.kind == LINE_CALL && lex_call(&c, l.text, l.len);
		bad += l.kind == LINE_BAD;
		good += l.kind != LINE_BAD;
		calls += whole || l.kind == LINE_UNFINISHED || l.kind == LINE_RESUMED ||
			 l.kind == LINE_EXITED || l.kind == LINE_KILLED;
	}
	return calls && good > bad ? 60 + (calls > bad ? 20 : 0) : 0;
}

static int put_lost(struct strace *s, const struct task *t, uint64_t now_ns)
{
	struct op op = { .kind = OP_LOST,
		.ret = 1,
		.start_ns = now_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1,
		.pid = t->proc->pid,
		.tid = t->tid };

	return strace_put(s, &op);
}

static void bad(struct strace *s, const char *why)
{
	if (!s->text.bad)
		s->bad_in = s->text.in;
	text_bad(&s->text, input_cut(s->text.in) ? "the last line is cut" : why);
}

/* A call that is not whole: an operation is lost if it was of a kind that counts. */
static int bad_call(struct strace *s, const struct task *t, struct word name,
	const char *why, uint64_t now_ns)
{
	const struct call_name *n = calls_find(s, name);

	bad(s, why);
	return n && n->row >= 0 ? put_lost(s, t, now_ns) : 0;
}

/* The call that waits for its end gets none. */
static int bad_pending(struct strace *s, struct task *t, const char *why)
{
	struct word name = { t->pending, 0 };
	bool first = !s->text.bad;

	while (lex_is_name(name.p[name.len]))
		name.len++;
	t->waits = t->broken = false;
	int err = bad_call(s, t, name, why, t->pending_ns);
	if (first)
		s->text.first_bad = t->pending_line;
	return err;
}

/* A whole call. 0 if it is one, 1 if it is not; -errno. */
static int whole(struct strace *s, struct task *t, const struct stream *f,
	struct word text, uint64_t start_ns)
{
	struct event e = { .task = t, .start_ns = start_ns, .dur_ns = OP_NO_TIME };
	uint64_t now = stream_now(s, f);

	if (!lex_call(&e.call, text.p, text.len))
		return 1;
	if (e.call.timed)
		e.dur_ns = e.call.dur_ns;
	else if (t->waits && !t->broken && t->fine && f->line.fine && now >= start_ns)
		e.dur_ns = now - start_ns;
	return call_done(s, &e);
}

/* Room for so many bytes of a call and a NUL. */
static int pending_room(struct task *t, size_t len)
{
	if (t->cap > len)
		return 0;
	char *more = realloc(t->pending, 2 * len + 64);
	if (!more)
		return -ENOMEM;
	t->pending = more;
	t->cap = 2 * len + 64;
	return 0;
}

/* Keep what there is of a call. The text ends where the words "unfinished" begin. */
static int unfinished(
	struct strace *s, struct task *t, const struct line *l, uint64_t now)
{
	int err = t->waits ? bad_pending(s, t, "a call without its end") : 0;

	if (err < 0 || (err = pending_room(t, l->len)) < 0)
		return err;
	memcpy(t->pending, l->text, l->len);
	t->len = l->len;
	t->pending[t->len] = 0;
	t->waits = true;
	t->broken = false;
	t->pending_ns = now;
	t->pending_line = input_lines(s->text.in);
	t->fine = l->fine;
	t->forks = thread_forks(l->name, l->namelen);
	t->child = 0;
	return 0;
}

/* More of a call that waits. 0 if it is whole now; 1: not, and it is as before; -errno.
 */
static int more_of(struct strace *s, struct task *t, struct stream *f, struct word text)
{
	size_t before = t->len;
	int err =
		before + text.len > PENDING_MAX ? 1 : pending_room(t, before + text.len);

	if (err)
		return err;
	memcpy(t->pending + before, text.p, text.len);
	t->len += text.len;
	t->pending[t->len] = 0;
	err = whole(s, t, f, (struct word){ t->pending, t->len }, t->pending_ns);
	if (err == 1) {
		t->len = before;
		t->pending[before] = 0;
	} else {
		/* Its end may have been the last of it: then it is there no more. */
		t->waits = t->broken = false;
	}
	return err;
}

static int resumed(struct strace *s, struct task *t, struct stream *f, uint64_t now)
{
	const struct line *l = &f->line;
	struct word name = { l->name, l->namelen };

	/* Its beginning stands in another file, of -ff without times: read later. */
	if (!t->waits && t->superseded && word_is(name, "execve")) {
		t->superseded = false;
		return thread_replaced(s, t);
	}
	if (!t->waits || t->len <= name.len || memcmp(t->pending, name.p, name.len) ||
		t->pending[name.len] != '(') {
		int err = t->waits ? bad_pending(s, t, "a call without its end") : 0;
		return err < 0 ? err
			       : bad_call(s, t, name,
					 "the end of a call without its beginning", now);
	}
	int err = more_of(s, t, f, (struct word){ l->text, l->len });
	return err == 1 ? bad_pending(s, t, "a call without a result") : err;
}

/*
 * A call's text that ends too early. Where strace writes to a terminal its own words and
 * the program's come between, and the rest follows on another line.
 */
static int broken(struct strace *s, struct task *t, const struct line *l, uint64_t now)
{
	int err = unfinished(s, t, l, now);

	if (err < 0)
		return err;
	t->broken = true;
	if (l->filed || input_cut(s->text.in))
		return bad_pending(s, t, "a call without a result");
	s->broken = t;
	return 0;
}

/* A line that is none of strace's: the rest of a call, or what the program printed. */
static int no_line(struct strace *s, struct stream *f)
{
	struct task *t = s->broken;
	int err = 1;

	if (f->table)
		return 0;
	if (t)
		err = more_of(s, t, f, (struct word){ f->line.text, f->line.len });
	if (err == 1 && (!t || input_cut(f->in)))
		bad(s, "not a line of strace");
	if (err == 0)
		s->broken = NULL;
	return err == 1 ? 0 : err;
}

/* The thread that ran execve goes on under its process's id. */
static void supersede(struct strace *s, struct task *t, int by)
{
	struct task *other = (struct task *)map_get(&s->tasks, by, 0);

	t->waits = t->broken = false;
	t->superseded = !other || other == t || !other->waits;
	if (t->superseded)
		return;
	free(t->pending);
	t->pending = other->pending;
	t->len = other->len;
	t->cap = other->cap;
	t->waits = true;
	t->pending_line = other->pending_line;
	t->pending_ns = other->pending_ns;
	t->fine = other->fine;
	other->pending = NULL;
	thread_free(s, other);
}

/* What a line tells of a thread. */
static int take_call(struct strace *s, struct task *t, struct stream *f, uint64_t now)
{
	const struct line *l = &f->line;
	int err = 0;

	switch (l->kind) {
	case LINE_CALL:
		err = t->waits ? bad_pending(s, t, "a call without its end") : 0;
		if (!err)
			err = whole(s, t, f, (struct word){ l->text, l->len }, now);
		return err == 1 ? broken(s, t, l, now) : err;
	case LINE_UNFINISHED:
		return unfinished(s, t, l, now);
	case LINE_BROKEN:
		return broken(s, t, l, now);
	case LINE_RESUMED:
		return resumed(s, t, f, now);
	case LINE_EXITED:
	case LINE_KILLED:
		err = t->broken ? bad_pending(s, t, "a call without its end") : 0;
		if (!err)
			err = thread_exit(s, t,
				l->kind == LINE_EXITED ? l->value << 8 : l->value, now);
		return err;
	case LINE_SUPERSEDED:
		supersede(s, t, l->value);
		break;
	default:
		break;
	}
	return 0;
}

static int take_line(struct strace *s, struct stream *f)
{
	const struct line *l = &f->line;

	if (!s->begun && l->kind < LINE_SUMMARY) {
		s->begun = true;
		s->first_ns = f->time_ns;
		s->clock = l->clock;
	}
	uint64_t now = stream_now(s, f);
	if (now > s->text.end_ns)
		s->text.end_ns = now;
	if (l->kind == LINE_NOTHING)
		return 0;
	if (l->kind == LINE_BAD)
		return no_line(s, f);
	f->table = l->kind == LINE_SUMMARY;
	if (f->table)
		return 0;
	if (l->kind == LINE_HELD) {
		if (s->broken)
			s->broken->broken = false;
		s->broken = NULL;
		return 0;
	}
	struct task *t = thread_of(s, l->tid ? l->tid : f->tid, l, now);
	if (!t)
		return -ENOMEM;
	if (l->comm.len)
		thread_named(s, t, l->comm);
	return take_call(s, t, f, now);
}

/* At the end: calls that broke off and did not go on. 0 or -errno. */
static int ended(struct strace *s)
{
	int err = 0;

	for (struct task *t = s->head.next; t != &s->head && !err; t = t->next)
		if (t->waits && t->broken)
			err = bad_pending(s, t, "a call without a result");
	if (s->text.bad)
		s->text.in = s->bad_in;
	text_end(&s->text);
	return err;
}

static int strace_step(struct source *base, struct sink *to)
{
	struct strace *s = (struct strace *)base;
	struct stream *f;

	s->to = to;
	if (!s->live) {
		s->live = calloc(s->nstreams, sizeof(struct stream *));
		int err = s->live ? streams_begin(s) : -ENOMEM;
		if (err < 0)
			return err;
	}
	for (int i = 0; i < TEXT_BATCH; i++) {
		int got = streams_next(s, &f);
		if (got < 0)
			return got;
		if (!got)
			return ended(s);
		f->held = false;
		s->text.in = f->in;
		int err = take_line(s, f);
		if (err < 0)
			return err;
	}
	return 1;
}

static void strace_about(struct source *base, struct run *run)
{
	struct strace *s = (struct strace *)base;

	run->command = s->argc ? s->argv : NULL;
	text_about(&s->text, run, "imported from strace text");
	run->started_ns = s->clock == CLOCK_EPOCH ? s->first_ns : 0;
	run->pids = &s->pid;
	run->npids = s->pid ? 1 : 0;
	run->ended = s->ended;
	run->status = s->status;
}

static int strace_close(struct source *base)
{
	struct strace *s = (struct strace *)base;

	while (s->head.next && s->head.next != &s->head)
		thread_free(s, s->head.next);
	map_fini(&s->tasks);
	forget_passed(s);
	fdtrack_free(s->fdtrack);
	for (unsigned i = 0; i < s->argc; i++)
		free(s->argv[i]);
	free(s->stream);
	free(s->live);
	free(s);
	return 0;
}

/* "out.1234" is of thread 1234, if its lines do not say so themselves. */
static int suffix(const char *name)
{
	const char *dot = strrchr(name, '.');
	uint64_t n;

	if (!dot)
		return 0;
	dot++;
	return text_number(&dot, &n) && !*dot && n <= LINE_PID_MAX ? (int)n : 0;
}

static int by_tid(const void *a, const void *b)
{
	return ((const struct stream *)a)->tid - ((const struct stream *)b)->tid;
}

static int strace_open(struct source **out, const struct source_args *args)
{
	struct strace *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->text.base.ops = &source_strace;
	s->text.names = args->names;
	s->text.in = args->inputs[0];
	s->head.next = s->head.prev = &s->head;
	s->fdtrack = fdtrack_new(args->names);
	s->stream = calloc(args->ninputs, sizeof(*s->stream));
	if (!s->fdtrack || !s->stream) {
		strace_close(&s->text.base);
		return -ENOMEM;
	}
	calls_index(s);
	s->nstreams = args->ninputs;
	for (unsigned i = 0; i < s->nstreams; i++) {
		s->stream[i].in = args->inputs[i];
		s->stream[i].tid = suffix(input_name(args->inputs[i]));
	}
	qsort(s->stream, s->nstreams, sizeof(*s->stream), by_tid);
	*out = &s->text.base;
	return 0;
}

const struct source_ops source_strace = {
	.name = "strace",
	.help = "text of strace(1)",
	.probe = strace_probe,
	.open = strace_open,
	.step = strace_step,
	.about = strace_about,
	.close = strace_close,
};
