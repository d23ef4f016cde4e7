/*
 * test_snapshot_walk.c - trees that are deep, wide, restless, or put together of mounts
 */
#include "snapfiles.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { DEEP = 3000, EACH = 100 };

/* Down to a depth that no path reaches, a file at some of the levels, and back. */
static void deep(void **state)
{
	struct shot *s = *state;
	struct rlimit before, few = { 64, 64 };
	static const char step[] = "directory";
	char *path = malloc(DEEP * sizeof(step) + 256);
	size_t len = strlen(strcpy(path, s->tree));
	int fd = open(s->tree, O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < DEEP; i++) {
		assert_int_equal(mkdirat(fd, step, 0755), 0);
		int next = openat(fd, step, O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		/* "z" comes after the way down: its parent has to be found again. */
		if (i % EACH == 0) {
			assert_int_equal(mkdirat(fd, "z", 0755), 0);
			close(openat(fd, "z/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		}
		close(fd);
		fd = next;
	}
	close(openat(fd, "bottom", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	close(fd);

	getrlimit(RLIMIT_NOFILE, &before);
	few.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	begin(s, SNAPSHOT_FS);
	scan(s);
	uint64_t first = s->mono;
	scan(s);
	uint64_t second = s->mono;
	assert_int_equal(reason(s, "unreadable_directories", "EMFILE"), 0);
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -rf %s/%s", s->tree, step);
	assert_int_equal(system(cmd), 0);
	scan(s);
	end(s);
	setrlimit(RLIMIT_NOFILE, &before);

	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(rows_at(t, first), DEEP / EACH + 1);
	assert_int_equal(rows_at(t, second), 0);
	assert_int_equal(rows_at(t, s->mono), DEEP / EACH);
	for (int i = 0; i < DEEP; i++) {
		if (i % EACH == 0) {
			strcpy(path + len, "/z/file");
			const struct row *r = row_of(t, first, path);
			assert_non_null(r);
			assert_string_equal(r->field[SIZE], "0");
			if (i > 0)
				is_gone(t, s->mono, path);
		}
		len += sprintf(path + len, "/%s", step);
	}
	strcpy(path + len, "/bottom");
	assert_non_null(row_of(t, first, path));
	is_gone(t, s->mono, path);
	table_free(t);
	free(path);
}

static void many_in_one(void **state)
{
	struct shot *s = *state;
	char name[32];

	for (int i = 0; i < 15000; i++) {
		sprintf(name, "%d", i);
		make_file(s, name, i);
	}
	begin(s, SNAPSHOT_FS);
	scan(s);
	uint64_t first = s->mono;
	for (int i = 0; i < 15000; i += 1000) {
		sprintf(name, "%d", i);
		assert_int_equal(unlink(at(s, name)), 0);
	}
	scan(s);
	cJSON *m = manifest(s->r);
	/* What it costs to remember: well below 64 bytes a file. */
	assert_true(number(note_of(m), "memory_bytes") < 15000 * 32);
	cJSON_Delete(m);
	end(s);
	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(rows_at(t, first), 15000);
	assert_int_equal(rows_at(t, s->mono), 15);
	is_gone(t, s->mono, at(s, "3000"));
	table_free(t);
}

struct mover {
	const struct shot *s;
	atomic_bool stop;
	unsigned moves;
};

static void *never_still(void *arg)
{
	struct mover *m = arg;
	char here[128], there[128], file[128];

	snprintf(here, sizeof(here), "%s/busy/a", m->s->tree);
	snprintf(there, sizeof(there), "%s/other", m->s->tree);
	snprintf(file, sizeof(file), "%s/busy/file", m->s->tree);
	while (!m->stop && rename(here, there) == 0 && rename(there, here) == 0) {
		close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		unlink(file);
		m->moves++;
	}
	return NULL;
}

/* Directories move about while they are read: nothing else is lost or told twice. */
static void while_all_moves(void **state)
{
	struct shot *s = *state;
	struct mover m = { .s = s };
	char name[512] = "busy/a";
	pthread_t thread;

	make_dir(s, "busy");
	make_dir(s, "busy/a");
	for (int i = 0; i < 60; i++) {
		strcat(name, "/d");
		make_dir(s, name);
	}
	make_dir(s, "calm");
	for (int i = 0; i < 100; i++) {
		sprintf(name, "calm/%d", i);
		make_file(s, name, i);
	}
	begin(s, SNAPSHOT_FS);
	assert_int_equal(pthread_create(&thread, NULL, never_still, &m), 0);
	for (int i = 0; i < 50; i++)
		scan(s);
	m.stop = true;
	pthread_join(thread, NULL);
	assert_true(m.moves > 50);
	end(s);

	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	size_t calm = 0;
	for (size_t i = 0; i < t->n; i++)
		calm += strstr(t->row[i].field[PATH], "/calm/") != NULL;
	assert_int_equal(calm, 100);
	table_free(t);
}

/* Roots may lie in one another, and be links: each file has one path. */
static void roots(void **state)
{
	struct shot *s = *state;
	char sub[128], via[128];

	make_dir(s, "sub");
	make_file(s, "sub/file", 1);
	make_file(s, "top", 1);
	snprintf(sub, sizeof(sub), "%s/sub", s->tree);
	snprintf(via, sizeof(via), "%s/via", s->r->dir);
	assert_int_equal(symlink("tree", via), 0);
	const char *const all[] = { sub, via, s->tree };
	s->args.roots = all;
	s->args.nroots = 3;
	begin(s, SNAPSHOT_FS);
	scan(s);
	scan(s);
	end(s);
	struct table *t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	assert_int_equal(t->n, 2);
	is_there(t, s->mono - 3600 * SECOND, at(s, "sub/file"));
	is_there(t, s->mono - 3600 * SECOND, at(s, "top"));
	table_free(t);
}

static bool mount_all(const struct shot *s)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount(at(s, "m"), at(s, "again"), NULL, MS_BIND, NULL) == 0 &&
	       mount("proc", at(s, "proc"), "proc", 0, NULL) == 0 &&
	       mount("none", at(s, "real"), "tmpfs", 0, "mode=777") == 0;
}

/* Real file systems are entered, others are not, and nothing is told twice. */
static void mounts(void **state)
{
	struct shot *s = *state;
	static const char *const dirs[] = { "again", "m", "m/below", "proc", "real",
		"real/d" };

	for (int i = 0; i < 5; i++)
		make_dir(s, dirs[i]);
	make_file(s, "m/below/file", 1);
	make_file(s, "m/file", 1);
	make_file(s, "proc/hidden", 1);
	if (getuid() != 0 || seteuid(0) < 0 || !mount_all(s)) {
		print_message("# SKIP there is no mounting here\n");
		skip();
	}
	make_dir(s, dirs[5]);
	make_file(s, "real/d/file", 1);
	begin(s, SNAPSHOT_FS);
	scan(s);
	uint64_t first = s->mono;
	assert_int_equal(reason(s, "pseudo_file_systems", "proc"), 1);
	char path[128];
	snprintf(path, sizeof(path), "%s", at(s, "real/d/file"));
	struct table *t;
	assert_int_equal(umount(at(s, "real")), 0);
	assert_int_equal(umount(at(s, "proc")), 0);
	scan(s);
	assert_int_equal(umount(at(s, "again")), 0);
	end(s);
	t = table_of(s, "filesystem_snapshot", FILE_COLUMNS);
	/* "m" comes after "again", but is where the files are. */
	is_there(t, first, at(s, "m/file"));
	is_there(t, first, at(s, "m/below/file"));
	assert_non_null(row_of(t, first, path));
	assert_int_equal(rows_at(t, first), 3);
	is_gone(t, s->mono, path);
	is_there(t, s->mono, at(s, "proc/hidden"));
	assert_int_equal(rows_at(t, s->mono), 2);
	table_free(t);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		TEST(deep),
		TEST(many_in_one),
		TEST(while_all_moves),
		TEST(roots),
		TEST(mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
