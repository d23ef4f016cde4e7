/*
 * setup.c - calls made in the name of the target
 *
 * From the stop before a call that is then made all the same. Signals wait meanwhile. The
 * code in the hook's second page makes several calls in a row and ends with a close that
 * stops; nothing of the target's is written to.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IN_SETUP(label) (SETUP_AT + (uint64_t)((label)-setup_code))

enum { STUB_REACH = 0x70000000 };

int mem_open(pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mem_write(int mem, uint64_t at, const void *from, size_t len)
{
	ssize_t n = pwrite(mem, from, len, (off_t)at);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

enum { STOPPED = 1, ENDED };

/*
 * Sleep until there is news of a task. Not in wait(2) itself: the first thread of a
 * process that is killed may be dead without a word while others, which we serve next,
 * are not. That is -ESRCH.
 */
static int look(const struct task *k)
{
	enum { BUSY = 200, NAP_NS = 50 * 1000, PATIENCE = 20 };
	const struct timespec nap = { 0, NAP_NS };

	for (unsigned i = 0;; i++) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, k->tid, &info,
			    WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) < 0 &&
			errno != EINTR)
			return -ESRCH;
		if (info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED
				       ? STOPPED
				       : ENDED;
		if (i < BUSY)
			continue;
		nanosleep(&nap, NULL);
		char state = i % PATIENCE ? 'R' : tracee_state(k->tid);
		if (!state || state == 'Z' || state == 'X')
			return -ESRCH;
	}
}

/*
 * Until the task stops as expected: 0. -ESRCH: it has died, or stands elsewhere, which
 * is in the queue then.
 */
static int wait_for(struct tracer *t, struct task *k, int event, int request)
{
	int status;

	for (;;) {
		int news = look(k);
		if (news < 0)
			return news;
		/* Once it is reaped its counters are gone. */
		if (news == ENDED && !k->exiting) {
			drain_task(t, k);
			task_exiting(t, k);
		}
		if (waitpid(k->tid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (WIFSTOPPED(status)) {
			int sig = WSTOPSIG(status), got = status >> 16;
			if (got == event && (event || sig == (SIGTRAP | 0x80)))
				return 0;
			if (event == PTRACE_EVENT_SECCOMP && !got && sig == SIGTRAP)
				return 0; /* a breakpoint, where there is no filter */
			if (got == PTRACE_EVENT_SECCOMP) {
				/* Of a filter that we have just put there. */
				ptrace(request, k->tid, 0, 0);
				continue;
			}
			if (got == PTRACE_EVENT_STOP || (!got && sig == SIGSTOP)) {
				k->restop |= sig != SIGTRAP;
				ptrace(request, k->tid, 0, 0);
				continue;
			}
		}
		queue_add(t, k, status);
		return -ESRCH;
	}
}

static int go(struct tracer *t, struct task *k, const struct user_regs_struct *r,
	int request, int event)
{
	maps_forget(&t->fast->maps);
	if (ptrace(PTRACE_SETREGS, k->tid, 0, r) < 0 || ptrace(request, k->tid, 0, 0) < 0)
		return -errno;
	return wait_for(t, k, event, request);
}

/* Where no filter tells us, a breakpoint does; of a task attached to, each call. */
static bool ends_in_trap(const struct tracer *t, const struct task *k)
{
	return t->launch && !k->filtered;
}

/* At the stop before a call: remember all, and let no signal in. */
int stand_begin(struct tracer *t, struct task *k, struct stand *s)
{
	uint64_t none = ~UINT64_C(0);

	if (ends_in_trap(t, k))
		none &= ~(UINT64_C(1) << (SIGTRAP - 1));
	maps_forget(&t->fast->maps); /* it has run since */
	stand_forget(t->fast);
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_GETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(none), &none) < 0)
		return -errno;
	s->entry = s->regs;
	return 0;
}

