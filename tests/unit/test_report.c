/*
 * test_report.c - JSON and CSV of operations made by hand; columns and order of rows
 */
#include "reports.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>

static struct column column[MAX_COLUMNS];

static void choose(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(column_find(list[i], &column[i]));
		view.column[i] = &column[i];
	}
	view.ncolumns = n;
}

static cJSON *render_json(void)
{
	cJSON *o = cJSON_Parse(render(&report_json));

	assert_non_null(o);
	return o;
}

/* "by.file.0.path" */
static const cJSON *at(const cJSON *o, const char *path)
{
	char word[40];

	while (*path) {
		size_t n = strcspn(path, ".");
		snprintf(word, sizeof(word), "%.*s", (int)n, path);
		if (cJSON_IsArray(o))
			o = cJSON_GetArrayItem(o, atoi(word));
		else
			o = cJSON_GetObjectItemCaseSensitive(o, word);
		path += n + (path[n] == '.');
	}
	return o;
}

static void assert_text(const cJSON *o, const char *path, const char *want)
{
	const cJSON *got = at(o, path);

	if (!cJSON_IsString(got))
		fail_msg("%s is no text", path);
	assert_string_equal(got->valuestring, want);
}

static void assert_number(const cJSON *o, const char *path, double want)
{
	const cJSON *got = at(o, path);

	if (!cJSON_IsNumber(got) || got->valuedouble != want)
		fail_msg("%s is not %g", path, want);
}

static void json_run(void **state)
{
	static const pid_t pids[] = { 100, 101 };

	(void)state;
	run.pids = pids;
	run.npids = 2;
	run.ended = true;
	run.status = 3 << 8;
	strcpy(run.why, "because");
	put((struct op){ .kind = OP_VERIFY, .fd = 0 });
	put((struct op){ .kind = OP_VERIFY, .fd = 0, .ret = 1, .offset = -9 });
	put((struct op){ .kind = OP_NOTE, .ret = NOTE_AIO });
	put((struct op){ .kind = OP_NOTE, .ret = NOTE_RUNNING });
	put((struct op){ .kind = OP_LOST, .ret = 4 });
	cJSON *o = render_json();
	assert_text(o, "schema", "iops.report/1");
	assert_text(o, "run.host", "here");
	assert_text(o, "run.backend", "null");
	assert_text(o, "run.backend_reason", "because");
	assert_text(o, "run.command.1", "a b");
	assert_int_equal(cJSON_GetArraySize(at(o, "run.command")), 2);
	assert_number(o, "run.pids.1", 101);
	assert_text(o, "run.started_at", "1970-01-01T00:00:01.000000000Z");
	assert_number(o, "run.elapsed_ns", 2e9);
	assert_number(o, "run.exit.code", 3);
	assert_number(o, "run.lost", 4);
	assert_true(cJSON_IsTrue(at(o, "run.complete")));
	assert_number(o, "run.verified.threads", 2);
	assert_number(o, "run.verified.matched", 1);
	assert_number(o, "run.verified.calls_difference", 1);
	assert_number(o, "run.verified.bytes_difference", -9);
	assert_text(o, "run.notes.0.note", "aio");
	assert_null(at(o, "run.notes.1"));
	assert_number(o, "run.still_running", 1);
	assert_number(o, "run.still_running_processes.0.pid", 100);
	assert_null(at(o, "run.snapshot"));
	cJSON_Delete(o);
	run.status = SIGTERM;
	o = render_json();
	assert_text(o, "run.exit.signal", "SIGTERM");
	cJSON_Delete(o);
}

