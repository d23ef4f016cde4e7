/*
 * fast.c - the fast path as the rest of the tracer sees it
 *
 * Before a process is patched for the first time only its operations stop, and what they
 * go to is asked each time. From then on it is under a second filter, and so is all that
 * it runs: what changes descriptors stops too, once, where it is not hooked.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

int fast_open(struct tracer *t, unsigned after)
{
	struct fast *f = t->fast = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->after = after;
	f->epoch = 1;
	f->fill_ticks = FILL_FIRST;
	f->track = fdtrack_new(t->names);
	bool outlived = t->dispatch && !t->launch;
	f->guards = outlived ? guards_new() : NULL;
	int err = !f->track || (outlived && !f->guards) ? -ENOMEM : 0;
	if (!err && !t->dispatch &&
		(!setup_program(t, FILTER_FIRST) || !setup_program(t, FILTER_SECOND)))
		err = -E2BIG;
	if (err < 0) {
		fast_close(t);
		return err;
	}
	fast_calls_index(f, &t->want);
	if (t->dispatch)
		fast_calls_free(f, &t->want);
	/* Where fstat(2) comes by the hook, and all that may close what was opened does.
	 */
	f->ask_later = t->dispatch && t->launch ? ASK_LATER : 0;
	fast_clock_start(&f->clock);
	prctl(PR_SET_TIMERSLACK, 1000); /* naps are to be as short as they are meant */
	return 0;
}

void fast_prove(struct tracer *t, char *why, size_t size)
{
	int got = t->foresight ? foresee_proof(t->foresight, why, size)
			       : fast_try(why, size);

	if (got < 0)
		fast_close(t);
	else if (got)
		t->fast->shape[SYS_execve] = SHAPE_PASS;
}

void fast_foresee(struct tracer *t)
{
	fdtab_foresee(t->fdtab);
	if (!t->foresight)
		foresee_give(NULL, &t->fast->texts);
}

void fast_close(struct tracer *t)
{
	struct fast *f = t->fast;

	foresee_free(t->foresight);
	t->foresight = NULL;
	if (!f)
		return;
	guards_free(f->guards);
	fdtrack_free(f->track);
	free(f->first.code);
	free(f->seal.code);
	texts_fini(&f->texts);
	stand_forget(f);
	if (f->slash)
		close(f->slash);
	ends_fini(f);
	map_fini(&f->known);
	rings_bury(&f->dead);
	links_fini(f);
	free(f->ringed);
	free(f);
	t->fast = NULL;
}

static bool same(pid_t a, pid_t b, int what)
{
	return syscall(SYS_kcmp, a, b, what, 0, 0) == 0;
}

/* A copy was made before its original was complete. */
static bool is_ready(pid_t tid)
{
	uint64_t word = 0;

	return tracee_read(tid, READY_AT, &word, sizeof(word)) == sizeof(word) &&
	       word == READY;
}

/* The call that has made a child; it may have been later. */
static uint64_t began(const struct task *parent)
{
	const uint64_t hooked = parent->slot.ctl ? parent->slot.ctl->began : 0;

	return hooked > parent->entered ? hooked : parent->entered;
}

/*
 * A process has the filters that its parent had when it was made. Another thread may have
 * put some there since: which of ours, of which the second one comes last, the child
 * lacks their number tells.
 */
static void filters_of(struct task *child, const struct task *parent)
{
	bool since = child->process != parent->process &&
		     parent->process->judged >= began(parent);
	int lacks = since ? tracee_filters(parent->tid) - tracee_filters(child->tid) : 0;

	child->filtered = parent->filtered && lacks <= parent->sealed;
	child->sealed = parent->sealed && lacks <= 0;
}

/*
 * A copy of memory that may have been changed for other threads, who may be gone by now,
 * since the call that has made it.
 */
