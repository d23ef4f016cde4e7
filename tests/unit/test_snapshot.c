/*
 * test_snapshot.c - all files once, then exactly what has changed
 */
#include "snapfiles.h"

#include <sys/socket.h>
#include <sys/un.h>

static const char *const names[] = { "plain", "a,b", "say \"no\"", "two\nlines",
	"cr\rlf\r\n", " spaces ", "\xff\xfe not text", "\xc3\xa4\xe6\xbc\xa2", "-",
	".hidden", "...", "tab\t", "sub/inner", "sub/,\n\"/deeper", "sub/x.tar.gz" };

enum { NNAMES = sizeof(names) / sizeof(*names) };

static void all_files_once(void **state)
{
	struct shot *s = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char longest[256];

	make_dir(s, "sub");
	make_dir(s, "sub/,\n\"");
	for (size_t i = 0; i < NNAMES; i++)
		make_file(s, names[i], 1000 * i);
	memset(longest, 'n', 255);
	longest[255] = 0;
	make_file(s, longest, UINT64_C(5) << 32);
	assert_int_equal(link(at(s, "plain"), at(s, "sub/linked")), 0);
	assert_int_equal(symlink("/etc", at(s, "to-dir")), 0);
	assert_int_equal(symlink("nowhere", at(s, "dangling")), 0);
	assert_int_equal(symlink(".", at(s, "sub/loop")), 0);
	struct timespec before[2] = { { -86400, 5000 }, { -1, 999999999 } };
	make_file(s, "older than time", 1);
	assert_int_equal(utimensat(AT_FDCWD, at(s, "older than time"), before, 0), 0);
	/* No rows for these. */
	assert_int_equal(mkfifo(at(s, "fifo"), 0600), 0);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", at(s, "socket"));
	assert_int_equal(bind(sock, (void *)&addr, sizeof(addr)), 0);
	close(sock);

	begin(s, SNAPSHOT_FS);
	scan(s);
	end(s);
	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	for (size_t i = 0; i < NNAMES; i++)
		is_there(t, s->mono, at(s, names[i]));
	is_there(t, s->mono, at(s, longest));
	is_there(t, s->mono, at(s, "sub/linked"));
	is_there(t, s->mono, at(s, "to-dir"));
	is_there(t, s->mono, at(s, "dangling"));
	is_there(t, s->mono, at(s, "sub/loop"));
	is_there(t, s->mono, at(s, "older than time"));
	assert_string_equal(row_of(t, s->mono, at(s, "older than time"))->field[MTIME],
		"1969-12-31 23:59:59.999999");
	assert_int_equal(t->n, NNAMES + 6);
	/* The moment of the scan, by the clock of the streams: one hour after they began.
	 */
	assert_string_equal(t->row[0].field[STAMP], "2026-01-02 04:04:05.678901");
	table_free(t);
}

