/*
 * test_fuse_trace.c - text of a FUSE file system that logs what is asked of it
 */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define DATA    "tests/data/fuse-trace/"
#define T       "20240131-235958.42: "
#define NO_OFF  OP_NO_OFFSET
#define NO_DUR  OP_NO_TIME
#define REG     FILE_REGULAR
#define UNKNOWN FILE_UNKNOWN

/* line, call, path, comm, kind, type, layer, ret, bytes, duration, offset, fd, tid */
static const struct wanted lines[] = {
	{ T "    READ: path=/a; length=4096; offset=12", "read", "/a", "", OP_READ, REG,
		0, 4096, 4096, NO_DUR, 12, -1, 0 },
	{ T "   WRITE: path=/a; offset=7; length_buf=5", "write", "/a", "", OP_WRITE, REG,
		0, 5, 5, NO_DUR, 7, -1, 0 },
	{ T "   WRITE: path=/a; offset=-7; length_buf=5", "write", "/a", "", OP_WRITE,
		REG, 0, 5, 5, NO_DUR, NO_OFF, -1, 0 },
	{ T "  ACCESS: path=/a; mode=4", "access", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   CHMOD: path=/a; mode=420", "chmod", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   CHOWN: path=/a; uid=1; gid=2", "chown", "/a", "", OP_META, UNKNOWN, 0, 0,
		0, NO_DUR, NO_OFF, -1, 0 },
	{ T "  CREATE: path=/a; mode=1; fi=0x1", "create", "/a", "", OP_OPEN, REG, 0, 0,
		0, NO_DUR, NO_OFF, -1, 0 },
	{ T "   FLUSH: path=/a", "flush", "/a", "", OP_META, REG, 0, 0, 0, NO_DUR, NO_OFF,
		-1, 0 },
	{ T "   FSYNC: path=/a", "fsync", "/a", "", OP_SYNC, REG, 0, 0, 0, NO_DUR, NO_OFF,
		-1, 0 },
	{ T " GETATTR: path=/a", "getattr", "/a", "", OP_META, UNKNOWN, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "    LINK: target=/a; name=/b", "link", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   MKDIR: path=/a; mode=1", "mkdir", "/a", "", OP_META, FILE_DIR, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   MKNOD: path=/a; mode=1; dev=2", "mknod", "/a", "", OP_META, UNKNOWN, 0, 0,
		0, NO_DUR, NO_OFF, -1, 0 },
	{ T "    OPEN: path=/a; flags=1", "open", "/a", "", OP_OPEN, REG, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T " READDIR: path=/a", "readdir", "/a", "", OP_META, FILE_DIR, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "READLINK: path=/a", "readlink", "/a", "", OP_META, UNKNOWN, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T " RELEASE: path=/a", "release", "/a", "", OP_CLOSE, REG, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "  RENAME: old=/a; new=/b", "rename", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   RMDIR: path=/a", "rmdir", "/a", "", OP_META, FILE_DIR, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "  STATFS: path=/", "statfs", "/", "", OP_META, UNKNOWN, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T " SYMLINK: name=/a; target=b", "symlink", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "   TRUNC: path=/a; length=9", "truncate", "/a", "", OP_META, REG, 0, 0, 9,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "TRUNCATE: path=/a; length=9", "truncate", "/a", "", OP_META, REG, 0, 0, 9,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "  UNLINK: path=/a", "unlink", "/a", "", OP_META, UNKNOWN, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "  UTIMES: path=/a; times:1, 2", "utimens", "/a", "", OP_META, UNKNOWN, 0, 0,
		0, NO_DUR, NO_OFF, -1, 0 },
	{ T " UTIMENS: path=/a; times=1", "utimens", "/a", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T "SETXATTR: path=/a; name=x; size=4; pid=3", "setxattr", "/a", "", OP_META,
		UNKNOWN, 0, 0, 0, NO_DUR, NO_OFF, -1, 3 },
	{ T "    READ: path=/a; length=1; offset=2; length=4096; offset=12", "read",
		"/a; length=1; offset=2", "", OP_READ, REG, 0, 4096, 4096, NO_DUR, 12, -1,
		0 },
	{ T "    READ: path=/a; pid=9; length=4096; offset=12", "read", "/a; pid=9", "",
		OP_READ, REG, 0, 4096, 4096, NO_DUR, 12, -1, 0 },
	{ T "  RENAME: old=/a; b=c; new=/b", "rename", "/a; b=c", "", OP_META, UNKNOWN, 0,
		0, 0, NO_DUR, NO_OFF, -1, 0 },
	{ T " GETATTR: path=a=b;c", "getattr", "/a=b;c", "", OP_META, UNKNOWN, 0, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ T " GETATTR: path=", "getattr", "/", "", OP_META, UNKNOWN, 0, 0, 0, NO_DUR,
		NO_OFF, -1, 0 },
	{ T "    READ: path=/a; length=10; offset=0; pid=5; uid=6; result=3; errno=0; "
	    "duration_us=12.5",
		"read", "/a", "", OP_READ, REG, 0, 3, 10, 12500, 0, -1, 5 },
	{ T "    READ: path=/a; length=10; offset=0; result=-5", "read", "/a", "",
		OP_READ, REG, 0, -EIO, 10, NO_DUR, 0, -1, 0 },
	{ T "    READ: path=/a; length=10; offset=0; result=-1; errno=EACCES", "read",
		"/a", "", OP_READ, REG, 0, -EACCES, 10, NO_DUR, 0, -1, 0 },
	{ T " GETATTR: path=/a; errno=2", "getattr", "/a", "", OP_META, UNKNOWN, 0,
		-ENOENT, 0, NO_DUR, NO_OFF, -1, 0 },
	{ T " GETATTR: path=/a; errno=no", "getattr", "/a; errno=no", "", OP_META,
		UNKNOWN, 0, 0, 0, NO_DUR, NO_OFF, -1, 0 },
	{ T " GETATTR: path=/a; pid=1; pid=2", "getattr", "/a; pid=1", "", OP_META,
		UNKNOWN, 0, 0, 0, NO_DUR, NO_OFF, -1, 2 },
	{ T " GETATTR: path=/a; pid=-1; pid=2", "getattr", "/a; pid=-1", "", OP_META,
		UNKNOWN, 0, 0, 0, NO_DUR, NO_OFF, -1, 2 },
};