static void json_numbers(void **state)
{
	uint32_t a = add_file("/a", FILE_REGULAR), b = add_file("/b", FILE_PIPE);
	unsigned copy = syscall_by_name("sendfile");

	(void)state;
	put((struct op){ .kind = OP_FORK, .pid = 55, .ret = 100, .comm = name("idle") });
	put_rw(OP_READ, a, 100);
	put_rw(OP_READ, a, -EIO);
	put_rw(OP_READ, a, -EAGAIN);
	put((struct op){ .kind = OP_READ,
		.file = a,
		.ret = 3000,
		.want = 3000,
		.call = copy,
		.dur_ns = 7 });
	put((struct op){ .kind = OP_WRITE,
		.file = b,
		.ret = 3000,
		.want = 3000,
		.call = copy | OP_SECOND,
		.dur_ns = 7 });
	cJSON *o = render_json();
	assert_number(o, "total.read.operations", 2);
	assert_number(o, "total.read.bytes", 3100);
	assert_number(o, "total.read.errors", 1);
	assert_number(o, "total.read.again", 1);
	assert_number(o, "total.write.operations", 1);
	assert_number(o, "total.all.operations", 2); /* the copy is one call */
	assert_number(o, "total.all.bytes", 6100);
	assert_number(o, "total.all.time_ns", 22);
	assert_number(o, "total.all.iops", 1);
	assert_number(o, "total.all.bytes_per_second", 3050);
	assert_number(o, "total.read.size_bytes.max", 3000);
	assert_number(o, "total.read.latency_ns.p50", 5);
	assert_number(o, "total.sync.operations", 0);
	assert_text(o, "by.file.0.path", "/a");
	assert_text(o, "by.file.1.type", "pipe");
	assert_text(o, "by.file.0.device", "8:1");
	assert_number(o, "by.file.0.inode", 77);
	assert_number(o, "by.file.0.read.bytes", 3100);
	assert_number(o, "by.process.0.pid", 100);
	assert_number(o, "by.process.1.pid", 55); /* without I/O, but it was there */
	assert_number(o, "by.process.1.all.operations", 0);
	assert_text(o, "by.call.0.call", "sendfile");
	assert_text(o, "by.error.0.error", "EIO");
	assert_text(o, "errors.0.call", "read");
	assert_text(o, "errors.0.errno", "EIO");
	assert_number(o, "errors.0.count", 1);
	assert_number(o, "histogram.size_bytes.0.from", 64);
	assert_number(o, "histogram.size_bytes.0.to", 128);
	assert_number(o, "histogram.size_bytes.0.read.operations", 1);
	assert_number(o, "histogram.size_bytes.1.all.operations", 1);
	assert_number(o, "histogram.size_bytes.1.all.bytes", 6000);
	assert_number(o, "histogram.latency_ns.0.all", 2);
	cJSON_Delete(o);
}

/* A number of 2^53 and more is not what a double makes of it. */
static void json_is_exact(void **state)
{
	static const int64_t big[] = { (INT64_C(1) << 53) + 1, INT64_MAX };
	char want[64];

	(void)state;
	for (size_t i = 0; i < LENGTH(big); i++) {
		stop(NULL);
		start(NULL);
		put_rw(OP_READ, add_file("/a", FILE_REGULAR), big[i]);
		snprintf(want, sizeof(want), "\"bytes\":%lld,", (long long)big[i]);
		render(&report_json);
		unsigned n = 0;
		for (char *p = text; (p = strstr(p, want)); p++)
			n++;
		assert_true(n >= 2 * NDIMS - 2); /* read and all of each but errors */
	}
	put((struct op){ .kind = OP_VERIFY, .ret = 1, .offset = -big[0] });
	render(&report_json);
	assert_non_null(strstr(text, "\"bytes_difference\":-9007199254740993"));
}