static struct space *copy_space(
	const struct tracer *t, const struct task *parent, const struct task *child)
{
	struct space *of = parent->space, *copy = space_copy(of);
	bool threads = of->refs > 1 || of->threads || of->strangers;

	if (!copy || copy->state != SPACE_READY)
		return copy;
	if (threads && !is_ready(child->tid))
		copy->state = SPACE_REFUSED;
	else if (threads && of->changed >= began(parent))
		patch_copied(copy, child->tid, hook_entrance(t->fast));
	return copy;
}

void fast_birth(struct tracer *t, struct task *child, struct task *parent, bool vfork)
{
	if (!t->fast || !parent->space) {
		fast_new(t, child);
		return;
	}
	drain_task(t, parent);
	if (child->space)
		fast_forget(t, child);
	if (child->process != parent->process) {
		parent->space->hits = 0;
		parent->space->forked = true;
	}
	if (same(parent->tid, child->tid, KCMP_VM)) {
		child->space = parent->space;
		child->space->refs++;
		child->space->threads |= child->process == parent->process;
		if (vfork)
			life_lend(parent, child);
	} else {
		child->space = copy_space(t, parent, child);
	}
	child->slotless = parent->slotless;
	if (child->process != parent->process)
		child->process->maker = parent->process->pid;
	child->begins = parent->slot.ctl ? parent->slot.ctl->ret : 0;
	spawn_told(t, parent, child);
	filters_of(child, parent);
	child->seen = parent->seen;
	child->process->locked |= parent->process->locked;
	path_inherit(t, parent, child, spawn_was_plain(parent));
	bool shares = same(parent->tid, child->tid, KCMP_FILES);
	bool copies = !shares && task_is_seen(t, parent);
	if (!shares && spawn_is_plain(t, parent, child))
		child->seen = copies = false;
	if (shares) {
		slot_asks_now(&parent->slot);
		slot_settle(&parent->slot);
	}
	history_begin(t, child, copies || shares ? parent : NULL, shares);
	child->files_copied = copies && parent->process->ntasks > 1;
	child->regs_shared = parent->slot.ctl != NULL;
	child->shared_gs = SLOTS_AT + (uint64_t)parent->slot.number * SLOT_SIZE;
	if (!child->space || !child->files)
		fast_new(t, child);
}

/* Its first stop, before it runs. */
void fast_first_stop(struct tracer *t, struct task *k)
{
	if (t->fast && k->regs_shared)
		task_leave_slot(k, k->shared_gs);
	k->regs_shared = false;
	if (t->fast && k->files_copied)
		history_compare(t, k, true);
	k->files_copied = false;
	if (k->held_back)
		spawn_held(k);
	else
		spawn_born(k);
	dispatch_begin(t, k);
	/* Else the first operation of a thread below a filter would stop for that. */
	if (t->launch && k->filtered && !k->held_back && k->process->ntasks > 1 &&
		k->space && !k->space->undone && task_is_seen(t, k) &&
		!task_stops_always(k))
		task_hook(t, k);
}

/* Before the records of its old life go: k may be joined by the thread that ran exec. */
void fast_exec_begin(struct tracer *t, struct task *k, pid_t former)
{
	struct task *caller = former == k->tid ? k : task_find(t, former);

	if (!t->fast)
		return;
	drain_all(t);
	stand_forget(t->fast); /* it is another memory from now on */
	slot_give(t->fast, k);
	if (caller)
		slot_give(t->fast, caller);
	fault_exec(k->process);
}

void fast_exec(struct tracer *t, struct task *k)
{
	if (!t->fast)
		return;
	ends_died(t, k);
	life_leave_seek(k);
	life_leave_space(k);
	k->space = space_new();
	if (k->space)
		k->space->locked = k->process->locked;
	k->slotless = k->process->locked;
	history_exec(t, k);
	if (!k->seen) /* nor what it has done before */
		path_moved(k);
	dispatch_exec(t, k);
}

/*
 * One after which what we take may be forbidden: capabilities(7). Or closes have to stop:
 * uring.c.
 */