static void then_only_what_has_changed(void **state)
{
	struct shot *s = *state;
	struct timespec old[2] = { { 1, 0 }, { 1, 2000 } };
	static const char *const dirs[] = { "keep", "lost", "lost/below", "moved",
		"turns" };
	static const char *const files[] = { "keep/same", "keep/grows", "keep/touched",
		"keep/mode", "keep/removed", "keep/renamed", "lost/one", "lost/below/two",
		"lost/below/three", "moved/a", "turns/inside", "becomes" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		make_dir(s, dirs[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		make_file(s, files[i], 10);
	assert_int_equal(symlink("x", at(s, "link")), 0);

	begin(s, SNAPSHOT_FS);
	scan(s);
	uint64_t first = s->mono;
	assert_int_equal(truncate(at(s, "keep/grows"), 11), 0);
	assert_int_equal(utimensat(AT_FDCWD, at(s, "keep/touched"), old, 0), 0);
	assert_int_equal(chmod(at(s, "keep/mode"), 0604), 0);
	assert_int_equal(unlink(at(s, "keep/removed")), 0);
	assert_int_equal(rename(at(s, "keep/renamed"), at(s, "keep/name")), 0);
	assert_int_equal(unlink(at(s, "lost/below/two")), 0);
	assert_int_equal(unlink(at(s, "lost/below/three")), 0);
	assert_int_equal(rmdir(at(s, "lost/below")), 0);
	assert_int_equal(unlink(at(s, "lost/one")), 0);
	assert_int_equal(rmdir(at(s, "lost")), 0);
	assert_int_equal(rename(at(s, "moved"), at(s, "keep/moved")), 0);
	/* A directory becomes a file, a file a directory, a link a file. */
	assert_int_equal(unlink(at(s, "turns/inside")), 0);
	assert_int_equal(rmdir(at(s, "turns")), 0);
	make_file(s, "turns", 3);
	assert_int_equal(unlink(at(s, "becomes")), 0);
	make_dir(s, "becomes");
	make_file(s, "becomes/new", 4);
	assert_int_equal(unlink(at(s, "link")), 0);
	make_file(s, "link", 1);
	scan(s);
	uint64_t second = s->mono;
	scan(s);
	uint64_t third = s->mono;
	make_file(s, "lastly", 0);
	scan(s);
	end(s);

	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(rows_at(t, first), sizeof(files) / sizeof(*files) + 1);
	static const char *const there[] = { "keep/grows", "keep/touched", "keep/mode",
		"keep/name", "keep/moved/a", "turns", "becomes/new", "link" };
	static const char *const gone[] = { "keep/removed", "keep/renamed",
		"lost/below/two", "lost/below/three", "lost/one", "moved/a",
		"turns/inside", "becomes" };
	for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
		is_there(t, second, at(s, there[i]));
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		is_gone(t, second, at(s, gone[i]));
	assert_int_equal(rows_at(t, second),
		sizeof(there) / sizeof(*there) + sizeof(gone) / sizeof(*gone));
	assert_int_equal(rows_at(t, third), 0);
	is_there(t, s->mono, at(s, "lastly"));
	assert_int_equal(rows_at(t, s->mono), 1);
	table_free(t);

	cJSON *m = manifest(s->r);
	assert_int_equal(number(note_of(m), "scans"), 4);
	assert_int_equal(number(note_of(m), "deletions"), 8);
	assert_true(is_true(note_of(m), "complete"));
	cJSON_Delete(m);
}

/* A directory that cannot be read, or only not searched, says nothing about its files. */
static void unreadable_is_not_gone(void **state)
{
	struct shot *s = *state;

	make_dir(s, "shut");
	make_dir(s, "shut/below");
	make_file(s, "shut/file", 1);
	make_file(s, "shut/below/file", 1);
	make_dir(s, "names");
	make_dir(s, "names/below");
	make_file(s, "names/file", 1);
	make_file(s, "names/below/file", 1);
	make_dir(s, "never");
	make_file(s, "never/seen", 1);
	chmod(at(s, "never"), 0);
	begin(s, SNAPSHOT_FS);
	scan(s);
	uint64_t first = s->mono;
	assert_int_equal(reason(s, "unreadable_directories", "EACCES"), 1);
	chmod(at(s, "shut"), 0);
	chmod(at(s, "names"), 0444);
	scan(s);
	/* never, shut, and names/below, which can be listed but not looked at. */
	assert_int_equal(reason(s, "unreadable_directories", "EACCES"), 3);
	assert_int_equal(reason(s, "unreadable_files", "EACCES"), 2);
	chmod(at(s, "shut"), 0755);
	chmod(at(s, "names"), 0755);
	assert_int_equal(truncate(at(s, "shut/below/file"), 2), 0);
	scan(s);
	assert_int_equal(reason(s, "unreadable_directories", "EACCES"), 1);
	end(s);
	chmod(at(s, "never"), 0755);

	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(rows_at(t, first), 4);
	is_there(t, s->mono, at(s, "shut/below/file"));
	assert_int_equal(t->n, 5);
	table_free(t);
}

static void no_root(void **state)
{
	struct shot *s = *state;
	char missing[128];
	const char *root = missing;

	snprintf(missing, sizeof(missing), "%s/missing", s->tree);
	open_folder(s->r);
	s->args = (struct snapshot_args){ .what = SNAPSHOT_FS,
		.streams = s->r->s,
		.dir = s->r->out,
		.roots = &root,
		.nroots = 1 };
	int keep = said_begin(s->r);
	int err = snapshots_open(&s->p, &s->args);
	close(open(missing, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	int file = snapshots_open(&s->p, &s->args);
	char *said = said_end(s->r, keep);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(file, -ENOTDIR);
	assert_non_null(strstr(said, "missing: No such file"));
	assert_non_null(strstr(said, "missing: Not a directory"));
	free(said);
	assert_int_equal(streams_close(s->r->s), 0);
}

/* A run that is over before its first second has the whole scan all the same. */
static void short_run(void **state)
{
	struct shot *s = *state;

	make_file(s, "file", 1);
	begin(s, SNAPSHOT_FS | SNAPSHOT_PROCESS);
	end(s);
	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(t->n, 1);
	table_free(t);
	t = table_of(s, "process", 12);
	assert_true(t->n > 0);
	table_free(t);
}

/* What is given up ends at once, and says that it has. */
static void hurry(void **state)
{
	struct shot *s = *state;
	static const char *const all = "/";

	s->args.roots = &all;
	s->args.nroots = 1;
	begin(s, SNAPSHOT_FS | SNAPSHOT_PROCESS);
	assert_int_equal(snapshots_tick(s->p, s->mono), 0);
	snapshots_hurry(s->p);
	for (int i = 0; i < 5; i++)
		assert_int_equal(snapshots_tick(s->p, s->mono += 3600 * SECOND), 0);
	end(s);
	cJSON *m = manifest(s->r);
	assert_int_equal(number(note_of(m), "scans"), 1);
	assert_false(is_true(note_of(m), "complete"));
	cJSON_Delete(m);
}

/* Nor does it begin. */
static void hurry_first(void **state)
{
	struct shot *s = *state;

	make_file(s, "file", 1);
	begin(s, SNAPSHOT_FS | SNAPSHOT_PROCESS);
	snapshots_hurry(s->p);
	end(s);
	cJSON *m = manifest(s->r);
	assert_int_equal(number(note_of(m), "scans"), 0);
	assert_false(is_true(note_of(m), "complete"));
	cJSON_Delete(m);
}

static void anonymous(void **state)
{
	struct shot *s = *state;

	assert_int_equal(anon_new(&s->r->args.anon, NULL), 0);
	make_dir(s, "secretdir");
	make_file(s, "secretdir/secretfile.txt", 1);
	begin(s, SNAPSHOT_FS);
	scan(s);
	end(s);
	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(t->n, 1);
	assert_null(strstr(t->row[0].field[PATH], "secret"));
	assert_non_null(strstr(t->row[0].field[PATH], ".txt"));
	table_free(t);
	anon_free(s->r->args.anon);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		TEST(all_files_once),
		TEST(then_only_what_has_changed),
		TEST(unreadable_is_not_gone),
		TEST(no_root),
		TEST(short_run),
		TEST(hurry),
		TEST(hurry_first),
		TEST(anonymous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
