/*
 * setup.c - what the hook needs in the memory of the target
 *
 * Made by calls in its name (stand.c). The code in the hook's second page makes several
 * of them in a row and ends where it stops; nothing of the target's is written to.
 */
#include "../tracer.h"

#include <errno.h>
#include <stddef.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

/*
 * A breakpoint where its signal is ignored would set that back to its default, and where
 * one waits it would not be told from that.
 */
static bool may_trap(const struct tracer *t, const struct task *k)
{
	struct signal_state trap;

	return !ends_in_trap(t, k) || k->space->calm ||
	       (!tracee_signal(k->tid, SIGTRAP, &trap) && !trap.ignored && !trap.pending);
}

/*
 * Run a part of the second page to the stop at its end, whatever else of it may stop.
 * r: registers then.
 */
static int run(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const uint8_t *from, const uint8_t *to)
{
	const uint64_t but_trap = ~signal_bit(SIGTRAP);
	bool calls = !t->launch || !may_trap(t, k);
	int request = calls ? PTRACE_SYSCALL : PTRACE_CONT;
	int event = calls ? 0 : PTRACE_EVENT_SECCOMP;

	if (!calls && ends_in_trap(t, k) &&
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(but_trap), &but_trap) < 0)
		return -errno;
	r->rip = setup_at(from);
	r->orig_rax = -1;
	r->rax = 0;
	int err = stand_go(t, k, r, request, event);
	while (!err) {
		if (ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
			return -errno;
		if (r->rip == setup_at(to) || r->rip == setup_at(to) + 1)
			return 0;
		if (ptrace(request, k->tid, 0, 0) < 0)
			return -errno;
		err = stand_wait(t, k, event, request);
	}
	return err;
}

static int make_filter(
	struct tracer *t, enum filter_part part, struct filter_code *out, unsigned most)
{
	struct sock_filter code[BPF_MAXINSNS];
	unsigned n = filter_build(&t->want, part, code);

	if (n > most)
		return -E2BIG;
	out->code = malloc(n * sizeof(*code));
	if (!out->code)
		return -ENOMEM;
	memcpy(out->code, code, n * sizeof(*code));
	out->n = (uint16_t)n;
	return 0;
}

/* FILTER_FIRST, FILTER_SECOND, made when one is needed. NULL: it cannot be. */
const struct filter_code *setup_program(struct tracer *t, enum filter_part part)
{
	bool first = part == FILTER_FIRST;
	struct filter_code *f = first ? &t->fast->first : &t->fast->seal;
	int err = f->code ? 0 : make_filter(t, part, f, first ? FILTER_MAX : SEAL_MAX);

	return err < 0 ? NULL : f;
}

/* A filter's program; n: its length as it is to be told for now. */
static int write_filter(int mem, uint64_t at, const struct filter_code *f, uint16_t n)
{
	struct {
		uint16_t n;
		uint64_t code;
		struct sock_filter filter[FILTER_MAX];
	} to = { .n = n, .code = at + offsetof(typeof(to), filter) };

	if (n)
		memcpy(to.filter, f->code, n * sizeof(*f->code));
	return mem_write(
		mem, at, &to, offsetof(typeof(to), filter) + n * sizeof(*f->code));
}

/* The second filter is for now where there is the first one. */
static int write_seal(struct tracer *t, const struct task *k, int mem)
{
	const struct filter_code *f =
		k->filtered && !k->sealed ? setup_program(t, FILTER_SECOND) : NULL;

	if (!f)
		return k->filtered && !k->sealed ? -ENOMEM : 0;
	return write_filter(mem, SEAL_AT, f, f->n);
}

/* What the hook's own pages hold. */
int setup_fill(struct tracer *t, struct task *k)
{
	uint8_t page[SEAL_AT - HOOK_AT];
	int mem = stand_mem(t->fast, k->tid);

	if (mem < 0)
		return mem;
	memset(page, 0xcc, sizeof(page));
	memcpy(page, hook_code, hook_end - hook_code);
	memcpy(page + (SETUP_AT - HOOK_AT), setup_code, setup_end - setup_code);
	memset(page + (TABLES_AT - HOOK_AT), 0, SEAL_AT - TABLES_AT);
	memcpy(page + (SHAPES_AT - HOOK_AT), t->fast->shape, NSHAPES);
	shapes_own(k->space, page + (SHAPES_AT - HOOK_AT));
	memcpy(page + (NAME_AT - HOOK_AT), "iops", 5);
	fast_entries(page + (ENTRIES_AT - HOOK_AT));
	const uint64_t action[3] = { setup_at(setup_orphan),
		SA_SIGINFO | SA_ONSTACK | 0x04000000 /* SA_RESTORER */,
		setup_at(setup_orphan) };
	memcpy(page + (ACTION_AT - HOOK_AT), action, sizeof(action));
	int err = mem_write(mem, HOOK_AT, page, sizeof(page));
	if (!err && t->launch)
		err = write_seal(t, k, mem);
	return err;
}

