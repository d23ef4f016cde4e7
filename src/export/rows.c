/*
 * rows.c - an operation as a row: every field, once
 */
#include "export.h"
#include "iops/diag.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static void set_num(struct cell *c, uint64_t n)
{
	c->null = false;
	c->num = n > INT64_MAX ? INT64_MAX : (int64_t)n; /* "as much as there is" */
}

static void set_str(struct cell *c, const char *s)
{
	c->null = !*s;
	c->str = s;
}

int64_t rows_time(const struct rows *r, uint64_t ns)
{
	return (int64_t)(r->args.started_ns + ns);
}

static void get_start_ns(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, op->start_ns);
}

/* RFC 3339, to the nanosecond: numbers that long are not safe in every language. */
static void get_start_time(struct rows *r, const struct op *op, struct cell *c)
{
	uint64_t ns = (uint64_t)rows_time(r, op->start_ns);
	time_t s = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!r->args.started_ns || !gmtime_r(&s, &tm))
		return;
	size_t n = strftime(r->text, sizeof(r->text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(r->text + n, sizeof(r->text) - n, ".%09uZ", (unsigned)(ns % 1000000000));
	set_str(c, r->text);
}

static void get_duration_ns(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	if (op->dur_ns != OP_NO_TIME && !(op->call & OP_PART))
		set_num(c, op->dur_ns);
}

static void get_host(struct rows *r, const struct op *op, struct cell *c)
{
	(void)op;
	set_str(c, r->host);
}

static void get_boot_id(struct rows *r, const struct op *op, struct cell *c)
{
	(void)op;
	set_str(c, r->run->boot_id);
}

static void get_run_id(struct rows *r, const struct op *op, struct cell *c)
{
	(void)op;
	set_str(c, r->run->id);
}

static void get_pid(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, op->pid);
}

static void get_tid(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, op->tid);
}

static void get_command(struct rows *r, const struct op *op, struct cell *c)
{
	set_str(c, names_get(r->args.names, op->comm));
}

static void get_layer(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_str(c, op_layer_name(op->layer));
}

static void get_kind(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_str(c, op_class_name(op_kind_class(op->kind)));
}

static void get_call(struct rows *r, const struct op *op, struct cell *c)
{
	set_str(c, names_call_name(r->args.names, op->call & OP_CALL));
}

static void get_side(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, !!(op->call & OP_SECOND));
}

static void get_fd(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	if (op->fd >= 0)
		set_num(c, op->fd);
}

static const struct file *file_of(const struct rows *r, const struct op *op)
{
	return names_file(r->args.names, op->file);
}

static void get_path(struct rows *r, const struct op *op, struct cell *c)
{
	set_str(c, names_get(r->args.names, file_of(r, op)->path));
}

static void get_type(struct rows *r, const struct op *op, struct cell *c)
{
	set_str(c, file_type_name(file_of(r, op)->type));
}

static void get_device(struct rows *r, const struct op *op, struct cell *c)
{
	const struct file *f = file_of(r, op);

	if (!f->major && !f->minor)
		return;
	snprintf(r->text, sizeof(r->text), "%" PRIu32 ":%" PRIu32, f->major, f->minor);
	set_str(c, r->text);
}

static void get_inode(struct rows *r, const struct op *op, struct cell *c)
{
	const struct file *f = file_of(r, op);

	if (f->inode)
		set_num(c, f->inode);
}

static void get_offset(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	if (op->offset == OP_NO_OFFSET)
		return;
	c->null = false;
	c->num = op->offset;
}

/* In a sum of operations, want is their number. */
static void get_requested(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	if (!(op->call & OP_SUM))
		set_num(c, op->want);
}

static void get_bytes(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, op_bytes(op));
}

static void get_operations(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	set_num(c, op_count(op));
}

static void get_result(struct rows *r, const struct op *op, struct cell *c)
{
	(void)r;
	c->null = false;
	c->num = op->ret;
}

static void get_errno(struct rows *r, const struct op *op, struct cell *c)
{
	if (op->ret < 0)
		set_str(c, op_errno(op, r->text));
}

