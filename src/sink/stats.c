/*
 * stats.c - sum operations by key
 *
 * Each operation goes to one row of every dimension asked for. Totals are not kept:
 * they are the sum of the rows by call.
 */
#include "iops/stats.h"
#include "iops/groups.h"
#include "iops/layer.h"
#include "iops/sink.h"
#include "bundle.h"
#include "notice.h"
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PID_CACHE = 64 };

struct stats {
	struct sink sink;
	struct names *names;
	unsigned dims;
	struct table table[NDIMS];
	struct bundles *bundles;
	const struct bundle_sum *latest; /* of the operation before, or NULL */
	struct proc *proc;
	size_t nproc, capproc;
	struct map pids; /* pid -> place of its newest process, plus 1 */
	struct recent {
		pid_t pid;
		size_t place;
	} recent[PID_CACHE];
	size_t last_proc; /* of the operation at hand */
	struct fault *fault;
	size_t nfault, capfault;
	struct totals totals;
	const struct groups *groups; /* or NULL */
	unsigned run; /* the one that operations are of, and its host's name */
	uint32_t host;
	struct stats *layer[NLAYERS]; /* others than LAYER_MAIN, each on its own */
	void *sums[NLAYERS];          /* of those that have their own: layer.h */
	const struct layer_sums *own[NLAYERS];
	unsigned own_only; /* layers of which only these are wanted */
};

/* The place of the newest process of that id, plus 1; 0: it was never told of. */
static size_t proc_known(const struct stats *s, pid_t pid)
{
	const struct recent *r = &s->recent[(unsigned)pid % PID_CACHE];

	return r->place && r->pid == pid ? r->place : map_get(&s->pids, pid, s->run);
}

/* The newest process of that id; one that was never told of is made up. -ENOMEM */
static int64_t proc_at(struct stats *s, pid_t pid, bool fresh)
{
	struct recent *r = &s->recent[(unsigned)pid % PID_CACHE];

	if (!fresh && r->place && r->pid == pid)
		return s->last_proc = r->place - 1;

	size_t at = fresh ? 0 : map_get(&s->pids, pid, s->run);
	if (!at) {
		if (rows_room(&s->proc, s->nproc, &s->capproc, sizeof(*s->proc)) < 0 ||
			map_put(&s->pids, pid, s->run, s->nproc + 1) < 0)
			return -ENOMEM;
		s->proc[s->nproc] =
			(struct proc){ .pid = pid, .host = s->host, .run = s->run };
		at = ++s->nproc;
	}
	*r = (struct recent){ pid, at };
	return s->last_proc = at - 1;
}

/* The name of the group of its thread or process. 0: it is in none. */
static uint32_t group_of(struct stats *s, const struct op *op)
{
	int g = s->groups ? groups_of(s->groups, op->tid, op->pid) : -1;

	return g < 0 ? 0 : names_add(s->names, s->groups->name[g], s->groups->len[g]);
}

/* What a file is by. */
static void key_of_file(
	const struct stats *s, enum dim dim, const struct op *op, uint64_t key[2])
{
	const struct file *f = names_file(s->names, op->file);

	switch (dim) {
	case DIM_DIR:
		key[0] = f->dir;
		key[1] = f->host;
		break;
	case DIM_TYPE:
		key[0] = f->type;
		break;
	case DIM_DEVICE:
		key[0] = (uint64_t)f->major << 32 | f->minor;
		key[1] = (uint64_t)f->host << 1 | !!f->inode;
		break;
	default:
		key[0] = f->mount;
		key[1] = f->host;
	}
}

static void key_of(struct stats *s, enum dim dim, const struct op *op, uint64_t key[2])
{
	key[1] = 0;
	switch (dim) {
	case DIM_FILE:
		key[0] = op->file;
		break;
	case DIM_DIR:
	case DIM_TYPE:
	case DIM_DEVICE:
	case DIM_MOUNT:
		key_of_file(s, dim, op, key);
		break;
	case DIM_PROCESS:
		key[0] = s->last_proc;
		break;
	case DIM_THREAD:
		key[0] = s->last_proc;
		key[1] = op->tid;
		break;
	case DIM_COMMAND:
		key[0] = op->comm;
		break;
	case DIM_CALL:
		key[0] = op->call & OP_CALL;
		break;
	case DIM_KIND:
		key[0] = op->kind;
		break;
	case DIM_ERROR:
		key[0] = op->ret < 0 && !op_interrupted(op->ret) ? -op->ret : 0;
		break;
	case DIM_HOST:
		key[0] = s->host;
		break;
	case DIM_GROUP:
		key[0] = group_of(s, op);
		break;
	default:
		key[0] = 0;
	}
}

