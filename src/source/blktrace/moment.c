/*
 * moment.c - whether the time of a record can be right
 *
 * Where times only grow, it is wrong if without it they would. Those of one CPU do, if
 * nobody has shuffled the stream. If somebody has, it is wrong if it is far from the one
 * before, while nearly all behind it are near that, and against the order of its CPU.
 * Of the first record and the last one there are neighbours on one side only, and a disk
 * may be idle for long: but not for a hundred days.
 */
#include "moment.h"

#define LONG_NS (UINT64_C(100) * 86400 * 1000000000)

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* How many of those behind it are within from ... to. */
static unsigned within(const struct moment_row *m, uint64_t from, uint64_t to)
{
	unsigned in = 0;

	for (unsigned i = 0; i < m->n; i++)
		in += m->behind[i] >= from && m->behind[i] <= to;
	return in;
}

static bool mostly(const struct moment_row *m, uint64_t from, uint64_t to)
{
	return m->n && 4 * within(m, from, to) >= 3 * m->n;
}

static enum moment_is judge_first(const struct moment *of)
{
	const struct moment_row *m = &of->all;
	uint64_t t = of->time;
	bool low = t < UINT64_MAX - LONG_NS && mostly(m, t + LONG_NS, UINT64_MAX);
	bool high = mostly(m, 0, t > LONG_NS ? t - LONG_NS : 0);

	if (of->sorted && t)
		high |= within(m, 0, t - 1) > 1;
	return low || high ? MOMENT_WRONG : MOMENT_RIGHT;
}

static enum moment_is judge_sorted(const struct moment_row *m, uint64_t t)
{
	uint64_t p = m->before;

	if (t < p)
		return !m->n || mostly(m, p, UINT64_MAX) ? MOMENT_WRONG : MOMENT_BACK;
	if (!m->n)
		return t - p > LONG_NS ? MOMENT_WRONG : MOMENT_RIGHT;
	/* Of two that are the wrong way round, either may be wrong: the later one is. */
	return t > p && within(m, p, t - 1) > (m->n > 1) && mostly(m, p, UINT64_MAX)
		       ? MOMENT_WRONG
		       : MOMENT_RIGHT;
}

/* There are enough of them, and hardly any goes back. */
static bool in_order(const struct moment_row *m)
{
	unsigned back = 0;

	for (unsigned i = 1; i < m->n; i++)
		back += m->behind[i] < m->behind[i - 1];
	return m->any && m->n >= 12 && back <= m->n / 8;
}

static enum moment_is judge_mixed(const struct moment *m)
{
	uint64_t t = m->time, p = m->all.before, far = apart(t, p), near = far / 8;

	if (in_order(&m->own))
		return judge_sorted(&m->own, t) == MOMENT_WRONG ? MOMENT_WRONG
								: MOMENT_RIGHT;
	if (moment_near(t, p))
		return MOMENT_RIGHT;
	if (!m->all.n)
		return far > LONG_NS ? MOMENT_WRONG : MOMENT_RIGHT;
	bool against =
		(m->own.any && m->own.before > t) || (t && within(&m->own, 0, t - 1));
	return against && mostly(&m->all, p > near ? p - near : 0,
				  p < UINT64_MAX - near ? p + near : UINT64_MAX)
		       ? MOMENT_WRONG
		       : MOMENT_RIGHT;
}

enum moment_is moment_judge(const struct moment *m)
{
	return !m->all.any ? judge_first(m)
	       : m->sorted ? judge_sorted(&m->all, m->time)
			   : judge_mixed(m);
}
