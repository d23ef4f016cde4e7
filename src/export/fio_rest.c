/*
 * fio_rest.c - the jobs, the list of files, and the script that replays
 */
#include "fio.h"
#include "iops/diag.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 4096 /* REAL_MAX_JOBS of fio */ };

static const char script[] = {
	"#!/bin/sh\n"
	"# Replays with fio what iops saw: sh replay.sh [FOLDER [OPTION OF FIO...]]\n"
	"#\n"
	"# The data goes to FOLDER, which is \"data\" beside this script if none is "
	"given,\n"
	"# and never to the files that were seen. files.txt has a line for each: its "
	"name\n"
	"# there, how many bytes of it are read, its size, and the path that was seen.\n"
	"#\n"
	"# Each thread is a job, which does the same sizes at the same offsets in the "
	"same\n"
	"# order, without waiting; it begins when those have ended that had ended "
	"before.\n"
	"#   TIMED=1   keep the recorded times instead, between jobs and within them\n"
	"#   SPARSE=1  do not fill the files that are read: holes are read without "
	"storage\n"
	"set -eu\n"
	"here=$(cd \"$(dirname \"$0\")\" && pwd -P)\n"
	"data=${1:-$here/data}\n"
	"[ $# = 0 ] || shift\n"
	"command -v fio >/dev/null || { echo \"$0: fio is not installed\" >&2; exit 127; "
	"}\n"
	"\n"
	"mkdir -p \"$data\"\n"
	"data=$(cd \"$data\" && pwd -P)\n"
	"if [ ! -e \"$data/.iops-replay\" ] && [ -n \"$(ls -A \"$data\")\" ]; then\n"
	"\techo \"$0: $data: is not empty, and not of a replay\" >&2\n"
	"\texit 1\n"
	"fi\n"
	": >\"$data/.iops-replay\"\n"
	"\n"
	"# Two short names that hold nothing which means something to fio.\n"
	"work=$(mktemp -d)\n"
	"trap 'rm -rf \"$work\"' EXIT\n"
	"trap 'exit 130' HUP INT TERM\n"
	"ln -s \"$here\" \"$work/log\"\n"
	"ln -s \"$data\" \"$work/data\"\n"
	"cd \"$work\"\n"
	"\n"
	"tab=$(printf '\\t')\n"
	"while IFS=$tab read -r name filled size _; do\n"
	"\trm -f \"data/$name\"\n"
	"\tif [ \"${SPARSE:-0}\" = 0 ]; then\n"
	"\t\thead -c \"$filled\" /dev/zero >\"data/$name\"\n"
	"\tfi\n"
	"\ttruncate -s \"$size\" \"data/$name\"\n"
	"done <log/files.txt\n"
	"\n"
	"if [ \"${TIMED:-0}\" = 0 ]; then\n"
	"\tcp log/replay.fio replay.fio\n"
	"else\n"
	"\tsed 's/^replay_no_stall=1/replay_no_stall=0/; s/^; startdelay/startdelay/\n"
	"\t\t/^stonewall/d; /^wait_for/d' log/replay.fio >replay.fio\n"
	"fi\n"
	"if ! [ -s log/files.txt ]; then\n"
	"\techo \"$0: nothing to replay\" >&2\n"
	"\texit 0\n"
	"fi\n"
	"fio \"$@\" replay.fio\n"
};

FILE *fio_create(struct fio *s, const char *name, const char *mode)
{
	char *path;
	FILE *f = NULL;

	if (asprintf(&path, "%s/%s", s->rows.args.output, name) < 0) {
		s->err = diag_err(ENOMEM, "%s", name);
		return NULL;
	}
	if (!(f = fopen(path, mode)))
		s->err = diag_err(errno, "%s", path);
	free(path);
	return f;
}

void fio_finish(struct fio *s, FILE *f, const char *name)
{
	bool bad = fflush(f) || ferror(f);
	int err = errno;

	if (fclose(f) && !bad) {
		bad = true;
		err = errno;
	}
	if (bad && !s->err)
		s->err = diag_err(err ? err : EIO, "cannot write to %s/%s",
			s->rows.args.output, name);
}

