/*
 * test_fast_owing.c - records of what was opened to be read: asked by the program itself,
 * by the tracer, or not yet
 */
#include <stdio.h>

#ifdef __x86_64__
#include "rings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

static struct rig *rig;
static char name[] = "/tmp/iops-owing-XXXXXX", path[PATH_MAX];
static int fd;

/* A file that is open in this process, who is also the one that records are of. */
static int start(void **state)
{
	(void)state;
	strcpy(name + strlen(name) - 6, "XXXXXX");
	fd = mkstemp(name);
	rig = rig_new(2, getpid(), "data");
	return rig && fd >= 0 && write(fd, "1234567", 7) == 7 && realpath(name, path)
		       ? 0
		       : -1;
}

static int stop(void **state)
{
	(void)state;
	rig_free(rig);
	close(fd);
	return unlink(name);
}

static void data(unsigned i, unsigned when, int of)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_read, when, 1);

	rec->arg[0] = (uint64_t)of;
	rec->arg[2] = 1;
	rig_done(rig, i, rec);
}

/* The next record of a ring: it has opened the file as that number, and owes the rest. */
static struct fast_rec *owing(unsigned i, unsigned when, int as)
{
	struct fast_rec *rec = rig_begin(rig, i, SYS_openat, when, as);
	uint8_t *more = (uint8_t *)rec;
	uint64_t len = strlen(name);
	int64_t got = -1;

	rec->state = REC_OWING;
	rec->arg[0] = (uint64_t)AT_FDCWD;
	rec->arg[2] = O_RDONLY;
	memcpy(more + R_NEW_LEN, &len, sizeof(len));
	memcpy(more + R_NEW_STATX, &got, sizeof(got));
	memcpy(more + R_NEW_PATH, name, len + 1);
	rig->task[i].slot.ended = rig_at(rig, when) - 1;
	return rec;
}

static const struct file *file_of(unsigned n)
{
	assert_true(n < rig->nops);
	return names_file(rig->t.names, rig->op[n].file);
}

static const char *text(uint32_t of)
{
	return names_get(rig->t.names, of);
}

/* As /proc tells of the descriptor. */
static void assert_right(unsigned n)
{
	struct fd_task self = { .tid = getpid() };
	const struct file *f = file_of(n);
	struct fd_view v;

	assert_string_equal(text(f->path), path);
	fdtab_ask(rig->t.fdtab, &self, fd, &v);
	fdtab_forget(rig->t.fdtab, &self);
	assert_true(v.file > 0);
	assert_string_equal(
		text(f->mount), text(names_file(rig->t.names, v.file)->mount));
	assert_int_equal(rig->op[n].file, v.file);
}

/* The tracer asks, and what the task says afterwards is not told again. */
static void is_taken_once(void **state)
{
	struct fast_rec *rec = owing(0, 1, fd);

	(void)state;
	data(1, 5, fd);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_right(0);
	assert_int_equal(rig->op[0].offset, 0);
	assert_int_equal(rig->t.fast->records, 2);
	drain_all(&rig->t);
	assert_int_equal(rig->t.fast->records, 2);
	memset((uint8_t *)rec + R_NEW_STATX, 0, 8);
	rec->state = REC_ENDED;
	drain_all(&rig->t);
	rig_done(rig, 0, rec);
	data(0, 7, fd);
	drain_all(&rig->t);
	assert_int_equal(rig->t.fast->records, 3);
	assert_int_equal(rig->nops, 2);
	assert_right(1);
	assert_int_equal(rig->op[1].offset, 1); /* it was not opened anew */
	assert_int_equal(rig->nlost, 0);
}

/* Its turn is when it has ended, like that of others. */
static void in_turn(void **state)
{
	(void)state;
	owing(0, 4, fd)->t1 = rig_at(rig, 8);
	data(1, 5, fd);
	data(1, 9, fd);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->op[1].offset, 0);
}

/* Whoever stands still may do anything next: what we cannot ask stays unknown. */
static void where_it_stands(void **state)
{
	struct fast_rec *rec = owing(0, 1, 1000);

	(void)state;
	drain_task(&rig->t, &rig->task[1]);
	assert_int_equal(rig->t.fast->records, 0);
	drain_task(&rig->t, &rig->task[0]);
	assert_int_equal(rig->t.fast->records, 1);
	rig->task[0].slot.ctl->owed = rec_size(rig->t.fast, rec);
	slot_settle(&rig->task[0].slot);
	rig_next(rig, 0)->state = REC_NONE;
	data(0, 5, 1000);
	drain_all(&rig->t);
	assert_int_equal(rig->t.fast->records, 2);
	assert_int_equal(rig->op[0].file, 0);
	assert_int_equal(rig->nlost, 0);
}

