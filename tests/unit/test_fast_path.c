/*
 * test_fast_path.c - how many calls did not stop: summed, said, read back
 */
#include "reports.h"

#include "iops/replay.h"
#include "iops/reread.h"

#include <cjson/cJSON.h>

static void put_paths(int32_t tid, int64_t fast, uint64_t stopped)
{
	put((struct op){ .kind = OP_FAST,
		.tid = tid,
		.fd = -1,
		.ret = fast,
		.want = stopped,
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME });
}

static void assert_says(const char *want)
{
	render(&report_table);
	const char *line = strstr(text, "fast path");
	if (!want) {
		assert_null(line);
		return;
	}
	if (!strstr(text, want))
		fail_msg("no \"%s\" in\n%s", want, text);
}

/* A key of run.fast_path as text; NULL: none. */
static const char *key(const char *name)
{
	static char buf[200];

	render(&report_json);
	cJSON *o = cJSON_Parse(text);
	const cJSON *f = cJSON_GetObjectItem(cJSON_GetObjectItem(o, "run"), "fast_path");
	f = name ? cJSON_GetObjectItem(f, name) : f;
	bool any = f;
	if (cJSON_IsString(f))
		snprintf(buf, sizeof(buf), "%s", f->valuestring);
	else if (cJSON_IsNumber(f))
		snprintf(buf, sizeof(buf), "%.0f", f->valuedouble);
	cJSON_Delete(o);
	return any ? buf : NULL;
}

/* Add the report that was rendered last to what there is. */
static void reread_into(struct stats *into, struct reread *r)
{
	struct reread_args args = { text, "report", len, into, 0, false };

	assert_int_equal(reread(r, &args), 0);
}

static void sums(void **state)
{
	(void)state;
	put_paths(100, 199000, 5);
	put_paths(101, 996, 3);
	const struct totals *t = stats_totals(stats);
	assert_int_equal(t->fast, 199996);
	assert_int_equal(t->stopped, 8);
	struct row all;
	assert_int_equal(stats_total(stats, &all), 0);
	for (int c = 0; c < NCLASS; c++) /* no operations by themselves */
		assert_null(all.series[c]);
	row_fini(&all);
}

static void words(void **state)
{
	(void)state;
	run.patches = true;
	assert_says(NULL);
	view.verbose = true;
	assert_says("\nfast path: no call took it\n");
	view.verbose = false;
	put_paths(100, 0, 7);
	assert_says(NULL);
	put_paths(101, 199996, 1);
	assert_says("\nfast path: 199,996 of 200,004 calls; 8 stopped\n");
	run.verifies = false;
	assert_says("\nfast path: 199,996 of 200,004 calls; 8 stopped\n");
	view.quiet = true;
	assert_says(NULL);
}

static void words_if_not_for_all(void **state)
{
	(void)state;
	run.patches = true;
	strcpy(run.no_patch, "process 12 handles SIGSYS");
	assert_says("\nfast path: no call took it; process 12 handles SIGSYS\n");
	put_paths(100, 20, 7);
	assert_says(
		"\nfast path: 20 of 27 calls; 7 stopped; process 12 handles SIGSYS\n");
	view.quiet = true;
	assert_says(NULL);
}

static void words_if_off(void **state)
{
	(void)state;
	view.verbose = true;
	assert_says(NULL);
	strcpy(run.no_patch, "the processor or kernel lacks FSGSBASE");
	put_paths(100, 0, 7);
	assert_says("\nno fast path: the processor or kernel lacks FSGSBASE\n");
	view.verbose = false;
	assert_says(NULL);
}

static void json(void **state)
{
	(void)state;
	assert_null(key(NULL)); /* nothing is known of it */
	strcpy(run.no_patch, "because");
	assert_string_equal(key("status"), "off");
	assert_string_equal(key("reason"), "because");
	assert_string_equal(key("operations"), "0");
	run.patches = true;
	put_paths(100, 12, 3);
	assert_string_equal(key("status"), "on");
	assert_string_equal(key("reason"), "because"); /* not for all of them */
	*run.no_patch = 0;
	assert_null(key("reason"));
	assert_string_equal(key("operations"), "12");
	assert_string_equal(key("stopped"), "3");
}

static void read_back(void **state)
{
	struct stats *sum = stats_new(names, 0);
	struct reread r;

	(void)state;
	put_paths(100, 12, 3);
	run.patches = true;
	for (int i = 1; i <= 2; i++) {
		render(&report_json);
		reread_into(sum, &r);
		assert_true(r.run.patches);
		assert_string_equal(r.run.no_patch, "");
		assert_int_equal(stats_totals(sum)->fast, 12 * i);
		assert_int_equal(stats_totals(sum)->stopped, 3 * i);
		reread_fini(&r);
	}
	run.patches = false;
	strcpy(run.no_patch, "because");
	render(&report_json);
	reread_into(sum, &r);
	assert_false(r.run.patches);
	assert_string_equal(r.run.no_patch, "because");
	reread_fini(&r);
	stats_free(sum);
}

static void runs(void **state)
{
	struct run all, one[3] = { { .no_patch = "a" }, { .no_patch = "a" },
		{ .no_patch = "b" } };

	(void)state;
	runs_join(&all, one, 2);
	assert_false(all.patches);
	assert_string_equal(all.no_patch, "a");
	runs_join(&all, one, 3);
	assert_string_equal(all.no_patch, "several");
	one[1] = (struct run){ .patches = true };
	runs_join(&all, one, 3);
	assert_true(all.patches);
	assert_string_equal(all.no_patch, "");
}

static void compared(void **state)
{
	struct diff_in diff = { &in, &in, { "x", "y" } };
	unsigned n = 0;

	(void)state;
	put_paths(100, 12, 3);
	run.patches = true;
	FILE *out = open_memstream(&text, &len);
	assert_int_equal(diff_json(out, &diff), 0);
	assert_int_equal(fclose(out), 0);
	for (const char *p = text; (p = strstr(p, "\"fast_path\":{")); p++)
		n++;
	assert_int_equal(n, 2);
	cJSON *o = cJSON_Parse(text);
	assert_non_null(o);
	cJSON_Delete(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums),
		TEST(words),
		TEST(words_if_not_for_all),
		TEST(words_if_off),
		TEST(json),
		TEST(read_back),
		TEST(runs),
		TEST(compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
