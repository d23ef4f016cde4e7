/*
 * clock.c - time stamp counter to CLOCK_MONOTONIC
 *
 * Pairs of both clocks are taken at the start and at every drain; the rate comes from
 * the longest distance there is, the offset from the newest pair.
 */
#include "../tracer.h"

#include <time.h>
#include <x86intrin.h>

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

uint64_t fast_tsc(void)
{
	return __rdtsc();
}

/* The pair whose two readings of the counter lie closest together. */
static void pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t a = __rdtsc(), at = monotonic(), b = __rdtsc();
		if (b - a < best) {
			best = b - a;
			*tsc = a + (b - a) / 2;
			*ns = at;
		}
	}
}

void fast_clock_start(struct fast_clock *c)
{
	pair(&c->tsc0, &c->ns0);
	c->tsc = c->tsc0;
	c->ns = c->ns0;
	c->ns_per_tick = 0;
}

void fast_clock_look(struct fast_clock *c)
{
	uint64_t tsc = __rdtsc();

	if (c->ns_per_tick > 0 && (double)(tsc - c->tsc) * c->ns_per_tick < 1e6)
		return;
	pair(&c->tsc, &c->ns);
	if (c->tsc > c->tsc0)
		c->ns_per_tick = (double)(c->ns - c->ns0) / (double)(c->tsc - c->tsc0);
}

uint64_t fast_then(const struct tracer *t, uint64_t tsc)
{
	return fast_clock_ns(&t->fast->clock, tsc) - t->epoch_ns;
}
