/*
 * test_export.c - each exporter, with operations made by hand
 */
#include "iops/export.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/syscalls.h"

#include <avro.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define BEGIN UINT64_C(1700000000000000000)
#define BAD   "/tmp/b\xff,\"d;\n"

struct rig {
	char dir[32], out[64];
	struct names *names;
	struct run run[2];
	struct export_args args;
	uint32_t f, g, bad, sock, cat, sh;
	struct sink *sink;
};

static uint32_t file(struct rig *r, const char *path, unsigned type, uint64_t inode)
{
	struct file f = { .path = names_add(r->names, path, strlen(path)),
		.major = inode ? 8 : 0,
		.minor = inode ? 1 : 0,
		.inode = inode,
		.type = type };

	return names_add_file(r->names, &f);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	strcpy(r->dir, "/tmp/exportXXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->out, sizeof(r->out), "%s/out", r->dir);
	r->names = names_new();
	r->f = file(r, "/tmp/f", FILE_REGULAR, 11);
	r->g = file(r, "/tmp/g h", FILE_REGULAR, 12);
	r->bad = file(r, BAD, FILE_REGULAR, 13);
	r->sock = file(r, "", FILE_SOCKET, 0);
	r->cat = names_add(r->names, "cat", 3);
	r->sh = names_add(r->names, "s;h", 3);
	for (int i = 0; i < 2; i++)
		r->run[i] = (struct run){ .started_ns = BEGIN, .elapsed_ns = 1000 };
	strcpy(r->run[0].host, "one");
	strcpy(r->run[0].id, "run-1");
	strcpy(r->run[1].host, "two");
	r->args = (struct export_args){ .names = r->names,
		.runs = r->run,
		.nruns = 1,
		.started_ns = BEGIN,
		.output = r->out };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", r->dir);
	assert_int_equal(system(cmd), 0);
	names_free(r->names);
	free(r);
	return 0;
}

static int start(struct rig *r, const char *name)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return (*e)->open(&r->sink, &r->args);
	fail();
	return 0;
}

/* A call of thread 100 by cat. */
static struct op op(const char *call, uint32_t file, int64_t ret, int64_t offset)
{
	int row = syscall_by_name(call);

	assert_true(row >= 0);
	return (struct op){ .start_ns = 1000,
		.dur_ns = 500,
		.ret = ret,
		.want = 4096,
		.offset = offset,
		.file = file,
		.pid = 100,
		.tid = 100,
		.fd = 3,
		.kind = syscalls[row].kind,
		.call = row };
}

static void put(struct rig *r, struct op o)
{
	if (!o.comm && o.kind != OP_RUN && o.kind != OP_LOST)
		o.comm = r->cat;
	assert_int_equal(sink_put(r->sink, &o), 0);
}

/*
 * Life and losses, 100 bytes read, a failed read, 7 bytes written into a bad name, a
 * copy of 30 bytes from f to g, a sum of 3 reads, one of unknown time and offset.
 */
static void some(struct rig *r)
{
	struct op o;

	put(r, (struct op){ .kind = OP_FORK, .pid = 100, .tid = 100, .ret = 99 });
	put(r, (struct op){ .kind = OP_EXEC, .pid = 100, .tid = 100, .file = r->g });
	put(r, op("read", r->f, 100, 0));
	put(r, op("read", r->f, -ENOENT, OP_NO_OFFSET));
	put(r, op("write", r->bad, 7, 5));
	put(r, op("sendfile", r->f, 30, 100));
	o = op("sendfile", r->g, 30, 0);
	o.kind = OP_WRITE;
	o.call |= OP_SECOND;
	put(r, o);
	o = op("read", r->sock, 60, OP_NO_OFFSET);
	o.want = 3;
	o.dur_ns = OP_NO_TIME;
	o.call |= OP_SUM;
	put(r, o);
	o = op("read", r->f, 9, OP_NO_OFFSET);
	o.dur_ns = OP_NO_TIME;
	o.fd = -1;
	put(r, o);
	put(r, op("fsync", r->f, 0, OP_NO_OFFSET));
	put(r, (struct op){ .kind = OP_LOST, .ret = 5 });
	put(r, (struct op){ .kind = OP_EXIT, .pid = 100, .tid = 100, .start_ns = 9000 });
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	assert_non_null(f);
	text[fread(text, 1, (1 << 16) - 1, f)] = 0;
	fclose(f);
	return text;
}

/* What an exporter makes of some(). */
static char *export(struct rig *r, const char *name)
{
	assert_int_equal(start(r, name), 0);
	some(r);
	assert_int_equal(sink_close(r->sink), 0);
	return slurp(r->out);
}

