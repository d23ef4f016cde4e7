/*
 * test_stream.c - rows that come out of the files as they went in
 */
#include "streams.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The one row of a stream of 8 columns that fn has written, as it stands in the file. */
static void one_row(struct rig *r, void (*fn)(struct stream *, uint64_t), const char *want)
{
	open_folder(r);
	struct stream *t = add(r, "x", "a,b,c,d,e,f,g,h");
	fn(t, r->epoch);
	assert_int_equal(stream_end(t), 0);
	assert_int_equal(streams_close(r->s), 0);
	cJSON *o = manifest(r);
	char *rows = rows_of(r, o, "x");
	assert_string_equal(rows, want);
	free(rows);
	cJSON_Delete(o);
}

static void integers(struct stream *t, uint64_t epoch)
{
	(void)epoch;
	stream_u64(t, 0);
	stream_u64(t, UINT64_MAX);
	stream_i64(t, INT64_MIN);
	stream_i64(t, -7);
	stream_hex(t, 0);
	stream_hex(t, UINT64_MAX);
	stream_hex(t, 0x1f);
	stream_device(t, 8, UINT32_MAX);
}

static void reals(struct stream *t, uint64_t epoch)
{
	(void)epoch;
	stream_real(t, 0, 3);
	stream_real(t, -1.5, 0);
	stream_real(t, 0.0625, 6);
	stream_real(t, -0.0001, 2);
	stream_real(t, 9.999, 2);
	stream_real(t, 1e20, 1);
	stream_real(t, 0.0 / 0.0, 2);
	stream_real(t, 1e9 + 1e-9, 9);
}

static void texts(struct stream *t, uint64_t epoch)
{
	uint32_t four = htonl(0x0a000001);
	struct in6_addr six = { .s6_addr = { [15] = 1 } };

	(void)epoch;
	stream_word(t, "plain word");
	stream_path(t, "/a \"b\",\nc\r");
	stream_text(t, "\xff\x80,");
	stream_word(t, "");
	stream_word(t, NULL);
	stream_addr(t, AF_INET, &four);
	stream_addr(t, AF_INET6, &six);
	stream_paths(t, "a", "b,c");
}

static void times(struct stream *t, uint64_t epoch)
{
	stream_time(t, epoch);
	stream_time(t, epoch + 98765 * 1000);
	stream_time(t, epoch + 321098 * 1000);
	stream_time(t, epoch - 2 * SECOND);
	stream_time(t, epoch + 86400 * SECOND);
	for (int i = 0; i < 3; i++)
		stream_none(t);
}

static void field_integers(void **state)
{
	one_row(*state, integers,
		"0,18446744073709551615,-9223372036854775808,-7,0x0,0xffffffffffffffff,"
		"0x1f,8:4294967295\n");
}

static void field_reals(void **state)
{
	one_row(*state, reals,
		"0.000,-2,0.062500,0.00,10.00,100000000000000000000.0,,"
		"1000000000.000000000\n");
}

static void field_texts(void **state)
{
	one_row(*state, texts,
		"plain word,\"/a \"\"b\"\",\nc\r\",\"\xff\x80,\",\"\",,10.0.0.1,::1,"
		"\"a -> b,c\"\n");
}

static void field_times(void **state)
{
	one_row(*state, times,
		"2026-01-02 03:04:05.678901,2026-01-02 03:04:05.777666,"
		"2026-01-02 03:04:05.999999,2026-01-02 03:04:03.678901,"
		"2026-01-03 03:04:05.678901,,,\n");
}

static void field_times_local(void **state)
{
	setenv("TZ", "ABC+4:30", 1);
	tzset();
	one_row(*state, times,
		"2026-01-01 22:34:05.678901,2026-01-01 22:34:05.777666,"
		"2026-01-01 22:34:05.999999,2026-01-01 22:34:03.678901,"
		"2026-01-02 22:34:05.678901,,,\n");
	cJSON *o = manifest(*state);
	const cJSON *c = cJSON_GetObjectItem(o, "clock");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(c, "started_at")),
		"2026-01-02T03:04:05.678901234Z");
	assert_int_equal(cJSON_GetObjectItem(c, "utc_offset_s")->valueint, -16200);
	assert_int_equal(number(c, "epoch_mono_ns"), ((struct rig *)*state)->epoch);
	assert_memory_equal(file_name(o, "x", 0), "x_20260101_2234", 15);
	cJSON_Delete(o);
}

