/*
 * tracer.h - what the files of the ptrace source share
 *
 *   source.c    open, step, stop, close: the source seen from outside
 *   stops.c     one switch over every stop of a tracee
 *   part.c      tasks that are let go, alone or together
 *   rest.c      transfers that our presence has ended half done, made whole
 *   again.c     calls that our presence has ended, made again; early.c: io_uring_enter(2)
 *   call.c      system call entry and exit to operations
 *   control.c   calls that are no I/O but change how tracing must go on
 *   uring.c     io_uring: requests and answers in shared memory; uring_*.c
 *   aio.c       Linux AIO, likewise; aio_answer.c
 *   async.c     both as operations; requests.c: those that are not answered yet
 *   asked.c     how much vectors and messages ask for
 *   program.c   which program an exec will run
 *   task.c      tasks and processes: birth, exec, death, verification
 *   wait.c      which tracee is served next
 *   look.c      whether a tracee has stopped
 *   queue.c     tasks that have stopped, in order
 *   place.c     on which CPU the tracer runs
 *   tracee.c    memory and counters of a stopped task
 *   serves.c    what a process answers that others wait for
 *   arch/       its registers, and which ABIs its machine has
 *   filter.c    the seccomp program
 *
 * A file uses only those below it.
 */
#ifndef IOPS_PTRACE_TRACER_H
#define IOPS_PTRACE_TRACER_H

#include "arch/arch.h"
#include "fast/fast.h"
#include "iops/fdtab.h"
#include "iops/launch.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/process.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/syscalls.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

/* SECCOMP_RET_DATA of our filter: tells it from a filter of the target's own. */
enum { FILTER_COOKIE = 0x10b5 };

/* The kernel's own counters of a task, /proc/TID/io: calls = syscr + syscw. */
struct counters {
	int64_t calls, bytes;
	struct ledger {
		int64_t rchar, wchar;             /* bytes = rchar + wchar */
		int64_t read, written, cancelled; /* what it made the disks do */
	} ledger;
};

/* Where paths start, fs/fs_struct.h of the kernel, as it was last seen. */
struct fs_view {
	uint32_t cwd;    /* name; 0: to be asked */
	uint32_t root;   /* name; 0: "/" to us too */
	bool own_root;   /* paths mean something else to it than to us */
	uint64_t mounts; /* likewise: its number, as it has mounts that we may not have */
	uint64_t since, asked; /* when the root was asked for, and cwd; 0: to be */
};

/* struct sigaction of the kernel: handler, flags, restorer, mask. Of SIGSEGV and SIGBUS.
 */
enum { ACTION_HANDLER, ACTION_FLAGS, ACTION_WORDS = 4, FAULT_SIGNALS = 2 };
struct fault_action {
	uint64_t word[ACTION_WORDS];
};

/* A process: threads that share an id. Freed with its last task. */
struct process {
	pid_t pid;
	uint32_t comm;
	unsigned ntasks;
	unsigned unmet;  /* of them, those seized that have not stopped yet */
	bool incomplete; /* a thread may be missing: seize_late() */
	bool started;    /* false: still the launcher, before its first exec */
	bool stopped;    /* by a signal, or about to be */
	bool muted;      /* served, but not counted: --no-follow */
	bool locked;     /* has a filter of its own */
	bool supervised; /* one that outranks ours: each of its calls stops */
	bool guarded;    /* our handler of SIGSYS is in it */
	bool rang;       /* has made rings: the kernel wakes its tasks for their work */
	bool has_rings;  /* io_uring, and its closes would not stop: each call does */
	bool brings;     /* some of its pages itself: userfaultfd(2) */
	pid_t maker;     /* who has forked it; 0: not known */
	bool runs;       /* has run another program than its maker */
	int64_t calls;   /* its own and its children's, of those that have ended */
	unsigned spawns; /* programs that its children have run that had to be set up, */
	unsigned brief, lengthy; /* and have ended after a few calls, or many */
	bool refused;            /* one of them could not be dispatched */
	bool unfiltered;         /* ... nor a filter be put there */
	uint64_t judged;         /* when one was last, by the time stamp counter */
	int64_t signals; /* and stops that it had: each can end a call of any thread */
	struct counters gone; /* of its threads that have ended; calls < 0: not known */
	uint16_t noted;       /* bits of enum op_note */
	struct fs_view fs;
	bool apart;      /* its threads have directories of their own: each its view */
	uint64_t own[4]; /* struct sigaction of SIGSYS, if it were not for our handler */
	struct fault_action fault[FAULT_SIGNALS]; /* as far as is known */
	bool renewed;        /* an exec has just put the default in the place of that */
	struct task *newest; /* of its tasks; NULL: that has ended */
};

