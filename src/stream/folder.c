/*
 * folder.c - a folder of streams: from its making to its last manifest
 */
#include "folder.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROTATE_BYTES UINT64_C(100000000)
#define ROTATE_NS    UINT64_C(300000000000)

static int open_dir(struct stream *t)
{
	int dir = t->folder->dir;

	if (mkdirat(dir, t->name, 0777) < 0 && errno != EEXIST)
		return -errno;
	t->dir = openat(dir, t->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->dir < 0 ? -errno : 0;
}

int streams_add(
	struct streams *s, struct stream **out, const char *name, const char *columns)
{
	struct stream *t = NULL;
	struct stream **more = realloc(s->stream, (s->n + 1) * sizeof(struct stream *));
	int err = more ? stream_new(&t, s, name, columns) : -ENOMEM;

	s->stream = more ? more : s->stream;
	if (!err)
		err = open_dir(t);
	if (err < 0)
		folder_failed(s, err, NULL, name);
	else
		err = stream_begin_file(t, wall_mono());
	if (err < 0) {
		if (t)
			stream_free(t);
		return err;
	}
	s->stream[s->n++] = *out = t;
	/* Where this fails it was said, and the next flush tries again. */
	manifest_write(s);
	return 0;
}

int streams_flush(struct streams *s, uint64_t mono_ns)
{
	int first = 0;

	wall_look(&s->wall);
	for (size_t i = 0; i < s->n; i++) {
		struct stream *t = s->stream[i];
		int err = stream_store(t);
		first = first ? first : err;
		if (t->csv.fd < 0 || !t->first_ns || mono_ns < t->first_ns ||
			mono_ns - t->first_ns < s->args.rotate_ns)
			continue;
		err = stream_end_file(t);
		first = first ? first : err;
	}
	int err = s->stale ? manifest_write(s) : 0;
	return first ? first : err;
}

int streams_note(struct streams *s, const char *key, const char *json)
{
	cJSON *value = cJSON_ParseWithOpts(json, NULL, true);

	if (!value)
		return -EINVAL;
	cJSON_Delete(value);
	cJSON_DeleteItemFromObjectCaseSensitive(s->notes, key);
	s->stale = true;
	return cJSON_AddRawToObject(s->notes, key, json) ? 0 : -ENOMEM;
}

static void folder_free(struct streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		stream_free(s->stream[i]);
	if (s->dir >= 0)
		close(s->dir);
	if (s->reserve >= 0)
		close(s->reserve);
	cJSON_Delete(s->notes);
	free(s->stream);
	free(s->path);
	free(s);
}

int streams_open(struct streams **out, const struct streams_args *args)
{
	struct streams *s = calloc(1, sizeof(*s));

	if (!s)
		return diag_err(ENOMEM, "%s", args->dir);
	*s = (struct streams){ .args = *args, .dir = -1, .reserve = -1 };
	if (!args->rotate_bytes)
		s->args.rotate_bytes = ROTATE_BYTES;
	if (!args->rotate_ns)
		s->args.rotate_ns = ROTATE_NS;
	wall_init(&s->wall, args->started_ns, args->epoch_ns);
	s->path = strdup(args->dir);
	s->notes = cJSON_CreateObject();
	int err = s->path && s->notes ? 0 : -ENOMEM;
	if (!err && mkdir(args->dir, 0777) < 0 && errno != EEXIST)
		err = -errno;
	if (!err && (s->dir = open(args->dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		err = -errno;
	if (err < 0)
		diag_err(err, "%s", args->dir);
	else if (!(err = manifest_keep(s)))
		err = manifest_write(s);
	if (err < 0) {
		folder_free(s);
		return err;
	}
	manifest_reserve(s);
	s->args.dir = s->path;
	*out = s;
	return 0;
}

int streams_close(struct streams *s)
{
	if (!s)
		return 0;
	wall_look(&s->wall);
	for (size_t i = 0; i < s->n; i++) {
		stream_store(s->stream[i]);
		if (s->stream[i]->csv.fd >= 0)
			stream_end_file(s->stream[i]);
	}
	s->complete = true;
	manifest_write(s);
	int err = s->err;
	folder_free(s);
	return err;
}
