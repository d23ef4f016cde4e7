/*
 * stream.c - the files of an strace text, line by line, in the order of their times
 */
#include "strace.h"
#include "iops/input.h"

#include <string.h>

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define NEAR_NS                                                                          \
	(UINT64_C(60) * 1000000000) /* so much lines of one time are out of order */

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
		if (l->time_ns + f->days_ns + DAY_NS / 2 < f->last_ns &&
			f->days_ns < LINE_TIME_MAX)
			f->days_ns += DAY_NS;
		else if (f->days_ns >= DAY_NS && l->time_ns > DAY_NS - NEAR_NS &&
			 f->last_ns < f->days_ns + NEAR_NS)
			f->days_ns -= DAY_NS; /* of before that midnight */
		f->time_ns = l->time_ns + f->days_ns;
		break;
	case CLOCK_DELTA:
		if (f->time_ns + l->time_ns <= LINE_TIME_MAX)
			f->time_ns += l->time_ns;
		break;
	case CLOCK_NONE:
		break;
	}
}

uint64_t stream_now(const struct strace *s, const struct stream *f)
{
	return s->begun && f->time_ns > s->first_ns ? f->time_ns - s->first_ns : 0;
}

/* Have a line at hand. 1; 0 at the end; -errno. */
static int stream_fill(struct strace *s, struct stream *f)
{
	char *text;
	size_t len;

	if (f->held || f->ended)
		return f->held;
	s->text.in = f->in;
	int got = input_line(f->in, &text, &len);
	if (got <= 0) {
		f->ended = true;
		return got;
	}
	lex_line(&f->line, text, len);
	stream_time(f);
	f->timed |= f->line.clock == CLOCK_DAY || f->line.clock == CLOCK_EPOCH;
	return f->held = true;
}

/* Files without times are read one after another. */
static bool before(const struct stream *a, const struct stream *b)
{
	uint64_t at = a->timed ? a->time_ns : 0, bt = b->timed ? b->time_ns : 0;

	return at != bt ? at < bt : a < b;
}

static void sift_down(struct strace *s, unsigned i)
{
	for (;;) {
		unsigned first = i, kid = 2 * i + 1;
		for (unsigned k = kid; k < kid + 2 && k < s->nlive; k++)
			if (before(s->live[k], s->live[first]))
				first = k;
		if (first == i)
			return;
		struct stream *f = s->live[i];
		s->live[i] = s->live[first];
		s->live[first] = f;
		i = first;
	}
}

/* The first file that begins with a program, as that of the command does. */
static const struct stream *root(const struct strace *s)
{
	const struct stream *found = NULL;

	for (unsigned i = 0; i < s->nlive; i++) {
		const struct stream *f = s->live[i];
		const struct line *l = &f->line;
		if (l->clock == CLOCK_DAY && f->tid && l->namelen == 6 &&
			!memcmp(l->name, "execve", 6) && (!found || f->tid < found->tid))
			found = f;
	}
	return found;
}

/* Who came after it and has begun before is of the next day; clocks may be put back a
 * little. */
static void past_midnight(struct strace *s)
{
	const uint64_t little = DAY_NS / 12;
	const struct stream *first = root(s);

	for (unsigned i = 0; first && i < s->nlive; i++) {
		struct stream *f = s->live[i];
		if (f->line.clock != CLOCK_DAY || f->tid <= first->tid ||
			f->time_ns + little >= first->time_ns)
			continue;
		f->days_ns += DAY_NS;
		f->time_ns += DAY_NS;
	}
}

int streams_begin(struct strace *s)
{
	for (unsigned i = 0; i < s->nstreams; i++) {
		struct stream *f = &s->stream[i];
		int got = stream_fill(s, f);
		if (got < 0)
			return got;
		if (got)
			s->live[s->nlive++] = f;
	}
	past_midnight(s);
	for (unsigned i = s->nlive; i-- > 0;)
		sift_down(s, i);
	return 0;
}

int streams_next(struct strace *s, struct stream **out)
{
	while (s->nlive) {
		struct stream *f = s->live[0];
		bool fresh = !f->held;
		int got = stream_fill(s, f);
		if (got < 0)
			return got;
		if (got && !fresh) {
			*out = f;
			return 1;
		}
		if (!got)
			s->live[0] = s->live[--s->nlive];
		sift_down(s, 0);
	}
	return 0;
}
