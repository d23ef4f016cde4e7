/*
 * files.c - the stream filesystem_snapshot
 */
#include "parts.h"
#include "feed.h"
#include "pseudo.h"
#include "walk.h"
#include "iops/diag.h"
#include "iops/snapshot.h"
#include "iops/stream.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define COLUMNS                                                                          \
	"snapshot_timestamp,file_path,size,creation_time,modification_time,access_time," \
	"mono_ns,inode,device,mode,uid,gid,nlink,type"

struct files {
	struct walk *walk;
	struct feed *feed;
	struct streams *streams;
	struct stream *stream;
	uint64_t every_ns, due_ns; /* due_ns 0: at once */
	uint64_t scan_ns;          /* when the one in progress began */
	unsigned scans;
	bool given_up;

	/* of the worker while it works */
	int result;
	struct walk_counts last; /* scan */
	uint64_t rows, gone;     /* in all scans */
};

/* A struct walk_file and the path lie behind one another in a record. */
static int hand_over(
	void *ctx, const struct walk_file *file, const char *path, size_t len)
{
	struct iovec part[] = { { (void *)file, sizeof(*file) },
		{ (void *)path, len + 1 } };

	return feed_put(ctx, part, 2);
}

static bool stopped(void *ctx)
{
	return feed_hurried(ctx);
}

static int work(void *ctx, struct feed *feed)
{
	struct files *f = ctx;
	struct walk_out out = { hand_over, stopped, feed };
	int err = walk_scan(f->walk, &out, &f->last);

	f->rows += f->last.rows;
	f->gone += f->last.gone;
	f->result = err;
	return err < 0 && err != -ECANCELED ? diag_err(err, "snapshot of files") : err;
}

static void put_time(struct stream *t, const struct walk_time *when)
{
	put_real_time(t, when->sec, when->nsec);
}

static void put_rest(struct stream *t, const struct walk_file *file)
{
	char mode[] = "0000";

	for (int i = 0; i < 4; i++)
		mode[i] += file->mode >> 3 * (3 - i) & 7;
	stream_u64(t, file->inode);
	stream_device(t, file->major, file->minor);
	stream_word(t, mode);
	stream_u64(t, file->uid);
	stream_u64(t, file->gid);
	stream_u64(t, file->nlink);
	stream_word(t, S_ISLNK(file->mode) ? "symlink" : "regular");
}

static int take(void *ctx, const void *record)
{
	struct files *f = ctx;
	const struct walk_file *file = record;
	struct stream *t = f->stream;

	stream_time(t, f->scan_ns);
	stream_path(t, (const char *)(file + 1));
	if (file->gone) {
		stream_i64(t, -1);
		for (int i = 0; i < 3; i++)
			stream_none(t);
		stream_u64(t, f->scan_ns);
		for (int i = 0; i < 7; i++)
			stream_none(t);
		return stream_end(t);
	}
	stream_u64(t, file->size);
	if (file->born)
		put_time(t, &file->btime);
	else
		stream_none(t);
	put_time(t, &file->mtime);
	put_time(t, &file->atime);
	stream_u64(t, f->scan_ns);
	put_rest(t, file);
	return stream_end(t);
}

static void add_reasons(cJSON *to, const char *key, const struct walk_reason *r, size_t n,
	const char *(*name)(uint32_t what, char buf[16]))
{
	cJSON *o = cJSON_AddObjectToObject(to, key);
	char buf[16];

	for (size_t i = 0; i < n && r[i].n; i++)
		cJSON_AddNumberToObject(
			o, r[i].what ? name(r[i].what, buf) : "other", r[i].n);
}

static const char *reason_errno(uint32_t what, char buf[16])
{
	return errno_name(what, buf);
}

static const char *reason_magic(uint32_t what, char buf[16])
{
	const struct pseudo *p = pseudo_find(what);

	(void)buf;
	return p ? p->name : "other";
}