static void alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(lines); i++) {
		struct reader r;
		reader_text(&r, &source_fuse_trace, lines[i].line, strlen(lines[i].line));
		assert_int_equal(r.n, 1);
		assert_false(r.run.damaged);
		reader_check(&r, &r.op[0], &lines[i]);
		assert_int_equal(r.op[0].pid, r.op[0].tid);
		reader_done(&r);
	}
}

static void refused(void **state)
{
	static const char *const bad[] = { "hello", "20240131-235958.42", T, T "READ",
		T "    READ: ", T "    READ: path=/a", T "    READ: path=/a; length=4096",
		T "    READ: path=/a; length=x; offset=0",
		T "    READ: path=/a; length=-1; offset=0",
		T "    READ: path=/a; length=99999999999999999999; offset=0",
		T "    READ: path=/a; length=9223372036854775808; offset=0",
		T "    READ: path=/a; offset=0; length=1", T "    read: path=/a",
		T " GETATTR: /a", T "  RENAME: path=/a; new=/b", T "   MKDIR: path=/a",
		T "GETATTRX path=/a", "20241331-235958.42:  GETATTR: path=/a",
		"20240132-235958.42:  GETATTR: path=/a",
		"20240131-245958.42:  GETATTR: path=/a",
		"19500131-235958.42:  GETATTR: path=/a",
		"20240131-235958.1234567:  GETATTR: path=/a",
		"20240131-235958.:  GETATTR: path=/a",
		"12:34:56  read  F=3  B=0x10  0.000012  x.8" };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct reader r;
		print_message("# %s\n", bad[i]);
		reader_text(&r, &source_fuse_trace, bad[i], strlen(bad[i]));
		assert_int_equal(r.n, 1);
		assert_int_equal(r.op[0].kind, OP_LOST);
		assert_true(r.run.damaged);
		reader_done(&r);
	}

	static const char nul[] = T " GETATTR: path=/a\0b\n";
	struct reader r;
	reader_text(&r, &source_fuse_trace, nul, sizeof(nul) - 1);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.op[0].kind, OP_LOST);
	assert_true(r.run.damaged);
	reader_done(&r);
}

