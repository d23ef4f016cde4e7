/*
 * stats.h - operations summed by key. A sink on one side, rows on the other.
 */
#ifndef IOPS_STATS_H
#define IOPS_STATS_H

#include "iops/hist.h"
#include "iops/names.h"
#include "iops/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

struct groups;
struct sink;
struct stats;

/* What operations can be summed by. X(name, text) */
#define DIMS(X)                                                                          \
	X(FILE, "file")                                                                  \
	X(DIR, "dir")                                                                    \
	X(TYPE, "type")                                                                  \
	X(PROCESS, "process")                                                            \
	X(THREAD, "thread")                                                              \
	X(COMMAND, "command")                                                            \
	X(CALL, "call")                                                                  \
	X(KIND, "kind")                                                                  \
	X(DEVICE, "device")                                                              \
	X(MOUNT, "mount")                                                                \
	X(ERROR, "error")                                                                \
	X(HOST, "host")                                                                  \
	X(GROUP, "group")

enum dim {
#define X(name, text) DIM_##name,
	DIMS(X)
#undef X
		NDIMS,
};

const char *dim_name(unsigned dim);

/* The dimension of that name, or -1. */
int dim_of(const char *name);

/* Sums of one class of operations. Interrupted attempts, EAGAIN and errors are apart. */
struct series {
	uint64_t operations, errors, again, interrupted;
	uint64_t bytes, time_ns;
	unsigned __int128 requested; /* programs ask for 2^63 bytes: all there is */
	struct hist size, latency;   /* of the operations */
};

/* How a file was accessed, as Darshan counts it; all processes together. */
struct access {
	uint64_t sequential;  /* began beyond the end of the one before */
	uint64_t consecutive; /* of these: right at its end */
	uint64_t random;      /* began before that end */
	uint64_t extent;      /* highest byte touched, plus 1 */
	uint64_t zero, one;   /* operations of 0 bytes and of 1 byte */
	uint64_t last;        /* end of the operation before; valid if any */
	bool any;
	unsigned run; /* that last is of: another run begins anew */
};

/* A row of one dimension: key says of what, by the meaning of its dimension. */
struct row {
	uint64_t key[2];
	struct series *series[NCLASS]; /* NULL: none */
	struct series
		*pair; /* of calls with both sides in this row: counted once in all */
	struct access *access; /* [2]: reads, writes; only by file */
	uint64_t eof;          /* reads that met the end of a regular file */
};

/* A process that was seen. Ids are used again: its index is what tells it. */
struct proc {
	pid_t pid, ppid;
	uint32_t comm, exe;        /* names, file; of the latest program */
	uint32_t host;             /* name; 0 where there is only one */
	unsigned run;              /* which of the runs it was in */
	uint64_t start_ns, end_ns; /* end_ns is 0 while it runs */
	int status;                /* wait status, once ended */
	bool running_on;           /* was left behind when the command ended */
	uint16_t notes;            /* bits of enum op_note */
};

/* One kind of error of one call. */
struct fault {
	uint16_t call;
	int err;
	uint64_t count;
};

/* Bytes by octave of size, exactly: see hist_octave(). */
struct octave {
	uint64_t operations, bytes;
};

struct totals {
	uint64_t lost;
	uint64_t threads, matched, unchecked; /* verified against the kernel's counters */
	int64_t off_calls, off_bytes;         /* by which the others differ */
	uint64_t fast, stopped; /* calls of threads that ended: on the fast path, not */
	uint64_t accounts; /* of threads that ended, of which the next five are sums */
	uint64_t rchar, wchar, storage_read, storage_written, storage_cancelled;
	uint64_t notes[NNOTES];                 /* processes with that remark */
	struct octave size[2][HIST_OCTAVES];    /* reads, writes */
	struct octave pair[HIST_OCTAVES];       /* two-sided calls */
	uint64_t apart_operations, apart_bytes; /* on pipes, sockets and terminals */
};

/* dims: bits of enum dim. file, process and call are always there. NULL: no memory. */
struct stats *stats_new(struct names *names, unsigned dims);
void stats_free(struct stats *s);

/* What DIM_GROUP is by; borrowed. Before the first operation. */
void stats_set_groups(struct stats *s, const struct groups *g);

/*
 * Of a layer that has sums of its own, those that all layers have are not wanted. Before
 * the first operation.
 */
void stats_own_only(struct stats *s, unsigned layer);

/* The sink that feeds s. Owned by s; closing it does nothing. */
struct sink *stats_sink(struct stats *s);

