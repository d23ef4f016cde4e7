/*
 * snapfiles.h - a tree of files, and what the rows say of them
 */
#include "snapshots.h"

#include <inttypes.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

static inline int begin_test(void **state)
{
	struct shot *s = calloc(1, sizeof(*s));

	setup((void **)&s->r);
	snprintf(s->tree, sizeof(s->tree), "%s/tree", s->r->dir);
	/* Where root would be let in, another is not. */
	if (geteuid() == 0) {
		assert_int_equal(chown(s->r->dir, NOBODY, NOBODY), 0);
		assert_int_equal(seteuid(NOBODY), 0);
	}
	assert_int_equal(mkdir(s->tree, 0755), 0);
	*state = s;
	return 0;
}

static inline int end_test(void **state)
{
	struct shot *s = *state;
	static const char *const mounted[] = { "again", "proc", "real" };
	char path[128];

	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	/* Where a test has failed, it must not be emptied through its mounts. */
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", s->tree, mounted[i]);
		umount2(path, MNT_DETACH);
	}
	teardown((void **)&s->r);
	free(s);
	return 0;
}

/* The path of a name in the tree: good for a few calls. */
static inline const char *at(const struct shot *s, const char *name)
{
	static char path[4][4096];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", s->tree, name);
	return path[i];
}

static inline void make_file(const struct shot *s, const char *name, size_t size)
{
	int fd = open(at(s, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static inline void make_dir(const struct shot *s, const char *name)
{
	assert_int_equal(mkdir(at(s, name), 0755), 0);
}

/* The row of a path in the scan of that moment; NULL: none. Never more than one. */
static inline const struct row *row_of(
	const struct table *t, uint64_t mono, const char *path)
{
	const struct row *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const struct row *r = &t->row[i];
		if (strtoull(r->field[MONO], NULL, 10) != mono ||
			strcmp(r->field[PATH], path) != 0)
			continue;
		assert_null(found);
		found = r;
	}
	return found;
}

static inline size_t rows_at(const struct table *t, uint64_t mono)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += strtoull(t->row[i].field[MONO], NULL, 10) == mono;
	return n;
}

static inline void is_gone(const struct table *t, uint64_t mono, const char *path)
{
	const struct row *r = row_of(t, mono, path);

	assert_non_null(r);
	assert_string_equal(r->field[SIZE], "-1");
	assert_string_equal(r->field[MTIME], "");
	assert_string_equal(r->field[INODE], "");
	assert_string_equal(r->field[TYPE], "");
}

static inline void is_number(const char *field, uint64_t want)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, want);
	assert_string_equal(field, text);
}

static inline void is_time(const char *field, const struct timespec *want)
{
	char text[64];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&want->tv_sec, &tm));
	snprintf(text + 19, sizeof(text) - 19, ".%06ld", want->tv_nsec / 1000);
	assert_string_equal(field, text);
}

/* What the row says is what stat(2) says. */
static inline void is_there(const struct table *t, uint64_t mono, const char *path)
{
	const struct row *r = row_of(t, mono, path);
	char text[64];
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_non_null(r);
	is_number(r->field[SIZE], st.st_size);
	is_time(r->field[MTIME], &st.st_mtim);
	is_time(r->field[ATIME], &st.st_atim);
	is_number(r->field[INODE], st.st_ino);
	snprintf(text, sizeof(text), "%u:%u", major(st.st_dev), minor(st.st_dev));
	assert_string_equal(r->field[DEVICE], text);
	snprintf(text, sizeof(text), "%04o", st.st_mode & 07777);
	assert_string_equal(r->field[MODE], text);
	is_number(r->field[UID], st.st_uid);
	is_number(r->field[GID], st.st_gid);
	is_number(r->field[NLINK], st.st_nlink);
	assert_string_equal(r->field[TYPE], S_ISLNK(st.st_mode) ? "symlink" : "regular");
	/* Born no later than it was changed; or it is not known when. */
	assert_true(!*r->field[BTIME] ||
		    (strlen(r->field[BTIME]) == 26 && st.st_nlink > 1) ||
		    strcmp(r->field[BTIME], "2020") > 0);
}

/* The count of a reason in the remark of the last scan, 0 if it is not there. */
static inline uint64_t reason(const struct shot *s, const char *what, const char *why)
{
	cJSON *m = manifest(s->r);
	const cJSON *o =
		cJSON_GetObjectItem(cJSON_GetObjectItem(note_of(m), "last_scan"), what);
	uint64_t n = cJSON_GetObjectItem(o, why) ? number(o, why) : 0;

	assert_non_null(o);
	cJSON_Delete(m);
	return n;
}
