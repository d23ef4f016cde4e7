/*
 * lines.h - readers of texts in which each line stands for itself: one operation, or
 * none.
 */
#ifndef IOPS_SOURCE_LINES_H
#define IOPS_SOURCE_LINES_H

#include "text.h"

struct op;
struct sink;

struct lines {
	struct text text; /* first */

	/*
	 * What a line, NUL-terminated, writable, neither empty nor with a NUL in it,
	 * says. 1: *op is to be passed on; -EINVAL: not such a line; other -errno.
	 */
	int (*read)(struct lines *l, char *line, size_t len, struct op *op);
	const char *why; /* said of lines that it refuses */
	bool timed;      /* operations have had durations */
	bool ended;
};

/* Takes the one input of args. The rest of *l is all zero. 0, or -errno, said why. */
int lines_init(
	struct lines *l, const struct source_ops *ops, const struct source_args *args);

/* As source_ops.step. */
int lines_step(struct lines *l, struct sink *to);

/*
 * Id of the file of a path: one of each path, of the first type that is told of it, so
 * that a file is one row in reports. 0: no path.
 */
uint32_t lines_file(struct lines *l, const char *path, size_t len, unsigned type);

/*
 * Of source_ops.probe: the mean of what like() says, 0 to 100, of each line that is not
 * empty; 0 where less than half of them are such lines, or bytes are no text.
 */
int lines_probe(const char *head, size_t len, int (*like)(const char *line, size_t len));

#endif
