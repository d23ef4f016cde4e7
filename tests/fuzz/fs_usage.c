/*
 * fs_usage.c - fuzz the reader of macOS fs_usage text
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	fuzz_source(&source_fs_usage, bytes, len);
	return 0;
}
