/*
 * test_strace_tasks.c - threads, processes, clocks and whole runs in strace(1) text
 */
#include "strace.h"

#define READS(pid) pid "read(3, \"x\"..., 10) = 10"
#define OPENS(pid) pid "open(\"/a\", O_RDONLY) = 3\n"
#define ROW_T(text, path, type, off, tid)                                                \
	{                                                                                \
		text, "read", R_, path, type, 10, 10, off, 3, tid, NT, ""                \
	}
#define ROW_X(text, path, type, off, tid)                                                \
	{                                                                                \
		text, "read", R_, path, type, 10, 10, off, 3, tid, NT, "b"               \
	}
#define THREAD "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD"

/* Several threads: whose call, and which table of descriptors. */
static const struct row tasks[] = {
	ROW_T(READS("1234  "), "", U_, NO, 1234),
	ROW_T(READS("[pid  1234] "), "", U_, NO, 1234),
	ROW_T(READS("[pid 123456] "), "", U_, NO, 123456),
	{ "[pid  12<ca t>] read(3, \"x\", 1) = 1", "read", R_, "", U_, 1, 1, NO, 3, 12,
		NT, "ca t" },
	{ "12<cat> read(3, \"x\", 1) = 1", "read", R_, "", U_, 1, 1, NO, 3, 12, NT,
		"cat" },
	ROW_T("1 read(3, <unfinished ...>\n2 read(4, \"\", 1) = 0\n"
	      "1 <... read resumed>\"x\"..., 10) = 10",
		"", U_, NO, 1),
	ROW_T("1 read(3,  <unfinished ...>\n2 read(4, \"\", 1) = 0\n"
	      "1 <... read resumed> \"x\"..., 10) = 10",
		"", U_, NO, 1),
	ROW_T("1 read(3,  <unfinished ...>\n1 --- SIGALRM {si_signo=SIGALRM} ---\n"
	      "1 <... read resumed> \"x\"..., 10) = 10",
		"", U_, NO, 1),
	/* A fork copies, a thread shares; a child may be seen before it is told of. */
	ROW_T(OPENS("1 ") "1 fork() = 2\n1 close(3) = 0\n" READS("2 "), "/a", F_, 0, 2),
	ROW_T(OPENS("1 ") "1 fork() = 2\n" READS("1 ") "\n" READS("2 "), "/a", F_, 10, 2),
	ROW_T(OPENS("1 ") "1 clone(child_stack=0x7f, flags=" THREAD ") = 2\n"
			  "1 close(3) = 0\n" READS("2 "),
		"", U_, NO, 2),
	ROW_T(OPENS("1 ") "1 clone(child_stack=0x7f, flags=0x3d0f00) = 2\n"
			  "2 close(3) = 0\n" READS("1 "),
		"", U_, NO, 1),
	ROW_T(OPENS("1 ") "1 clone3({flags=" THREAD ", child_tid=0x7f, exit_signal=0} => "
			  "{parent_tid=[2]}, 88) = 2\n2 close(3) = 0\n" READS("1 "),
		"", U_, NO, 1),
	ROW_T(OPENS("1 ") "1 vfork( <unfinished ...>\n" READS("2 "), "/a", F_, 0, 2),
	ROW_T(OPENS("1 ") "1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
			  "2 close(3) = 0\n1 <... clone resumed>) = 2\n" READS("1 "),
		"/a", F_, 0, 1),
	/* Before 4.22 what is shared is told at the end. */
	ROW_T(OPENS("1 ") "1 clone( <unfinished ...>\n2 open(\"/b\", O_RDONLY) = 4\n"
			  "1 <... clone resumed> child_stack=0x7f, flags=" THREAD
			  ") = 2\n2 dup2(4, 3) = 3\n" READS("1 "),
		"/b", F_, 0, 1),
	ROW_T("1 clone( <unfinished ...>\n2 open(\"/b\", O_RDONLY) = 3\n"
	      "1 <... clone resumed> child_stack=0x7f, flags=" THREAD
	      ") = 2\n" READS("1 "),
		"/b", F_, 0, 1),
	/* Of two parents the wrong one was taken. */
	ROW_T("1 fork() = 2\n1 open(\"/a\", 0) = 3\n2 open(\"/b\", 0) = 3\n"
	      "1 fork( <unfinished ...>\n2 fork( <unfinished ...>\n"
	      "4 close(9) = -1 EBADF (Bad)\n2 <... fork resumed>) = 4\n" READS("4 "),
		"/b", F_, 0, 4),
	ROW_T("1 fork() = 2\n1 open(\"/a\", 0) = 3\n2 open(\"/b\", 0) = 3\n"
	      "1 fork( <unfinished ...>\n2 fork( <unfinished ...>\n"
	      "4 close(9) = -1 EBADF (Bad)\n5 close(9) = -1 EBADF (Bad)\n"
	      "2 <... fork resumed>) = 4\n1 <... fork resumed>) = 5\n" READS("5 "),
		"/a", F_, 0, 5),
	/* In a namespace of its own the child's id here is not what it is there. */
	ROW_T(OPENS("1 ") "1 clone(flags=CLONE_NEWPID|SIGCHLD) = 2 /* 77 in strace's PID "
			  "NS */\n" READS("77 "),
		"/a", F_, 0, 77),
	ROW_T(OPENS("1 ") "1 clone(flags=SIGCHLD <unfinished ...>\n77 close(9) = 0\n"
			  "1 <... clone resumed>) = 2\n" READS("77 "),
		"/a", F_, 0, 77),
	/* On a terminal the only thread has no id until there are more. */
	ROW_T(OPENS("") "fork() = 2\n[pid 1] close(3) = 0\n" READS("[pid 2] "), "/a", F_,
		0, 2),
	ROW_T(OPENS("") "fork(strace: Process 2 attached\n) = 2\n[pid 1] close(3) = "
			"0\n" READS("[pid 2] "),
		"/a", F_, 0, 2),
	ROW_T(OPENS("") "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 2 "
			"attached\n"
			", child_tidptr=0x7f) = 2\n" READS("[pid 2] "),
		"/a", F_, 0, 2),
	ROW_T(OPENS("") "clone3({flags=" THREAD ", stack_size=0x7f}strace: Process 2 "
			"attached\n => {parent_tid=[2]}, 88) = 2\n[pid 2] close(3) = "
			"0\n" READS("[pid 1] "),
		"", U_, NO, 0),
	ROW_T(OPENS("") "clone(Process 2 attached\nchild_stack=0, flags=SIGCHLD) = "
			"2\n" READS("[pid 2] "),
		"/a", F_, 0, 2),
	ROW_T(OPENS("") "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 2 "
			"attached\n"
			" <unfinished ...>\n[pid 2] close(3) = 0\n"
			"[pid 1] <... clone resumed>, child_tidptr=0x7f) = 2\n"
			"[pid 2] +++ exited with 0 +++\n" READS(""),
		"/a", F_, 0, 0),
	/* What the program writes goes between. */
	ROW_T("write(1, \"hi\\n\", 3hi\n) = 3\n" READS(""), "", U_, NO, 0),
	/* An id comes back. */
	ROW_T(OPENS("1 ") "1 +++ exited with 0 +++\n" READS("1 "), "", U_, NO, 1),
	ROW_T("1 fork() = 2\n" OPENS("2 ") "2 exit_group(0) = ?\n1 fork() = 2\n" READS(
		      "2 "),
		"", U_, NO, 2),
	/* execve by a thread. */
	ROW_X(OPENS("1 ") "1 clone(child_stack=0x7f, flags=" THREAD
			  ") = 2\n2 execve(\"/b\", [\"b\"], 0x7f /* 9 vars */ "
			  "<unfinished "
			  "...>\n1 +++ superseded by execve in pid 2 +++\n"
			  "1 <... execve resumed>) = 0\n" READS("1 "),
		"/a", F_, 0, 1),
	ROW_X(OPENS("1 ") "1 clone(child_stack=0x7f, flags=" THREAD
			  ") = 2\n1 futex(0x7f, FUTEX_WAIT, 1, NULL <unfinished ...>\n"
			  "2 execve(\"/b\", [\"b\"], 0x7f /* 9 vars */ <pid changed to 1 "
			  "...>\n1 +++ superseded by execve in pid 2 +++\n"
			  "1 <... execve resumed>) = 0\n" READS("1 "),
		"/a", F_, 0, 1),
	/* What is no call. */
	ROW_T(READS("") "\n--- SIGCHLD {si_signo=SIGCHLD, si_status=0} ---\n"
			"--- stopped by SIGTTIN ---\nstrace: Process 5 attached\n"
			"Process 5 attached (waiting for parent)\n"
			"[ Process PID=5 runs in 32 bit mode. ]\n > /lib/x(read+0xd) "
			"[0x1]\n | 00000  68 65   he |\n * 5 bytes in buffer 0\n\n"
			"exit_group(0) = ?\nread(3, <unfinished ...>) = ?\n"
			"rt_sigreturn({mask=[]}) = 0\n"
			"restart_syscall(<... resuming interrupted read ...>) = 1",
		"", U_, NO, 0),
	ROW_T(READS("") "\n% time     seconds  usecs/call     calls    errors syscall\n"
			"------ ----------- ----------- --------- --------- ---------\n"
			" 77.00    0.000000           0         1           read\n"
			"------ ----------- ----------- --------- --------- ---------\n"
			"100.00    0.000000           0         1         1 total\n"
			"syscall              calls\n---------------- ---------\n"
			"read                     1\n---------------- ---------\n"
			"total                    1",
		"", U_, NO, 0),
};