/* What fstat(2) has told the program. */
static void by_the_program(void **state)
{
	struct fast_rec *rec = owing(0, 1, 1000); /* nothing that /proc knows */
	struct fast_stat kept = { 0 };
	const int64_t own = STAT_OWN;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	kept.gid = st.st_gid;
	kept.mode = (uint16_t)st.st_mode;
	kept.ino = st.st_ino;
	kept.size = (uint64_t)st.st_size;
	memcpy(&kept.rdev_major, &st.st_rdev, 8);
	memcpy(&kept.dev_major, &st.st_dev, 8);
	memcpy((uint8_t *)rec + R_NEW_STAT, &kept, sizeof(kept));
	memcpy((uint8_t *)rec + R_NEW_STATX, &own, sizeof(own));
	rec->state = REC_ENDED;
	rig_done(rig, 0, rec);
	data(0, 5, 1000);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_right(0);
	assert_int_equal(file_of(0)->type, FILE_REGULAR);
	assert_int_equal(file_of(0)->major, major(st.st_dev));
	assert_int_equal(file_of(0)->minor, minor(st.st_dev));
	assert_int_equal(file_of(0)->inode, st.st_ino);
}

/* What we cannot ask the task will, and from then on at once. */
static void left_to_the_task(void **state)
{
	struct fast_rec *rec = owing(0, 1, 1000);
	struct fast_stat kept = { .mode = S_IFREG, .ino = 4711 };
	const int64_t got = 0;

	(void)state;
	rig->task[0].slot.ctl->statx = ASK_NO_PATH | ASK_LATER;
	drain_all(&rig->t);
	assert_int_equal(rig->t.fast->records, 0);
	assert_int_equal(rig->task[0].slot.ctl->statx, ASK_NO_PATH);
	memcpy((uint8_t *)rec + R_NEW_STAT, &kept, sizeof(kept));
	memcpy((uint8_t *)rec + R_NEW_STATX, &got, sizeof(got));
	rec->state = REC_ENDED;
	rig_done(rig, 0, rec);
	data(0, 5, 1000);
	drain_all(&rig->t);
	assert_int_equal(rig->t.fast->records, 2);
	assert_int_equal(file_of(0)->inode, 4711);
	assert_int_equal(rig->nlost, 0);
	assert_false(rig->task[0].distrusted);
}

/* A number that others close meanwhile may stand for something else by now: then what was
 * opened is what its path says, and of what was never opened nothing is known. */
static void closed_meanwhile(void **state)
{
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct fast_rec *rec = owing(0, 1, other);

	(void)state;
	assert_true(other >= 0);
	rec->state = REC_ENDED;
	rig_done(rig, 0, rec);
	data(0, 3, other);
	rec = rig_begin(rig, 1, SYS_close, 4, 0);
	rec->arg[0] = (uint64_t)other;
	rec->state = REC_BEGUN;
	rig->task[1].slot.ended = rig_at(rig, 3);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 1);
	assert_string_equal(text(file_of(0)->path), path);
	data(0, 6, fd);
	rec->arg[0] = (uint64_t)fd;
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 2);
	assert_int_equal(rig->op[1].file, 0);
	close(other);
}

/* A state that no call has, or that it cannot have. */
static void garbage(void **state)
{
	struct fast_rec *rec = rig_begin(rig, 0, SYS_read, 1, 7);

	(void)state;
	rec->state = REC_OWING;
	rec->t1 = rig_at(rig, 1) + (UINT64_C(1) << 62);
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	rec = rig_begin(rig, 1, SYS_getppid, 1, 7);
	rig->task[1].slot.ended = rig_at(rig, 0);
	rec->state = REC_OWING;
	drain_all(&rig->t);
	assert_int_equal(rig->nops, 0);
	assert_int_equal(rig->t.fast->records, 0);
	rig_done(rig, 1, rec);
	drain_all(&rig->t);
	assert_true(rig->task[1].distrusted);
	assert_int_equal(rig->nlost, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_taken_once),
		TEST(in_turn),
		TEST(by_the_program),
		TEST(left_to_the_task),
		TEST(where_it_stands),
		TEST(closed_meanwhile),
		TEST(garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP no fast path on this machine");
	return 0;
}
#endif
