/*
 * column.c - every number iops can show, once
 */
#include "iops/report.h"
#include "iops/diag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE       ((struct value){ .type = VALUE_NONE })
#define STR(expr)  ((struct value){ .type = VALUE_STR, .str = (expr) })
#define NUM(t, e)  ((struct value){ .type = VALUE_##t, .num = (e) })
#define RATE(t, e) ((struct value){ .type = VALUE_##t, .rate = (e) })

static const struct file *file_of(const struct line *l)
{
	return names_file(l->in->names, l->row->key[0]);
}

static const struct proc *proc_of(const struct line *l)
{
	size_t n;
	const struct proc *p = stats_procs(l->in->stats, &n);

	return &p[l->row->key[0]];
}

static struct value name_of(const struct line *l, uint32_t id)
{
	return id ? STR(names_get(l->in->names, id)) : NONE;
}

static struct value get_path(struct line *l)
{
	return name_of(l, file_of(l)->path);
}

static struct value get_type(struct line *l)
{
	return STR(
		file_type_name(l->dim == DIM_TYPE ? l->row->key[0] : file_of(l)->type));
}

static struct value get_device(struct line *l)
{
	uint32_t major = file_of(l)->major, minor = file_of(l)->minor;
	bool known = file_of(l)->inode;

	if (l->dim == DIM_DEVICE) {
		major = l->row->key[0] >> 32;
		minor = (uint32_t)l->row->key[0];
		known = l->row->key[1] & 1;
	}
	if (!known)
		return NONE;
	snprintf(l->text, sizeof(l->text), "%u:%u", major, minor);
	return STR(l->text);
}

static struct value get_inode(struct line *l)
{
	return file_of(l)->inode ? NUM(COUNT, file_of(l)->inode) : NONE;
}

static struct value get_file_system(struct line *l)
{
	return name_of(l, file_of(l)->fs);
}

static struct value get_name(struct line *l)
{
	return name_of(l, l->row->key[0]);
}

static struct value get_pid(struct line *l)
{
	return NUM(COUNT, proc_of(l)->pid);
}

static struct value get_ppid(struct line *l)
{
	return NUM(COUNT, proc_of(l)->ppid);
}

static struct value get_tid(struct line *l)
{
	return NUM(COUNT, l->row->key[1]);
}

static struct value get_proc_comm(struct line *l)
{
	return name_of(l, proc_of(l)->comm);
}

static struct value get_exe(struct line *l)
{
	return name_of(l, names_file(l->in->names, proc_of(l)->exe)->path);
}

/* Of several runs it may be the word for that: runs.c. */
static bool is_of_one_host(const struct run *run)
{
	return *run->host && (!run->nparts || strcmp(run->host, "several") != 0);
}

static struct value get_host(struct line *l)
{
	switch (l->dim) {
	case DIM_FILE:
		return name_of(l, file_of(l)->host);
	case DIM_DIR:
	case DIM_MOUNT:
		return name_of(l, l->row->key[1]);
	case DIM_DEVICE:
		return name_of(l, l->row->key[1] >> 1);
	case DIM_HOST:
		if (!l->row->key[0] && is_of_one_host(l->in->run))
			return STR(l->in->run->host);
		return name_of(l, l->row->key[0]);
	default:
		return name_of(l, proc_of(l)->host);
	}
}

static struct value get_call(struct line *l)
{
	return STR(names_call_name(l->in->names, l->row->key[0]));
}

static struct value get_kind(struct line *l)
{
	return STR(op_kind_name(l->row->key[0]));
}

static struct value get_error(struct line *l)
{
	return STR(errno_name(l->row->key[0], l->text));
}

static const struct access *access_of(const struct line *l, int write)
{
	static const struct access none;

	return l->row->access ? &l->row->access[write] : &none;
}

#define ACCESS(field, write)                                                             \
	static struct value get_##field##_##write(struct line *l)                        \
	{                                                                                \
		return NUM(COUNT, access_of(l, write)->field);                           \
	}
ACCESS(sequential, 0)
ACCESS(sequential, 1)
ACCESS(consecutive, 0)
ACCESS(consecutive, 1)
ACCESS(random, 0)
ACCESS(random, 1)
ACCESS(extent, 0)
ACCESS(extent, 1)
ACCESS(zero, 0)
ACCESS(zero, 1)
ACCESS(one, 0)
ACCESS(one, 1)

static struct value get_eof(struct line *l)
{
	return NUM(COUNT, l->row->eof);
}

#define BIT(d) (1u << DIM_##d)