static void json_text(void **state)
{
	static const struct {
		const char *path, *shown, *base64;
	} row[] = {
		{ "/plain", "/plain", NULL },
		{ "/\xc3\xa4/\xf0\x9f\x98\x80", "/\xc3\xa4/\xf0\x9f\x98\x80", NULL },
		{ "/\"\\\n\x01", "/\"\\\n\x01", NULL },
		{ "/\xff", "/\xef\xbf\xbd", "L/8=" },
		{ "/a\xc3", "/a\xef\xbf\xbd", "L2HD" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", "wK8=" },
		{ "/\xed\xa0\x80", "/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "L+2ggA==" },
		{ "\xf4\x90\x80\x80"
		  "a",
			"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			"a",
			"9JCAgGE=" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		put_rw(OP_READ, add_file(row[i].path, FILE_REGULAR), 1000 - i);
	command[1] = "x\xff";
	cJSON *o = render_json();
	command[1] = "a b";
	for (size_t i = 0; i < LENGTH(row); i++) {
		char path[40];
		snprintf(path, sizeof(path), "by.file.%zu.path", i);
		assert_text(o, path, row[i].shown);
		strcat(path, "_base64");
		if (row[i].base64)
			assert_text(o, path, row[i].base64);
		else
			assert_null(at(o, path));
	}
	assert_text(o, "run.command.1", "x\xef\xbf\xbd");
	cJSON_Delete(o);
}

static void json_empty(void **state)
{
	(void)state;
	cJSON *o = render_json();
	assert_number(o, "total.all.operations", 0);
	assert_null(at(o, "total.all.size_bytes"));
	assert_int_equal(cJSON_GetArraySize(at(o, "by.file")), 0);
	assert_int_equal(cJSON_GetArraySize(at(o, "by")), NDIMS);
	cJSON_Delete(o);
}

static void csv_exact(void **state)
{
	static const char *const list[] = { "path", "read_bytes", "all_operations",
		"inode", "read_size_bytes_p50", "write_latency_ns.max", "read_iops" };

	(void)state;
	put_rw(OP_READ, add_file("/a", FILE_REGULAR), (INT64_C(1) << 53) + 1);
	put_rw(OP_WRITE, add_file("/b", FILE_REGULAR), 12);
	put_rw(OP_WRITE, 0, 3);
	by(DIM_FILE);
	choose(list, LENGTH(list));
	assert_string_equal(render(&report_csv),
		"path,read_bytes,all_operations,inode,read_size_bytes_p50,"
		"write_latency_ns_max,read_iops\r\n"
		"/a,9007199254740993,1,77,9007199254740993,,0.500\r\n"
		"/b,0,1,77,,5,0.000\r\n"
		",0,1,,,5,0.000\r\n");
	view.top = 1;
	view.by[1] = DIM_KIND;
	view.nby = 2;
	choose(list + 1, 1);
	assert_string_equal(render(&report_csv),
		"read_bytes\r\n9007199254740993\r\n\r\nread_"
		"bytes\r\n9007199254740993\r\n");
}

/* A field by RFC 4180: its text to out. Returns the character behind it. */
static const char *field(const char *p, char *out)
{
	bool quoted = *p == '"';

	for (p += quoted; *p; p++) {
		if (quoted && *p == '"' && *++p != '"')
			break;
		if (!quoted && (*p == ',' || *p == '\r'))
			break;
		assert_true(quoted || (*p != '"' && *p != '\n'));
		*out++ = *p;
	}
	*out = 0;
	assert_true(*p == ',' || (p[0] == '\r' && p[1] == '\n'));
	return p;
}

/* All columns; every record has a field for each, and the first is the path. */
static void csv_quotes(void **state)
{
	static const char *const path[] = { "/plain", "/a,b", "/a\"b", "\"", "/a\r\nb",
		"/a\nb", "/a\rb", ",", "/ space ", "/\xff" };
	char got[256];
	unsigned fields = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(path); i++)
		put_rw(OP_READ, add_file(path[i], FILE_REGULAR), 1000 - i);
	by(DIM_FILE);
	const char *p = render(&report_csv);
	for (size_t i = 0; i <= LENGTH(path); i++) {
		unsigned n = 1;
		p = field(p, got);
		assert_string_equal(got, i ? path[i - 1] : "path");
		for (; *p == ','; n++)
			p = field(p + 1, got);
		fields = i ? fields : n;
		assert_int_equal(n, fields);
		p += 2;
	}
	assert_int_equal(*p, 0);
	assert_true(fields > 100);
}

static void column_names(void **state)
{
	static const struct {
		const char *name, *found;
		int class;
	} row[] = {
		{ "path", "path", -1 },
		{ "read_bytes", "bytes", CLASS_READ },
		{ "meta_operations", "operations", CLASS_META },
		{ "all_bytes", "bytes", NCLASS },
		{ "bytes", "bytes", NCLASS },
		{ "latency_ns.p50", "latency_ns.p50", NCLASS },
		{ "sync_latency_ns_p999", "latency_ns.p999", CLASS_SYNC },
		{ "read_extent", "read_extent", -1 },
		{ "read_nonsense", NULL, 0 },
		{ "read_", NULL, 0 },
		{ "", NULL, 0 },
		{ "readbytes", NULL, 0 },
		{ "read_path", NULL, 0 },
	};
	struct column c;

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		assert_int_equal(column_find(row[i].name, &c), !!row[i].found);
		if (!row[i].found)
			continue;
		assert_string_equal(c.name, row[i].found);
		assert_int_equal(c.of_series ? c.class : -1, row[i].class);
	}
}

/* The paths of the rows, as the view sorts them. */
static void assert_order(const char *const *want, size_t n)
{
	struct lines l;
	struct column path;

	assert_int_equal(lines_of(&in, DIM_FILE, 0, &l), 0);
	assert_int_equal(l.n, n);
	assert_int_equal(l.all, n);
	assert_true(column_find("path", &path));
	for (size_t i = 0; i < n; i++) {
		struct value v = column_value(&path, &l.line[i]);
		assert_string_equal(v.type == VALUE_STR ? v.str : "", want[i]);
	}
	lines_fini(&l);
}

static void order(void **state)
{
	static const char *const by_bytes[] = { "/c", "/a", "/b" },
				 *const by_path[] = { "/a", "/b", "/c" },
				 *const by_errors[] = { "/b", "/c", "/a" };
	struct column sort;

	(void)state;
	put_rw(OP_READ, add_file("/a", FILE_REGULAR), 20);
	put_rw(OP_READ, add_file("/b", FILE_REGULAR), 10);
	put_rw(OP_WRITE, add_file("/b", FILE_REGULAR), -EIO);
	put_rw(OP_WRITE, add_file("/c", FILE_REGULAR), 30);
	assert_order(by_bytes, 3);
	view.sort = &sort;
	assert_true(column_find("path", &sort));
	assert_order(by_path, 3);
	assert_true(column_find("errors", &sort));
	assert_order(by_errors, 3);
}

/* Rows without a path do not mix up the order of those that have one. */
static void order_with_unknown(void **state)
{
	struct column sort;
	char path[8], last[8] = "";
	struct lines l;

	(void)state;
	put_rw(OP_READ, 0, 1000);
	for (int i = 0; i < 26; i++) {
		snprintf(path, sizeof(path), "/%c", 'a' + i * 7 % 26);
		put_rw(OP_READ, add_file(path, FILE_REGULAR), 500 + i * 11 % 26 * 40);
	}
	assert_true(column_find("path", &sort));
	view.sort = &sort;
	assert_int_equal(lines_of(&in, DIM_FILE, 0, &l), 0);
	for (size_t i = 0; i < l.n; i++) {
		struct value v = column_value(&sort, &l.line[i]);
		if (v.type != VALUE_STR)
			continue;
		assert_true(strcmp(last, v.str) < 0);
		snprintf(last, sizeof(last), "%s", v.str);
	}
	lines_fini(&l);
}

/* However few are wanted, they are the first of all. */
static void the_first(void **state)
{
	static const char *const by[] = { "bytes", "path", "latency_ns_p50", "errors" };
	struct column sort;
	struct lines all, few;
	char path[8];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%02d", i * 37 % 100);
		for (int n = 0; n <= i % 12; n++)
			put_rw(i % 3 ? OP_READ : OP_WRITE, add_file(path, FILE_REGULAR),
				i % 7 ? i * 53 % 17 * 100 : -EIO);
	}
	for (size_t b = 0; b <= sizeof(by) / sizeof(*by); b++) {
		view.sort = b ? &sort : NULL;
		assert_true(!b || column_find(by[b - 1], &sort));
		assert_int_equal(lines_of(&in, DIM_FILE, 0, &all), 0);
		assert_int_equal(all.n, 100);
		for (size_t top = 1; top <= 101; top++) {
			assert_int_equal(lines_of(&in, DIM_FILE, top, &few), 0);
			assert_int_equal(few.all, 100);
			assert_int_equal(few.n, top < 100 ? top : 100);
			for (size_t i = 0; i < few.n; i++) {
				assert_ptr_equal(few.line[i].row, all.line[i].row);
				assert_int_equal(few.line[i].all.latency.n,
					all.line[i].all.latency.n);
			}
			lines_fini(&few);
		}
		lines_fini(&all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_run),
		TEST(json_numbers),
		TEST(json_is_exact),
		TEST(json_text),
		TEST(json_empty),
		TEST(csv_exact),
		TEST(csv_quotes),
		TEST(column_names),
		TEST(order),
		TEST(order_with_unknown),
		TEST(the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
