/*
 * text.c - what readers of traces made of lines have in common
 */
#include "text.h"
#include "iops/diag.h"
#include "iops/input.h"

#include <stdio.h>

void text_bad(struct text *t, const char *why)
{
	if (!t->bad++) {
		t->first_bad = input_lines(t->in);
		t->bad_why = why;
	}
}

void text_end(const struct text *t)
{
	if (!t->bad)
		return;
	diag("%s: line %llu: %s; %llu line%s could not be read, the report covers the "
	     "rest",
		input_name(t->in), (unsigned long long)t->first_bad, t->bad_why,
		(unsigned long long)t->bad, t->bad == 1 ? "" : "s");
}

void text_about(const struct text *t, struct run *run, const char *why)
{
	run->imported = true;
	run->damaged |= t->bad != 0;
	run->elapsed_ns = t->end_ns;
	snprintf(run->backend, sizeof(run->backend), "%s", t->base.ops->name);
	snprintf(run->why, sizeof(run->why), "%s", why);
	if (!run->command)
		snprintf(run->title, sizeof(run->title), "%s", input_name(t->in));
}