static void csv(void **state)
{
	char *text = export(*state, "csv");
	char *line = strstr(text, "\r\n");

	assert_memory_equal(text, "start_ns,start_time,duration_ns,host,", 37);
	assert_true(!strncmp(line + 2,
		"1000,2023-11-14T22:13:20.000001000Z,500,one,,run-1,100,100,cat,main,read,read,0,3,"
		"/tmp/f,regular,8:1,11,0,4096,100,1,100,\r\n",
		strlen("1000,2023-11-14T22:13:20.000001000Z,500,one,,run-1,100,100,cat,main,read,read,0,3"
		       ",/tmp/f,regular,8:1,11,0,4096,100,1,100,\r\n")));
	assert_non_null(strstr(text, ",,4096,0,0,-2,ENOENT\r\n"));
	assert_non_null(strstr(text, "\"/tmp/b\xff,\"\"d;\n\",regular"));
	assert_non_null(strstr(text, "sendfile,1,3,/tmp/g h,"));
	assert_non_null(strstr(text, ",socket,,,,,60,3,60,\r\n"));
	assert_non_null(
		strstr(text, "001000Z,,one,,run-1,100,100,cat,main,read,read,0,,"));
	free(text);
}

static const cJSON *at(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	assert_non_null(v);
	return v;
}

static void jsonl(void **state)
{
	char *text = export(*state, "jsonl"), *save, *line;
	int n = 0;

	assert_memory_equal(text, "{\"schema\":\"iops.op/1\",", 22);
	assert_non_null(strstr(text,
		"\"start_ns\":1000,\"start_time\":\"2023-11-14T22:13:20.000001000Z\","));
	for (line = strtok_r(text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		cJSON *o = cJSON_Parse(line);
		assert_non_null(o);
		if (n == 1) {
			assert_string_equal(at(o, "errno")->valuestring, "ENOENT");
			assert_int_equal(at(o, "bytes")->valuedouble, 0);
		}
		if (n == 2) {
			assert_string_equal(
				at(o, "path")->valuestring, "/tmp/b\xef\xbf\xbd,\"d;\n");
			assert_string_equal(
				at(o, "path_base64")->valuestring, "L3RtcC9i/ywiZDsK");
		} else {
			assert_null(cJSON_GetObjectItem(o, "path_base64"));
		}
		if (n == 6) {
			assert_true(cJSON_IsNull(at(o, "duration_ns")));
			assert_true(cJSON_IsNull(at(o, "offset")));
			assert_true(cJSON_IsNull(at(o, "fd")));
		}
		cJSON_Delete(o);
		n++;
	}
	assert_int_equal(n, 8);
	free(text);
}

static void folded(void **state)
{
	static const struct {
		enum export_weight weight;
		const char *text;
	} t[] = {
		{ WEIGHT_BYTES, "cat;/tmp/b\xff,\"d:\\n;write 7\ncat;/tmp/f;read 109\n"
				"cat;/tmp/f;sendfile 30\ncat;/tmp/g h;sendfile 30\n"
				"cat;[socket];read 60\n" },
		{ WEIGHT_OPERATIONS,
			"cat;/tmp/b\xff,\"d:\\n;write 1\ncat;/tmp/f;fsync 1\n"
			"cat;/tmp/f;read 2\ncat;/tmp/f;sendfile 1\n"
			"cat;/tmp/g h;sendfile 1\ncat;[socket];read 3\n" },
		{ WEIGHT_TIME, "cat;/tmp/b\xff,\"d:\\n;write 500\ncat;/tmp/f;fsync 500\n"
			       "cat;/tmp/f;read 1000\ncat;/tmp/f;sendfile 500\n" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		r->args.weight = t[i].weight;
		char *text = export(r, "folded");
		assert_string_equal(text, t[i].text);
		free(text);
	}
}

static cJSON *events(struct rig *r)
{
	char *text = slurp(r->out);
	cJSON *o = cJSON_Parse(text);

	free(text);
	assert_non_null(o);
	return o;
}

static int count(const cJSON *trace, const char *phase, const char *name)
{
	const cJSON *e;
	int n = 0;

	cJSON_ArrayForEach (e, at(trace, "traceEvents"))
		n += !strcmp(at(e, "ph")->valuestring, phase) &&
		     (!name || !strcmp(at(e, "name")->valuestring, name));
	return n;
}

static void chrome(void **state)
{
	struct rig *r = *state;

	free(export(r, "chrome"));
	cJSON *o = events(r);
	assert_int_equal(count(o, "X", NULL), 6);
	assert_int_equal(count(o, "X", "sendfile"), 2);
	assert_int_equal(count(o, "i", "read"), 2);
	assert_int_equal(count(o, "i", "fork"), 1);
	assert_int_equal(count(o, "i", "exec"), 1);
	assert_int_equal(count(o, "i", "exit"), 1);
	assert_int_equal(count(o, "M", "process_name"), 1);
	assert_int_equal(count(o, "M", "thread_name"), 1);
	assert_int_equal(count(o, "M", "process_labels"), 0);
	assert_int_equal(count(o, "C", "throughput"), 2); /* the bucket, and its end */
	assert_int_equal(at(at(o, "otherData"), "lost")->valuedouble, 5);
	cJSON_Delete(o);
	char *text = slurp(r->out);
	assert_non_null(strstr(text, "\"ts\":1.000,\"dur\":0.500"));
	assert_non_null(strstr(text, "{\"read\":19900,\"write\":3700}"));
	free(text);
}

static void chrome_empty(void **state)
{
	struct rig *r = *state;

	assert_int_equal(start(r, "chrome"), 0);
	assert_int_equal(sink_close(r->sink), 0);
	cJSON *o = events(r);
	assert_int_equal(cJSON_GetArraySize(at(o, "traceEvents")), 0);
	cJSON_Delete(o);
}

/* Process 100 of two machines is two processes. */
static void two_runs(struct rig *r)
{
	r->args.nruns = 2;
	for (int i = 0; i < 3; i++) {
		put(r, (struct op){ .kind = OP_RUN, .ret = i });
		put(r, op("read", r->f, 10, 0));
	}
}

static void chrome_runs(void **state)
{
	struct rig *r = *state;
	const cJSON *e;
	double pid[3];
	int n = 0;

	r->args.nruns = 2;
	assert_int_equal(start(r, "chrome"), 0);
	two_runs(r);
	assert_int_equal(sink_close(r->sink), 0);
	cJSON *o = events(r);
	assert_int_equal(count(o, "M", "process_labels"), 2); /* the third has no host */
	cJSON_ArrayForEach (e, at(o, "traceEvents"))
		if (*at(e, "ph")->valuestring == 'X')
			pid[n++] = at(e, "pid")->valuedouble;
	assert_int_equal(n, 3);
	assert_true(pid[0] == 100 && pid[1] > 4194304 && pid[2] > pid[1]);
	cJSON_Delete(o);
}

static char *ask(struct rig *r, const char *sql, char *answer, size_t size)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	size_t n = 0;

	assert_int_equal(sqlite3_open_v2(r->out, &db, SQLITE_OPEN_READONLY, NULL), 0);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	*answer = 0;
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *s = (const char *)sqlite3_column_text(stmt, i);
			n += snprintf(
				answer + n, size - n, "%s%s", n ? " " : "", s ? s : "-");
		}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return answer;
}

