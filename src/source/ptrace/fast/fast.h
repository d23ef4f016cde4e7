/*
 * fast.h - operations that do not stop: what the files of the fast path share
 *
 *   fast.c     what the rest of the tracer calls
 *   decode.c   a record to operations
 *   drain.c    rings to records, in the order of their time
 *   mend.c     a task that a signal stops inside the hook, back to its call site
 *   gone.c     stubs that a program has taken away
 *   patch.c    hot call sites to jumps
 *   ahead.c    call sites that are patched before they are hot
 *   stub.c     the code that a call site jumps to, and the jump
 *   dispatch.c calls that raise a signal, where there is no filter
 *   leave.c    ... and what is taken back when they need not any more
 *   stand.c    a task that stands still, and calls made in its name
 *   setup.c    what the hook needs in the memory of the target
 *   pass.c     calls that need nothing of ours after all
 *   spawn.c    children of what is dispatched, and what they run
 *   handler.c  our handler of SIGSYS, and what the target sees of that signal
 *   aside.c    calls that stop, of a program that it waits in
 *   switch.c   syscall user dispatch on and off
 *   rival.c    what a program does that dispatch cannot stand beside
 *   faults.c   what the target does about faults, kept from ours; refuse.c, see there
 *   guard.c    that nothing is dispatched when the tracer is dead
 *   life.c     what every task begins and ends with
 *   ring.c     slots of control words and records
 *   space.c    address spaces and what was changed in them
 *   history.c  which file a descriptor stood for when a record was made
 *   unseen.c   calls of tasks of which no history is kept yet
 *   paths.c    which file a path in a record meant
 *   text.c     which file the code of a task is from; search.c: which calls it has
 *   maps.c     what is mapped where
 *   elf.c      where code can be changed, and how; plans.c: what was found out
 *   decoder.c  what takes its instructions apart
 *   foresee.c  what of it will be called, before there is a command
 *   clock.c    time stamp counter to nanoseconds
 *   calls.c    what each call means to all of this, as data
 *   probe.c    whether it can work here
 *
 * A call site that keeps stopping is replaced by a jump to a stub, and that leads to the
 * hook (hook.S), which writes a record into the task's own ring and makes the call. What
 * cannot be patched goes on stopping: no count depends on this.
 */
#ifndef IOPS_FAST_FAST_H
#define IOPS_FAST_FAST_H

#include "iops/fdtrack.h"
#include "iops/launch.h"
#include "iops/map.h"
#include "iops/syscalls.h"
#include "layout.h"
#include "texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process;
struct task;
struct tracer;

/* What a call does to descriptors and paths. */
enum fast_role {
	ROLE_NONE,
	ROLE_DATA,      /* moves data or makes it durable, or another plain call on fd */
	ROLE_SEEK,      /* the result is the position */
	ROLE_SIZE,      /* argument 1 is the new size */
	ROLE_GROW,      /* fallocate(2) */
	ROLE_PATH_SIZE, /* truncate(2) */
	ROLE_CLOSE,     /* fd is free */
	ROLE_RANGE,     /* all from argument 0 to 1 are */
	ROLE_DUP,       /* the result stands for what fd does */
	ROLE_DUP_TO,    /* argument 1 does */
	ROLE_FCNTL,     /* the result does, if argument 1 says so */
	ROLE_OPEN,      /* the result is new */
	ROLE_PAIR,      /* two in memory are: pipe(2) */
	ROLE_PATH,      /* open files may have another path from now on */
	ROLE_LINK,      /* ... or what is opened next: symlink(2), link(2) */
	ROLE_CWD,       /* the working directory is another one */
	ROLE_ROOT,      /* ... or what all paths mean */
	ROLE_OWN,       /* descriptors or directories are no longer shared */
	ROLE_LOCK,      /* the target restricts itself: all is to be in place before */
	ROLE_RING,      /* the kernel may open and close for it from now on */
	ROLE_ENTER,     /* moves what a ring asks for: io_uring_enter(2) */
	ROLE_EVENTS,    /* what is answered in a context: io_getevents(2) */
	ROLE_SUBMIT,    /* asks for more in a context: io_submit(2) */
	ROLE_ACTION,    /* what becomes of a signal: rt_sigaction(2) */
	ROLE_RIGHTS,    /* it may lose those that this takes: likewise */
};