/* posix: sequential is beyond the last byte of before, consecutive right behind it. */
static void access_add(struct access *a, const struct op *op, unsigned run)
{
	a->zero += op->ret == 0;
	a->one += op->ret == 1;
	if (op->offset == OP_NO_OFFSET || op->ret <= 0)
		return;

	uint64_t begin = op->offset, end = begin + op->ret;
	if (a->any && a->run == run) {
		a->sequential += begin >= a->last;
		a->consecutive += begin == a->last;
		a->random += begin < a->last;
	}
	a->any = true;
	a->run = run;
	a->last = end;
	if (end > a->extent)
		a->extent = end;
}

static int file_add(struct stats *s, struct row *r, const struct op *op, unsigned type)
{
	if (op->ret < 0 || op->call & OP_SUM ||
		(op->kind != OP_READ && op->kind != OP_WRITE))
		return 0;
	if (!r->access && !(r->access = calloc(2, sizeof(*r->access))))
		return -ENOMEM;
	access_add(&r->access[op->kind == OP_WRITE], op, s->run);
	r->eof += op->kind == OP_READ && op->ret == 0 && op->want && type == FILE_REGULAR;
	return 0;
}

static int table_add(
	struct stats *s, enum dim dim, const struct op *op, struct series_at at)
{
	struct table *t = &s->table[dim];
	uint64_t key[2];
	size_t before = t->last;

	key_of(s, dim, op, key);
	struct row *r = row_of(t, key);
	if (!r)
		return -ENOMEM;
	struct series *to = series_of(&r->series[op_kind_class(op->kind)]);
	int err = to ? series_add_at(to, op, at) : -ENOMEM;
	/* The first side came just before: it went to the row that was last. */
	if (!err && op->call & OP_SECOND && t->last == before)
		err = (to = series_of(&r->pair)) ? series_add_at(to, op, at) : -ENOMEM;
	return err;
}

int stats_add_fault(struct stats *s, const struct fault *f)
{
	for (size_t i = 0; i < s->nfault; i++)
		if (s->fault[i].call == f->call && s->fault[i].err == f->err) {
			s->fault[i].count += f->count;
			return 0;
		}
	if (rows_room(&s->fault, s->nfault, &s->capfault, sizeof(*s->fault)) < 0)
		return -ENOMEM;
	s->fault[s->nfault++] = *f;
	return 0;
}

static int fault_add(struct stats *s, const struct op *op)
{
	return stats_add_fault(
		s, &(struct fault){ op->call & OP_CALL, (int)-(uint64_t)op->ret, 1 });
}

static void totals_add(struct stats *s, const struct op *op, unsigned type)
{
	struct totals *t = &s->totals;
	uint64_t n = op->call & OP_SUM ? op->want : 1;
	bool alike = op->call & OP_SUM && op->dur_ns != OP_NO_TIME && op->want;
	unsigned octave = hist_octave(alike ? op->ret / op->want : (uint64_t)op->ret);

	if (op->ret < 0 || (op->kind != OP_READ && op->kind != OP_WRITE))
		return;
	if (!(op->call & OP_SUM) || alike) {
		struct octave *o = &t->size[op->kind == OP_WRITE][octave];
		o->operations += n;
		o->bytes += op->ret;
		t->pair[octave].operations += !!(op->call & OP_SECOND);
	}
	switch (type) {
	case FILE_PIPE:
	case FILE_SOCKET:
	case FILE_TTY:
		t->apart_operations += n;
		t->apart_bytes += op->ret;
	}
}

static int put_run(struct stats *s, const struct op *op)
{
	s->run = (unsigned)op->ret;
	s->host = op->comm;
	memset(s->recent, 0, sizeof(s->recent));
	return 0;
}

/* Of a process without a name, in every layer; one that did nothing is not told of. */
static int put_name(struct stats *s, const struct op *op)
{
	size_t at = proc_known(s, op->pid);

	if (at && !s->proc[at - 1].comm)
		s->proc[at - 1].comm = op->comm;
	for (unsigned i = 0; i < NLAYERS; i++)
		if (s->layer[i])
			put_name(s->layer[i], op);
	return 0;
}

