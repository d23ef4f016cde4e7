/*
 * sqlite.c - a database of four tables: op, file, process, run
 *
 * It is written beside its place and put there when it is whole. What stands in that
 * place is replaced only if it is such a database too.
 */
#include "sqlite.h"
#include "iops/diag.h"
#include "iops/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is half done is of no use to anyone: for the handler, which has no other way to
 * know. Volatile: it may run between any two steps. */
static const char *volatile half_done;

static const int ends[] = { SIGHUP, SIGINT, SIGTERM };

static void leave_nothing(int sig)
{
	const char *path = half_done;

	if (path)
		unlink(path);
	raise(sig); /* of which it dies: SA_RESETHAND */
}

/* path: removed when a signal ends the program; NULL: no more. A signal that is ignored
 * stays so, nohup(1). */
static void guard(const char *path)
{
	struct sigaction was, act = { .sa_handler = leave_nothing,
		.sa_flags = SA_RESETHAND | SA_RESTART };

	half_done = path;
	for (size_t i = 0; path && i < sizeof(ends) / sizeof(*ends); i++)
		if (!sigaction(ends[i], NULL, &was) && was.sa_handler == SIG_DFL)
			sigaction(ends[i], &act, NULL);
}

static int run_sql(struct sqlite *s, const char *sql)
{
	if (!sql)
		return s->err = diag_err(ENOMEM, "%s", s->rows.args.output);
	return s->lib.sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : sqlite_failed(s);
}

/* The columns of op and of the view come from the fields. */
static void put_op_table(FILE *out)
{
	fputs("create table op(id integer primary key, run_id integer not null "
	      "references "
	      "run(id), process_id integer references process(id), file_id integer "
	      "references file(id)",
		out);
	for (const struct field *f = fields; f->name; f++)
		if (f->home == HOME_OP)
			fprintf(out, ", %s %s%s", f->name,
				f->type == FIELD_INT ? "integer" : "text",
				f->nullable ? "" : " not null");
	fputs(");\n", out);
}

static void put_op_view(FILE *out)
{
	static const char *const table[] = { "op", "run", "file" };

	fputs("create view op_row as select", out);
	for (const struct field *f = fields; f->name; f++)
		if (f->home == HOME_FILE && !f->nullable)
			fprintf(out, ", coalesce(file.%s, 'unknown') as %s", f->name,
				f->name);
		else
			fprintf(out, "%s %s.%s as %s", f > fields ? "," : "",
				table[f->home], f->name, f->name);
	fputs(" from op join run on run.id = op.run_id left join file on file.id = "
	      "op.file_id;\n",
		out);
}