static int note(struct files *f)
{
	const struct walk_counts *c = &f->last;
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "scans", f->scans);
	cJSON_AddBoolToObject(o, "complete", !f->given_up);
	cJSON_AddNumberToObject(o, "rows", f->rows);
	cJSON_AddNumberToObject(o, "deletions", f->gone);
	cJSON *last = cJSON_AddObjectToObject(o, "last_scan");
	cJSON_AddNumberToObject(last, "directories", c->directories);
	cJSON_AddNumberToObject(last, "files", c->files);
	cJSON_AddNumberToObject(last, "directories_seen_before", c->twice);
	add_reasons(last, "unreadable_directories", c->unreadable, WALK_REASONS,
		reason_errno);
	add_reasons(last, "unreadable_files", c->failed, WALK_REASONS, reason_errno);
	add_reasons(
		last, "pseudo_file_systems", c->pseudo, WALK_REASONS * 4, reason_magic);
	cJSON_AddNumberToObject(o, "memory_bytes", walk_bytes(f->walk));

	char *text = cJSON_PrintUnformatted(o);
	int err = text ? streams_note(f->streams, "filesystem_snapshot", text) : -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(o);
	return err;
}

/* The roots as the kernel sees them, so that no link is followed later. */
static int open_walk(struct files *f, const struct snapshot_args *args)
{
	static const char *const all[] = { "/" };
	const char *const *root = args->nroots ? args->roots : all;
	size_t n = args->nroots ? args->nroots : 1;
	char **real = calloc(n, sizeof(*real));
	int err = real ? 0 : -ENOMEM;
	struct stat st;

	for (size_t i = 0; i < n && !err; i++) {
		real[i] = realpath(root[i], NULL);
		if (!real[i] || stat(real[i], &st) < 0)
			err = diag_err(errno, "%s", root[i]);
		else if (!S_ISDIR(st.st_mode))
			err = diag_err(ENOTDIR, "%s", root[i]);
	}
	if (!err)
		err = walk_new(&f->walk, (const char *const *)real, n);
	for (size_t i = 0; real && i < n; i++)
		free(real[i]);
	free(real);
	return err;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	feed_free(f->feed);
	walk_free(f->walk);
	free(f);
}

int files_open(struct files **out, const struct snapshot_args *args)
{
	static const struct feed_ops ops = { work, take };
	struct files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->streams = args->streams;
	f->every_ns = args->fs_every_ns ? args->fs_every_ns : 3600 * UINT64_C(1000000000);
	int err = open_walk(f, args);
	if (!err)
		err = feed_new(&f->feed, &ops, f);
	if (!err)
		err = streams_add(
			args->streams, &f->stream, "filesystem_snapshot", COLUMNS);
	if (err < 0) {
		files_close(f);
		return err;
	}
	*out = f;
	return 0;
}

int files_begin(struct files *f, uint64_t mono_ns)
{
	if (feed_busy(f->feed) || feed_hurried(f->feed) || f->given_up ||
		mono_ns < f->due_ns)
		return 0;
	f->scan_ns = mono_ns;
	f->due_ns = mono_ns + f->every_ns;
	int err = feed_start(f->feed);
	if (err < 0)
		return diag_err(err, "snapshot of files");
	f->scans++;
	return 0;
}

int files_drain(struct files *f, uint64_t budget_ns)
{
	bool busy = feed_busy(f->feed), was = f->given_up;
	int err = feed_drain(f->feed, budget_ns), late = 0;
	bool ended = busy && !feed_busy(f->feed);

	/* In a scan, or before the first one; or it has failed, and no other can tell
	 * what has changed since. */
	if ((ended && f->result < 0) || (!f->scans && feed_hurried(f->feed)))
		f->given_up = true;
	if (ended || was != f->given_up)
		late = note(f);
	return err && err != -ECANCELED ? err : late;
}

void files_hurry(struct files *f)
{
	feed_hurry(f->feed);
}
