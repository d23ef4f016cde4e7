/*
 * fio.c - a folder from which fio does the same again: an iolog for each thread
 *
 * fio(1), "Trace file format v3": its times are microseconds.
 */
#include "fio.h"
#include "iops/diag.h"
#include "iops/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 64 << 10, LINE = 256 };

static int no_memory(struct fio *s)
{
	if (!s->err)
		s->err = diag_err(ENOMEM, "%s", s->rows.args.output);
	return s->err;
}

/* Logs are appended to by the chunk: there may be more threads than descriptors. */
static void flush(struct fio *s, size_t at)
{
	struct job *j = &s->job[at];
	char name[32];

	if (!j->len || s->err)
		return;
	snprintf(name, sizeof(name), "%06zu.log", at + 1);
	FILE *f = fio_create(s, name, "ae");
	if (!f)
		return;
	fwrite(j->text, 1, j->len, f);
	fio_finish(s, f, name);
	j->len = 0;
}

__attribute__((format(printf, 3, 4))) static void put_line(
	struct fio *s, size_t at, const char *fmt, ...)
{
	struct job *j = &s->job[at];
	va_list ap;

	if (j->len + LINE > CHUNK)
		flush(s, at);
	if (j->len + LINE > j->cap) {
		size_t more = j->cap ? 2 * j->cap : 2 * LINE;
		char *bigger = realloc(j->text, more);
		if (!bigger) {
			no_memory(s);
			return;
		}
		j->text = bigger;
		j->cap = more;
	}
	va_start(ap, fmt);
	j->len += vsnprintf(j->text + j->len, LINE, fmt, ap);
	va_end(ap);
}

/* Place of the thread's job, or -errno. */
static int64_t job_of(struct fio *s, const struct op *op)
{
	size_t at = map_get(&s->jobs, (uint32_t)op->tid, s->rows.nrun);

	if (at)
		return at - 1;
	s->err = array_room(&s->job, s->njob, &s->capjob, sizeof(*s->job));
	if (s->err)
		return s->err;
	if (map_put(&s->jobs, (uint32_t)op->tid, s->rows.nrun, s->njob + 1) < 0)
		return no_memory(s);
	s->job[s->njob] = (struct job){ .comm = op->comm, .first_ns = op->start_ns };
	put_line(s, s->njob, "fio version 3 iolog\n");
	return s->njob++;
}

static int64_t target_of(struct fio *s, const struct op *op)
{
	size_t at = map_get(&s->targets, op->file, 0);

	if (at)
		return at - 1;
	s->err = array_room(&s->target, s->ntarget, &s->captarget, sizeof(*s->target));
	if (s->err)
		return s->err;
	if (map_put(&s->targets, op->file, 0, s->ntarget + 1) < 0)
		return no_memory(s);
	s->target[s->ntarget] =
		(struct target){ .path = names_file(s->rows.args.names, op->file)->path };
	return s->ntarget++;
}

/* Have fio open the file, and close another one if it has enough of them. */
static void open_target(struct fio *s, size_t at, size_t target, uint64_t us)
{
	struct job *j = &s->job[at];
	char name[SAFE_NAME];
	uint32_t *slot = &j->open[j->turn];

	for (unsigned i = 0; i < OPEN_MAX; i++)
		if (j->open[i] == target + 1)
			return;
	if (*slot) {
		fio_target_name(s, *slot - 1, name);
		put_line(s, at, "%" PRIu64 " data/%s close\n", us, name);
	}
	fio_target_name(s, target, name);
	if (!map_get(&s->added, at, target)) {
		put_line(s, at, "%" PRIu64 " data/%s add\n", us, name);
		if (map_put(&s->added, at, target, 1) < 0)
			no_memory(s);
	}
	put_line(s, at, "%" PRIu64 " data/%s open\n", us, name);
	*slot = target + 1;
	j->turn = (j->turn + 1) % OPEN_MAX;
}

static bool positional(const struct op *op)
{
	unsigned row = op->call & OP_CALL;

	return row < syscall_rows() && syscalls[row].offset >= 0 &&
	       syscalls[row].form != FORM_TWO;
}

/* Where it was, or where the thread's descriptor of the file must have been. */
static uint64_t place(struct fio *s, const struct op *op)
{
	uint64_t key = (uint64_t)(uint32_t)op->tid << 32 | (uint32_t)op->fd, at;

	if (op->offset != OP_NO_OFFSET) {
		at = op->offset;
	} else {
		uint64_t before = map_get(&s->positions, key, op->file);
		at = before ? before - 1 : 0;
		s->guessed++;
	}
	if (!positional(op) &&
		map_put(&s->positions, key, op->file, at + op->ret + 1) < 0)
		no_memory(s);
	return at;
}