/* Calls of some shapes are to stop from now on. */
static void pass(struct tracer *t, struct task *k, bool (*is)(uint8_t shape))
{
	int mem = k->space->state == SPACE_READY ? mem_open(k->tid) : -1;
	const uint8_t stops = SHAPE_PASS;

	for (int nr = 0; mem >= 0 && nr < NSHAPES; nr++)
		if (is(t->fast->shape[nr]))
			mem_write(mem, SHAPES_AT + (uint64_t)nr, &stops, 1);
	if (mem >= 0)
		close(mem);
}

/* What has been opened cannot be asked from inside any more. */
void setup_close(struct tracer *t, struct task *k)
{
	pass(t, k, shape_asks);
}

static bool is_exec(uint8_t shape)
{
	return shape == SHAPE_EXEC;
}

/* An exec may fail for another reason than its path: setuid(2), EAGAIN. */
void setup_exec_stops(struct tracer *t, struct task *k)
{
	pass(t, k, is_exec);
}

/* The hook's own pages, in place of the call that was to be made. */
static int map_hook(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r = s->entry;

	r.orig_rax = r.rax = SYS_mmap; /* which of them counts depends on the stop */
	r.rdi = WINDOW_AT;
	r.rsi = SLOTS_AT - WINDOW_AT;
	r.rdx = PROT_READ | PROT_EXEC;
	r.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	r.r8 = (uint64_t)-1;
	r.r9 = 0;
	int err = k->filtered ? stand_go(t, k, &r, PTRACE_SYSCALL, 0)
			      : stand_call(t, k, s, &r);
	if (err < 0)
		return err;
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return -errno;
	k->space->hooked = r.rax == WINDOW_AT;
	return k->space->hooked ? setup_fill(t, k) : -ENOMEM;
}

static struct rings *take_file(struct tracer *t, struct task *k, int fd, size_t size)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", k->tid, fd);
	int mine = open(path, O_RDWR | O_CLOEXEC);
	if (mine < 0)
		return NULL;
	struct rings *r = rings_new(&t->fast->dead, mine, size);
	if (r && t->fast->guards) {
		r->guards = t->fast->guards;
		r->guard = guard_new(r->guards, mine);
		if (!r->guard) {
			rings_put(r);
			r = NULL;
		}
	}
	close(mine);
	return r;
}

