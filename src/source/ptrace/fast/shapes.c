/*
 * shapes.c - calls that one program's hook is to treat otherwise than those of all others
 */
#include "../tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Calls: those bits of space.own are set. */
static const struct {
	uint8_t bit, shape;
	short nr;
} owns[] = {
	{ OWN_CLOSES, SHAPE_PASS, SYS_close },
	{ OWN_CLOSES, SHAPE_PASS, SYS_dup2 },
	{ OWN_CLOSES, SHAPE_PASS, SYS_dup3 },
	{ OWN_ENTERS, SHAPE_FREE, SYS_io_uring_enter },
	{ OWN_SPAWNS, SHAPE_PASS, SYS_clone },
	{ OWN_SPAWNS, SHAPE_PASS, SYS_fork },
	{ OWN_THREADS, SHAPE_CHILD, SYS_clone3 },
};
enum { NOWNS = sizeof(owns) / sizeof(*owns) };

uint8_t shape_of(const struct fast *f, const struct space *sp, uint64_t nr)
{
	for (unsigned i = 0; sp->own && i < NOWNS; i++)
		if (sp->own & owns[i].bit && (uint64_t)owns[i].nr == nr)
			return owns[i].shape;
	return nr < NSHAPES ? f->shape[nr] : SHAPE_PASS;
}

void shapes_own(const struct space *sp, uint8_t shape[NSHAPES])
{
	for (unsigned i = 0; i < NOWNS; i++)
		if (sp->own & owns[i].bit)
			shape[owns[i].nr] = owns[i].shape;
}

/* Also once it is set up. Whether it is so now. */
static bool set(const struct tracer *t, const struct task *k, uint8_t bit, bool on)
{
	struct space *sp = k->space;
	int mem = sp->state == SPACE_READY ? mem_open(k->tid) : -1;
	bool done = sp->state != SPACE_READY || mem >= 0;

	sp->own = on ? sp->own | bit : sp->own & ~bit;
	for (unsigned i = 0; mem >= 0 && i < NOWNS; i++) {
		uint8_t shape = shape_of(t->fast, sp, (uint64_t)owns[i].nr);
		if (owns[i].bit == bit)
			done = !mem_write(
				mem, SHAPES_AT + (uint64_t)owns[i].nr, &shape, 1);
	}
	if (mem >= 0)
		close(mem);
	return done;
}

/* Those that the hook has begun by now are in its ring. */
bool fast_stops_closes(const struct tracer *t, const struct task *k)
{
	bool stops = task_stops_always(k) || k->dispatched || k->sealed ||
		     syscall_wanted(&t->want, (unsigned)syscall_by_name("close"));

	return t->fast && k->space ? set(t, k, OWN_CLOSES, true) && stops : stops;
}

/* Whether what makes its children stops, because something is to be done before. */
void shapes_spawns(const struct tracer *t, const struct task *k, bool stop)
{
	if (!(k->space->own & OWN_SPAWNS) == stop)
		set(t, k, OWN_SPAWNS, stop);
}

/* What makes its threads need not stop any more. */
void shapes_threads(const struct tracer *t, const struct task *k)
{
	struct space *sp = k->space;

	if (!(sp->own & OWN_THREADS) && !set(t, k, OWN_THREADS, true))
		sp->own &= (uint8_t)~OWN_THREADS;
}

/* Below a filter they stop all the same. */
void fast_frees_enters(const struct tracer *t, const struct task *k, bool on)
{
	if (t->fast && k->space && !(k->space->own & OWN_ENTERS) == on)
		set(t, k, OWN_ENTERS, on);
}
