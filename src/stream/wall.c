/*
 * wall.c - the time of day of a monotonic time
 */
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

/* Looking at two clocks is not done in no time: rows do not follow what may be noise. */
enum { NOISE_NS = 100000 };

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * (int64_t)SECOND + t.tv_nsec;
}

uint64_t wall_mono(void)
{
	return now(CLOCK_MONOTONIC);
}

/* Real time before monotonic time; of several looks the one that took least. */
static int64_t difference(void)
{
	int64_t best = INT64_MAX, ahead = 0;

	for (int i = 0; i < 3; i++) {
		int64_t a = now(CLOCK_MONOTONIC), real = now(CLOCK_REALTIME),
			b = now(CLOCK_MONOTONIC);
		if (b - a < best) {
			best = b - a;
			ahead = real - a - (b - a) / 2;
		}
	}
	return ahead;
}

void wall_init(struct wall *w, uint64_t real_ns, uint64_t mono_ns)
{
	*w = (struct wall){
		.ahead = (int64_t)(real_ns - mono_ns), .first = difference(), .second = -1
	};
}

void wall_look(struct wall *w)
{
	int64_t moved = difference() - w->first, more = moved - w->moved;

	if (llabs(more) < NOISE_NS)
		return;
	w->ahead += more;
	w->moved = moved;
}

uint64_t wall_real(const struct wall *w, uint64_t mono_ns)
{
	return mono_ns + (uint64_t)w->ahead;
}

const char *wall_text(struct wall *w, uint64_t real_ns)
{
	time_t second = real_ns / SECOND;
	struct tm tm;

	if (second != w->second && localtime_r(&second, &tm)) {
		strftime(w->text, sizeof(w->text), "%Y-%m-%d %H:%M:%S", &tm);
		w->second = second;
	}
	return w->text;
}

void wall_name(uint64_t real_ns, char name[WALL_NAME])
{
	time_t second = real_ns / SECOND;
	struct tm tm;
	char text[40] = "";

	if (localtime_r(&second, &tm))
		strftime(text, sizeof(text), "%Y%m%d_%H%M%S", &tm);
	snprintf(name, WALL_NAME, "%.15s_%03u", text,
		(unsigned)(real_ns % SECOND / 1000000));
}
