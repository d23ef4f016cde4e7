/*
 * test_log.c - what goes into a log comes out of it
 */
#include "logs.h"

static void whole(const struct ops *o, size_t flush)
{
	struct bytes log = write_log(o, flush);
	struct reading r;

	assert_int_equal(read_log(&r, o, log), 0);
	assert_int_equal(r.missing, 0);
	assert_int_equal(r.lost, 0);
	assert_false(r.run.damaged);
	assert_true(r.run.complete);
	assert_int_equal(r.run.status, STATUS);
	assert_int_equal(r.run.elapsed_ns, 12345);
	assert_string_equal(r.run.host, "here");
	free(log.p);
}

static void by_hand(void **state)
{
	struct ops o;

	(void)state;
	ops_init(&o);
	whole(&o, 0); /* none at all */
	uint32_t f = file(&o, "/tmp/\xff\xfe", FILE_REGULAR, 0),
		 sh = text(&o, "a command \x80");
	unsigned sendfile = names_call(o.names, "sendfile", 8),
		 strange = names_call(o.names, "io_uring:READ", 13);
	add(&o, (struct op){ 0 });
	add(&o, (struct op){ .fd = -1, .offset = OP_NO_OFFSET, .dur_ns = OP_NO_TIME });
	add(&o, (struct op){ .fd = -1, .offset = OP_NO_OFFSET, .dur_ns = OP_NO_TIME });
	add(&o, (struct op){ .start_ns = 5, .dur_ns = 7, .file = f, .call = sendfile });
	add(&o, (struct op){ .kind = OP_WRITE,
			.start_ns = 5,
			.dur_ns = 7,
			.comm = sh,
			.ret = 100,
			.want = 200,
			.call = sendfile | OP_SECOND });
	add(&o, (struct op){ .kind = OP_WRITE, .ret = 9, .call = strange | OP_PART });
	add(&o, (struct op){ .ret = 1 << 20, .want = 9, .call = strange | OP_SUM });
	add(&o, (struct op){
			.kind = OP_EXEC, .pid = 7, .tid = 7, .file = f, .comm = sh });
	add(&o, (struct op){ .pid = INT32_MIN, .tid = INT32_MAX, .fd = INT32_MAX });
	add(&o, (struct op){ .pid = INT32_MAX, .tid = INT32_MIN, .fd = INT32_MIN });
	add(&o, (struct op){ .pid = INT32_MIN, .tid = INT32_MIN, .fd = -1 });
	for (size_t flush = 0; flush < 4; flush++)
		whole(&o, flush);
	ops_fini(&o);
}

/* The values at which numbers change their nature. */
static uint64_t extreme(void)
{
	static const uint64_t row[] = { 0, 1, 127, 128, INT32_MAX, UINT32_MAX, INT64_MAX,
		(uint64_t)INT64_MIN, (uint64_t)INT64_MIN + 1, UINT64_MAX, UINT64_MAX - 1,
		4096, (uint64_t)-ENOENT };
	uint64_t n = below(2 * LENGTH(row));

	return n < LENGTH(row) ? row[n] : any() >> below(64);
}

static void random_names(struct ops *o, uint32_t *id, size_t n, bool files)
{
	char s[40];

	for (size_t i = 0; i < n; i++) {
		size_t len = 1 + below(sizeof(s) - 2);
		for (size_t k = 0; k < len; k++)
			s[k] = (char)(1 + below(255));
		s[len] = 0;
		if (below(2))
			*s = '/';
		id[i] = files ? file(o, s, below(NFILE_TYPES), below(2) ? extreme() : 0)
			      : text(o, s);
	}
}

