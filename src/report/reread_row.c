/*
 * reread_row.c - rows of a JSON report back to rows of statistics
 */
#include "reread_row.h"
#include "iops/diag.h"
#include "iops/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const cJSON *json_get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

int64_t json_value(const cJSON *item)
{
	if (cJSON_IsString(item))
		return (int64_t)strtoull(item->valuestring, NULL, 10);
	double d = cJSON_IsNumber(item) ? item->valuedouble : 0;
	/* What a number cannot hold becomes the nearest that it can. */
	if (d >= 0)
		return (int64_t)(d < 0x1p64 ? (uint64_t)d : UINT64_MAX);
	return d > -0x1p63 ? (int64_t)d : INT64_MIN;
}

uint64_t json_number(const cJSON *o, const char *key)
{
	return (uint64_t)json_value(json_get(o, key));
}

int reread_errno(const char *name)
{
	char buf[16];

	for (int err = 1; name && err < 600; err++)
		if (!strcmp(errno_name(err, buf), name))
			return err;
	return 0;
}

static int digit64(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

char *reread_base64(const char *b, size_t *len)
{
	char *out = malloc(strlen(b) + 1), *to = out;
	uint32_t word = 0, bits = 0;

	for (; out && digit64(*b) >= 0; b++) {
		word = word << 6 | digit64(*b);
		bits += 6;
		if (bits >= 8)
			*to++ = (char)(word >> (bits -= 8));
	}
	if (out)
		*to = 0;
	*len = out ? to - out : 0;
	return out;
}

/* The name of a text, by its base64 twin where it is no UTF-8. 0: null or absent. */
static uint32_t get_name(const struct reread_rows *r, const cJSON *row, const char *key)
{
	struct names *names = stats_names(r->into);
	char twin[40];
	const char *s = cJSON_GetStringValue(json_get(row, key)), *b;

	snprintf(twin, sizeof(twin), "%s_base64", key);
	b = cJSON_GetStringValue(json_get(row, twin));
	if (!s || !b)
		return s ? names_add(names, s, strlen(s)) : 0;
	size_t len;
	char *out = reread_base64(b, &len);
	uint32_t id = out ? names_add(names, out, len) : 0;
	free(out);
	return id;
}

static int get_hist(struct hist *h, const cJSON *q)
{
	const cJSON *one, *buckets = json_get(q, "buckets");
	uint64_t samples = 0;
	int err = 0;

	h->n = json_number(q, "count");
	h->sum = json_number(q, "sum");
	h->min = json_number(q, "min");
	h->max = json_number(q, "max");
	cJSON_ArrayForEach (one, buckets) {
		uint64_t n = json_value(cJSON_GetArrayItem(one, 1));
		samples += n;
		if (!err)
			err = hist_fill(h, json_value(cJSON_GetArrayItem(one, 0)), n);
	}
	return err ? err : buckets && samples != h->n ? -EINVAL : 0;
}

/* S of the contract. */
static int get_series(struct series *s, const cJSON *o)
{
	s->operations = json_number(o, "operations");
	s->errors = json_number(o, "errors");
	s->again = json_number(o, "again");
	s->interrupted = json_number(o, "interrupted");
	s->bytes = json_number(o, "bytes");
	s->requested = json_number(o, "requested_bytes");
	s->time_ns = json_number(o, "time_ns");
	int err = get_hist(&s->size, json_get(o, "size_bytes"));
	return err ? err : get_hist(&s->latency, json_get(o, "latency_ns"));
}

/* What is in all classes together beyond all: the second sides of calls. */
int reread_hist(struct hist *to, const cJSON *q)
{
	struct hist h = { 0 };
	int err = get_hist(&h, q);

	err = err || !h.n ? err : hist_merge(to, &h);
	hist_fini(&h);
	return err;
}

int reread_series(struct series *to, const cJSON *s)
{
	struct series one = { 0 };
	int err = get_series(&one, s);

	err = err ? err : series_merge(to, &one);
	series_fini(&one);
	return err;
}

static int get_pair(struct row *row, struct series *sum, const cJSON *o)
{
	struct series all = { 0 };
	int err = get_series(&all, o);

	sum->operations -= all.operations;
	sum->errors -= all.errors;
	sum->again -= all.again;
	sum->interrupted -= all.interrupted;
	sum->requested -= all.requested;
	sum->time_ns -= all.time_ns;
	sum->bytes = 0;
	hist_subtract(&sum->size, &all.size);
	hist_subtract(&sum->latency, &all.latency);
	series_fini(&all);
	if (err || !(sum->operations | sum->errors | sum->again | sum->interrupted))
		return err;
	return series_of(&row->pair) ? series_merge(row->pair, sum) : -ENOMEM;
}

static bool used(const struct series *s)
{
	return s->operations || s->errors || s->again || s->interrupted;
}

static int get_classes(struct row *row, const cJSON *o, bool everything)
{
	struct series sum = { 0 };
	int err = 0;

	for (int c = 0; c < NCLASS && !err; c++) {
		struct series one = { 0 };
		err = get_series(&one, json_get(o, op_class_name(c)));
		if (!err && used(&one)) {
			err = series_of(&row->series[c])
				      ? series_merge(row->series[c], &one)
				      : -ENOMEM;
			if (!err && (everything || c <= CLASS_WRITE))
				err = series_merge(&sum, &one);
		}
		series_fini(&one);
	}
	if (!err)
		err = get_pair(row, &sum, json_get(o, "all"));
	series_fini(&sum);
	return err;
}

/* Whether anything is in a row: processes without I/O have one as well. */
static bool is_idle(const cJSON *o)
{
	for (int c = 0; c < NCLASS; c++) {
		struct series s = { 0 };
		int err = get_series(&s, json_get(o, op_class_name(c)));
		bool some = used(&s);
		series_fini(&s);
		if (err || some)
			return false;
	}
	return true;
}

static int get_access(struct row *row, const cJSON *o)
{
	static const char *const key[2][6] = {
		{ "sequential_reads", "consecutive_reads", "random_reads", "read_extent",
			"zero_byte_reads", "one_byte_reads" },
		{ "sequential_writes", "consecutive_writes", "random_writes",
			"write_extent", "zero_byte_writes", "one_byte_writes" },
	};

	if (!json_get(o, key[0][0]))
		return 0;
	if (!row->access && !(row->access = calloc(2, sizeof(*row->access))))
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		struct access *a = &row->access[i];
		uint64_t extent = json_number(o, key[i][3]);
		a->sequential += json_number(o, key[i][0]);
		a->consecutive += json_number(o, key[i][1]);
		a->random += json_number(o, key[i][2]);
		a->extent = extent > a->extent ? extent : a->extent;
		a->zero += json_number(o, key[i][4]);
		a->one += json_number(o, key[i][5]);
	}
	row->eof += json_number(o, "eof_reads");
	return 0;
}

