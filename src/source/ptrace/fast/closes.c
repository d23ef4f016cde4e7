/*
 * closes.c - closing a descriptor is to stop before it is made
 */
#include "../tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

static bool write_shape(const struct task *k)
{
	const uint8_t stops = SHAPE_PASS;
	int mem = mem_open(k->tid);
	bool set =
		mem >= 0 && !mem_write(mem, SHAPES_AT + SYS_close, &stops, sizeof(stops));

	if (mem >= 0)
		close(mem);
	return set;
}

/* Those that the hook has begun by now are in its ring. */
bool fast_stops_closes(const struct tracer *t, const struct task *k)
{
	bool stops = task_stops_always(k) || k->dispatched || k->sealed ||
		     syscall_wanted(&t->want, (unsigned)syscall_by_name("close"));

	if (!t->fast || !k->space)
		return stops;
	k->space->closes_stop = true; /* also once it is set up */
	return (k->space->state != SPACE_READY || write_shape(k)) && stops;
}
