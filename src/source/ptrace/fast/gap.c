/*
 * gap.c - where in the memory of the target there is room for what is ours
 */
#include "../tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STUB_REACH = 0x70000000 };

/*
 * How far from what lies below: that may be to grow. Where there is a lot of room it may
 * be the program with its heap, brk(2), which grows to any size.
 */
static uint64_t distance(uint64_t room)
{
	const uint64_t gib = UINT64_C(1) << 30;

	return room > 4 * gib ? gib : 0x20000;
}

uint64_t gap_near(struct maps *maps, pid_t tid, uint64_t near)
{
	uint64_t end = 0x10000, best = 0, best_far = STUB_REACH;
	struct mapping m;
	size_t next = 0;

	if (maps_of(maps, tid) < 0)
		return 0;
	for (; maps_next(maps, &next, &m); end = m.to) {
		if (m.from < end + 0x40000)
			continue;
		uint64_t lo = end + distance(m.from - end), hi = m.from - 0x20000;
		uint64_t at = near < lo ? lo : near > hi ? hi : near;
		at &= ~UINT64_C(0xfff);
		uint64_t far = at > near ? at - near : near - at;
		if (far < best_far && (at < WINDOW_AT || at >= WINDOW_END)) {
			best = at;
			best_far = far;
		}
	}
	return best;
}

/*
 * The one below the file that a mapping is of, and what lies close below that, as the
 * vdso does below the loader: not all are to be read for it, which takes longer. 0: there
 * is none.
 */
static uint64_t gap_below(struct maps *maps, pid_t tid, uint64_t near)
{
	enum { ROOM = 0x60000, FAR = 0x20000, LOWEST = 0x10000, TRIES = 3 };
	struct mapping m;

	if (maps_at(maps, tid, near, &m) < 0 || m.offset > m.from)
		return 0;
	uint64_t from = m.from - m.offset;
	for (int i = 0; i < TRIES && from > ROOM + LOWEST; i++, from = m.from) {
		if (maps_from(maps, tid, from - ROOM, &m) < 0 || m.from < from - ROOM)
			return 0;
		uint64_t at = from - FAR;
		if (m.from == from)
			return at < WINDOW_AT || at >= WINDOW_END ? at : 0;
	}
	return 0;
}

/*
 * Hardly any of what the slots reserve is used, but all of it counts where the size of
 * address spaces is limited.
 */
bool gap_may_reserve(pid_t tid)
{
	const uint64_t plenty = 4 * (WINDOW_END - WINDOW_AT);
	unsigned long long pages = 0;
	char path[32], line[128], limit[24] = "";

	struct rlimit most;

	/* It asks for privileges where the ids of users differ. */
	if (!prlimit(tid, RLIMIT_AS, NULL, &most) && most.rlim_cur == RLIM_INFINITY)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/limits", tid);
	FILE *f = fopen(path, "re");
	while (f && !*limit && fgets(line, sizeof(line), f))
		sscanf(line, "Max address space %23s", limit);
	if (f)
		fclose(f);
	if (!strcmp(limit, "unlimited"))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/statm", tid);
	f = fopen(path, "re");
	bool known = f && fscanf(f, "%llu", &pages) == 1;
	if (f)
		fclose(f);
	return known && strtoull(limit, NULL, 10) > pages * 4096 + plenty;
}

uint64_t gap_first(struct tracer *t, const struct task *k, uint64_t near)
{
	struct maps *maps = &t->fast->texts.maps;
	uint64_t at = 0;

	if (gap_may_reserve(k->tid)) {
		at = gap_below(maps, k->tid, near);
		at = at ? at : gap_near(maps, k->tid, near);
	}
	return at;
}
