/*
 * manifest.c - what a folder of streams holds: schema iops.streams/1
 */
#include "folder.h"
#include "iops/anon.h"
#include "iops/diag.h"
#include "iops/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NAME   "manifest.json"
#define SECOND UINT64_C(1000000000)

enum { RESERVE = 128 << 10 };

/* cJSON holds numbers as doubles: integers beyond 2^53 would not be exact. */
static void add_int(cJSON *o, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	cJSON_AddRawToObject(o, key, text);
}

static void add_time(cJSON *o, const char *key, uint64_t ns)
{
	char day[40] = "", text[80];
	time_t s = ns / SECOND;
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", day, ns % SECOND);
	cJSON_AddStringToObject(o, key, text);
}

/* What says whose machine it is; not at all if it is unknown. */
static void add_name(cJSON *o, const char *key, const char *text, const struct anon *a)
{
	char name[ANON_MAX];
	char *clean = text_clean(a ? anon_text(a, text, name) : text);

	if (clean && *clean)
		cJSON_AddStringToObject(o, key, clean);
	free(clean);
}

static void add_machine(cJSON *o, const struct streams *s)
{
	char boot[64] = "";
	struct utsname u = { 0 };
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	uname(&u);
	if (f) {
		if (!fgets(boot, sizeof(boot), f))
			*boot = 0;
		boot[strcspn(boot, "\n")] = 0;
		fclose(f);
	}
	add_name(o, "host", u.nodename, s->args.anon);
	add_name(o, "kernel", u.release, NULL);
	add_name(o, "boot_id", boot, s->args.anon);
}

static void add_clock(cJSON *o, const struct streams *s)
{
	cJSON *c = cJSON_AddObjectToObject(o, "clock");
	time_t second = s->args.started_ns / SECOND;
	struct tm tm;

	add_time(c, "started_at", s->args.started_ns);
	if (s->complete)
		add_time(c, "ended_at", wall_real(&s->wall, wall_mono()));
	add_int(c, "epoch_mono_ns", (int64_t)s->args.epoch_ns);
	add_int(c, "real_moved_ns", s->wall.moved);
	if (localtime_r(&second, &tm))
		add_int(c, "utc_offset_s", tm.tm_gmtoff);
}

static void add_columns(cJSON *o, const struct stream *t)
{
	cJSON *list = cJSON_AddArrayToObject(o, "columns");
	const char *c = t->columns;

	for (unsigned i = 0; i < t->ncolumns; i++) {
		char name[80];
		int n = (int)strcspn(c, ",\n");
		snprintf(name, sizeof(name), "%.*s", n, c);
		cJSON_AddItemToArray(list, cJSON_CreateString(name));
		c += n + 1;
	}
}

static cJSON *stream_object(const struct stream *t)
{
	cJSON *o = cJSON_CreateObject(), *list;

	add_columns(o, t);
	list = cJSON_AddArrayToObject(o, "files");
	for (size_t i = 0; i < t->nparts; i++) {
		const struct part *p = &t->part[i];
		cJSON *f = cJSON_CreateObject();
		cJSON_AddStringToObject(f, "name", p->name);
		add_int(f, "rows", (int64_t)p->rows);
		add_int(f, "bytes", (int64_t)p->bytes);
		add_int(f, "stored_bytes", (int64_t)p->stored);
		cJSON_AddItemToArray(list, f);
	}
	add_int(o, "rows", (int64_t)t->rows);
	add_int(o, "lost", (int64_t)t->lost);
	add_int(o, "dropped", (int64_t)t->dropped);
	return o;
}

/* On the heap; NULL: no memory. */
static char *manifest_text(struct streams *s)
{
	cJSON *o = cJSON_CreateObject(), *streams;

	cJSON_AddStringToObject(o, "schema", "iops.streams/1");
	add_int(o, "schema_version", 1);
	cJSON_AddStringToObject(o, "iops_version", VERSION);
	cJSON_AddBoolToObject(o, "complete", s->complete);
	add_machine(o, s);
	add_clock(o, s);
	cJSON_AddBoolToObject(o, "anonymized", s->args.anon != NULL);
	streams = cJSON_AddObjectToObject(o, "streams");
	for (size_t i = 0; i < s->n; i++)
		cJSON_AddItemToObject(
			streams, s->stream[i]->name, stream_object(s->stream[i]));
	cJSON_AddItemReferenceToObject(o, "notes", s->notes);
	char *text = cJSON_Print(o), *line = NULL;
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	cJSON_free(text);
	cJSON_Delete(o);
	return line;
}

static int write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int err = fd < 0 ? -errno : 0;

	for (size_t len = strlen(text); !err && len;) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			err = -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? n : 0;
	}
	return fd >= 0 && close(fd) < 0 && !err ? -errno : err;
}

/* A new file takes the place of the old one: there always is a whole one. */
static int replace(struct streams *s, const char *text)
{
	char fresh[40];

	snprintf(fresh, sizeof(fresh), NAME ".%ld", (long)getpid());
	int err = write_file(s->dir, fresh, text);
	if (!err && renameat(s->dir, fresh, s->dir, NAME) < 0)
		err = -errno;
	if (err < 0)
		unlinkat(s->dir, fresh, 0);
	return err;
}

int manifest_write(struct streams *s)
{
	char *text = manifest_text(s);
	int err = text ? replace(s, text) : -ENOMEM;

	if (err < 0 && s->complete && s->reserve >= 0) {
		close(s->reserve);
		s->reserve = -1;
		err = text ? replace(s, text) : -ENOMEM;
	}
	free(text);
	/* Else it stays stale: the next flush tries again. */
	s->stale = err < 0;
	return err < 0 ? folder_failed(s, err, NULL, NAME) : 0;
}

/* Where there is no such thing, a full disk has no last manifest. */
void manifest_reserve(struct streams *s)
{
	s->reserve = openat(s->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (s->reserve >= 0 && posix_fallocate(s->reserve, 0, RESERVE)) {
		close(s->reserve);
		s->reserve = -1;
	}
}

int manifest_keep(struct streams *s)
{
	struct stat st;
	char when[WALL_NAME], name[64];

	if (fstatat(s->dir, NAME, &st, 0) < 0)
		return 0;
	wall_name(st.st_mtim.tv_sec * SECOND + st.st_mtim.tv_nsec, when);
	snprintf(name, sizeof(name), "manifest_%s.json", when);
	for (int i = 1; !faccessat(s->dir, name, F_OK, 0); i++)
		snprintf(name, sizeof(name), "manifest_%s_%04d.json", when, i);
	if (renameat(s->dir, NAME, s->dir, name) < 0)
		return folder_failed(s, -errno, NULL, name);
	return 0;
}