/* The call that a task is inside. */
struct call {
	int row, nr;            /* of syscalls[], -1: none; its number there */
	struct fd_open *sought; /* seek.c: what it has begun to move */
	uint8_t abi;
	bool append, two;
	bool quiet;              /* no operation: only the fast path wants to know */
	bool noted;              /* it does */
	bool cuts;               /* it may set the size of a file that others append to */
	bool explicit[2];        /* the place comes with the call: the position stays */
	int flags[2];            /* of the descriptors; -1 unknown */
	int64_t position[2];     /* ... and where they were */
	bool placed;             /* the offset is an argument */
	int64_t size;            /* where that is an append: of the file, before it */
	struct file_end *writes; /* to a file that is appended to: ends.c */
	uint64_t arg[6];
	struct op op[2];
};

enum { RECENT = 8 };

enum task_state { TASK_RUNNING, TASK_QUEUED, TASK_STOPPED };

/* again.c: a call that is made again until the time that it may wait is over. */
struct again {
	bool on;
	uint64_t repeated;       /* where it is about to be made: again_quietly() */
	struct time_limit limit; /* its argument, as the program gave it */
	uint64_t value;          /* ... and as it is now */
	int64_t asked;           /* ns */
	uint64_t from;           /* when it began, as far as that is known */
	uint64_t began;          /* ... of the last call that is; 0: of none */
};

/* early.c: a wait in io_uring_enter(2) that is made again. */
struct early {
	bool on, never;        /* never: not this call any more */
	bool goes_on;          /* what the hook notes next is no other one */
	struct made_call call; /* as the program has made it, and what it had returned */
	uint64_t from;         /* when it began; 0: not known */
	uint64_t first;        /* ... when it was made again first; 0: it was not */
	uint32_t head;         /* ... and which answer the program was to read next */
};

/* rest.c: a transfer of which the rest is made. */
struct rest {
	bool on;
	bool found;     /* in the middle, as it was attached to: */
	int64_t before; /* what it had transferred then, which is not told */
	uint64_t over;  /* where one has stopped at its exit, and is told like that */
	int64_t part;   /* of a vector: bytes of the part that is made alone */
	bool parted;    /* it has been */
	bool went;      /* the call that has just ended was a rest */
	bool failed;    /* ... of which there is no more to come: */
	bool skips;     /* a signal that it has raised is not to make another one */
	struct made_call call; /* as the program has made it, and what it has returned */
	struct made_call stopped; /* that which over is about, if a stop has ended it */
};

enum asks { ASKS_NOT, ASKS_ANSWERED, ASKS_AGAIN /* it is to be made again */ };

struct task {
	pid_t tid;
	struct process *process;
	uint8_t state;
	bool sysmode;   /* stops at every call: no filter */
	bool bare;      /* blocks nearly all signals, but not SIGSYS by itself */
	bool exiting;   /* has had its exit stop */
	bool seized;    /* attached to while it ran: waits for its interrupt stop */
	bool eintr;     /* held holds the EINTR of a call that may yet be restarted */
	int status;     /* of the stop that is queued */
	unsigned looks; /* at it, in vain, since it was resumed */
	uint64_t
		clone_flag; /* CLONE_UNTRACED taken out of the argument; to be put back */
	uint64_t clone_at;  /* ... in memory at this address; 0: in the register */
	struct call call;
	struct again again;
	struct early early;
	struct rest rest;
	bool poked; /* by an interrupt of ours that has not stopped it yet */
	struct op held;
	struct counters base, mine; /* the kernel's at birth or exec; ours since then */
	struct counters off;        /* by how much they have disagreed */
	int64_t counted;            /* calls of settled accounts */
	struct ledger before;       /* it was ours: none of our concern */
	struct fd_task fd;

