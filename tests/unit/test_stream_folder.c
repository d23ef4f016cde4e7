/*
 * test_stream_folder.c - the folder of streams and its manifest
 */
#include "streams.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static void put(struct stream *t, uint64_t n)
{
	stream_u64(t, n);
	assert_int_equal(stream_end(t), 0);
}

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

/* Files of an earlier run stay, with their manifest. */
static void existing(void **state)
{
	struct rig *r = *state;
	char stream[80];

	snprintf(stream, sizeof(stream), "%s/x", r->out);
	for (int i = 0; i < 3; i++) {
		open_folder(r);
		put(add(r, "x", "n"), i);
		assert_int_equal(streams_close(r->s), 0);
		assert_int_equal(entries(stream), i + 1);
		assert_int_equal(entries(r->out), i + 2); /* x and the manifests */
		cJSON *o = manifest(r);
		char *rows = rows_of(r, o, "x"), want[8];
		snprintf(want, sizeof(want), "%d\n", i);
		assert_string_equal(rows, want);
		free(rows);
		cJSON_Delete(o);
	}
}

static void no_folder(void **state)
{
	struct rig *r = *state;
	struct stream *t = NULL;
	char want[256];
	int keep = said_begin(r);
	FILE *f = fopen(r->out, "we");

	fclose(f);
	assert_int_equal(streams_open(&r->s, &r->args), -ENOTDIR);
	char *said = said_end(r, keep);
	snprintf(want, sizeof(want), "iops: %s: Not a directory\n", r->out);
	assert_string_equal(said, want);
	free(said);
	unlink(r->out);
	unlink(r->said);

	keep = said_begin(r);
	open_folder(r);
	snprintf(want, sizeof(want), "%s/x", r->out);
	f = fopen(want, "we");
	fclose(f);
	assert_int_equal(streams_add(r->s, &t, "x", "n"), -ENOTDIR);
	assert_null(t);
	put(add(r, "y", "n"), 5); /* of the others nothing is lost */
	assert_int_equal(streams_close(r->s), -ENOTDIR);
	said = said_end(r, keep);
	snprintf(want, sizeof(want), "iops: cannot write %s/x: Not a directory\n", r->out);
	assert_string_equal(said, want);
	free(said);
	unlink(r->said);

	keep = said_begin(r);
	r->args.dir = "/nowhere/at/all";
	assert_int_equal(streams_open(&r->s, &r->args), -ENOENT);
	free(said_end(r, keep));
}

static void notes(void **state)
{
	struct rig *r = *state;
	char path[80];
	size_t len;

	open_folder(r);
	assert_int_equal(streams_note(r->s, "big", "1"), 0);
	assert_int_equal(streams_note(r->s, "big", "[18446744073709551615, {}]"), 0);
	assert_int_equal(streams_note(r->s, "word", "\"a b\""), 0);
	assert_int_equal(streams_note(r->s, "bad", "{"), -EINVAL);
	assert_int_equal(streams_note(r->s, "bad", "1 2"), -EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(i ? streams_close(r->s) : streams_flush(r->s, r->epoch), 0);
		cJSON *o = manifest(r);
		const cJSON *n = cJSON_GetObjectItem(o, "notes");
		assert_int_equal(cJSON_GetArraySize(n), 2);
		assert_string_equal(
			cJSON_GetStringValue(cJSON_GetObjectItem(n, "word")), "a b");
		cJSON_Delete(o);
		snprintf(path, sizeof(path), "%s/manifest.json", r->out);
		char *text = slurp(path, &len);
		assert_non_null(strstr(text, "[18446744073709551615, {}]"));
		free(text);
	}
}

/* The sums of the streams are those of their files; unknown to each other. */
static void totals(void **state)
{
	struct rig *r = *state;
	struct stream *t[3];
	static const char *const name[] = { "fs", "block", "nw_conn" };

	r->args.plain = false;
	r->args.rotate_bytes = 5000;
	open_folder(r);
	for (int i = 0; i < 3; i++)
		t[i] = add(r, name[i], "n");
	for (int n = 0; n < 9000; n++)
		for (int i = 0; i < 3; i++)
			if (n % (i + 1) == 0)
				put(t[i], n);
	stream_lost(t[2], 5);
	assert_int_equal(streams_close(r->s), 0);
	cJSON *o = manifest(r);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "streams")), 3);
	assert_int_equal(number(o, "schema_version"), 1);
	assert_non_null(cJSON_GetObjectItem(o, "iops_version"));
	assert_non_null(cJSON_GetObjectItem(o, "kernel"));
	assert_non_null(cJSON_GetObjectItem(o, "boot_id"));
	assert_true(is_true(o, "complete"));
	for (int i = 0; i < 3; i++) {
		uint64_t rows = 0;
		free(rows_of(r, o, name[i])); /* compares each file */
		assert_true(nfiles(o, name[i]) > 2);
		for (int k = 0; k < nfiles(o, name[i]); k++)
			rows += number(file_of(o, name[i], k), "rows");
		assert_int_equal(rows, 9000 / (i + 1));
		assert_int_equal(number(stream_of(o, name[i]), "rows"), rows);
		assert_int_equal(number(stream_of(o, name[i]), "lost"), i == 2 ? 5 : 0);
		assert_int_equal(number(stream_of(o, name[i]), "dropped"), 0);
	}
	cJSON_Delete(o);
}

