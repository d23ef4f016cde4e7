/*
 * cpu.c - a ring of moments for each window, the longer the coarser; only those are taken
 * that the next snapshot may need
 */
#include "cpu.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

static const struct {
	uint64_t window_ns, step_ns;
	unsigned first, n; /* of the moments */
} ring[CPU_WINDOWS] = {
	{ 5 * SECOND, SECOND, 0, 6 },
	{ 120 * SECOND, 15 * SECOND, 6, 9 },
	{ 3600 * SECOND, 300 * SECOND, 15, 13 },
};

/* A process that has just begun: its time comes in ticks, too coarse to divide by. */
enum { TICKS_MIN = 5 };

bool cpu_due(struct cpu *c, uint64_t now_ns, uint64_t next_ns)
{
	uint64_t left = next_ns > now_ns ? next_ns - now_ns : 0;
	bool any = false;

	for (int i = 0; i < CPU_WINDOWS; i++) {
		/* Calls come each second or so, not on the dot. */
		uint64_t step = ring[i].step_ns - SECOND / 4;
		c->open[i] = (!c->asked_ns[i] || now_ns - c->asked_ns[i] >= step) &&
			     left <= ring[i].window_ns + ring[i].step_ns;
		if (c->open[i])
			c->asked_ns[i] = now_ns ? now_ns : 1;
		any |= c->open[i];
	}
	return any;
}

/* The moment furthest back that is not further than the window. */
static int moment_of(const struct cpu *c, uint64_t now, uint64_t window)
{
	int best = -1;

	for (int i = 0; i < CPU_SAMPLES; i++)
		if (c->moment_ns[i] && now - c->moment_ns[i] <= window &&
			(best < 0 || c->moment_ns[i] < c->moment_ns[best]))
			best = i;
	return best;
}

void cpu_begin(struct cpu *c, uint64_t boot_ns)
{
	c->pass++;
	/* Of what was known before; a sample that is late by half a step will do. */
	for (int i = 0; i < CPU_WINDOWS; i++)
		c->since[i] =
			moment_of(c, boot_ns, ring[i].window_ns + ring[i].step_ns / 2);
	c->now_ns = c->at_ns = boot_ns;
}

static double percent_of(uint64_t used_ticks, uint64_t tick_ns, uint64_t span_ns)
{
	return span_ns < TICKS_MIN * tick_ns ? -1
					     : 100.0 * used_ticks * tick_ns / span_ns;
}

/* New ones have used nothing at all moments before. */
static struct cpu_proc *find(struct cpu *c, int pid, uint64_t start)
{
	uintptr_t i = map_get(&c->index, pid, start);

	if (i)
		return &c->proc[i - 1];
	if (c->n == c->cap) {
		size_t cap = 2 * c->cap + 64;
		struct cpu_proc *more = realloc(c->proc, cap * sizeof(*more));
		if (!more)
			return NULL;
		c->proc = more;
		c->cap = cap;
	}
	if (map_put(&c->index, pid, start, c->n + 1) < 0)
		return NULL;
	c->proc[c->n] =
		(struct cpu_proc){ .pid = pid, .start = start, .known_ns = c->now_ns };
	return &c->proc[c->n++];
}

void cpu_reached(struct cpu *c, uint64_t boot_ns)
{
	c->at_ns = boot_ns;
}

int cpu_sample(struct cpu *c, int pid, uint64_t start, uint64_t used,
	double percent[CPU_WINDOWS])
{
	struct cpu_proc *p = find(c, pid, start);
	uint64_t began = start * c->tick_ns;
	uint64_t age = c->at_ns > began ? c->at_ns - began : 0;

	if (!p)
		return -ENOMEM;
	p->pass = c->pass;
	for (int i = 0; i < CPU_WINDOWS; i++) {
		int s = c->since[i];
		if (age <= ring[i].window_ns || (s >= 0 && c->moment_ns[s] < began))
			percent[i] = percent_of(used, c->tick_ns, age);
		else if (s >= 0 && c->moment_ns[s] >= p->known_ns)
			percent[i] = percent_of((uint32_t)used - p->used[s], c->tick_ns,
				c->now_ns - c->moment_ns[s]);
		else
			percent[i] = -1;
	}
	for (int i = 0; i < CPU_WINDOWS; i++)
		if (c->open[i])
			p->used[ring[i].first + (c->newest[i] + 1) % ring[i].n] = used;
	return 0;
}

int cpu_end(struct cpu *c)
{
	int err = 0;

	for (int i = 0; i < CPU_WINDOWS; i++) {
		if (!c->open[i])
			continue;
		c->newest[i] = (c->newest[i] + 1) % ring[i].n;
		c->moment_ns[ring[i].first + c->newest[i]] = c->now_ns;
		c->open[i] = false;
	}
	for (size_t i = 0; i < c->n && !err;) {
		struct cpu_proc *p = &c->proc[i];
		if (p->pass == c->pass) {
			i++;
			continue;
		}
		map_del(&c->index, p->pid, p->start);
		*p = c->proc[--c->n];
		if (i < c->n)
			err = map_put(&c->index, p->pid, p->start, i + 1);
	}
	return err;
}

void cpu_fini(struct cpu *c)
{
	free(c->proc);
	map_fini(&c->index);
}
