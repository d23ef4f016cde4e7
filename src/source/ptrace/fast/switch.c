/*
 * switch.c - syscall user dispatch of a task that stands still, on and off
 */
#include "../tracer.h"
#include "iops/launch.h"

#include <errno.h>
#include <unistd.h>

/* linux/ptrace.h: newer than the C library may be. */
static const enum __ptrace_request SET_DISPATCH = 0x4210, GET_DISPATCH = 0x4211;

struct dispatch_config {
	uint64_t mode, selector, offset, len;
};

/* All calls but those from the first two pages, as long as there is a tracer. */
int dispatch_on(const struct tracer *t, const struct task *k)
{
	struct dispatch_config on = {
		.mode = 1, .offset = HOOK_AT, .len = TABLES_AT - HOOK_AT
	};

	if (t->fast->guards)
		on.selector = GUARD_AT + (uint64_t)launch_guard_byte(getpid());
	return ptrace(SET_DISPATCH, k->tid, sizeof(on), &on) < 0 ? -errno : 0;
}

void dispatch_off(const struct task *k)
{
	struct dispatch_config off = { .mode = 0 };

	ptrace(SET_DISPATCH, k->tid, sizeof(off), &off);
}

/* 1: it is on; 0: it is not; -errno: the kernel does not tell. */
int dispatch_state(const struct task *k)
{
	struct dispatch_config now;

	if (ptrace(GET_DISPATCH, k->tid, sizeof(now), &now) < 0)
		return -errno;
	return now.mode != 0;
}