const struct column row_columns[] = {
	{ .name = "path",
		.title = "file",
		.help = "path of the file",
		.dims = BIT(FILE),
		.get = get_path },
	{ .name = "type",
		.help = "type of the file",
		.dims = BIT(FILE) | BIT(TYPE),
		.get = get_type },
	{ .name = "device",
		.help = "device number of its file system",
		.dims = BIT(FILE) | BIT(DEVICE),
		.get = get_device },
	{ .name = "inode", .help = "inode number", .dims = BIT(FILE), .get = get_inode },
	{ .name = "file_system",
		.help = "type of its file system",
		.dims = BIT(FILE),
		.get = get_file_system },
	{ .name = "dir",
		.title = "directory",
		.help = "directory of the file",
		.dims = BIT(DIR),
		.get = get_name },
	{ .name = "mount",
		.help = "mount point of its file system",
		.dims = BIT(MOUNT),
		.get = get_name },
	{ .name = "pid",
		.help = "process id",
		.dims = BIT(PROCESS) | BIT(THREAD),
		.get = get_pid },
	{ .name = "tid", .help = "thread id", .dims = BIT(THREAD), .get = get_tid },
	{ .name = "ppid",
		.help = "parent's process id",
		.dims = BIT(PROCESS),
		.get = get_ppid },
	{ .name = "command",
		.help = "name of the command",
		.dims = BIT(PROCESS) | BIT(THREAD),
		.get = get_proc_comm },
	{ .name = "group",
		.help = "name of the group",
		.dims = BIT(GROUP),
		.get = get_name },
	{ .name = "command",
		.help = "name of the command",
		.dims = BIT(COMMAND),
		.get = get_name },
	{ .name = "exe",
		.help = "program of the process",
		.dims = BIT(PROCESS),
		.get = get_exe },
	{ .name = "host",
		.help = "host, where there are several",
		.dims = BIT(FILE) | BIT(DIR) | BIT(DEVICE) | BIT(MOUNT) | BIT(PROCESS) |
			BIT(THREAD) | BIT(HOST),
		.get = get_host },
	{ .name = "call", .help = "system call", .dims = BIT(CALL), .get = get_call },
	{ .name = "kind",
		.help = "kind of operation",
		.dims = BIT(KIND),
		.get = get_kind },
	{ .name = "error",
		.help = "error number by name",
		.dims = BIT(ERROR),
		.get = get_error },
	{ .name = "sequential_reads",
		.help = "reads that began beyond the end of the one before",
		.dims = BIT(FILE),
		.get = get_sequential_0 },
	{ .name = "consecutive_reads",
		.help = "... of these right at its end",
		.dims = BIT(FILE),
		.get = get_consecutive_0 },
	{ .name = "random_reads",
		.help = "reads that began before that end",
		.dims = BIT(FILE),
		.get = get_random_0 },
	{ .name = "sequential_writes",
		.help = "writes likewise",
		.dims = BIT(FILE),
		.get = get_sequential_1 },
	{ .name = "consecutive_writes",
		.help = "writes likewise",
		.dims = BIT(FILE),
		.get = get_consecutive_1 },
	{ .name = "random_writes",
		.help = "writes likewise",
		.dims = BIT(FILE),
		.get = get_random_1 },
	{ .name = "read_extent",
		.help = "highest byte that was read, plus 1",
		.dims = BIT(FILE),
		.get = get_extent_0 },
	{ .name = "write_extent",
		.help = "highest byte that was written, plus 1",
		.dims = BIT(FILE),
		.get = get_extent_1 },
	{ .name = "eof_reads",
		.help = "reads at the end of the file",
		.dims = BIT(FILE),
		.get = get_eof },
	{ .name = "zero_byte_reads",
		.help = "reads of 0 bytes",
		.dims = BIT(FILE),
		.get = get_zero_0 },
	{ .name = "zero_byte_writes",
		.help = "writes of 0 bytes",
		.dims = BIT(FILE),
		.get = get_zero_1 },
	{ .name = "one_byte_reads",
		.help = "reads of 1 byte",
		.dims = BIT(FILE),
		.get = get_one_0 },
	{ .name = "one_byte_writes",
		.help = "writes of 1 byte",
		.dims = BIT(FILE),
		.get = get_one_1 },
	{ .name = NULL },
};

static double per_second(double n, const struct run *run)
{
	return run->elapsed_ns ? n * 1e9 / (double)run->elapsed_ns : 0;
}

#define SERIES(fn, expr)                                                                 \
	static struct value fn(const struct series *s, const struct run *run)            \
	{                                                                                \
		(void)run;                                                               \
		return expr;                                                             \
	}
#define QUANTILE(which, t, q)                                                            \
	SERIES(which##_##q,                                                              \
		s->which.n ? NUM(t, hist_quantile(&s->which, q / 1000.0)) : NONE)
