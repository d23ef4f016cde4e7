/*
 * closes.c - closing a descriptor is to stop before it is made
 */
#include "../tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Those that the hook has begun by now are in its ring. */
bool fast_stops_closes(const struct tracer *t, const struct task *k)
{
	const uint8_t stops = SHAPE_PASS;
	bool seen = k->dispatched || k->sealed;

	if (!t->fast)
		return task_stops_always(k) ||
		       syscall_wanted(&t->want, (unsigned)syscall_by_name("close"));
	int mem = seen && k->space && k->space->state == SPACE_READY ? mem_open(k->tid)
								     : -1;
	if (mem < 0)
		return false;
	bool set = !mem_write(mem, SHAPES_AT + SYS_close, &stops, sizeof(stops));
	close(mem);
	return set;
}