static void put_data(struct fio *s, const struct op *op, size_t job, size_t target)
{
	char name[SAFE_NAME];
	uint64_t at = place(s, op), end = at + op->ret;
	struct target *t = &s->target[target];

	if (end > t->size)
		t->size = end;
	if (op->kind == OP_READ && end > t->filled)
		t->filled = end;
	fio_target_name(s, target, name);
	put_line(s, job, "%" PRIu64 " data/%s %s %" PRIu64 " %" PRId64 "\n",
		op->start_ns / 1000, name, op->kind == OP_READ ? "read" : "write", at,
		op->ret);
}

static void put_sync(struct fio *s, const struct op *op, size_t job, size_t target)
{
	const char *call = names_call_name(s->rows.args.names, op->call & OP_CALL);
	char name[SAFE_NAME];

	fio_target_name(s, target, name);
	put_line(s, job, "%" PRIu64 " data/%s %s 0 0\n", op->start_ns / 1000, name,
		strcmp(call, "fsync") ? "datasync" : "sync");
}

/* Data that moved within a file, and what makes it last. */
static bool replayable(const struct fio *s, const struct op *op)
{
	const struct file *f = names_file(s->rows.args.names, op->file);
	bool data = op->kind == OP_READ || op->kind == OP_WRITE;
	bool file = f->type == FILE_REGULAR || f->type == FILE_BLOCK ||
		    f->type == FILE_UNKNOWN;

	if (!f->path || !file || op->call & OP_SUM || op->layer != LAYER_MAIN ||
		(op->offset < 0 && op->offset != OP_NO_OFFSET))
		return false;
	return data ? op->ret > 0 : op->kind == OP_SYNC && op->ret >= 0;
}

/* Ids of threads and descriptors are used again. */
static void forget(struct fio *s, const struct op *op)
{
	if (op->kind == OP_EXIT || op->kind == OP_FORK)
		map_del(&s->jobs, (uint32_t)op->tid, s->rows.nrun);
	if (op->kind == OP_OPEN && op->ret >= 0)
		map_del(&s->positions,
			(uint64_t)(uint32_t)op->tid << 32 | (uint32_t)op->ret, op->file);
	if (op->kind == OP_CLOSE)
		map_del(&s->positions,
			(uint64_t)(uint32_t)op->tid << 32 | (uint32_t)op->fd, op->file);
}

static int fio_put(struct sink *sink, const struct op *op)
{
	struct fio *s = (struct fio *)sink;
	unsigned class = op_kind_class(op->kind);
	uint64_t took = op->dur_ns == OP_NO_TIME ? 0 : op->dur_ns;

	forget(s, op);
	if (!rows_take(&s->rows, op) || s->err)
		return s->err;
	if (!replayable(s, op)) {
		s->left_out += class == CLASS_SYNC || (class <= CLASS_WRITE && op->ret);
		return 0;
	}
	int64_t job = job_of(s, op), target = job < 0 ? job : target_of(s, op);
	if (target < 0)
		return (int)target;
	struct job *j = &s->job[job];
	if (op->start_ns + took > j->last_ns)
		j->last_ns = op->start_ns + took;
	open_target(s, job, target, op->start_ns / 1000);
	if (op->kind == OP_SYNC)
		put_sync(s, op, job, target);
	else
		put_data(s, op, job, target);
	return s->err;
}

static void say(const struct fio *s)
{
	if (s->left_out)
		diag("%" PRIu64 " operations are not in the replay: they failed, or were "
		     "not on a file with a name",
			s->left_out);
	if (s->guessed)
		diag("%" PRIu64
		     " operations of unknown offset go on where the one before "
		     "ended",
			s->guessed);
	rows_end(&s->rows);
}

static int fio_close(struct sink *sink)
{
	struct fio *s = (struct fio *)sink;

	for (size_t i = 0; i < s->njob; i++)
		flush(s, i);
	if (!s->err)
		fio_put_rest(s);
	int err = s->err;
	say(s);
	for (size_t i = 0; i < s->njob; i++)
		free(s->job[i].text);
	free(s->job);
	free(s->target);
	map_fini(&s->jobs);
	map_fini(&s->targets);
	map_fini(&s->added);
	map_fini(&s->positions);
	free(s);
	return err;
}

/* A new folder, or one that is empty. */
static int make_folder(const char *path)
{
	if (!mkdir(path, 0777))
		return 0;

	int err = errno, n = 0;
	DIR *d = err == EEXIST ? opendir(path) : NULL;
	if (!d)
		return diag_err(err == EEXIST ? errno : err, "%s", path);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n ? diag_err(ENOTEMPTY, "%s", path) : 0;
}

static int fio_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "fio", .put = fio_put, .close = fio_close
	};
	int err = make_folder(args->output);
	struct fio *s = err ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return err ? err : diag_err(ENOMEM, "%s", args->output);
	s->sink.ops = &ops;
	rows_init(&s->rows, args);
	*out = &s->sink;
	return 0;
}

const struct exporter export_fio = { .name = "fio",
	.help = "a folder from which fio does it all again",
	.open = fio_open,
	.makes = "a folder" };