#define MOMENT(which, t, name, expr)                                                     \
	SERIES(which##_##name, s->which.n ? NUM(t, expr) : NONE)

SERIES(operations, NUM(COUNT, s->operations))
SERIES(errors, NUM(COUNT, s->errors))
SERIES(again, NUM(COUNT, s->again))
SERIES(interrupted, NUM(COUNT, s->interrupted))
SERIES(bytes, NUM(BYTES, s->bytes))
SERIES(requested, NUM(BYTES, series_requested(s)))
SERIES(time_ns, s->latency.n || s->time_ns || !s->operations ? NUM(NS, s->time_ns) : NONE)
SERIES(iops, RATE(RATE, per_second((double)s->operations, run)))
SERIES(byte_rate, RATE(BYTE_RATE, per_second((double)s->bytes, run)))
MOMENT(size, BYTES, min, s->size.min)
MOMENT(size, BYTES, mean, s->size.sum / s->size.n)
QUANTILE(size, BYTES, 500)
QUANTILE(size, BYTES, 900)
QUANTILE(size, BYTES, 990)
QUANTILE(size, BYTES, 999)
MOMENT(size, BYTES, max, s->size.max)
MOMENT(latency, NS, min, s->latency.min)
MOMENT(latency, NS, mean, s->latency.sum / s->latency.n)
QUANTILE(latency, NS, 500)
QUANTILE(latency, NS, 900)
QUANTILE(latency, NS, 990)
QUANTILE(latency, NS, 999)
MOMENT(latency, NS, max, s->latency.max)

/* A dot in a name is a level in JSON and an underscore in CSV. */
const struct column series_columns[] = {
	{ .name = "operations", .help = "completed operations", .of_series = operations },
	{ .name = "errors", .help = "calls that failed", .of_series = errors },
	{ .name = "again",
		.help = "calls that would have had to wait (EAGAIN)",
		.of_series = again },
	{ .name = "interrupted",
		.help = "attempts that a signal cut short",
		.of_series = interrupted },
	{ .name = "bytes", .help = "bytes moved", .of_series = bytes },
	{ .name = "requested_bytes",
		.title = "requested",
		.help = "bytes asked for",
		.of_series = requested },
	{ .name = "time_ns",
		.title = "time",
		.help = "time in the calls",
		.of_series = time_ns },
	{ .name = "iops",
		.title = "IOPS",
		.help = "operations per second",
		.of_series = iops },
	{ .name = "bytes_per_second",
		.title = "throughput",
		.help = "bytes per second",
		.of_series = byte_rate },
	{ .name = "size_bytes.min",
		.title = "size min",
		.help = "smallest operation",
		.of_series = size_min },
	{ .name = "size_bytes.mean",
		.title = "size mean",
		.help = "mean size",
		.of_series = size_mean },
	{ .name = "size_bytes.p50",
		.title = "size p50",
		.help = "median size",
		.of_series = size_500 },
	{ .name = "size_bytes.p90",
		.title = "size p90",
		.help = "90 % are no larger",
		.of_series = size_900 },
	{ .name = "size_bytes.p99",
		.title = "size p99",
		.help = "99 % are no larger",
		.of_series = size_990 },
	{ .name = "size_bytes.p999",
		.title = "size p99.9",
		.help = "99.9 % are no larger",
		.of_series = size_999 },
	{ .name = "size_bytes.max",
		.title = "size max",
		.help = "largest operation",
		.of_series = size_max },
	{ .name = "latency_ns.min",
		.title = "min",
		.help = "shortest time in a call",
		.of_series = latency_min },
	{ .name = "latency_ns.mean",
		.title = "mean",
		.help = "mean time in a call",
		.of_series = latency_mean },
	{ .name = "latency_ns.p50",
		.title = "p50",
		.help = "median time in a call",
		.of_series = latency_500 },
	{ .name = "latency_ns.p90",
		.title = "p90",
		.help = "90 % took no longer",
		.of_series = latency_900 },
	{ .name = "latency_ns.p99",
		.title = "p99",
		.help = "99 % took no longer",
		.of_series = latency_990 },
	{ .name = "latency_ns.p999",
		.title = "p99.9",
		.help = "99.9 % took no longer",
		.of_series = latency_999 },
	{ .name = "latency_ns.max",
		.title = "max",
		.help = "longest time in a call",
		.of_series = latency_max },
	{ .name = NULL },
};

/* "latency_ns_p50" and "latency_ns.p50" are the same. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && (*a == *b || (*a == '.' && *b == '_')); a++, b++)
		;
	return *a == *b;
}

bool column_find(const char *name, struct column *out)
{
	for (const struct column *c = row_columns; c->name; c++)
		if (!strcmp(c->name, name)) {
			*out = *c;
			return true;
		}
	for (unsigned class = 0; class <= NCLASS; class ++) {
		const char *prefix = class == NCLASS ? "all" : op_class_name(class);
		size_t len = strlen(prefix);
		bool whole = class == NCLASS && strncmp(name, "all_", 4) != 0;
		if (!whole && (strncmp(name, prefix, len) || name[len] != '_'))
			continue;
		for (const struct column *c = series_columns; c->name; c++)
			if (same_name(c->name, whole ? name : name + len + 1)) {
				*out = *c;
				out->class = class;
				return true;
			}
	}
	return false;
}

const struct series *line_series(const struct line *l, unsigned class)
{
	static const struct series empty;

	if (class == NCLASS)
		return &l->all;
	return l->row->series[class] ? l->row->series[class] : &empty;
}

struct value column_value(const struct column *c, struct line *l)
{
	if (c->of_series)
		return c->of_series(line_series(l, c->class), l->in->run);
	if (c->dims && !(c->dims >> l->dim & 1)) {
		/* Columns of one name may serve several breakdowns, each by its own way.
		 */
		for (const struct column *d = row_columns; d->name; d++)
			if (!strcmp(d->name, c->name) && d->dims >> l->dim & 1)
				return d->get(l);
		return NONE;
	}
	return c->get(l);
}