/* All borrowed until the next put. Rows are in the order in which they were first seen.
 */
const struct row *stats_rows(const struct stats *s, enum dim dim, size_t *n);
const struct proc *stats_procs(const struct stats *s, size_t *n);
const struct fault *stats_faults(const struct stats *s, size_t *n);
const struct totals *stats_totals(const struct stats *s);

/* The sums of another layer, or NULL if nothing was seen of it. */
const struct stats *stats_layer(const struct stats *s, unsigned layer);

/* Whether nothing was lost, and no remark tells of I/O that was not counted. */
bool totals_whole(const struct totals *t);
unsigned stats_dims(const struct stats *s);
struct names *stats_names(const struct stats *s);

/* The row that holds everything: to be freed by row_fini(). 0 or -ENOMEM. */
int stats_total(const struct stats *s, struct row *out);
void row_fini(struct row *r);

/*
 * Sum of all reads and writes of a row, two-sided calls once; calls: of everything, as
 * the rows of calls, kinds and errors want it. To be freed by series_fini().
 */
int row_all(const struct row *r, bool everything, struct series *out);

/* The same but for its histograms, which stay empty: nothing is to be freed. */
void row_sums(const struct row *r, bool everything, struct series *out);
void series_fini(struct series *s);

/*
 * For sums that come from elsewhere: the row of a key, made if it is new (NULL: no
 * memory); a process, with its place among stats_procs() (-ENOMEM); an error; the
 * totals; the sums of another layer, made if there are none (NULL: no memory).
 */
struct row *stats_row(struct stats *s, enum dim dim, const uint64_t key[2]);
int64_t stats_add_proc(struct stats *s, const struct proc *p);
int stats_add_fault(struct stats *s, const struct fault *f);
struct totals *stats_totals_of(struct stats *s);
void *stats_layer_sums_of(struct stats *s, unsigned layer); /* if it has its own */
struct stats *stats_layer_of(struct stats *s, unsigned layer);

/* A series that is there. NULL: no memory. Here, as it is asked for every operation. */
static inline struct series *series_of(struct series **s)
{
	if (!*s)
		*s = (struct series *)calloc(1, sizeof(**s));
	return *s;
}

/* Bytes asked for, or the highest number where it is even more. */
static inline uint64_t series_requested(const struct series *s)
{
	return s->requested > UINT64_MAX ? UINT64_MAX : (uint64_t)s->requested;
}

/* Add b to a. 0 or -ENOMEM. */
int series_merge(struct series *a, const struct series *b);

/* Metadata calls have results, but move no bytes. */
static inline bool op_moves(const struct op *op)
{
	return op->kind == OP_READ || op->kind == OP_WRITE || op->kind == OP_PEEK;
}

/* Operations that were summed up where they were seen. */
static inline int series_alike(struct series *s, const struct op *op)
{
	bool moved = op->kind == OP_READ || op->kind == OP_WRITE || op->kind == OP_PEEK;

	s->time_ns += op->dur_ns;
	if (moved && hist_add_many(&s->size, op->want, op->ret) < 0)
		return -12; /* ENOMEM */
	return hist_add_many(&s->latency, op->want, op->dur_ns);
}

/* hist_index() of the size and of the time of an operation that has them. */
struct series_at {
	unsigned size, time;
};

static inline struct series_at series_at(const struct op *op)
{
	return (struct series_at){ hist_index((uint64_t)op->ret),
		hist_index(op->dur_ns) };
}

static inline int series_add_at(
	struct series *s, const struct op *op, struct series_at at)
{
	bool timed = op->dur_ns != OP_NO_TIME && !(op->call & OP_PART);

	if (op->call & OP_SUM) {
		s->operations += op->want;
		s->bytes += op->ret;
		return timed ? series_alike(s, op) : 0;
	}
	if (timed)
		s->time_ns += op->dur_ns;
	if (op->ret < 0) {
		if (op_interrupted(op->ret))
			s->interrupted++;
		else if (op->ret == -11 /* EAGAIN */)
			s->again++;
		else
			s->errors++;
		return 0;
	}
	s->operations++;
	s->requested += op->want;
	if (op_moves(op)) {
		s->bytes += op->ret;
		if (hist_put(&s->size, at.size, op->ret) < 0)
			return -12; /* ENOMEM */
	}
	return timed ? hist_put(&s->latency, at.time, op->dur_ns) : 0;
}

static inline int series_add(struct series *s, const struct op *op)
{
	return series_add_at(s, op, series_at(op));
}

#endif