#define INT(name, home)                                                                  \
	{                                                                                \
#name, FIELD_INT, home, false, false, get_##name                         \
	}
#define NULLINT(name, home)                                                              \
	{                                                                                \
#name, FIELD_INT, home, true, false, get_##name                          \
	}
#define STR(name, home)                                                                  \
	{                                                                                \
#name, FIELD_STR, home, false, false, get_##name                         \
	}
#define NULLSTR(name, home)                                                              \
	{                                                                                \
#name, FIELD_STR, home, true, false, get_##name                          \
	}
#define BYTES(name, home)                                                                \
	{                                                                                \
#name, FIELD_STR, home, true, true, get_##name                           \
	}

const struct field fields[] = {
	INT(start_ns, HOME_OP),
	NULLSTR(start_time, HOME_OP),
	NULLINT(duration_ns, HOME_OP),
	BYTES(host, HOME_RUN),
	NULLSTR(boot_id, HOME_RUN),
	NULLSTR(run_id, HOME_RUN),
	INT(pid, HOME_OP),
	INT(tid, HOME_OP),
	BYTES(command, HOME_OP),
	STR(layer, HOME_OP),
	STR(kind, HOME_OP),
	STR(call, HOME_OP),
	INT(side, HOME_OP),
	NULLINT(fd, HOME_OP),
	BYTES(path, HOME_FILE),
	STR(type, HOME_FILE),
	NULLSTR(device, HOME_FILE),
	NULLINT(inode, HOME_FILE),
	NULLINT(offset, HOME_OP),
	NULLINT(requested, HOME_OP),
	INT(bytes, HOME_OP),
	INT(operations, HOME_OP),
	INT(result, HOME_OP),
	NULLSTR(errno, HOME_OP),
	{ 0 },
};

int64_t op_bytes(const struct op *op)
{
	bool moves = op->kind == OP_READ || op->kind == OP_WRITE || op->kind == OP_PEEK;

	return moves && op->ret >= 0 ? op->ret : 0;
}

int64_t op_count(const struct op *op)
{
	return op->ret < 0 ? 0 : op->call & OP_SUM ? (int64_t)op->want : 1;
}

const char *op_errno(const struct op *op, char buf[16])
{
	static const char *const restart[] = { "ERESTARTSYS", "ERESTARTNOINTR",
		"ERESTARTNOHAND", "ENOIOCTLCMD", "ERESTART_RESTARTBLOCK" };

	if (op_interrupted(op->ret))
		return restart[-op->ret - 512];
	return errno_name(op->ret < -INT32_MAX ? 0 : (int)-op->ret, buf);
}

static bool one_host(const struct rows *r)
{
	for (unsigned i = 1; i < r->args.nruns; i++)
		if (strcmp(r->args.runs[i].host, r->args.runs[0].host) != 0)
			return false;
	return r->args.nruns;
}

static void set_run(struct rows *r, uint64_t n)
{
	static const struct run unknown = { 0 };

	r->nrun = n < r->args.nruns ? n : r->args.nruns;
	r->run = r->nrun < r->args.nruns ? &r->args.runs[n] : &unknown;
	/* A log of several runs tells their hosts where these differ. */
	r->host = r->nrun < r->args.nruns || !one_host(r) ? r->run->host
							  : r->args.runs[0].host;
}

void rows_init(struct rows *r, const struct export_args *args)
{
	*r = (struct rows){ .args = *args };
	set_run(r, 0);
}

bool rows_take(struct rows *r, const struct op *op)
{
	switch (op->kind) {
	case OP_RUN:
		set_run(r, op->ret);
		if (op->comm)
			r->host = names_get(r->args.names, op->comm);
		break;
	case OP_LOST:
		r->lost += op->ret;
		break;
	}
	return op_kind_class(op->kind) != CLASS_NOTICE;
}

void rows_end(const struct rows *r)
{
	if (r->lost)
		diag("%" PRIu64 " operations were not seen and are not in the export",
			r->lost);
}

struct cell rows_cell(struct rows *r, const struct field *f, const struct op *op)
{
	struct cell c = { .null = true };

	f->get(r, op, &c);
	return c;
}