static uint32_t host_of(const struct reread_rows *r, const cJSON *o)
{
	uint32_t told = get_name(r, o, "host");

	return told ? told : r->host;
}

static bool get_device(const cJSON *o, uint32_t *major, uint32_t *minor)
{
	const char *s = cJSON_GetStringValue(json_get(o, "device"));

	return s && sscanf(s, "%u:%u", major, minor) == 2;
}

static uint32_t get_file(const struct reread_rows *r, const cJSON *o)
{
	struct file f = { .path = get_name(r, o, "path"),
		.inode = json_number(o, "inode"),
		.fs = get_name(r, o, "file_system"),
		.host = host_of(r, o) };
	int type = file_type_of(cJSON_GetStringValue(json_get(o, "type")));

	get_device(o, &f.major, &f.minor);
	f.type = type < 0 ? FILE_UNKNOWN : type;
	/* Nothing known of it is no file. */
	if (!f.path && !f.inode && f.type == FILE_UNKNOWN)
		return 0;
	uint32_t known = names_find_file(stats_names(r->into), &f);
	names_learn_system(stats_names(r->into), known, f.fs);
	return known ? known : names_add_file(stats_names(r->into), &f);
}

static int64_t add_process(const struct reread_rows *r, const cJSON *o)
{
	struct file exe = { .path = get_name(r, o, "exe"), .type = FILE_REGULAR };
	struct proc p = { .pid = (pid_t)json_number(o, "pid"),
		.ppid = (pid_t)json_number(o, "ppid"),
		.comm = get_name(r, o, "command"),
		.exe = exe.path ? names_add_file(stats_names(r->into), &exe) : 0,
		.host = host_of(r, o),
		.run = r->run };

	return stats_add_proc(r->into, &p);
}

