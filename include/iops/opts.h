/*
 * opts.h - the command line: one table of options, one struct of what they said.
 */
#ifndef IOPS_OPTS_H
#define IOPS_OPTS_H

#include "iops/groups.h"
#include "iops/mount.h"
#include "iops/report.h"
#include "iops/syscalls.h"
#include "iops/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* A moment: since the start of a run, or since 1970. */
struct moment {
	bool set, absolute;
	uint64_t ns;
};

struct options {
	const struct command *const *verbs; /* all of them, ending with NULL */
	const char *verb;                   /* its name */
	const char *output;                 /* NULL: the verb's own place */
	const struct report *format;
	const char *backend;
	struct syscall_set want;
	bool want_given;   /* else what a saved trace holds is wanted, all of it */
	const char **path; /* globs; NULL: all */
	unsigned npaths;
	unsigned types; /* bits of enum file_type; 0: all */
	pid_t *only;    /* pids to keep; NULL: all */
	unsigned nonly;
	unsigned dims;                     /* bits of the breakdowns asked for */
	uint64_t duration_ns, interval_ns; /* 0: none */
	struct moment from, to;
	const char *log;                      /* NULL: none */
	const struct source_ops *from_format; /* NULL: by content */
	const struct exporter *exporter;
	int weight; /* enum export_weight */
	bool follow, wait, filter, json;
	bool format_given, backend_given;
	struct groups groups;
	bool blkparse; /* the format is that of blkparse(1): of the verb report */
	bool story;    /* run: the layers too, if they can be had */
	struct trace_options trace;
	struct mount_options mount;
	unsigned patch_after; /* stops of a call site; 0: never */
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
	struct view view;
	struct column column[MAX_COLUMNS], sort; /* what view points to */
	char *const *argv;                       /* the words after the options */
	int argc;
};

struct command {
	const char *name, *args, *help;
	const char *takes; /* letters of the options it takes: see options[] in opts.c */
	int (*main)(const struct options *o);
};

/*
 * Read argv[1...] of a verb. 0; 1 if help was asked for and printed; -EINVAL, said why.
 */
int opts_parse(struct options *o, const struct command *c, int argc, char **argv);
void opts_fini(struct options *o);

/* Says that --option of a verb cannot have a value, and what it can; returns -EINVAL. */
int opts_wrong(
	const char *verb, const char *option, const char *value, const char *expected);

/* An argument that is a time: 0, or -EINVAL, said why. */
int opts_seconds(const char *verb, const char *option, const char *text, uint64_t *ns);
int opts_moment(const char *verb, const char *option, const char *text, struct moment *m);

/* Width, colour and character set of what the report is written to. */
void opts_terminal(struct options *o, int fd);

/* Help of a verb, and of all of them. */
void opts_help(const struct command *c);
void opts_help_all(const struct command *const *verbs);

#endif
