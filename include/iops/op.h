/*
 * op.h - one finished operation: the only record that flows through iops.
 */
#ifndef IOPS_OP_H
#define IOPS_OP_H

#include <stdint.h>

/* What an operation counts as. Every kind belongs to one class. */
enum op_class {
	CLASS_READ,
	CLASS_WRITE,
	CLASS_SYNC,
	CLASS_META,
	CLASS_PEEK, /* shows data without consuming it: MSG_PEEK, tee */
	NCLASS,
	CLASS_NOTICE = NCLASS, /* not I/O: process life, losses, remarks */
};

/* X(name, text, class) */
#define OP_KINDS(X)                                                                      \
	X(READ, "read", CLASS_READ)                                                      \
	X(WRITE, "write", CLASS_WRITE)                                                   \
	X(SYNC, "sync", CLASS_SYNC)                                                      \
	X(OPEN, "open", CLASS_META)                                                      \
	X(CLOSE, "close", CLASS_META)                                                    \
	X(META, "meta", CLASS_META)                                                      \
	X(PEEK, "peek", CLASS_PEEK)                                                      \
	X(FORK, "fork", CLASS_NOTICE) /* a task is born: ret = parent's pid */           \
	X(EXEC, "exec", CLASS_NOTICE) /* comm and file are the new program's */          \
	X(EXIT, "exit", CLASS_NOTICE) /* ret = wait status; tid == pid: the process */   \
	X(VERIFY, "verify", CLASS_NOTICE) /* a thread's end: ret = calls, offset = */    \
					  /* bytes that the kernel counted beyond us; */ \
	/* want = calls we counted; fd = -1: unknown */                                  \
	X(LEDGER, "ledger", CLASS_NOTICE) /* a thread's end: ret bytes were read from */ \
	/* storage on its account, want were made dirty or written, offset of these */   \
	/* were thrown away before they were written */                                  \
	X(NOTE, "note", CLASS_NOTICE) /* ret = enum op_note */                           \
	X(LOST, "lost", CLASS_NOTICE) /* ret operations were not seen */                 \
	X(RUN, "run", CLASS_NOTICE)   /* what follows is of run number ret; comm: */     \
				      /* its host's name, 0 if all are of one */         \
	X(FAST, "fast", CLASS_NOTICE) /* a thread's end: ret calls did not stop, want */ \
				      /* did, of those that count, failed ones too */    \
	X(SPAN, "span", CLASS_NOTICE) /* dur_ns passed between two events, which call */ \
				      /* tells ("block:q2c"); ret bytes of both */       \
	X(DEVICE, "device",                                                              \
		CLASS_NOTICE)           /* of a layer: fd is a device, file its node */  \
	X(CHARS, "chars", CLASS_NOTICE) /* a thread's end: rchar (ret) and wchar */      \
					/* (want) of its account: proc_pid_io(5) */      \
	X(NAME, "name", CLASS_NOTICE)   /* the process is called comm, and was before */

enum op_kind {
#define X(name, text, class) OP_##name,
	OP_KINDS(X)
#undef X
		OP_NKINDS,
};

/* Remarks about a task that the report has to make. X(name, text) */
#define OP_NOTES(X)                                                                      \
	X(IO_URING, "io_uring")           /* its I/O is not counted */                   \
	X(AIO, "aio")                     /* likewise */                                 \
	X(SETUID, "setuid")               /* ran without the rights of its set-id bit */ \
	X(HANDED, "handed over")          /* set-id program left alone, not traced */    \
	X(PTRACE, "ptrace")               /* asked to trace and was refused */           \
	X(SUPERVISED, "seccomp notifier") /* its calls stop one by one from here on */   \
	X(RUNNING, "still running")       /* the command ended before it did */          \
	X(COMPAT, "unknown ABI")          /* calls of an ABI that iops does not know */  \
	X(PATCHED, "left patched")        /* something of ours stays in its memory */

enum op_note {
#define X(name, text) NOTE_##name,
	OP_NOTES(X)
#undef X
		NNOTES,
};

