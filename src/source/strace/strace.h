/*
 * strace.h - what the files of the strace reader share.
 */
#ifndef IOPS_SOURCE_STRACE_H
#define IOPS_SOURCE_STRACE_H

#include "lex.h"
#include "../text.h"
#include "iops/fdtrack.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"

#include <limits.h>

/* One process: what its threads share. */
struct proc {
	int pid;
	unsigned refs; /* threads */
	uint32_t comm; /* names */
	uint32_t cwd;  /* name; 0 unknown */
	struct fd_table *fds;
};

/* One thread, as far as the text has told of it. */
struct task {
	int tid;
	struct proc *proc;
	char *pending; /* the call that is not finished, as text */
	size_t len, cap;
	bool waits;  /* pending holds one */
	bool broken; /* ... which ended before its words "unfinished" */
	uint64_t pending_ns, pending_line;
	bool fine;       /* its time has a fraction */
	bool forks;      /* it makes a child, whose lines may come before the result */
	int child;       /* ... which is taken for this one; 0: none yet */
	int alias;       /* its real id, where it began without one; else 0 */
	bool born;       /* the FORK of a child has been told */
	bool ends;       /* has called exit or exit_group */
	bool superseded; /* another thread's execve goes on under its id */
	int ppid;
	int from;          /* thread that it is taken for the child of ... */
	struct proc *base; /* ... and what it got from there; NULL once that is known */
	struct task *next, *prev;
};

/* What a name stands for. Beyond the table of calls: what changes descriptors. */
enum act {
	ACT_NONE,
	ACT_CALL, /* only what its row of syscalls[] says */
	ACT_OPEN,
	ACT_DUP,
	ACT_DUP2, /* and dup3 */
	ACT_FCNTL,
	ACT_CLOSE,
	ACT_CLOSE_RANGE,
	ACT_PAIR, /* pipe and socketpair: two descriptors in brackets */
	ACT_NEW,  /* some other new descriptor */
	ACT_SEEK,
	ACT_FORK,
	ACT_EXEC,
	ACT_CHDIR,
	ACT_FCHDIR,
	ACT_GETCWD,
	ACT_PRCTL,
	ACT_SENDMSG, /* descriptors may go with it */
	ACT_RECVMSG,
	ACT_NOTE,
	ACT_EXIT,
};

struct call_name {
	char name[24];
	int16_t row;            /* of syscalls[], or -1 */
	uint8_t act, note, len; /* len: of the name */
	int16_t peek;           /* row with MSG_PEEK, or -1 */
};

enum { CALL_SLOTS = 1024, COMMAND_ARGS = 64, PASSED_MAX = 256 };

/* One file of text; strace -ff writes one a thread. */
struct stream {
	struct input *in;
	int tid; /* of a file of -ff; 0: the lines say it */
	struct line line;
	bool held; /* line waits to be taken */
	bool ended;
	bool timed;                /* its lines say when */
	bool table;                /* rows of a summary follow */
	uint64_t time_ns, last_ns; /* of the line at hand, of the one before */
	uint64_t days_ns;          /* that have passed since the first line */
};

struct strace {
	struct text text; /* first */
	struct fdtrack *fdtrack;
	struct call_name call[CALL_SLOTS];
	struct map tasks;              /* tid -> struct task */
	struct task head;              /* of all tasks, the newest first */
	struct stream *stream, **live; /* live: a heap by time, the next one first */
	unsigned nstreams, nlive;
	struct task *broken;  /* whose text broke off last */
	struct input *bad_in; /* where the first bad line is */
	struct task *recent;
	bool begun;
	uint64_t first_ns; /* of the first line: what start_ns counts from */
	int first_tid;
	bool begun_task;
	enum line_clock clock;        /* of the first line */
	char *argv[COMMAND_ARGS + 1]; /* of the first program */
	unsigned argc;
	int32_t pid;
	bool ended;
	int status;
	struct fd_open *passed[PASSED_MAX]; /* on their way over a socket */
	unsigned npassed, messages;
	struct sink *to;
	char path[PATH_MAX];
};

/* One call with all that is known of it. */
struct event {
	struct task *task;
	struct call_text call;
	uint64_t start_ns, dur_ns; /* or OP_NO_TIME */
};

/* Open s->live; the stream whose line is next: 1; 0 at the end of all; -errno. */
int streams_begin(struct strace *s);
int streams_next(struct strace *s, struct stream **out);

/* The time of the line at hand since the first line of all. */
uint64_t stream_now(const struct strace *s, const struct stream *f);

/* Names of calls to what they mean. */
void calls_index(struct strace *s);
const struct call_name *calls_find(const struct strace *s, struct word name);

/* The thread of an id; made if it is new. NULL: no memory. */
struct task *thread_of(struct strace *s, int tid, const struct line *l, uint64_t now_ns);
void thread_named(struct strace *s, struct task *t, struct word comm);
int thread_fork(struct strace *s, const struct event *e);
int thread_exec(struct strace *s, const struct event *e);
int thread_replaced(struct strace *s, struct task *t); /* by another program */
int thread_exit(struct strace *s, struct task *t, int status, uint64_t now_ns);
void thread_free(struct strace *s, struct task *t);

/* Descriptors that were sent and are not waited for any more. */
void forget_passed(struct strace *s);

/* Whether the text of a call that is not finished makes a child. */
bool thread_forks(const char *name, size_t len);

/* An argument of a call; an empty word where there is none. */
static inline struct word event_arg(const struct event *e, int at)
{
	return at >= 0 && (unsigned)at < e->call.nargs ? e->call.arg[at]
						       : (struct word){ "", 0 };
}

/* What fd stands for; made from what -y says if it was not known. May be NULL. */
struct fd_open *fd_look(struct strace *s, struct proc *p, int fd, struct word path);

/* What a call changes that its own operation needs: what it opens. 0 or -errno. */
int call_before(struct strace *s, const struct event *e, const struct call_name *n);

/* What it changes once it has been told with the file it was about: closes, seeks. */
void call_after(struct strace *s, const struct event *e, const struct call_name *n);

/* What a call did: operations to s->to, descriptors, processes. 0 or -errno. */
int call_done(struct strace *s, const struct event *e);

/* The file of a path as a process means it. name: a string of the text. */
uint32_t file_of_path(struct strace *s, const struct proc *p, struct word dir,
	struct word name, enum file_type type);

/* The file that -y names, or 0; what is known of fd before may say the same. */
uint32_t file_of_words(struct strace *s, struct word path, uint32_t known);

int strace_put(struct strace *s, const struct op *op);

#endif