	/* The fast path. */
	struct space *space;
	struct task *lends;  /* ... to this child, and sleeps meanwhile: vfork(2) */
	struct task *lender; /* who does so for this one */
	struct fd_table *files;
	struct fs_view fs; /* of a process whose threads are apart */
	struct slot slot;
	bool filtered;      /* is under our filter */
	bool sealed;        /* ... and the second one */
	bool seen;          /* its history is kept: not of what it runs */
	bool slotless;      /* it cannot have a slot */
	bool distrusted;    /* it has written over its slot */
	bool mending;       /* at a signal: its result may not be final */
	bool restop;        /* a stop of its group came while we made calls for it */
	bool files_kept;    /* what is known of its descriptors is from before its exec */
	bool files_copied;  /* its descriptors are, of a process with several threads */
	bool regs_shared;   /* its registers are a copy of its parent's, slot and all, */
	uint64_t shared_gs; /* to which this leads; 0: not known */
	uint64_t trap_mask; /* what it blocked when a breakpoint was set */
	bool dispatched;    /* its calls raise SIGSYS, but those of the hook */
	bool aside;         /* and but the one at hand, which stops twice */
	bool met;           /* ... and stands before that which has raised one */
	enum asks asks_handler;     /* the one at hand is about our handler of SIGSYS: */
	uint64_t act, old, asks_nr; /* its arguments and number */
	uint64_t led, led_head;     /* from where, and where its ring was then */
	uint64_t begins;            /* there, as its parent made it so */
	uint64_t execs;             /* behind that which is being made: fast/exec.c */
	bool hurried;               /* a signal came first: its next one stops */
	uint64_t starts;            /* where it will begin by itself: fast/first.c */
	bool raises;                /* handler_may_raise(), and nobody can change that */
	bool waits;                 /* stands until all do that share its memory, */
	bool runs_on;               /* but not while one of them needs it */
	bool stopped_before;        /* has had its first stop, which wakes nobody */
	uint64_t held_back; /* since when its parent is to tell of it first, or 0 */
	bool released;      /* it never has */
	uint64_t entered;   /* its last stop before a call, by the time stamp counter */
	int64_t fast;       /* operations that did not stop */
	int64_t slow;       /* and that did */
	int64_t signals;    /* of the process, when the account began */
	int64_t unsure;     /* calls that the kernel may have counted or not */
	struct uring *ring; /* io_uring_enter(2) of it is at hand */
	const struct uring *ring_before; /* that of the last such call, and so */
	bool submits;                    /* ... and has some taken */
	unsigned ring_enters;            /* many in a row */
	uint64_t asked;   /* io_submit(2): its first request, by number; 0: none */
	uint64_t asked_n; /* ... and how many could be read */
	uint64_t asked_in, asked_at; /* context, time stamp of one that is in the hook */

	struct task *next; /* in the queue of stopped tasks */
};