/* Where an operation was seen. Layers are never summed with one another. X(name, text) */
#define OP_LAYERS(X)                                                                     \
	X(MAIN, "main") /* what the run is about: the calls of run and attach */         \
	X(BLOCK, "block")                                                                \
	X(CACHE, "cache")                                                                \
	X(NET, "net")                                                                    \
	X(FAULT, "fault")

enum op_layer {
#define X(name, text) LAYER_##name,
	OP_LAYERS(X)
#undef X
		NLAYERS,
};

/*
 * Operations of LAYER_BLOCK are events of requests, whoever saw them:
 *
 *   call    block:queue (Q) getrq (G) merge (M) insert (I) issue (D) requeue (R)
 *           complete (C) split (X) remap (A); of a META one, with :discard or
 *           :passthrough (whatever else is not data) behind it. Without data: plug (P)
 *           unplug (U, UT) finish (the end of a bio whose flush is complete) other
 *   kind    READ, WRITE, SYNC (flush), META
 *   dur_ns  what passed since the event before, if that is known; start_ns is that one's:
 *           Q to G, G to I, Q to M, I to D, D to R, D to C (the last D). The others have
 *           none
 *   want    bytes; of remap: the place where it was to go before
 *   ret     like want; of complete: what was moved, or -errno. A request of which only a
 *           part failed is two: that which was moved has OP_PART and no time
 *   offset  in bytes on the device
 *   fd      the device, major << 20 | minor; an OP_DEVICE names it
 *   file    the one that the bytes are of, or the device's
 *   pid     whoever queued it, not who issued or completed it
 *
 * Between events that do not follow one another: OP_SPAN, call block:q2c (one for each
 * bio), or any other of q2q q2g g2i q2m i2d d2c that no event has told.
 * Calls of other names are completed transfers.
 *
 * Those of LAYER_CACHE are want pages of a file, ret bytes, by what became of them: see
 * src/layer/cache.c. cache:left comes at the end: so many are dirty by then.
 */
#define OP_NO_OFFSET INT64_MIN
#define OP_NO_TIME   UINT64_MAX /* dur_ns where the time is not known */

/*
 * Bits of op.call above the number of the call: a row of syscalls[], or what
 * names_call() gave for a name that is none.
 */
enum {
	OP_SECOND = 0x8000, /* the second side of the two-sided call just before it */
	OP_PART = 0x4000,   /* a further message of the call before: no time of its own */
	OP_SUM = 0x2000,    /* ret bytes are the sum of want operations; so is dur_ns */
			    /* where it is known, and then they were alike: of one */
			    /* octave of size and one of time */
	OP_CALL = 0x1fff,
};

/* One finished operation, 64 bytes. */
struct op {
	uint64_t start_ns; /* since the session began, monotonic */
	uint64_t dur_ns;   /* or OP_NO_TIME */
	int64_t ret;       /* bytes moved or result, or -errno */
	uint64_t want;     /* bytes asked for */
	int64_t offset;    /* in the file, or OP_NO_OFFSET */
	uint32_t file;     /* ids in names; 0 unknown */
	uint32_t comm;
	int32_t pid, tid;
	int32_t fd; /* -1 if none */
	uint8_t kind;
	uint8_t layer; /* enum op_layer */
	uint16_t call; /* names_call_name() knows it; and the OP_ bits */
};

_Static_assert(sizeof(struct op) == 64, "op must fill one cache line");

/* A result that the kernel keeps to itself: the call is made again or becomes EINTR. */
static inline int op_interrupted(int64_t ret)
{
	return ret <= -512 && ret >= -516; /* ERESTARTSYS ... ERESTART_RESTARTBLOCK */
}

const char *op_kind_name(unsigned kind);
static inline enum op_class op_kind_class(unsigned kind)
{
	static const uint8_t class[OP_NKINDS] = {
#define X(name, text, class) [OP_##name] = class,
		OP_KINDS(X)
#undef X
	};

	return kind < OP_NKINDS ? (enum op_class) class[kind] : CLASS_NOTICE;
}

const char *op_class_name(unsigned class);
const char *op_note_name(unsigned note);
const char *op_layer_name(unsigned layer);

#endif
