/*
 * sqlite_rows.c - the rows of each table
 */
#include "sqlite.h"
#include "iops/diag.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int sqlite_failed(struct sqlite *s)
{
	int code = s->lib.sqlite3_errcode(s->db),
	    why = s->lib.sqlite3_system_errno(s->db);

	if (s->err)
		return s->err;
	if (code == SQLITE_FULL)
		why = ENOSPC;
	diag("cannot write to %s: %s", s->rows.args.output, s->lib.sqlite3_errmsg(s->db));
	return s->err = why ? -why : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

/* A row to insert, filled from the left. */
struct insert {
	const struct sqlite_functions *lib;
	sqlite3_stmt *stmt;
	int n;
};

static struct insert begin(const struct sqlite *s, enum statement which)
{
	return (struct insert){ &s->lib, s->stmt[which], 0 };
}

/* Text that is no UTF-8 is kept as it is, as a blob; none is null. */
static void add_text(struct insert *i, const char *s)
{
	if (!*s)
		i->lib->sqlite3_bind_null(i->stmt, ++i->n);
	else if (text_is_utf8(s))
		i->lib->sqlite3_bind_text(i->stmt, ++i->n, s, -1, SQLITE_TRANSIENT);
	else
		i->lib->sqlite3_bind_blob(
			i->stmt, ++i->n, s, strlen(s), SQLITE_TRANSIENT);
}

static void add_known(struct insert *i, int64_t n, bool known)
{
	if (known)
		i->lib->sqlite3_bind_int64(i->stmt, ++i->n, n);
	else
		i->lib->sqlite3_bind_null(i->stmt, ++i->n);
}

static void add(struct insert *i, int64_t n)
{
	add_known(i, n, true);
}

static int end(struct sqlite *s, const struct insert *i)
{
	int err = i->lib->sqlite3_step(i->stmt) == SQLITE_DONE ? 0 : sqlite_failed(s);

	i->lib->sqlite3_reset(i->stmt);
	return err;
}

int sqlite_see_run(struct sqlite *s)
{
	s->seen[s->rows.nrun] = true;
	return 0;
}

static void news(struct process *p, const struct op *op)
{
	bool whole = op->tid == op->pid;

	if (op->kind == OP_EXEC || (op->kind == OP_FORK && whole)) {
		if (op->ret > 0)
			p->ppid = (pid_t)op->ret;
		if (p->start_ns == OP_NO_TIME)
			p->start_ns = op->start_ns;
		p->comm = op->comm;
	}
	if (op->kind == OP_EXEC)
		p->exe = op->file;
	if (op->kind == OP_EXIT && whole) {
		p->end_ns = op->start_ns;
		p->status = (int)op->ret;
	}
	if (!p->comm)
		p->comm = op->comm;
}

int64_t sqlite_process(struct sqlite *s, const struct op *op)
{
	bool fresh = op->kind == OP_FORK && op->tid == op->pid;
	uint64_t pid = (uint32_t)op->pid;
	size_t id = fresh ? 0 : map_get(&s->pids, pid, s->rows.nrun);

	if (!id) {
		int err = array_room(
			&s->process, s->nprocess, &s->capprocess, sizeof(*s->process));
		if (err || (err = map_put(&s->pids, pid, s->rows.nrun, s->nprocess + 1)))
			return s->err = err;
		s->process[s->nprocess] = (struct process){ .pid = op->pid,
			.run = s->rows.nrun,
			.start_ns = OP_NO_TIME,
			.end_ns = OP_NO_TIME };
		id = ++s->nprocess;
		sqlite_see_run(s);
	}
	news(&s->process[id - 1], op);
	return id;
}

static int insert_file(struct sqlite *s, uint32_t id)
{
	const struct names *n = s->rows.args.names;
	const struct file *f = names_file(n, id);
	struct insert row = begin(s, INSERT_FILE);
	char device[24] = "";

	if (map_get(&s->files, id, 0))
		return 0;
	if (map_put(&s->files, id, 0, 1) < 0)
		return s->err = -ENOMEM;
	if (f->major || f->minor)
		snprintf(device, sizeof(device), "%" PRIu32 ":%" PRIu32, f->major,
			f->minor);
	add(&row, id);
	add_text(&row, names_get(n, f->path));
	add_text(&row, file_type_name(f->type));
	add_text(&row, device);
	add_known(&row, f->inode, f->inode);
	add_text(&row, names_get(n, f->mount));
	add_text(&row, f->host ? names_get(n, f->host) : s->rows.host);
	return end(s, &row);
}

int sqlite_insert_op(struct sqlite *s, const struct op *op, int64_t process)
{
	struct insert row = begin(s, INSERT_OP);
	int err = op->file ? insert_file(s, op->file) : 0;

	if (err < 0)
		return err;
	add(&row, s->rows.nrun + 1);
	add(&row, process);
	add_known(&row, op->file, op->file);
	for (const struct field *f = fields; f->name; f++) {
		if (f->home != HOME_OP)
			continue;
		struct cell c = rows_cell(&s->rows, f, op);
		if (f->type == FIELD_STR)
			add_text(&row, c.null ? "" : c.str);
		else
			add_known(&row, c.num, !c.null);
	}
	return end(s, &row);
}

static int insert_process(struct sqlite *s, size_t i)
{
	const struct names *n = s->rows.args.names;
	const struct process *p = &s->process[i];
	struct insert row = begin(s, INSERT_PROCESS);
	bool started = p->start_ns != OP_NO_TIME, ended = p->end_ns != OP_NO_TIME;

	add(&row, i + 1);
	add(&row, p->run + 1);
	add(&row, p->pid);
	add_known(&row, p->ppid, p->ppid);
	add_text(&row, names_get(n, p->comm));
	add_text(&row, names_get(n, names_file(n, p->exe)->path));
	add_known(&row, (int64_t)p->start_ns, started);
	add_known(&row, (int64_t)p->end_ns, ended);
	add_known(&row, p->status, ended);
	return end(s, &row);
}

/* A JSON array: words may hold spaces. On the heap; NULL: no memory. */
static char *command_text(const struct run *run)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (char *const *arg = run->command; arg && *arg; arg++) {
		putc(arg == run->command ? '[' : ',', out);
		text_put_json(out, *arg);
	}
	fputs(run->command && *run->command ? "]" : "", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int insert_run(struct sqlite *s, unsigned i)
{
	static const struct run unknown = { 0 };
	const struct run *run = i < s->rows.args.nruns ? &s->rows.args.runs[i] : &unknown;
	struct insert row = begin(s, INSERT_RUN);
	char *command = command_text(run);

	add(&row, i + 1);
	add_text(&row, run->id);
	add_text(&row, run->host);
	add_text(&row, run->boot_id);
	add_text(&row, run->kernel);
	add_text(&row, run->backend);
	add_text(&row, command ? command : "");
	add_known(&row, run->started_ns, run->started_ns);
	add_known(&row, run->elapsed_ns, run->elapsed_ns);
	add(&row, s->lost[i]);
	free(command);
	return end(s, &row);
}

int sqlite_insert_rest(struct sqlite *s)
{
	int err = 0;

	for (size_t i = 0; i < s->nprocess && !err; i++)
		err = insert_process(s, i);
	for (unsigned i = 0; i <= s->rows.args.nruns && !err; i++)
		if (i < s->rows.args.nruns || s->seen[i])
			err = insert_run(s, i);
	return err;
}
