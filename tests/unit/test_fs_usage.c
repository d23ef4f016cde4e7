/*
 * test_fs_usage.c - text of macOS fs_usage, line by line and in whole captures
 */
#include "reader.h"

#include <errno.h>

#define DATA   "tests/data/fs_usage/"
#define NO_OFF OP_NO_OFFSET
#define NO_DUR OP_NO_TIME
#define US(n)  ((n)*UINT64_C(1000))

/* Each alone: nothing is known from lines before. */
static const struct wanted lines[] = {
	{ "10:00:00.000100  read              F=5    B=0x1000      0.000012   cat.482911",
		"read", "", "cat", OP_READ, FILE_UNKNOWN, LAYER_MAIN, 4096, 4096, US(12),
		NO_OFF, 5, 482911 },
	{ "10:00:00.000100  pread             F=17   B=0xABC   O=0x0000F000   1.000012 W "
	  "Google Chrome He.12345",
		"pread", "", "Google Chrome He", OP_READ, FILE_UNKNOWN, LAYER_MAIN, 2748,
		2748, US(1000012), 61440, 17, 12345 },
	{ "10:00:00.123  write  F=3  [ 28]  0.000001  python2.7", "write", "",
		"python2.7", OP_WRITE, FILE_UNKNOWN, LAYER_MAIN, -ENOSPC, 0, US(1),
		NO_OFF, 3, 1 },
	{ "10:00:00  read              0.000012 W W.X", "read", "", "W.X", OP_READ,
		FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, -1, 1 },
	{ "10:00:00  read              0.000012   W", "read", "", "W", OP_READ,
		FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, -1, 1 },
	{ "10:00:00.000001  read  F=3  B=0x5  0.000012 7.123456", "read", "", "7",
		OP_READ, FILE_UNKNOWN, LAYER_MAIN, 5, 5, US(12), NO_OFF, 3, 123456 },
	{ "10:00:00.000001  read  F=3  B=0x5  0.000012", "read", "", "", OP_READ,
		FILE_UNKNOWN, LAYER_MAIN, 5, 5, US(12), NO_OFF, 3, 0 },
	{ "10:00:00.000001  read  F=3  B=0x5  0.0000", "read", "", "", OP_READ,
		FILE_UNKNOWN, LAYER_MAIN, 5, 5, NO_DUR, NO_OFF, 3, 0 },
	{ "10:00:00.000001  read  F=3  B=0x", "read", "", "", OP_READ, FILE_UNKNOWN,
		LAYER_MAIN, 0, 0, NO_DUR, NO_OFF, 3, 0 },
	{ "10:00:00.000001  read  F", "read", "F", "", OP_READ, FILE_REGULAR, LAYER_MAIN,
		0, 0, NO_DUR, NO_OFF, -1, 0 },
	{ "10:00:00  read", "read", "", "", OP_READ, FILE_UNKNOWN, LAYER_MAIN, 0, 0,
		NO_DUR, NO_OFF, -1, 0 },
	{ "10:00:00  read  B=0x1000  /path/with spaces/file.txt  Python", "read",
		"/path/with spaces/file.txt", "Python", OP_READ, FILE_REGULAR, LAYER_MAIN,
		4096, 4096, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  read  B=0x1  /a b 1.5 c  Python", "read", "/a b 1.5 c", "Python",
		OP_READ, FILE_REGULAR, LAYER_MAIN, 1, 1, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  read  B=-5  /p  Python", "read", "/p", "Python", OP_READ,
		FILE_REGULAR, LAYER_MAIN, 0, 0, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  read  /path  Python", "read", "/path", "Python", OP_READ,
		FILE_REGULAR, LAYER_MAIN, 0, 0, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  read  B=invalid  /p  Python", "read", "/p", "Python", OP_READ,
		FILE_REGULAR, LAYER_MAIN, 0, 0, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  read  B=0xffffffffffffffffff  /p  Python", "read", "/p", "Python",
		OP_READ, FILE_REGULAR, LAYER_MAIN, 0, 0, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00  ReAd  B=0x10  Python", "ReAd", "", "Python", OP_READ, FILE_UNKNOWN,
		LAYER_MAIN, 16, 16, NO_DUR, NO_OFF, -1, 1 },
	{ "10:00:00.000001  guarded_write_np  F=3  B=0x9  0.000001  Safari.77",
		"guarded_write_np", "", "Safari", OP_WRITE, FILE_UNKNOWN, LAYER_MAIN, 9,
		9, US(1), NO_OFF, 3, 77 },
	{ "10:00:00.000001  readlink            [  2]       /a  0.000001  ls.77",
		"readlink", "/a", "ls", OP_READ, FILE_REGULAR, LAYER_MAIN, -ENOENT, 0,
		US(1), NO_OFF, -1, 77 },
	{ "10:00:00.000001  bsdthread_create  0.000001  ls.77", "bsdthread_create", "",
		"ls", OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(1), NO_OFF, -1, 77 },
	{ "10:00:00  PBReadForkSync  0.000001  Finder", "PBReadForkSync", "", "Finder",
		OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(1), NO_OFF, -1, 1 },
	{ "10:00:00.000001    RdData[A]  D=0x04eb5a18  B=0x4000  /dev/disk1s1  /lib/d y  "
	  "0.000150 W launchd.9",
		"RdData[A]", "/lib/d y", "launchd", OP_READ, FILE_REGULAR, LAYER_BLOCK,
		16384, 16384, US(150), NO_OFF, -1, 9 },
	{ "10:00:00.000001    WrMeta[AT1]  D=0x1  B=0x200  /dev/disk1s1  0.000150 W k.9",
		"WrMeta[AT1]", "/dev/disk1s1", "k", OP_WRITE, FILE_BLOCK, LAYER_BLOCK,
		512, 512, US(150), NO_OFF, -1, 9 },
	{ "10:00:00.000001    WrData[S]  D=0x1  B=0x200  /dev/NOTFOUND  0.000150 W k.9",
		"WrData[S]", "", "k", OP_WRITE, FILE_UNKNOWN, LAYER_BLOCK, 512, 512,
		US(150), NO_OFF, -1, 9 },
	{ "10:00:00.000001    RdChunk[AN]  D=0x1  [  5]  0.000150 W k.9", "RdChunk[AN]",
		"", "k", OP_READ, FILE_UNKNOWN, LAYER_BLOCK, -EIO, 0, US(150), NO_OFF, -1,
		9 },
	{ "10:00:00.000001  PgOut[async]  D=0x1  B=0x1000  /dev/disk0s2  a/b  0.1 W k.9",
		"PgOut[async]", "a/b", "k", OP_WRITE, FILE_REGULAR, LAYER_BLOCK, 4096,
		4096, US(100000), NO_OFF, -1, 9 },
	{ "10:00:00.000001  PAGE_IN_FILE  A=0x0104d91000  <TEXT>  0.000012  Dock.8",
		"PAGE_IN_FILE", "", "Dock", OP_READ, FILE_UNKNOWN, LAYER_BLOCK, 0, 0,
		US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  CACHE_HIT  A=0x0104d91000  0.000012  Dock.8", "CACHE_HIT", "",
		"Dock", OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  open  F=3  (RW_C_T_)  /a (copy)/b  0.000012  x.8", "open",
		"/a (copy)/b", "x", OP_OPEN, FILE_REGULAR, LAYER_MAIN, 3, 0, US(12),
		NO_OFF, 3, 8 },
	{ "10:00:00.000001  open  [  2]  (R_____)  (old) notes.txt  0.000012  x.8",
		"open", "(old) notes.txt", "x", OP_OPEN, FILE_REGULAR, LAYER_MAIN,
		-ENOENT, 0, US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  open  F=3  (R_____)  /dev/ttys000  0.000012  x.8", "open",
		"/dev/ttys000", "x", OP_OPEN, FILE_TTY, LAYER_MAIN, 3, 0, US(12), NO_OFF,
		3, 8 },
	{ "10:00:00.000001  openat  F=4  (R_____)  [-2]//a/b  0.000012  x.8", "openat",
		"/a/b", "x", OP_OPEN, FILE_REGULAR, LAYER_MAIN, 4, 0, US(12), NO_OFF, 4,
		8 },
	{ "10:00:00.000001  fcntl  F=4  <BARRIERFSYNC>  0.000012  x.8", "fcntl", "", "x",
		OP_SYNC, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, 4, 8 },
	{ "10:00:00.000001  fcntl  F=4  <CACHING OFF (GLOBAL)>  0.000012  x.8", "fcntl",
		"", "x", OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, 4, 8 },
	{ "10:00:00.000001  fsync_nocancel  F=4[  9]  0.000012  x.8", "fsync_nocancel",
		"", "x", OP_SYNC, FILE_UNKNOWN, LAYER_MAIN, -EBADF, 0, US(12), NO_OFF, 4,
		8 },
	{ "10:00:00.000001  sync  0.000012  x.8", "sync", "", "x", OP_SYNC, FILE_UNKNOWN,
		LAYER_MAIN, 0, 0, US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  guarded_close_np  F=4  0.000012  x.8", "guarded_close_np", "",
		"x", OP_CLOSE, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12), NO_OFF, 4, 8 },
	{ "10:00:00.000001  dup2  F=4  F=9  0.000012  x.8", "dup2", "", "x", OP_OPEN,
		FILE_UNKNOWN, LAYER_MAIN, 9, 0, US(12), NO_OFF, 4, 8 },
	{ "10:00:00  stat64  >>>>ary/Caches/x y.db  0.000012  x", "stat64",
		"ary/Caches/x y.db", "x", OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 0, US(12),
		NO_OFF, -1, 1 },
	{ "10:00:00.000001  truncate  O=0x00000100  /a  0.000012  x.8", "truncate", "/a",
		"x", OP_META, FILE_UNKNOWN, LAYER_MAIN, 0, 256, US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  read  F=3  B=0x1  0.000012  x.99999999999999999999", "read",
		"", "x.99999999999999999999", OP_READ, FILE_UNKNOWN, LAYER_MAIN, 1, 1,
		US(12), NO_OFF, 3, 1 },
	{ "10:00:00.000001  read  F=99999999999  B=0x1\t0.000012  x.8\r", "read", "", "x",
		OP_READ, FILE_UNKNOWN, LAYER_MAIN, 1, 1, US(12), NO_OFF, -1, 8 },
	{ "10:00:00.000001  read  F=3[ -1]  0.000012  x.8", "read", "", "x", OP_READ,
		FILE_UNKNOWN, LAYER_MAIN, -512, 0, US(12), NO_OFF, 3, 8 },
};