static void sqlite(void **state)
{
	static const struct {
		const char *sql, *answer;
	} t[] = {
		{ "select count(*), sum(operations) from op", "8 9" },
		{ "select sum(bytes) from op where kind = 'read' and errno is null",
			"199" },
		{ "select count(*) from op_row", "8" },
		{ "select host, run_id, path, device, offset from op_row where call = "
		  "'sendfile'",
			"one run-1 /tmp/f 8:1 100 one run-1 /tmp/g h 8:1 0" },
		{ "select typeof(path), hex(path) from file where inode = 13",
			"blob 2F746D702F62FF2C22643B0A" },
		{ "select errno, result from op where result < 0", "ENOENT -2" },
		{ "select pid, ppid, command, exe, start_ns, end_ns, status from process",
			"100 99 cat /tmp/g h 0 9000 0" },
		{ "select id, run_id, host, lost from run", "1 run-1 one 5" },
		{ "select count(*) from op where duration_ns is null and offset is null",
			"2" },
		{ "select type, path from op_row where operations = 3", "socket -" },
	};
	struct rig *r = *state;
	char got[512];

	for (int again = 0; again < 2; again++) { /* replaced by the same */
		free(export(r, "sqlite"));
		for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
			assert_string_equal(
				ask(r, t[i].sql, got, sizeof(got)), t[i].answer);
	}
}

static void sqlite_runs(void **state)
{
	struct rig *r = *state;
	char got[256];

	r->args.nruns = 2;
	assert_int_equal(start(r, "sqlite"), 0);
	two_runs(r);
	assert_int_equal(sink_close(r->sink), 0);
	assert_string_equal(ask(r,
				    "select run.host, op.process_id from op join run on "
				    "run.id = op.run_id",
				    got, sizeof(got)),
		"one 1 two 2 - 3");
}

static void sqlite_keeps_others(void **state)
{
	struct rig *r = *state;
	FILE *f = fopen(r->out, "w");

	fputs("mine", f);
	fclose(f);
	assert_int_equal(start(r, "sqlite"), -EEXIST);
	char *text = slurp(r->out);
	assert_string_equal(text, "mine");
	free(text);
	r->args.output = "/dev/full";
	assert_true(start(r, "sqlite") < 0);
}

