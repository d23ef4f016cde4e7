/*
 * none.c - no fast path on this machine: every operation stops
 *
 * What one for aarch64 takes: a branch fits in the place of every svc, so every call site
 * can be patched and needs no breakpoint; but a call keeps all registers but x0, and
 * there is no register like gs to find a slot by.
 */
#include "../aio.h"
#include "../look.h"
#include "../uring.h"
#include "spawn.h"

#include <errno.h>
#include <stdio.h>

int fast_ask(char *why, size_t size)
{
	snprintf(why, size, "it is not written for this machine");
	return -ENOSYS;
}

int fast_try(char *why, size_t size)
{
	return fast_ask(why, size);
}

struct foresight *foresee_begin(void)
{
	return NULL;
}

bool fast_reads_code(void)
{
	return false;
}

void foresee_stop(struct foresight *s)
{
	(void)s;
}

void fast_prove(struct tracer *t, char *why, size_t size)
{
	(void)t;
	fast_ask(why, size);
}

void fast_foresee(struct tracer *t)
{
	(void)t;
}

void rings_bury(struct grave *g)
{
	(void)g;
}

int fast_open(struct tracer *t, unsigned after)
{
	(void)t;
	(void)after;
	return -ENOSYS;
}

void fast_close(struct tracer *t)
{
	(void)t;
}

struct syscall_set fast_concerned(bool second)
{
	(void)second;
	return (struct syscall_set){ { 0 } };
}

bool fast_may_dispatch(const struct syscall_set *want)
{
	(void)want;
	return false;
}

unsigned fast_addresses(uint32_t out[FAST_CALLS])
{
	(void)out;
	return 0;
}

void fast_new(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void fast_forget(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void fast_birth(struct tracer *t, struct task *child, struct task *parent, bool vfork)
{
	(void)t;
	(void)child;
	(void)parent;
	(void)vfork;
}

void fast_first_stop(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void fast_exec_begin(struct tracer *t, struct task *k, pid_t former)
{
	(void)t;
	(void)k;
	(void)former;
}

void fast_exec(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

int fast_stop(struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	(void)t;
	(void)k;
	(void)in;
	return 0;
}

bool fast_enter(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
	return false;
}

void fast_leave(struct tracer *t, struct task *k, int64_t ret)
{
	(void)t;
	(void)k;
	(void)ret;
}

void fast_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	const struct seed *s)
{
	(void)t;
	(void)k;
	(void)fd;
	(void)v;
	(void)s;
}

void fast_begun(struct tracer *t, struct task *k, unsigned side)
{
	(void)t;
	(void)k;
	(void)side;
}

bool fast_uncounted(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
	return false;
}

int fast_mend(struct tracer *t, struct task *k, int sig)
{
	(void)t;
	(void)k;
	(void)sig;
	return false;
}

int first_stopped(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
	return 0;
}

int rights_stop(struct tracer *t, struct task *k, uint64_t nr)
{
	(void)t;
	(void)k;
	(void)nr;
	return 0;
}

void exec_begins(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

bool exec_stop(struct tracer *t, struct task *k, int sig)
{
	(void)t;
	(void)k;
	(void)sig;
	return false;
}

void fast_met(struct tracer *t, struct task *k, int sig)
{
	(void)t;
	(void)k;
	(void)sig;
}

bool fast_ignores(const struct tracer *t, const struct task *k, int sig)
{
	(void)t;
	(void)k;
	(void)sig;
	return false;
}

unsigned drain_all(struct tracer *t)
{
	(void)t;
	return 0;
}

void drain_task(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void drain_dead(struct tracer *t, struct task *k, const struct counters *last)
{
	(void)t;
	(void)k;
	(void)last;
}

void drain_killed(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void mend_dead(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

bool dispatch_can(const struct task *k)
{
	(void)k;
	return false;
}

void dispatch_met(const struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void dispatch_aside(struct task *k)
{
	(void)k;
}

void dispatch_resume(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

int dispatch_trap(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
	return 0;
}

void dispatch_entered(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	(void)t;
	(void)k;
	(void)in;
}

int dispatch_again(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
	return 0;
}

bool dispatch_holds(const struct tracer *t, const struct task *k)
{
	(void)t;
	(void)k;
	return false;
}

bool dispatch_owes(const struct task *k)
{
	(void)k;
	return false;
}

bool dispatch_stands(const struct task *k)
{
	(void)k;
	return true;
}

void dispatch_leave(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void dispatch_restore(struct tracer *t, struct task *const *task, unsigned n)
{
	(void)t;
	(void)task;
	(void)n;
}

void fast_frees_enters(const struct tracer *t, const struct task *k, bool on)
{
	(void)t;
	(void)k;
	(void)on;
}

bool fast_stops_closes(const struct tracer *t, const struct task *k)
{
	return task_stops_always(k) ||
	       syscall_wanted(&t->want, (unsigned)syscall_by_name("close"));
}

struct fd_open *history_of(struct tracer *t, struct task *k, int fd)
{
	(void)t;
	(void)k;
	(void)fd;
	return NULL;
}

void history_closed(struct tracer *t, struct task *k, int fd, uint64_t when)
{
	(void)t;
	(void)k;
	(void)fd;
	(void)when;
}

uint64_t fast_tsc(void)
{
	return 0;
}

void uring_flight(struct tracer *t, struct uring *r, struct task *k)
{
	(void)t;
	(void)r;
	(void)k;
}

void uring_tell(const struct uring *r)
{
	(void)r;
}

void uring_unhook(struct uring *r)
{
	(void)r;
}

struct rings *rings_get(struct rings *r)
{
	return r;
}

void rings_put(struct rings *r)
{
	(void)r;
}

bool context_take(
	struct rings *r, uint64_t key, uint32_t place, uint32_t asked, uint16_t *turn)
{
	(void)r;
	(void)key;
	(void)place;
	(void)asked;
	(void)turn;
	return false;
}

void context_drop(struct rings *r, uint64_t key)
{
	(void)r;
	(void)key;
}

bool context_at(const struct rings *r, uint64_t key, struct context_state *s)
{
	(void)r;
	(void)key;
	(void)s;
	return false;
}

bool context_move(struct rings *r, uint64_t key, const struct context_state *was,
	uint32_t place, uint32_t seen)
{
	(void)r;
	(void)key;
	(void)was;
	(void)place;
	(void)seen;
	return false;
}

void context_asks(struct rings *r, uint64_t key, int32_t n)
{
	(void)r;
	(void)key;
	(void)n;
}

bool aio_told(struct tracer *t, struct task *k, const struct fast_rec *rec, bool begun)
{
	(void)t;
	(void)k;
	(void)rec;
	(void)begun;
	return false;
}

bool uring_told(struct tracer *t, struct task *k, const struct fast_rec *rec)
{
	(void)t;
	(void)k;
	(void)rec;
	return false;
}

uint64_t hold_vain(const struct tracer *t, struct task *k, uint32_t *read)
{
	(void)read;
	(void)t;
	(void)k;
	return 0;
}

void hold_waited(struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void hold_began(const struct tracer *t, struct task *k)
{
	(void)t;
	(void)k;
}

void flight_asked(struct tracer *t, struct task *k, struct request *q)
{
	(void)t;
	(void)k;
	(void)q;
}

void flight_begins(struct tracer *t, struct request *q)
{
	(void)t;
	(void)q;
}

void flight_ends(struct tracer *t, struct request *q)
{
	(void)t;
	(void)q;
}