static bool loses_rights(const struct tracer *t, const struct __ptrace_syscall_info *in)
{
	int row = in->entry.nr < NR_MAX ? t->row[ABI_X86_64][in->entry.nr] : -1;
	const struct fast_call *c = row >= 0 ? t->fast->call[row] : NULL;

	return (c && (c->role == ROLE_RIGHTS || c->role == ROLE_RING)) ||
	       (in->entry.nr == SYS_prctl &&
		       (in->entry.args[0] == PR_CAPBSET_DROP ||
			       in->entry.args[0] == PR_SET_SECUREBITS));
}

/* What a child shares with its parent; with one that sleeps meanwhile, nothing. */
static uint64_t shared(const struct task *k, const struct __ptrace_syscall_info *in)
{
	uint64_t flags = in->entry.args[0];

	if (in->entry.nr == SYS_clone3) {
		if (task_read(k, in->entry.args[0], &flags, sizeof(flags)) !=
			sizeof(flags))
			return 0;
	} else if (in->entry.nr != SYS_clone) {
		return 0;
	}
	if (flags & CLONE_VFORK)
		flags &= ~(uint64_t)CLONE_VM;
	return flags & (CLONE_VM | CLONE_THREAD | CLONE_FILES);
}

/* What has to be done while nobody shares anything yet. Results as those of fast_stop().
 */
static int before_child(struct tracer *t, struct task *k,
	const struct __ptrace_syscall_info *in, uint64_t at)
{
	const struct space *s = k->space;
	uint64_t what = s->locked || s->state == SPACE_REFUSED ? 0 : shared(k, in);

	if (what && !k->seen && space_may_begin(t, k))
		return patch_prepare(t, k, at);
	if (what & CLONE_THREAD && s->refs == 1 && (!s->registered || ahead_may(t, s)))
		return ahead_below_filter(t, k, at);
	return 0;
}

/*
 * At the stop of a child of who spawns, in patched memory: its history is kept, and its
 * calls are dispatched, once that is worth it, or before it cannot be done any more.
 * Results as those of fast_stop().
 */
static int before_seen(
	struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	enum { MANY = 24 };

	if (forbid_is(in) || loses_rights(t, in))
		return dispatch_seal(t, k, in->instruction_pointer - 2);
	if (k->slow >= MANY || shared(k, in))
		dispatch_adopt(t, k);
	return 0;
}

/*
 * At the stop before a call. 1: its site was patched, and the task is to be resumed;
 * 0: the call goes on; -ESRCH: it stands elsewhere.
 */
int fast_stop(struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in)
{
	uint64_t ip = in->instruction_pointer;

	if (!t->fast || !k->space)
		return 0;
	bool full = slot_full(&k->slot);
	drain_task(t, k);
	if (full && !k->distrusted)
		slot_grow(&k->slot);
	k->entered = fast_tsc();
	if (in->arch == AUDIT_ARCH_X86_64 && rights_stop(t, k, in->entry.nr))
		return 1;
	if (in->arch != AUDIT_ARCH_X86_64 || task_stops_always(k) || !k->process->started)
		return 0;
	if (patch_counts(k->space, in->entry.nr, in->entry.args))
		return patch_lean(t, k, in->entry.nr, ip - 2);
	if (patch_moves(k, in->entry.nr, in->entry.args[0], in->entry.args[1]))
		return patch_undo(t, k, ip - 2);
	int ring = uring_stop(t, k, in->entry.nr, in->entry.args, ip - 2);
	if (ring)
		return ring;
	if (k->space->dispatches && !k->seen)
		return before_seen(t, k, in);
	if (space_site_of_stub(k->space, ip)) {
		if (is_shape(t->fast, in->entry.nr))
			task_hook(t, k);
		return 0;
	}
	if (forbid_is(in)) {
		for (int i = 0; i < 3; i++)
			k->call.arg[i] = in->entry.args[i];
		if (forbid_judges_sites(k, in))
			return patch_undo(t, k, ip - 2);
		if (space_may_begin(t, k))
			return patch_prepare(t, k, ip - 2);
	}
	if (loses_rights(t, in) && !k->sealed && space_may_begin(t, k))
		return patch_prepare(t, k, ip - 2);
	int done = before_child(t, k, in, ip - 2);
	const int row = in->entry.nr < NR_MAX ? t->row[ABI_X86_64][in->entry.nr] : -1;
	const struct fast_call *c = row < 0 ? NULL : t->fast->call[row];
	if (done || !c || !is_shape(t->fast, in->entry.nr))
		return done;
	return patch_hot(t, k, ip - 2, c->role == ROLE_DATA ? 2 : 1);
}

