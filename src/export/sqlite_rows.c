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
	int code = sqlite3_errcode(s->db), why = sqlite3_system_errno(s->db);

	if (s->err)
		return s->err;
	if (code == SQLITE_FULL)
		why = ENOSPC;
	diag("cannot write to %s: %s", s->rows.args.output, sqlite3_errmsg(s->db));
	return s->err = why ? -why : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

/* Text that is no UTF-8 is kept as it is, as a blob; none is null. */
static void bind_text(sqlite3_stmt *stmt, int at, const char *s)
{
	if (!*s)
		sqlite3_bind_null(stmt, at);
	else if (text_is_utf8(s))
		sqlite3_bind_text(stmt, at, s, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_blob(stmt, at, s, strlen(s), SQLITE_TRANSIENT);
}

static void bind_known(sqlite3_stmt *stmt, int at, int64_t n, bool known)
{
	if (known)
		sqlite3_bind_int64(stmt, at, n);
	else
		sqlite3_bind_null(stmt, at);
}

static int insert(struct sqlite *s, sqlite3_stmt *stmt)
{
	int err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : sqlite_failed(s);

	sqlite3_reset(stmt);
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
	sqlite3_stmt *stmt = s->stmt[INSERT_FILE];
	char device[24] = "";

	if (map_get(&s->files, id, 0))
		return 0;
	if (map_put(&s->files, id, 0, 1) < 0)
		return s->err = -ENOMEM;
	if (f->major || f->minor)
		snprintf(device, sizeof(device), "%" PRIu32 ":%" PRIu32, f->major,
			f->minor);
	sqlite3_bind_int64(stmt, 1, id);
	bind_text(stmt, 2, names_get(n, f->path));
	bind_text(stmt, 3, file_type_name(f->type));
	bind_text(stmt, 4, device);
	bind_known(stmt, 5, f->inode, f->inode);
	bind_text(stmt, 6, names_get(n, f->mount));
	bind_text(stmt, 7, f->host ? names_get(n, f->host) : s->rows.host);
	return insert(s, stmt);
}

int sqlite_insert_op(struct sqlite *s, const struct op *op, int64_t process)
{
	sqlite3_stmt *stmt = s->stmt[INSERT_OP];
	int at = 4, err = op->file ? insert_file(s, op->file) : 0;

	if (err < 0)
		return err;
	sqlite3_bind_int64(stmt, 1, s->rows.nrun + 1);
	sqlite3_bind_int64(stmt, 2, process);
	bind_known(stmt, 3, op->file, op->file);
	for (const struct field *f = fields; f->name; f++) {
		if (f->home != HOME_OP)
			continue;
		struct cell c = rows_cell(&s->rows, f, op);
		if (f->type == FIELD_STR)
			bind_text(stmt, at++, c.null ? "" : c.str);
		else
			bind_known(stmt, at++, c.num, !c.null);
	}
	return insert(s, stmt);
}

static int insert_process(struct sqlite *s, size_t i)
{
	const struct names *n = s->rows.args.names;
	const struct process *p = &s->process[i];
	sqlite3_stmt *stmt = s->stmt[INSERT_PROCESS];
	bool started = p->start_ns != OP_NO_TIME, ended = p->end_ns != OP_NO_TIME;

	sqlite3_bind_int64(stmt, 1, i + 1);
	sqlite3_bind_int64(stmt, 2, p->run + 1);
	sqlite3_bind_int64(stmt, 3, p->pid);
	bind_known(stmt, 4, p->ppid, p->ppid);
	bind_text(stmt, 5, names_get(n, p->comm));
	bind_text(stmt, 6, names_get(n, names_file(n, p->exe)->path));
	bind_known(stmt, 7, (int64_t)p->start_ns, started);
	bind_known(stmt, 8, (int64_t)p->end_ns, ended);
	bind_known(stmt, 9, p->status, ended);
	return insert(s, stmt);
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
	sqlite3_stmt *stmt = s->stmt[INSERT_RUN];
	char *command = command_text(run);

	sqlite3_bind_int64(stmt, 1, i + 1);
	bind_text(stmt, 2, run->id);
	bind_text(stmt, 3, run->host);
	bind_text(stmt, 4, run->boot_id);
	bind_text(stmt, 5, run->kernel);
	bind_text(stmt, 6, run->backend);
	bind_text(stmt, 7, command ? command : "");
	bind_known(stmt, 8, run->started_ns, run->started_ns);
	bind_known(stmt, 9, run->elapsed_ns, run->elapsed_ns);
	sqlite3_bind_int64(stmt, 10, s->lost[i]);
	free(command);
	return insert(s, stmt);
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