struct fast_call {
	const char *name;
	uint8_t role, shape;
	bool rights; /* messages may bring descriptors */
	bool cuts;   /* may set the size of a file */
};

/* A place in the code that makes a call. */
struct site {
	uint64_t at; /* of the syscall instruction */
	uint64_t stub;
	uint64_t patch, cave; /* where the jump is written; cave: a second one, or 0 */
	unsigned hits;
	unsigned rest;  /* of them up to the next try, after one at a bad moment */
	uint8_t state;  /* enum site_state */
	uint8_t length; /* of the patch */
	uint8_t moved;  /* bytes of the instruction that the stub repeats */
	uint8_t bare;   /* in the stub: its own syscall instruction */
	uint8_t body;   /* in the stub: behind what was moved */
	bool far;       /* that ends with the distance to an address */
	uint8_t old[16], now[16], cave_old[5];
};

enum site_state { SITE_COLD, SITE_PATCHED, SITE_REFUSED };

/* A stub is 58 bytes and what is moved, which are up to 16 more. */
enum { STUB_SIZE = 80, STUBS_MAX = 4096 / STUB_SIZE - 1 };
enum { STUB_PAGES = 6 }; /* that are mapped at once */

/* A page of stubs, within reach of what jumps to it. Its first words: where to. */
struct stubs {
	uint64_t at;
	unsigned n;
};

enum { SPACE_CODES = 4 };

enum space_state { SPACE_COLD, SPACE_READY, SPACE_REFUSED };

/* Rings that nobody uses any more, to be freed when nobody waits for us. */
struct grave {
	struct rings *first;
	unsigned n;
};

/* The file that all slots of an address space and of copies of it live in. */
struct rings {
	unsigned refs;
	struct grave *grave;
	struct rings *next; /* in there */
	struct guards *guards;
	struct guard *guard;
	uint8_t *base;
	size_t size;
	unsigned nslots, used, nfree, *free;
	uint64_t known; /* words of KNOWN_OFFSET that are in use */
};

enum { SPACE_LEFT = 8 };

/* An address space: tasks that share their memory share it. */
struct space {
	unsigned refs;
	unsigned asleep;   /* tasks of it that have lent it: vfork(2) */
	unsigned looked;   /* the last of t->looks that found one of it that will stop */
	unsigned tries;    /* to let all of it go together, that were in vain */
	uint64_t asked_ns; /* when all of it were asked to stop for the next */
	bool runs_on;      /* who had stopped does, until the others have */
	bool late;         /* they are waited for no longer */
	uint8_t state;
	bool locked;     /* by a filter of its own: nothing more can be mapped */
	bool keyed;      /* likewise by its keys: pkeys(7) */
	bool barrier;    /* membarrier(2) works */
	bool registered; /* ... and the kernel has been told that we want it */
	bool undone;     /* the patches were taken back */
	bool lean;       /* its memory is locked: no more than what is used is mapped */
	bool limited;    /* ... or limited: little more than that */
	bool quit;       /* nothing of it is to be dispatched any more */
	bool stays;      /* nor can it be below a filter */
	bool calm;       /* SIGTRAP is free for us, while it is set up */
	unsigned strays; /* calls that stopped all the same */
	pid_t left[SPACE_LEFT]; /* tasks of it that were let go alone; 0: no more */
	bool forked;            /* has made processes: a shell, perhaps */
	bool threads;           /* is about to have some, or has had */
	bool often;             /* foresee_often() has been asked for it */
	bool dispatches;        /* its calls are dispatched, where there is no filter */
	uint8_t own;      /* OWN_..., calls of which its hook makes something else */
	bool strangers;   /* ran before us: who is not traced may run in it, too */
	uint64_t ask_ns;  /* ... which is not to be asked again before this time */
	uint64_t changed; /* when it was last changed by us, by the time stamp counter */
	unsigned hits;    /* stops, since the last of them */
	struct rings *rings;
	size_t mapped;    /* bytes of theirs that it has, from the first slot on */
	bool hooked;      /* the hook is there, and what lies before it */
	bool taken;       /* ... no more: the program has put something else there */
	struct map index; /* address of a site -> its number plus 1 */
	struct site *site;
	unsigned nsites, cap;
	struct stubs *stubs;
	unsigned nstubs;
	struct code code[SPACE_CODES]; /* where sites were found */
	unsigned ncodes;
};