static void alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(lines); i++) {
		struct reader r;
		reader_text(&r, &source_fs_usage, lines[i].line, strlen(lines[i].line));
		assert_int_equal(r.n, 1);
		assert_false(r.run.damaged);
		reader_check(&r, &r.op[0], &lines[i]);
		reader_done(&r);
	}
}

static void refused(void **state)
{
	static const char *const bad[] = { "hello", "10:00:00", "10:00:00.000001  ",
		"24:00:00  read", "10:60:00  read", "10:00:61  read", "1:00:00  read",
		"10:00:00 read(3, \"x\", 1) = 1", "10:00:00 <... read resumed>) = 1",
		"10:00:00 +++ exited with 0 +++", "10:00:00x  read",
		"20240131-235958.7:  GETATTR: path=/", "0.000012 W x.8",
		("\x7f"
		"ELF") };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct reader r;
		print_message("# %s\n", bad[i]);
		reader_text(&r, &source_fs_usage, bad[i], strlen(bad[i]));
		assert_int_equal(r.n, 1);
		assert_int_equal(r.op[0].kind, OP_LOST);
		assert_true(r.run.damaged);
		reader_done(&r);
	}

	static const char nul[] = "10:00:00  read\0  B=0x10  x\n\n   \n";
	struct reader r;
	reader_text(&r, &source_fs_usage, nul, sizeof(nul) - 1);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.op[0].kind, OP_LOST);
	assert_int_equal(r.op[0].ret, 1);
	assert_true(r.run.damaged);
	reader_done(&r);
	reader_text(&r, &source_fs_usage, "\n  \n\r\n", 6);
	assert_int_equal(r.n, 0);
	assert_false(r.run.damaged);
	assert_int_equal(r.run.elapsed_ns, 0);
	reader_done(&r);
}