#define ROW_C(text, dur)                                                                 \
	{                                                                                \
		text, "read", R_, "", U_, 1, 1, NO, 3, 0, dur, ""                        \
	}

static const struct row clocks[] = {
	ROW_C("10:00:00 read(3, \"x\", 1) = 1", NT),
	ROW_C("10:00:00.123456 read(3, \"x\", 1) = 1", NT),
	ROW_C("10:00:00.123456789 read(3, \"x\", 1) = 1 <0.000000001>", 1),
	ROW_C("1700000000.123456 read(3, \"x\", 1) = 1 <1.5>", 1500 * MS),
	ROW_C("1700000000 read(3, \"x\", 1) = 1", NT),
	ROW_C("     0.000012 read(3, \"x\", 1) = 1", NT),
	ROW_C("10:00:00 (+     0.000012) read(3, \"x\", 1) = 1", NT),
	ROW_C("10:00:00 [ 257] [00007f4b2c000000] read(3, \"x\", 1) = 1", NT),
	ROW_C("[????????????????] read(3, \"x\", 1) = 1", NT),
	ROW_C("[unconfined_u:unconfined_r:unconfined_t:s0] read(3, \"x\", 1) = 1", NT),
	/* Of a call in two: only where both times have a fraction. */
	ROW_C("1.000001 read(3,  <unfinished ...>\n0.000500 <... read resumed>\"x\", 1) "
	      "= 1",
		500 * US),
	ROW_C("1700000000.000001 read(3,  <unfinished ...>\n"
	      "1700000001.000001 <... read resumed>\"x\", 1) = 1",
		1000 * MS),
	ROW_C("10:00:00 read(3,  <unfinished ...>\n10:00:02 <... read resumed>\"x\", 1) "
	      "= 1",
		NT),
	ROW_C("read(3,  <unfinished ...>\n<... read resumed>\"x\", 1) = 1", NT),
	ROW_C("23:59:59.900000 read(3,  <unfinished ...>\n"
	      "00:00:00.100000 <... read resumed>\"x\", 1) = 1",
		200 * MS),
	ROW_C("1700000002.0 pause() = 0\n1700000001.5 read(3,  <unfinished ...>\n"
	      "1700000001.0 <... read resumed>\"x\", 1) = 1",
		0),
	ROW_C("10:00:00.1 read(3,  <unfinished ...>\n"
	      "10:00:09.1 <... read resumed>\"x\", 1) = 1 <0.000002>",
		2 * US),
};