/* Of a task. */
struct slot {
	struct fast_ctl *ctl; /* NULL: none */
	uint8_t *ring;
	struct rings *rings;
	unsigned number, listed; /* its place in fast.ringed, plus 1 */
	uint64_t size;           /* of the ring, in bytes */
	uint64_t tail;
	uint64_t looked;  /* up to where paths_later() has seen it: that many renames */
	unsigned renames; /* are among them, */
	struct touches *touches; /* by their paths; NULL: none, or no memory */
	uint64_t begun; /* time stamp of the record in flight whose file is known */
	uint64_t early; /* ... of that which was taken while it was owing */
	uint64_t ended; /* that of the end of the last one taken: none is older */
	struct fd_open *held[2];
};

struct fast_clock {
	uint64_t tsc, ns;   /* now, and */
	uint64_t tsc0, ns0; /* at the start */
	double ns_per_tick;
};

/* A directory that files were opened in. */
struct fast_dir {
	uint32_t name, real; /* names: as it was given, and its real path, */
	uint32_t was;        /* which was this before; 0: not known */
	uint32_t epoch;
	pid_t pid;
	uint64_t since;
};

/* About a tenth of a second: in which others, who are not traced, may change paths. */
enum { OTHERS_TICKS = 1 << 28 };
/* As good as no ring fills by a third in less, some 100 us: what is not known yet. */
enum { FILL_FIRST = 1 << 18 };
enum { RING_PARTS = 1024, FAST_DIRS = 512, FAST_LATE = 64 };

struct fast {
	struct fdtrack *track;
	struct guards *guards; /* NULL: what is dispatched dies with us */
	struct fast_clock clock;
	uint8_t shape[NSHAPES];
	uint64_t ask_by, ask_later; /* C_STATX, of any task; of one that is alone */
	const struct fast_call *call[256]; /* by row; NULL: none */
	unsigned after;                    /* stops of a site before it is patched */
	struct filter_code {
		struct sock_filter *code;
		uint16_t n;
	} first, seal; /* setup_program() */
	struct task **ringed;
	unsigned nringed, ringed_cap;
	struct texts texts;
	struct {
		pid_t of; /* 0: none */
		int fd;
	} mem; /* of the task that stands: stand_mem() */
	struct grave dead;
	uint64_t vdso_call;   /* where in the vdso a call was found last; 0: none yet */
	struct map ends;      /* file -> struct file_end, where somebody appends */
	unsigned cutting;     /* tasks in calls that may change that */
	unsigned renaming;    /* requests under way that change names */
	struct map known;     /* path as it was given, inode -> file */
	struct map links;     /* real path, mounts -> what was said of it: links.c */
	struct map link_dirs; /* directory -> there are, or were, some below it */
	uint64_t nshared;     /* files that were given other names */
	struct map followed;  /* real path of a link that led to a directory of dir */
	struct fast_dir dir[FAST_DIRS];
	/* Directories whose paths are still to be found out: who has opened them. */
	struct {
		int32_t tid, fd;
	} late[FAST_LATE];
	unsigned nlate;  /* there may be more than have room */
	bool lates;      /* there may be some that others have */
	uint64_t mounts; /* our own: namespaces(7); 0: not known yet */
	int slash;       /* our own root, as a descriptor; 0: not yet */
	uint32_t epoch;  /* of paths */
	uint64_t epoch_since;
	uint32_t unsure; /* the epoch before which names may be others without a record */
	uint64_t pass;   /* of the drain */
	uint64_t records;    /* that it has taken */
	uint64_t when;       /* what the record at hand says was done */
	uint64_t now;        /* by the time stamp counter, or a little later */
	uint64_t passed;     /* when the last pass began */
	uint64_t questions;  /* who else has an open file */
	uint64_t fill_ticks; /* in which the busiest ring fills by a third */
	pid_t busiest;       /* whose that is; 0: nobody's yet */
};