struct tracer {
	struct source base;
	struct names *names;
	struct fdtab *fdtab;
	struct sink *sink; /* NULL: only serve, do not count */
	struct launch *launch;
	struct syscall_set want;
	int16_t row[NABI][NR_MAX];
	uint64_t epoch_ns;
	bool follow, wait, filter, countable;
	bool stopping; /* detach from all */
	bool dispatch; /* calls can be dispatched: fast/dispatch.c */
	uint64_t stopping_ns, tick_ns;
	unsigned looks;    /* while stopping, at what still runs */
	bool given_up;     /* what is left does not stop: it is let go when we end */
	bool halted;       /* cannot detach: only stop counting */
	long options;      /* of PTRACE_SEIZE */
	bool incomplete;   /* a process is */
	uint64_t again_ns; /* ... and is not looked at again before that */
	uint64_t held_ns;  /* the first since when a task is held_back; 0: none is */
	bool ended;        /* the command has ended */
	uint64_t ended_ns;
	bool allows_opens;  /* a tracee does, fanotify(7): none is to be waited for */
	char no_patch[100]; /* why there is no fast path; "" if there is */
	struct fast *fast;  /* NULL: all operations stop */
	struct foresight *foresight; /* what it will need, until that is there */
	struct awaited *awaited;     /* NULL: no rings, no contexts */
	/* A complete one of io_uring_enter(2); false: it is none. NULL: not wanted. */
	bool (*told)(struct tracer *t, struct task *k, const struct fast_rec *r);
	/* Of io_submit(2), also one that has but begun, and of io_getevents(2). */
	bool (*aio_told)(
		struct tracer *t, struct task *k, const struct fast_rec *r, bool begun);
	int error;                   /* the first that a sink returned */
	struct map tasks, processes; /* by id */
	struct op *found; /* processes attached to, to be told at the first step */
	unsigned nfound;
	unsigned ntasks;
	struct task *queue, **tail;
	struct task *recent[RECENT]; /* resumed last: likely to stop next */
	unsigned nrecent;
	uint64_t scan_ns, scan_cost_ns, stops;
	bool by_stops; /* most calls stop although there are rings: wait.c, */
	uint64_t judged_stops, judged_records; /* when it has looked last */

	/* wait.c: the stops when nobody had stopped for a while, when to look for it */
	uint64_t calm_stops, part_ns;
	bool dirty;          /* a stop may have gone unnoticed since the last scan */
	unsigned spin;       /* looks that are worth taking before sleeping */
	bool may_spin;       /* there is another CPU */
	struct place *place; /* NULL: wherever the scheduler says */
};

/* In a set of signals, as the kernel keeps it. */
static inline uint64_t signal_bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

/* What a signal would meet. */
struct signal_state {
	bool blocked, ignored, caught, pending;
	uint64_t mask; /* of all that are blocked */
};

struct stand {
	struct user_regs_struct regs, entry;
	uint64_t mask;
	uint64_t call_at; /* where there is a call instruction */
};

/* Whether all that it does to its descriptors is seen: until then they are asked for. */
static inline bool task_is_seen(const struct tracer *t, const struct task *k)
{
	return (t->dispatch && !t->launch) || k->seen;
}

/* At each call: it has no filter, or one that outranks ours. */
static inline bool task_stops_always(const struct task *k)
{
	return k->sysmode || k->process->supervised || k->process->has_rings;
}

/* Whether it is to be let go where it stops next. Not while another one cannot stop that
 * may need it, part.c: then it goes on as if nothing had been. */
static inline bool task_leaves(const struct tracer *t, const struct task *k)
{
	const struct space *s = k->space;

	return t->stopping &&
	       !(s && ((s->runs_on && k->runs_on) || (k->lender && !s->late)));
}

