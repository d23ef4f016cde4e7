/*
 * out.h - where a report goes.
 */
#ifndef IOPS_OUT_H
#define IOPS_OUT_H

#include "iops/report.h"

#include <stdbool.h>

struct out {
	int fd;           /* -1: closed */
	const char *name; /* for messages */
	bool replace;     /* a regular file: what is written last is all it holds */
};

/* path NULL: standard error. "-": standard output. 0 or -errno, said why. */
int out_open(struct out *o, const char *path);

/* The same for a log, which is emptied at once. path NULL: none, fd is -1. */
int out_open_log(struct out *o, const char *path);

/*
 * Whether what is to be written (the report and the log; NULL: none) would overwrite one
 * another, or a file that is to be read (argv, ending with NULL; or NULL). Says so.
 */
bool out_clash(const char *report, const char *log, char *const *argv);

/* Begin an output of rows, which are not to be replaced later. 0 or -errno, said why. */
int out_rows(struct out *o);

/* Write all of it. 0 or -errno, said why. */
int out_write(struct out *o, const char *text, size_t len);

/* Render a report and write it. one_line: without line breaks but the last. */
int out_report(
	struct out *o, const struct report *r, const struct report_in *in, bool one_line);

/* Write a text in the place of what was there. 0 or -errno, said why. */
int out_replace(struct out *o, const char *text, size_t len);

int out_close(struct out *o);

#endif
