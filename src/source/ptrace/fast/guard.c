/*
 * guard.c - a byte that the kernel clears when the tracer dies
 *
 * The kernel looks at a byte of the target's before it dispatches a call (prctl(2),
 * PR_SET_SYSCALL_USER_DISPATCH): at 0 it does not. Of a dead owner's robust futexes
 * (get_robust_list(2)) it clears the thread id, before it lets the owner's tracees go. So
 * the byte is one of an id that holds a 1. What the list is made of lies in memory of our
 * own: the target can write to the futex only.
 */
#include "../look.h"
#include "iops/launch.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* In a page before the one that is shared: the distance to the futex is the same for all.
 */
struct guard {
	struct robust_list list;
	struct guard *next;
};

struct guards {
	struct robust_list_head head;
	struct guard *first;
};

static void relink(struct guards *all)
{
	struct robust_list *last = &all->head.list;

	for (struct guard *g = all->first; g; g = g->next) {
		last->next = &g->list;
		last = &g->list;
	}
	last->next = &all->head.list;
}

struct guards *guards_new(void)
{
	struct guards *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->head.futex_offset = PAGE + GUARD_OFFSET;
	relink(all);
	if (launch_guard_byte(getpid()) < 0 ||
		syscall(SYS_set_robust_list, &all->head, sizeof(all->head)) < 0) {
		free(all);
		return NULL;
	}
	return all;
}

/* The list stays registered: empty. */
void guards_free(struct guards *all)
{
	if (all && !syscall(SYS_set_robust_list, NULL, sizeof(all->head)))
		free(all);
}

static uint32_t *word_of(struct guard *g)
{
	return (uint32_t *)((uint8_t *)g + PAGE + GUARD_OFFSET);
}

/* For the file of slots: from now on its calls are dispatched. NULL: no memory. */
struct guard *guard_new(struct guards *all, int fd)
{
	uint8_t *at = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mmap(at + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		    0) == MAP_FAILED) {
		munmap(at, (size_t)2 * PAGE);
		return NULL;
	}
	struct guard *g = (struct guard *)at;
	*word_of(g) = (uint32_t)getpid();
	g->next = all->first;
	all->first = g;
	relink(all);
	return g;
}

/* From now on they are not. */
void guard_free(struct guards *all, struct guard *g)
{
	struct guard **at = &all->first;

	while (*at && *at != g)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = g->next;
	relink(all);
	*word_of(g) = 0;
	munmap(g, (size_t)2 * PAGE);
}

/*
 * Who stops at a signal that we have taken note of, and goes on as we die, does so
 * without it: as if a call that has not been made were over. Before the call it makes
 * that.
 */
void dispatch_met(const struct tracer *t, struct task *k)
{
	const size_t rip = offsetof(struct user_regs_struct, rip);
	siginfo_t info;

	if (!t->fast || !t->fast->guards || !k->dispatched || k->met ||
		ptrace(PTRACE_GETSIGINFO, k->tid, 0, &info) < 0 ||
		info.si_code != BY_DISPATCH)
		return;
	k->met = !ptrace(
		PTRACE_POKEUSER, k->tid, rip, (uint64_t)(uintptr_t)info.si_call_addr - 2);
}