/* A descriptor has the file of its open(), of each process by itself. */
static void descriptors(void **state)
{
	static const char text[] =
		"10:00:00.000001  open    F=3  (R_____)  /one     0.000001   a.1\n"
		"10:00:00.000002  open    F=3  (R_____)  /two     0.000001   b.2\n"
		"10:00:00.000003  read    F=3  B=0x1              0.000001   a.1\n"
		"10:00:00.000004  dup2    F=3  F=8                0.000001   b.2\n"
		"10:00:00.000005  close   F=3                     0.000001   b.2\n"
		"10:00:00.000006  read    F=8  B=0x1              0.000001   b.3\n"
		"10:00:00.000007  read    F=3  B=0x1              0.000001   b.2\n"
		"10:00:00.000008  openat  F=9  (R_____)  [3]/sub  0.000001   a.1\n"
		"10:00:00.000009  read    F=9  B=0x1              0.000001   a.1\n"
		"10:00:00.000010  accept  F=5  F=6                0.000001   a.1\n"
		"10:00:00.000011  write   F=6  B=0x1              0.000001   a.1\n"
		"10:00:00.000012  dup     F=70 F=9                0.000001   a.1\n"
		"10:00:00.000013  read    F=9  B=0x1              0.000001   a.1\n"
		"10:00:00.000014  read    F=3  B=0x1  \n";
	static const char *const path[] = { "/one", "/two", "/one", "/two", "", "/two",
		"", "/one/sub", "/one/sub", "socket", "socket", "", "", "" };
	struct reader r;

	(void)state;
	reader_text(&r, &source_fs_usage, text, sizeof(text) - 1);
	assert_int_equal(r.n, LENGTH(path));
	for (unsigned i = 0; i < r.n; i++) {
		if (r.op[i].kind == OP_CLOSE)
			continue; /* of what it was */
		assert_string_equal(reader_path(&r, &r.op[i]), path[i]);
	}
	assert_int_equal(r.op[0].pid, 1);
	assert_int_equal(r.op[1].pid, 2);
	assert_int_equal(r.op[5].pid, 2);
	assert_int_equal(r.op[5].tid, 3);
	reader_done(&r);
}