static void threads(void **state)
{
	(void)state;
	row_table(tasks, LENGTH(tasks));
}

static void times(void **state)
{
	(void)state;
	row_table(clocks, LENGTH(clocks));
}

/* Both sides of a call, one operation a message, births and deaths in their order. */
static void several(void **state)
{
	struct reader r;
	static const char text[] = "7 execve(\"/bin/cat\", [\"cat\", \"a b\"..., "
				   "\"-x\"], 0x7f /* 3 vars */) = 0\n"
				   "7 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n"
				   "7 sendfile(4, 3, [5] => [15], 10) = 10\n"
				   "7 sendmmsg(5, [{msg_hdr={msg_iov=[{iov_base=\"a\", "
				   "iov_len=1}]}, msg_len=1}, "
				   "{msg_hdr={msg_iov=[{iov_base=\"bc\", iov_len=2}]}, "
				   "msg_len=2}], 2, 0) = 2\n"
				   "7 clone(child_stack=NULL, flags=SIGCHLD) = 8\n"
				   "8 prctl(PR_SET_NAME, \"kid\") = 0\n"
				   "8 write(1, \"x\", 1) = 1\n8 +++ exited with 3 +++\n"
				   "7 +++ exited with 1 +++\n";
	static const struct {
		unsigned kind;
		int64_t ret;
		int32_t tid;
		const char *comm;
		unsigned bits;
	} want[] = { { OP_EXEC, 0, 7, "cat", 0 }, { OP_OPEN, 3, 7, "cat", 0 },
		{ OP_READ, 10, 7, "cat", 0 }, { OP_WRITE, 10, 7, "cat", OP_SECOND },
		{ OP_WRITE, 1, 7, "cat", 0 }, { OP_WRITE, 2, 7, "cat", OP_PART },
		{ OP_FORK, 7, 8, "cat", 0 }, { OP_WRITE, 1, 8, "kid", 0 },
		{ OP_EXIT, 3 << 8, 8, "kid", 0 }, { OP_EXIT, 1 << 8, 7, "cat", 0 } };

	(void)state;
	reader_text(&r, &source_strace, text, sizeof(text) - 1);
	assert_int_equal(r.n, LENGTH(want));
	for (unsigned i = 0; i < r.n; i++) {
		print_message("# %u\n", i);
		assert_int_equal(r.op[i].kind, want[i].kind);
		assert_int_equal(r.op[i].ret, want[i].ret);
		assert_int_equal(r.op[i].tid, want[i].tid);
		assert_int_equal(r.op[i].call & (OP_SECOND | OP_PART), want[i].bits);
		assert_string_equal(names_get(r.names, r.op[i].comm), want[i].comm);
	}
	assert_int_equal(r.op[2].offset, 5);
	assert_int_equal(r.op[7].pid, 8);
	reader_done(&r);
}