/* Where stubs lead to. */
static inline uint64_t hook_entrance(const struct fast *f)
{
	return HOOK_AT + (uint64_t)((f->guards ? hook_guarded : hook_enter) - hook_code);
}

/* Whether the hook makes the call itself. */
static inline bool is_shape(const struct fast *f, uint64_t nr)
{
	return nr < NSHAPES && f->shape[nr] != SHAPE_PASS;
}

/* calls.c: the calls that have to stop for us from the start on, or once there are rings
 * (second); and where the hook's own calls return to. */
enum { FAST_CALLS = 6, IN_64_BITS = 0x33 /* cs */ };
struct syscall_set fast_concerned(bool second);
unsigned fast_addresses(uint32_t out[FAST_CALLS]);
int call_open_flags(const uint64_t *arg, const char *name);
bool shape_asks(uint8_t shape);
bool fast_may_dispatch(const struct syscall_set *want);
void fast_likely(bool wanted[NSHAPES]);
void fast_common(bool wanted[NSHAPES]);
void fast_frequent(bool wanted[NSHAPES]);
void fast_calls_index(struct fast *f, const struct syscall_set *want);
void fast_calls_free(struct fast *f, const struct syscall_set *want);

/* probe.c: what the machine says, and what comes of trying, which takes longer. 0; 1: all
 * but SHAPE_EXEC works; or -errno and why not. */
int fast_ask(char *why, size_t size);
int fast_try(char *why, size_t size);
void fast_left(struct tracer *t, const struct task *k, const char *why);
bool fast_reads_code(void); /* or it has been said what is missing */

/* foresee.c: it works while we do. NULL: all is to be done when it is to be given. Stop:
 * nobody needs it; only its end is waited for by free. */
int foresee_proof(struct foresight *s, char *why, size_t size); /* of both the above */
void foresee_give(struct foresight *s, struct texts *xs);
void foresee_threads(struct foresight *s, struct texts *xs); /* then, what they call */
bool foresee_often(struct foresight *s, struct texts *xs); /* ... and many do; if known */
void foresee_stop(struct foresight *s);
void foresee_free(struct foresight *s);
struct texts *texts_of(struct tracer *t);
struct texts *texts_now(struct tracer *t);

/* clock.c */
void fast_clock_start(struct fast_clock *c);
void fast_clock_look(struct fast_clock *c);
static inline uint64_t fast_clock_ns(const struct fast_clock *c, uint64_t tsc)
{
	return c->ns + (int64_t)((double)(int64_t)(tsc - c->tsc) * c->ns_per_tick);
}
uint64_t fast_tsc(void);

#include "code.h"

/* setup.c: whether setup_space() can begin: nobody else may do unseen what counts. */
bool space_may_begin(const struct tracer *t, const struct task *k);

/* life.c */
void life_lend(struct task *parent, struct task *child);
void life_leave_space(struct task *k);
struct process *life_maker(const struct tracer *t, const struct task *k);

/* sharers.c */
bool space_has_strangers(struct tracer *t, struct task *k);

/* forbid.c */
struct __ptrace_syscall_info;
bool forbid_is(const struct __ptrace_syscall_info *in);
bool forbid_judges_sites(struct task *k, const struct __ptrace_syscall_info *in);
void forbid_begin(struct tracer *t, struct task *k);
void forbid_end(struct tracer *t, struct task *k);

/* gone.c */
struct user_regs_struct;
bool gone_mend(struct tracer *t, struct task *k, const struct site *s,
	struct user_regs_struct *r);

