/*
 * input.h - bytes of a saved trace, from a file or a pipe, by lines or by blocks.
 */
#ifndef IOPS_INPUT_H
#define IOPS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct input;

enum { INPUT_LINE_MAX = 1 << 20, INPUT_HEAD = 1 << 16 };

/* path "-": standard input. 0, or -errno, said why. */
int input_open(struct input **out, const char *path);

/* With little room, for one of many: input_line() is not for these. */
int input_open_small(struct input **out, const char *path);

/* Whether both are the same file. Pipes never are. */
bool input_same(const struct input *a, const struct input *b);

/* Whether it is the file at that path; NULL and "-" are none. */
bool input_is(const struct input *in, const char *path);

/* Whether it ended where it could not be read on, which has been said. */
bool input_failed(const struct input *in);

/* The same of bytes in memory, which are borrowed. 0 or -ENOMEM. */
int input_memory(struct input **out, const void *bytes, size_t len);

/* One of that name that is empty, and grows by what input_more() adds. 0 or -ENOMEM. */
int input_growing(struct input **out, const char *name);
int input_more(struct input *in, const void *bytes, size_t len);
void input_close(struct input *in);

/* The first bytes, up to INPUT_HEAD, borrowed until the next call; they stay unread. */
ssize_t input_head(struct input *in, const char **head);

/*
 * The next line without its newline, NUL-terminated, writable, borrowed until the next
 * call. 1; 0 at the end; -errno. A line longer than INPUT_LINE_MAX is cut to it; such
 * lines, and a last one without a newline, are told by input_cut().
 */
int input_line(struct input *in, char **line, size_t *len);
bool input_cut(const struct input *in);

/*
 * The next len bytes, len <= INPUT_LINE_MAX * 4, borrowed until the next call and still
 * unread. Returns how many there are: less only at the end; or -errno.
 */
ssize_t input_peek(struct input *in, size_t len, const void **bytes);

/* All that is left, NUL-terminated, on the heap. 0, or -errno, said why. */
int input_rest(struct input *in, char **text, size_t *len);

/* Take n bytes that were peeked at. */
void input_skip(struct input *in, size_t n);

const char *input_name(const struct input *in);

/* Where reading stands: bytes and lines since the beginning. */
uint64_t input_offset(const struct input *in);
uint64_t input_lines(const struct input *in);

/* When the file was last written, ns since 1970; 0 unknown (pipes). */
uint64_t input_time(const struct input *in);

#endif
