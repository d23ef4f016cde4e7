/*
 * mend.h - places in the hook, and what it keeps of the flags; shared by mend.c,
 * aio_hook.c
 */
#ifndef IOPS_FAST_MEND_H
#define IOPS_FAST_MEND_H

#include "layout.h"

#include <stdbool.h>
#include <sys/user.h>

#define AT(label) (HOOK_AT + (uint64_t)((label)-hook_code))

static inline bool between(uint64_t ip, const uint8_t *from, const uint8_t *to)
{
	return ip >= AT(from) && ip < AT(to);
}

/* By lahf and seto. */
static inline void mend_flags(struct user_regs_struct *r, const struct fast_ctl *c)
{
	const uint64_t all = 0x8d5; /* OF SF ZF AF PF CF */
	uint64_t flags = (c->flags >> 8 & 0xd5) | (c->flags & 1 ? 0x800 : 0);

	r->eflags = (r->eflags & ~all) | flags;
}

#endif
