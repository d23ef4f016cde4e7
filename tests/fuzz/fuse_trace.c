/*
 * fuse_trace.c - fuzz the reader of text of a tracing FUSE file system
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	fuzz_source(&source_fuse_trace, bytes, len);
	return 0;
}