static int put_apart(struct stats *s, const struct op *op, struct series_at at)
{
	int err = 0;

	/* The rows of a first side are where it went, as if it had come here. */
	for (unsigned left = s->latest ? s->dims : 0; left; left &= left - 1) {
		unsigned dim = __builtin_ctz(left);
		s->table[dim].last = s->latest->at[dim];
	}
	s->latest = NULL;
	for (unsigned left = s->dims; left && !err; left &= left - 1)
		err = table_add(s, __builtin_ctz(left), op, at);
	if (!err && op->ret < 0 && op->ret != -EAGAIN && !op_interrupted(op->ret) &&
		!(op->call & OP_SECOND))
		err = fault_add(s, op);
	return err;
}

/* To the rows that it belongs to, or to the bundle of those that belong to the same. */
static int put_rows(struct stats *s, const struct op *op, size_t proc)
{
	enum { PATIENCE = 8 };
	struct series_at at = series_at(op);
	unsigned type = names_file(s->names, op->file)->type;
	uint64_t key[3];
	int err;

	if (!s->bundles && !(s->bundles = bundles_new()))
		return -ENOMEM;
	bundle_key(key, op, proc, type);
	const uint64_t hash = bundle_hash(key);
	struct bundle *b = bundle_at(s->bundles, hash);
	if (op->ret >= 0 && bundle_is(b, key)) {
		struct bundle_sum *sum = &s->bundles->sum[b->sum - 1];
		b->patience = PATIENCE;
		s->bundles->open = true;
		s->latest = sum;
		err = bundle_add(&sum->series, op, at);
	} else {
		err = put_apart(s, op, at);
		if (err >= 0 && op->ret >= 0 && !(op->call & ~OP_CALL) &&
			bundle_yields(b, hash)) {
			s->totals.lost += bundle_settle(s->bundles, b, s->table, s->dims);
			bundle_begin(s->bundles, b, key, op_kind_class(op->kind),
				s->table, s->dims);
		}
	}
	totals_add(s, op, type);
	struct table *files = &s->table[DIM_FILE];
	size_t file = s->latest ? s->latest->at[DIM_FILE] : files->last;
	return err < 0 ? err : file_add(s, &files->row[file], op, type);
}

/* Nothing that can be seen changes: what was summed apart comes to where it belongs. */
static void settle(const struct stats *is)
{
	struct stats *s = (struct stats *)is;

	s->totals.lost += bundles_settle(s->bundles, s->table, s->dims);
}

static int put_main(struct stats *s, const struct op *op)
{
	bool fresh = op->kind == OP_FORK && op->tid == op->pid;
	int64_t at = 0;

	if (op->kind == OP_NAME || op->kind == OP_RUN)
		return (op->kind == OP_NAME ? put_name : put_run)(s, op);
	if (op->kind != OP_LOST)
		at = proc_at(s, op->pid, fresh);

	if (at < 0)
		return -ENOMEM;
	if (op_kind_class(op->kind) == CLASS_NOTICE) {
		notice_put(&s->totals, s->proc ? s->proc + at : NULL, op);
		return 0;
	}
	if (!s->proc[at].comm)
		s->proc[at].comm = op->comm;
	return put_rows(s, op, at);
}

/* The sums that every layer has. */
static __attribute__((noinline)) int put_below(struct stats *s, const struct op *op)
{
	struct stats *below = stats_layer_of(s, op->layer);
	struct op alone = *op;

	if (!below)
		return -ENOMEM;
	alone.layer = LAYER_MAIN;
	if (below->run != s->run) /* a process of another one has that id */
		memset(below->recent, 0, sizeof(below->recent));
	below->run = s->run;
	below->host = s->host;
	int err = put_main(below, &alone);
	/* Of the life of processes only the main layer is told. */
	size_t at = err < 0 ? 0 : proc_known(s, op->pid);
	if (at && below->nproc) {
		struct proc *p = &below->proc[below->last_proc];
		uint32_t comm = s->proc[at - 1].comm ? s->proc[at - 1].comm : p->comm;
		*p = s->proc[at - 1];
		p->comm = comm;
	}
	return err;
}

static int layer_put(struct stats *s, const struct op *op)
{
	if (op->layer >= NLAYERS)
		return -EINVAL;
	const struct layer_sums *own = s->own[op->layer];
	if (own) {
		if (!s->sums[op->layer] && !(s->sums[op->layer] = own->open(s->names)))
			return -ENOMEM;
		int whole = own->put(s->sums[op->layer], op);
		if (whole <= 0 || s->own_only >> op->layer & 1)
			return whole < 0 ? whole : 0;
	}
	return put_below(s, op);
}