static char *schema(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out,
		"pragma journal_mode = off; pragma synchronous = off;\nbegin;\n"
		"pragma application_id = %d; pragma user_version = 1;\n",
		SQLITE_APPLICATION);
	fputs("create table run(id integer primary key, run_id text, host text, boot_id "
	      "text, kernel text, backend text, command text, started_ns integer, "
	      "elapsed_ns integer, lost integer not null);\n"
	      "create table process(id integer primary key, run_id integer not null "
	      "references run(id), pid integer not null, ppid integer, command text, "
	      "exe text, start_ns integer, end_ns integer, status integer);\n"
	      "create table file(id integer primary key, path text, type text not null, "
	      "device text, inode integer, mount text, host text);\n",
		out);
	put_op_table(out);
	put_op_view(out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int prepare(struct sqlite *s)
{
	static const char *const sql[NSTATEMENTS] = {
		[INSERT_FILE] = "insert into file values(?, ?, ?, ?, ?, ?, ?)",
		[INSERT_PROCESS] =
			"insert into process values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
		[INSERT_RUN] = "insert into run values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	};
	char insert[256] = "insert into op values(null, ?, ?, ?";

	for (const struct field *f = fields; f->name; f++)
		if (f->home == HOME_OP)
			strcat(insert, ", ?");
	strcat(insert, ")");
	for (int i = 0; i < NSTATEMENTS; i++)
		if (s->lib.sqlite3_prepare_v2(s->db, sql[i] ? sql[i] : insert, -1,
			    &s->stmt[i], NULL) != SQLITE_OK)
			return sqlite_failed(s);
	return 0;
}

static int sqlite_put(struct sink *sink, const struct op *op)
{
	struct sqlite *s = (struct sqlite *)sink;
	bool row = rows_take(&s->rows, op);

	if (s->err)
		return s->err;
	if (op->kind == OP_LOST && s->rows.nrun <= s->rows.args.nruns)
		s->lost[s->rows.nrun] += op->ret;
	if (op->kind == OP_RUN || op->kind == OP_LOST)
		return sqlite_see_run(s);
	int64_t process = sqlite_process(s, op);
	if (process < 0 || !row)
		return process < 0 ? (int)process : 0;
	return sqlite_insert_op(s, op, process);
}

/* All of it, or nothing in its place. */
static int finish(struct sqlite *s)
{
	mode_t mask = umask(0);
	int err = s->err;

	umask(mask);
	if (!err)
		err = sqlite_insert_rest(s);
	if (!err)
		err = run_sql(s, "commit");
	for (int i = 0; i < NSTATEMENTS; i++)
		s->lib.sqlite3_finalize(s->stmt[i]);
	if (s->lib.sqlite3_close(s->db) != SQLITE_OK && !err)
		err = diag_err(EIO, "%s", s->rows.args.output);
	if (!err && (chmod(s->temporary, 0666 & ~mask) < 0 ||
			    rename(s->temporary, s->rows.args.output) < 0))
		err = diag_err(errno, "%s", s->rows.args.output);
	if (err)
		unlink(s->temporary);
	return err;
}

static void sqlite_free(struct sqlite *s)
{
	map_fini(&s->pids);
	map_fini(&s->files);
	free(s->process);
	free(s->lost);
	free(s->seen);
	guard(NULL);
	free(s->temporary);
	free(s);
}

static int sqlite_close(struct sink *sink)
{
	struct sqlite *s = (struct sqlite *)sink;
	int err = finish(s);

	rows_end(&s->rows);
	sqlite_free(s);
	return err;
}

/* Whether there is nothing, nothing in it, or what this exporter left there. */
static int may_replace(const char *path)
{
	/* Database File Format, 1.3: the application id is at 68, big-endian */
	unsigned char head[72] = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? 0 : diag_err(errno, "%s", path);
	bool regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
	ssize_t n = read(fd, head, sizeof(head));
	close(fd);
	uint32_t id =
		(uint32_t)head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71];
	if (regular && (!n || (!memcmp(head, "SQLite format 3", 16) &&
				      id == SQLITE_APPLICATION)))
		return 0;
	return diag_err(EEXIST, "%s is no export of iops, and stays", path);
}

static int create(struct sqlite *s)
{
	const char *path = s->rows.args.output;
	int err = may_replace(path);

	if (err < 0)
		return err;
	if (asprintf(&s->temporary, "%s.XXXXXX", path) < 0) {
		s->temporary = NULL;
		return diag_err(ENOMEM, "%s", path);
	}
	guard(s->temporary);
	int fd = mkostemp(s->temporary, O_CLOEXEC);
	if (fd < 0)
		return diag_err(errno, "%s", path);
	close(fd);
	if (s->lib.sqlite3_open_v2(s->temporary, &s->db, SQLITE_OPEN_READWRITE, NULL) !=
		SQLITE_OK)
		return sqlite_failed(s);
	char *sql = schema();
	err = run_sql(s, sql);
	free(sql);
	return err ? err : prepare(s);
}

static int sqlite_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "sqlite", .put = sqlite_put, .close = sqlite_close
	};
	static const char *const functions[] = { SQLITE_FUNCTIONS(LATE_NAME) NULL };

	struct sqlite *s = calloc(1, sizeof(*s));
	int err = s ? late_load(LATE_SQLITE3, functions, &s->lib)
		    : diag_err(ENOMEM, "%s", args->output);
	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	rows_init(&s->rows, args);
	s->lost = calloc(args->nruns + 1, sizeof(*s->lost));
	s->seen = calloc(args->nruns + 1, sizeof(*s->seen));
	err = s->lost && s->seen ? create(s) : diag_err(ENOMEM, "%s", args->output);
	if (err < 0) {
		for (int i = 0; i < NSTATEMENTS; i++)
			s->lib.sqlite3_finalize(s->stmt[i]);
		s->lib.sqlite3_close(s->db);
		if (s->temporary)
			unlink(s->temporary);
		sqlite_free(s);
		return err;
	}
	*out = &s->sink;
	return 0;
}

const struct exporter export_sqlite = { .name = "sqlite",
	.help = "a database of the operations, files, processes and runs",
	.open = sqlite_open,
	.makes = "a file" };
