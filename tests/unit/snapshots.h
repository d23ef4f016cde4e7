/*
 * snapshots.h - snapshots into a folder of streams, and the rows that came out
 */
#include "streams.h"

#include "iops/snapshot.h"

#include <sys/types.h>

enum { COLUMNS_MAX = 16, NOBODY = 65534 };

struct shot {
	struct rig *r;
	struct snapshots *p;
	struct snapshot_args args;
	const char *root;
	char tree[64];
	uint64_t mono; /* of the last scan; each is an hour after the one before */
	unsigned scans;
};

struct row {
	char *field[COLUMNS_MAX];
};

struct table {
	char *text;
	struct row row[20000];
	size_t n;
};

/* Of struct table, for files. */
enum {
	STAMP,
	PATH,
	SIZE,
	BTIME,
	MTIME,
	ATIME,
	MONO,
	INODE,
	DEVICE,
	MODE,
	UID,
	GID,
	NLINK,
	TYPE,
	FILE_COLUMNS
};

static inline void begin(struct shot *s, unsigned what)
{
	open_folder(s->r);
	s->args.what = what;
	s->args.streams = s->r->s;
	s->args.dir = s->r->out;
	s->args.anon = s->r->args.anon;
	if (!s->args.nroots) {
		s->root = s->tree;
		s->args.roots = &s->root;
		s->args.nroots = 1;
	}
	s->mono = s->r->epoch;
	assert_int_equal(snapshots_open(&s->p, &s->args), 0);
}

static inline const cJSON *note_of(const cJSON *m)
{
	return cJSON_GetObjectItem(
		cJSON_GetObjectItem(m, "notes"), "filesystem_snapshot");
}

/* Another scan, from its beginning to its end. */
static inline void scan(struct shot *s)
{
	unsigned done = 0;

	s->mono += 3600 * SECOND;
	s->scans++;
	for (int i = 0; done < s->scans; i++) {
		assert_true(i < 20000);
		assert_int_equal(snapshots_tick(s->p, s->mono), 0);
		assert_int_equal(streams_flush(s->r->s, s->mono), 0);
		cJSON *m = manifest(s->r);
		if (note_of(m))
			done = number(note_of(m), "scans");
		cJSON_Delete(m);
		usleep(1000);
	}
}

static inline void end(struct shot *s)
{
	assert_int_equal(snapshots_close(s->p), 0);
	assert_int_equal(streams_close(s->r->s), 0);
}

/* All rows of a stream that was ended. */
static inline struct table *table_of(
	const struct shot *s, const char *stream, int columns)
{
	struct table *t = calloc(1, sizeof(*t));
	cJSON *m = manifest(s->r);
	char *p, end = '\n';

	t->text = p = rows_of(s->r, m, stream);
	for (; *p; t->n++) {
		assert_true(t->n < 20000);
		for (int i = 0; i < columns; i++) {
			t->row[t->n].field[i] = csv_field(&p, &end);
			assert_int_equal(end, i == columns - 1 ? '\n' : ',');
		}
	}
	cJSON_Delete(m);
	return t;
}

static inline void table_free(struct table *t)
{
	free(t->text);
	free(t);
}