static int add_stubs(struct space *s, uint64_t at)
{
	struct stubs *more = realloc(s->stubs, (s->nstubs + STUB_PAGES) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->stubs = more;
	for (unsigned i = 0; i < STUB_PAGES; i++, at += 4096)
		s->stubs[s->nstubs++] = (struct stubs){ .at = at };
	return 0;
}

/* The descriptor in r12, at a breakpoint. 0 or -errno. */
int setup_drop(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	return run(t, k, r, setup_shut, setup_shut_trap);
}

/* The same. Where a call has told us of the end, in its place. */
static int shut(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (r->rip == setup_at(setup_trap) + 1)
		return setup_drop(t, k, r);
	r->orig_rax = r->rax = SYS_close;
	r->rdi = r->r12;
	return stand_go(t, k, r, PTRACE_SYSCALL, 0);
}

static bool is_early(const struct space *sp)
{
	return sp->refs == 1 || sp->registered;
}

/*
 * What setup_code is to map: the slots, and stubs in a gap. With the hook they fill the
 * window, so that a gs of the program's own is never taken for ours.
 */
void setup_ask(const struct task *k, struct user_regs_struct *r, uint64_t gap)
{
	r->r13 = WINDOW_END - SLOTS_AT;
	r->r14 = gap;
	r->r15 = (uint64_t)STUB_PAGES * 4096;
	r->rbp = is_early(k->space) ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE
				    : MEMBARRIER_CMD_QUERY;
}

/* What has come of it, while its descriptor is there yet. 0, or -ENOMEM. */
int setup_took(
	struct tracer *t, struct task *k, const struct user_regs_struct *r, uint64_t gap)
{
	struct space *sp = k->space;
	const uint64_t size = WINDOW_END - SLOTS_AT;
	const bool early = is_early(sp);

	if (k->filtered && (k->sealed || !r->r13))
		k->sealed = k->seen = true;
	k->seen |= t->launch && !k->filtered;
	sp->mapped = r->rbx == SLOTS_AT ? size : 0;
	bool stubs = r->r15 == gap && add_stubs(sp, gap) == 0;
	if (sp->mapped && stubs && task_is_seen(t, k))
		sp->rings = take_file(t, k, (int)r->r12, size);
	sp->registered |= early && !r->rbp;
	sp->barrier = early ? !r->rbp
			    : (int64_t)r->rbp > 0 &&
				      r->rbp & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
	return sp->rings ? 0 : -ENOMEM;
}

/* All is in place. start: of a new program; 0: of none. 0, or -errno. */
int setup_ready(struct tracer *t, struct task *k, uint64_t start)
{
	const uint64_t ready[] = { READY, start };
	int mem = stand_mem(t->fast, k->tid);

	return mem < 0 ? mem : mem_write(mem, READY_AT, ready, sizeof(ready));
}

static int map_slots(struct tracer *t, struct task *k, struct stand *s, uint64_t gap)
{
	struct user_regs_struct r = s->entry;

	setup_ask(k, &r, gap);
	int err = run(t, k, &r, setup_code, setup_trap);
	if (err < 0)
		return err;
	int took = setup_took(t, k, &r, gap);
	err = shut(t, k, &r);
	return err < 0 ? err : took < 0 ? took : setup_ready(t, k, 0);
}

bool space_may_begin(const struct tracer *t, const struct task *k)
{
	return k->space->state == SPACE_COLD && !k->space->locked &&
	       (task_is_seen(t, k) || k->space->refs == 1);
}

/*
 * All that an address space needs. 0, or why not; -ESRCH: the task is gone from its
 * stop. After this the task stands at the end of a call, or where it stood.
 */
int setup_space(struct tracer *t, struct task *k, struct stand *s, uint64_t near)
{
	struct space *sp = k->space;

	if (sp->state == SPACE_READY)
		return 0;
	if (sp->state == SPACE_REFUSED || sp->locked)
		return -EPERM;
	sp->state = SPACE_REFUSED;
	if (!task_is_seen(t, k)) /* but for what calls in flight have left, it is empty */
		history_begin(t, k, NULL, false);
	uint64_t gap = gap_first(t, k, near);
	if (!gap)
		return -ENOMEM;
	int err = map_hook(t, k, s);
	if (!err)
		err = map_slots(t, k, s, gap);
	if (!err) {
		sp->state = SPACE_READY;
		history_take_stock(t, k);
		path_moved(k);
		path_start(t, k, AT_FDCWD);
	}
	return err;
}

/* Another page of stubs. */
int setup_stubs(struct tracer *t, struct task *k, struct stand *s, uint64_t near)
{
	struct user_regs_struct r = s->entry;

	r.r14 = gap_near(&t->fast->texts.maps, k->tid, near);
	r.r15 = (uint64_t)STUB_PAGES * 4096;
	if (!r.r14 || k->space->locked)
		return -ENOMEM;
	int err = run(t, k, &r, setup_map, setup_map_trap);
	if (err < 0)
		return err;
	return r.rbx == r.r14 ? add_stubs(k->space, r.r14) : -ENOMEM;
}

/* Slots that nobody has used are given back, but for a few: nobody will get one. */
int setup_trim(struct tracer *t, struct task *k, struct stand *s, unsigned few)
{
	struct user_regs_struct r = s->entry;
	struct rings *of = k->space->rings;
	unsigned kept = of ? of->used + few : 0;

	const size_t left = (size_t)kept * SLOT_SIZE;
	if (!of || left >= k->space->mapped)
		return 0;
	r.r14 = SLOTS_AT + left;
	r.r15 = k->space->mapped - left;
	of->nslots = kept < of->nslots ? kept : of->nslots;
	k->space->mapped = left;
	int err = run(t, k, &r, setup_unmap, setup_unmap_trap);
	return err < 0 ? err : (int)r.rbx;
}

/*
 * A ring of io_uring as a mapping of our own, that children do not get. size: of its
 * three parts; of the second 0, if it is in the first one. 0, or -errno.
 */
int setup_ring(struct tracer *t, struct task *k, struct stand *s, int fd,
	const uint64_t size[3], uint64_t at[3])
{
	struct user_regs_struct r = s->entry;

	r.r12 = (uint64_t)fd;
	r.r13 = size[0];
	r.r14 = size[1];
	r.r15 = size[2];
	int err = run(t, k, &r, setup_ring_code, setup_ring_trap);
	if (err < 0)
		return err;
	at[0] = r.rbx;
	at[1] = size[1] ? r.rbp : 0;
	at[2] = r.r12;
	for (int i = 0; i < 3; i++) {
		if (at[i] < (uint64_t)-4095)
			continue;
		err = (int)at[i];
		at[i] = 0;
	}
	return err;
}

/* It goes. 0, or -errno. */
int setup_unmap_ring(struct tracer *t, struct task *k, struct stand *s,
	const uint64_t size[3], const uint64_t at[3])
{
	int err = 0;

	for (int i = 0; i < 3 && !err; i++) {
		struct user_regs_struct r = s->entry;
		r.r14 = at[i];
		r.r15 = size[i];
		if (at[i])
			err = run(t, k, &r, setup_unmap, setup_unmap_trap);
	}
	return err;
}

static int barrier(struct tracer *t, struct task *k, struct stand *s, int command)
{
	struct user_regs_struct r = s->entry;

	r.r13 = command;
	int err = run(t, k, &r, setup_barrier, setup_barrier_trap);
	return err < 0 ? err : (int)r.rbx;
}

/*
 * To register takes no time while there is one task, but milliseconds once there are more
 * of them: the kernel waits until every CPU has been elsewhere. In place of a call.
 */
int setup_register(struct tracer *t, struct task *k, const struct stand *s)
{
	struct user_regs_struct r = s->entry;

	r.orig_rax = r.rax = SYS_membarrier;
	r.rdi = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
	r.rsi = r.rdx = 0;
	return stand_go(t, k, &r, PTRACE_SYSCALL, 0);
}

/* All CPUs that run this address space see what was written. A copy has to register. */
int setup_barrier_now(struct tracer *t, struct task *k, struct stand *s)
{
	int err = barrier(t, k, s, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);

	if (err != -EPERM)
		return err;
	err = barrier(t, k, s, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
	return err ? err : barrier(t, k, s, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

/* Whether the second page is what it was: the target may have changed its memory. */
static bool is_there(struct tracer *t, const struct task *k)
{
	uint8_t code[256];
	const size_t len = setup_end - setup_code < (ptrdiff_t)sizeof(code)
				   ? (size_t)(setup_end - setup_code)
				   : sizeof(code);
	struct mapping m;

	return !maps_at(&t->fast->texts.maps, k->tid, SETUP_AT, &m) && m.mode[0] == 'r' &&
	       m.mode[2] == 'x' &&
	       tracee_read(k->tid, SETUP_AT, code, len) == (ssize_t)len &&
	       !memcmp(code, setup_code, len);
}

struct under {
	const struct task *whose;
	bool all;
};

static void be_under(struct tracer *t, struct task *k, void *arg)
{
	const struct under *u = arg;

	(void)t;
	if (k->process != u->whose->process)
		return;
	k->process->judged = fast_tsc();
	k->filtered = true;
	k->sealed |= u->all;
}

/*
 * The first filter, where a process is not under it, for all its threads and what comes
 * of them; all: the second one too. 0, or why not.
 */
int setup_filters(struct tracer *t, struct task *k, struct stand *s, bool all)
{
	const struct filter_code *first = setup_program(t, FILTER_FIRST),
				 *second = setup_program(t, FILTER_SECOND);
	struct user_regs_struct r = s->entry;
	int mem = !first || !second ? -ENOMEM
		  : is_there(t, k)  ? mem_open(k->tid)
				    : -EFAULT;

	if (mem < 0)
		return mem;
	r.rbp = !geteuid(); /* as set-id programs have their rights then */
	r.r12 = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	if (k->process->ntasks > 1)
		r.r12 |= SECCOMP_FILTER_FLAG_TSYNC;
	int err = write_filter(mem, FILTER_AT, first, k->filtered ? 0 : first->n);
	if (!err)
		err = write_filter(
			mem, SEAL_AT, second, all && !k->sealed ? second->n : 0);
	close(mem);
	if (!err)
		err = run(t, k, &r, setup_filter, setup_filter_trap);
	if (!err && (r.r13 || r.r14))
		err = -EPERM;
	struct under u = { k, all };
	if (!err)
		tasks_each(t, be_under, &u);
	return err;
}
