/*
 * help.c - iops help: of a verb, of the columns, of all
 */
#include "iops/cmd.h"
#include "iops/diag.h"

#include <stdio.h>
#include <string.h>

/* Several of one name serve a breakdown each. */
static bool is_first(const struct column *c)
{
	const struct column *first = row_columns;

	while (strcmp(first->name, c->name) != 0)
		first++;
	return first == c;
}

static int help_columns(void)
{
	puts("columns of the rows of a breakdown:\n");
	for (const struct column *c = row_columns; c->name; c++)
		if (is_first(c))
			printf("  %-20s %s\n", c->name, c->help);
	puts("\neach of these after read_, write_, sync_, meta_, peek_ or all_; all_ may "
	     "be left out:\n");
	for (const struct column *c = series_columns; c->name; c++) {
		char name[32];
		snprintf(name, sizeof(name), "%s", c->name);
		for (char *p = name; *p; p++)
			*p = *p == '.' ? '_' : *p;
		printf("  %-20s %s\n", name, c->help);
	}
	return 0;
}

static int help(const struct options *o)
{
	if (!o->argc) {
		opts_help_all(o->verbs);
		return 0;
	}
	if (o->argc > 1) {
		diag_usage(NULL, "help: unexpected %s", o->argv[1]);
		return EXIT_USAGE;
	}
	if (!strcmp(o->argv[0], "columns"))
		return help_columns();
	for (const struct command *const *c = o->verbs; *c; c++)
		if (!strcmp((*c)->name, o->argv[0])) {
			opts_help(*c);
			return 0;
		}
	diag_usage(NULL, "help: no verb %s", o->argv[0]);
	return EXIT_USAGE;
}

const struct command command_help = {
	.name = "help",
	.args = "[VERB|columns]",
	.help = "tell about a verb",
	.takes = "",
	.main = help,
};