static void random_ops(void **state)
{
	static const char *const calls[] = { "read", "pwritev2", "aio:pread", "x y" };
	uint32_t files[300], comms[20];
	struct ops o;

	(void)state;
	ops_init(&o);
	random_names(&o, files, LENGTH(files), true);
	random_names(&o, comms, LENGTH(comms), false);
	for (size_t i = 0; i < 200000; i++) {
		const char *call = calls[below(LENGTH(calls))];
		struct op op = { .start_ns = extreme(),
			.dur_ns = extreme(),
			.ret = (int64_t)extreme(),
			.want = extreme(),
			.offset = below(4) ? (int64_t)extreme() : OP_NO_OFFSET,
			.file = below(9) ? files[below(LENGTH(files))] : 0,
			.comm = below(9) ? comms[below(LENGTH(comms))] : 0,
			.pid = (int32_t)extreme(),
			.tid = (int32_t)extreme(),
			.fd = (int32_t)extreme(),
			.kind = below(OP_NKINDS),
			.layer = below(NLAYERS) };
		if (!is_notice(&op))
			op.call = names_call(o.names, call, strlen(call));
		op.call |= below(8) << 13;
		op.kind = op.kind == OP_LOST ? OP_NOTE : op.kind;
		add(&o, op);
	}
	whole(&o, 0);
	whole(&o, 10007);
	ops_fini(&o);
}

static void many_files(void **state)
{
	struct ops o;

	(void)state;
	ops_init(&o);
	likely_ops(&o, 200000, 100000);
	whole(&o, 0);
	whole(&o, 30000);
	ops_fini(&o);
}

/* Names beyond what a block can hold, in blocks that have to end early. */
static void long_names(void **state)
{
	char *s = malloc(LOG_NAME_MAX + 100);
	struct ops o;

	(void)state;
	ops_init(&o);
	memset(s, 'x', LOG_NAME_MAX + 99);
	s[LOG_NAME_MAX] = 0;
	for (int i = 0; i < 1000; i++) {
		snprintf(s, 10, "/%08d", i);
		s[9] = 'y';
		add(&o, (struct op){ .file = file(&o, s, FILE_REGULAR, 0) });
	}
	whole(&o, 0);
	o.n = 0;
	s[LOG_NAME_MAX] = 'x';
	s[LOG_NAME_MAX + 99] = 0;
	add(&o, (struct op){ .comm = text(&o, s) });
	struct bytes log = write_log(&o, 0);
	struct ops cut;
	ops_init(&cut);
	s[LOG_NAME_MAX] = 0;
	add(&cut, (struct op){ .comm = text(&cut, s) });
	struct reading r;
	assert_int_equal(read_log(&r, &cut, log), 0);
	assert_int_equal(r.missing, 0);
	assert_false(r.run.damaged);
	free(log.p);
	free(s);
	ops_fini(&cut);
	ops_fini(&o);
}

/* A type that is learnt after the file was told of, in the same block or before it. */
static void types_learnt(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct ops o;
		struct writing w;
		struct reading r;
		ops_init(&o);
		struct op op = { .file = file(&o, "/f", FILE_UNKNOWN, 0) };
		begin(&w, &o);
		assert_int_equal(sink_put(w.sink, &op), 0);
		if (flush)
			assert_int_equal(sink_flush(w.sink), 0);
		names_learn_type(o.names, op.file, FILE_PIPE);
		assert_int_equal(sink_put(w.sink, &op), 0);
		struct bytes log = end(&w);
		assert_int_equal(read_log(&r, NULL, log), 0);
		assert_int_equal(r.type, FILE_PIPE);
		free(log.p);
		ops_fini(&o);
	}
}