/* space.c */
struct space *space_new(void);
struct space *space_copy(struct space *of);
void space_put(struct space *s);
struct site *space_site(struct space *s, uint64_t at);
struct site *space_find(struct space *s, uint64_t at);
struct site *space_site_of_stub(struct space *s, uint64_t ip);
struct site *space_site_of_patch(struct space *s, uint64_t ip);
struct site *space_site_of_cave(struct space *s, uint64_t ip);
static inline bool space_is_alone(const struct space *s)
{
	return s->refs - s->asleep <= 1; /* nobody else runs in it */
}
static inline bool in_hook(uint64_t ip)
{
	return ip >= HOOK_AT && ip < HOOK_AT + HOOK_SIZE;
}
static inline bool in_setup(uint64_t ip) /* our handler, or what is run for us */
{
	return ip >= SETUP_AT && ip < setup_at(hook_look);
}

#include "ring.h"

/* touch.c */
unsigned paths_later(struct fast *f);
bool records_touching(struct fast *f, const char *path, record_fn *fn, void *arg);
void slot_took(
	const struct fast *f, struct slot *s, const struct fast_rec *r, unsigned size);

/* history.c */
void history_begin(struct tracer *t, struct task *k, struct task *parent, bool shared);
void history_end(struct tracer *t, struct task *k);
void history_exec(struct tracer *t, struct task *k);
struct fd_view;
void history_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	int64_t after, uint64_t since);
void history_meet(struct tracer *t, struct task *k, int fd, const struct fd_view *v);
void history_closed(struct tracer *t, struct task *k, int fd, uint64_t when);
struct fd_open *history_of(struct tracer *t, struct task *k, int fd);
void history_take_stock(struct tracer *t, struct task *k);
void history_lose(struct tracer *t, struct task *k);
void history_compare(struct tracer *t, struct task *k, bool others);
bool history_holds(const struct task *k, int fd, const struct fd_open *o);
void history_part(struct tracer *t, struct task *k);
void history_look(struct tracer *t, struct task *k);
void history_moved(struct tracer *t, struct fd_open *o, int64_t by);
bool history_contested(
	struct tracer *t, struct task *k, const struct fast_rec *r, struct fd_open *o);
bool history_seeks(struct tracer *t, uint32_t file);

/* What a call that stops tells of a file, for those that will not. */
struct seed {
	int64_t after; /* where its position is now */
	int64_t by;    /* how much it has moved */
	bool appended; /* it was written to its end */
};

/* unseen.c: see there. */
bool unseen_enter(const struct task *k, const struct fast_call *c);
void unseen_meet(struct tracer *t, struct task *k, int fd, const struct fd_view *v);
void unseen_part(struct tracer *t, struct task *k, int fd);

/* guard.c */
struct guards *guards_new(void);
void guards_free(struct guards *all);
struct guard *guard_new(struct guards *all, int fd);
void guard_free(struct guards *all, struct guard *g);

/* mem.c: the memory of a task that stands still, to be written to. */
int mem_open(pid_t tid);
int mem_write(int mem, uint64_t at, const void *from, size_t len);
int stand_mem(struct fast *f, pid_t tid);
void stand_forget(struct fast *f);

/* stand.c: the state of a task before calls are made in its name. */
struct stand;
int stand_wait(struct tracer *t, struct task *k, int event, int request);
int stand_go(struct tracer *t, struct task *k, const struct user_regs_struct *r,
	int request, int event);
int stand_begin(struct tracer *t, struct task *k, struct stand *s);
int stand_same(struct task *k, struct stand *s);
int stand_end(struct task *k, struct stand *s, uint64_t ip);
int stand_anywhere(struct tracer *t, struct task *k, struct stand *s);
int stand_call(struct tracer *t, struct task *k, const struct stand *s,
	struct user_regs_struct *r);
int stand_unmap(struct tracer *t, struct task *k, const struct stand *s, uint64_t at,
	uint64_t len);
int space_unmap(struct tracer *t, struct task *k, const struct stand *s);
int stand_make(struct tracer *t, struct task *k, const struct stand *s, uint64_t nr,
	const uint64_t arg[4]);
int stand_back(struct tracer *t, struct task *k, struct stand *s);
void stand_begun(struct task *k, struct stand *s);

