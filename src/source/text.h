/*
 * text.h - what readers of traces made of lines have in common.
 */
#ifndef IOPS_SOURCE_TEXT_H
#define IOPS_SOURCE_TEXT_H

#include "iops/run.h"
#include "iops/source.h"
#include "iops/text.h"

#include <stdbool.h>
#include <stddef.h>

struct text {
	struct source base; /* first, so that a struct source * is one of these */
	struct names *names;
	struct input *in;
	uint64_t bad, first_bad; /* lines that could not be read, number of the first */
	uint64_t end_ns;         /* the latest moment told of, since the first one */
	const char *bad_why;     /* of the first */
};

/* Lines that a step takes at most before it returns. */
enum { TEXT_BATCH = 512 };

/* This line cannot be read, for a reason as "not a line of fs_usage". */
void text_bad(struct text *t, const char *why);

/* At the end of the input: say once what could not be read. */
void text_end(const struct text *t);

/* What all texts have to say of the run: it was imported, how long, how well read. */
void text_about(const struct text *t, struct run *run, const char *why);

#endif
