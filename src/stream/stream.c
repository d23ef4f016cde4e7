/*
 * stream.c - rows to files, and when a file ends
 */
#include "folder.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK = 128 << 10, /* bytes that wait until they are written: a block of zstd */
	BUFFER = CHUNK + (64 << 10),
	SEQUENCE_MAX = 1000000,
};

int folder_failed(struct streams *s, int err, const char *stream, const char *name)
{
	if (s->err)
		return err;
	if (stream)
		s->err = diag_err(err, "cannot write %s/%s/%s", s->path, stream, name);
	else
		s->err = diag_err(err, "cannot write %s/%s", s->path, name);
	return err;
}

static struct part *add_part(struct stream *t)
{
	if (t->nparts == t->capparts) {
		size_t cap = t->capparts ? 2 * t->capparts : 8;
		struct part *more = realloc(t->part, cap * sizeof(*more));
		if (!more)
			return NULL;
		t->part = more;
		t->capparts = cap;
	}
	return &t->part[t->nparts];
}

/* A name that no file has, and the file. */
static int open_file(struct stream *t, struct part *p, uint64_t mono_ns)
{
	const struct streams *s = t->folder;
	const char *suffix = s->args.plain ? "" : ".zst";
	char when[WALL_NAME];
	int err = -EEXIST;

	wall_name(wall_real(&s->wall, mono_ns), when);
	while (err == -EEXIST && t->sequence < SEQUENCE_MAX) {
		char number[16] = "";
		if (t->sequence)
			snprintf(number, sizeof(number), "_%04u", t->sequence);
		t->sequence++;
		snprintf(p->name, sizeof(p->name), "%.32s_%s%s.csv%s", t->name, when,
			number, suffix);
		err = csv_open(&t->csv, t->dir, p->name);
	}
	return err;
}

int stream_begin_file(struct stream *t, uint64_t mono_ns)
{
	struct part *p = add_part(t);

	if (!p)
		return folder_failed(t->folder, -ENOMEM, t->name, "");
	*p = (struct part){ 0 };
	int err = open_file(t, p, mono_ns);
	if (err < 0)
		return folder_failed(t->folder, err, t->name, p->name);
	size_t len = strlen(t->columns), all = len;
	err = csv_put(&t->csv, t->columns, &len);
	if (err < 0) {
		csv_close(&t->csv);
		unlinkat(t->dir, p->name, 0);
		return folder_failed(t->folder, err, t->name, p->name);
	}
	p->bytes = all;
	p->stored = csv_stored(&t->csv);
	t->nparts++;
	t->first_ns = 0;
	t->folder->stale = true;
	return 0;
}

int stream_end_file(struct stream *t)
{
	t->folder->stale = true;
	int err = csv_close(&t->csv);
	return err < 0 ? folder_failed(
				 t->folder, err, t->name, t->part[t->nparts - 1].name)
		       : 0;
}

int stream_store(struct stream *t)
{
	if (!t->row)
		return 0;

	struct part *p = &t->part[t->nparts - 1];
	uint64_t rows = t->waiting;
	size_t len = t->row;
	int err = csv_put(&t->csv, t->buf, &len);

	if (err < 0) {
		folder_failed(t->folder, err, t->name, p->name);
		csv_rows(t->buf, len, &rows);
	}
	p->rows += rows;
	p->bytes += len;
	p->stored = csv_stored(&t->csv);
	t->rows += rows;
	t->dropped += t->waiting - rows;
	t->waiting = 0;
	memmove(t->buf, t->buf + t->row, t->n - t->row);
	t->n -= t->row;
	t->row = 0;
	return err;
}

int stream_end(struct stream *t)
{
	uint64_t mono = t->row_ns;
	int err = t->err ? t->err : t->fields < t->ncolumns ? -EINVAL : 0;

	if (err == -ENOMEM)
		folder_failed(t->folder, err, t->name, "");
	if (!err && t->csv.fd < 0)
		err = stream_begin_file(t, mono ? mono : wall_mono());
	t->err = 0;
	t->fields = 0;
	t->row_ns = 0;
	if (err < 0) {
		t->n = t->row;
		t->dropped++;
		return err;
	}
	if (!t->first_ns)
		t->first_ns = mono ? mono : wall_mono();
	t->buf[t->n++] = '\n';
	t->row = t->n;
	t->waiting++;
	bool full = t->part[t->nparts - 1].bytes + t->n >= t->folder->args.rotate_bytes;
	if (t->n >= CHUNK || full)
		err = stream_store(t);
	if (full && t->csv.fd >= 0) {
		int late = stream_end_file(t);
		err = err ? err : late;
	}
	return err;
}

void stream_lost(struct stream *t, uint64_t events)
{
	t->lost += events;
}

void stream_free(struct stream *t)
{
	csv_fini(&t->csv);
	if (t->dir >= 0)
		close(t->dir);
	free(t->name);
	free(t->columns);
	free(t->part);
	free(t->buf);
	free(t);
}

int stream_new(
	struct stream **out, struct streams *s, const char *name, const char *columns)
{
	struct stream *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = (struct stream){ .folder = s, .dir = -1, .cap = BUFFER, .ncolumns = 1 };
	for (const char *c = columns; *c; c++)
		t->ncolumns += *c == ',';
	t->name = strdup(name);
	t->buf = malloc(t->cap);
	bool ok = csv_init(&t->csv, s->args.plain) == 0 && t->name && t->buf;
	if (!ok || asprintf(&t->columns, "%s\n", columns) < 0) {
		stream_free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}