static void clocks(void **state)
{
	static const char text[] = "23:59:59.500000  read  F=3  B=0x1  0.250000   a.1\n"
				   "00:00:00.500000  read  F=3  B=0x1  0.250000   a.1\n"
				   "23:59:59.900000  read  F=3  B=0x1  0.100000   a.1\n"
				   "00:00:01.000000  read  F=3  B=0x1  0.250000   a.1\n"
				   "12:00:00.000000  read  F=3  B=0x1  0.250000   a.1\n"
				   "23:59:59.400000  read  F=3  B=0x1  0.250000   a.1\n";
	static const uint64_t start_ms[] = { 0, 750, 300, 1250, 43200250, 86399650 };
	struct reader r;

	(void)state;
	reader_text(&r, &source_fs_usage, text, sizeof(text) - 1);
	assert_int_equal(r.n, LENGTH(start_ms));
	for (unsigned i = 0; i < r.n; i++)
		assert_int_equal(r.op[i].start_ns, start_ms[i] * 1000000);
	assert_int_equal(r.run.elapsed_ns, UINT64_C(86399900000000));
	assert_int_equal(r.run.started_ns, 0);
	reader_done(&r);
}

static void captures(void **state)
{
	struct reader r;

	(void)state;
	reader_file(&r, &source_fs_usage, DATA "wide.txt");
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 6, 3, 9204 });
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 2, 0, 8320 });
	reader_expect(&r, CLASS_SYNC, LAYER_MAIN, (struct sums){ 2, 0, 0 });
	reader_expect(&r, CLASS_READ, LAYER_BLOCK, (struct sums){ 4, 1, 53248 });
	reader_expect(&r, CLASS_WRITE, LAYER_BLOCK, (struct sums){ 3, 0, 28672 });
	assert_int_equal(r.run.elapsed_ns, 3990000);
	assert_false(r.run.damaged);
	reader_done(&r);

	reader_file(&r, &source_fs_usage, DATA "narrow.txt");
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 2, 0, 0 });
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 1, 0, 0 });
	reader_expect(&r, CLASS_WRITE, LAYER_BLOCK, (struct sums){ 1, 0, 0 });
	assert_false(r.run.damaged);
	reader_done(&r);

	reader_file(&r, &source_fs_usage, DATA "plain.txt");
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 7, 0, 6703 });
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 1, 0, 512 });
	reader_expect(&r, CLASS_READ, LAYER_BLOCK, (struct sums){ 1, 0, 12288 });
	reader_done(&r);

	reader_file(&r, &source_fs_usage, DATA "cut.txt");
	reader_expect(&r, CLASS_WRITE, LAYER_MAIN, (struct sums){ 8, 0, 6164 });
	assert_true(r.run.damaged);
	reader_done(&r);
}

static void probes(void **state)
{
	const struct source_ops *ops = &source_fs_usage;

	(void)state;
	assert_true(reader_probe(ops, lines[0].line) >= 90);
	assert_true(reader_probe(ops, "12:34:56  read  /path  Python\n") >= 50);
	assert_true(
		reader_probe(ops, "\n\n12:34:56  stat64  /a   0.000001  x\n12:3") >= 90);
	static const char *const other[] = { "",
		"12:34:56 read(3, \"\", 1) = 0\n12:34:56 close(3) = 0\n",
		"12:34:56.123456 read(3, \"\", 1) = 0 <0.000012>\n",
		"[pid 12] 12:34:56 read(3, \"\", 1) = 0\n",
		"  0.000012 read(3, \"\", 1) = 0\n", "execve(\"/bin/ls\", ...) = 0\n",
		"20240131-235958.7:  GETATTR: path=/\n", "\x7fIOPS",
		"12:34:56  read  F=3\na\nb\nc\n", "hello\nworld\n" };
	for (size_t i = 0; i < LENGTH(other); i++)
		assert_int_equal(reader_probe(ops, other[i]), 0);
	assert_int_equal(ops->probe("12:34:56  read  B=0x1\n\0\n", 24), 0);
}

static void inputs(void **state)
{
	struct source_args args = { .ninputs = 2 };
	struct source *source;

	(void)state;
	assert_int_equal(source_fs_usage.open(&source, &args), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(refused),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(clocks),
		cmocka_unit_test(captures),
		cmocka_unit_test(probes),
		cmocka_unit_test(inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
