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

#define DAY_NS (UINT64_C(86400) * 1000000000)

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

/* The time of a line on one clock that only goes on. */
static void stream_time(struct stream *f)
{
	const struct line *l = &f->line;

	f->last_ns = f->time_ns;
	switch (l->clock) {
	case CLOCK_EPOCH:
		f->time_ns = l->time_ns;
		break;
	case CLOCK_DAY:
		if (l->time_ns + f->days_ns + DAY_NS / 2 < f->last_ns)
			f->days_ns += DAY_NS;
		f->time_ns = l->time_ns + f->days_ns;
		break;
	case CLOCK_DELTA:
		f->time_ns += l->time_ns;
		break;
	case CLOCK_NONE:
		break;
	}
}

/* Have a line at hand. 1; 0 at the end; -errno. */
static int stream_fill(struct strace *s, struct stream *f)
{
	char *text;
	size_t len;

	while (!f->held && !f->ended) {
		s->text.in = f->in;
		int got = input_line(f->in, &text, &len);
		if (got < 0)
			return got;
		f->ended = !got;
		if (!got)
			break;
		lex_line(&f->line, text, len);
		stream_time(f);
		f->held = true;
	}
	return f->held;
}

/* The stream whose line is next; NULL at the end of all. */
static int next_stream(struct strace *s, struct stream **out)
{
	*out = NULL;
	for (unsigned i = 0; i < s->nstreams; i++) {
		struct stream *f = &s->stream[i];
		int got = stream_fill(s, f);
		if (got < 0)
			return got;
		bool timed = f->line.clock == CLOCK_DAY || f->line.clock == CLOCK_EPOCH;
		if (got && (!*out || (timed && f->time_ns < (*out)->time_ns)))
			*out = f;
		if (got && !timed)
			break; /* one after another */
	}
	return *out != NULL;
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

/* A line that is not whole: an operation is lost if it was of a call that counts. */
static int bad_call(struct strace *s, const struct task *t, struct word name,
	const char *why, uint64_t now_ns)
{
	const struct call_name *n = calls_find(s, name);
	bool last = input_cut(s->text.in);

	text_bad(&s->text, last ? "the last line is cut" : why);
	return n && n->row >= 0 ? put_lost(s, t, now_ns) : 0;
}

static int whole(struct strace *s, struct task *t, struct stream *f, struct word text,
	uint64_t start_ns)
{
	struct event e;

	e.task = t;
	if (!lex_call(&e.call, text.p, text.len)) {
		size_t n = 0;
		while (n < text.len &&
			(isalnum((unsigned char)text.p[n]) || text.p[n] == '_'))
			n++;
		return bad_call(s, t, (struct word){ text.p, n },
			"a call without a result", start_ns);
	}
	uint64_t now = f->time_ns - s->first_ns;
	bool split = t->waits && t->fine && f->line.fine;
	e.start_ns = start_ns;
	e.dur_ns = e.call.timed ? e.call.dur_ns : split ? now - start_ns : OP_NO_TIME;
	int err = call_done(s, &e);
	return err;
}

/* Keep what there is of a call. The text ends where the words "unfinished" begin. */
static int unfinished(
	struct strace *s, struct task *t, const struct line *l, uint64_t now)
{
	if (l->len > PENDING_MAX) {
		text_bad(&s->text, "a call too long to be kept");
		return put_lost(s, t, now);
	}
	if (t->cap <= l->len) {
		char *more = realloc(t->pending, 2 * l->len + 64);
		if (!more)
			return -ENOMEM;
		t->pending = more;
		t->cap = 2 * l->len + 64;
	}
	memcpy(t->pending, l->text, l->len);
	t->len = l->len;
	t->pending[t->len] = 0;
	t->waits = true;
	t->pending_ns = now;
	t->fine = l->fine;
	t->forks = thread_forks(l->name, l->namelen);
	t->child = 0;
	return 0;
}

static int resumed(struct strace *s, struct task *t, struct stream *f, uint64_t now)
{
	const struct line *l = &f->line;
	struct word name = { l->name, l->namelen };

	if (!t->waits || t->len < name.len || memcmp(t->pending, name.p, name.len)) {
		t->waits = false;
		return bad_call(
			s, t, name, "the end of a call without its beginning", now);
	}
	if (t->cap <= t->len + l->len) {
		size_t cap = 2 * (t->len + l->len) + 64;
		char *more = realloc(t->pending, cap);
		if (!more)
			return -ENOMEM;
		t->pending = more;
		t->cap = cap;
	}
	memcpy(t->pending + t->len, l->text, l->len);
	t->len += l->len;
	t->pending[t->len] = 0;
	int err = whole(s, t, f, (struct word){ t->pending, t->len }, t->pending_ns);
	/* Its end may have been the last of it: then it is there no more. */
	t->waits = false;
	return err;
}

/* The thread that ran execve goes on under its process's id. */
static void supersede(struct strace *s, struct task *t, int by)
{
	struct task *other = (struct task *)map_get(&s->tasks, by, 0);

	if (!other || other == t)
		return;
	free(t->pending);
	t->pending = other->pending;
	t->len = other->len;
	t->cap = other->cap;
	t->waits = other->waits;
	t->pending_ns = other->pending_ns;
	t->fine = other->fine;
	other->pending = NULL;
	thread_free(s, other);
}

static int take_line(struct strace *s, struct stream *f)
{
	const struct line *l = &f->line;
	int tid = l->tid ? l->tid : f->tid;

	if (!s->begun && l->kind != LINE_NOTHING) {
		s->begun = true;
		s->first_ns = f->time_ns;
		s->clock = l->clock;
	}
	uint64_t now = f->time_ns > s->first_ns ? f->time_ns - s->first_ns : 0;
	if (now > s->text.end_ns)
		s->text.end_ns = now;
	if (l->kind == LINE_NOTHING)
		return 0;
	if (l->kind == LINE_BAD) {
		text_bad(&s->text, input_cut(f->in) ? "the last line is cut"
						    : "not a line of strace");
		return 0;
	}
	struct task *t = thread_of(s, tid, l, now);
	if (!t)
		return -ENOMEM;
	switch (l->kind) {
	case LINE_CALL:
		t->waits = false;
		return whole(s, t, f, (struct word){ l->text, l->len }, now);
	case LINE_UNFINISHED:
		return unfinished(s, t, l, now);
	case LINE_RESUMED:
		return resumed(s, t, f, now);
	case LINE_EXITED:
		return thread_exit(s, t, l->value << 8, now);
	case LINE_KILLED:
		return thread_exit(s, t, l->value, now);
	case LINE_SUPERSEDED:
		supersede(s, t, l->value);
		break;
	default:
		break;
	}
	return 0;
}

static int strace_step(struct source *base, struct sink *to)
{
	struct strace *s = (struct strace *)base;
	struct stream *f;

	s->to = to;
	for (int i = 0; i < TEXT_BATCH; i++) {
		int got = next_stream(s, &f);
		if (got < 0)
			return got;
		if (!got) {
			text_end(&s->text);
			return 0;
		}
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
	free(s);
	return 0;
}

/* "out.1234" is of thread 1234, if its lines do not say so themselves. */
static int suffix(const char *name)
{
	const char *dot = strrchr(name, '.');
	uint64_t n;

	if (!dot++ || !text_number(&dot, &n) || *dot || n > 1 << 22)
		return 0;
	return (int)n;
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
