/*
 * lines.c - readers of texts in which each line stands for itself
 */
#include "lines.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"

#include <errno.h>
#include <string.h>

enum { PROBE_LINES = 200 };

int lines_init(
	struct lines *l, const struct source_ops *ops, const struct source_args *args)
{
	if (args->ninputs != 1) {
		diag("%s: takes one file", ops->name);
		return -EINVAL;
	}
	l->text.base.ops = ops;
	l->text.names = args->names;
	l->text.in = args->inputs[0];
	return 0;
}

/* The end of a line without what does not count: blanks, the CR of other systems. */
static size_t trimmed(const char *line, size_t len)
{
	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	return len;
}

static int take(struct lines *l, char *line, size_t len, struct sink *to)
{
	struct op op = { .file = 0 };
	const struct op lost = { .kind = OP_LOST,
		.ret = 1,
		.start_ns = l->text.end_ns,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1 };
	bool whole = len < INPUT_LINE_MAX || !input_cut(l->text.in);
	bool plain = !memchr(line, 0, len);

	if (plain && !(len = trimmed(line, len)))
		return 0;
	line[len] = 0;
	int got = whole && plain ? l->read(l, line, len, &op) : -EINVAL;
	/* Where lines end with a time, a last one without it is only its front. */
	l->timed |= got > 0 && op.dur_ns != OP_NO_TIME;
	if (got > 0 && l->timed && op.dur_ns == OP_NO_TIME && input_cut(l->text.in))
		got = -EINVAL;
	if (got == -EINVAL) {
		text_bad(&l->text, !whole                  ? "a line too long"
				   : input_cut(l->text.in) ? "the last line is cut"
							   : l->why);
		return sink_put(to, &lost);
	}
	return got > 0 ? sink_put(to, &op) : got;
}

int lines_step(struct lines *l, struct sink *to)
{
	char *line;
	size_t len;
	int got = 1;

	for (int i = 0; i < TEXT_BATCH && !l->ended; i++) {
		if ((got = input_line(l->text.in, &line, &len)) < 0)
			return got;
		if (!got) {
			l->ended = true;
			text_end(&l->text);
		} else if ((got = take(l, line, len, to)) < 0) {
			return got;
		}
	}
	return !l->ended;
}

uint32_t lines_file(struct lines *l, const char *path, size_t len, unsigned type)
{
	struct names *names = l->text.names;
	struct file f = { .path = names_add(names, path, len), .type = type };
	uint32_t known = f.path ? names_find_path(names, f.path) : 0;

	if (!f.path || !known)
		return f.path ? names_add_file(names, &f) : 0;
	names_learn_type(names, known, type);
	return known;
}

int lines_probe(const char *head, size_t len, int (*like)(const char *line, size_t len))
{
	int sum = 0, n = 0, such = 0;

	if (memchr(head, 0, len))
		return 0;
	while (len && n < PROBE_LINES) {
		const char *nl = memchr(head, '\n', len);
		size_t line = nl ? (size_t)(nl - head) : len, text = trimmed(head, line);
		if (!nl && n)
			break; /* the head ends within this line */
		if (text) {
			int sure = like(head, text);
			sum += sure;
			such += sure > 0;
			n++;
		}
		len -= line + !!nl;
		head += line + !!nl;
	}
	return n && 2 * such >= n ? sum / n : 0;
}