/* Does anybody keep records that this call could come between? */
static bool watched(const struct tracer *t, const struct task *k)
{
	return t->fast->nringed || (k->space && k->space->refs > 1);
}

/* A call that stops. Returns whether its exit has to be seen for what it does to us. */
bool fast_enter(struct tracer *t, struct task *k)
{
	const struct fast_call *c = t->fast ? t->fast->call[k->call.row] : NULL;

	if (!c)
		return false;
	t->fast->when = fast_tsc();
	if (c->role == ROLE_ACTION) {
		if (k->call.abi == ABI_X86_64)
			fault_set(k, k->call.arg);
		return false;
	}
	if (c->role == ROLE_LOCK)
		forbid_begin(t, k);
	if (c->role == ROLE_RIGHTS && k->space)
		setup_exec_stops(t, k);
	if (c->role == ROLE_ROOT || c->role == ROLE_OWN || c->role == ROLE_RING)
		slot_asks_now(&k->slot);
	if (c->role == ROLE_RING || c->role == ROLE_ENTER)
		return false;
	if (c->role == ROLE_PATH || c->role == ROLE_LINK) /* the paths of what others have
							     done before hold yet */
		drain_all(t);
	if (cut_begin(t, k, c))
		return true;
	if (c->role == ROLE_SEEK && (watched(t, k) || !task_is_seen(t, k)))
		seek_begun(t, k);
	if (!task_is_seen(t, k))
		return unseen_enter(k, c);
	if (c->role == ROLE_DATA && !c->rights)
		return false;
	if (c->rights || c->role == ROLE_LOCK || c->role == ROLE_OWN ||
		c->role == ROLE_CWD || c->role == ROLE_DUP || c->role == ROLE_DUP_TO ||
		c->role == ROLE_FCNTL || c->role == ROLE_LINK)
		return true;
	if (c->role == ROLE_CLOSE) {
		fdtrack_close(t->fast->track, k->files, (int)k->call.arg[0]);
		return false;
	}
	if (watched(t, k))
		return true;
	/* Alone and stopped: as good as done. A descriptor that is not known is asked. */
	switch (c->role) {
	case ROLE_RANGE:
		fdtrack_close_range(t->fast->track, k->files, (unsigned)k->call.arg[0],
			(unsigned)k->call.arg[1]);
		break;
	case ROLE_ROOT:
		found_all(t, k);
		path_moved(k);
		break;
	}
	struct fd_open *o =
		c->role == ROLE_SEEK ? fdtrack_get(k->files, (int)k->call.arg[0]) : NULL;
	if (o)
		o->offset = OP_NO_OFFSET;
	return false;
}

static bool has_fd(const struct fast_call *c)
{
	return c->role == ROLE_SEEK || c->role == ROLE_FCNTL;
}