/* The memory of a task, from one stand_begin() to the next. Or -errno. */
int stand_mem(struct fast *f, pid_t tid)
{
	if (f->mem.of == tid)
		return f->mem.fd;
	stand_forget(f);
	int fd = mem_open(tid);
	if (fd >= 0) {
		f->mem.fd = fd;
		f->mem.of = tid;
	}
	return fd;
}

void stand_forget(struct fast *f)
{
	if (f->mem.of)
		close(f->mem.fd);
	f->mem.of = 0;
}

/* As it stood, at the same stop. */
int stand_same(struct task *k, struct stand *s)
{
	if (ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		return -errno;
	return 0;
}

/* Go on at ip as if the call had not been begun; regs may have been changed. */
int stand_end(struct task *k, struct stand *s, uint64_t ip)
{
	s->regs.rip = ip;
	s->regs.rax = s->regs.orig_rax;
	s->regs.orig_rax = -1;
	if (ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0 ||
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		return -errno;
	if (k->restop)
		syscall(SYS_tgkill, k->process->pid, k->tid, SIGSTOP);
	k->restop = false;
	return 0;
}

/* A place in the vdso where a call can be made: every process has one. 0: none. */
static uint64_t find_call(struct maps *maps, pid_t tid)
{
	static const char name[] = "[vdso]";
	uint8_t code[16384];
	struct mapping m;
	size_t next = 0;

	if (maps_of(maps, tid) < 0)
		return 0;
	while (maps_next(maps, &next, &m)) {
		if (m.path_len != sizeof(name) - 1 || memcmp(m.path, name, m.path_len))
			continue;
		size_t len = m.to - m.from < sizeof(code) ? m.to - m.from : sizeof(code);
		if (tracee_read(tid, m.from, code, len) != (ssize_t)len)
			return 0;
		const uint8_t *at = memmem(code, len, "\x0f\x05", 2);
		return at ? m.from + (uint64_t)(at - code) : 0;
	}
	return 0;
}

/* The same at a stop that is not that of a call. */
int stand_anywhere(struct tracer *t, struct task *k, struct stand *s)
{
	int err = stand_begin(t, k, s);

	if (!err)
		s->call_at = find_call(&t->fast->maps, k->tid);
	if (!err && !s->call_at)
		err = -ENOEXEC;
	if (err == -ENOEXEC)
		ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask);
	return err;
}

/* One call, its number and arguments in r, and its result afterwards. */
int stand_call(struct tracer *t, struct task *k, const struct stand *s,
	struct user_regs_struct *r)
{
	r->rip = s->call_at;
	r->orig_rax = -1;
	int err = go(t, k, r, PTRACE_SYSCALL, 0);
	if (!err && ptrace(PTRACE_SYSCALL, k->tid, 0, 0) < 0)
		err = -errno;
	if (!err)
		err = wait_for(t, k, 0, PTRACE_SYSCALL);
	if (!err && ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
		err = -errno;
	return err;
}

/* What the kernel makes of a call that it restarts: linux/errno.h, 512 to 516. */
static struct user_regs_struct restarted(const struct user_regs_struct *from)
{
	struct user_regs_struct r = *from;
	int64_t err = -(int64_t)r.rax;

	if ((int64_t)r.orig_rax < 0 || err < 512 || err > 516 || err == 515)
		return r;
	r.rip -= 2;
	r.rax = err == 516 ? SYS_restart_syscall : r.orig_rax;
	r.orig_rax = -1;
	return r;
}

/*
 * Behind a call, back to a stop like that where it stood: there the kernel decides about
 * the restart of what the program itself was in. Should we die meanwhile it is restarted.
 */
int stand_back(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r = restarted(&s->regs);

	ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
	int err = go(t, k, &r, PTRACE_CONT, PTRACE_EVENT_STOP);
	if (!err && ptrace(PTRACE_SETREGS, k->tid, 0, &s->regs) < 0)
		err = -errno;
	if (!err && ptrace(PTRACE_SETSIGMASK, k->tid, sizeof(s->mask), &s->mask) < 0)
		err = -errno;
	if (!err && k->restop)
		syscall(SYS_tgkill, k->process->pid, k->tid, SIGSTOP);
	k->restop = false;
	return err;
}

/* A breakpoint where its signal is ignored would set that back to its default. */
static bool may_trap(const struct tracer *t, const struct task *k)
{
	struct signal_state trap;

	return !ends_in_trap(t, k) ||
	       (!tracee_signal(k->tid, SIGTRAP, &trap) && !trap.ignored);
}

/* Where a program begins: no call is to be restarted there. */
void stand_begun(struct task *k, struct stand *s)
{
	s->regs.orig_rax = s->regs.rax;
	stand_end(k, s, s->regs.rip);
}

/*
 * Run a part of the second page to the stop at its end, whatever else of it may stop.
 * r: registers then.
 */
static int run(struct tracer *t, struct task *k, struct user_regs_struct *r,
	const uint8_t *from, const uint8_t *to)
{
	bool ready = k->space->state == SPACE_READY; /* else that was looked at */
	bool calls = !t->launch || (ready && !may_trap(t, k));
	int request = calls ? PTRACE_SYSCALL : PTRACE_CONT;
	int event = calls ? 0 : PTRACE_EVENT_SECCOMP;

	r->rip = IN_SETUP(from);
	r->orig_rax = -1;
	r->rax = 0;
	int err = go(t, k, r, request, event);
	while (!err) {
		if (ptrace(PTRACE_GETREGS, k->tid, 0, r) < 0)
			return -errno;
		if (r->rip == IN_SETUP(to) || r->rip == IN_SETUP(to) + 1)
			return 0;
		if (ptrace(request, k->tid, 0, 0) < 0)
			return -errno;
		err = wait_for(t, k, event, request);
	}
	return err;
}

/* A free place for a page near code. 0: none. */
static uint64_t find_gap(struct maps *maps, pid_t tid, uint64_t near)
{
	uint64_t end = 0x10000, best = 0, best_far = STUB_REACH;
	struct mapping m;
	size_t next = 0;

	if (maps_of(maps, tid) < 0)
		return 0;
	for (; maps_next(maps, &next, &m); end = m.to) {
		/* Not next to another mapping, which may be to grow. */
		if (m.from < end + 0x40000)
			continue;
		uint64_t lo = end + 0x20000, hi = m.from - 0x20000;
		uint64_t at = near < lo ? lo : near > hi ? hi : near;
		at &= ~UINT64_C(0xfff);
		uint64_t far = at > near ? at - near : near - at;
		if (far < best_far && (at < HOOK_AT || at >= WINDOW_END)) {
			best = at;
			best_far = far;
		}
	}
	return best;
}

/* A filter's program; n: its length as it is to be told for now. */
static void fill_filter(
	const struct filter_code *f, uint16_t n, uint64_t at, uint8_t page[HOOK_USED])
{
	const uint64_t code = at + 16;
	uint8_t *to = page + (at - HOOK_AT);

	memcpy(to, &n, sizeof(n));
	memcpy(to + 8, &code, sizeof(code));
	memcpy(to + 16, f->code, f->n * sizeof(*f->code));
}

/* The second filter is for now where there is the first one; both are for later where
 * calls are dispatched. */
static void fill_filters(struct tracer *t, struct task *k, uint8_t page[HOOK_USED])
{
	const struct fast *f = t->fast;

	if (!t->launch)
		return;
	fill_filter(&f->seal, k->filtered && !k->sealed ? f->seal.n : 0, SEAL_AT, page);
	fill_filter(&f->first, 0, FILTER_AT, page);
}

static int fill(struct tracer *t, struct task *k)
{
	uint8_t page[HOOK_USED];
	int mem = mem_open(k->tid);

	if (mem < 0)
		return mem;
	memset(page, 0xcc, sizeof(page));
	memcpy(page, hook_code, hook_end - hook_code);
	memcpy(page + (SETUP_AT - HOOK_AT), setup_code, setup_end - setup_code);
	memset(page + (TABLES_AT - HOOK_AT), 0, HOOK_USED - (TABLES_AT - HOOK_AT));
	memcpy(page + (SHAPES_AT - HOOK_AT), t->fast->shape, NSHAPES);
	memcpy(page + (NAME_AT - HOOK_AT), "iops", 5);
	const uint64_t action[3] = { IN_SETUP(setup_orphan),
		SA_SIGINFO | SA_ONSTACK | 0x04000000 /* SA_RESTORER */,
		IN_SETUP(setup_orphan) };
	memcpy(page + (ACTION_AT - HOOK_AT), action, sizeof(action));
	fill_filters(t, k, page);
	int err = mem_write(mem, HOOK_AT, page, HOOK_USED);
	close(mem);
	return err;
}

/* What has been opened cannot be asked from inside any more: such calls are to stop. */
void setup_close(struct tracer *t, struct task *k)
{
	uint8_t shape[NSHAPES];
	int mem = k->space->state == SPACE_READY ? mem_open(k->tid) : -1;

	if (mem < 0)
		return;
	for (int nr = 0; nr < NSHAPES; nr++)
		shape[nr] =
			shape_opens(t->fast->shape[nr]) ? SHAPE_PASS : t->fast->shape[nr];
	mem_write(mem, SHAPES_AT, shape, NSHAPES);
	close(mem);
}

/* The hook's own pages, in place of the call that was to be made. */
static int map_hook(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r = s->entry;

	r.orig_rax = r.rax = SYS_mmap; /* which of them counts depends on the stop */
	r.rdi = HOOK_AT;
	r.rsi = HOOK_SIZE;
	r.rdx = PROT_READ | PROT_EXEC;
	r.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	r.r8 = (uint64_t)-1;
	r.r9 = 0;
	int err = k->filtered ? go(t, k, &r, PTRACE_SYSCALL, 0) : stand_call(t, k, s, &r);
	if (err < 0)
		return err;
	if (ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return -errno;
	return r.rax == HOOK_AT ? fill(t, k) : -ENOMEM;
}

static struct rings *take_file(struct tracer *t, struct task *k, int fd, size_t size)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", k->tid, fd);
	int mine = open(path, O_RDWR | O_CLOEXEC);
	if (mine < 0)
		return NULL;
	struct rings *r = rings_new(mine, size);
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

static int add_stubs(struct tracer *t, struct task *k, uint64_t at)
{
	struct space *s = k->space;
	struct stubs *more = realloc(s->stubs, (s->nstubs + STUB_PAGES) * sizeof(*more));
	uint64_t enter = hook_entrance(t->fast);
	int mem = stand_mem(t->fast, k->tid);
	int err = !more ? -ENOMEM : mem < 0 ? mem : 0;

	if (more)
		s->stubs = more;
	for (unsigned i = 0; i < STUB_PAGES && !err; i++, at += 4096) {
		err = mem_write(mem, at, &enter, 8);
		if (!err)
			s->stubs[s->nstubs++] = (struct stubs){ .at = at };
	}
	return err;
}

/* The descriptor in r12. Where a call has told us of the end, in its place. */
static int shut(struct tracer *t, struct task *k, struct user_regs_struct *r)
{
	if (r->rip == IN_SETUP(setup_trap) + 1)
		return run(t, k, r, setup_shut, setup_shut_trap);
	r->orig_rax = r->rax = SYS_close;
	r->rdi = r->r12;
	return go(t, k, r, PTRACE_SYSCALL, 0);
}

/*
 * The slots, and stubs in a gap. With the hook they fill the window up to the shadow, so
 * that a gs of the program's own is never taken for ours.
 */
static int map_slots(struct tracer *t, struct task *k, struct stand *s, uint64_t gap)
{
	struct space *sp = k->space;
	struct user_regs_struct r = s->entry;
	const uint64_t size = (uint64_t)SLOTS_MAX * SLOT_SIZE;
	uint64_t ready = READY;

	r.r13 = size;
	r.r14 = gap;
	r.r15 = (uint64_t)STUB_PAGES * 4096;
	bool early = sp->refs == 1 || sp->registered;
	r.rbp = early ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE
		      : MEMBARRIER_CMD_QUERY;
	int err = run(t, k, &r, setup_code, setup_trap);
	if (err < 0)
		return err;
	if (k->filtered && (k->sealed || !r.r13))
		k->sealed = k->seen = true;
	k->seen |= t->launch && !k->filtered;
	if (r.rbx == SLOTS_AT && r.r15 == gap && task_is_seen(t, k))
		sp->rings = take_file(t, k, (int)r.r12, size);
	sp->registered |= early && !r.rbp;
	sp->barrier = early ? !r.rbp
			    : (int64_t)r.rbp > 0 &&
				      r.rbp & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
	err = shut(t, k, &r);
	if (err < 0)
		return err;
	if (!sp->rings || add_stubs(t, k, gap) < 0)
		return -ENOMEM;
	int mem = mem_open(k->tid);
	err = mem < 0 ? mem : mem_write(mem, READY_AT, &ready, 8);
	if (mem >= 0)
		close(mem);
	return err;
}

/*
 * Hardly any of what the slots reserve is used, but all of it counts where the size of
 * address spaces is limited.
 */
bool setup_may_reserve(pid_t tid)
{
	const uint64_t plenty = 4 * (WINDOW_END - HOOK_AT);
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
	uint64_t gap = setup_may_reserve(k->tid) ? find_gap(&t->fast->maps, k->tid, near) : 0;
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

	r.r14 = find_gap(&t->fast->maps, k->tid, near);
	r.r15 = (uint64_t)STUB_PAGES * 4096;
	if (!r.r14 || k->space->locked)
		return -ENOMEM;
	int err = run(t, k, &r, setup_map, setup_map_trap);
	if (err < 0)
		return err;
	return r.rbx == r.r14 ? add_stubs(t, k, r.r14) : -ENOMEM;
}

/* Slots that nobody has used are given back: nobody will get one. */
int setup_trim(struct tracer *t, struct task *k, struct stand *s)
{
	struct user_regs_struct r = s->entry;
	struct rings *of = k->space->rings;

	if (!of || of->used == of->nslots)
		return 0;
	r.r14 = SLOTS_AT + (uint64_t)of->used * SLOT_SIZE;
	r.r15 = (uint64_t)(of->nslots - of->used) * SLOT_SIZE;
	of->nslots = of->used;
	int err = run(t, k, &r, setup_unmap, setup_unmap_trap);
	return err < 0 ? err : (int)r.rbx;
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
	return go(t, k, &r, PTRACE_SYSCALL, 0);
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

/* The length of a filter's program as the task is to see it. */
static int tell_length(int mem, uint64_t at, uint16_t n)
{
	return mem_write(mem, at, &n, sizeof(n));
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
	k->filtered = true;
	k->sealed |= u->all;
}

/*
 * The first filter, where a process is not under it, for all its threads and what comes
 * of them; all: the second one too. 0, or why not.
 */
int setup_filters(struct tracer *t, struct task *k, struct stand *s, bool all)
{
	const struct fast *f = t->fast;
	struct user_regs_struct r = s->entry;
	int mem = mem_open(k->tid);

	if (mem < 0)
		return mem;
	r.r12 = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	if (k->process->ntasks > 1)
		r.r12 |= SECCOMP_FILTER_FLAG_TSYNC;
	int err = tell_length(mem, FILTER_AT, k->filtered ? 0 : f->first.n);
	if (!err)
		err = tell_length(mem, SEAL_AT, all && !k->sealed ? f->seal.n : 0);
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