static void avro(void **state)
{
	struct rig *r = *state;
	avro_file_reader_t reader;
	avro_value_t v, field, branch;
	int n = 0, where;
	const char *s;
	size_t len;
	int64_t bytes, sum = 0;

	free(export(r, "avro"));
	assert_int_equal(avro_file_reader(r->out, &reader), 0);
	avro_schema_t schema = avro_file_reader_get_writer_schema(reader);
	assert_string_equal(avro_schema_name(schema), "op");
	assert_string_equal(avro_schema_namespace(schema), "iops");
	avro_value_iface_t *class = avro_generic_class_from_schema(schema);
	avro_generic_value_new(class, &v);
	for (; !avro_file_reader_read_value(reader, &v); n++) {
		avro_value_get_by_name(&v, "bytes", &field, NULL);
		avro_value_get_long(&field, &bytes);
		sum += bytes;
		avro_value_get_by_name(&v, "path_base64", &field, NULL);
		avro_value_get_discriminant(&field, &where);
		assert_int_equal(where, n == 2);
		if (n != 2)
			continue;
		avro_value_get_current_branch(&field, &branch);
		avro_value_get_string(&branch, &s, &len);
		assert_string_equal(s, "L3RtcC9i/ywiZDsK");
	}
	assert_int_equal(n, 8);
	assert_int_equal(sum, 236);
	avro_value_decref(&v);
	avro_value_iface_decref(class);
	avro_schema_decref(schema);
	avro_file_reader_close(reader);
}

static char *of_folder(struct rig *r, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", r->out, name);
	return slurp(path);
}

static void fio(void **state)
{
	struct rig *r = *state;
	char *text;

	assert_int_equal(start(r, "fio"), 0);
	some(r);
	struct op o = op("read", r->f, 20, 1000);
	o.tid = 101; /* at the same time as 100 */
	put(r, o);
	o.offset = OP_NO_OFFSET; /* goes on */
	put(r, o);
	o.start_ns = 1000000; /* after them */
	o.tid = 102;
	put(r, o);
	assert_int_equal(sink_close(r->sink), 0);
	text = of_folder(r, "000001.log");
	assert_string_equal(text,
		"fio version 3 iolog\n1 data/000001-f add\n1 data/000001-f open\n"
		"1 data/000001-f read 0 100\n1 data/000002-b___d__ add\n"
		"1 data/000002-b___d__ open\n1 data/000002-b___d__ write 5 7\n"
		"1 data/000001-f read 100 30\n1 data/000003-g_h add\n"
		"1 data/000003-g_h open\n1 data/000003-g_h write 0 30\n"
		"1 data/000001-f read 0 9\n1 data/000001-f sync 0 0\n");
	free(text);
	text = of_folder(r, "000002.log");
	assert_string_equal(strstr(text, "1 data/000001-f read"),
		"1 data/000001-f read 1000 20\n1 data/000001-f read 1020 20\n");
	free(text);
	text = of_folder(r, "files.txt");
	assert_string_equal(text, "000001-f\t1040\t1040\t/tmp/f\n"
				  "000002-b___d__\t0\t12\t/tmp/b\xff,\"d;\\n\n"
				  "000003-g_h\t0\t30\t/tmp/g h\n");
	free(text);
	text = of_folder(r, "replay.fio");
	assert_non_null(strstr(text, "[000002-cat]\nread_iolog=log/000002.log\n; start"));
	assert_non_null(strstr(text, "[000003-cat]\nread_iolog=log/"
				     "000003.log\nstonewall\n; startdelay=999us"));
	free(text);
	assert_int_equal(start(r, "fio"), -ENOTEMPTY);
}

/* A full disk is told, by put or at the end. */
static void full_disk(void **state)
{
	static const char *const name[] = { "csv", "jsonl", "chrome", "folded", "avro" };
	struct rig *r = *state;

	r->args.output = "/dev/full";
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		int err = start(r, name[i]);
		struct op o = op("read", r->f, 10, 0);
		o.comm = r->sh;
		for (int n = 0; n < 10000 && !err; n++)
			err = sink_put(r->sink, &o);
		assert_true(!err || err == -ENOSPC);
		assert_int_equal(sink_close(r->sink), -ENOSPC);
	}
	r->args.output = "/nowhere/x";
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		assert_int_equal(start(r, name[i]), -ENOENT);
	assert_int_equal(start(r, "sqlite"), -ENOENT);
	assert_int_equal(start(r, "fio"), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(csv),
		TEST(jsonl),
		TEST(folded),
		TEST(chrome),
		TEST(chrome_empty),
		TEST(chrome_runs),
		TEST(sqlite),
		TEST(sqlite_runs),
		TEST(sqlite_keeps_others),
		TEST(avro),
		TEST(fio),
		TEST(full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
