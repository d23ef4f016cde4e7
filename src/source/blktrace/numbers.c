/*
 * numbers.c - the numbers that each CPU gives its events
 */
#include "numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One that was never sorted at all has a gap at every other record. */
enum { GAPS_MAX = 1 << 12, NEAR = 64 };

void numbers_fini(struct numbers *n)
{
	free(n->gap);
	*n = (struct numbers){ 0 };
}

static void erase(struct numbers *n, unsigned at)
{
	n->n--;
	memmove(n->gap + at, n->gap + at + 1, (n->n - at) * sizeof(*n->gap));
}

/* Numbers from ... to before the gap of that place; none if to is less. 0 or -ENOMEM. */
static int insert(struct numbers *n, unsigned at, struct gap g)
{
	if (g.to < g.from)
		return 0;
	if (n->n == GAPS_MAX) {
		n->forgotten += (uint64_t)n->gap[0].to - n->gap[0].from + 1;
		erase(n, 0);
		at -= at > 0;
	}
	if (n->n == n->cap) {
		unsigned cap = n->cap ? 2 * n->cap : 4;
		struct gap *more = realloc(n->gap, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		n->gap = more;
		n->cap = cap;
	}
	memmove(n->gap + at + 1, n->gap + at, (n->n - at) * sizeof(*n->gap));
	n->gap[at] = g;
	n->n++;
	return 0;
}

/* It was in a gap, or below all that was seen, or it is there twice. 0 or -ENOMEM. */
static int fill(struct numbers *n, uint32_t number)
{
	unsigned lo = 0, hi = n->n;

	if (number < n->low) {
		struct gap between = { number + 1, n->low - 1 };
		n->missing += between.to + 1 - between.from;
		n->low = number;
		return insert(n, 0, between);
	}
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		if (n->gap[mid].to < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n->n || n->gap[lo].from > number) {
		if (!lo && n->forgotten) {
			n->forgotten--;
			n->missing--;
		}
		return 0;
	}
	struct gap was = n->gap[lo];
	n->missing--;
	erase(n, lo);
	int err = insert(n, lo, (struct gap){ number + 1, was.to });
	return err ? err : insert(n, lo, (struct gap){ was.from, number - 1 });
}

static int ahead(struct numbers *n, uint32_t number, uint64_t time)
{
	struct gap between = { n->high + 1, number - 1 };

	n->missing += number - n->high - 1;
	n->high = number;
	n->time = time;
	return insert(n, n->n, between);
}

/* What is behind in its number alone. */
static int behind(struct numbers *n, uint32_t number, uint64_t time)
{
	struct gap *last = n->n ? &n->gap[n->n - 1] : NULL;

	if (last && number < n->high && number >= last->from && last->to + 1 == n->high) {
		/* The one before was too high: it stands for the one it should be. */
		n->missing -= (uint64_t)last->to - last->from + 1;
		n->high = last->from < number ? last->from : number;
		n->n--;
		return number > n->high ? ahead(n, number, time) : 0;
	}
	n->was = n->high;
	n->low = n->high = number;
	n->time = time;
	n->n = 0;
	n->forgotten = 0;
	return 0;
}

int numbers_take(struct numbers *n, uint32_t number, uint64_t time)
{
	if (!n->high) {
		n->low = n->high = number;
		n->time = time;
		return 0;
	}
	if (n->was && n->low == n->high && number > n->was && number - n->was < NEAR) {
		/* No other trace: the number of the one before was too low. */
		n->low = 1;
		n->high = n->was + (number > n->was + 1);
	}
	n->was = n->low == n->high ? n->was : 0;
	if (number > n->high && time >= n->time)
		return ahead(n, number, time);
	if (number < n->high && time <= n->time)
		return fill(n, number);
	return number == n->high ? 0 : behind(n, number, time);
}