/* Microseconds are a number, padded or not, and the clock may be set back. */
static void clocks(void **state)
{
	static const char text[] = "20240131-235958.5:  GETATTR: path=/\n"
				   "20240131-235958.42:  GETATTR: path=/\n"
				   "20240131-235958.000043:  GETATTR: path=/\n"
				   "20240131-235958.123456:  GETATTR: path=/\n"
				   "20240201-000000.0:  GETATTR: path=/\n"
				   "20240131-235900.0:  GETATTR: path=/\n"
				   "20240131-235959.5:  GETATTR: path=/; duration_us=7\n";
	static const uint64_t start_us[] = { 0, 37, 38, 123451, 1999995, 0, 1000000 };
	struct reader r;

	(void)state;
	reader_text(&r, &source_fuse_trace, text, sizeof(text) - 1);
	assert_int_equal(r.n, LENGTH(start_us));
	for (unsigned i = 0; i < r.n; i++)
		assert_int_equal(r.op[i].start_ns, start_us[i] * 1000);
	assert_int_equal(r.run.elapsed_ns, 1999995000);
	assert_int_equal(r.run.started_ns, UINT64_C(1706741998000005000));
	reader_done(&r);
}

static void captures(void **state)
{
	struct reader r;

	(void)state;
	reader_file(&r, &source_fuse_trace, DATA "calls.trace");
	assert_int_equal(r.n, 27);
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 3, 0, 12288 });
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 2, 0, 131584 });
	reader_expect(&r, CLASS_SYNC, LAYER_MAIN, (struct sums){ 1, 0, 0 });
	reader_expect(&r, CLASS_META, LAYER_MAIN, (struct sums){ 21, 0, 0 });
	assert_int_equal(r.run.elapsed_ns, 2899993000);
	assert_non_null(strstr(r.run.why, "bytes are those asked for"));
	assert_false(r.run.damaged);
	reader_done(&r);

	reader_file(&r, &source_fuse_trace, DATA "extended.trace");
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 1, 1, 100 });
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 0, 1, 0 });
	reader_expect(&r, CLASS_META, LAYER_MAIN, (struct sums){ 4, 1, 0 });
	assert_false(r.run.damaged);
	reader_done(&r);

	reader_file(&r, &source_fuse_trace, DATA "damaged.trace");
	unsigned seen = 0;
	for (unsigned i = 0; i < r.n; i++)
		seen += r.op[i].kind != OP_LOST;
	assert_int_equal(seen, 2);
	assert_in_range(r.n, 3, READER_OPS);
	assert_true(r.run.damaged);
	reader_done(&r);
}

/* Once its type is known, a file is the same one also for calls that do not tell it. */
static void types(void **state)
{
	static const char text[] = T " OPEN: path=/a; flags=0\n" T " GETATTR: path=/a\n" T
				     " GETATTR: path=/b\n";
	struct reader r;

	(void)state;
	reader_text(&r, &source_fuse_trace, text, sizeof(text) - 1);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.op[1].file, r.op[0].file);
	assert_int_not_equal(r.op[2].file, r.op[0].file);
	reader_done(&r);
}

static void probes(void **state)
{
	const struct source_ops *ops = &source_fuse_trace;

	(void)state;
	assert_true(reader_probe(ops, T " GETATTR: path=/\n") >= 90);
	assert_true(
		reader_probe(ops, "\nnoise\n" T " READ: x\n" T " READ: x\n2024") >= 60);
	static const char *const other[] = { "", "hello\n",
		"12:34:56 read(3, \"\", 1) = 0\n", "20240131-235958.42 READ path=/\n",
		"12:34:56.000001  read  F=3  B=0x10  0.000012  x.8\n", "\x7fIOPS" };
	for (size_t i = 0; i < LENGTH(other); i++)
		assert_int_equal(reader_probe(ops, other[i]), 0);
	assert_int_equal(ops->probe(T " READ: \0\n", 30), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(refused),
		cmocka_unit_test(clocks),
		cmocka_unit_test(captures),
		cmocka_unit_test(types),
		cmocka_unit_test(probes),
	};

	/* A zone without summer time, whose midnight is not that of UTC. */
	setenv("TZ", "XYZ-1", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