/* With a key, none of the names is anywhere in the folder. */
static void anonymous(void **state)
{
	static const unsigned char addr[] = { 192, 0, 2, 77 };
	struct rig *r = *state;
	char host[80] = "", cmd[160], a[ANON_MAX], b[ANON_MAX], c[ANON_MAX], want[1024];

	assert_int_equal(anon_new(&r->args.anon, NULL), 0);
	open_folder(r);
	struct stream *t = add(r, "x", "a,b,c,d,e");
	stream_word(t, "openly");
	stream_path(t, "/secret/dir.txt");
	stream_paths(t, "/secret", "/new");
	stream_text(t, "cat secret");
	stream_addr(t, AF_INET, addr);
	assert_int_equal(stream_end(t), 0);
	assert_int_equal(streams_close(r->s), 0);
	cJSON *o = manifest(r);
	char *rows = rows_of(r, o, "x");
	int n = snprintf(want, sizeof(want), "openly,%s,%s -> %s,",
		anon_path(r->args.anon, "/secret/dir.txt", a),
		anon_path(r->args.anon, "/secret", b), anon_path(r->args.anon, "/new", c));
	snprintf(want + n, sizeof(want) - n, "%s,%s\n",
		anon_text(r->args.anon, "cat secret", a),
		anon_addr(r->args.anon, AF_INET, addr, b));
	assert_string_equal(rows, want);
	assert_true(is_true(o, "anonymized"));
	gethostname(host, sizeof(host) - 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(o, "host")),
		anon_text(r->args.anon, host, a));
	assert_string_not_equal(a, host);
	snprintf(cmd, sizeof(cmd), "grep -rq 'secret\\|192\\.0' %s", r->out);
	assert_int_not_equal(system(cmd), 0);
	anon_free(r->args.anon);
	free(rows);
	cJSON_Delete(o);
}

enum { FULL_ROWS = 400000, NO_MOUNT = 77 };

/* In a namespace of its own: fill a small disk, and copy what is there then. */
static int fill(struct rig *r)
{
	char disk[64], small[80], cmd[256];
	struct stream *t;

	snprintf(disk, sizeof(disk), "%s/disk", r->dir);
	snprintf(small, sizeof(small), "%s/out", disk);
	if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
		mount("none", "/", "", MS_REC | MS_PRIVATE, "") < 0 ||
		mkdir(disk, 0700) < 0 || mount("none", disk, "tmpfs", 0, "size=1m") < 0)
		return NO_MOUNT;
	r->args.dir = small;
	if (streams_open(&r->s, &r->args) || streams_add(r->s, &t, "x", "n"))
		return 1;
	for (unsigned i = 0, n = 1; i < FULL_ROWS; i++) {
		stream_u64(t, (n = n * 1103515245 + 12345) * UINT64_C(2654435761));
		stream_end(t);
	}
	if (streams_flush(r->s, r->epoch) != -ENOSPC || streams_close(r->s) != -ENOSPC)
		return 2;
	snprintf(cmd, sizeof(cmd), "cp -r %s %s", small, r->out);
	return system(cmd) ? 3 : 0;
}

/* The manifest tells of the rows that found no room: some was kept for it. */
static void full_disk(void **state)
{
	struct rig *r = *state;

	for (int plain = 0; plain < 2; plain++) {
		char cmd[80];
		int status, keep = said_begin(r);
		r->args.plain = plain;
		pid_t pid = fork();
		if (!pid)
			_exit(fill(r));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		char *said = said_end(r, keep);
		if (WEXITSTATUS(status) == NO_MOUNT) {
			free(said);
			print_message("# SKIP there is no mounting here\n");
			skip();
		}
		assert_int_equal(status, 0);
		assert_non_null(strstr(said, "No space left on device\n"));
		assert_ptr_equal(strchr(said, '\n'), strrchr(said, '\n'));
		cJSON *o = manifest(r);
		uint64_t rows = number(stream_of(o, "x"), "rows");
		assert_true(is_true(o, "complete"));
		assert_true(rows > 30000);
		assert_int_equal(rows + number(stream_of(o, "x"), "dropped"), FULL_ROWS);
		free(rows_of(r, o, "x"));
		cJSON_Delete(o);
		free(said);
		snprintf(cmd, sizeof(cmd), "rm -r %s/*", r->dir);
		assert_int_equal(system(cmd), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(existing, setup, teardown),
		cmocka_unit_test_setup_teardown(no_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(notes, setup, teardown),
		cmocka_unit_test_setup_teardown(totals, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(anonymous, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
