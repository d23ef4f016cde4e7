/*
 * strace.c - fuzz the reader of strace(1) text; at a NUL another file of -ff begins
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { FILES = 3 };

static void side_by_side(struct input **in, unsigned n, size_t len)
{
	struct names *names = names_new();
	struct fuzz_sink sink = { .base.ops = &fuzz_sink_ops, .names = names };
	struct source_args args = { .names = names, .inputs = in, .ninputs = n };
	struct run run = { .why = "" };
	struct source *source;
	uint64_t steps = 0;
	int more;

	FUZZ_CHECK(names);
	if (source_strace.open(&source, &args) == 0) {
		while ((more = source_strace.step(source, &sink.base)) > 0)
			FUZZ_CHECK(steps++ <= len);
		source_strace.about(source, &run);
		FUZZ_CHECK(run.elapsed_ns <= INT64_MAX && run.imported);
		source_strace.close(source);
	}
	names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *nul = len ? memchr(bytes, 0, len) : NULL, *from = bytes;
	struct input *in[FILES];
	unsigned n = 0;

	fuzz_source(&source_strace, bytes, len);
	if (!nul)
		return 0;
	while (nul) {
		nul = n + 1 < FILES ? memchr(from, 0, bytes + len - from) : NULL;
		size_t part = (nul ? nul : bytes + len) - from;
		FUZZ_CHECK(input_memory(&in[n++], from, part) == 0);
		from += nul ? part + 1 : 0;
	}
	side_by_side(in, n, len);
	while (n)
		input_close(in[--n]);
	return 0;
}