/* Any bytes in any field come back. */
static void quoting(void **state)
{
	enum { ROWS = 20000 };
	struct rig *r = *state;
	char (*text)[3][12] = calloc(ROWS, sizeof(*text));

	srand(1);
	for (int plain = 0; plain < 2; plain++) {
		r->args.plain = plain;
		open_folder(r);
		struct stream *t = add(r, "x", "a,b,c");
		for (int i = 0; i < ROWS; i++) {
			for (int k = 0; k < 3; k++) {
				int n = rand() % 12;
				for (int j = 0; j < n; j++)
					text[i][k][j] = rand() % 3 ? ",\"\r\n a"[rand() % 6]
								   : rand() % 255 + 1;
				text[i][k][n] = 0;
				stream_word(t, text[i][k]);
			}
			assert_int_equal(stream_end(t), 0);
		}
		assert_int_equal(streams_close(r->s), 0);
		cJSON *o = manifest(r);
		char *rows = rows_of(r, o, "x"), *p = rows, end;
		for (int i = 0; i < ROWS; i++)
			for (int k = 0; k < 3; k++) {
				assert_string_equal(csv_field(&p, &end), text[i][k]);
				assert_int_equal(end, k < 2 ? ',' : '\n');
			}
		assert_int_equal(*p, 0);
		free(rows);
		cJSON_Delete(o);
	}
	free(text);
}

static void wrong_fields(void **state)
{
	struct rig *r = *state;

	open_folder(r);
	struct stream *t = add(r, "x", "a,b");
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 0; k < i; k++)
			stream_u64(t, i);
		assert_int_equal(stream_end(t), i == 2 ? 0 : -EINVAL);
	}
	stream_u64(t, 0);
	stream_none(t);
	assert_int_equal(stream_end(t), 0);
	stream_lost(t, 40);
	stream_lost(t, 2);
	stream_u64(t, 1); /* never ended */
	assert_int_equal(streams_close(r->s), 0);
	cJSON *o = manifest(r);
	char *rows = rows_of(r, o, "x");
	assert_string_equal(rows, "2,2\n0,\n");
	assert_int_equal(number(stream_of(o, "x"), "rows"), 2);
	assert_int_equal(number(stream_of(o, "x"), "dropped"), 4);
	assert_int_equal(number(stream_of(o, "x"), "lost"), 42);
	free(rows);
	cJSON_Delete(o);
}

static void header_only(void **state)
{
	struct rig *r = *state;

	for (int plain = 0; plain < 2; plain++) {
		r->args.plain = plain;
		open_folder(r);
		add(r, "one", "a,b");
		add(r, "two", "c");
		/* At once, and still when the run is killed; not again when it is old. */
		for (int i = 0; i < 3; i++) {
			cJSON *o = manifest(r);
			char *one = text_of(r, "one", file_name(o, "one", 0)),
			     *rows = rows_of(r, o, "two");
			assert_string_equal(one, "a,b\n");
			assert_string_equal(rows, "");
			assert_int_equal(nfiles(o, "one"), 1);
			assert_int_equal(is_true(o, "complete"), i == 2);
			assert_false(is_true(o, "anonymized"));
			assert_memory_equal(file_name(o, "one", 0), "one_20260102_0304", 17);
			assert_string_equal(strchr(file_name(o, "one", 0), '.'),
				plain ? ".csv" : ".csv.zst");
			free(one);
			free(rows);
			cJSON_Delete(o);
			if (i == 0)
				streams_flush(r->s, r->epoch + 1000 * SECOND);
			if (i == 1)
				assert_int_equal(streams_close(r->s), 0);
		}
	}
}

static void put_numbers(struct stream *t, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		stream_u64(t, i);
		stream_word(t, "some text");
		assert_int_equal(stream_end(t), 0);
	}
}

/* Rows are those numbers; frees them. */
static void are_numbers(char *rows, uint64_t from, uint64_t to)
{
	char *p = rows, end;

	for (uint64_t i = from; i < to; i++) {
		assert_int_equal(strtoull(csv_field(&p, &end), NULL, 10), i);
		assert_string_equal(csv_field(&p, &end), "some text");
	}
	assert_int_equal(*p, 0);
	free(rows);
}