/* Whether a process may be that of a row: of its host and command, if they are told. */
static bool is_process(const struct reread_rows *r, const struct proc *p, const cJSON *o)
{
	uint32_t host = get_name(r, o, "host"), comm = get_name(r, o, "command");

	return p->pid == (pid_t)json_number(o, "pid") && p->run == r->run &&
	       (!host || p->host == host) && (!comm || p->comm == comm);
}

/* The place of the newest one; those of several runs may be alike. */
static uint64_t find_process(const struct reread_rows *r, const cJSON *o)
{
	size_t n;
	const struct proc *p = stats_procs(r->into, &n);

	while (n--)
		if (is_process(r, &p[n], o))
			return n;
	return 0;
}

static int kind_of(const char *name)
{
	for (int k = 0; name && k < OP_NKINDS; k++)
		if (!strcmp(op_kind_name(k), name))
			return k;
	return 0;
}

static int get_key(
	const struct reread_rows *r, enum dim dim, const cJSON *o, uint64_t key[2])
{
	const char *name = cJSON_GetStringValue(json_get(o, dim_name(dim)));
	uint32_t major, minor;
	int64_t at;

	key[0] = key[1] = 0;
	switch (dim) {
	case DIM_FILE:
		key[0] = get_file(r, o);
		return 0;
	case DIM_TYPE:
		key[0] = file_type_of(name) < 0 ? 0 : file_type_of(name);
		return 0;
	case DIM_PROCESS:
		at = add_process(r, o);
		key[0] = (uint64_t)at;
		return at < 0 ? (int)at : 0;
	case DIM_THREAD:
		key[0] = find_process(r, o);
		key[1] = json_number(o, "tid");
		return 0;
	case DIM_CALL:
		key[0] = names_call(
			stats_names(r->into), name ? name : "", name ? strlen(name) : 0);
		return 0;
	case DIM_KIND:
		key[0] = kind_of(name);
		return 0;
	case DIM_DEVICE:
		key[1] = get_device(o, &major, &minor);
		key[0] = key[1] ? (uint64_t)major << 32 | minor : 0;
		key[1] |= (uint64_t)host_of(r, o) << 1;
		return 0;
	case DIM_ERROR:
		key[0] = reread_errno(name);
		return 0;
	case DIM_HOST: /* where there is but one, its row names it all the same */
		key[0] = r->host || r->several ? host_of(r, o) : 0;
		return 0;
	case DIM_DIR:
	case DIM_MOUNT:
		key[1] = host_of(r, o);
		/* fall through */
	default: /* and command: a name */
		key[0] = get_name(r, o, dim_name(dim));
		return 0;
	}
}

static int get_row(const struct reread_rows *r, enum dim dim, const cJSON *o)
{
	bool whole = dim == DIM_CALL || dim == DIM_KIND || dim == DIM_ERROR;
	uint64_t key[2];
	int err = get_key(r, dim, o, key);

	if (err < 0 || (dim == DIM_PROCESS && is_idle(o)))
		return err;
	struct row *row = stats_row(r->into, dim, key);
	if (!row)
		return -ENOMEM;
	err = get_classes(row, o, whole);
	return !err && dim == DIM_FILE ? get_access(row, o) : err;
}

/* Processes that outlived the command are told by their ids. */
static void mark_running(const struct reread_rows *r, const cJSON *running)
{
	const cJSON *one;
	size_t n;

	cJSON_ArrayForEach (one, running) {
		struct proc *p = (struct proc *)stats_procs(r->into, &n);
		while (n--)
			if (!p[n].running_on && is_process(r, &p[n], one)) {
				p[n].running_on = true;
				break;
			}
	}
}

int reread_rows(const struct reread_rows *r, const cJSON *by, const cJSON *running)
{
	/* Threads are found by their processes, which must be there. */
	static const enum dim order[] = { DIM_PROCESS, DIM_FILE, DIM_DIR, DIM_TYPE,
		DIM_THREAD, DIM_COMMAND, DIM_CALL, DIM_KIND, DIM_DEVICE, DIM_MOUNT,
		DIM_ERROR, DIM_HOST, DIM_GROUP };
	const cJSON *one;
	int err = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!(stats_dims(r->into) >> order[i] & 1))
			continue;
		cJSON_ArrayForEach (one, json_get(by, dim_name(order[i])))
			if (!err)
				err = get_row(r, order[i], one);
	}
	mark_running(r, running);
	return err;
}