static int stats_close(struct sink *sink)
{
	(void)sink;
	return 0;
}

static int stats_put(struct sink *sink, const struct op *op)
{
	struct stats *s = (struct stats *)sink;

	return op->layer == LAYER_MAIN ? put_main(s, op) : layer_put(s, op);
}

static const struct sink_ops stats_ops = {
	.name = "stats",
	.put = stats_put,
	.close = stats_close,
};

struct stats *stats_new(struct names *names, unsigned dims)
{
	struct stats *s = calloc(1, sizeof(*s));

	if (s) {
		s->sink.ops = &stats_ops;
		s->names = names;
		s->dims = dims | 1u << DIM_FILE | 1u << DIM_PROCESS | 1u << DIM_CALL;
		for (unsigned i = 0; i < NLAYERS; i++)
			s->own[i] = layer_sums(i);
	}
	return s;
}

void stats_free(struct stats *s)
{
	if (!s)
		return;
	for (int d = 0; d < NDIMS; d++)
		table_fini(&s->table[d]);
	for (int i = 0; i < NLAYERS; i++) {
		stats_free(s->layer[i]);
		if (s->sums[i])
			layer_sums(i)->close(s->sums[i]);
	}
	bundles_free(s->bundles);
	map_fini(&s->pids);
	free(s->proc);
	free(s->fault);
	free(s);
}

void stats_set_groups(struct stats *s, const struct groups *g)
{
	s->groups = g;
}

void stats_own_only(struct stats *s, unsigned layer)
{
	s->own_only |= 1u << layer;
}

struct sink *stats_sink(struct stats *s)
{
	return &s->sink;
}

const struct row *stats_rows(const struct stats *s, enum dim dim, size_t *n)
{
	settle(s);
	*n = s->table[dim].n;
	return s->table[dim].row;
}

const struct proc *stats_procs(const struct stats *s, size_t *n)
{
	*n = s->nproc;
	return s->proc;
}

const struct fault *stats_faults(const struct stats *s, size_t *n)
{
	*n = s->nfault;
	return s->fault;
}

const struct totals *stats_totals(const struct stats *s)
{
	settle(s);
	return &s->totals;
}

const void *stats_layer_sums(const struct stats *s, unsigned layer)
{
	return layer < NLAYERS ? s->sums[layer] : NULL;
}

struct stats *stats_layer_of(struct stats *s, unsigned layer)
{
	if (!s->layer[layer] && (s->layer[layer] = stats_new(s->names, s->dims)))
		s->layer[layer]->groups = s->groups;
	return s->layer[layer];
}

void *stats_layer_sums_of(struct stats *s, unsigned layer)
{
	const struct layer_sums *own = layer_sums(layer);

	if (own && !s->sums[layer])
		s->sums[layer] = own->open(s->names);
	return s->sums[layer];
}

struct row *stats_row(struct stats *s, enum dim dim, const uint64_t key[2])
{
	return row_of(&s->table[dim], key);
}

int64_t stats_add_proc(struct stats *s, const struct proc *p)
{
	s->run = p->run;
	int64_t at = proc_at(s, p->pid, true);

	if (at >= 0)
		s->proc[at] = *p;
	return at;
}

struct totals *stats_totals_of(struct stats *s)
{
	return &s->totals;
}

bool totals_whole(const struct totals *t)
{
	return !t->lost && !t->notes[NOTE_IO_URING] && !t->notes[NOTE_AIO] &&
	       !t->notes[NOTE_HANDED] && !t->notes[NOTE_COMPAT];
}

const struct stats *stats_layer(const struct stats *s, unsigned layer)
{
	return s->layer[layer];
}

unsigned stats_dims(const struct stats *s)
{
	return s->dims;
}

struct names *stats_names(const struct stats *s)
{
	return s->names;
}

int stats_total(const struct stats *s, struct row *out)
{
	const struct table *t = &s->table[DIM_CALL];
	int err = 0;

	settle(s);
	*out = (struct row){ 0 };
	for (size_t i = 0; i < t->n && !err; i++) {
		const struct row *r = &t->row[i];
		for (int c = 0; c < NCLASS && !err; c++)
			if (r->series[c])
				err = series_of(&out->series[c])
					      ? series_merge(out->series[c], r->series[c])
					      : -ENOMEM;
		if (!err && r->pair)
			err = series_of(&out->pair) ? series_merge(out->pair, r->pair)
						    : -ENOMEM;
	}
	if (err)
		row_fini(out);
	return err;
}