void fast_leave(struct tracer *t, struct task *k, int64_t ret)
{
	const struct fast_call *c = t->fast ? t->fast->call[k->call.row] : NULL;

	if (!c || !k->files)
		return;
	cut_end(t, k, c, ret);
	drain_task(t, k);
	t->fast->when = fast_tsc();
	if (c->role == ROLE_OPEN && !task_is_seen(t, k))
		return;
	bool unseen = !task_is_seen(t, k) && has_fd(c);
	if (unseen && c->role != ROLE_SEEK) {
		struct fd_view v;
		fdtab_ask(t->fdtab, &k->fd, (int)k->call.arg[0], &v);
		unseen_meet(t, k, (int)k->call.arg[0], &v);
	}
	if (c->rights && ret >= 0)
		rights_by_messages(t, k, ret);
	switch (c->role) {
	case ROLE_DATA:
		break;
	case ROLE_SEEK:
		seek_done(t, k, ret);
		break;
	case ROLE_OPEN:
		if (ret >= 0)
			rights_opened(t, k, (int)ret);
		break;
	case ROLE_PAIR:
		if (ret >= 0)
			rights_opened_pair(t, k);
		break;
	case ROLE_PATH:
		if (ret >= 0) {
			path_renamed_stopped(t, k, c);
			new_epoch(t->fast);
			history_look(t, k);
		}
		break;
	case ROLE_LINK:
		if (ret >= 0)
			path_linked_stopped(t, k, c);
		break;
	case ROLE_OWN:
		found_all(t, k);
		path_moved(k);
		if (ret >= 0 && k->process->ntasks > 1 &&
			k->call.arg[0] & (CLONE_FS | CLONE_NEWNS))
			path_part(t, k);
		if (ret >= 0 && k->call.arg[0] & CLONE_FILES)
			history_part(t, k);
		break;
	case ROLE_LOCK:
		if (ret >= 0)
			forbid_end(t, k);
		break;
	case ROLE_DUP:
	case ROLE_DUP_TO:
	case ROLE_FCNTL:
		history_of(t, k, (int)k->call.arg[0]); /* they are one from now on */
						       /* fall through */
	default:
		/* What others have opened since it began may be open still. */
		decode_role(t, k, c, k->call.arg, ret,
			c->role == ROLE_RANGE ? k->entered : fast_tsc());
	}
	if (unseen)
		unseen_part(t, k, (int)k->call.arg[0]);
}

/* A call that stops is about to be made: what others do meanwhile may come before it. */
void fast_begun(struct tracer *t, struct task *k, unsigned side)
{
	const struct op *op = &k->call.op[side];
	const struct fd_view v = { .file = op->file, .flags = k->call.flags[side] };

	if (!t->fast || !k->files || seek_kept(t, k))
		return;
	if (!task_is_seen(t, k))
		unseen_meet(t, k, op->fd, &v);
	struct fd_open *o = fdtrack_get(k->files, op->fd);
	if (!o || !o->seeks)
		return;
	history_begun(k, o);
	if (op->kind == OP_WRITE)
		ends_begun(t, k, o->file, k->call.append);
}

/* What a call that stops has found out, for those that will not. */
void fast_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	const struct seed *s)
{
	bool unseen = t->fast && !task_is_seen(t, k);
	int64_t after = s->after;

	if (!t->fast || !k->files || seek_kept(t, k))
		return;
	struct fd_open *o = fdtrack_get(k->files, fd);
	int64_t was = o ? o->offset : OP_NO_OFFSET;
	drain_task(t, k);
	o = fdtrack_get(k->files, fd);
	bool shared = o && o->refs > 1;
	/*
	 * Others have moved it meanwhile: by that much it is further now. Who else does
	 * so without stopping may have been asked for too early, or too late: what all of
	 * them have moved it by is the truth.
	 */
	if (o && was != OP_NO_OFFSET && o->offset != OP_NO_OFFSET &&
		after != OP_NO_OFFSET)
		after = shared && !s->appended
				? (int64_t)((uint64_t)o->offset + s->by)
				: (int64_t)((uint64_t)after + o->offset - was);
	else if (o && o->crossed)
		after = OP_NO_OFFSET;
	history_seed(t, k, fd, v, after, k->entered);
	o = fdtrack_get(k->files, fd);
	pid_t other = o ? inside_too(t, k, o) : 0;
	if (o)
		history_used(o, other);
	ends_done(t, k, fd);
	if (unseen)
		unseen_part(t, k, fd);
}