/* gap.c: whether there is room for all that is ours; a place for its first stubs, near
 * code, 0: none, or no room for all else; a free place for a page near code, 0: none. */
bool gap_may_reserve(pid_t tid);
uint64_t gap_first(struct tracer *t, const struct task *k, uint64_t near);
uint64_t gap_near(struct maps *maps, pid_t tid, uint64_t near);

/* setup.c */
void setup_ask(const struct task *k, struct user_regs_struct *r, uint64_t gap);
int setup_fill(struct tracer *t, struct task *k);
int setup_took(
	struct tracer *t, struct task *k, const struct user_regs_struct *r, uint64_t gap);
int setup_ready(struct tracer *t, struct task *k, uint64_t start);
int setup_drop(struct tracer *t, struct task *k, struct user_regs_struct *r);
int setup_space(struct tracer *t, struct task *k, struct stand *s, uint64_t near);
void setup_close(struct tracer *t, struct task *k);
void setup_exec_stops(struct tracer *t, struct task *k);
const struct filter_code *setup_program(struct tracer *t, enum filter_part part);
int setup_filters(struct tracer *t, struct task *k, struct stand *s, bool all);
int setup_stubs(struct tracer *t, struct task *k, struct stand *s, uint64_t near);
int setup_trim(struct tracer *t, struct task *k, struct stand *s, unsigned few);
int setup_register(struct tracer *t, struct task *k, const struct stand *s);
int setup_barrier_now(struct tracer *t, struct task *k, struct stand *s);

/* patch.c */
int patch_hot(struct tracer *t, struct task *k, uint64_t at, unsigned stops);
bool patch_counts(const struct space *sp, uint64_t nr, const uint64_t *arg);
int patch_lean(struct tracer *t, struct task *k, uint64_t nr, uint64_t at);
int patch_dispatched(struct tracer *t, struct task *k, uint64_t at);
int patch_site(struct tracer *t, struct task *k, struct stand *st, uint64_t at);
int patch_draft(struct tracer *t, struct task *k, struct stand *st, struct site *s,
	const struct plan *p, struct stub_code *c);
int patch_prepare(struct tracer *t, struct task *k, uint64_t at);
void patch_again(struct tracer *t, struct task *k, struct site *s);
void patch_gone(struct task *k, const struct site *s);
int patch_undo(struct tracer *t, struct task *k, uint64_t at);
bool patch_moves(struct task *k, uint64_t nr, uint64_t from, uint64_t len);
bool task_has_slot(const struct task *k, const struct user_regs_struct *r);
bool task_take_slot(struct tracer *t, struct task *k, struct user_regs_struct *r);
void task_hook(struct tracer *t, struct task *k);
void task_unhook(struct tracer *t, struct task *k, struct user_regs_struct *r);
bool leads_to_slot(uint64_t gs_base);
void task_leave_slot(struct task *k, uint64_t slot);

/* leave.c: those of a memory, once all have left; restore.c: see there. */
void dispatch_restore(struct tracer *t, struct task *const *task, unsigned n);
bool patch_in_cave(const struct task *k, struct user_regs_struct *r);
void patch_restore(struct space *sp, pid_t tid);
void patch_copied(struct space *sp, pid_t tid, uint64_t enter);
bool stub_is(const struct fast *f, pid_t tid, const struct stubs *page);

/* decode.c */
bool decode_put(struct tracer *t, struct task *k, const struct fast_rec *r);
void decode_begun(struct tracer *t, struct task *k, const struct fast_rec *r);
void new_epoch(struct fast *f);
void epoch_unsure(struct fast *f);
void decode_role(struct tracer *t, struct task *k, const struct fast_call *c,
	const uint64_t *arg, int64_t ret, uint64_t when);

/* drain.c */
unsigned drain_all(struct tracer *t);
void drain_task(struct tracer *t, struct task *k);
struct counters;
void drain_dead(struct tracer *t, struct task *k, const struct counters *last);
void drain_killed(struct tracer *t, struct task *k);

/* fast.c, mend.c: what the rest of the tracer calls. All of it does nothing while
 * tracer.fast is NULL. */