/* len bytes at most, with what is not plain made '_'. */
static void put_safe(char *to, size_t len, const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._+-";

	for (; *s && --len; s++)
		*to++ = strchr(plain, *s) ? *s : '_';
	*to = 0;
}

void fio_target_name(const struct fio *s, size_t target, char name[SAFE_NAME])
{
	const char *path = names_get(s->rows.args.names, s->target[target].path);
	const char *slash = strrchr(path, '/');
	int n = snprintf(name, SAFE_NAME, "%06zu-", target + 1);

	put_safe(name + n, SAFE_NAME - n, slash ? slash + 1 : path);
}

static void job_name(const struct fio *s, size_t at, char name[SAFE_NAME])
{
	int n = snprintf(name, SAFE_NAME, "%06zu-", at + 1);

	put_safe(name + n, SAFE_NAME - n, names_get(s->rows.args.names, s->job[at].comm));
}

/* Jobs in the order in which they began: fio can wait only for one that it has read. */
struct turn {
	uint64_t first_ns, last_ns;
	size_t job;
};

static int by_begin(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* What had ended before it began goes first: all others, or the last of those. */
static void put_wait(struct fio *s, FILE *out, const struct turn *t, size_t at)
{
	const struct turn *latest = NULL;
	bool all = true;
	char name[SAFE_NAME];

	for (size_t i = at > JOBS_MAX ? at - JOBS_MAX : 0; i < at; i++) {
		if (t[i].last_ns > t[at].first_ns)
			all = false;
		else if (!latest || t[i].last_ns >= latest->last_ns)
			latest = &t[i];
	}
	if (!latest)
		return;
	job_name(s, latest->job, name);
	if (all)
		fputs("stonewall\n", out);
	else
		fprintf(out, "wait_for=%s\n", name);
}

static void put_jobs(struct fio *s, FILE *out)
{
	struct turn *t = calloc(s->njob + 1, sizeof(*t));
	char name[SAFE_NAME];

	if (!t) {
		s->err = diag_err(ENOMEM, "%s", s->rows.args.output);
		return;
	}
	for (size_t i = 0; i < s->njob; i++)
		t[i] = (struct turn){ s->job[i].first_ns, s->job[i].last_ns, i };
	qsort(t, s->njob, sizeof(*t), by_begin);
	fputs("; replay.sh lays out the files and runs this\n[global]\nioengine=psync\n"
	      "thread=1\niodepth=1\ninvalidate=0\nfadvise_hint=0\nfallocate=none\n"
	      "replay_no_stall=1\n",
		out);
	for (size_t i = 0; i < s->njob; i++) {
		job_name(s, t[i].job, name);
		fprintf(out, "\n[%s]\nread_iolog=log/%06zu.log\n", name, t[i].job + 1);
		put_wait(s, out, t, i);
		fprintf(out, "; startdelay=%" PRIu64 "us\n",
			(t[i].first_ns - t[0].first_ns) / 1000);
	}
	free(t);
}

/* Name, bytes read, size, path; a line each, whatever the path holds. */
static void put_files(struct fio *s, FILE *out)
{
	char name[SAFE_NAME];

	for (size_t i = 0; i < s->ntarget; i++) {
		const struct target *t = &s->target[i];
		fio_target_name(s, i, name);
		fprintf(out, "%s\t%" PRIu64 "\t%" PRIu64 "\t", name, t->filled, t->size);
		for (const char *p = names_get(s->rows.args.names, t->path); *p; p++)
			if (*p == '\n')
				fputs("\\n", out);
			else
				putc(*p, out);
		putc('\n', out);
	}
}

static void put_script(struct fio *s, FILE *out)
{
	(void)s;
	fputs(script, out);
}

void fio_put_rest(struct fio *s)
{
	static const struct {
		const char *name;
		void (*put)(struct fio *s, FILE *out);
	} rest[] = { { "replay.fio", put_jobs }, { "files.txt", put_files },
		{ "replay.sh", put_script } };

	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest) && !s->err; i++) {
		FILE *f = fio_create(s, rest[i].name, "we");
		if (!f)
			return;
		rest[i].put(s, f);
		fio_finish(s, f, rest[i].name);
	}
	if (s->njob > JOBS_MAX)
		diag("%zu threads are more jobs than the %d that fio takes", s->njob,
			JOBS_MAX);
}
