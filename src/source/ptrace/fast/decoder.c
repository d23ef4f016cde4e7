/*
 * decoder.c - what takes instructions apart
 */
#include "fast.h"
#include "decoder.h"

#include <stdlib.h>

static bool init(const struct decoder *d, ZydisDecoder *how)
{
	return ZYAN_SUCCESS(d->lib.ZydisDecoderInit(
		how, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

struct decoder *decoder_new(void)
{
	static const char *const names[] = { DECODER_FUNCTIONS(LATE_NAME) NULL };
	struct decoder *d = malloc(sizeof(*d));

	if (d && !late_load(LATE_ZYDIS, names, &d->lib) && init(d, &d->whole) &&
		init(d, &d->quick) &&
		ZYAN_SUCCESS(d->lib.ZydisDecoderEnableMode(
			&d->quick, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)))
		return d;
	free(d);
	return NULL;
}

bool fast_reads_code(void)
{
	struct decoder *d = decoder_new();
	bool is = d != NULL;

	free(d);
	return is;
}