static void runs(void **state)
{
	struct reader r;
	static const char text[] =
		"1700000000.5 execve(\"/bin/cat\", [\"cat\", \"a\"..., \"b\"], 0x7f) = "
		"0\n"
		"1700000002.0 read(3, \"x\", 1) = 1 <0.25>\n"
		"1700000002.5 +++ exited with 2 +++\n"
		"% time     seconds  usecs/call     calls    errors syscall\n"
		"100.00    9.000000           0         1         1 total\n";

	(void)state;
	reader_text(&r, &source_strace, text, sizeof(text) - 1);
	assert_int_equal(r.run.started_ns, UINT64_C(1700000000500000000));
	assert_int_equal(r.run.elapsed_ns, 2000 * MS);
	assert_true(r.run.ended);
	assert_int_equal(r.run.status, 2 << 8);
	assert_int_equal(r.op[1].start_ns, 1500 * MS);
	reader_done(&r);
}

#define DATA "tests/data/strace/"

/* Of real programs, and by hand in the words of strace 4.8. */
static void captures(void **state)
{
	static const struct {
		const char *name;
		struct sums reads, writes;
		bool damaged;
	} rows[] = {
		{ "cat", { 6, 0, 2406 }, { 1, 0, 6 }, false },
		{ "cut", { 3, 0, 2400 }, { 0, 0, 0 }, true },
		{ "escaped", { 2, 0, 835 }, { 1, 0, 3 }, false },
		{ "i386", { 4, 0, 40 }, { 8, 0, 8262 }, false },
		{ "old", { 2, 1, 5 }, { 3, 0, 7 }, false },
		{ "passed", { 3, 0, 8 }, { 2, 0, 4 }, false },
		{ "sqlite", { 3, 0, 32 }, { 13, 0, 25118 }, false },
		{ "stack", { 3, 0, 836 }, { 1, 0, 4 }, false },
		{ "summary", { 3, 0, 836 }, { 1, 0, 4 }, false },
		{ "terminal", { 8, 0, 4802 }, { 3, 0, 7 }, false },
		{ "threads", { 11, 0, 2688 }, { 8, 0, 192 }, false },
		{ "verbose", { 6, 0, 4800 }, { 0, 0, 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct reader r;
		char path[64];
		snprintf(path, sizeof(path), DATA "%s.txt", rows[i].name);
		print_message("# %s\n", path);
		reader_file(&r, &source_strace, path);
		reader_expect(&r, CLASS_READ, LAYER_MAIN, rows[i].reads);
		reader_expect(&r, CLASS_WRITE, LAYER_MAIN, rows[i].writes);
		assert_int_equal(r.run.damaged, rows[i].damaged);
		reader_done(&r);
	}
}

/* Files of -ff: in the order of their times, whatever the order that they are named in.
 */
static void side_by_side(void **state)
{
	static const char *const name[] = { DATA "ff.103", DATA "ff.101", DATA "ff.104",
		DATA "ff.102" };
	enum { N = LENGTH(name) };
	struct reader r = { .sink.ops = &reader_sink };
	struct input *in[N];
	struct source *source;
	uint64_t last = 0;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(input_open(&in[i], name[i]), 0);
	r.names = names_new();
	struct source_args args = { .names = r.names, .inputs = in, .ninputs = N };
	assert_int_equal(source_strace.open(&source, &args), 0);
	while (source_strace.step(source, &r.sink) > 0)
		;
	source_strace.about(source, &r.run);
	assert_false(r.run.damaged);
	assert_true(r.run.ended);
	assert_int_equal(r.run.pids[0], 101);
	unsigned forks = 0;
	for (unsigned i = 0; i < r.n; i++) {
		assert_true(r.op[i].start_ns >= last);
		last = r.op[i].start_ns;
		forks += r.op[i].kind == OP_FORK;
		/* A pipe or file that a child got from its parent is known by name. */
		if (op_kind_class(r.op[i].kind) == CLASS_READ)
			assert_string_not_equal(reader_path(&r, &r.op[i]), "");
	}
	assert_int_equal(forks, 3);
	source_strace.close(source);
	for (unsigned i = 0; i < N; i++)
		input_close(in[i]);
	names_free(r.names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),
		cmocka_unit_test(times),
		cmocka_unit_test(several),
		cmocka_unit_test(runs),
		cmocka_unit_test(captures),
		cmocka_unit_test(side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