/* All of its process. */
static inline bool signal_stops(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* Where no filter tells us, a breakpoint does; of a task attached to, each call. */
static inline bool ends_in_trap(const struct tracer *t, const struct task *k)
{
	return t->launch && !k->filtered;
}

uint64_t tracer_now(const struct tracer *t); /* since the epoch */
void tracer_put(struct tracer *t, const struct op *op);

/* serves.c: see there. */
void serves_begin(struct tracer *t, struct task *k);
void serves_already(struct tracer *t, struct process *p);

/* tracee.c: of a task that stands still. 0 or -errno; reads return bytes got. */
ssize_t tracee_read(pid_t tid, uint64_t from, void *to, size_t len);
int tracee_write(pid_t tid, uint64_t to, const void *from, size_t len);
bool tracee_brings(pid_t tid, uint64_t from, size_t len); /* what is not there itself */
int tracee_counters(pid_t pid, pid_t tid, struct counters *c);
int tracee_counters_of_all(pid_t pid, struct counters *c);
uint32_t tracee_comm(struct names *names, pid_t tid);
int tracee_cpu(pid_t tid);
bool tracee_is_beside(pid_t tid);
int tracee_waiting(pid_t tid, siginfo_t *info, int most);
bool tracee_pends(pid_t tid, uint64_t signals);
bool tracee_ends_by(pid_t tid, int sig);
bool tracee_ignores(pid_t tid, int sig);
int tracee_signals(pid_t tid, const int *sig, struct signal_state *s, unsigned n);
int tracee_signal(pid_t tid, int sig, struct signal_state *s);
bool tracee_awaits(pid_t tid);
bool tracee_wakes_in_vain(pid_t tid);
bool tracee_is_filtered(pid_t tid);
int tracee_filters(pid_t tid);
bool tracee_is_answered(pid_t tid);
bool tracee_gains_rights(const char *path);

/* task.c */
struct task *task_find(struct tracer *t, pid_t tid);
struct task *task_new(struct tracer *t, pid_t tid, pid_t pid, const struct task *parent);
void task_born(struct tracer *t, struct task *k, pid_t parent);
void task_gone(struct tracer *t, struct task *k, int status);
void task_drop(struct tracer *t, struct task *k);
uint32_t task_exec(struct tracer *t, struct task *k, pid_t former);
/* Who has the id of a leader by now, and dies in its exec without that being told; and
 * what is done about it once the leader has ended. */
struct task *task_heir(struct tracer *t, const struct task *k);
void task_inherits(struct tracer *t, struct task *k, struct task *caller);
void task_baseline(struct tracer *t, struct task *k);
void task_check(struct tracer *t, struct task *k);
void task_begin(struct task *k);
void task_found(struct tracer *t, struct task *k);
ssize_t task_read(const struct task *k, uint64_t from, void *to, size_t len);
ssize_t task_string(const struct task *k, uint64_t from, char *to, size_t size);
void task_verdict(struct tracer *t, struct task *k);
void task_ledger(struct tracer *t, struct task *k);
void task_paths(struct tracer *t, struct task *k);
void task_exiting(struct tracer *t, struct task *k);
void task_ended(struct tracer *t, struct task *k, const struct counters *last);
int task_last(const struct task *k, struct counters *last);
void task_note(struct tracer *t, struct task *k, enum op_note note, uint16_t row);
void task_flush(struct tracer *t, struct task *k);
void task_interrupt(struct tracer *t, struct task *k, void *space);
void tasks_free(struct tracer *t);
void tasks_each(
	struct tracer *t, void (*fn)(struct tracer *, struct task *, void *), void *arg);

/* call.c: entry says whether the exit has to be seen too. */
bool call_enter(struct tracer *t, struct task *k, const struct __ptrace_syscall_info *in);
void call_leave(struct tracer *t, struct task *k, int64_t ret, uint64_t now);
void call_died(struct tracer *t, struct task *k);
void call_ended(struct tracer *t, struct task *k, const struct counters *last);

/* rest.c: see there. */
bool rest_may(const struct task *k);
/* In the hook it has ended, and is told: at its call site, to which it has been taken. */
static inline void rest_over(struct task *k, uint64_t at)
{
	k->rest.over = at;
	k->rest.stopped.at = 0;
	k->rest.skips = false;
}
void rest_make(struct tracer *t, struct task *k);
void rest_never(struct task *k);
void rest_interrupted(struct tracer *t, struct task *k, bool seized);
bool rest_quietly(struct tracer *t, struct task *k, int64_t ret, uint64_t at);
bool rest_begins(const struct tracer *t, const struct task *k);
void rest_undo(struct tracer *t, struct task *k);
int64_t rest_exit(const struct tracer *t, struct task *k, int64_t ret);
void rest_died(struct tracer *t, struct task *k);

/* again.c: see there. */
uint64_t again_scratch(const struct task *k, uint64_t stack);
void again_begins(struct task *k, uint64_t now);
void again_limit(const struct tracer *t, struct task *k);
void again_stays(const struct tracer *t, struct task *k);
bool again_make(struct tracer *t, struct task *k);
bool again_quietly(struct tracer *t, struct task *k);
void again_over(struct task *k);
void again_interrupted(struct task *k);
void again_never(struct task *k);
void again_plainly(const struct tracer *t, struct task *k);
void again_exit(struct tracer *t, struct task *k, int64_t ret);

/* fast/shapes.c: whether each close(2) of the process stops from now on; that its
 * io_uring_enter(2) need not, as we could not read its rings. The rest is for fast/
 * alone.
 */
enum { OWN_CLOSES = 1, OWN_ENTERS = 2, OWN_SPAWNS = 4, OWN_THREADS = 8 };
bool fast_stops_closes(const struct tracer *t, const struct task *k);
void fast_frees_enters(const struct tracer *t, const struct task *k, bool on);
uint8_t shape_of(const struct fast *f, const struct space *sp, uint64_t nr);
void shapes_own(const struct space *sp, uint8_t shape[NSHAPES]);
void shapes_spawns(const struct tracer *t, const struct task *k, bool stop);
void shapes_threads(const struct tracer *t, const struct task *k);
bool handler_is_there(struct tracer *t, struct task *k);

/* uring.c, aio.c: see there. */
void uring_unread(struct tracer *t, struct task *k);
void uring_made(struct tracer *t, struct task *k, int64_t fd);
bool uring_enter(struct tracer *t, struct task *k);
int64_t uring_ready(
	const struct tracer *t, const struct task *k, int fd, bool registered);
uint32_t uring_read(
	const struct tracer *t, const struct task *k, int fd, bool registered);
void uring_entered(struct tracer *t, struct task *k, int64_t ret);
void uring_leave(struct tracer *t, struct task *k);
void uring_born(const struct tracer *t, const struct task *k);
void uring_exits(struct tracer *t, struct task *k);
void uring_registered(struct tracer *t, struct task *k, int64_t ret);
void uring_close(struct tracer *t, struct task *k, uint64_t from, uint64_t to);
void uring_look(struct tracer *t, const struct task *k);
void uring_gone(struct tracer *t, const struct process *p);
void uring_free(struct tracer *t);

/* fast/uring_hook.c: at the stop before a call at that address. Results as those of
 * patch_hot(). */
int uring_stop(
	struct tracer *t, struct task *k, uint64_t nr, const uint64_t *arg, uint64_t at);

/* Likewise: whether that is io_uring_enter(2), which need not stop much longer. */
bool uring_soon(const struct tracer *t, const struct task *k, uint64_t nr, uint64_t fd,
	uint64_t flags);

/* fast/dispatch.c: before a call that is to stop twice; how it goes on. */
void dispatch_aside(struct task *k);
void dispatch_resume(struct tracer *t, struct task *k);

/* fast/hold.c: see there. */
void hold_await(struct tracer *t, struct task *k, void *who);
void hold_began(const struct tracer *t, struct task *k);
void hold_waited(struct tracer *t, struct task *k);
uint64_t hold_vain(const struct tracer *t, struct task *k, uint32_t *read);

/* fast/calls.c, fast/setup.c: for it. */
void fast_entries(uint8_t out[NENTRIES]);
int setup_ring(struct tracer *t, struct task *k, struct stand *s, int fd,
	const uint64_t size[3], uint64_t at[3]);
int setup_unmap_ring(struct tracer *t, struct task *k, struct stand *s,
	const uint64_t size[3], const uint64_t at[3]);

/* fast/clock.c: when that was, as of tracer_now(). Records say it by the time stamp
 * counter. */
uint64_t fast_then(const struct tracer *t, uint64_t tsc);

/* fast/aio_hook.c: of contexts of Linux AIO, by their keys. place: of the next answer;
 * asked: what has been asked for and not seen to be answered; turn: of who sees more. */
struct context_state {
	uint32_t place, asked;
	uint16_t turn;
	uint64_t word; /* all of them */
};

/* take: false: others are in its places. move: so many more are seen; false: it is not
 * any more what it was. asks: so many more are asked for, or fewer. */
bool context_take(
	struct rings *r, uint64_t key, uint32_t place, uint32_t asked, uint16_t *turn);
void context_drop(struct rings *r, uint64_t key);
bool context_at(const struct rings *r, uint64_t key, struct context_state *s);
bool context_move(struct rings *r, uint64_t key, const struct context_state *was,
	uint32_t place, uint32_t seen);
void context_asks(struct rings *r, uint64_t key, int32_t n);
void aio_not_asked(const struct task *k, const struct fast_rec *rec);

/* Likewise, where a task stands in the hook. false: not there. claims: what it has noted
 * there, and not told yet, is told. */
struct user_regs_struct;
bool aio_mend(struct task *k, struct user_regs_struct *r, uint64_t site);
void aio_claims(struct task *k, const struct user_regs_struct *r);

void aio_made(struct tracer *t, struct task *k, int64_t ret);
bool aio_submits(struct tracer *t, struct task *k);
void aio_submitted(struct tracer *t, struct task *k, int64_t ret);
void aio_destroys(struct tracer *t, struct task *k);
void aio_look(struct tracer *t, const struct task *k);
void aio_gone(struct tracer *t, const struct process *p);
void aio_free(struct tracer *t);

/* control.c */
bool control_enter(struct tracer *t, struct task *k);
void control_leave(struct tracer *t, struct task *k, int64_t ret);
bool control_hands_over(struct tracer *t, struct task *k);
void control_restore(struct task *k);
void control_judged(const struct tracer *t, struct task *k);
void control_look(struct tracer *t, const struct task *k);
void control_forget(struct tracer *t, const struct process *p);
void control_async(struct tracer *t, struct task *k);
void control_free(struct tracer *t);

/* seize.c: by PTRACE_SEIZE. 0, or -errno; seize_failed says why a process refused. */
int seize_child(struct tracer *t, pid_t pid, bool interrupt);
int seize_process(struct tracer *t, pid_t pid);
void seize_late(struct tracer *t);
void seize_failed(pid_t pid, int err);

/* wait.c: the next task that has stopped, with its status. 1, 0 at the end, -errno. */
int wait_next(struct tracer *t, struct task **out);

/* queue.c: of stopped tasks; resumed ones are looked at first by those who wait. */
void queue_add(struct tracer *t, struct task *k, int status);
struct task *queue_take(struct tracer *t);
void queue_resumed(struct tracer *t, struct task *k);
void queue_resume(struct tracer *t, struct task *k, int sig);
void queue_go_on(struct tracer *t, struct task *k);
void queue_forget(struct tracer *t, struct task *k);

/* place.c: NULL where it is not allowed or of no use. */
struct place *place_new(void);
void place_look(struct place *p, pid_t tid, uint64_t now);
void place_leave(struct place *p);
void place_send(struct place *p, pid_t tid);
void place_fetch(struct place *p, pid_t tid);
void place_settle(struct place *p);
void place_part(struct place *p, pid_t tid);
void place_free(struct place *p);

/* part.c. Only ever from a stop that we have seen: else its signal would be lost. */
void part_async(struct tracer *t, struct task *k);
void part_requests(struct tracer *t, const struct task *k);
void part_task(struct tracer *t, struct task *k, int sig);
void part_group(struct tracer *t, struct space *s);
void part_tick(struct tracer *t);
bool part_gives_up(struct tracer *t);

/* stops.c */
int stops_dispatch(struct tracer *t, struct task *k);
void stops_tick(struct tracer *t, bool idle);
void stops_detach_all(struct tracer *t);

#endif
