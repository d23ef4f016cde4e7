/*
 * blktrace.c - fuzz the reader of block traces, and the lines that are printed of them
 */
#include "fuzz.h"
#include "iops/blktrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static FILE *null;
	struct input *in[2] = { NULL, NULL };

	fuzz_source(&source_blktrace, bytes, len);
	if (!null && !(null = fopen("/dev/null", "w")))
		return 0;
	/* As the files of two CPUs, too. */
	size_t half = len / 2;
	FUZZ_CHECK(input_memory(&in[0], bytes, half) == 0);
	FUZZ_CHECK(input_memory(&in[1], bytes + half, len - half) == 0);
	FUZZ_CHECK(blktrace_print(null, in, 2) >= 0);
	input_close(in[0]);
	input_close(in[1]);
	return 0;
}
