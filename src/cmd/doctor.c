/*
 * doctor.c - iops doctor: what works here, what not, why, and what would enable it
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/out.h"
#include "iops/source.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *as_json(const struct source_health *row, unsigned n)
{
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "schema", "iops.doctor/1");
	list = cJSON_AddArrayToObject(o, "backends");
	for (unsigned i = 0; i < n; i++) {
		cJSON *b = cJSON_CreateObject();
		cJSON_AddStringToObject(b, "name", row[i].name);
		cJSON_AddStringToObject(b, "status", row[i].status);
		cJSON_AddStringToObject(b, "reason", row[i].reason);
		if (*row[i].enable)
			cJSON_AddStringToObject(b, "enable", row[i].enable);
		else
			cJSON_AddNullToObject(b, "enable");
		cJSON_AddItemToArray(list, b);
	}
	char *text = cJSON_Print(o);
	cJSON_Delete(o);
	return text;
}

/* Words in lines of 80, below one another; at: where the first one stands. */
static void put_words(FILE *f, const char *text, int indent)
{
	int at = indent;

	while (*text) {
		int n = (int)strcspn(text, " ");
		if (at > indent && at + 1 + n > 80)
			at = fprintf(f, "\n%*s", indent, "") - 1;
		else if (at > indent)
			at += fprintf(f, " ");
		at += fprintf(f, "%.*s", n, text);
		text += n + (text[n] == ' ');
	}
	fputc('\n', f);
}

static int put_table(FILE *f, const struct source_health *row, unsigned n)
{
	fprintf(f, "%-14s %-8s %s\n", "backend", "status", "why");
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "%-14s %-8s ", row[i].name, row[i].status);
		put_words(f, row[i].reason, 24);
		if (*row[i].enable)
			fprintf(f, "%-14s %-8s   more: %s\n", "", "", row[i].enable);
	}
	return ferror(f) ? -EIO : 0;
}

static int doctor(const struct options *o)
{
	if (o->argc) {
		diag_usage("doctor", "doctor: unexpected %s", o->argv[0]);
		return EXIT_USAGE;
	}
	if (o->format == &report_csv) {
		diag_usage("doctor", "doctor: table and json are known");
		return EXIT_USAGE;
	}
	struct source_health row[SOURCE_HEALTH_MAX] = { 0 };
	unsigned n = ptrace_health(row);
	struct out out;
	char *text = NULL;
	size_t len;

	n += bpf_health(row + n);
	n += fuse_health(row + n);
	n += proc_health(row + n);
	n += blktrace_health(row + n);
	if (out_open(&out, o->output ? o->output : "-") < 0)
		return 1;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		return diag_err(errno, "doctor") ? 1 : 0;
	if (o->format == &report_json) {
		char *json = as_json(row, n);
		fprintf(f, "%s\n", json ? json : "null");
		cJSON_free(json);
	} else {
		put_table(f, row, n);
	}
	fclose(f);
	int err = out_replace(&out, text, len);
	free(text);
	return out_close(&out) < 0 || err < 0;
}

const struct command command_doctor = {
	.name = "doctor",
	.args = "[options]",
	.help = "which ways of collecting work here, and what would enable "
		"the others",
	.takes = "ofJ",
	.main = doctor,
};
