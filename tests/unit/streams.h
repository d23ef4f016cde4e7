/*
 * streams.h - a folder of streams in a temporary folder, and its reader: RFC 4180 by the
 * letter, zstd by the library, the manifest by cJSON
 */
#include "iops/anon.h"
#include "iops/stream.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#include <cmocka.h>

#define SECOND  UINT64_C(1000000000)
#define STARTED (UINT64_C(1767323045) * SECOND + 678901234) /* 2026-01-02 03:04:05 UTC */

struct rig {
	char dir[32], out[64], said[64];
	struct streams_args args;
	struct streams *s;
	uint64_t epoch;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct timespec t;

	setenv("TZ", "UTC", 1);
	tzset();
	strcpy(r->dir, "/tmp/streamXXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->out, sizeof(r->out), "%s/out", r->dir);
	snprintf(r->said, sizeof(r->said), "%s/said", r->dir);
	clock_gettime(CLOCK_MONOTONIC, &t);
	r->epoch = t.tv_sec * SECOND + t.tv_nsec;
	r->args = (struct streams_args){
		.dir = r->out, .plain = true, .started_ns = STARTED, .epoch_ns = r->epoch
	};
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", r->dir);
	assert_int_equal(system(cmd), 0);
	free(r);
	return 0;
}

static void open_folder(struct rig *r)
{
	assert_int_equal(streams_open(&r->s, &r->args), 0);
}

static inline struct stream *add(struct rig *r, const char *name, const char *columns)
{
	struct stream *t = NULL;

	assert_int_equal(streams_add(r->s, &t, name, columns), 0);
	return t;
}

/* All of a file. The caller frees it. */
static inline char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *p = NULL;
	size_t n = 0, got;

	assert_non_null(f);
	do {
		p = realloc(p, n + (1 << 20) + 1);
		n += got = fread(p + n, 1, 1 << 20, f);
	} while (got);
	fclose(f);
	p[n] = 0;
	*len = n;
	return p;
}

/* What is said on standard error until said_end(), which gives it. */
static inline int said_begin(const struct rig *r)
{
	int keep = dup(STDERR_FILENO),
	    fd = open(r->said, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(keep >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return keep;
}

static inline char *said_end(const struct rig *r, int keep)
{
	size_t len;

	dup2(keep, STDERR_FILENO);
	close(keep);
	return slurp(r->said, &len);
}

static inline uint64_t size_of(const struct rig *r, const char *stream, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", r->out, stream, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* The text of a file, which must be whole frames where it is compressed. */
static inline char *text_of(const struct rig *r, const char *stream, const char *name)
{
	char path[256];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s/%s", r->out, stream, name);
	char *p = slurp(path, &len);
	if (!strstr(name, ".zst"))
		return p;

	size_t cap = 64 << 20, left = 1;
	char *text = malloc(cap + 1);
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer in = { p, len, 0 };
	ZSTD_outBuffer out = { text, cap, 0 };
	while (in.pos < in.size) {
		left = ZSTD_decompressStream(d, &out, &in);
		assert_false(ZSTD_isError(left));
	}
	assert_int_equal(left, 0);
	text[out.pos] = 0;
	ZSTD_freeDCtx(d);
	free(p);
	return text;
}

static inline cJSON *manifest(const struct rig *r)
{
	char path[128];
	size_t len;

	snprintf(path, sizeof(path), "%s/manifest.json", r->out);
	char *text = slurp(path, &len);
	cJSON *o = cJSON_Parse(text);
	assert_non_null(o);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(o, "schema")), "iops.streams/1");
	free(text);
	return o;
}

static inline const cJSON *stream_of(const cJSON *o, const char *name)
{
	const cJSON *s = cJSON_GetObjectItem(cJSON_GetObjectItem(o, "streams"), name);

	assert_non_null(s);
	return s;
}

static inline uint64_t number(const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(o, key);

	assert_true(cJSON_IsNumber(n));
	return (uint64_t)n->valuedouble;
}

static inline bool is_true(const cJSON *o, const char *key)
{
	const cJSON *b = cJSON_GetObjectItem(o, key);

	assert_true(cJSON_IsBool(b));
	return cJSON_IsTrue(b);
}

static inline int nfiles(const cJSON *o, const char *stream)
{
	return cJSON_GetArraySize(cJSON_GetObjectItem(stream_of(o, stream), "files"));
}

static inline const cJSON *file_of(const cJSON *o, const char *stream, int i)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(stream_of(o, stream), "files"), i);
}

static inline const char *file_name(const cJSON *o, const char *stream, int i)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(file_of(o, stream, i), "name"));
}

/* The field at *p, unquoted in place, and what ends it: ',' or '\n'. */
static inline char *csv_field(char **p, char *end)
{
	char *s = *p, *from = s, *to = s;

	if (*from == '"') {
		for (from++; *from != '"' || from[1] == '"'; *to++ = *from++) {
			assert_true(*from);
			from += *from == '"';
		}
		from++;
	} else {
		while (*from && !strchr(",\n", *from)) {
			assert_true(*from != '"' && *from != '\r');
			*to++ = *from++;
		}
	}
	*end = *from;
	assert_true(*end == ',' || *end == '\n');
	*p = from + 1;
	*to = 0;
	return s;
}

/* All rows of all files of a stream, behind one another and without the headers; each
 * file agrees with the manifest. */
static inline char *rows_of(const struct rig *r, const cJSON *o, const char *stream)
{
	char *all = calloc(1, 1), header[256] = "";
	const cJSON *c;

	cJSON_ArrayForEach(c, cJSON_GetObjectItem(stream_of(o, stream), "columns"))
	{
		strcat(header, *header ? "," : "");
		strcat(header, c->valuestring);
	}
	strcat(header, "\n");
	for (int i = 0; i < nfiles(o, stream); i++) {
		char *text = text_of(r, stream, file_name(o, stream, i)), *p = text, end;
		size_t len = strlen(text), head = strlen(header), rows = 0;
		assert_memory_equal(text, header, head);
		assert_int_equal(number(file_of(o, stream, i), "bytes"), len);
		all = realloc(all, strlen(all) + len + 1);
		strcat(all, text + head);
		for (p += head; *p; rows += end == '\n')
			csv_field(&p, &end);
		assert_int_equal(number(file_of(o, stream, i), "rows"), rows);
		free(text);
		assert_int_equal(number(file_of(o, stream, i), "stored_bytes"),
			size_of(r, stream, file_name(o, stream, i)));
	}
	return all;
}