static void rotation_by_size(void **state)
{
	enum { LIMIT = 100000, ROWS = 100000, ROW = 20 };
	struct rig *r = *state;

	r->args.rotate_bytes = LIMIT;
	for (int plain = 0; plain < 2; plain++) {
		r->args.plain = plain;
		open_folder(r);
		struct stream *t = add(r, "x", "n,w");
		put_numbers(t, 0, ROWS / 2);
		assert_int_equal(streams_flush(r->s, r->epoch), 0);
		cJSON *o = manifest(r);
		int before = nfiles(o, "x");
		assert_true(before > 5); /* rewritten as they were ended */
		cJSON_Delete(o);
		put_numbers(t, ROWS / 2, ROWS);
		assert_int_equal(streams_close(r->s), 0);
		o = manifest(r);
		assert_true(nfiles(o, "x") > before);
		for (int i = 0; i < nfiles(o, "x"); i++) {
			uint64_t bytes = number(file_of(o, "x", i), "bytes");
			char number[32];
			assert_true(bytes < LIMIT + ROW);
			assert_true(bytes >= LIMIT || i == nfiles(o, "x") - 1);
			snprintf(number, sizeof(number), i ? "_%04d.csv" : ".csv", i);
			const char *name = file_name(o, "x", i);
			size_t at = strlen("x_20260102_030405_678");
			assert_int_equal(
				strncmp(name + at, number, strlen(number)), 0);
		}
		assert_int_equal(number(stream_of(o, "x"), "rows"), ROWS);
		are_numbers(rows_of(r, o, "x"), 0, ROWS);
		cJSON_Delete(o);
	}
}

