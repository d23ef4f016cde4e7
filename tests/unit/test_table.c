/*
 * test_table.c - the report for people: its text and its width
 */
#include "reports.h"

#include <errno.h>
#include <locale.h>

#define MS 1000000

/* No line of what was rendered is wider than that, nor can it move the cursor. */
static void assert_narrow(size_t width)
{
	char *save = NULL, *copy = strdup(text);

	for (char *p = text; *p; p++)
		assert_false(((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f);
	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (units_width(l) > width)
			fail_msg("%zu columns: %s", units_width(l), l);
	free(copy);
}

static void table_text(void **state)
{
	(void)state;
	put_rw(OP_READ, add_file("/d/name", FILE_REGULAR), 1536);
	put_rw(OP_READ, add_file("/d/name", FILE_REGULAR), -EIO);
	put_rw(OP_WRITE, add_file("pipe:[9]", FILE_PIPE), 2048);
	put((struct op){ .kind = OP_VERIFY, .fd = 0 });
	by(DIM_FILE);
	run.ended = true;
	run.status = 2 << 8;
	static const char *const want[] = { "iops: cat a b  ",
		"exit 2   null, complete\n", "2.00 s",
		"verified against kernel counters: 1 of 1 threads\n", "1.5 KiB",
		"errors 1 (read EIO 1)", "/d/name", "pipe:[9]",
		"of these pipes, sockets, terminals: 1 operation, 2.0 KiB\n" };
	render(&report_table);
	for (size_t i = 0; i < LENGTH(want); i++)
		if (!strstr(text, want[i]))
			fail_msg("no \"%s\" in\n%s", want[i], text);
	assert_narrow(80);
	view.quiet = true;
	render(&report_table);
	assert_null(strstr(text, "verified"));
	assert_null(strstr(text, "errors 1 "));
}

/* Of few and of very many, with paths of all sorts. */
static void fill(int64_t size, uint64_t ns, unsigned times)
{
	static const char *const path[] = {
		"/home/somebody/work/project/build/release/obj/deep/down/a-long-name.o",
		"/\xe6\xbc\xa2\xe5\xad\x97/\xe6\xbc\xa2\xe5\xad\x97/"
		"\xe6\xbc\xa2\xe5\xad\x97/"
		"\xe6\xbc\xa2\xe5\xad\x97/\xe6\xbc\xa2\xe5\xad\x97/"
		"\xe6\xbc\xa2\xe5\xad\x97",
		"/tmp/\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7", "/tmp/\x1b[2J\r\n\t\x7f",
		"/", "/tmp/a\\x1b[2J", "pipe:[123456789]"
	};
	static const char *const call[] = { "copy_file_range", "name_to_handle_at",
		"inotify_init1", "sync_file_range" };

	for (unsigned t = 0; t < times; t++)
		for (size_t i = 0; i < LENGTH(path); i++)
			for (unsigned kind = OP_READ; kind < OP_FORK; kind++)
				put((struct op){ .kind = kind,
					.ret = size,
					.want = size,
					.dur_ns = ns,
					.pid = 4194300 - i,
					.tid = 4194303,
					.file = add_file(path[i], FILE_REGULAR),
					.comm = name("fifteen-letters"),
					.call = syscall_by_name(call[i % LENGTH(call)]),
					.offset = 0 });
}

static void table_at_80(void **state)
{
	static const struct {
		int64_t size;
		uint64_t ns;
		unsigned times;
	} row[] = { { 1, 1, 1 }, { 1023, 999, 50 }, { 1047527424, 999 * MS, 3 },
		{ INT64_C(1) << 50, UINT64_C(9999) * 1000 * MS, 2000 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++) {
		stop(NULL);
		start(NULL);
		fill(row[i].size, row[i].ns, row[i].times);
		for (unsigned d = 0; d < NDIMS; d++) {
			by(d);
			view.text = d % 2;
			render(&report_table);
			assert_non_null(strchr(text, '\n'));
			assert_narrow(80);
		}
	}
}

/* What is said below the summary keeps to the terminal too. */
static void table_remarks_at_80(void **state)
{
	(void)state;
	for (int note = 0; note < NNOTES; note++)
		for (int i = 0; i < 12; i++)
			put((struct op){ .kind = OP_NOTE,
				.ret = note,
				.pid = 4194000 + i,
				.comm = name("fifteen-letters") });
	put((struct op){ .kind = OP_VERIFY, .fd = 0, .ret = -12345, .offset = 1234567 });
	put((struct op){ .kind = OP_VERIFY, .fd = -1 });
	put((struct op){ .kind = OP_OPEN,
		.ret = -ENAMETOOLONG,
		.call = syscall_by_name("name_to_handle_at") });
	put((struct op){ .kind = OP_META,
		.ret = -ENAMETOOLONG,
		.call = syscall_by_name("inotify_init1") });
	put((struct op){ .kind = OP_META,
		.ret = -EOVERFLOW,
		.call = syscall_by_name("sync_file_range") });
	render(&report_table);
	assert_narrow(80);
}

/* A command may have any name: prctl(PR_SET_NAME). */
static void table_moves_no_cursor(void **state)
{
	(void)state;
	put((struct op){ .kind = OP_FORK, .comm = name("\x1b[2J\r") });
	put((struct op){
		.kind = OP_NOTE, .ret = NOTE_RUNNING, .comm = name("\x1b[2J\r") });
	by(DIM_PROCESS);
	render(&report_table);
	for (char *p = text; *p; p++)
		assert_false(((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f);
}

static void histogram_at_80(void **state)
{
	uint32_t a = add_file("/a", FILE_REGULAR);

	(void)state;
	for (unsigned b = 0; b < 41; b++)
		for (unsigned i = 0; i <= b * 30; i++)
			put((struct op){ .kind = i % 2 ? OP_READ : OP_WRITE,
				.file = a,
				.ret = INT64_C(1) << b,
				.dur_ns = UINT64_C(1) << b });
	view.histogram = true;
	for (int utf8 = 0; utf8 <= 1; utf8++) {
		view.text = utf8;
		render(&report_table);
		assert_non_null(strstr(text, "operations by size\n"));
		assert_non_null(strstr(text, utf8 ? "\u2588" : "####"));
		assert_narrow(80);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table_text),
		TEST(table_at_80),
		TEST(table_remarks_at_80),
		TEST(table_moves_no_cursor),
		TEST(histogram_at_80),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
