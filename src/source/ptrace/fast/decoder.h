/*
 * decoder.h - what takes instructions apart
 *
 * Zydis, which is loaded when the first of them is looked at: a start need not wait for
 * it.
 */
#ifndef FAST_DECODER_H
#define FAST_DECODER_H

#include "iops/late.h"

#include <Zydis/Zydis.h>

/* clang-format off */
#define DECODER_FUNCTIONS(X) \
	X(ZydisDecoderInit) X(ZydisDecoderEnableMode) \
	X(ZydisDecoderDecodeInstruction) X(ZydisDecoderDecodeFull)
/* clang-format on */

struct decoder {
	struct {
		DECODER_FUNCTIONS(LATE_MEMBER)
	} lib;
	ZydisDecoder whole, quick; /* quick: lengths, and no more of what is rare */
};

/* One instruction of 64-bit code, at most so many bytes; false: it is none. */
static inline bool decode(const struct decoder *d, const ZydisDecoder *how,
	const uint8_t *at, size_t size, ZydisDecodedInstruction *in)
{
	return ZYAN_SUCCESS(
		d->lib.ZydisDecoderDecodeInstruction(how, NULL, at, size, in));
}

#endif