static void rotation_by_age(void **state)
{
	struct rig *r = *state;
	uint64_t now = r->epoch + 1000 * SECOND;

	r->args.rotate_ns = 10 * SECOND;
	open_folder(r);
	struct stream *t = add(r, "x", "t,n");
	add(r, "idle", "n");
	for (int i = 0; i < 35; i++, now += SECOND) {
		stream_time(t, now);
		stream_u64(t, i);
		assert_int_equal(stream_end(t), 0);
		assert_int_equal(streams_flush(r->s, now), 0);
	}
	assert_int_equal(streams_close(r->s), 0);
	cJSON *o = manifest(r);
	assert_int_equal(nfiles(o, "idle"), 1);
	assert_int_equal(nfiles(o, "x"), 4);
	/* A file has the rows of seconds 0 to 10 of its age, its name says when it began. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(number(file_of(o, "x", i), "rows"), i < 3 ? 11 : 2);
	assert_string_equal(file_name(o, "x", 1), "x_20260102_032056_678_0001.csv");
	assert_string_equal(file_name(o, "x", 3), "x_20260102_032118_678_0003.csv");
	cJSON_Delete(o);
}

/* What was flushed is there after a death without warning, in files that are whole. */
static void killed(void **state)
{
	struct rig *r = *state;

	for (int plain = 0; plain < 2; plain++) {
		r->args.plain = plain;
		pid_t pid = fork();
		if (!pid) {
			open_folder(r);
			struct stream *t = add(r, "x", "n,w");
			for (int i = 0; i < 10; i++) {
				put_numbers(t, i * 1000, (i + 1) * 1000);
				streams_flush(r->s, r->epoch);
			}
			put_numbers(t, 10000, 10100);
			kill(getpid(), SIGKILL);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		cJSON *o = manifest(r);
		assert_false(is_true(o, "complete"));
		char *text = text_of(r, "x", file_name(o, "x", 0));
		assert_memory_equal(text, "n,w\n", 4);
		are_numbers(strdup(text + 4), 0, 10000);
		free(text);
		cJSON_Delete(o);
	}
}

static void limit_files(rlim_t bytes)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* Numbers from 0 that do not repeat themselves; how many rows had errors. */
static int put_noise(struct stream *t, uint64_t rows, unsigned seed)
{
	int errors = 0;

	for (uint64_t i = 0; i < rows; i++) {
		char text[40];
		seed = seed * 1103515245 + 12345;
		snprintf(text, sizeof(text), "%x\n\"%x", seed, seed * 2654435761u);
		stream_u64(t, i);
		stream_word(t, text);
		int err = stream_end(t);
		assert_true(err == 0 || err == -EFBIG);
		errors += err != 0;
	}
	return errors;
}

/* A full disk: what fits is kept, the rest counted, one line said, and all goes on when
 * there is room again. */
static void full(void **state)
{
	enum { ROWS = 100000, LIMIT = 1000000 };
	struct rig *r = *state;

	signal(SIGXFSZ, SIG_IGN);
	for (int plain = 0; plain < 2; plain++) {
		r->args.plain = plain;
		open_folder(r);
		struct stream *t = add(r, "x", "n,w");
		int keep = said_begin(r);
		limit_files(LIMIT);
		assert_true(put_noise(t, ROWS, 1) > 0);
		/* What is left of them may fit, packed, where more did not. */
		int err = streams_flush(r->s, r->epoch);
		assert_true(err == -EFBIG || (!plain && err == 0));
		assert_true(put_noise(t, ROWS, 2) > 0);
		limit_files(RLIM_INFINITY);
		cJSON *o = manifest(r);
		uint64_t size = size_of(r, "x", file_name(o, "x", 0));
		cJSON_Delete(o);
		assert_true(size <= LIMIT && size > (plain ? LIMIT - 40 : LIMIT * 8 / 10));
		/* Those that wait are written yet. */
		assert_int_equal(put_noise(t, ROWS, 3), 0);
		assert_int_equal(streams_flush(r->s, r->epoch), 0);
		assert_int_equal(streams_close(r->s), -EFBIG);
		char *said = said_end(r, keep), line[256];
		o = manifest(r);
		snprintf(line, sizeof(line), "iops: cannot write %s/x/%s: File too large\n",
			r->out, file_name(o, "x", 0));
		assert_string_equal(said, line);
		unlink(r->said);
		uint64_t rows = number(stream_of(o, "x"), "rows"),
			 dropped = number(stream_of(o, "x"), "dropped");
		assert_int_equal(rows + dropped, 3 * ROWS);
		assert_true(rows > ROWS + 20000 && dropped > ROWS);
		assert_int_equal(nfiles(o, "x"), 1);
		char *all = rows_of(r, o, "x"), *p = all, end;
		uint64_t last = 0;
		for (int i = 0; *p; i++) {
			last = strtoull(csv_field(&p, &end), NULL, 10);
			assert_true(i >= 20000 || last == (uint64_t)i);
			csv_field(&p, &end);
		}
		assert_int_equal(last, ROWS - 1);
		free(all);
		free(said);
		cJSON_Delete(o);
	}
	signal(SIGXFSZ, SIG_DFL);
}

/* No header fits: rows are dropped one by one until a file can be made. */
static void full_at_once(void **state)
{
	struct rig *r = *state;
	struct stream *t, *none;

	r->args.rotate_bytes = 28;
	signal(SIGXFSZ, SIG_IGN);
	open_folder(r);
	t = add(r, "x", "n,w");
	put_numbers(t, 0, 2); /* the file is full */
	int keep = said_begin(r);
	limit_files(2);
	for (int i = 0; i < 3; i++) {
		stream_u64(t, 9);
		stream_none(t);
		assert_int_equal(stream_end(t), -EFBIG);
	}
	assert_int_equal(streams_add(r->s, &none, "y", "n,w"), -EFBIG);
	limit_files(RLIM_INFINITY);
	put_numbers(t, 2, 3);
	assert_int_equal(streams_close(r->s), -EFBIG);
	free(said_end(r, keep));
	cJSON *o = manifest(r);
	assert_int_equal(number(stream_of(o, "x"), "dropped"), 3);
	are_numbers(rows_of(r, o, "x"), 0, 3);
	cJSON_Delete(o);
	signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(field_integers, setup, teardown),
		cmocka_unit_test_setup_teardown(field_reals, setup, teardown),
		cmocka_unit_test_setup_teardown(field_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(field_times, setup, teardown),
		cmocka_unit_test_setup_teardown(field_times_local, setup, teardown),
		cmocka_unit_test_setup_teardown(quoting, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(header_only, setup, teardown),
		cmocka_unit_test_setup_teardown(rotation_by_size, setup, teardown),
		cmocka_unit_test_setup_teardown(rotation_by_age, setup, teardown),
		cmocka_unit_test_setup_teardown(killed, setup, teardown),
		cmocka_unit_test_setup_teardown(full, setup, teardown),
		cmocka_unit_test_setup_teardown(full_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