static void runs(void **state)
{
	char *const command[] = { "a", "", "\xff\xfe", "b c", NULL };
	const pid_t pids[] = { 1, INT32_MAX, INT32_MIN, 0 };
	struct run run = { .id = "0123456789-0123456789-0123456789-012",
		.boot_id = "b",
		.host = "h\xff",
		.kernel = "6",
		.backend = "ptrace",
		.command = command,
		.pids = pids,
		.npids = LENGTH(pids),
		.started_ns = UINT64_MAX,
		.epoch_ns = INT64_MAX,
		.elapsed_ns = UINT64_MAX - 1,
		.complete = true,
		.counters_only = true,
		.machine_wide = true,
		.verifies = true,
		.imported = true,
		.damaged = true,
		.ended = true,
		.status = -1,
		.snapshot = true,
		.patches = true,
		.no_patch = "no\xff" };
	struct wire_out o = { 0 };
	struct log_run strings = { 0 };
	struct run got;

	(void)state;
	memset(run.why, 'w', sizeof(run.why) - 1);
	log_put_run(&o, &run, false);
	wire_u64(&o, 999); /* a tag of later days */
	wire_text(&o, "whatever");
	struct wire_in in = { o.p, o.p + o.n, false };
	assert_int_equal(log_get_run(&in, &got, &strings), 0);
	for (size_t i = 0; i < LENGTH(command) - 1; i++)
		assert_string_equal(got.command[i], command[i]);
	assert_null(got.command[LENGTH(command) - 1]);
	assert_int_equal(got.npids, LENGTH(pids));
	assert_memory_equal(got.pids, pids, sizeof(pids));
	got.command = run.command;
	got.pids = run.pids;
	/* Neither has been given anything between its members. */
	struct run a, b;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
#define COPY(m) memcpy(&a.m, &run.m, sizeof(a.m)), memcpy(&b.m, &got.m, sizeof(b.m))
	COPY(started_ns), COPY(epoch_ns), COPY(elapsed_ns), COPY(complete);
	COPY(counters_only), COPY(machine_wide), COPY(verifies), COPY(imported);
	COPY(damaged), COPY(ended), COPY(status), COPY(snapshot), COPY(patches);
#undef COPY
	assert_memory_equal(&a, &b, sizeof(a));
	assert_string_equal(got.id, run.id);
	assert_string_equal(got.boot_id, run.boot_id);
	assert_string_equal(got.host, run.host);
	assert_string_equal(got.kernel, run.kernel);
	assert_string_equal(got.backend, run.backend);
	assert_string_equal(got.why, run.why);
	assert_string_equal(got.no_patch, run.no_patch);
	for (size_t n = 0; n < o.n; n++) { /* no cut of it does harm */
		in = (struct wire_in){ o.p, o.p + n, false };
		(void)log_get_run(&in, &got, &strings);
	}
	log_run_fini(&strings);
	wire_fini(&o);
}

static void long_command(void **state)
{
	enum { ARGS = 40, EACH = 100000 };
	char *command[ARGS + 1], *arg = malloc(EACH + 1);
	struct ops o;
	struct writing w;
	struct reading r;

	(void)state;
	for (int i = 0; i < EACH; i++)
		arg[i] = (char)(1 + below(255));
	arg[EACH] = 0;
	for (int i = 0; i < ARGS; i++)
		command[i] = arg;
	command[ARGS] = NULL;
	ops_init(&o);
	begin(&w, &o);
	w.run.command = command;
	struct bytes log = end(&w);
	assert_int_equal(read_log(&r, &o, log), 0);
	assert_false(r.run.damaged);
	free(arg);
	free(log.p);
	ops_fini(&o);
}

static void full_disk(void **state)
{
	struct ops o;
	struct run run = { .id = "x" };
	struct sink *sink;

	(void)state;
	ops_init(&o);
	struct log_args args = { o.names, &run, "/dev/full",
		open("/dev/full", O_WRONLY | O_CLOEXEC) };
	assert_int_equal(log_new(&sink, &args), 0);
	FILE *was = hush();
	likely_ops(&o, 100, 3);
	for (size_t i = 0; i < o.n; i++)
		assert_int_equal(sink_put(sink, &o.op[i]), 0);
	assert_int_equal(sink_flush(sink), 0);
	assert_int_equal(sink_close(sink), -ENOSPC);
	stderr = was;
	close(args.fd);
	ops_fini(&o);
}

static void probes(void **state)
{
	(void)state;
	assert_int_equal(source_log.probe(LOG_MAGIC "\1\1", 6), 100);
	assert_int_equal(source_log.probe("iop", 3), 0);
	assert_int_equal(source_log.probe("iops: cp -r a b", 15), 0);
	assert_int_equal(source_log.probe("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(random_ops),
		cmocka_unit_test(many_files),
		cmocka_unit_test(long_names),
		cmocka_unit_test(types_learnt),
		cmocka_unit_test(runs),
		cmocka_unit_test(long_command),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