struct __ptrace_syscall_info;
int fast_open(struct tracer *t, unsigned after);
void fast_prove(struct tracer *t, char *why, size_t size); /* or it is closed */
void fast_foresee(struct tracer *t); /* while the command is at its exec */
void fast_close(struct tracer *t);
void fast_new(struct tracer *t, struct task *k);
void fast_forget(struct tracer *t, struct task *k);
void fast_birth(struct tracer *t, struct task *child, struct task *parent, bool vfork);
void fast_first_stop(struct tracer *t, struct task *k);
void fast_exec_begin(struct tracer *t, struct task *k, pid_t former);
void fast_exec(struct tracer *t, struct task *k);
int fast_stop(struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in);
bool fast_enter(struct tracer *t, struct task *k);
void fast_leave(struct tracer *t, struct task *k, int64_t ret);
void fast_seed(struct tracer *t, struct task *k, int fd, const struct fd_view *v,
	const struct seed *s);
void fast_begun(struct tracer *t, struct task *k, unsigned side);
bool fast_uncounted(struct tracer *t, struct task *k);
int fast_mend(struct tracer *t, struct task *k, int sig);
bool fast_ignores(const struct tracer *t, const struct task *k, int sig);
void fast_met(struct tracer *t, struct task *k, int sig);
void dispatch_no_more(struct task *k);
void mend_home(struct tracer *t, struct task *k);
void mend_dead(struct tracer *t, struct task *k);
bool mend_waited(struct tracer *t, struct task *k, const struct user_regs_struct *r);

/* switch.c: see there. */
int dispatch_on(const struct tracer *t, const struct task *k);
void dispatch_off(const struct task *k);
int dispatch_state(const struct task *k);

/* trap.c: see there. */
bool trap_steps(const struct task *k, const struct user_regs_struct *r);
bool trap_is_ours(struct tracer *t, struct task *k, struct user_regs_struct *r);

/* rights.c: see there. */
void rights_opened(struct tracer *t, struct task *k, int fd);
void rights_opened_pair(struct tracer *t, struct task *k);
void rights_by_messages(struct tracer *t, struct task *k, int64_t ret);
bool rights_may_come(const struct task *k);
bool rights_mend(struct task *k, struct user_regs_struct *r);
void rights_look(struct tracer *t, struct task *k, const struct user_regs_struct *r);
int rights_stop(struct tracer *t, struct task *k, uint64_t nr);

/* pass.c: see there. */
int pass_call(struct tracer *t, struct task *k, struct user_regs_struct *r);
int pass_arch(struct tracer *t, struct task *k, struct user_regs_struct *r);

/* ahead.c: 0, or -errno; after -ESRCH the task stands elsewhere. */
int ahead_met(struct tracer *t, struct task *k, struct stand *st, uint64_t around);
int ahead_of_code(struct tracer *t, struct task *k, uint64_t at);
int ahead_of_files(struct tracer *t, struct task *k);
int ahead_of_child(struct tracer *t, struct task *k);
bool ahead_is_due(const struct tracer *t, const struct task *k);
int ahead_of_threads(struct tracer *t, struct task *k);
bool ahead_may(const struct tracer *t, const struct space *sp);
int ahead_below_filter(struct tracer *t, struct task *k, uint64_t at);

/* first.c */
bool first_begin(struct tracer *t, struct task *k);

/* dispatch.c: likewise nothing unless tracer.dispatch. */
bool dispatch_can(const struct task *k);
void dispatch_begin(struct tracer *t, struct task *k);
void dispatch_adopt(struct tracer *t, struct task *k);
int dispatch_seal(struct tracer *t, struct task *k, uint64_t at);
void dispatch_exec(struct tracer *t, struct task *k);
int dispatch_trap(struct tracer *t, struct task *k);
int dispatch_again(struct tracer *t, struct task *k);
bool dispatch_holds(const struct tracer *t, const struct task *k);
bool dispatch_owes(const struct task *k);
bool dispatch_stands(const struct task *k);
void dispatch_leave(struct tracer *t, struct task *k);

#include "files.h"
#include "handler.h"

#endif
